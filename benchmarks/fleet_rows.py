"""Ten million records of the archive in PostgreSQL, with the ledgers and the search that go with them: filled in steps
by `fleet_fill.py`, and the product's own calls measured after each. `python benchmarks/fleet.py --rows 10000000`.

A machine that others use too makes every call wait for a core. How long it did is known (`/proc/PID/schedstat`), so a
row says what is left without it: what a quiet machine takes.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from cluster import OWNER, Cluster
from fleet_fill import (
    LARGE,
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
from palimpsest_mcp.server.server import let_answers_through
from palimpsest_mcp.settings.settings import Settings

CALLS = 200
_TENANTS = 4
"""That are measured."""
_NS_A_MS = 1_000_000
_TABLES = ("session", "step", "record", "entry")


async def filled_and_measured(cluster: Cluster, home: Path, records: int, calls: int = CALLS) -> None:
    """A hundred thousand, a million, and up to so many records, and the calls after each step; of what is there
    already, the last step alone."""
    url = cluster.url(OWNER)
    there = await _there(url)
    if not there:
        await make_template(url, max(2 * LARGE * LARGE_RECORDS, min(records, TENANT_RECORDS)))
    for step in sorted({one for one in (100_000, 1_000_000, records) if there <= one <= records} | {records}):
        began = time.perf_counter()
        await grow(url, there, step)
        there = step
        await _read(cluster, url, _TENANTS * TENANT_RECORDS / step)
        print(f"\n{await _size(url)}; ready in {time.perf_counter() - began:.0f} s; load {os.getloadavg()[0]:.1f}")
        await measure(cluster, home, step, calls)


async def _there(url: str) -> int:
    """How many records were filled in before."""
    owner = await owners(url)
    found = await owner.fetchval("select coalesce(sum(records), 0) from session")
    whole = await owner.fetchval("select to_regclass('entry_words_idx') is not null")
    await owner.close()
    if not whole:
        raise SystemExit("filling this database was interrupted: remove its folder")
    return int(found)


async def _size(url: str) -> str:
    owner = await owners(url)
    counts = [f"{await owner.fetchval(f'select count(*) from {one}'):,} {one}" for one in _TABLES]
    size = await owner.fetchval("select pg_size_pretty(pg_database_size(current_database()))")
    await owner.close()
    return f"rows: {', '.join(counts)}; {size}"


async def _read(cluster: Cluster, url: str, share: float) -> None:
    """What a database that is in use has in memory, and one that has just been started does not: indexes, and of tables
    the share that is measured, which stands first in each."""
    owner = await owners(url)
    rows = await owner.fetch(
        "select pg_relation_filepath(oid) as path, relkind = 'i' as is_index from pg_class"
        " where relnamespace = 'palimpsest'::regnamespace and relkind in ('r', 'i') and relname !~ '^t_'"
    )
    await owner.close()
    for row in rows:
        first = cluster.data / row["path"]
        files = [first, *(one for n in range(1, 1_000) if (one := first.with_name(f"{first.name}.{n}")).exists())]
        left = sum(one.stat().st_size for one in files) * (1.0 if row["is_index"] else share)
        for one in files:
            with one.open("rb") as file:
                while left > 0 and (part := file.read(1 << 20)):
                    left -= len(part)


# What a call takes of the machine, beside the time on the clock.


class Shares(NamedTuple):
    """Nanoseconds: on a core here, on a core in server and pooler, and of all of them ready but without one."""

    python: int
    database: int
    waited: int


class Spent:
    """Reads of this process, the server's and the pooler's what the kernel counts of each thread."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now(self) -> Shares:
        ours, theirs = _of([os.getpid()]), _of([*self._cluster.pids(), *self._cluster.pooler_pids()])
        return Shares(time.process_time_ns(), theirs[0], ours[1] + theirs[1])


def _of(pids: Iterable[int]) -> tuple[int, int]:
    """On a core, and ready without one."""
    ran = waited = 0
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):  # it ended meanwhile
                on, off, _ = map(int, thread.read_text().split())
                ran, waited = ran + on, waited + off
    return ran, waited


class Took(NamedTuple):
    """One call, in milliseconds."""

    wall: float
    python: float
    database: float
    waited: float
    """For a core that others had; several may have waited at once."""

    @property
    def quiet(self) -> float:
        """What a machine takes that does nothing else: cores, and where nobody waited for one, the disk."""
        work = self.python + self.database
        return work + max(0.0, self.wall - work - self.waited)


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
    long: str
    """One of six letters or more."""
    code: str
    """One that a few hundred records of the tenant have."""


async def _ratio(one: Asked) -> None:
    await one.p.check_context_ratio(one.session, used_tokens=one.told, window_tokens=64_000)


async def _list(one: Asked) -> None:
    assert (await one.p.offloaded_now(one.session)).page.items


