"""Replacement at birth: archived first, in the tool's own shape, known again in the transcript, restored exactly."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.core.compaction.at_birth import ShrunkResult, ToolAnswer, shrink_at_birth
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.sessions import Sessions
from palimpsest_mcp.hosts.claude_code.results import result_of
from palimpsest_mcp.models.events import SessionInfo
from palimpsest_mcp.settings.settings import Settings

from ..conftest import first_of

pytestmark = pytest.mark.anyio

SID = "2f6c0d5e-0000-4000-8000-000000000001"


def log(lines: int) -> str:
    return "\n".join(
        f"2026-11-20T10:00:{n % 60:02d}Z req-{n:05d} GET /v1/items/{n} 200 in {n % 97}.{n % 10} ms"
        for n in range(lines)
    )


LONG = log(1_200)
"""60,000 characters and more."""


class Shop:
    """A store, and a transcript beside it."""

    def __init__(self, palimpsest: Palimpsest, tmp_path: Path) -> None:
        self.p = palimpsest
        self.sessions = Sessions(palimpsest.deps)
        self.transcript = tmp_path / "projects" / "-p" / f"{SID}.jsonl"

    async def info(self) -> SessionInfo:
        return await self.sessions.ensure(SID, host="claude-code")

    async def born(self, tool: str, response: Any, *, call: str = "toolu_1", **more: Any) -> ShrunkResult | None:
        info = await self.info()
        result = result_of(tool, response, str(self.transcript))
        if result is None:
            return None
        answer = ToolAnswer(
            tool_name=tool,
            tool_input=more.pop("tool_input", {"command": "./run"}),
            tool_use_id=call,
            result=result,
            **more,
        )
        # A slow machine is to make the same digest: how long a hook may take is not asked here.
        return await shrink_at_birth(self.p.deps, self.sessions, info, answer, time_limit_s=600)


def bash(stdout: str, **more: Any) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, **more}


def read(path: str, content: str) -> dict[str, Any]:
    lines = content.count("\n") + 1
    file = {"filePath": path, "content": content, "numLines": lines, "startLine": 1, "totalLines": lines}
    return {"type": "text", "file": file}


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncGenerator[Shop]:
    async with Palimpsest.open(tmp_path / "home") as opened:
        yield Shop(opened, tmp_path)


@pytest.mark.parametrize(
    ("tool", "response", "text"),
    first_of(
        [
            ("Bash", bash(LONG), LONG),
            ("Read", read("/var/log/app.log", LONG), LONG),
            ("mcp__files__fetch", LONG, LONG),
            (
                "mcp__files__fetch",
                [{"type": "text", "text": LONG[:30_000]}, {"type": "text", "text": LONG[30_000:]}],
                None,
            ),
        ],
        kept=2,
    ),
)
async def test_a_long_result_is_archived_and_a_digest_enters_in_the_tools_own_shape(
    shop: Shop, tool: str, response: Any, text: str | None
) -> None:
    born = await shop.born(tool, response)
    assert born is not None
    assert type(born.output) is type(response)
    digest = result_of(tool, born.output)
    assert digest is not None
    assert born.tokens_after < born.tokens_before / 2
    assert f"restore_batch {(await shop.info()).handle} {born.batch_id}" in digest.wire
    (batch,) = await shop.p.list_offloaded(SID)
    assert (batch.reason, batch.state) == ("at_birth", "replaced")
    original = await shop.p.restore(SID, born.batch_id)
    assert original.text == (text if text is not None else LONG[:30_000] + "\n" + LONG[30_000:])
    assert original.content == (response if isinstance(response, list) else text)
    assert (await shop.p.verify()).ok


@pytest.mark.parametrize(
    ("tool", "response"),
    [
        ("Bash", bash("short")),
        ("Bash", bash(log(450))),
        ("Bash", bash(LONG, isImage=True)),
        ("Bash", bash(LONG, interrupted=True)),
        ("Bash", bash("\ufffd\x00PNG" * 20_000)),
        ("Read", read("/p/src/app.py", LONG)),
        ("Read", {"type": "image", "file": {"base64": "aGk=" * 20_000, "type": "image/png", "originalSize": 70}}),
        ("mcp__plugin_palimpsest_palimpsest__restore_batch", LONG),
        ("mcp__palimpsest__search_offloaded", [{"type": "text", "text": LONG}]),
        ("Task", [{"type": "text", "text": LONG}]),
        ("mcp__files__fetch", "x" * 1_000_001),
    ],
)
async def test_what_is_not_to_be_replaced_leaves_no_trace(shop: Shop, tool: str, response: Any) -> None:
    assert await shop.born(tool, response) is None
    assert await shop.p.list_offloaded(SID) == ()


async def test_it_is_on_unless_one_setting_says_no(tmp_path: Path) -> None:
    async with Palimpsest.open(settings=Settings.load(home=tmp_path / "default")) as opened:
        assert await Shop(opened, tmp_path).born("Bash", bash(LONG)) is not None
    for number, given in enumerate(({"at_birth": False}, {"auto": False})):
        settings = Settings.load(home=tmp_path / str(number), **given)
        async with Palimpsest.open(settings=settings) as opened:
            assert await Shop(opened, tmp_path).born("Bash", bash(LONG)) is None
            assert not (tmp_path / str(number) / "session" / SID / "offloaded").exists()


async def test_the_users_threshold_takes_shorter_results_too(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path / "home", at_birth_tokens=2_000)
    async with Palimpsest.open(settings=settings) as opened:
        assert await Shop(opened, tmp_path).born("Bash", bash(log(200))) is not None
        assert await Shop(opened, tmp_path).born("Bash", bash(log(10)), call="toolu_2") is None


async def test_a_result_that_the_host_spilled_is_archived_whole(shop: Shop) -> None:
    folder = shop.transcript.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    (folder / "b7.txt").write_text(LONG)
    born = await shop.born("Bash", bash(LONG[:30_000], persistedOutputPath=str(folder / "b7.txt")))
    assert born is not None
    assert (await shop.p.restore(SID, born.batch_id)).text == LONG
    (folder / "mcp-x.json").write_text(json.dumps([{"type": "text", "text": LONG}]))
    words = (
        f"Error: result (9 characters) exceeds maximum allowed tokens. Output has been saved to {folder}/mcp-x.json."
    )
    again = await shop.born("mcp__x__y", words, call="toolu_2")
    assert again is not None
    assert (await shop.p.restore(SID, again.batch_id)).text == LONG


async def test_a_tools_words_cannot_have_another_file_read(shop: Shop, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(LONG)
    folder = shop.transcript.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    (folder / "link.txt").symlink_to(secret)
    for path in (secret, folder / "link.txt", folder / ".." / ".." / "secret.txt", folder / "none.txt"):
        words = f"Error: result (9 characters) exceeds maximum allowed tokens. Output has been saved to {path}."
        assert await shop.born("mcp__x__y", words) is None
    assert await shop.p.list_offloaded(SID) == ()


async def test_a_file_that_the_session_edited_stays_whole(shop: Shop) -> None:
    edit = {
        "role": "assistant",
        "kind": "tool_call",
        "tool_name": "Edit",
        "tool_use_id": "toolu_0",
        "args": {"file_path": "/p/notes.txt"},
    }
    await shop.p.record_items(SID, [edit])
    assert await shop.born("Read", read("/p/notes.txt", LONG)) is None
    assert await shop.born("Read", read("/p/other.txt", LONG), call="toolu_2") is not None


async def test_the_transcripts_row_is_known_as_our_digest(shop: Shop, tmp_path: Path) -> None:
    file = tmp_path / "transcript.jsonl"
    rows: list[dict[str, Any]] = []

    def add(kind: str, content: Any, **more: Any) -> None:
        parent = rows[-1]["uuid"] if rows else None
        message = {"role": kind, "content": content, **more}
        row = {"type": kind, "uuid": f"u{len(rows)}", "parentUuid": parent, "isSidechain": False, "sessionId": SID}
        rows.append({**row, "cwd": "/p", "message": message})

    add("user", "look at the log")
    for number, (tool, response) in enumerate((("Read", read("/p/a.log", LONG)), ("Bash", bash(LONG)))):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {"file_path": "/p/a.log"}}
        add("assistant", [call], id=f"m{number}", model="claude-opus-5-5")
        born = await shop.born(tool, response, call=f"toolu_{number}")
        assert born is not None
        shown = result_of(tool, born.output)
        assert shown is not None
        add("user", [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": shown.wire}])
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    await shop.p.check_context_ratio(SID, transcript_path=str(file), window_tokens=200_000)
    view = await shop.p.show_context(SID)
    states = {item.item_id: item.state for item in view.items}
    assert (states["toolu_0"], states["toolu_1"]) == ("replaced", "replaced")
    assert view.usage.used.value is not None
    assert view.usage.used.value < 15_000
    fold = await shop.sessions.fold(await shop.info())
    assert {name for name, state in fold.states.items() if state.applied} == {"toolu_0", "toolu_1"}


async def test_a_replacement_at_birth_is_no_pass(shop: Shop) -> None:
    await shop.born("Bash", bash(LONG))
    fold = await shop.sessions.fold(await shop.info())
    assert fold.decided.last_pass_rev == 0
    assert fold.rev > 0


async def test_a_call_is_replaced_once_and_numbers_go_on(shop: Shop) -> None:
    first = await shop.born("Bash", bash(LONG))
    assert await shop.born("Bash", bash(LONG)) is None
    second = await shop.born("Bash", bash(LONG), call="toolu_2", agent="a1")
    assert first is not None
    assert second is not None
    assert (first.batch_id, second.batch_id) == ("offload_0001", "offload_0002")
    assert second.item_id == "a1/toolu_2"


async def test_a_failed_archive_leaves_the_result_as_it_is(shop: Shop) -> None:
    info = await shop.info()
    folder = Path(shop.p.store.location) / "session" / info.session_id
    (folder / "offloaded").write_text("in the way")
    with pytest.raises(Exception, match="offloaded|archive|written") as failed:
        await shop.born("Bash", bash(LONG))
    assert getattr(failed.value, "code", "")
    fold = await shop.sessions.fold(info)
    assert fold.decided.replacements == {}


async def test_the_status_note_tells_what_was_saved(shop: Shop) -> None:
    born = await shop.born("Bash", bash(LONG))
    assert born is not None
    note = json.loads((Path(shop.p.store.location) / "session" / SID / "status.json").read_text())
    assert (note["batches"], note["items"]) == (1, 1)
    assert 0 <= born.tokens_before - born.tokens_after - note["saved_tokens"] < 50  # the overhead of a result
    assert msgspec.convert(note, dict[str, Any])["handle"] == (await shop.info()).handle


async def test_any_agent_may_have_a_large_result_shrunk_before_it_is_first_sent(tmp_path: Path) -> None:
    """Hosts that let a tool's result be replaced: LangChain, the Agent SDK, and one's own loop."""
    async with Palimpsest.open(tmp_path / "home") as p:
        shown = await p.shrink_result("run", LONG, call_id="toolu_1", tool_name="shell", args={"command": "./run"})
        small = await p.shrink_result("run", "short", call_id="toolu_2", tool_name="shell", args={"command": "ls"})
        assert isinstance(shown, str)
        assert len(shown) < len(LONG) / 2
        assert small == "short"
        (batch,) = await p.list_offloaded("run")
        assert (batch.reason, batch.item_ids) == ("at_birth", ("toolu_1",))
        messages: list[Any] = [{"role": "user", "content": "look at the log"}]
        for call, text in (("toolu_1", shown), ("toolu_2", small), ("toolu_3", "ok"), ("toolu_4", "ok")):
            use = {"type": "tool_use", "id": call, "name": "shell", "input": {"command": call}}
            messages += [
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]},
            ]
        done = await p.compact_messages(messages, session_id="run", force=True, target=0.3)
        assert done.messages == messages
        assert [one.batch_id for one in await p.list_offloaded("run")] == [batch.batch_id]
        assert await p.expand_messages(done.messages, session_id="run") != messages
        assert (await p.restore("run", batch.batch_id)).text == LONG


async def test_blocks_stay_blocks_and_what_may_be_edited_or_is_no_text_comes_back_as_it_is(tmp_path: Path) -> None:
    blocks: list[Any] = [{"type": "text", "text": LONG}]
    picture: list[Any] = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk=" * 20_000}}
    ]
    async with Palimpsest.open(tmp_path / "home") as p:
        shrunk = await p.shrink_result("run", blocks, call_id="a")
        assert isinstance(shrunk, list)
        assert [one["type"] for one in shrunk] == ["text"]
        assert "restore_batch" in shrunk[0]["text"]
        assert await p.shrink_result("run", picture, call_id="b") is picture
        assert await p.shrink_result("run", LONG, call_id="c", tool_name="read_file", args={"path": "a.py"}) == LONG
        log_read: dict[str, Any] = {"call_id": "d", "tool_name": "read_file", "args": {"path": "a.log"}}
        assert await p.shrink_result("run", LONG, **log_read, edited=["a.log"]) == LONG
        assert await p.shrink_result("run", LONG, **log_read) != LONG
        assert await p.shrink_result("run", log(100), call_id="e", above_tokens=500) != log(100)
    off = Settings.load(home=tmp_path / "off", at_birth=False)
    async with Palimpsest.open(settings=off) as p:
        assert await p.shrink_result("run", LONG, call_id="a") == LONG


async def test_a_digest_that_takes_too_long_leaves_the_result_as_it_is_and_writes_nothing(shop: Shop) -> None:
    result = result_of("Bash", {"stdout": LONG, "stderr": ""}, str(shop.transcript))
    assert result is not None
    answer = ToolAnswer(tool_name="Bash", tool_input={"command": "./run"}, tool_use_id="toolu_1", result=result)
    info = await shop.info()
    assert await shrink_at_birth(shop.p.deps, shop.sessions, info, answer, time_limit_s=0) is None
    assert not await shop.p.list_offloaded(SID)
    assert await shrink_at_birth(shop.p.deps, shop.sessions, info, answer, time_limit_s=600) is not None


async def test_a_digest_at_birth_has_at_most_2000_tokens(shop: Shop) -> None:
    """No target gives it more room (D20)."""
    long = "\n".join(
        f"job {n} of queue {n * 7 % 1009} took {n}.{n % 97} s on host-{n * 31 % 997}" for n in range(1_200)
    )
    born = await shop.born("Bash", {"stdout": long, "stderr": "", "interrupted": False, "isImage": False})
    assert born is not None
    (row,) = await shop.p.list_offloaded(SID)
    assert row.original_tokens > 20_000 and 1_000 < row.digest_tokens <= 2_000
