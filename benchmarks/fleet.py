"""The store in PostgreSQL beside the folder, in one run, with fsync on: `python benchmarks/fleet.py [--seconds 20]`.

`--rows 10000000` fills a database with so many small records and measures lists, searches and restores
(`fleet_rows.py`); with `--keep DIR` it stays there, and the next time it is measured without being filled.
`--only ratio` asks how full a window is, nothing else.

It starts a server and a pooler of its own on loopback, as the tests do, and prints a table; nothing is written down.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "fleet"))

from cluster import APP, OWNER, PASSWORD, Cluster, free_port, programs, wait_listening
from http_clients import HttpClient
from stdio_client import NEW

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store.postgres.schema import prepare
from palimpsest_mcp.store.postgres.store import PgStore
from palimpsest_mcp.testing.contract_values import record

DEMO = Path(__file__).resolve().parents[1] / "src/palimpsest_mcp/demo/coding_session.json"
CLIENTS = 64
BODY = 4096


async def made(cluster: Cluster) -> None:
    """Database, role and tables."""
    owner: Any = await asyncpg.connect(cluster.url(OWNER, database="postgres"))
    await owner.execute(f"create role {APP} login password '{PASSWORD}'")
    await owner.execute("create database fleet")
    await owner.close()
    await prepare(cluster.url(OWNER), roles=(APP,))
    owner = await asyncpg.connect(cluster.url(OWNER))
    await owner.execute(
        "create table plain (session uuid, seq bigint, body bytea, sha256 bytea, primary key (session, seq))"
    )
    await owner.execute(f"alter table plain alter column body set storage external; grant all on plain to {APP}")
    await owner.close()


def told(name: str, times: list[float]) -> None:
    """A row: how many, median and 99th percentile in milliseconds."""
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    print(f"{name:44} n {len(times):6}  p50 {statistics.median(times) * 1e3:8.2f} ms  p99 {p99 * 1e3:8.2f} ms")


async def timed(times: list[float], work: Awaitable[Any]) -> Any:
    """Run it, and note how long it took."""
    began = time.perf_counter()
    answer = await work
    times.append(time.perf_counter() - began)
    return answer


async def passes(open_one: Callable[[], Any], name: str, rounds: int) -> tuple[list[float], list[float]]:
    """A pass over the demo session, again and again in new sessions; and what an agent asks most."""
    messages = json.loads(DEMO.read_text("utf-8"))
    recorded: list[float] = []
    asked: list[float] = []
    async with open_one() as p:
        for number in range(rounds + 1):
            times = recorded if number else []  # the first one loads vocabularies
            name_of = f"{name}-{number}"
            await timed(
                times, p.compact_messages(messages, session_id=name_of, window_tokens=64_000, target=0.5, force=True)
            )
            for _ in range(20 if number else 0):
                await timed(asked, p.check_context_ratio(name_of, used_tokens=9_000, window_tokens=64_000))
    return recorded, asked


class Load:
    """Clients that append and restore for some seconds, through the pooler."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self.appends: list[float] = []
        self.restores: list[float] = []

    async def client(self, store: PgStore, key: SessionKey) -> int:
        """Each writes a session of its own, and reads back every fourth; gives how many it was promised."""
        body = os.urandom(BODY // 2).hex()
        number = 0
        while time.monotonic() < self.until:
            number += 1
            batch = f"offload_{number:04d}"
            await timed(self.appends, store.archive.append(key, [record(batch, f"{number} {body}", key=key)]))
            if number % 4 == 0:
                found = await timed(self.restores, store.archive.get(key, batch))
                assert found is not None and str(found.items[0].result).startswith(f"{number} ")
        return number

    async def plain(self, pool: Any, number: int, size: int) -> int:
        """The same bytes in as many commits, by nothing but an insert."""
        import hashlib
        import uuid

        key, body, count = uuid.uuid4(), os.urandom(size), 0
        while time.monotonic() < self.until:
            count += 1
            began = time.perf_counter()
            async with pool.acquire() as connection:
                await connection.execute("BEGIN")
                await connection.execute(
                    "insert into plain values ($1, $2, $3, $4)", key, count, body, hashlib.sha256(body).digest()
                )
                await connection.execute("COMMIT")
            self.appends.append(time.perf_counter() - began)
            if count % 4 == 0:
                async with pool.acquire() as connection:
                    await timed(
                        self.restores,
                        connection.fetchrow(
                            "select body, sha256 from plain where session = $1 and seq = $2", key, count
                        ),
                    )
        return count


async def no_reset(connection: Any) -> None:
    """As the store's own pool has it."""


async def fleet_load(cluster: Cluster, home: Path, seconds: float) -> None:
    """Two servers' worth of stores, 64 clients each, and the plain inserts beside them."""
    load = Load(seconds)
    stores = [PgStore(cluster.pooled, home=home, tenant="load", connections=20 + n) for n in range(2)]
    keys = [SessionKey(f"s{number}") for number in range(2 * CLIENTS)]
    promised = await asyncio.gather(*(load.client(stores[n % 2], key) for n, key in enumerate(keys)))
    rate = sum(promised) / seconds
    print(f"\n{2 * CLIENTS} clients of 2 stores through the pooler, {seconds:.0f} s: {rate:.0f} appends/s")
    told("  append a record of 4 KiB, read back", load.appends)
    told("  restore it, checked", load.restores)
    lost = doubled = 0
    for key, count in zip(keys, promised, strict=True):
        ids = [one.batch_id async for one in stores[0].archive.records(key)]
        lost += count - len(set(ids))
        doubled += len(ids) - len(set(ids))
    other = PgStore(cluster.pooled, home=home, tenant="another")
    strange = sum([1 for key in keys[:10] async for _ in other.archive.records(key)])
    print(f"  lost {lost}, doubled {doubled}, of another tenant {strange}; flaws {len(await stores[0].flaws())}")
    for store in (*stores, other):
        await store.aclose()
    one: Any = await asyncpg.connect(cluster.url())
    await one.execute(
        "begin; set local search_path = palimpsest; set local palimpsest.tenant = 'load';"
        " set local palimpsest.owner = ''"
    )
    size = int(await one.fetchval("select avg(length(body)) from (select body from record limit 100) r"))
    await one.close()
    plain = Load(seconds)
    pool = await asyncpg.create_pool(cluster.pooled, min_size=0, max_size=41, statement_cache_size=0, reset=no_reset)
    done = await asyncio.gather(*(plain.plain(pool, n, size) for n in range(2 * CLIENTS)))
    await pool.close()
    print(f"plain inserts of the same {size} bytes, as many commits: {sum(done) / seconds:.0f}/s")
    told("  insert", plain.appends)
    print(f"  the store does {rate / (sum(done) / seconds):.0%} of it")


Answers = Callable[[int], Awaitable[Any]]


async def asked_in_turn(urls: dict[str, str], calls: int) -> dict[str, list[float]]:
    """How long each call took, the first few left out: 50 of one server, as an agent asks its own, then of the next, so
    that a busy machine is busy for all."""
    times = {name: list[float]() for name in urls}
    async with httpx2.AsyncClient(timeout=60) as http:
        asks = {name: await _asks(HttpClient(url, NEW, http), empty=name == EMPTY) for name, url in urls.items()}
        for begin in range(0, calls + 50, 50):
            for name, ask in asks.items():
                for number in range(begin, begin + 50):
                    await timed(times[name] if begin else [], ask(number))
    return times


async def _asks(client: HttpClient, *, empty: bool) -> Answers:
    if empty:
        return lambda number: client.call("nothing", {})
    items = [{"role": "user", "content": f"request {number} " * 50} for number in range(40)]
    said = await client.call("record_items", {"session_id": "new", "items": items})
    told_of = {"session_id": json.loads(said)["result"]["structuredContent"]["session"], "window_tokens": 64_000}
    return lambda number: client.call("check_context_ratio", {**told_of, "used_tokens": 9_000 + number})


def ratio_over_http(home: Path, url: str, calls: int) -> None:
    """What an agent asks most, asked of real servers, one call after another: of one with a folder, of one with the
    database, and of an empty one that only answers."""
    with ExitStack() as running:
        urls = {
            "folder": _server(running, home / "folder"),
            "PostgreSQL and pooler": _server(running, home / "notes", url),
            EMPTY: _empty_server(running),
        }
        print(f"check_context_ratio over HTTP, load {os.getloadavg()[0]:.1f}:")
        for name, times in asyncio.run(asked_in_turn(urls, calls)).items():
            told(f"  {name}", times)


EMPTY = "an empty server's call"


def _server(running: ExitStack, home: Path, url: str = "") -> str:
    command = [sys.executable, "-m", "palimpsest_mcp", "serve", "--home", str(home), "--http", "127.0.0.1:0"]
    place = {"PALIMPSEST_STORE": url, "PALIMPSEST_TENANT": "http"} if url else {}
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, "env": {**os.environ, **place}}
    server = running.enter_context(subprocess.Popen(command, **pipes))
    running.callback(server.terminate)
    assert server.stderr is not None
    found = re.search(r"at (http://\S+?/mcp),", server.stderr.readline())
    assert found is not None
    return found[1]


