"""Search across the sessions of a principal: by words and their pieces, in any script, in the order of the disk."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.ports.store import Entry
from palimpsest_mcp.store.disk_store import DiskStore
from palimpsest_mcp.store.score import Text, read
from palimpsest_mcp.testing.contract_values import applied, entry, info_of, record

from .cluster import OWNER, Cluster
from .test_passes import messages
from .wire import Wire

S0 = SessionKey("s0")

if TYPE_CHECKING:
    from palimpsest_mcp.store.postgres.store import PgStore

pytestmark = pytest.mark.anyio
PASS: dict[str, Any] = {"window_tokens": 9_000, "target": 0.3, "force": True}
WORDS = {
    "a": "PoolTimeoutError: no connection became free",
    "b": "错误：数据库连接超时，请重试",
    "c": "the migrations were rolled back, код ошибкиСервера 4711",
    "d": "commit 3f9c0a1b2d4e5f60 by Zoë, status 404",
    "e": "データベースの接続が失敗しました",
}


def opened(cluster: Cluster, place: Path, tenant: str) -> PgStore:
    from palimpsest_mcp.store.postgres.store import PgStore

    return PgStore(cluster.pooled, home=place, tenant=tenant)


def everywhere() -> list[Entry]:
    """Each text in a session of its own."""
    return [entry(text, name, session=f"session {name}") for name, text in WORDS.items()]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("timeouterror", "a"),  # inside
        ("meouterr", "a"),
        ("conection", "a"),  # a letter too few, too many, wrong, and two that changed places
        ("connecction", "a"),
        ("comnection", "a"),
        ("conenction", "a"),
        ("migartion", "c"),  # by its stem
        ("ибкисерв", "c"),  # whatever the locale of the database
        ("ошибкаСервера", "c"),
        ("3f9c0a", "d"),
        ("zoë conection", "ad"),
        ("数据库", "b"),
        ("接続", "e"),
        ("失", "e"),
        ("0a1b2d", ""),  # a code is found by its beginning, a number is itself or nothing
        ("405", ""),
        ("4712", ""),
        ("3f9c0a1b2d4e5f61", ""),
        ("tion", "ac"),
        ("ion", ""),
        ("库数", ""),
        ("entirely unrelated", ""),
    ],
)
async def test_a_piece_of_a_word_and_one_wrong_letter_are_found_in_every_session(
    cluster: Cluster, tmp_path: Path, tenant: str, query: str, found: str
) -> None:
    store = opened(cluster, tmp_path, tenant)
    await store.search.add(everywhere())
    hits = await store.search.find(query)
    assert "".join(sorted(one.item_id for one in hits)) == found
    assert all(one.session_id == f"session {one.item_id}" for one in hits)
    await store.aclose()


async def test_among_many_entries_one_wrong_letter_is_found_too_and_of_what_many_have_the_newest(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    import asyncpg

    store, old, new = opened(cluster, tmp_path, tenant), SessionKey("old"), SessionKey("new")
    await store.ledger.create(old, info_of(old, created="2025-01-02T10:00:00+00:00"))
    await store.ledger.create(new, info_of(new, created=datetime.now(UTC).isoformat()))
    everything = [*everywhere(), entry("filler " * 5, "f", session="old"), entry("filler", "f", session="new")]
    await store.search.add(everything)
    owner: Any = await asyncpg.connect(cluster.url(OWNER))
    await owner.execute(
        "insert into palimpsest.entry select tenant, owner, session_key, decode(md5(n::text), 'hex'), batch_id, stands,"
        " enc, body, words from palimpsest.entry, generate_series(1, 10000) n where tenant = $1 and session_key ="
        " (select session_key from palimpsest.session where tenant = $1 and name = 'new')",
        tenant,
    )
    await owner.close()
    for word in ("conection", "connecction", "comnection", "conenction", "conections", "timeouterror"):
        assert [one.item_id for one in await store.search.find(word)] == ["a"], word
    assert [one.item_id for one in await store.search.find("ошибкаСервера")] == ["c"]
    assert await store.search.find("entirely") == ()
    for word in ("filler", "fillre", "fillre"):  # how many have what stands for it is known the second time
        assert {one.session_id for one in await store.search.find(word, limit=50)} == {"new"}, word
    (only,) = await store.search.find("filler", session_ids=["old"])
    assert only.session_id == "old"
    await store.aclose()


async def test_a_search_over_all_sessions_is_one_statement_and_two_where_it_has_to_guess_what_was_meant(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire = Wire(cluster.port)
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1)
        async with Palimpsest.open(tmp_path, store=store) as p:
            await p.compact_messages(messages(), session_id="s", **PASS)
            for word, trips in (("warm", 9), ("refused", 1), ("refussed", 2)):
                wire.trips = 0
                hits = await p.search_offloaded(word)
                assert wire.trips <= trips and [one.handle for one in hits] == [(await p.session("s")).handle] * len(
                    hits
                )
                assert hits or word == "warm"


async def test_pieces_of_a_word_that_stand_in_several_are_no_hit_and_nothing_is_asked_again(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire = Wire(cluster.port)
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1)
        await store.search.add([entry("kabcx mbcdy", "a")])
        assert [one.item_id for one in await store.search.find("abcx")] == ["a"]
        wire.trips = 0
        assert await store.search.find("abcd") == () and wire.trips == 1
        assert [one.item_id for one in await store.search.find("abcd kabcx")] == ["a"]
        await store.aclose()


async def test_a_piece_finds_only_what_its_principal_and_the_named_sessions_and_project_have(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    store, other = opened(cluster, tmp_path, tenant), opened(cluster, tmp_path, f"{tenant}-b")
    mine = entry("connection refused", "mine", session="s1", project="p")
    hers = entry("connection refused", "hers", session="s1", principal="ann")
    await store.search.add([mine, entry("connection refused", "late", session="s2", project="q"), hers])
    await other.search.add([entry("connection refused", "theirs")])

    async def ids(store: PgStore, **scope: Any) -> list[str]:
        return sorted(one.item_id for one in await store.search.find("onnectio", **scope))

    assert await ids(store) == ["late", "mine"] and await ids(other) == ["theirs"]
    assert await ids(store, principal="ann") == ["hers"] and await ids(store, principal="bob") == []
    assert await ids(store, session_ids=["s2", "s3"]) == ["late"] and await ids(store, project="p") == ["mine"]
    await store.search.forget("", "s1", ["offload_0001"])
    assert await ids(store) == ["late"]
    await store.aclose()
    await other.aclose()


async def test_across_sessions_hits_come_in_the_order_of_the_disk_with_its_scores(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    disk, store = DiskStore(tmp_path / "disk"), opened(cluster, tmp_path, tenant)
    some = [
        entry(
            f"{'pool ' * (n % 5)}worker {n} waits {'for a connection ' * (n % 3)} 连接{n}", f"i{n}", session=f"s{n % 7}"
        )
        for n in range(40)
    ]
    await disk.search.add(some)
    await store.search.add(some)
    for query in ("pool connection", "worker 7", "why does a pool worker wait for it", "连接", "wait pool 连接"):
        there, here = await disk.search.find(query), await store.search.find(query)
        assert [(one.item_id, round(one.score, 6)) for one in there] == [
            (one.item_id, round(one.score, 6)) for one in here
        ], query
    await store.aclose()


@pytest.mark.long
async def test_a_search_over_all_sessions_asks_the_database_no_oftener_when_there_are_more_of_them(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire, trips = Wire(cluster.port), list[int]()
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1)
        async with Palimpsest.open(tmp_path, store=store) as p:
            for number in range(12):
                await p.compact_messages(messages(), session_id=f"s{number}", **PASS)
                for query in ("refused", "efuse"):
                    wire.trips = 0
                    hits = await p.search_offloaded(query, limit=3)
                    assert len(hits) == 3 and all(one.handle for one in hits)
                    trips.append(wire.trips)
    assert trips[-2:] == trips[2:4], trips


async def test_a_check_of_the_ratio_asks_the_database_once_and_its_answer_knows_the_handle_without(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire = Wire(cluster.port)
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1)
        async with Palimpsest.open(tmp_path, store=store) as p:
            await p.compact_messages(messages(), session_id="s", **PASS)
            handle = (await p.session("s")).handle
            for number in range(3):
                for name in ("s", handle):
                    wire.trips = 0
                    await p.check_context_ratio(name, used_tokens=9_000 + number, window_tokens=64_000)
                    assert wire.trips <= 1 or not number, "the note, which gives what others wrote"
                    wire.trips = 0
                    assert p.handle_of(name) == handle and wire.trips == 0
                    await p.check_context_ratio(name, used_tokens=9_000 + number, window_tokens=64_000)
                    assert wire.trips <= 1, "nothing is noted twice"


async def test_what_is_told_of_a_window_counts_from_what_others_recorded_meanwhile(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    other = opened(cluster, tmp_path / "other", tenant)
    async with Palimpsest.open(tmp_path, store=opened(cluster, tmp_path, tenant)) as p:
        await p.compact_messages(messages(), session_id="s", **PASS)
        await p.check_context_ratio("s", used_tokens=7_000, window_tokens=64_000)
        async with Palimpsest.open(tmp_path / "other", store=other) as theirs:
            await theirs.record_items("s", [{"role": "user", "content": "and what of the invoice? " * 40}])
            told = await p.check_context_ratio("s", used_tokens=9_000, window_tokens=64_000)
            again = await theirs.check_context_ratio("s")
            assert (told.used.value, again.used.value) == (9_000, 9_000), "what others recorded is part of it"
            await theirs.purge("s", (await theirs.list_offloaded("s"))[0].batch_id, dry_run=False)
            told = await p.check_context_ratio("s", used_tokens=9_100, window_tokens=64_000)
            assert (await theirs.check_context_ratio("s")).used == told.used


@pytest.mark.long
async def test_lists_and_searches_ask_the_database_as_often_when_there_is_more(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire, asked = Wire(cluster.port), list[dict[str, int]]()
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1)
        async with Palimpsest.open(tmp_path, store=store) as p:
            for number in range(24):
                await p.compact_messages(messages(), session_id=f"s{number}", **PASS)
                for batch in range(number):
                    await store.archive.append(SessionKey("s0"), [record(f"offload_1{number:02d}{batch:02d}", key=S0)])
                trips: dict[str, int] = {}
                for name, call in (
                    ("batches", lambda: p.offloaded_now("s0")),
                    ("more batches", lambda: p.list_offloaded_page("s0", size=5)),
                    ("sessions", p.sessions_page),
                    ("search of one", lambda: p.search_offloaded("refused", session_id="s0")),
                    ("restore", lambda: p.restore_batch("s0", "offload_0001")),
                    ("sessions with their fill", p.session_rows_page),
                    ("the same again", p.session_rows_page),
                ):
                    wire.trips = 0
                    await call()
                    trips[name] = wire.trips
                asked.append(trips)
    filled = "sessions with their fill"
    assert all(one.pop(filled) <= 2 + 21 for one in asked), "those of the page, once"
    assert asked[-1] == asked[3], (asked[3], asked[-1])
    assert asked[-1].pop("search of one") <= 6, "two of them since its archive has what its ledger has not"
    assert asked[-1] == {"batches": 3, "more batches": 3, "sessions": 1, "restore": 3, "the same again": 2}


async def test_a_page_of_sessions_that_nobody_here_has_met_is_read_in_three_trips_and_the_long_ones_by_themselves(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire = Wire(cluster.port)
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1)
        async with Palimpsest.open(tmp_path, store=store) as p:
            for number in range(9):
                await p.compact_messages(messages(), session_id=f"s{number}", **PASS)
            one_by_one = [await p.check_context_ratio(f"s{number}") for number in range(9)]
            for steps, most in ((0, 6), (0, 3), (201, 4)):  # the first time each statement is described, too
                for _ in range(steps):
                    await store.ledger.observe(SessionKey("s3"), [applied(1)], durable=False)
                other = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1)
                async with Palimpsest.open(tmp_path / "other", store=other) as new:
                    await other.check()
                    wire.trips = 0
                    rows = (await new.session_rows_page()).items
                    assert wire.trips == most
                assert sorted(rows, key=lambda one: one.session_id) == sorted(
                    await p.session_rows(), key=lambda one: one.session_id
                )
                assert {one.batches > 0 for one in rows} == {True}
            assert all(one.used.value for one in one_by_one)


async def test_a_row_of_a_session_is_what_the_session_is_now_whoever_wrote_to_it(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    other = opened(cluster, tmp_path / "other", tenant)
    async with Palimpsest.open(tmp_path, store=opened(cluster, tmp_path, tenant)) as p:
        await p.compact_messages(messages(), session_id="s", **PASS)
        (before,) = await p.session_rows()
        assert await p.session_rows() == (before,)
        async with Palimpsest.open(tmp_path / "other", store=other) as theirs:
            await theirs.check_context_ratio("s", used_tokens=8_123, window_tokens=9_000)
            (after,) = await p.session_rows()
            assert after.usage is not None and after.usage.used.value == 8_123 and after != before
            batch = (await theirs.list_offloaded("s"))[0].batch_id
            await theirs.purge("s", batch, dry_run=False)
            (purged,) = await p.session_rows()
            assert purged.batches == after.batches - 1
            assert (purged,) == await theirs.session_rows()


async def test_what_the_index_lost_of_a_session_is_found_again(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    import asyncpg

    store = opened(cluster, tmp_path, tenant)
    async with Palimpsest.open(tmp_path, store=store) as p:
        await p.compact_messages(messages(), session_id="s", **PASS)
        before = await p.search_offloaded("refused", session_id="s")
        owner: Any = await asyncpg.connect(cluster.url(OWNER))
        await owner.execute("delete from palimpsest.entry where tenant = $1", tenant)
        await owner.close()
        assert before and await p.search_offloaded("refused", session_id="s") == before


async def test_what_many_have_is_counted_again_only_after_some_time() -> None:
    from palimpsest_mcp.store.postgres.search import COMMON_S, MANY, Common

    now_s = 5.0
    common = Common(lambda: now_s)
    common.note({"rare": MANY - 1, "common": MANY})
    assert common.known(["rare", "common", "new"]) == {"common": MANY}
    now_s += COMMON_S
    assert common.known(["common"]) == {}


async def test_a_statement_goes_out_with_its_values(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    """Sent one after the other, each would wake up pooler and server by itself."""
    from palimpsest_mcp.store.postgres.store import PgStore

    wire, parse, sync = Wire(cluster.port), b"P", b"S\0\0\0\4"
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1)
        for number in range(3):
            await store.ledger.info(SessionKey("s"))
            assert not number or (wire.last.startswith(parse) and wire.last.endswith(sync)), wire.last
        await store.aclose()


async def test_what_was_archived_by_a_server_that_died_then_is_found_by_the_next_search_over_all_sessions(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    import asyncpg

    store = opened(cluster, tmp_path, tenant)
    async with Palimpsest.open(tmp_path, store=store) as p:
        await p.compact_messages(messages(), session_id="s", **PASS)
        owner: Any = await asyncpg.connect(cluster.url(OWNER))
        await owner.execute("set search_path = palimpsest")
        await owner.execute("delete from entry where tenant = $1", tenant)
        await owner.execute(
            "insert into unsearched select distinct tenant, owner, session_key, batch_id from record where tenant = $1",
            tenant,
        )
        await owner.close()
        assert [one.session_id for one in await p.search_offloaded("refused", limit=1)] == ["s"]
        assert await store.search.behind("") == frozenset()


LETTERS = st.text("abcdeés", min_size=6, max_size=12)


@given(LETTERS, st.integers(0, 11), st.sampled_from("abcsz"), st.sampled_from(["less", "more", "other", "swapped"]))
def test_whichever_letter_of_a_word_is_wrong_the_word_is_looked_for_and_found(
    word: str, at: int, letter: str, how: str
) -> None:
    from palimpsest_mcp.store.postgres.search import near, near_expressions, vector

    at %= len(word)
    ways = {
        "less": word[:at] + word[at + 1 :],
        "more": word[:at] + letter + word[at:],
        "other": word[:at] + letter + word[at + 1 :],
        "swapped": word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    }
    if len(ways[how]) < 6:
        return
    (term,) = read(ways[how]).terms
    there = set(re.findall("'([^']*)'", vector(entry(word), [])))
    inside, halves, gaps, _ = near_expressions(term)

    def finds(way: str) -> bool:
        return all(there.intersection(re.findall("'([^']*)'", part)) for part in way.split(" & "))

    for ways_of_asking in ((inside, *halves), (inside, *gaps)):  # of few entries, and of many
        assert any(map(finds, ways_of_asking)), ways_of_asking
    assert near(term, [Text("", word)]), "and it is the word that stands for it"
