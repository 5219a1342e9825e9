"""The ledger on disk: segments, damage, planted things, locks."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import signal
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Thread
from zlib import crc32

import msgspec
import pytest

from palimpsest_mcp.context.fold import Fold
from palimpsest_mcp.errors import InvalidArgument, LockTimeout, PassInProgress, RevConflict, StoreUnusable, WriteFailed
from palimpsest_mcp.models.events import Applied, Event, Pinned, Seen, SessionKey
from palimpsest_mcp.models.items import Action, Item, content_sha256
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.ledger import LedgerFiles
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.store.segments import Appender, OpenSegments, encode, encode_all
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, pinned, seen
from palimpsest_mcp.testing.disks import SimulatedDisk

pytestmark = pytest.mark.anyio


def now() -> datetime:
    return datetime.now(UTC)


def ledger_on(disk: RealDisk | SimulatedDisk, home: Path = Path("/data/home"), **options: int) -> LedgerFiles:
    return LedgerFiles(Home(home, disk, secrets.token_hex), clock=now, random_hex=secrets.token_hex, **options)


def folder(home: Path) -> Path:
    return home / "session" / "s1" / "ledger"


def only_segment(home: Path) -> Path:
    (segment,) = folder(home).iterdir()
    return segment


def numbers(events: tuple[Event, ...]) -> list[int]:
    """What tells the contract's events apart, in the order of clocks."""
    names = [
        event.item_id if isinstance(event, Applied) else event.item_ids[0]
        for event in sorted(events, key=lambda event: event.clock)
        if isinstance(event, Applied | Pinned)
    ]
    return [int(name[1:]) for name in names]


async def test_each_process_writes_one_segment_of_its_own_and_never_opens_it_again(tmp_path: Path) -> None:
    for number in range(3):
        store = DiskStore(tmp_path)
        await store.ledger.observe(S1, [applied(2 * number)])
        await store.ledger.observe(S1, [applied(2 * number + 1)])
        await store.aclose()
    page = await DiskStore(tmp_path).ledger.read(S1)
    assert len(list(folder(tmp_path).iterdir())) == 3
    assert numbers(page.events) == list(range(6))
    assert sorted({event.n for event in page.events}) == [1, 2] and len({event.w for event in page.events}) == 3