def _empty_server(running: ExitStack) -> str:
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("empty_server.py")), str(port)]
    server = running.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
    running.callback(server.terminate)
    wait_listening(port)
    return f"http://127.0.0.1:{port}/mcp"


async def rows_a_pass(cluster: Cluster) -> None:
    """What one pass leaves in the database."""
    owner: Any = await asyncpg.connect(cluster.url(OWNER))
    await owner.execute("set palimpsest.tenant = 'passes'; set palimpsest.owner = '*'; set search_path = palimpsest")
    sessions = await owner.fetchval("select count(*) from session where tenant = 'passes'")
    print(f"\nrows and bytes a session of the demo, with one pass ({sessions} sessions):")
    for table in ("step", "record", "entry"):
        row = await owner.fetchrow(
            f"select count(*) as n, coalesce(sum(pg_column_size(t.*)), 0) as size from {table} t"
            " where tenant = 'passes'"
        )
        print(f"  {table:8} {row['n'] / sessions:6.1f} rows {row['size'] / sessions / 1024:8.1f} KiB")
    await owner.close()


async def large(records: int, keep: Path | None) -> None:
    """A database with so many records, which takes some 3 GB a million, and the calls on it."""
    from fleet_rows import filled_and_measured

    cluster = Cluster(
        *installed(),
        keep=keep,
        shared_buffers="3GB",
        max_wal_size="16GB",
        checkpoint_timeout="30min",
        autovacuum="off",
    )
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        try:
            cluster.start()
            cluster.start_pooler(size=20)
            if cluster.made:
                await made(cluster)
            else:
                await prepare(cluster.url(OWNER), roles=(APP,))
            await filled_and_measured(cluster, Path(folder), records)
        finally:
            cluster.stop()


