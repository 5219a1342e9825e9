"""Handoffs under crashes: what was acknowledged is in a file or named as deleted, and cleaning up ends."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from palimpsest_mcp.core.dependencies import Dependencies
from palimpsest_mcp.core.handoff_files import clean_handoffs
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.memory.handoff.markdown import from_markdown, to_markdown
from palimpsest_mcp.models.handoffs import Choice, TaskSummary
from palimpsest_mcp.store import DiskStore, MemoryStore
from palimpsest_mcp.testing.disks import CHANGES, Crash, SimulatedDisk

from ..conftest import PROFILE
from .conftest import LONG, SEED, Tell

pytestmark = pytest.mark.crash

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
STRIDE = 6 if PROFILE == "ci" else 1
"""Crash points from one to the next."""
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


def test_at_any_crash_point_nothing_is_lost_that_was_not_named(tell: Tell) -> None:
    whole = furnished(SimulatedDisk())
    first = len(whole.calls)
    asyncio.run(work(whole, []))
    points = [n for n, call in enumerate(whole.calls, 1) if call in CHANGES and n > first][SEED % STRIDE :: STRIDE]
    chance, disks = random.Random(SEED), 0
    for point in points:
        disk, acknowledged = furnished(SimulatedDisk(crash_at=point)), list[str]()
        with contextlib.suppress(Crash):
            asyncio.run(work(disk, acknowledged))
        for left in [disk.killed(), *disk.power_cuts(chance, 5 if LONG else 1 if PROFILE == "ci" else 2)]:
            asyncio.run(check_left(left, acknowledged))
            disks += 1
    tell("crashes of handoffs", crash_points=len(points), disks_looked_at=disks)
