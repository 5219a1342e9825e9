"""`summary.md` on disk: after any crash or failure the old or the new one is there, whole; nothing else is touched."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from palimpsest_mcp.errors import PalimpsestError, StoreUnusable, SummaryChanged, WriteFailed
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.models.summaries import AnchoredSummary
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.documents import SummaryFiles
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.ledger import LedgerFiles
from palimpsest_mcp.testing.disks import CHANGES, Crash, SimulatedDisk
from palimpsest_mcp.testing.store_contract import full, small

KEY = SessionKey("s1")
NEW = small("Another thing to do, which is much longer than the first one was")


def files_on(disk: SimulatedDisk) -> SummaryFiles:
    numbers = iter(range(10_000))

    def hexes(count: int) -> str:
        return f"{next(numbers):0{2 * count}x}"

    home = Home(Path("/store"), disk, hexes)
    ledger = LedgerFiles(home, clock=lambda: pytest.fail("no clock is needed"), random_hex=hexes)
    return SummaryFiles(home, ledger, hexes)


def with_an_old_one() -> SimulatedDisk:
    disk = SimulatedDisk()
    files_on(disk).put(KEY, full(), after="")
    return disk.killed()


def put_new(disk: SimulatedDisk) -> None:
    files = files_on(disk)
    files.put(KEY, NEW, after=files.get(KEY).version)


def changing_calls() -> list[int]:
    """The calls of an undisturbed put after which the disk is another."""
    disk = with_an_old_one()
    put_new(disk)
    return [number for number, call in enumerate(disk.calls, 1) if call in CHANGES]


def found_on(disks: Iterator[SimulatedDisk]) -> Iterator[AnchoredSummary | None]:
    for disk in disks:
        found = files_on(disk).get(KEY)
        assert not found.note, "half a summary is there"
        yield found.summary


@pytest.mark.parametrize("number", changing_calls())
def test_a_crash_at_any_moment_leaves_the_old_or_the_new_one(number: int) -> None:
    before = with_an_old_one()
    disk = SimulatedDisk(before.root, crash_at=number)
    with pytest.raises(Crash):
        put_new(disk)
    for summary in found_on(iter([disk.killed(), *disk.power_cuts(Random(number), 12)])):
        assert summary in (full(), NEW)


@pytest.mark.parametrize("number", changing_calls())
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_failing_call_is_an_error_and_leaves_the_old_or_the_new_one(number: int, error: int) -> None:
    disk = SimulatedDisk(with_an_old_one().root, faults={number: OSError(error, os.strerror(error))})
    try:
        put_new(disk)
        acknowledged = True
    except PalimpsestError:
        acknowledged = False
    for summary in found_on(iter([disk.killed(), *disk.power_cuts(Random(number), 12)])):
        assert summary == NEW if acknowledged else summary in (full(), NEW)


def test_what_was_acknowledged_survives_every_power_cut() -> None:
    disk = with_an_old_one()
    put_new(disk)
    assert all(summary == NEW for summary in found_on(disk.power_cuts(Random(1), 30)))


class LyingDisk(SimulatedDisk):
    """Gives other bytes back than were written."""

    lies = False

    def read(self, fd: int, size: int, offset: int) -> bytes:
        data = super().read(fd, size, offset)
        return data[:-1] + b"?" if self.lies and data else data


def test_bytes_that_come_back_different_never_take_the_old_ones_place() -> None:
    disk = LyingDisk(with_an_old_one().root)
    files = files_on(disk)
    version = files.get(KEY).version
    disk.lies = True
    with pytest.raises((WriteFailed, SummaryChanged)):
        files.put(KEY, NEW, after=version)
    assert files_on(disk.killed()).get(KEY).summary == full()


class TrueOnce(LyingDisk):
    """Lies only about files that were just written."""

    def open(self, path: str) -> int:
        self.lies = path.endswith(".tmp")
        return super().open(path)


def test_a_spare_that_reads_back_wrong_is_thrown_away() -> None:
    disk = TrueOnce(with_an_old_one().root)
    with pytest.raises(WriteFailed):
        put_new(disk)
    assert files_on(disk.killed()).get(KEY).summary == full()
    assert not [name for name, _ in disk.scan("/store/session/s1") if name.endswith(".tmp")]


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.md"
    target.write_text("## Session Intent\nOurs\n")
    folder = tmp_path / "home" / "session" / "s1"
    folder.mkdir(parents=True)
    (tmp_path / "home" / "VERSION").write_text("1\n")
    (folder / "summary.md").symlink_to(target)
    files = DiskStore(tmp_path / "home").summaries
    with pytest.raises(StoreUnusable):
        asyncio.run(files.get(KEY))


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    asyncio.run(DiskStore(tmp_path / "home").summaries.put(KEY, full(), after=""))
    assert (tmp_path / "home" / "session" / "s1" / "summary.md").stat().st_mode & 0o777 == 0o600
