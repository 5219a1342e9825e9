"""The index is a cache: whatever happens to its file, searching goes on."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest_mcp.ports.store import Entry, Match
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.store.score import (
    LinearSearch,
    Text,
    _best_passage,  # pyright: ignore[reportPrivateUsage]
    _densest,  # pyright: ignore[reportPrivateUsage]
    ranked,
    read,
)
from palimpsest_mcp.store.search import (
    _COUNT_OF,  # pyright: ignore[reportPrivateUsage]
    _FIND,  # pyright: ignore[reportPrivateUsage]
    QUICK_S,
    RETRY_AFTER_S,
    FtsIndex,
    IndexDown,
    IndexSearch,
)
from palimpsest_mcp.testing.contract_values import entry

pytestmark = pytest.mark.anyio

BATCH = frozenset({"offload_0001"})


def index_in(home: Path, store_id: str = "this", **options: float) -> FtsIndex:
    return FtsIndex(Home(home, RealDisk(), lambda size: os.urandom(size).hex()), lambda: store_id, **options)


class Counting(FtsIndex):
    """Knows how often it was asked what it has."""

    asked = 0

    def indexed(self, principal: str, session_id: str) -> tuple[frozenset[str], int]:
        self.asked += 1
        return super().indexed(principal, session_id)


async def test_what_is_indexed_is_asked_once_and_again_when_it_may_have_changed(tmp_path: Path) -> None:
    index = Counting(Home(tmp_path, RealDisk(), lambda size: os.urandom(size).hex()), lambda: "this")
    search = IndexSearch(index)
    await search.add([entry("word one", "one")])
    assert [await search.indexed("", "s1") for _ in range(3)] == [BATCH] * 3 and index.asked == 1
    await search.add([entry("word two", "two", batch="offload_0002")])
    assert await search.indexed("", "s1") == {*BATCH, "offload_0002"} and index.asked == 2
    await search.forget("", "s1", ["offload_0002"])
    assert await search.indexed("", "s1") == BATCH and index.asked == 3
    index_in(tmp_path).discard()  # by another process
    assert await search.indexed("", "s1") == frozenset() and index.asked == 4
    await search.add([entry("word one", "one")])
    index.close()
    garble(tmp_path / "index.sqlite3")
    assert await search.indexed("", "s1") == frozenset()


class Threaded(FtsIndex):
    """Knows what it was asked in a thread."""

    def __init__(self, home: Path) -> None:
        super().__init__(Home(home, RealDisk(), lambda size: os.urandom(size).hex()), lambda: "this")
        self.in_thread: list[str] = []

    def find(
        self, query: str, *, principal: str, session_ids: Sequence[str] | None, project: str | None, limit: int
    ) -> tuple[Match, ...]:
        self.in_thread.append(query)
        return super().find(query, principal=principal, session_ids=session_ids, project=project, limit=limit)


async def test_a_search_without_a_thread_finds_what_is_there_now(tmp_path: Path) -> None:
    index = Threaded(tmp_path)
    search = IndexSearch(index, monotonic=lambda: 0.0)
    await search.add([entry("needle one", "one"), entry("needle two, no needle", "two")])
    first = await search.find("needle", session_ids=["s1"])
    assert await search.find("needle", session_ids=["s1"]) == first and index.in_thread == ["needle"]
    other = index_in(tmp_path)  # another process
    other.add([entry("needle three", "three", batch="offload_0002")])
    assert {one.item_id for one in await search.find("needle")} == {"one", "two", "three"}
    other.forget("", "s1", ["offload_0001"])
    assert [one.item_id for one in await search.find("needle")] == ["three"] and index.in_thread == ["needle"]
    other.discard()
    assert await search.find("needle") == () and index.in_thread == ["needle"] * 2
    index.close()


async def test_much_text_and_what_took_long_before_is_searched_in_a_thread(tmp_path: Path) -> None:
    index, now = Threaded(tmp_path), [0.0]
    search = IndexSearch(index, monotonic=lambda: now.append(now[-1] + now[0]) or now[-1])
    await search.add([entry("needle " * 9_999, "long"), entry("brief", "brief"), entry("needle", "short")])
    for query in ("brief", "brief", "needle", "brief"):
        assert await search.find(query)
    assert index.in_thread == ["brief", "needle"]
    now[0] = 2 * QUICK_S
    for _ in range(2):
        assert await search.find("brief")
    assert index.in_thread == ["brief", "needle", "brief"]
    index.close()


def find(index: FtsIndex | LinearSearch, query: str) -> list[str]:
    return [m.item_id for m in index.find(query, principal="", session_ids=None, project=None, limit=50)]


def garble(path: Path) -> None:
    path.write_bytes(b"this is no database, whatever its name says" * 200)


def truncate(path: Path) -> None:
    os.truncate(path, 5000)


def overwrite_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()


def foreign(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine (x)")
    db.close()


def without_tables(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("DROP TABLE found")
    db.commit()
    db.close()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "spoil", [garble, truncate, overwrite_middle, newer, foreign, without_tables, folder, link, Path.unlink]
)
@pytest.mark.parametrize("open_meanwhile", [False, True])
async def test_a_spoilt_index_is_moved_aside_and_made_anew(
    tmp_path: Path, spoil: Callable[[Path], None], open_meanwhile: bool
) -> None:
    store = DiskStore(tmp_path)
    await store.search.add([entry("a word", "a")])
    if not open_meanwhile:
        await store.aclose()
    spoil(tmp_path / "index.sqlite3")
    await store.search.find("word")
    other = DiskStore(tmp_path)
    for one in (store, other, store):
        if not await one.search.indexed("", "s1"):
            await one.search.add([entry("a word", "a")])
        assert [match.item_id for match in await one.search.find("word")] == ["a"]
    assert (tmp_path / "index.sqlite3").is_file() and not (tmp_path / "index.sqlite3").is_symlink()
    await store.aclose()
    await other.aclose()


async def test_the_index_of_another_store_is_not_believed(tmp_path: Path) -> None:
    first, second = DiskStore(tmp_path / "1"), DiskStore(tmp_path / "2")
    await first.search.add([entry("a word", "a")])
    await first.aclose()
    await second.secret()
    (tmp_path / "2" / "index.sqlite3").write_bytes((tmp_path / "1" / "index.sqlite3").read_bytes())
    assert await second.search.indexed("", "s1") == frozenset()
    await second.aclose()


async def test_a_stale_journal_does_not_come_back_to_life(tmp_path: Path) -> None:
    index = index_in(tmp_path)
    index.add([entry("old word", "old")])
    wal = (tmp_path / "index.sqlite3-wal").read_bytes()
    index.close()
    (tmp_path / "index.sqlite3").unlink()
    (tmp_path / "index.sqlite3-wal").write_bytes(wal)
    again = index_in(tmp_path)
    again.add([entry("new word", "new")])
    assert find(again, "word") == ["new"]
    again.close()


def test_a_locked_index_is_down_after_its_time_limit(tmp_path: Path) -> None:
    index = index_in(tmp_path, busy_timeout_s=0.05)
    index.add([entry("a word", "a")])
    holder = sqlite3.connect(tmp_path / "index.sqlite3", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(IndexDown):
        index.add([entry("more", "b")])
    assert find(index, "word") == ["a"], "readers do not wait for a writer"
    holder.execute("ROLLBACK")
    holder.close()
    index.add([entry("more", "b")])
    assert find(index, "more") == ["b"]
    assert not (tmp_path / "index.sqlite3.aside").exists(), "a lock is no damage"
    index.close()


def bytes_in(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.glob("index.sqlite3*"))


async def test_while_the_index_is_down_searching_goes_on_in_memory(tmp_path: Path) -> None:
    index, time = index_in(tmp_path, busy_timeout_s=0.05), [0.0]
    search = IndexSearch(index, monotonic=lambda: time[0])
    await search.add([entry("word kept", "kept"), entry("word purged", "purged", batch="offload_0002")])
    holder = sqlite3.connect(tmp_path / "index.sqlite3", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    await search.forget("", "s1", ["offload_0002"])
    assert b"purged" not in bytes_in(tmp_path), "what cannot be taken out goes with the whole index"
    assert await search.indexed("", "s1") == frozenset()
    await search.add([entry("word kept", "kept")])
    assert await search.indexed("", "s1") == BATCH
    assert [match.item_id for match in await search.find("word")] == ["kept"]
    holder.execute("ROLLBACK")
    holder.close()
    time[0] = RETRY_AFTER_S
    assert [match.item_id for match in await search.find("word")] == ["kept"], "what was purged meanwhile stays so"
    assert index.indexed("", "s1")[0] == BATCH
    search.close()


async def test_a_home_that_cannot_be_written_still_searches_what_it_is_given(tmp_path: Path) -> None:
    class NoRoom(RealDisk):
        def create(self, path: str) -> int:
            raise OSError(28, "no space")

    store = DiskStore(tmp_path, disk=NoRoom())
    await store.search.add([entry("a word", "a")])
    assert await store.search.indexed("", "s1") == BATCH
    assert [match.item_id for match in await store.search.find("word")] == ["a"]


def test_two_processes_add_at_once_without_being_refused(tmp_path: Path) -> None:
    indexes = [index_in(tmp_path) for _ in range(3)]
    for number in range(30):
        indexes[number % 3].add([entry(f"word{number} all", f"i{number:02d}")])
    assert all(len(find(index, "all")) == 30 for index in indexes)
    for index in indexes:
        index.close()


def test_only_the_owner_may_read_the_index(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        index = index_in(tmp_path)
        index.add([entry("a word", "a")])
        files = [entry for entry in os.scandir(tmp_path) if entry.name.startswith("index.sqlite3")]
        modes = {file.name: file.stat().st_mode & 0o777 for file in files}
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600} and len(modes) == 3
    index.close()


texts = st.lists(
    st.sampled_from(["Red", "green", "BLUE", "数据库", "数据", "库", "a_b", "a.b", "é", "e", "'", '"', "-"]), max_size=8
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_with_and_without_an_index_the_same_entries_are_found(
    tmp_path: Path, entries: list[list[str]], query: list[str]
) -> None:
    index, linear = index_in(tmp_path), LinearSearch()
    index.forget("", "s1", ["offload_0001"])
    given: list[Entry] = [entry(" ".join(words), f"i{number}") for number, words in enumerate(entries)]
    index.add(given)
    linear.add(given)
    assert sorted(find(index, " ".join(query))) == sorted(find(linear, " ".join(query)))
    assert not (tmp_path / "index.sqlite3.aside").exists()
    index.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec=None, categories=None), max_size=60))
def test_no_query_and_no_text_upsets_the_index(tmp_path: Path, text: str) -> None:
    index = index_in(tmp_path)
    index.add([entry(f"{text} needle", text or "x")])
    assert (text or "x") in find(index, "needle")
    index.find(text, principal="", session_ids=[text], project=text, limit=3)
    index.forget("", "s1", ["offload_0001"])
    assert find(index, "needle") == []
    assert not (tmp_path / "index.sqlite3.aside").exists()
    index.close()


def test_a_phrase_that_begins_inside_of_a_word_is_no_hit_and_hides_none_behind_it() -> None:
    (need,) = read('"na na"').needs
    assert need.term.several
    texts = [Text("", "banana na"), Text("", "xna na na, na\tna"), Text("", "na na"), Text("", "banana")]
    assert [one.place for one in ranked(texts, [need])] == [-1, 4, 0, -1]


counted_words = st.dictionaries(st.integers(0, 40), st.dictionaries(st.integers(0, 2), st.integers(1, 9), min_size=1))


@given(blocks=counted_words, worth=st.tuples(*[st.floats(0.01, 9.0)] * 3))
def test_the_best_passage_is_the_first_of_those_that_are_worth_most(
    blocks: dict[int, dict[int, int]], worth: tuple[float, float, float]
) -> None:
    """As said by going through every passage of three blocks, one after the other."""
    blocks = dict(sorted(blocks.items()))

    def held(start: int) -> Counter[int]:
        counts = Counter[int]()
        for here in range(start, start + 3):
            counts.update(blocks.get(here, {}))
        return counts

    def value(start: int) -> float:
        return sum(worth[n] * count * 2.2 / (count + 1.2) for n, count in held(start).items())

    starts = sorted({start for block in blocks for start in range(max(0, block - 2), block + 1)})
    best = max(map(value, starts), default=0.0)
    first = next((start for start in starts if value(start) == best), 0)
    assert _best_passage(blocks, worth) == (first, held(first))


@given(tally=st.dictionaries(st.integers(0, 40), st.integers(1, 9), min_size=1), worth=st.floats(0.01, 9.0))
def test_where_one_need_stands_alone_the_best_passage_is_the_first_with_most_of_it(
    tally: dict[int, int], worth: float
) -> None:
    tally = dict(sorted(tally.items()))
    alone = {block: {0: count} for block, count in tally.items()}
    assert _densest({0: tally}) == _best_passage(alone, (worth,))


def test_a_word_that_more_texts_have_than_are_read_is_as_rare_as_all_of_them_make_it(tmp_path: Path) -> None:
    index = index_in(tmp_path)
    index.add([entry("needle" if n < 60 else "hay", f"o{n}") for n in range(100)])
    (best, *_) = index.find("needle", principal="", session_ids=None, project=None, limit=1)
    likely = [Text(entry("needle", "o0").named, "needle")] * 50
    assert best.score == ranked(likely, read("needle").needs, having=[60], total=100)[0].score
    index.close()


def test_the_index_is_asked_once_for_a_word_and_not_for_each_entry(tmp_path: Path) -> None:
    index = index_in(tmp_path)
    index.add([entry(f"worker {n}", item_id=f"i{n}") for n in range(30)])
    connection = index._connection  # pyright: ignore[reportPrivateUsage]  # its plans are seen nowhere else
    assert connection is not None
    scope = {"match": "worker", "principal": "", "sessions": None, "project": None, "likely": 9}
    for sql in (_COUNT_OF, _FIND):
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", scope)]
        assert plan[0].startswith("SCAN found VIRTUAL TABLE INDEX") and "SEARCH entries USING INTEGER" in plan[1], plan
