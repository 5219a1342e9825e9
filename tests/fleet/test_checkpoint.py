"""A checkpoint in a row: one that is not of the steps that are there is not used, and nobody needs it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.sessions import CHECKPOINT_EVENTS
from palimpsest_mcp.models.events import Event
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, pinned, seen
from palimpsest_mcp.testing.ledger_contract import sums_of

from .cluster import OWNER, Cluster
from .wire import Wire

if TYPE_CHECKING:
    from palimpsest_mcp.store.postgres.store import PgStore

pytestmark = pytest.mark.anyio


def store_of(url: str, place: Path, tenant: str) -> PgStore:
    from palimpsest_mcp.store.postgres.store import PgStore

    return PgStore(url, home=place, tenant=tenant, connections=1)


async def written(store: PgStore) -> tuple[Event, ...]:
    """Ten steps and a checkpoint behind them."""
    await store.ledger.create(S1, info_of(S1))
    for number in range(1, 9):
        await store.ledger.observe(S1, [seen(number, f"text {number}"), applied(number)])
    await store.ledger.decide(S1, [pinned(1)], after_rev=0)
    page = await store.ledger.read(S1)
    await store.ledger.keep_checkpoint(S1, page.cursor, *sums_of(page.events))
    return page.events


@asynccontextmanager
async def owner_of(cluster: Cluster, tenant: str) -> AsyncGenerator[Any]:
    """The tables' owner, with the tenant's rows in sight and nothing that keeps steps as they are."""
    owner: Any = await asyncpg.connect(cluster.url(OWNER))
    await owner.execute(
        f"set search_path = palimpsest; set palimpsest.tenant = '{tenant}'; set palimpsest.owner = '*';"
        " set palimpsest.rewrite = 'on'"
    )
    yield owner
    await owner.close()


HARMS = {
    "a byte of it is another": "update checkpoint set body = set_byte(body, 99, (get_byte(body, 99) + 1) % 256)",
    "it is cut off": "update checkpoint set body = substring(body for length(body) - 1)",
    "its number is another": "update checkpoint set seq = seq - 1",
    "a step has other bytes": "update step set sha256 = sha256(body || 'x') where seq = 3",
    "a step has another number": "update step set clock = clock + 1 where seq = 3",
    "a step is gone": "delete from step where seq = 3",
    "a repair wrote steps anew": "update session set epoch = epoch + 1",
    "something was buried since": "update session set buried = buried + 1",
    "it is ahead of the steps": "update session set steps = steps - 1",
}


@pytest.mark.parametrize("harm", HARMS)
async def test_a_checkpoint_that_is_damaged_or_of_other_steps_is_not_used(
    cluster: Cluster, tmp_path: Path, tenant: str, harm: str
) -> None:
    store = store_of(cluster.pooled, tmp_path, tenant)
    await written(store)
    assert await store.ledger.checkpoint(S1) is not None
    async with owner_of(cluster, tenant) as owner:
        assert await owner.execute(f"{HARMS[harm]}{' and' if 'where' in HARMS[harm] else ' where'} tenant = '{tenant}'")
    info, checkpoint, page = await store.ledger.open(S1)
    assert info is not None and checkpoint is None
    assert set(page.events) == set((await store.ledger.read(S1)).events)
    await store.aclose()


async def test_a_checkpoint_says_nothing_that_the_steps_did_not_and_is_the_tenants_own(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    store, other = store_of(cluster.pooled, tmp_path, tenant), store_of(cluster.pooled, tmp_path, f"{tenant}-b")
    await written(store)
    await written(other)
    async with owner_of(cluster, tenant) as owner:
        body = await owner.fetchval("select body from checkpoint where tenant = $1", tenant)
    assert b"sums" in body and b"text" not in body, "no content is in it"
    await other.ledger.drop_checkpoint(S1)
    assert await store.ledger.checkpoint(S1) is not None and await other.ledger.checkpoint(S1) is None
    await store.aclose()
    await other.aclose()


@pytest.mark.long
async def test_a_long_session_opens_at_its_checkpoint_in_one_question_and_answers_as_before(
    cluster: Cluster, tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from palimpsest_mcp.store.postgres import ledger, rows

    items = [{"role": "user", "content": f"request {number}"} for number in range(CHECKPOINT_EVENTS + 50)]
    store = store_of(cluster.pooled, tmp_path, tenant)
    async with Palimpsest.open(tmp_path, store=store) as p:
        await p.record_items("long", items)
        before = await p.check_context_ratio("long", window_tokens=64_000)
    wire, decoded, events_in = Wire(cluster.port), list[int](), rows.events_in

    def counted(rows: Any) -> Any:
        decoded.append(len(rows))
        return events_in(rows)

    for one in (ledger, rows):
        monkeypatch.setattr(one, "events_in", counted)
    async with wire.listening() as port:
        again = store_of(cluster.url(port=port), tmp_path, tenant)
        async with Palimpsest.open(tmp_path, store=again) as p:
            await p.sessions_page()
            wire.trips, asked = 0, list[int]()
            for _ in range(3):
                assert await p.check_context_ratio("long") == before
                asked.append(wire.trips)
            assert asked[0] <= 2 and asked[2] - asked[1] == 1, "each statement is described once"
            assert sum(decoded) <= 2, "what the checkpoint says is not added up again"
            assert (await p.verify("long")).findings == ()
            async with owner_of(cluster, tenant) as owner:
                await owner.execute("delete from checkpoint")
    async with Palimpsest.open(tmp_path, store=store_of(cluster.pooled, tmp_path, tenant)) as p:
        assert await p.check_context_ratio("long") == before, "nobody needs it"