def installed() -> tuple[Path, Path]:
    """The programs of server and pooler."""
    found = programs()
    if found is None:
        sys.exit("postgresql or pgbouncer is not installed")
    return found


async def main(seconds: float, rounds: int, only: str) -> None:
    cluster = Cluster(*installed(), durable=True, track_io_timing="off")
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        try:
            cluster.start()
            cluster.start_pooler(size=20)
            await made(cluster)
            home = Path(folder)
            if only == "ratio":
                for part in range(rounds):
                    await asyncio.to_thread(ratio_over_http, home / f"served{part}", cluster.pooled, 500)
                return
            database = Settings.load(home=home / "notes", store=cluster.pooled, tenant="passes")
            ours: list[list[float]] = [[], []]
            theirs: list[list[float]] = [[], []]
            for part in range(2):  # in turns, so that a busy machine is busy for both
                for kept, answers in (
                    (ours, await passes(lambda: Palimpsest.open(settings=database), f"a{part}", rounds)),
                    (theirs, await passes(lambda: Palimpsest.open(home / "disk"), f"a{part}", rounds)),
                ):
                    for total, times in zip(kept, answers, strict=True):
                        total += times
            told("pass over the demo, folder", theirs[0])
            told("pass over the demo, PostgreSQL and pooler", ours[0])
            ratio = statistics.median(ours[0]) / statistics.median(theirs[0])
            print(f"  {ratio:.2f} times the folder's (median)")
            told("context_ratio, folder", theirs[1])
            told("context_ratio, PostgreSQL and pooler", ours[1])
            for part in range(2):
                await asyncio.to_thread(ratio_over_http, home / f"served{part}", cluster.pooled, 500)
            await rows_a_pass(cluster)
            await fleet_load(cluster, home / "notes", seconds)
        finally:
            cluster.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("", "ratio"), default="")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None)
    given = parser.parse_args()
    asyncio.run(large(given.rows, given.keep) if given.rows else main(given.seconds, given.rounds, given.only))
