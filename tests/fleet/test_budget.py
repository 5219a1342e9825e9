"""How many connections servers take, and what they tell of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import opentelemetry.metrics
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.testing.contract_values import S1, applied

from .cluster import APP, OWNER, Cluster

pytestmark = pytest.mark.anyio
SERVERS = 100
POOLER_SIZE = 10
"""Of the pooler that the tests start."""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Generator[InMemoryMetricReader]:
    """What an SDK in the process reads."""
    pytest.importorskip("asyncpg")
    from palimpsest_mcp.store.postgres import pool

    one = InMemoryMetricReader()
    monkeypatch.setattr(opentelemetry.metrics, "get_meter", MeterProvider([one]).get_meter)
    monkeypatch.setattr(pool, "_POOLS", set[pool.Counted]())  # of this test alone
    pool.instruments.cache_clear()
    yield one
    pool.instruments.cache_clear()


def told(reader: InMemoryMetricReader, name: str) -> dict[str, float]:
    """State (or nothing) -> value, or how many values."""
    found = reader.get_metrics_data()
    assert found is not None
    scopes: list[dict[str, Any]] = json.loads(found.to_json())["resource_metrics"][0]["scope_metrics"]
    own = next(metric for metric in scopes[0]["metrics"] if metric["name"] == f"db.client.connection.{name}")
    return {
        one["attributes"].get("db.client.connection.state", ""): one.get("value", one.get("count"))
        for one in own["data"]["data_points"]
    }


@pytest.mark.long
async def test_a_hundred_servers_at_the_pooler_take_no_more_connections_than_their_budget(
    cluster: Cluster, tmp_path: Path, tenant: str, reader: InMemoryMetricReader
) -> None:
    """Each with more callers than connections; the database sees those of the pooler alone."""
    import asyncpg

    from palimpsest_mcp.store.postgres.store import PgStore

    each = Settings.load(home=tmp_path).store_connections
    urls = [f"{cluster.pooled}?application_name=server{number}" for number in range(SERVERS)]
    stores = [PgStore(url, home=tmp_path, tenant=tenant, connections=each) for url in urls]
    owner: Any = await asyncpg.connect(cluster.url(OWNER))
    done, seen = asyncio.Event(), list[int]()

    async def look() -> None:
        while not done.is_set():
            seen.append(await owner.fetchval("select count(*) from pg_stat_activity where usename = $1", APP))

    async def work(store: PgStore, server: int) -> None:
        async with starts:
            callers = (SessionKey(f"{server} {n}") for n in range(each + 1))
            await asyncio.gather(*(store.ledger.observe(key, [applied(1)]) for key in callers))

    looks, starts = asyncio.create_task(look()), asyncio.Semaphore(8)
    await asyncio.gather(*(work(store, server) for server, store in enumerate(stores)))
    await asyncio.gather(*(store.ledger.observe(SessionKey(f"{n} 0"), [applied(2)]) for n, store in enumerate(stores)))
    done.set()
    await looks
    assert max(seen) <= POOLER_SIZE, "what the pooler holds"
    count, most = told(reader, "count"), told(reader, "max")
    assert count["used"] == 0 and SERVERS <= count["idle"] <= most[""] == SERVERS * each <= 400
    written = await owner.fetchval("select count(*) from palimpsest.step where tenant = $1", tenant)
    assert written == SERVERS * (each + 2)
    for store in stores:
        await store.aclose()
    await owner.close()
    assert told(reader, "count") == {"used": 0, "idle": 0} and told(reader, "max") == {"": 0}


async def test_a_pool_says_how_many_wait_and_how_long_they_waited(
    cluster: Cluster, tmp_path: Path, tenant: str, reader: InMemoryMetricReader
) -> None:
    from palimpsest_mcp.store.postgres.link import Link

    link = Link(cluster.url(), tenant=tenant, schema="palimpsest", connections=1)
    held, go = asyncio.Event(), asyncio.Event()

    async def hold(connection: Any, again: bool) -> None:
        held.set()
        await go.wait()

    first = asyncio.create_task(link.run("", hold))
    await held.wait()
    second = asyncio.create_task(link.run(S1.principal, lambda connection, again: connection.fetchval("select 7")))
    await asyncio.sleep(0)  # it begins
    assert told(reader, "pending_requests") == {"": 1}
    assert told(reader, "count") == {"used": 1, "idle": 0}
    go.set()
    assert await second == 7
    await first
    assert told(reader, "pending_requests") == {"": 0} and told(reader, "wait_time") == {"": 2}
    assert told(reader, "count") == {"used": 0, "idle": 1}
    await link.aclose()
