"""Handoffs under crashes and kills: what was acknowledged is in a file or named as deleted, and cleaning up ends."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from palimpsest_mcp.core.dependencies import Dependencies
from palimpsest_mcp.core.handoff_files import clean_handoffs
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.memory.handoff.markdown import from_markdown, to_markdown
from palimpsest_mcp.models.handoffs import Choice, TaskSummary
from palimpsest_mcp.store import DiskStore, MemoryStore
from palimpsest_mcp.testing.simulated_disk import CHANGES, Crash, SimulatedDisk

pytestmark = pytest.mark.crash

SECONDS = float(os.environ.get("TEST_CRASH_SECONDS", "3"))
SEED = int(os.environ.get("TEST_CRASH_SEED", "20261122"))
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
WRITTEN = (("old", 40), ("older", 100), ("a", 3), ("a", 2), ("a", 45))
"""One to archive, one to delete, three of one task to merge."""


async def means() -> Dependencies:
    async with Palimpsest.open(store=MemoryStore(), clock=lambda: NOW) as p:
        return p.deps


GIVEN = asyncio.run(means())


def store_on(disk: SimulatedDisk) -> DiskStore:
    return DiskStore(Path("/data/home"), disk=disk, clock=lambda: NOW, lock_timeout_s=0, temp=Path("/data/tmp"))


def furnished(disk: SimulatedDisk) -> SimulatedDisk:
    for path in ("/data", "/data/tmp"):
        disk.mkdir(path)
    for path in ("/data", "/"):
        disk.flush_folder(path)
    return disk


async def work(disk: SimulatedDisk, acknowledged: list[str]) -> None:
    """Write them all, and one fork; then clean up."""
    store = store_on(disk)
    for number, (task, days) in enumerate(WRITTEN):
        day = (NOW - timedelta(days=days)).date().isoformat()
        decision = f"decision {number}"
        one = TaskSummary(title=task, date=day, task=task, facts=("f",), decisions=(Choice(decision=decision),))
        await store.handoffs.add("memory", f"{day}-{task}", to_markdown(one))
        acknowledged.append(decision)
    await store.handoffs.add("temp", "fork", "# Fork Handoff: f\n")
    await clean_handoffs(dataclasses.replace(GIVEN, store=store), dry_run=False)


async def check_left(left: SimulatedDisk, acknowledged: list[str]) -> None:
    """Another process opens what a crash left, and goes on."""
    store = store_on(left)
    await check_kept(store, acknowledged)
    await clean_handoffs(dataclasses.replace(GIVEN, store=store), dry_run=False)
    await check_kept(store, acknowledged)
    again = await clean_handoffs(dataclasses.replace(GIVEN, store=store), dry_run=False)
    assert again.steps == (), "cleaning up does not come to an end"
    if len(acknowledged) == len(WRITTEN):
        found = [(one.place, one.name) for one in await store.handoffs.list() if one.place == "memory"]
        assert len(found) == 1, found


async def check_kept(store: DiskStore, acknowledged: list[str]) -> None:
    found = await store.handoffs.list()
    texts = [one.text or "" for one in found]
    assert all(from_markdown(text).title for text in texts), "half a file"
    removed = [json.loads(note)["task"] for note in await store.handoffs.removed() if note.endswith("}")]
    for decision in acknowledged:
        task = WRITTEN[int(decision.split()[1])][0]
        assert any(f"**{decision}**" in text for text in texts) or (task == "older" and task in removed), decision


def test_at_any_crash_point_nothing_is_lost_that_was_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    whole = furnished(SimulatedDisk())
    first = len(whole.calls)
    asyncio.run(work(whole, []))
    points = [n for n, call in enumerate(whole.calls, 1) if call in CHANGES and n > first]
    chance, disks = random.Random(SEED), 0
    for point in points:
        disk, acknowledged = furnished(SimulatedDisk(crash_at=point)), list[str]()
        with contextlib.suppress(Crash):
            asyncio.run(work(disk, acknowledged))
        for left in [disk.killed(), *disk.power_cuts(chance, 5)]:
            asyncio.run(check_left(left, acknowledged))
            disks += 1
    with capsys.disabled():
        print(f"\nhandoffs: {len(points)} crash points, {disks} disks after a crash, seed {SEED}")  # noqa: T201


WRITER = """
import asyncio, sys
from palimpsest_mcp.core.palimpsest import Palimpsest

async def main():
    async with Palimpsest.open(sys.argv[1]) as p:
        print("ready", flush=True)
        for n in range(10_000):
            name = f"choice {sys.argv[2]} number {n}"
            fields = {"decisions": [name], "facts": ["a fact to go on from"], "in_progress": ["the work"]}
            await p.write_handoff("new", "the one task", fields=fields)
            print(name, flush=True)

asyncio.run(main())
"""

CLEANER = """
import asyncio, sys
from palimpsest_mcp.core.palimpsest import Palimpsest

async def main():
    async with Palimpsest.open(sys.argv[1]) as p:
        print("ready", flush=True)
        while True:
            await p.clean_handoffs(dry_run=False)

asyncio.run(main())
"""


def started(code: str, *arguments: object) -> subprocess.Popen[str]:
    worker = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    return worker


def texts_in(home: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in home.glob("memory/**/*.md"))


def test_writers_and_cleaners_that_are_killed_lose_no_acknowledged_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance, until, rounds = random.Random(SEED), time.monotonic() + SECONDS, 0
    told: set[str] = set()
    while not told or time.monotonic() < until:
        workers = [started(WRITER, tmp_path / "home", rounds), *(started(CLEANER, tmp_path / "home") for _ in range(2))]
        time.sleep(chance.uniform(0.1, 0.9))
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
        told |= {line for line in workers[0].communicate()[0].split("\n") if line.startswith("choice")}
        for worker in workers[1:]:
            worker.communicate()
        rounds += 1
        text = texts_in(tmp_path / "home")
        assert {name for name in told if f"**{name}**" not in text} == set(), SEED
    with capsys.disabled():
        print(f"\nkilled handoff writers and cleaners: {rounds} rounds, {len(told)} acknowledged")  # noqa: T201
