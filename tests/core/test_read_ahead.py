"""Results are read before a pass needs them, and no digest tells whether they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.core.compaction import digests
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.digest import study
from palimpsest_mcp.digest.source import Source

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("nothing_is_read")]
KEY = "AKIAQ5TZ7XN2RVWB4KCM"


def text(number: int) -> str:
    """What a tool printed: logs, a table, a file with a key in it, a key that the next result goes on with."""
    log = "\n".join(f"2026-11-20 08:15:{n:02} INFO worker {n + number} took {n * 37} ms" for n in range(60))
    rows = "\n".join(f'{{"id": "HAT{n:03}", "state": "sold", "seats": {n * number}}}' for n in range(50))
    code = "\n".join(f"    def part_{n}(self): return load({n * number})" for n in range(60))
    return (log, rows, f"aws_key = {KEY}\n{code}", f"{code}\n{KEY[:14]}", f"{KEY[14:]}\n{log}")[number % 5]


def items(numbers: Sequence[int]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": "Which worker was slow?"}]
    for place, number in enumerate(numbers):
        call = {"tool_name": "Bash", "tool_use_id": f"c{place}"}
        found.append({"role": "assistant", "kind": "tool_call", **call, "args": {"command": f"make part{number}"}})
        found.append({"role": "tool", **call, "content": text(number)})
    return found


async def compacted(home: Path, numbers: Sequence[int], *, ahead_of_it: bool) -> list[tuple[Any, ...]]:
    async with Palimpsest.open(home, random_hex=lambda size: "7" * 2 * size) as p:
        await p.record_items("s1", items(numbers))
        while ahead_of_it and p.may_read_ahead:
            await p.read_ahead()
        await p.compact_session("s1", force=True, keep_last=3, target=0.2)
        return [
            (one.batch_id, one.item_ids, one.digest_tokens, one.specifics, one.digest)
            for one in await p.list_offloaded("s1")
        ]


@given(st.lists(st.integers(0, 9), min_size=5, max_size=10))
@settings(max_examples=min(15, settings().max_examples), deadline=None)
def test_a_pass_says_the_same_whether_its_results_were_read_before(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int]
) -> None:
    found = [
        anyio.run(lambda read=read: compacted(tmp_path_factory.mktemp("home"), numbers, ahead_of_it=read))
        for read in (True, False)
    ]
    assert found[0] and found[0] == found[1]
    assert KEY not in str(found)


async def test_what_was_read_ahead_is_not_read_in_the_pass(p: Palimpsest, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    class Counted(Source):
        def __init__(self, text: str) -> None:
            read.append(text)
            super().__init__(text)

    monkeypatch.setattr(study, "Source", Counted)
    monkeypatch.setattr(digests, "MOST_AT_ONCE", 1)
    await p.record_items("s1", items(range(0, 10, 5)))
    assert [await p.read_ahead() for _ in range(3)] == [1, 1, 0] and not p.may_read_ahead
    assert sorted(read) == sorted((text(0), text(5)))
    await p.record_items("s1", items(range(0, 10, 5)))  # known already
    assert not p.may_read_ahead
    await p.record_items("s1", [{"role": "tool", "content": f"short {n}"} for n in range(4)])
    read.clear()
    await p.compact_session("s1", force=True, keep_last=3, target=0.1)
    assert text(0) not in read and text(5) not in read
    assert len(await p.list_offloaded("s1")) == 1


async def test_nothing_is_read_ahead_where_nothing_runs_by_itself_and_for_principals(p: Palimpsest) -> None:
    for deps in (replace(p.deps, automatic=False), replace(p.deps, principal="anna")):
        other = Palimpsest(deps, p.settings)
        await other.record_items("s1", items((1, 2)))
        assert not other.may_read_ahead


async def test_only_so_many_results_wait_to_be_read(p: Palimpsest) -> None:
    most = p.deps.unread.maxlen
    assert most is not None
    await p.record_items("s1", [{"role": "tool", "content": f"result {n}"} for n in range(most + 5)])
    assert len(p.deps.unread) == most and p.deps.unread[-1].content == f"result {most + 4}"
