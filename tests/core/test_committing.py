"""Archive first: on each way by which originals leave a context, and whatever fails on it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import LockTimeout, PalimpsestError, WriteFailed
from palimpsest_mcp.models.events import Decision, Replaced, SessionKey
from palimpsest_mcp.models.records import OffloadRecord
from palimpsest_mcp.settings.settings import Settings

from ..conftest import first_of
from .claude_code.conftest import FakeClient, log_of, long_session
from .conftest import make_session

pytestmark = pytest.mark.anyio
NAME = "main-session"
PICTURE = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}]


@pytest.fixture
async def p(tmp_path: Path) -> AsyncGenerator[Palimpsest]:
    settings = Settings.load(home=tmp_path / "home")
    async with Palimpsest.open(settings=settings, attached="claude-code") as opened:
        yield opened


async def by_a_pass(p: Palimpsest, _client: FakeClient) -> str:
    try:
        done = await p.compact_messages(make_session(), session_id=NAME, target=0.4, force=True)
    except PalimpsestError as error:
        return error.message
    assert done.report.status == "compacted"
    return ""


async def at_birth(_p: Palimpsest, client: FakeClient) -> str:
    client.say("Why does the nightly job fail?")
    said = await client.bash("toolu_long", "./check.sh", log_of(1, lines=600))
    return "" if said else "the result goes through as it is"


async def in_place(_p: Palimpsest, client: FakeClient) -> str:
    await long_session(client, 18, used=175_000)
    answer = await client.compact("auto")
    return "" if answer["apply"] else answer["reason"]


async def in_place_with_a_picture(p: Palimpsest, client: FakeClient) -> str:
    await long_session(client, 18, used=175_000)
    client.answer("", ("toolu_png", "Read", {"file_path": "/work/a.png"}), used=175_000)
    block = {"type": "tool_result", "tool_use_id": "toolu_png", "content": PICTURE}
    client.write(type="user", message={"role": "user", "content": [block]})
    one = {"tool_use_id": "toolu_png", "text": "", "isError": False}
    client.rows.append({"role": "user", "text": "", "toolUses": [], "toolResults": [one]})
    answer = await client.compact("auto")
    return "" if answer["apply"] else answer["reason"]


Way = Callable[[Palimpsest, FakeClient], Awaitable[str]]
"""Takes it, and says why nothing was replaced; empty where something was."""
WAYS = (by_a_pass, at_birth, in_place, in_place_with_a_picture)


class Watched:
    """Archive and ledger of a store, with what was asked of them in order, and what fails."""

    def __init__(self, p: Palimpsest, monkeypatch: pytest.MonkeyPatch) -> None:
        self.archived: set[str] = set()
        self.committed: list[str] = []
        self.too_early: list[str] = []
        self.fails_to = ""
        """`archive` or `commit`; empty: nothing fails."""
        self.only = ""
        """The item with which it fails; empty: any."""
        archive, ledger = p.store.archive, p.store.ledger
        append, decide = archive.append, ledger.decide

        async def watched_append(key: SessionKey, records: Sequence[OffloadRecord]) -> None:
            if self.fails_to == "archive" and self._hits({i.id for one in records for i in one.items}):
                raise WriteFailed("No space is left on the disk.", next="Make room.")
            await append(key, records)
            self.archived |= {one.batch_id for one in records}

        async def watched_decide(key: SessionKey, decisions: Sequence[Decision], **how: Any) -> int:
            batches = [batch for one in decisions if isinstance(one, Replaced) for batch in one.batches]
            if self.fails_to == "commit" and batches and self._hits({i.id for one in batches for i in one.items}):
                raise LockTimeout("Another process is committing.", next="Try again.")
            self.too_early += [one.batch_id for one in batches if one.batch_id not in self.archived]
            self.committed += [one.batch_id for one in batches]
            return await decide(key, decisions, **how)

        monkeypatch.setattr(archive, "append", watched_append)
        monkeypatch.setattr(ledger, "decide", watched_decide)

    def _hits(self, items: set[str]) -> bool:
        return not self.only or self.only in items


@pytest.fixture
def watched(p: Palimpsest, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(p, monkeypatch)


@pytest.mark.parametrize("way", first_of(WAYS, kept=2))
async def test_nothing_is_replaced_before_its_original_is_archived(
    p: Palimpsest, watched: Watched, tmp_path: Path, way: Way
) -> None:
    assert await way(p, FakeClient(p, tmp_path, NAME)) == ""
    assert watched.committed and watched.too_early == []
    assert (await p.verify()).ok


@pytest.mark.parametrize("fails_to", first_of(["archive", "commit"]))
@pytest.mark.parametrize("way", first_of(WAYS, kept=2))
async def test_a_failure_leaves_the_context_as_it_was_and_says_why(
    p: Palimpsest, watched: Watched, tmp_path: Path, way: Way, fails_to: str
) -> None:
    watched.fails_to, watched.only = fails_to, "toolu_png" if way is in_place_with_a_picture else ""
    why = await way(p, FakeClient(p, tmp_path, NAME))
    assert why
    view = await p.show_context(NAME)
    replaced = {one.item_id for one in view.items if one.state == "replaced"}
    assert replaced == set() if not watched.only else "toolu_png" not in replaced
    assert (await p.verify()).ok


@pytest.mark.parametrize("fails_to", ["", "archive"])
async def test_what_the_client_drops_is_archived_and_nothing_else_is_done(
    p: Palimpsest, watched: Watched, tmp_path: Path, fails_to: str
) -> None:
    watched.fails_to = fails_to
    client = FakeClient(p, tmp_path, NAME)
    await long_session(client, 6)
    said = await client.hook("PreCompact", trigger="auto")
    assert bool(said) is bool(watched.archived) is (not fails_to)
    assert watched.committed == []
    assert all(one.state == "live" for one in (await p.show_context(NAME)).items)
