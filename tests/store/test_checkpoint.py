"""The checkpoint of a ledger: it says what the segments say, or is not used."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.context.fold import Fold, FoldSums
from palimpsest_mcp.context.opened_fold import OpenedFold, keys_of
from palimpsest_mcp.errors import StoreUnusable
from palimpsest_mcp.models.events import Event
from palimpsest_mcp.models.reports import Forgotten
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.ledger import LedgerFiles
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.store.session_folder import FOLDER
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, pinned, seen
from palimpsest_mcp.testing.disks import Crash, SimulatedDisk

from ..conftest import LONG

HOME = Path("/data/home")
LEDGER = HOME / "session" / "s1" / "ledger"
CHECKPOINT = HOME / "session" / "s1" / FOLDER


def ledger_on(disk: RealDisk | SimulatedDisk, home: Path = HOME) -> LedgerFiles:
    """Small segments: there are always several."""
    place = Home(home, disk, secrets.token_hex)
    return LedgerFiles(place, clock=lambda: datetime.now(UTC), random_hex=secrets.token_hex, roll_bytes=900)


def write(files: LedgerFiles, first: int, count: int) -> None:
    files.create(S1, info_of(S1))
    for number in range(first, first + count):
        files.observe(S1, [seen(number, f"text {number}"), applied(number)])
    files.decide(S1, [pinned(first)], after_rev=max(getattr(one, "rev", 0) for one in (applied(0), *read(files))))


def read(files: LedgerFiles) -> tuple[Event, ...]:
    return files.read(S1).events


def keep(files: LedgerFiles) -> None:
    page = files.read(S1)
    sums = Fold(page.events).sums()
    assert sums is not None
    files.keep_checkpoint(S1, page.cursor, msgspec.json.encode(sums), sum(sums.read.values()))


def opened(files: LedgerFiles) -> Fold:
    """A session as a process finds it that has just begun."""
    found = files.checkpoint(S1)
    fold = Fold() if found is None else OpenedFold(msgspec.json.decode(found.sums, type=FoldSums), found)
    fold.add(files.read(S1, None if found is None else found.cursor).events)
    return fold


def told(fold: Fold) -> tuple[object, ...]:
    names = [f"i{number}" for number in range(40)]
    return (fold.rev, fold.sums(), [fold.state(name) for name in names], fold.states)


def true(files: LedgerFiles) -> tuple[object, ...]:
    return told(Fold(read(files)))


def bytes_of(disk: SimulatedDisk, path: Path) -> bytearray:
    node = disk.root
    for part in path.parts[1:]:
        node = node.names[part]
    return node.data


def files_in(disk: SimulatedDisk, folder: Path) -> list[Path]:
    return [folder / name for name, _ in disk.scan(str(folder))]


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_a_session_is_opened_as_it_stands_however_often_it_was_kept(parts: list[int]) -> None:
    disk, first = SimulatedDisk(), 1
    for count in parts:
        files = ledger_on(disk)
        write(files, first, count)
        keep(files)
        files.close()
        first += count
        assert told(opened(ledger_on(disk))) == true(ledger_on(disk))
    write(ledger_on(disk), first, 2)
    assert told(opened(ledger_on(disk))) == true(ledger_on(disk))


def test_an_item_is_found_by_its_own_events_and_the_rest_is_not_read() -> None:
    disk = SimulatedDisk()
    write(ledger_on(disk), 1, 30)
    keep(ledger_on(disk))
    found = ledger_on(disk).checkpoint(S1)
    assert found is not None
    for event in read(ledger_on(disk)):
        for key in keys_of(event):
            assert event in (found.events_of(key) or ())
    assert found.events_of("i:nobody") == []
    fold = OpenedFold(msgspec.json.decode(found.sums, type=FoldSums), found)
    assert (fold.tally().items, fold.rev, fold.is_whole) == (30, 1, False)


def test_what_was_kept_goes_on_from_where_it_ended_in_few_files() -> None:
    disk = SimulatedDisk()
    for first in range(1, 200, 2):
        files = ledger_on(disk)
        write(files, first, 2)
        keep(files)
        files.close()
    assert len(files_in(disk, CHECKPOINT)) <= 10
    assert told(opened(ledger_on(disk))) == true(ledger_on(disk))


@settings(deadline=None, max_examples=min(200, 4 * settings().max_examples))
@given(st.integers(0, 1 << 32))
def test_any_changed_byte_of_a_checkpoint_makes_the_ledger_be_read_whole(seed: int) -> None:
    disk, chance = SimulatedDisk(), Random(seed)
    write(ledger_on(disk), 1, 8)
    keep(ledger_on(disk))
    data = bytes_of(disk, chance.choice(files_in(disk, CHECKPOINT)))
    cut = chance.randrange(len(data))
    if chance.random() < 0.3:
        del data[cut:]
    else:
        data[cut] ^= 1 << chance.randrange(8)
    assert ledger_on(disk).checkpoint(S1) is None
    assert told(opened(ledger_on(disk))) == true(ledger_on(disk))
    keep(ledger_on(disk))
    assert ledger_on(disk).checkpoint(S1) is not None


@settings(deadline=None, max_examples=min(100, 4 * settings().max_examples))
@given(st.integers(0, 1 << 32))
def test_a_segment_that_is_not_what_it_was_is_noticed_before_or_when_its_line_is_asked_for(seed: int) -> None:
    disk, chance = SimulatedDisk(), Random(seed)
    write(ledger_on(disk), 1, 8)
    keep(ledger_on(disk))
    before = Fold(read(ledger_on(disk)))
    data = bytes_of(disk, chance.choice(files_in(disk, LEDGER)))
    data[chance.randrange(len(data))] ^= 4
    fold, after = opened(ledger_on(disk)), Fold(read(ledger_on(disk)))
    for name in (f"i{number}" for number in range(1, 9)):
        assert fold.state(name) in (before.state(name), after.state(name))
    assert fold.states == after.states


def grow(disk: SimulatedDisk) -> None:
    bytes_of(disk, files_in(disk, LEDGER)[0])[-40:-20] = b"x" * 20
    bytes_of(disk, files_in(disk, LEDGER)[0]).extend(b"\n")


def shorten(disk: SimulatedDisk) -> None:
    del bytes_of(disk, files_in(disk, LEDGER)[0])[-1:]


def take_away(disk: SimulatedDisk) -> None:
    disk.remove(str(files_in(disk, LEDGER)[0]))


def put_another(disk: SimulatedDisk) -> None:
    path = str(files_in(disk, LEDGER)[0])
    data = bytes(bytes_of(disk, Path(path)))
    disk.remove(path)
    fd = disk.create(path)
    disk.write(fd, memoryview(data))
    disk.close(fd)


@pytest.mark.parametrize("harm", [grow, shorten, take_away, put_another])
def test_segments_that_are_other_files_than_they_were_are_read_whole(harm: Callable[[SimulatedDisk], None]) -> None:
    disk = SimulatedDisk()
    write(ledger_on(disk), 1, 8)
    keep(ledger_on(disk))
    harm(disk)
    assert ledger_on(disk).checkpoint(S1) is None
    assert told(opened(ledger_on(disk))) == true(ledger_on(disk))


def test_a_segment_that_was_written_over_in_place_is_noticed_by_its_time(tmp_path: Path) -> None:
    disk, home = RealDisk(), tmp_path / "home"
    files = ledger_on(disk, home)
    write(files, 1, 8)
    keep(files)
    assert files.checkpoint(S1) is not None
    segment = sorted((home / "session" / "s1" / "ledger").iterdir())[0]
    status = segment.stat()
    segment.write_bytes(segment.read_bytes().replace(b"text 1", b"text X"))
    os.utime(segment, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))
    assert ledger_on(disk, home).checkpoint(S1) is None


def test_nothing_is_kept_of_a_ledger_that_has_a_bad_line_or_other_events_than_the_sums() -> None:
    disk = SimulatedDisk()
    write(ledger_on(disk), 1, 8)
    page = ledger_on(disk).read(S1)
    sums = Fold(page.events).sums()
    assert sums is not None
    ledger_on(disk).keep_checkpoint(S1, page.cursor, msgspec.json.encode(sums), sum(sums.read.values()) - 1)
    assert ledger_on(disk).checkpoint(S1) is None
    data = bytes_of(disk, files_in(disk, LEDGER)[0])
    data[data.index(b"text 1") + 5] ^= 1
    damaged = ledger_on(disk).read(S1)
    ledger_on(disk).keep_checkpoint(S1, damaged.cursor, msgspec.json.encode(sums), len(damaged.events))
    assert ledger_on(disk).checkpoint(S1) is None


def test_who_is_behind_does_not_write_over_who_is_further() -> None:
    disk = SimulatedDisk()
    files = ledger_on(disk)
    write(files, 1, 4)
    old = files.read(S1)
    sums = Fold(old.events).sums()
    assert sums is not None
    write(files, 5, 4)
    keep(files)
    files.keep_checkpoint(S1, old.cursor, msgspec.json.encode(sums), sum(sums.read.values()))
    found = ledger_on(disk).checkpoint(S1)
    assert found is not None
    assert files.read(S1, found.cursor).events == ()


@pytest.mark.parametrize("work", ["forget", "mend", "pack"])
def test_what_writes_segments_anew_takes_the_checkpoint_away(work: str) -> None:
    disk = SimulatedDisk()
    files = ledger_on(disk)
    write(files, 1, 8)
    keep(files)
    if work == "forget":
        files.forget(S1, Forgotten(keys=frozenset({seen(3, "text 3").item.sha256})))
    elif work == "mend":
        files.mend(S1, {b"no such line": None})
    else:
        files.pack(S1)
    assert files_in(disk, CHECKPOINT) == []
    assert told(opened(ledger_on(disk))) == true(ledger_on(disk))


@pytest.mark.crash
def test_killed_or_cut_off_anywhere_while_it_is_kept_a_session_opens_as_it_stands() -> None:
    before = SimulatedDisk()
    write(ledger_on(before), 1, 5)
    keep(ledger_on(before))
    write(ledger_on(before), 6, 6)
    used = 0
    for cut in range(1, 400):
        disk = SimulatedDisk(before.killed().root, crash_at=cut)
        try:
            keep(ledger_on(disk))
        except Crash:
            left = [disk.killed(), *disk.power_cuts(Random(cut), 3 if LONG else 1)]
        else:
            break
        for one in left:
            used += ledger_on(one).checkpoint(S1) is not None
            assert told(opened(ledger_on(one))) == true(ledger_on(one))
            keep(ledger_on(one))
            assert ledger_on(one).checkpoint(S1) is not None
    else:
        pytest.fail("it never came to its end")
    assert cut > 20 and used > cut, "the old or the new one is used after most of them"


def test_a_segment_that_cannot_be_read_for_once_is_missing_in_no_sum() -> None:
    whole = SimulatedDisk()
    write(ledger_on(whole), 1, 8)
    keep(ledger_on(whole))
    right = Fold(read(ledger_on(whole))).states
    refused = 0
    for call in range(1, 200):
        disk = SimulatedDisk(whole.root, faults={call: OSError(errno.EIO, "for once")})
        with suppress(StoreUnusable):
            fold = opened(ledger_on(disk))
            if not isinstance(fold, OpenedFold) or fold.is_whole:
                continue  # the fault was in the checkpoint
            try:
                assert fold.states == right
            except StoreUnusable:
                refused += 1
            assert fold.states == right
    assert refused
