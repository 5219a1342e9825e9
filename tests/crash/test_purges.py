"""Purges that are killed at every step, and purges under a writer that goes on in another process."""

from __future__ import annotations

import asyncio
import re
import runpy
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from palimpsest_mcp.context.fold import Fold
from palimpsest_mcp.context.tombstones import key_of
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.models.events import PurgedEvent, Seen, SessionKey
from palimpsest_mcp.models.items import content_sha256
from palimpsest_mcp.models.reports import Forgotten
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.archive import ArchiveFiles
from palimpsest_mcp.store.flaws import Comparison
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.ledger import LedgerFiles
from palimpsest_mcp.store.memory import Node
from palimpsest_mcp.store.rewrite import texts_of
from palimpsest_mcp.testing.contract_values import S1, info_of, record, seen
from palimpsest_mcp.testing.disks import CHANGES, Crash, SimulatedDisk

from .conftest import SECONDS, Tell

pytestmark = pytest.mark.crash
SCRIPT = Path(__file__).with_name("purged_writer.py")
_WRITER = runpy.run_path(str(SCRIPT))
KEY: SessionKey = _WRITER["KEY"]
SECRET: str = _WRITER["SECRET"]
text_of: Callable[[int], str] = _WRITER["text_of"]
GONE = "a text that goes, with some length"
STAYS = "a text that stays, with some length"


# ---- every crash point, on a simulated disk


def files(disk: SimulatedDisk) -> tuple[LedgerFiles, ArchiveFiles]:
    from datetime import UTC, datetime

    numbers = iter(range(disk.process * 10_000, disk.process * 10_000 + 9_999))
    home = Home(Path("/data/home"), disk, lambda size: f"{next(numbers):0{2 * size}x}")
    clock: Callable[[], datetime] = lambda: datetime(2026, 11, 20, tzinfo=UTC)  # noqa: E731
    return (
        LedgerFiles(home, clock=clock, random_hex=home.random_hex),
        ArchiveFiles(home, clock=clock, random_hex=home.random_hex),
    )


def filled() -> Node:
    """A disk with two texts in ledger and archive, flushed."""
    disk = SimulatedDisk()
    ledger, archive = files(disk)
    ledger.create(S1, info_of(S1))
    ledger.observe(S1, [seen(1, GONE), seen(2, STAYS)])
    archive.append(S1, [record("offload_0001", GONE), record("offload_0002", STAYS)])
    ledger.observe(S1, [seen(3, STAYS), seen(4, GONE)])
    return disk.root


def purge(disk: SimulatedDisk) -> bool:
    """What a purge does to one session's texts; asked again it goes on. Returns whether it came to its end."""
    ledger, archive = files(disk)
    sha256 = content_sha256(GONE)
    gone = Forgotten(keys=frozenset({key_of("i1", sha256, len(GONE))}))
    ledger.bury(S1, gone.keys, under_way=True)
    known = [event for event in ledger.read(S1).events if isinstance(event, PurgedEvent)]
    if not known:
        ledger.decide(S1, [PurgedEvent(batch_ids=("offload_0001",), keys=tuple(gone.keys))], after_rev=0)
    archive.forget(S1, gone)
    ledger.forget(S1, gone)
    ledger.bury(S1, (), under_way=False)
    return True


def bytes_of(node: Node) -> bytes:
    return bytes(node.data) + b"".join(bytes_of(child) for child in node.names.values())


def check(disk: SimulatedDisk) -> None:
    """What stays is there once; what goes is there whole, or as a tombstone, and never half-forgotten."""
    ledger, archive = files(disk)
    page = ledger.read(S1)
    assert not page.damage
    home = Home(Path("/data/home"), disk, lambda size: "0" * 2 * size)
    assert not [flaw for flaw in Comparison(home).flaws() if flaw.severity == "damage"], "what went is missed"
    fold = Fold(page.events)
    assert set(fold.states) == {"i1", "i2", "i3", "i4"}
    assert fold.states["i2"].current.content == STAYS == fold.states["i3"].current.content
    kept = archive.get(S1, "offload_0002")
    assert kept is not None and kept.items[0].result == STAYS
    one = archive.get(S1, "offload_0001")
    assert one is not None, "a record vanished"
    purged = {str(fold.states[name].current.content) for name in ("i1", "i4")}
    assert len(purged) == 1, "one text is half-forgotten"
    if one.items[0].result is None:
        assert purged == {"None"}, "the archive forgot what the ledger still gives back"
    if purged == {"None"} or one.items[0].result is None:
        assert ledger.tombstones(S1).keys, "forgotten without a tombstone"
    if GONE.encode() in bytes_of(disk.root) and purged == {"None"}:
        assert ledger.tombstones(S1).under_way, "nobody knows that it must go on"


def test_a_purge_killed_at_any_step_goes_on_where_it_was(tell: Tell) -> None:
    whole = SimulatedDisk(filled(), process=2)
    assert purge(whole)
    assert GONE.encode() not in bytes_of(whole.root) and STAYS.encode() in bytes_of(whole.root)
    points = [number for number, call in enumerate(whole.calls, 1) if call in CHANGES]
    assert len(points) > 20
    random, disks = Random(1), 0
    for point in points:
        disk = SimulatedDisk(filled(), crash_at=point, process=2)
        with suppress(Crash):
            purge(disk)
        for left in [disk.killed(), *disk.power_cuts(random, 4)]:
            check(left)
            left.process = 3
            purge(left)
            check(left)
            assert GONE.encode() not in bytes_of(left.root)
            disks += 1
            for again in left.power_cuts(random, 1):
                check(again)
    tell("crashes of purges", crash_points=len(points), disks_looked_at=disks)


