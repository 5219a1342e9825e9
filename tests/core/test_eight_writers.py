"""Eight writers on one session, each with its own copy of everything: the same list, and lists of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PassInProgress
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.store import DiskStore

from ..conftest import LONG, first_of
from .conftest import Messages, make_session

pytestmark = pytest.mark.anyio
WRITERS = 8
TURNS = 3 if LONG else 2


@pytest.mark.parametrize("lists", first_of(["the same", "their own"]))
async def test_eight_writers_on_one_session_lose_nothing_and_meet_no_error_but_ours(tmp_path: Path, lists: str) -> None:
    passes = refused = 0

    async def write(number: int) -> None:
        nonlocal passes, refused
        seed = 0 if lists == "the same" else number
        async with Palimpsest.open(tmp_path / "home") as p:
            for turn in range(TURNS):
                messages: Messages = make_session(6 + 2 * turn, lines=12, seed=seed)
                done = None
                while done is None:
                    try:
                        done = await p.compact_messages(messages, session_id="one", target=0.4, keep_last=3, force=True)
                    except PassInProgress:
                        refused += 1
                passes += 1
                assert await p.expand_messages(done.messages, session_id="one") == messages

    await asyncio.gather(*map(write, range(WRITERS)))
    assert passes == TURNS * WRITERS, (passes, refused)
    async with Palimpsest.open(tmp_path / "home") as p:
        report = await p.verify()
        assert report.ok, report.findings
        for batch in await p.list_offloaded("one"):
            assert all(one.text for one in await p.restore_batch("one", batch.batch_id))


class OvertakenLedger:
    """A ledger for whose pass lock somebody else is quicker, once."""

    def __init__(self, ledger: Any, others: Callable[[], Awaitable[object]]) -> None:
        self._ledger = ledger
        self._others: Callable[[], Awaitable[object]] | None = others

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    @asynccontextmanager
    async def pass_lock(self, key: SessionKey) -> AsyncGenerator[None]:
        others, self._others = self._others, None
        if others is not None:
            await others()
        async with self._ledger.pass_lock(key):
            yield


@pytest.mark.parametrize("more", [0, 6])
async def test_a_pass_that_was_measured_before_another_one_committed_goes_on_from_it(tmp_path: Path, more: int) -> None:
    home, messages = tmp_path / "home", make_session(12, lines=12)

    async def theirs() -> None:
        async with Palimpsest.open(home) as other:
            await other.compact_messages(
                make_session(12 + more, lines=12), session_id="one", target=0.4, keep_last=3, force=True
            )

    store = DiskStore(home)
    async with Palimpsest.open(home, store=store) as p:
        await p.compact_messages(messages, session_id="one", window_tokens=10**6)
        cast("Any", store).ledger = OvertakenLedger(store.ledger, theirs)
        await p.compact_session("one", target=0.4, keep_last=3, force=True)
        done = await p.compact_messages(messages, session_id="one", window_tokens=10**6)
        assert done.messages != messages and await p.expand_messages(done.messages, session_id="one") == messages
        report = await p.verify()
        assert report.ok, report.findings
    await store.aclose()
