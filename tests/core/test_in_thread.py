"""While a digest is worked out, other calls are answered; a pass that is cancelled meanwhile wrote nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from palimpsest_mcp.core.dependencies import ContentCounter
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.wiring import InThread
from palimpsest_mcp.digest.prose import HandedDigester
from palimpsest_mcp.models.records import Digest, DigestRequest

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
MakeSession = Callable[..., Messages]
LONG_S = 10
"""Nobody waits so long unless the test fails."""


class Held(HandedDigester):
    """The real one, which waits before each batch until it is let go."""

    begun: threading.Event
    let_go: threading.Event

    def compute(self, request: DigestRequest) -> Digest:
        self.begun.set()
        assert self.let_go.wait(LONG_S), "the event loop was held up"
        return super().compute(request)


def with_held(p: Palimpsest) -> tuple[Palimpsest, threading.Event, threading.Event]:
    begun, let_go = threading.Event(), threading.Event()

    def digester_for(counter: ContentCounter) -> InThread:
        held = Held(p.deps.registry, counter)
        held.begun, held.let_go = begun, let_go
        return InThread(held)

    return Palimpsest(replace(p.deps, digester_for=digester_for), p.settings), begun, let_go


async def test_other_calls_are_answered_while_a_digest_is_worked_out(p: Palimpsest, session: MakeSession) -> None:
    slow, begun, let_go = with_held(p)
    await slow.check_context_ratio("other", used_tokens=50_000, window_tokens=100_000)
    work = asyncio.create_task(slow.compact_messages(session(), session_id="s1", target=0.4, force=True))
    assert await asyncio.to_thread(begun.wait, LONG_S)
    usage = await slow.check_context_ratio("other", used_tokens=60_000, window_tokens=100_000)
    assert usage.ratio == 0.6
    assert not work.done()
    let_go.set()
    done = await work
    assert done.report.status == "compacted"
    alone = await p.compact_messages(session(), session_id="s1", target=0.4, force=True)
    assert alone.messages == done.messages


async def test_a_pass_that_is_cancelled_during_a_digest_wrote_nothing_and_the_next_one_runs(
    p: Palimpsest, session: MakeSession
) -> None:
    slow, begun, let_go = with_held(p)
    work = asyncio.create_task(slow.compact_messages(session(), session_id="s1", target=0.4, force=True))
    assert await asyncio.to_thread(begun.wait, LONG_S)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    let_go.set()
    assert await p.list_offloaded("s1") == ()
    done = await p.compact_messages(session(), session_id="s1", target=0.4, force=True)
    assert done.report.status == "compacted"
    assert (await p.verify()).findings == ()


async def test_the_house_itself_works_out_its_digests_in_threads(p: Palimpsest) -> None:
    assert isinstance(p.deps.digester_for(p.deps.counter_for("")), InThread)
