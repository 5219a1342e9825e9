"""A pass may make the garbage collector rarer; the process that it works in gets its own setting back."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Generator
from typing import Any

import pytest

from palimpsest_mcp.app import Palimpsest
from palimpsest_mcp.services.collecting import YOUNG_OBJECTS, rare_collections

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def own_threshold() -> Generator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    yield (701, 11, 12)
    gc.set_threshold(*before)


async def test_passes_at_once_collect_rarely_and_leave_the_threshold_as_it_was(
    p: Palimpsest, session: MakeSession, own_threshold: tuple[int, int, int]
) -> None:
    seen: list[tuple[int, int, int]] = []

    async def progress(done: int, total: int, what: str) -> None:
        seen.append(gc.get_threshold())

    works = [
        p.compact_messages(session(), session_id=name, target=0.4, force=True, progress=progress) for name in "abc"
    ]
    assert {one.report.status for one in await asyncio.gather(*works)} == {"compacted"}
    assert set(seen) == {(YOUNG_OBJECTS, 11, 12)}
    assert gc.get_threshold() == own_threshold


async def test_a_pass_that_fails_leaves_the_threshold_as_it_was(
    p: Palimpsest, session: MakeSession, own_threshold: tuple[int, int, int]
) -> None:
    async def progress(done: int, total: int, what: str) -> None:
        raise RuntimeError(what)

    with pytest.raises(RuntimeError, match="digest"):
        await p.compact_messages(session(), session_id="a", target=0.4, force=True, progress=progress)
    assert gc.get_threshold() == own_threshold


@pytest.mark.parametrize("theirs", [(0, 10, 10), (YOUNG_OBJECTS * 2, 5, 5)])
async def test_a_collector_that_is_off_or_rarer_already_is_left_alone(theirs: tuple[int, int, int]) -> None:
    gc.set_threshold(*theirs)
    with rare_collections():
        assert gc.get_threshold() == theirs
    assert gc.get_threshold() == theirs


async def test_what_the_host_sets_during_a_pass_stays() -> None:
    with rare_collections():
        gc.set_threshold(900, 8, 8)
    assert gc.get_threshold() == (900, 8, 8)
