"""A connection that breaks while a write is being acknowledged: the write is there once, whoever asks again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from palimpsest_mcp.errors import PassInProgress, RevConflict, WriteFailed
from palimpsest_mcp.models.events import Applied, Reserved, SessionKey
from palimpsest_mcp.models.summaries import AnchoredSummary
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, pinned, record

from .cluster import APP, OWNER, Cluster
from .wire import Wire

if TYPE_CHECKING:
    from palimpsest_mcp.store.postgres.store import PgStore

pytestmark = pytest.mark.anyio
Write = Callable[["PgStore"], Awaitable[Any]]
WRITES: dict[str, Write] = {
    "create": lambda store: store.ledger.create(S1, info_of(S1)),
    "observe": lambda store: store.ledger.observe(S1, [applied(1), applied(2)]),
    "observe and read": lambda store: observed(store, [applied(1), applied(2)]),
    "decide": lambda store: store.ledger.decide(S1, [pinned(1), pinned(2)], after_rev=0),
    "archive": lambda store: store.archive.append(S1, [record("offload_0001"), record("offload_0002")]),
    "summary": lambda store: store.summaries.put(S1, AnchoredSummary(session_intent="x"), after=""),
    "handoff": lambda store: store.handoffs.add("memory", "2026-11-22-x", "# x\n"),
    "secret": lambda store: store.take_secret(b"s" * 32),
}


async def observed(store: PgStore, events: list[Applied]) -> list[str]:
    """What an append reads on from what its server had read."""
    before = await store.ledger.read(S1)
    page = await store.ledger.observe_and_read(S1, events, before.cursor)
    return sorted(getattr(one, "item_id", "") for one in page.events)


async def rows(cluster: Cluster, tenant: str) -> dict[str, int]:
    """How many there are of what a write may leave twice."""
    import asyncpg

    connection: Any = await asyncpg.connect(cluster.url(APP))
    async with connection.transaction():
        await connection.execute(
            f"set local search_path = palimpsest; set local palimpsest.tenant = '{tenant}';"
            " set local palimpsest.owner = '*'"
        )
        tables = ("step", "record", "summary", "handoff", "tenant", "session", "name")
        found = {table: await connection.fetchval(f"select count(*) from {table}") for table in tables}
    await connection.close()
    return found


@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("write", WRITES)
async def test_a_write_whose_acknowledgement_was_lost_is_there_once_and_answered_as_if_nothing_had_been(
    cluster: Cluster, tmp_path: Path, tenant: str, write: str, known: bool
) -> None:
    """A session that the server knows is written to by one statement, a new one in a transaction of several."""
    from palimpsest_mcp.store.postgres.store import PgStore

    wire = Wire(cluster.port)
    plain = PgStore(cluster.url(), home=tmp_path, tenant=f"{tenant}-p")
    if known:
        await plain.ledger.observe(S1, [applied(9)])
    expected = await WRITES[write](plain)
    await plain.aclose()
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, waits_s=(0.0, 0.01, 0.1))
        await store.is_made()
        if known:
            await store.ledger.observe(S1, [applied(9)])
        wire.cut = 1
        answered = await WRITES[write](store)
        assert wire.were_cut == 1
        if write == "handoff":
            assert answered.name == expected.name
        else:
            assert answered == expected
        events = (await store.ledger.read(S1)).events
        assert len({(one.w, one.n) for one in events}) == len(events)
        await store.aclose()
    assert await rows(cluster, tenant) == await rows(cluster, f"{tenant}-p")


async def test_of_decisions_that_race_over_wires_that_break_each_revision_is_given_once(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire, cuts = Wire(cluster.port), 5
    waits_s = (0.01,) * cuts  # all of them may meet one decision
    async with wire.listening() as port:
        stores = [
            PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=number + 1, waits_s=waits_s)
            for number in range(3)
        ]
        done: list[int] = []

        async def decide(store: PgStore, number: int) -> None:
            rev = 0
            for _ in range(6):
                try:
                    rev = await store.ledger.decide(S1, [pinned(number)], after_rev=rev)
                    done.append(rev)
                except RevConflict as error:
                    rev = error.rev

        wire.cut = cuts
        await asyncio.gather(*(decide(store, number) for number, store in enumerate(stores)))
        revs = sorted(getattr(one, "rev", 0) for one in (await stores[0].ledger.read(S1)).events)
        assert revs == list(range(1, len(revs) + 1)) == sorted(done) and wire.were_cut == cuts
        for store in stores:
            await store.aclose()


async def test_a_pass_that_lost_its_lease_decides_nothing_more(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.store import PgStore

    one, other = (PgStore(cluster.pooled, home=tmp_path, tenant=tenant, connections=n) for n in (2, 3))
    async with one.ledger.pass_lock(S1):
        connection: Any = await asyncpg.connect(cluster.url(APP))
        await connection.execute(  # as if its machine had been silent for too long
            f"begin; set local search_path = palimpsest; set local palimpsest.tenant = '{tenant}';"
            " set local palimpsest.owner = ''; update lease set until = '-infinity'; commit"
        )
        await connection.close()
        async with other.ledger.pass_lock(S1):
            assert await other.ledger.decide(S1, [Reserved(pass_id="b", first=1, count=1)], after_rev=0) == 1
            with pytest.raises(PassInProgress, match="took its place"):
                await one.ledger.decide(S1, [Reserved(pass_id="a", first=2, count=1)], after_rev=1)
            assert await one.ledger.decide(S1, [pinned(1)], after_rev=1) == 2, "what is no pass's own needs no lease"
    await one.aclose()
    await other.aclose()


async def test_appends_that_go_together_are_each_answered_and_one_that_is_refused_costs_itself(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    store = PgStore(cluster.pooled, home=tmp_path, tenant=tenant, connections=1)
    keys = [SessionKey(f"s{number}") for number in range(30)]
    for key in keys:
        await store.ledger.observe(key, [applied(0)])
    other = PgStore(cluster.pooled, home=tmp_path, tenant=tenant, connections=2)
    await other.bury(keys[3], ["i1"], under_way=False)  # the first store looks again before it writes there
    await asyncio.gather(*(store.ledger.observe(key, [applied(1), applied(2)]) for key in keys))
    names = [f"offload_{number:04d}" for number in range(30)]
    names[5] = "".join(f"{number:06d}" for number in range(900))  # longer than an index takes
    appends = (store.archive.append(key, [record(name, key=key)]) for key, name in zip(keys, names, strict=True))
    done = await asyncio.gather(*appends, return_exceptions=True)
    assert [number for number, one in enumerate(done) if one is not None] == [5]
    assert isinstance(done[5], WriteFailed)
    for number, key in enumerate(keys):
        assert [getattr(one, "item_id", "") for one in (await other.ledger.read(key)).events] == ["i0", "i1", "i2"]
        there = [one.batch_id async for one in other.archive.records(key)]
        assert there == ([] if number == 5 else [names[number]])
    await store.aclose()
    await other.aclose()


async def test_an_append_that_reads_on_gives_what_other_servers_wrote_and_a_repair_changed(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    mine, other = (PgStore(cluster.url(), home=tmp_path, tenant=tenant) for _ in range(2))
    await mine.ledger.observe(S1, [applied(0)])
    cursor = (await mine.ledger.read(S1)).cursor
    for theirs in (False, True):
        if theirs:
            await other.ledger.observe(S1, [applied(7)])
        page = await mine.ledger.observe_and_read(S1, [applied(1), applied(2)], cursor)
        assert set(page.events) == set((await other.ledger.read(S1, cursor)).events)
        assert len(page.events) == (3 if theirs else 2)
        cursor = page.cursor
    owner: Any = await asyncpg_connected(cluster, tenant)
    await owner.execute("update palimpsest.session set epoch = epoch + 1 where tenant = $1", tenant)
    await owner.close()
    page = await mine.ledger.observe_and_read(S1, [applied(3)], cursor)
    assert set(page.events) == set((await other.ledger.read(S1)).events), "it reads from the beginning"
    await mine.aclose()
    await other.aclose()


async def test_an_append_to_what_was_read_before_writes_nothing_where_it_is_gone_or_was_purged(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    mine, other = (PgStore(cluster.url(), home=tmp_path, tenant=tenant) for _ in range(2))
    await other.ledger.observe(S1, [applied(0)])
    never = SessionKey("never")
    assert await other.ledger.observe_known(never, [applied(1)], (await other.ledger.read(never)).cursor) is None
    cursor = (await mine.ledger.look(S1))[1].cursor
    await other.ledger.observe(S1, [applied(7)])
    page = await mine.ledger.observe_known(S1, [applied(1)], cursor)
    assert page is not None and [getattr(one, "item_id", "") for one in page.events] == ["i7", "i1"]
    await other.bury(S1, ["i1"], under_way=False)
    assert await mine.ledger.observe_known(S1, [applied(2)], page.cursor) is None
    owner: Any = await asyncpg_connected(cluster, tenant)
    await owner.execute("delete from palimpsest.session where tenant = $1", tenant)
    await owner.close()
    assert await mine.ledger.observe_known(S1, [applied(3)], page.cursor) is None
    assert (await other.ledger.look(S1))[0] is None, "no session came to be"
    await mine.aclose()
    await other.aclose()


async def test_an_append_to_what_was_read_before_whose_answer_is_lost_is_there_once(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire = Wire(cluster.port)
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1, waits_s=(0.0, 0.01, 0.1))
        await store.ledger.observe(S1, [applied(0)])
        cursor = (await store.ledger.look(S1))[1].cursor
        wire.cut = 1
        page = await store.ledger.observe_known(S1, [applied(1)], cursor)
        assert wire.were_cut == 1
        assert page is not None
        assert [getattr(one, "item_id", "") for one in (await store.ledger.read(S1)).events] == ["i0", "i1"]
        await store.aclose()


async def asyncpg_connected(cluster: Cluster, tenant: str) -> Any:
    """The owner of the tables, who sees all of the tenant."""
    import asyncpg

    owner: Any = await asyncpg.connect(cluster.url(OWNER))
    await owner.execute(f"set palimpsest.owner = '*'; set palimpsest.tenant = '{tenant}'")
    return owner


async def test_a_trip_that_breaks_in_the_middle_leaves_every_append_of_it_there_once(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.store import PgStore

    wire = Wire(cluster.port)
    async with wire.listening() as port:
        store = PgStore(cluster.url(port=port), home=tmp_path, tenant=tenant, connections=1, waits_s=(0.0, 0.01, 0.1))
        keys = [SessionKey(f"s{number}") for number in range(20)]
        for key in keys:
            await store.ledger.observe(key, [applied(0)])
        wire.cut = 2
        await asyncio.gather(*(store.ledger.observe(key, [applied(1)]) for key in keys))
        assert wire.were_cut == 2
        for key in keys:
            events = (await store.ledger.read(key)).events
            assert sorted(getattr(one, "item_id", "") for one in events) == ["i0", "i1"]
        await store.aclose()
