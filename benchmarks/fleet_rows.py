"""Ten million records of the archive in PostgreSQL, with the ledgers and the search that go with them: filled in steps
by `fleet_fill.py`, and the product's own calls measured after each. `python benchmarks/fleet.py --rows 10000000`.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

from cluster import OWNER, Cluster
from fleet_fill import (
    LARGE_RECORDS,
    TENANT_RECORDS,
    batch_of,
    grow,
    make_template,
    owners,
    tenant_of,
    vocabulary,
    weights_of,
)
from wire import Wire

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.lifespan import warm_up
from palimpsest_mcp.settings.settings import Settings

CALLS = 200
_TABLES = ("session", "step", "record", "entry")


async def filled_and_measured(cluster: Cluster, home: Path, records: int, calls: int = CALLS) -> None:
    """A hundred thousand, a million, and up to so many records, and the calls after each step."""
    url, there = cluster.url(OWNER), 0
    await make_template(url)
    for step in sorted({100_000, 1_000_000, records} & set(range(records + 1))):
        began = time.perf_counter()
        await grow(url, there, step)
        there = step
        print(f"\n{await _size(url)}; filled in {time.perf_counter() - began:.0f} s; load {os.getloadavg()[0]:.1f}")
        await measure(cluster, home, step, calls)


async def _size(url: str) -> str:
    owner = await owners(url)
    counts = [f"{await owner.fetchval(f'select count(*) from {one}'):,} {one}" for one in _TABLES]
    size = await owner.fetchval("select pg_size_pretty(pg_database_size(current_database()))")
    await owner.close()
    return f"rows: {', '.join(counts)}; {size}"


# Measuring: the product's own calls, one after another, on sessions that chance chooses. Of a tenant's 2,300 sessions a
# server holds 16, so nearly every call meets one that it has to read.


class Asked(NamedTuple):
    """What one call is about."""

    p: Palimpsest
    session: str
    batch: str
    told: int
    """Tokens that are used now, another number each time."""
    words: str
    """Two, of any frequency."""
    code: str
    """One that a few hundred records of the tenant have."""


async def _ratio(one: Asked) -> None:
    await one.p.check_context_ratio(one.session, used_tokens=one.told, window_tokens=64_000)


async def _list(one: Asked) -> None:
    assert (await one.p.offloaded_now(one.session)).page.items


async def _restore(one: Asked) -> None:
    assert "req-" in (await one.p.restore(one.session, one.batch)).text


async def _search_one(one: Asked) -> None:
    await one.p.search_offloaded(one.words, session_id=one.session)


async def _search_all(one: Asked) -> None:
    await one.p.search_offloaded(one.words)


async def _search_code(one: Asked) -> None:
    await one.p.search_offloaded(one.code)


async def _search_piece(one: Asked) -> None:
    await one.p.search_offloaded(one.words.split()[0][1:] + "x")


async def _sessions_page(one: Asked) -> None:
    assert len((await one.p.sessions_page()).items) == 20


async def _rows_page(one: Asked) -> None:
    assert len((await one.p.session_rows_page()).items) == 20


CALLS_OF: dict[str, Callable[[Asked], Awaitable[None]]] = {
    "check_context_ratio": _ratio,
    "list_offloaded, first page": _list,
    "restore one item": _restore,
    "search in one session, two words": _search_one,
    "search in all sessions, two words": _search_all,
    "search in all sessions, a code": _search_code,
    "search in all sessions, a misspelt word": _search_piece,
    "sessions, first page": _sessions_page,
    "sessions with their fill, first page": _rows_page,
}
_OF_ONE = tuple(CALLS_OF)[:4]


async def measure(cluster: Cluster, home: Path, records: int, calls: int = CALLS) -> None:
    """Each call on random sessions of up to four tenants, then on those of 10,000 records."""
    warm_up()  # as a server does: what is loaded by now, the garbage collector looks at no more
    known = await _sessions(cluster.url(OWNER), range(min(4, -(-records // TENANT_RECORDS))))
    large = [one for one in known if one[2] >= LARGE_RECORDS]
    wire = Wire(cluster.pooler_port)
    async with wire.listening() as port:
        for title, some, names in (("", known, tuple(CALLS_OF)), (" of 10,000", large, _OF_ONE)):
            for name in names:
                times, _ = await _asked(cluster.pooled, home, some, name, calls, wire)
                _, trips = await _asked(cluster.url(port=port), home, some, name, 20, wire)
                told(f"{name}{title}", times, trips)


def told(name: str, times: Sequence[float], trips: Sequence[int]) -> None:
    """A row: median and 99th percentile in milliseconds, and how often a call asked the database."""
    ordered = sorted(times)
    p50, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3 for share in (0.5, 0.99))
    asked = f"{min(trips)}" if min(trips) == max(trips) else f"{min(trips)} to {max(trips)}"
    print(f"  {name:42} n {len(times):4}  p50 {p50:7.1f} ms  p99 {p99:7.1f} ms  {asked} trips", flush=True)


async def _sessions(owner_url: str, tenants: Iterable[int]) -> list[tuple[str, str, int]]:
    """Tenant, name and records of the sessions that are there."""
    owner = await owners(owner_url)
    rows = await owner.fetch(
        "select tenant, convert_from(name, 'UTF8') as name, records from session where tenant = any($1) order by 1, 2",
        list(map(tenant_of, tenants)),
    )
    await owner.close()
    return [(row["tenant"], row["name"], row["records"]) for row in rows]


async def _asked(
    url: str, home: Path, known: Sequence[tuple[str, str, int]], name: str, calls: int, wire: Any
) -> tuple[list[float], list[int]]:
    """Seconds and trips of each call, those left out in which vocabularies and pools are made."""
    chance = random.Random(f"{name} {calls}")
    words, times, trips = vocabulary(), list[float](), list[int]()
    weights = weights_of(words)
    async with AsyncExitStack() as stack:
        opened: dict[str, Palimpsest] = {}
        for number in range(-10, calls):
            tenant, session, count = chance.choice(known)
            if tenant not in opened:
                settings = Settings.load(home=home, store=url, tenant=tenant)
                opened[tenant] = await stack.enter_async_context(Palimpsest.open(settings=settings))
                await opened[tenant].search_offloaded("nothing")
            said, code = " ".join(chance.choices(words, cum_weights=weights, k=2)), f"E{chance.randrange(10_000):04d}"
            batch = batch_of(chance.randint(1, count))
            one = Asked(opened[tenant], session, batch, 10_000 + 10 * number + calls % 7, said, code)
            before, began = wire.trips, time.perf_counter()
            await CALLS_OF[name](one)
            if number >= 0:
                times.append(time.perf_counter() - began)
                trips.append(wire.trips - before)
    return times, trips