def test_a_purge_that_a_single_call_fails_goes_on() -> None:
    import errno

    whole = SimulatedDisk(filled(), process=2)
    purge(whole)
    for number in range(1, len(whole.calls) + 1):
        disk = SimulatedDisk(filled(), faults={number: OSError(errno.EIO, "injected")}, process=2)
        with suppress(PalimpsestError):
            purge(disk)
        left = disk.killed()
        check(left)
        purge(left)
        check(left)
        assert GONE.encode() not in bytes_of(left.root)


# ---- with another process that writes


def holders(home: Path) -> list[str]:
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and any(SECRET in text for text in texts_of(path.read_bytes()))
    ]


def started(home: Path, acks: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, SCRIPT, home, acks], stdin=subprocess.DEVNULL)


async def check_acknowledged(home: Path, acks: list[list[str]]) -> None:
    store = DiskStore(home)
    fold = Fold((await store.ledger.read(KEY)).events)
    for kind, name in acks:
        number = int(re.sub(r"\D", "", name))
        if kind == "o":
            content = fold.states[name].current.content
            assert content == (None if number % 3 == 0 else text_of(number)), "an acknowledged text is lost"
        found = await store.archive.get(KEY, name) if kind == "a" else None
        if kind == "a":
            assert found is not None
            assert found.items[0].result == (None if number % 3 == 0 else text_of(number))
        if kind == "d":
            assert name in fold.decided.batches
    assert not fold.conflicts
    await store.aclose()


@pytest.mark.anyio
async def test_a_purge_under_a_writer_in_another_process_loses_nothing_and_leaves_nothing(
    tmp_path: Path, tell: Tell
) -> None:
    home, acks = tmp_path / "home", tmp_path / "acks"
    writer = started(home, acks)
    purges = 0
    try:
        until = time.monotonic() + min(SECONDS, 8)
        while not acks.exists() or len(acks.read_bytes()) < 2_000:
            assert writer.poll() is None
            await asyncio.sleep(0)
        async with Palimpsest.open(home) as p:
            while purges < 3 or time.monotonic() < until:
                await p.purge(matching=SECRET, dry_run=False)
                purges += 1
            # The text is known now, and the writer, who holds it and an open segment, goes on.
            before = acks.read_bytes().count(b"\n")
            while acks.read_bytes().count(b"\n") < before + 60:
                assert writer.poll() is None
                await asyncio.sleep(0)
            assert holders(home) == []
    finally:
        writer.kill()
        writer.wait()
    told = [line.split() for line in acks.read_text().split("\n")[:-1]]
    assert any(name == f"i{3 * n}" for kind, name in told for n in (1, len(told) // 12) if kind == "o")
    await check_acknowledged(home, told)
    tell("purges under a writer", purges=purges, acknowledgements=len(told))


@pytest.mark.anyio
async def test_a_killed_purge_is_finished_by_a_repair(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = DiskStore(home)
    await store.ledger.create(S1, info_of(S1))
    await store.ledger.observe(S1, [seen(1, GONE)])
    await store.archive.append(S1, [record("offload_0001", GONE)])
    await store.bury(S1, [content_sha256(GONE)], under_way=True)
    await store.aclose()
    async with Palimpsest.open(home) as p:
        assert not (await p.verify()).ok
        assert [one.what for one in (await p.repair()).repairs] == ["a purge that was interrupted"]
        assert (await p.repair(dry_run=False)).ok
        assert not any(GONE.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())
        events = (await p.store.ledger.read(SessionKey("s1"))).events
        assert any(isinstance(event, PurgedEvent) for event in events)
        assert any(isinstance(event, Seen) and event.item.purged for event in events)


@pytest.mark.anyio
@pytest.mark.parametrize("by", ["the same purge", "a repair"])
async def test_a_purge_killed_after_its_tombstones_comes_to_its_end(tmp_path: Path, by: str) -> None:
    """The fold shows no purged text any more, and the files still hold it."""
    home = tmp_path / "home"
    store = DiskStore(home)
    await store.ledger.create(S1, info_of(S1))
    await store.ledger.observe(S1, [seen(1, GONE), seen(2, STAYS)])
    await store.archive.append(S1, [record("offload_0001", GONE)])
    key = key_of("i1", content_sha256(GONE), len(GONE))
    await store.bury(S1, [key], under_way=True)
    await store.ledger.decide(S1, [PurgedEvent(batch_ids=("offload_0001",), keys=(key,))], after_rev=0)
    await store.aclose()
    async with Palimpsest.open(home) as p:
        assert not (await p.verify()).ok
        if by == "a repair":
            await p.repair(dry_run=False)
        else:
            await p.purge(matching=GONE, dry_run=False)
        assert (await p.verify()).ok
    texts = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not any(GONE.encode() in text for text in texts) and any(STAYS.encode() in text for text in texts)
