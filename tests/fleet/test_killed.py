"""Server, database and pooler are killed while others write: what was acknowledged is there, once and unchanged."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.testing.contract_values import applied, pinned, record

from ..conftest import LONG, first_of
from .cluster import Cluster

pytestmark = [pytest.mark.anyio, pytest.mark.crash]
WRITERS = 6
ROUNDS = 3 if LONG else 1


class Writer:
    """Appends to one session, and remembers what was acknowledged."""

    def __init__(self, url: str, home: Path, tenant: str, number: int) -> None:
        from palimpsest_mcp.store.postgres.store import PgStore

        self.store = PgStore(url, home=home, tenant=tenant, connections=WRITERS)
        self.key = SessionKey(f"s{number}")
        self.events: list[str] = []
        self.batches: list[str] = []
        self.failed = self.number = 0
        self.wrote = asyncio.Event()

    async def run(self, until: asyncio.Event) -> None:
        while not until.is_set():
            self.number += 1
            number = self.number
            try:
                await self.store.ledger.observe(self.key, [applied(number)])
                self.events.append(f"i{number}")
                batch = f"offload_{number:04d}"
                await self.store.archive.append(self.key, [record(batch, f"text {number} " * 300, key=self.key)])
                self.batches.append(batch)
                self.wrote.set()
            except PalimpsestError:
                self.failed += 1

    async def check(self) -> None:
        """Nothing lost, nothing twice."""
        events = (await self.store.ledger.read(self.key)).events
        found = [getattr(one, "item_id", "") for one in events]
        assert len(set(found)) == len(found), "an event is there twice"
        assert set(self.events) <= set(found), "an acknowledged event is lost"
        there = {one.batch_id: one async for one in self.store.archive.records(self.key)}
        assert set(self.batches) <= set(there), "an acknowledged record is lost"
        assert all(
            there[f"offload_{number:04d}"] == record(f"offload_{number:04d}", f"text {number} " * 300, key=self.key)
            for number in (int(batch[-4:]) for batch in self.batches)
        )
        assert await self.store.archive.damage(self.key) == () and await self.store.flaws() == ()
        clocks = [one.clock for one in events]
        assert len(set(clocks)) == len(clocks)


@pytest.mark.parametrize("victim", first_of(["database", "pooler"]))
async def test_no_acknowledged_write_is_lost_when_it_is_killed(
    durable: Cluster, tmp_path: Path, tenant: str, victim: str
) -> None:
    writers = [Writer(durable.pooled, tmp_path, tenant, number) for number in range(WRITERS)]
    for _ in range(ROUNDS):
        until = asyncio.Event()
        tasks = [asyncio.create_task(one.run(until)) for one in writers]
        for one in writers:
            one.wrote.clear()
        await asyncio.gather(*(one.wrote.wait() for one in writers))
        if victim == "database":
            await asyncio.to_thread(durable.kill)
            await asyncio.to_thread(durable.start)
        else:
            durable.kill_pooler()
            await asyncio.to_thread(durable.start_pooler)
        for one in writers:
            one.wrote.clear()
        await asyncio.gather(*(one.wrote.wait() for one in writers))  # they go on by themselves
        until.set()
        await asyncio.gather(*tasks)
    for one in writers:
        await one.check()
        await one.store.aclose()
    assert min(len(one.batches) for one in writers) >= 2 * ROUNDS


_PROGRAM = """
import asyncio, sys
from pathlib import Path
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.store.postgres.store import PgStore
from palimpsest_mcp.testing.contract_values import applied, pinned

async def main(url, home, tenant):
    store, key, number = PgStore(url, home=Path(home), tenant=tenant), SessionKey("s1"), 0
    async with store.ledger.pass_lock(key):
        while True:
            number += 1
            rev = await store.ledger.decide(key, [pinned(number)], after_rev=number - 1)
            print(rev, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_server_that_is_killed_in_a_pass_leaves_what_it_decided_and_the_session_to_others(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.store import PgStore

    key = SessionKey("s1")
    command = [sys.executable, "-c", _PROGRAM, cluster.pooled, str(tmp_path), tenant]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    acknowledged = [int(await process.stdout.readline()) for _ in range(10)]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in (await process.stdout.read()).split(b"\n")[:-1] if line]
    await process.wait()
    store = PgStore(cluster.pooled, home=tmp_path, tenant=tenant)
    revs = sorted(getattr(one, "rev", 0) for one in (await store.ledger.read(key)).events)
    assert revs == list(range(1, len(revs) + 1)) and len(revs) - len(acknowledged) in (0, 1)
    connection = await asyncpg.connect(cluster.url())
    await connection.execute(  # the thirty seconds are over
        f"begin; set local search_path = palimpsest; set local palimpsest.tenant = '{tenant}';"
        " set local palimpsest.owner = ''; update lease set until = '-infinity'; commit"
    )
    await connection.close()
    async with store.ledger.pass_lock(key):
        assert await store.ledger.decide(key, [pinned(0)], after_rev=revs[-1]) == revs[-1] + 1
    await store.aclose()


@pytest.mark.long
def test_a_server_of_the_tests_ends_with_them_however_they_end(cluster: Cluster) -> None:
    """The guard keeps the program's output open until it has ended everything."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from cluster import Cluster, programs\n"
        "one = Cluster(*programs()); one.start(); one.start_pooler(); print(one.folder, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(Path(__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        folder = running.stdout.readline().strip()
        running.send_signal(signal.SIGKILL)
        assert running.stdout.read() == ""
    left = [one.name for one in Path("/proc").glob("[0-9]*") if folder.encode() in command_of(one)]
    assert not Path(folder).exists() and left == []


def command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return b""
