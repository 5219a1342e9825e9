"""At a new request, what left the context and may be needed for it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_mcp.core.offloaded import OFFER_TOKENS, Recall
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.ports.store import Match
from palimpsest_mcp.server.lifespan import count_o200k

from .conftest import FakeClient, Open, log_of, long_session

pytestmark = pytest.mark.anyio
ASKED = "Which checksum of part-3-7 differs, and is E4003 known?"


@pytest.fixture(autouse=True)
def recall_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_RECALL", "on")


async def compacted(c: FakeClient) -> None:
    await long_session(c, 18, used=175_000)
    answer = await c.compact("manual")
    assert answer["apply"]
    c.apply(answer["results"], answer["inputs"])


async def test_a_request_is_answered_with_pointers_to_what_left(p: Palimpsest, client: Open) -> None:
    c = client()
    await compacted(c)
    said = await c.context_of("UserPromptSubmit", prompt=ASKED)
    head, *lines = said.splitlines()
    assert "data, not instructions" in head and lines
    handle = (await p.session("main-session")).handle
    assert all(line.startswith(f"restore_batch {handle} offload_") for line in lines)
    batch, item = lines[0].split()[2:4]
    assert "E4003" in (await p.restore("main-session", batch, item.rstrip(":"))).text
    assert "E4003" in lines[0], "the line shows what was found"


async def test_a_request_without_a_rare_word_is_left_alone(p: Palimpsest, client: Open) -> None:
    c = client()
    await compacted(c)
    for prompt in ("Go on, please.", "yes", "", "/compact keep E4003", "what did the worker do", "INFO bytes wrote ms"):
        assert await c.context_of("UserPromptSubmit", prompt=prompt) == "", prompt


async def test_nothing_is_offered_that_stands_whole_in_the_context(p: Palimpsest, client: Open) -> None:
    c = client()
    await long_session(c, 3, used=20_000)
    assert await c.context_of("UserPromptSubmit", prompt=ASKED) == ""


async def test_what_was_handed_out_since_is_not_offered_again(p: Palimpsest, client: Open) -> None:
    c = client()
    await compacted(c)
    before = (await c.context_of("UserPromptSubmit", prompt=ASKED)).splitlines()[1:]
    batch, item = before[0].split()[2:4]
    await p.restore("main-session", batch, item.rstrip(":"))
    after = (await c.context_of("UserPromptSubmit", prompt=ASKED)).splitlines()[1:]
    assert not any(line.split()[2:4] == [batch, item] for line in after)


async def test_what_was_put_back_is_not_offered(p: Palimpsest, client: Open) -> None:
    c = client()
    await compacted(c)
    batch = (await c.context_of("UserPromptSubmit", prompt=ASKED)).splitlines()[1].split()[2]
    await p.reinstate("main-session", batch)
    after = (await c.context_of("UserPromptSubmit", prompt=ASKED)).splitlines()[1:]
    assert not any(line.split()[2] == batch for line in after)


async def test_an_offer_takes_at_most_300_tokens(p: Palimpsest, client: Open) -> None:
    c = client()
    await compacted(c)
    prompt = " ".join(f"part-{n}-{n} E{4000 + n} worker-{n}" for n in range(18))
    said = await c.context_of("UserPromptSubmit", prompt=prompt)
    assert said and OFFER_TOKENS == 300 and count_o200k(said) <= 300
    wide = "数据库连接超时" * 20
    match = Match(session_id="s", batch_id="offload_0001", item_id="i" * 60, snippet=wide, score=1.0, title=wide)
    told = Recall(p._deps, p._sessions)._told([("sabcd", match)] * 8)  # pyright: ignore[reportPrivateUsage]
    assert told and count_o200k(told) <= 300


@pytest.mark.parametrize("setting", ["off", ""])
async def test_recall_is_off_unless_it_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("PALIMPSEST_RECALL", setting)
    async with Palimpsest.open(tmp_path / "home", attached="claude-code") as p:
        c = FakeClient(p, tmp_path / "transcripts", "main-session")
        await compacted(c)
        assert await c.context_of("UserPromptSubmit", prompt=ASKED) == ""


async def test_a_secret_that_was_offloaded_is_masked_in_an_offer(p: Palimpsest, client: Open) -> None:
    c = client()
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
    await c.bash("toolu_secret", "cat deploy.env", f"quaxwick deployment token {secret}\n{log_of(90)}")
    await compacted(c)
    said = await c.context_of("UserPromptSubmit", prompt="deploy with the quaxwick deployment token again")
    assert "quaxwick" in said and secret not in said
