"""What one tenant or principal has, no other reads or changes: the database sees to it, whatever a statement asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.models.summaries import AnchoredSummary
from palimpsest_mcp.testing.contract_values import S1, applied, entry, info_of, record

from .cluster import APP, OWNER, Cluster

if TYPE_CHECKING:
    from palimpsest_mcp.store.postgres.store import PgStore

pytestmark = pytest.mark.anyio
TABLES = (
    "name",
    "session",
    "step",
    "record",
    "summary",
    "aside",
    "entry",
    "lease",
    "handoff",
    "handoff_removed",
    "unsearched",
    "checkpoint",
)


def opened(cluster: Cluster, place: Path, tenant: str) -> PgStore:
    from palimpsest_mcp.store.postgres.store import PgStore

    return PgStore(cluster.pooled, home=place, tenant=tenant)


async def fill(store: PgStore, key: SessionKey, word: str) -> None:
    """Something in every table."""
    await store.secret()
    await store.ledger.create(key, info_of(key))
    await store.archive.append(key, [record(f"offload_000{n}", word, key=key) for n in (1, 2)])
    await store.search.add([entry(word, principal=key.principal)])
    await store.summaries.put(key, AnchoredSummary(session_intent=word), after="")
    one = await store.handoffs.add("memory", "2026-11-22-x", f"# {word}\n", key.principal)
    await store.handoffs.add("memory", "2026-11-22-y", f"# {word}\n", key.principal)
    await store.handoffs.remove(one, key.principal, note=word)
    async with store.ledger.pass_lock(key):
        await store.ledger.observe(key, [applied(1)])


async def rows_of(cluster: Cluster, tenant: str, owner: str) -> dict[str, int]:
    """What a statement without any condition sees, by table."""
    import asyncpg

    connection: Any = await asyncpg.connect(cluster.url(APP))
    try:
        async with connection.transaction():
            await connection.execute("set local search_path = palimpsest")
            if tenant:
                await connection.execute(f"set local palimpsest.tenant = '{tenant}'")
                await connection.execute(f"set local palimpsest.owner = '{owner}'")
            return {table: await connection.fetchval(f"select count(*) from {table}") for table in TABLES}
    finally:
        await connection.close()


async def test_a_statement_without_conditions_sees_the_rows_of_its_own_principal_only(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    from palimpsest_mcp.store.postgres.link import owner_of

    store, other = opened(cluster, tmp_path, tenant), opened(cluster, tmp_path, f"{tenant}-b")
    ann = SessionKey("s1", "ann")
    await fill(store, S1, "ours")
    await fill(store, ann, "hers")
    await fill(other, S1, "theirs")
    await store.aclose()
    await other.aclose()
    for owner in ("", owner_of("ann").hex()):
        seen = await rows_of(cluster, tenant, owner)
        assert seen["session"] == seen["record"] - 1 == seen["entry"] == seen["summary"] == 1, seen
        assert seen["handoff_removed"] == seen["lease"] == seen["handoff"] == seen["unsearched"] == 1, seen
    assert set((await rows_of(cluster, tenant, owner_of("bob").hex())).values()) == {0}
    assert set((await rows_of(cluster, "", "")).values()) == {0}, "without a tenant nothing is seen"


async def test_no_call_of_the_library_reads_another_tenants_data(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    store, other = opened(cluster, tmp_path, tenant), opened(cluster, tmp_path, f"{tenant}-b")
    for key in (S1, SessionKey("s1", "ann")):
        await fill(store, key, "canary")
    assert await other.ledger.sessions() == await other.ledger.sessions("ann") == ()
    assert await other.ledger.info(S1) is None and (await other.ledger.read(S1)).events == ()
    assert await other.archive.get(S1, "offload_0001") is None
    assert [one async for one in other.archive.records(S1)] == []
    for principal in ("", "ann", "*"):
        assert await other.search.find("canary", principal=principal) == ()
        assert await other.search.indexed(principal, "s1") == await other.search.behind(principal) == frozenset()
        assert await other.handoffs.list(principal) == await other.handoffs.removed(principal) == ()
        assert await other.summaries.list(principal) == ()
    assert (await other.summaries.get(S1)).summary is None
    assert await other.traces(lambda text: "canary" in text) == await other.flaws() == ()
    assert (await other.disk_use()).total == 0 and await other.principals() == ("",)
    assert not await other.is_made() and await other.secret() != await store.secret()
    assert await store.search.find("canary", principal="*") == () and await store.ledger.sessions("*") == ()
    await store.aclose()
    await other.aclose()


@pytest.mark.parametrize("statement", ["update", "delete"])
async def test_ledger_and_archive_are_append_only_for_a_server(
    cluster: Cluster, tmp_path: Path, tenant: str, statement: str
) -> None:
    import asyncpg

    store = opened(cluster, tmp_path, tenant)
    await fill(store, S1, "ours")
    connection: Any = await asyncpg.connect(cluster.url(APP))
    for table in ("step", "record"):
        sql = f"delete from {table}" if statement == "delete" else f"update {table} set body = ''"
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="append-only"):
            async with connection.transaction():
                await connection.execute(
                    f"set local search_path = palimpsest; set local palimpsest.tenant = '{tenant}';"
                    f" set local palimpsest.owner = ''; {sql}"
                )
    await connection.close()
    assert await store.archive.get(S1, "offload_0001") == record("offload_0001", "ours")
    await store.aclose()


async def test_the_owner_of_the_tables_is_bound_by_row_level_security_too(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    import asyncpg

    store = opened(cluster, tmp_path, tenant)
    await fill(store, S1, "ours")
    await store.aclose()
    connection: Any = await asyncpg.connect(cluster.url(OWNER))
    forced = await connection.fetch(
        "select relname from pg_class c join pg_namespace n on n.oid = relnamespace"
        " where nspname = 'palimpsest' and relname = any($1) and relrowsecurity and relforcerowsecurity",
        [*TABLES, "tenant"],
    )
    await connection.close()
    assert {row["relname"] for row in forced} == {*TABLES, "tenant"} - {"entry"}, "entries: see the migration's comment"