async def test_a_segment_s_name_ends_in_the_writer_of_its_lines(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.observe(S1, [applied(1)])
    (event,) = (await store.ledger.read(S1)).events
    pid, _, chance = event.w.partition("-")
    assert pid == str(os.getpid()) and len(chance) == 16
    assert only_segment(tmp_path).name.endswith(f"Z-{event.w}.jsonl")


def test_a_full_segment_gets_no_further_lines() -> None:
    disk = SimulatedDisk()
    ledger = ledger_on(disk, roll_bytes=300)
    for number in range(12):
        ledger.observe(S1, [applied(number)])
    sizes = [found.size for _, found in disk.scan("/data/home/session/s1/ledger")]
    assert len(sizes) > 3 and max(sizes) < 500
    assert numbers(ledger_on(disk).read(S1).events) == list(range(12))


@pytest.mark.parametrize("end", range(0, 400, 7))
def test_a_segment_that_was_cut_anywhere_gives_its_whole_lines(tmp_path: Path, end: int) -> None:
    lines = [encode(applied(number)) for number in range(4)]
    folder(tmp_path).mkdir(parents=True)
    (folder(tmp_path) / "1.jsonl").write_bytes(b"".join(lines)[:end])
    ledger = ledger_on(RealDisk(), tmp_path)
    page = ledger.read(S1)
    whole = sum(sum(map(len, lines[: number + 1])) <= end for number in range(4))
    assert numbers(page.events) == list(range(whole)) and page.damage == ()
    ledger.observe(S1, [applied(9)])
    assert numbers(ledger_on(RealDisk(), tmp_path).read(S1).events)[-1] == 9


def test_a_flipped_bit_anywhere_costs_one_line_and_is_reported(tmp_path: Path) -> None:
    lines = [encode(applied(number)) for number in range(3)]
    data = b"".join(lines)
    folder(tmp_path).mkdir(parents=True)
    segment = folder(tmp_path) / "1.jsonl"
    for position in range(len(lines[0]), len(lines[0] + lines[1]) - 1):
        broken = bytearray(data)
        broken[position] ^= 1 << position % 8
        segment.write_bytes(broken)
        page = ledger_on(RealDisk(), tmp_path).read(S1)
        if broken[position] != 0x0A:  # a new line end makes two bad lines of one
            assert len(page.damage) == 1
            assert f"s1/ledger/1.jsonl at byte {len(lines[0])}" == page.damage[0].where
        assert numbers(page.events) == [0, 2]


def test_a_block_of_zeros_before_a_line_costs_that_line(tmp_path: Path) -> None:
    folder(tmp_path).mkdir(parents=True)
    (folder(tmp_path) / "1.jsonl").write_bytes(encode(applied(1)) + bytes(64) + encode(applied(2)) + encode(applied(3)))
    page = ledger_on(RealDisk(), tmp_path).read(S1)
    assert numbers(page.events) == [1, 3] and len(page.damage) == 1


def test_damage_is_told_once_to_a_reader_with_a_cursor(tmp_path: Path) -> None:
    folder(tmp_path).mkdir(parents=True)
    (folder(tmp_path) / "1.jsonl").write_bytes(b"not a line\n" + encode(applied(1)))
    (folder(tmp_path) / "2.jsonl").mkdir()
    ledger = ledger_on(RealDisk(), tmp_path)
    page = ledger.read(S1)
    assert len(page.damage) == 2
    assert ledger.read(S1, page.cursor).damage == ()


async def test_links_pipes_and_folders_in_the_place_of_segments_are_reported_and_never_opened(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "home")
    await store.ledger.observe(S1, [applied(1)])
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(encode(applied(666)))
    place = folder(tmp_path / "home")
    (place / "a.jsonl").symlink_to(outside)
    (place / "b.jsonl").mkdir()
    os.mkfifo(place / "c.jsonl")
    (place / "d.txt").write_text("not a segment")
    page = await asyncio.wait_for(DiskStore(tmp_path / "home").ledger.read(S1), 5)
    assert numbers(page.events) == [1]
    assert [damage.where.rpartition("/")[2] for damage in page.damage] == ["a.jsonl", "b.jsonl", "c.jsonl"]
    await store.ledger.decide(S1, [pinned(2)], after_rev=0)
    assert outside.read_bytes() == encode(applied(666))


@pytest.mark.parametrize("what", ["link", "file", "pipe"])
async def test_a_session_folder_that_is_none_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "outside" / "ledger").mkdir(parents=True)
    (tmp_path / "home" / "session").mkdir(parents=True, mode=0o700)
    place = tmp_path / "home" / "session" / "s1"
    {
        "link": lambda: place.symlink_to(tmp_path / "outside"),
        "file": lambda: place.write_text("x"),
        "pipe": lambda: os.mkfifo(place),
    }[what]()
    store = DiskStore(tmp_path / "home")
    for attempt in (
        lambda: store.ledger.observe(S1, [applied(1)]),
        lambda: store.ledger.read(S1),
        lambda: store.archive.get(S1, "offload_0001"),
        lambda: store.ledger.create(S1, info_of(S1)),
    ):
        with pytest.raises(StoreUnusable):
            await attempt()
    assert await store.ledger.sessions() == ()
    assert list((tmp_path / "outside" / "ledger").iterdir()) == []


async def test_a_ledger_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "session" / "s1").mkdir(parents=True, mode=0o700)
    folder(tmp_path).symlink_to(tmp_path / "outside")
    store = DiskStore(tmp_path)
    with pytest.raises(StoreUnusable):
        await store.ledger.observe(S1, [applied(1)])
    with pytest.raises(StoreUnusable):
        await store.ledger.read(S1)
    assert list((tmp_path / "outside").iterdir()) == []


