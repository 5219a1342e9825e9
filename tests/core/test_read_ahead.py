"""Results are read before a pass needs them, and no digest tells whether they were."""

from __future__ import annotations

import hashlib
import shutil
import zlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.core.compaction import at_birth
from palimpsest_mcp.core.compaction.at_birth import sealed, unsealed
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.digest import study
from palimpsest_mcp.digest.source import Known, Source
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

from ..conftest import first_of

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


def opened_at(home: Path, digit: str = "7") -> AbstractAsyncContextManager[Palimpsest]:
    """Each process of a store has a digit of its own, of which all its names are."""
    return Palimpsest.open(home, random_hex=lambda size: digit * 2 * size)


async def recorded(p: Palimpsest, numbers: Sequence[int], *, ahead: bool) -> None:
    await p.record_items("s1", items(numbers))
    while ahead and p.may_read_ahead:
        await p.read_ahead()


async def passed(p: Palimpsest) -> list[tuple[Any, ...]]:
    await p.compact_session("s1", force=True, keep_last=3, target=0.2)
    return [
        (one.batch_id, one.item_ids, one.digest_tokens, one.specifics, one.digest)
        for one in await p.list_offloaded("s1")
    ]


async def compacted(home: Path, numbers: Sequence[int], *, ahead: bool, anew: bool) -> list[tuple[Any, ...]]:
    async with opened_at(home) as p:
        await recorded(p, numbers, ahead=ahead)
        if not anew:
            return await passed(p)
    async with opened_at(home, "8") as p:
        return await passed(p)


@given(st.lists(st.integers(0, 9), min_size=5, max_size=10))
@settings(max_examples=min(15, settings().max_examples * 3 // 10), deadline=None)
def test_a_pass_says_the_same_whether_its_results_were_read_before_and_by_whom(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int]
) -> None:
    found = [
        anyio.run(lambda way=way: compacted(tmp_path_factory.mktemp("home"), numbers, ahead=way > 0, anew=way > 1))
        for way in range(3)
    ]
    assert found[0] and found[0] == found[1] == found[2]
    assert KEY not in str(found)


def opened_in(home: Path, data: bytes) -> dict[bytes, bytes]:
    """The studies of a file, as any program of this store reads them."""
    program = hashlib.sha256(at_birth._code() + DefaultRegistry().version.encode()).digest()  # pyright: ignore[reportPrivateUsage]
    return unsealed([data], (home / "secret").read_bytes(), program)


def count_texts(monkeypatch: pytest.MonkeyPatch, read: list[str]) -> None:
    """Note each text that is read, and not what is taken as it was read before."""

    class Counted(Source):
        def __init__(self, text: str, known: Known | None = None) -> None:
            if known is None:
                read.append(text)
            super().__init__(text, known)

    monkeypatch.setattr(study, "Source", Counted)


async def test_what_was_read_ahead_is_not_read_in_the_pass(p: Palimpsest, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    count_texts(monkeypatch, read)
    monkeypatch.setattr(at_birth, "MOST_AT_ONCE", 1)
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


async def test_what_one_process_read_ahead_another_does_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened_at(tmp_path / "h") as p:
        await recorded(p, range(10), ahead=True)
    (file,) = (tmp_path / "h" / "studies").iterdir()
    assert oct(file.stat().st_mode)[-3:] == "600" and oct(file.parent.stat().st_mode)[-3:] == "700"
    assert KEY not in str([zlib.decompress(one) for one in opened_in(tmp_path / "h", file.read_bytes()).values()])
    read: list[str] = []
    count_texts(monkeypatch, read)
    async with opened_at(tmp_path / "h", "8") as p:
        assert await passed(p)
    assert text(0) not in read and text(1) not in read


@pytest.mark.parametrize(
    "harm", first_of(["cut", "changed", "empty", "another store's", "another program's", "removed"])
)
async def test_what_cannot_be_trusted_of_it_is_read_from_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    async with opened_at(tmp_path / "h") as p:
        await recorded(p, range(10), ahead=True)
    (file,) = (tmp_path / "h" / "studies").iterdir()
    whole = file.read_bytes()
    match harm:
        case "cut":
            file.write_bytes(whole[:-9])
        case "changed":
            file.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
        case "empty":
            file.write_bytes(b"")
        case "another store's":
            body = dict(opened_in(tmp_path / "h", whole))
            file.write_bytes(sealed(body, b"x" * 32, b"program"))
        case "another program's":
            monkeypatch.setattr(at_birth, "_code", lambda: b"a later one")
        case _:
            shutil.rmtree(file.parent)
    read: list[str] = []
    count_texts(monkeypatch, read)
    async with opened_at(tmp_path / "h", "8") as p:
        found = await passed(p)
    assert text(0) in read and text(1) in read
    async with opened_at(tmp_path / "other") as p:
        await recorded(p, range(10), ahead=False)
        assert found == await passed(p)


async def test_what_was_read_of_a_purged_result_goes_and_does_not_come_back(tmp_path: Path) -> None:
    async with opened_at(tmp_path / "h") as server, opened_at(tmp_path / "h", "8") as shell:
        await recorded(server, (0, 1), ahead=True)
        await server.record_items("s1", [{"role": "tool", "tool_use_id": "new", "content": text(6)}])
        assert list((tmp_path / "h" / "studies").iterdir())
        await shell.purge("s1", matching="worker 3 took", dry_run=False)
        assert not list((tmp_path / "h" / "studies").iterdir())
        assert await server.read_ahead() == 1, "it goes on with the file that had the result"
        assert not list((tmp_path / "h" / "studies").iterdir())
        await server.record_items("s1", [{"role": "tool", "tool_use_id": "newer", "content": text(11)}])
        assert await server.read_ahead() == 1
        assert len(list((tmp_path / "h" / "studies").iterdir())) == 1


async def test_nothing_is_read_ahead_where_nothing_runs_by_itself_and_for_principals(p: Palimpsest) -> None:
    for deps in (replace(p.deps, automatic=False), replace(p.deps, principal="anna")):
        other = Palimpsest(deps, p.settings)
        await other.record_items("s1", items((1, 2)))
        assert not other.may_read_ahead


async def test_only_so_many_results_wait_to_be_read(p: Palimpsest) -> None:
    most = p.deps.unread.maxlen
    assert most is not None
    await p.record_items("s1", [{"role": "tool", "content": f"result {n}"} for n in range(most + 5)])
    assert len(p.deps.unread) == most and p.deps.unread[-1][1].content == f"result {most + 4}"