async def _restore(one: Asked) -> None:
    """As the server's tool does: what a status line shows is written when there is time."""
    found = await one.p.restore(one.session, one.batch, noted=False)
    assert "req-" in found.text
    await one.p.note_fetched(one.session, [found], [found.text], status=False)


async def _search_one(one: Asked) -> None:
    await one.p.search_offloaded(one.words, session_id=one.session)


async def _search_all(one: Asked) -> None:
    await one.p.search_offloaded(one.words)


async def _search_code(one: Asked) -> None:
    await one.p.search_offloaded(one.code)


async def _search_misspelt(one: Asked) -> None:
    await one.p.search_offloaded(one.long[:2] + one.long[3] + one.long[2] + one.long[4:])


async def _search_unlike(one: Asked) -> None:
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
    "search in all sessions, a misspelt word": _search_misspelt,
    "search in all sessions, nothing like it": _search_unlike,
    "sessions, first page": _sessions_page,
    "sessions with their fill, first page": _rows_page,
}
_OF_ONE = tuple(CALLS_OF)[:4]
_ANEW = 20
"""Calls of processes that have just begun."""


async def measure(cluster: Cluster, home: Path, records: int, calls: int = CALLS) -> None:
    """Each call on random sessions of up to four tenants, then on those of 10,000 records."""
    warm_up()  # as a server does: what is loaded by now, the garbage collector looks at no more, and at the rest rarely
    let_answers_through()
    known = await _sessions(cluster.url(OWNER), range(min(_TENANTS, -(-records // TENANT_RECORDS))))
    large = [one for one in known if one[2] >= LARGE_RECORDS]
    wire, spent = Wire(cluster.pooler_port), Spent(cluster)
    async with wire.listening() as port:
        for title, some, names, anew in (
            ("", known, tuple(CALLS_OF), False),
            (", first time", known, tuple(CALLS_OF)[-1:], True),
            (" of 10,000", large, _OF_ONE, False),
            (" of 10,000, first time", large, _OF_ONE, True),
        ):
            for name in names:
                many, few = (min(calls, _ANEW), 5) if anew else (calls, 20)
                times, _ = await _asked(cluster.pooled, home, some, name, many, wire, spent, anew=anew)
                _, trips = await _asked(cluster.url(port=port), home, some, name, few, wire, spent, anew=anew)
                told(f"{name}{title}", times, trips)


def told(name: str, times: Sequence[Took], trips: Sequence[int]) -> None:
    """A row: median and 99th percentile in milliseconds, of all of it and of its parts, and how often a call asked the
    database."""
    parts = ("", times), ("quiet", times), ("python", times), ("database", times), ("waited", times)
    said = [f"{title} {_both([getattr(one, title or 'wall') for one in some])}" for title, some in parts]
    asked = f"{min(trips)}" if min(trips) == max(trips) else f"{min(trips)} to {max(trips)}"
    print(f"  {name:52} n {len(times):4} {', '.join(said)}; {asked} trips", flush=True)


def _both(values: Iterable[float]) -> str:
    ordered = sorted(values)
    p50, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.99))
    return f"{p50:5.1f} / {p99:5.1f}"


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
    url: str,
    home: Path,
    known: Sequence[tuple[str, str, int]],
    name: str,
    calls: int,
    wire: Any,
    spent: Spent,
    *,
    anew: bool,
) -> tuple[list[Took], list[int]]:
    """What each call took and its trips, those left out in which vocabularies and pools are made.

    Args:
        anew: by somebody who has not met a session yet.
    """
    chance = random.Random(f"{name} {calls}")
    words, times, trips = vocabulary(), list[Took](), list[int]()
    weights = weights_of(words)
    async with AsyncExitStack() as stack:
        opened: dict[str, Palimpsest] = {}
        for number in range(-10, calls):
            tenant, session, count = chance.choice(known)
            if anew or tenant not in opened:
                settings = Settings.load(home=home, store=url, tenant=tenant)
                opened[tenant] = await stack.enter_async_context(Palimpsest.open(settings=settings))
                await opened[tenant].search_offloaded("nothing")
            said, code = " ".join(chance.choices(words, cum_weights=weights, k=2)), f"E{chance.randrange(10_000):04d}"
            (long,) = chance.choices([word for word in words if len(word) >= 6], k=1)
            batch = batch_of(chance.randint(1, count))
            one = Asked(opened[tenant], session, batch, 10_000 + 10 * number + calls % 7, said, long, code)
            before, shares, began = wire.trips, spent.now(), time.perf_counter_ns()
            await CALLS_OF[name](one)
            wall, now = time.perf_counter_ns() - began, spent.now()
            if number >= 0:
                parts = (wall, *(new - old for new, old in zip(now, shares, strict=True)))
                times.append(Took(*(one / _NS_A_MS for one in parts)))
                trips.append(wire.trips - before)
    return times, trips