async def test_lines_that_are_there_twice_or_out_of_order_are_given_as_they_are(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.observe(S1, [applied(1), applied(2)])
    await store.aclose()
    first, second = only_segment(tmp_path).read_bytes().splitlines(keepends=True)
    (folder(tmp_path) / "merged.jsonl").write_bytes(second + first)
    page = await DiskStore(tmp_path).ledger.read(S1)
    assert page.damage == () and len(set(page.events)) == 2


async def test_an_event_of_a_kind_to_come_is_damage_here_but_its_revision_counts(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.decide(S1, [pinned(1)], after_rev=0)
    line = only_segment(tmp_path).read_bytes()
    later = line.replace(b'"pinned"', b'"pondered"').replace(b'"rev":1', b'"rev":2')[: line.rindex(b',"_c"') + 2]
    (folder(tmp_path) / "later.jsonl").write_bytes(b'%s,"_c":"%08x"}\n' % (later, crc32(later)))
    page = await DiskStore(tmp_path).ledger.read(S1)
    assert len(page.events) == len(page.damage) == 1
    reader = DiskStore(tmp_path)
    await reader.ledger.read(S1)
    for one in (DiskStore(tmp_path), reader):
        with pytest.raises(RevConflict) as refused:
            await one.ledger.decide(S1, [pinned(2)], after_rev=1)
        assert refused.value.rev == 2


async def test_an_event_of_a_newer_format_is_not_guessed_at(tmp_path: Path) -> None:
    folder(tmp_path).mkdir(parents=True)
    (folder(tmp_path) / "1.jsonl").write_bytes(encode(msgspec.structs.replace(applied(1), v=2)))
    page = await DiskStore(tmp_path).ledger.read(S1)
    assert page.events == () and "newer" in page.damage[0].what


class CountingDisk(RealDisk):
    """Counts what is opened and flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0
        self.flushed = 0
        self.flushed_of_others: list[str] = []

    def open(self, path: str) -> int:
        self.opened += 1
        return super().open(path)

    def flush_others(self, path: str) -> None:
        self.flushed_of_others.append(path)
        super().flush_others(path)

    def flush(self, fd: int) -> None:
        self.flushed += 1
        super().flush(fd)


async def test_a_read_that_finds_nothing_new_opens_nothing(tmp_path: Path) -> None:
    disk = CountingDisk()
    store = DiskStore(tmp_path, disk=disk)
    await store.ledger.observe(S1, [applied(number) for number in range(50)])
    (folder(tmp_path) / "torn.jsonl").write_bytes(encode(applied(1)) + b'{"k":"app')
    page = await store.ledger.read(S1)
    before = disk.opened
    for _ in range(10):
        page = await store.ledger.read(S1, page.cursor)
    assert disk.opened == before and len(page.events) == 0


async def test_what_was_read_whole_is_not_read_again_for_the_first_write(tmp_path: Path) -> None:
    await DiskStore(tmp_path).ledger.observe(S1, [applied(number) for number in range(50)])
    opened: list[int] = []
    for reads in (False, True):
        disk = CountingDisk()
        store = DiskStore(tmp_path, disk=disk)
        if reads:
            await store.ledger.read(S1)
        before = disk.opened
        await store.ledger.observe(S1, [applied(50 + reads)])
        opened.append(disk.opened - before)
    # One segment fewer, though the second time there is one more.
    assert opened[1] < opened[0], opened
    assert numbers((await DiskStore(tmp_path).ledger.read(S1)).events) == list(range(52))


async def test_a_decision_after_a_read_flushes_the_one_that_it_follows(tmp_path: Path) -> None:
    await DiskStore(tmp_path).ledger.decide(S1, [pinned(1)], after_rev=0)
    segment = only_segment(tmp_path)
    disk = CountingDisk()
    store = DiskStore(tmp_path, disk=disk)
    await store.ledger.read(S1)
    assert str(segment) not in disk.flushed_of_others
    assert await store.ledger.decide(S1, [pinned(2)], after_rev=1) == 2
    assert str(segment) in disk.flushed_of_others


async def test_an_observation_that_can_be_lost_is_not_flushed(tmp_path: Path) -> None:
    disk = CountingDisk()
    store = DiskStore(tmp_path, disk=disk)
    await store.ledger.observe(S1, [applied(1)])
    before = disk.flushed
    await store.ledger.observe(S1, [applied(2)], durable=False)
    assert disk.flushed == before
    await store.ledger.observe(S1, [applied(3)])
    assert disk.flushed == before + 1


@pytest.mark.parametrize("cursor", ["x", 7, (S1, 0), {}])
async def test_a_cursor_from_elsewhere_is_refused(tmp_path: Path, cursor: object) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.observe(S1, [applied(1)])
    with pytest.raises(InvalidArgument):
        await store.ledger.read(S1, cursor)
    await store.ledger.observe(SessionKey("s2"), [applied(1)])
    with pytest.raises(InvalidArgument):
        await store.ledger.read(S1, (await store.ledger.read(SessionKey("s2"))).cursor)


def failing(disk: SimulatedDisk, call: str, nth: int, error: OSError) -> SimulatedDisk:
    """The same disk, on which the nth further call of a name fails."""
    trial = SimulatedDisk(disk.killed().root)
    ledger = ledger_on(trial)
    ledger.observe(S1, [applied(1)])
    ledger.decide(S1, [pinned(2)], after_rev=0)
    at = [number for number, name in enumerate(trial.calls, 1) if name == call][nth]
    return SimulatedDisk(disk.killed().root, faults={at: error})


@pytest.mark.parametrize("call", ["flush", "write"])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_failed_write_or_flush_is_final_for_its_segment(call: str, code: int) -> None:
    disk = failing(SimulatedDisk(), call, -1, OSError(code, "injected"))
    ledger = ledger_on(disk)
    ledger.observe(S1, [applied(1)])
    with pytest.raises(WriteFailed, match="full" if code == errno.ENOSPC else "EIO"):
        ledger.decide(S1, [pinned(2)], after_rev=0)
    assert numbers(ledger_on(disk).read(S1).events) == [1], "what failed is cut off again"
    assert ledger.decide(S1, [pinned(3)], after_rev=0) == 1
    assert len(disk.scan("/data/home/session/s1/ledger")) == 2
    assert numbers(ledger_on(disk).read(S1).events) == [1, 3]


def test_no_event_number_is_ever_used_twice_after_a_failure() -> None:
    disk = failing(SimulatedDisk(), "flush", -1, OSError(errno.EIO, "injected"))
    ledger = ledger_on(disk)
    ledger.observe(S1, [applied(1)])
    with pytest.raises(WriteFailed):
        ledger.decide(S1, [pinned(2)], after_rev=0)
    ledger.decide(S1, [pinned(3)], after_rev=0)
    ids = [(event.w, event.n) for event in ledger.read(S1).events]
    assert len(set(ids)) == 2 and len({writer for writer, _ in ids}) == 2


def test_a_write_that_takes_only_a_part_is_continued() -> None:
    whole = SimulatedDisk()
    ledger_on(whole).observe(S1, [applied(1)])
    write = len(whole.calls) - whole.calls[::-1].index("write")
    disk = SimulatedDisk(faults={write: "short"})
    ledger_on(disk).observe(S1, [applied(1)])
    assert (
        numbers(ledger_on(disk).read(S1).events) == [1] and disk.calls.count("write") == whole.calls.count("write") + 1
    )


async def test_a_held_commit_lock_ends_in_a_timeout_and_nothing_is_decided(tmp_path: Path) -> None:
    store = DiskStore(tmp_path, lock_timeout_s=0.05)
    await store.ledger.observe(S1, [applied(1)])
    release = RealDisk().lock(str(tmp_path / "session" / "s1" / "commit.lock"), 0)
    assert release is not None
    with pytest.raises(LockTimeout):
        await store.ledger.decide(S1, [pinned(1)], after_rev=0)
    await store.ledger.observe(S1, [applied(2)])
    release()
    assert await store.ledger.decide(S1, [pinned(1)], after_rev=0) == 1


async def test_a_hook_waits_for_the_commit_lock_only_as_long_as_it_says(tmp_path: Path) -> None:
    """L11: the store's own patience is ten minutes here."""
    store = DiskStore(tmp_path, lock_timeout_s=600)
    await store.ledger.observe(S1, [applied(1)])
    release = RealDisk().lock(str(tmp_path / "session" / "s1" / "commit.lock"), 0)
    assert release is not None
    with pytest.raises(LockTimeout):
        await store.ledger.decide(S1, [pinned(1)], after_rev=0, lock_timeout_s=0.05)
    release()
    assert await store.ledger.decide(S1, [pinned(1)], after_rev=0, lock_timeout_s=0.05) == 1


HOLDER = """
import asyncio, sys
from pathlib import Path
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.store import DiskStore

async def main() -> None:
    store = DiskStore(Path(sys.argv[1]))
    async with store.ledger.pass_lock(SessionKey("s1")):
        print("held", flush=True)
        sys.stdin.read()

asyncio.run(main())
"""


def test_a_pass_of_another_process_keeps_us_out_until_it_dies(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdin is not None
    assert holder.stdout.readline() == b"held\n"
    ledger = ledger_on(RealDisk(), tmp_path)
    with pytest.raises(PassInProgress):
        ledger.lock_pass(S1)
    holder.send_signal(signal.SIGKILL)
    holder.wait(10)
    holder.stdout.close()
    holder.stdin.close()
    ledger.lock_pass(S1)()


FORKS = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.ledger import LedgerFiles
from palimpsest_mcp.testing.contract_values import S1, applied
import secrets

home = Home(Path(sys.argv[1]), RealDisk(), secrets.token_hex)
ledger = LedgerFiles(home, clock=lambda: datetime.now(UTC), random_hex=secrets.token_hex)
ledger.observe(S1, [applied(1)])
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    ledger.observe(S1, [applied(3)])
else:
    ledger.observe(S1, [applied(2)])
    os._exit(0)
"""


def test_a_forked_process_is_another_writer(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKS, str(tmp_path)], check=True, timeout=60)
    events = ledger_on(RealDisk(), tmp_path).read(S1).events
    writers = {numbers((event,))[0]: event.w for event in events}
    assert writers[1] == writers[3] != writers[2]
    assert sorted(numbers(events)) == [1, 2, 3]
    assert len(list(folder(tmp_path).iterdir())) == 2


async def test_a_cancelled_decision_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    rev = 0
    for turns in range(12):
        deciding = asyncio.create_task(store.ledger.decide(S1, [pinned(1), pinned(2)], after_rev=rev))
        for _ in range(turns):
            await asyncio.sleep(0)
        deciding.cancel()
        await asyncio.gather(deciding, return_exceptions=True)
        async with store.ledger.pass_lock(S1):
            try:
                rev = await store.ledger.decide(S1, [pinned(3), pinned(4)], after_rev=rev)
            except RevConflict as conflict:
                rev = conflict.rev
        assert rev % 2 == 0
    events = (await DiskStore(tmp_path).ledger.read(S1)).events
    assert sorted(getattr(event, "rev", 0) for event in events) == list(range(1, len(events) + 1))
    assert len(events) % 2 == 0


def test_only_so_many_segments_stay_open() -> None:
    disk = SimulatedDisk()
    home = Home(Path("/data/home"), disk, secrets.token_hex)
    open_segments = OpenSegments(size=3)
    appenders = [Appender(home, f"/data/home/f{number}", now, secrets.token_hex) for number in range(6)]
    for appender in appenders:
        with appender.turn():
            appender.append(encode(applied(1)), 1)
        open_segments.used(appender, Lock())
    assert disk.open_files == 3
    with appenders[0].turn():
        appenders[0].append(encode(applied(2)), 1)
    assert len(disk.scan("/data/home/f0")) == 2, "a closed segment is not opened again"


async def test_two_writers_in_the_same_moment_do_not_meet(tmp_path: Path) -> None:
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    stores = [DiskStore(tmp_path, clock=lambda: moment) for _ in range(4)]
    await asyncio.gather(*(store.ledger.observe(S1, [applied(n)]) for n, store in enumerate(stores)))
    assert sorted(numbers((await stores[0].ledger.read(S1)).events)) == [0, 1, 2, 3]


async def test_a_writer_name_that_is_taken_is_never_shared(tmp_path: Path) -> None:
    """Constant chance is no chance: better an error than two writers in one file."""
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    stores = [DiskStore(tmp_path, clock=lambda: moment, random_hex=lambda size: "00" * size) for _ in range(2)]
    await stores[0].ledger.observe(S1, [applied(1)])
    with pytest.raises(WriteFailed):
        await stores[1].ledger.observe(S1, [applied(2)])
    assert numbers((await stores[1].ledger.read(S1)).events) == [1]


async def test_a_clock_that_jumps_back_changes_no_order(tmp_path: Path) -> None:
    years = iter((2030, 1970))
    for number in range(2):
        year = next(years)
        store = DiskStore(tmp_path, clock=lambda year=year: datetime(year, 1, 1, tzinfo=UTC))
        await store.ledger.observe(S1, [applied(number)])
    assert numbers((await DiskStore(tmp_path).ledger.read(S1)).events) == [0, 1]


async def test_a_segment_that_got_shorter_is_damage_and_no_reason_to_stop(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.observe(S1, [applied(1), seen(2)])
    page = await store.ledger.read(S1)
    os.truncate(only_segment(tmp_path), 10)
    page = await store.ledger.read(S1, page.cursor)
    assert page.events == () and "shorter" in page.damage[0].what
    assert (await store.ledger.read(S1, page.cursor)).damage == ()


async def test_a_hard_link_to_a_foreign_file_is_only_read(tmp_path: Path) -> None:
    """Nothing is ever written to a file that was there before, so the other name is safe."""
    store = DiskStore(tmp_path / "home")
    await store.ledger.observe(S1, [applied(1)])
    (tmp_path / "foreign").write_text("precious, and no JSON")
    (folder(tmp_path / "home") / "x.jsonl").hardlink_to(tmp_path / "foreign")
    page = await store.ledger.read(S1)
    await store.ledger.observe(S1, [applied(2)])
    assert len(page.damage) == 0 and numbers(page.events) == [1]
    assert (tmp_path / "foreign").read_text() == "precious, and no JSON"


def test_two_processes_that_decide_at_once_never_share_a_revision(tmp_path: Path) -> None:
    """Each of them reads, decides, is refused and tries again, on the real disk."""

    def decide(number: int) -> None:
        ledger, rev = ledger_on(RealDisk(), tmp_path), 0
        for step in range(15):
            while True:
                try:
                    rev = ledger.decide(S1, [pinned(100 * number + step)], after_rev=rev)
                    break
                except RevConflict as conflict:
                    rev = conflict.rev

    threads = [Thread(target=decide, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = ledger_on(RealDisk(), tmp_path).read(S1).events
    assert sorted(getattr(event, "rev", 0) for event in events) == list(range(1, 46))
    assert len(set(numbers(events))) == 45


async def test_a_segment_is_read_whole_where_a_line_or_a_step_of_several_is_longer_than_what_is_read_at_once(
    tmp_path: Path,
) -> None:
    long = ["a" * 700_000, "b" * 2_500_000, "c" * 10, "d" * 900_000, "e" * 900_000]
    events = [seen(number, text) for number, text in enumerate(long)]
    folder(tmp_path).mkdir(parents=True)
    data = encode_all(events[:3]) + encode_all(events[3:], as_one=True)
    (folder(tmp_path) / "1.jsonl").write_bytes(data + encode(seen(9))[:-5])
    page = ledger_on(RealDisk(), tmp_path).read(S1)
    assert [event.item.content for event in page.events if isinstance(event, Seen)] == long and page.damage == ()


def test_a_short_item_of_a_long_session_takes_less_than_a_kilobyte_of_memory(tmp_path: Path) -> None:
    def pair(number: int) -> list[Seen]:
        call = Item(
            id=f"call:c{number}",
            kind="tool_call",
            role="assistant",
            position=(2 * number, 0),
            content=None,
            sha256="",
            unit=f"call:c{number}",
            tool_name="Read",
            call_id=f"c{number}",
            args={"path": f"/src/pkg/mod{number}.py"},
            action=Action(verb="read", target=f"/src/pkg/mod{number}.py"),
        )
        text = f"line {number} of a short file"
        result = msgspec.structs.replace(
            call, id=f"c{number}", kind="tool_result", role="tool", content=text, sha256=content_sha256(text)
        )
        return [Seen(item=call, ts="2026-11-20T10:00:00+00:00"), Seen(item=result, ts="2026-11-20T10:00:00+00:00")]

    home, pairs = ledger_on(RealDisk(), tmp_path), 2_000
    home.observe(S1, [event for number in range(pairs) for event in pair(number)])
    tracemalloc.start()
    fold = Fold(ledger_on(RealDisk(), tmp_path).read(S1).events)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(fold.states) == 2 * pairs and held < 1_000 * 2 * pairs
    assert fold.states["c7"].current == pair(7)[1].item


@pytest.mark.parametrize(
    "other", [{"n": True, "m": 0.0}, {"m": 0.0, "n": 1}, {"n": 1, "m": -0.0}, {"n": 1.0, "m": 0.0}]
)
def test_arguments_that_only_seem_equal_to_those_of_the_call_stay_what_they_were(
    tmp_path: Path, other: dict[str, object]
) -> None:
    call = msgspec.structs.replace(seen(1).item, kind="tool_call", role="assistant", unit="u", args={"n": 1, "m": 0.0})
    result = msgspec.structs.replace(seen(2).item, unit="u", args=other)
    ledger_on(RealDisk(), tmp_path).observe(S1, [Seen(item=call), Seen(item=result)])
    read = [event.item for event in ledger_on(RealDisk(), tmp_path).read(S1).events if isinstance(event, Seen)]
    assert [repr(item.args) for item in read] == [repr(call.args), repr(other)]
