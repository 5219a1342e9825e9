"""What a user does for the files of a store: copies it, puts small segments together, brings it up to date.

From one store into another: session by session, compared after it is written, and again from where it stopped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..errors import ExchangeRefused, OutputRefused, RecordDamaged, StoreUnusable
from ..models.events import Event, SessionInfo, SessionKey
from ..models.records import OffloadRecord
from ..models.reports import BackupReport, Migration, MovedStore
from ..models.text import counted
from ..ports.store import Store
from .disk import Disk, Found, put_compared, read_from, read_span, write_all
from .flaws import GARBLED, Comparison, differs
from .home import (
    ARCHIVE,
    FORMAT_VERSION,
    LEDGER,
    SEGMENT_SUFFIX,
    SESSIONS,
    STUDIES,
    VERSION,
    WITNESSES,
    Home,
    Witnesses,
)
from .rewrite import free_name, take_away
from .segments import ROLL_BYTES, settled

PARTIAL = ".partial-"
_CACHES = re.compile(
    r"index\.sqlite3.*|statusline\.json|claude-code(/.*)?|.*\.lock|.*\.tmp|session/[^/]+/(status|start)\.json"
)
"""What is made again from the rest, or belongs to processes."""
_GROWS = re.compile(r"session/[^/]+/(ledger|offloaded)/[^/]+\.jsonl|(memory|skills)/.*\.jsonl")
_TRIES = 20
"""Looks at a session whose files a purge or a packing writes anew meanwhile."""


class Backup:
    """A copy of a store that is a store itself, taken while others write.

    Ledgers are copied before archives, since a record is archived before a line of the ledger names it; files that only
    grow are copied up to their last whole line. What differs from its witness in the store differs in the copy as well:
    a copy hides no damage.

    Args:
        home: of the store.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._disk: Disk = home.disk
        self._files = self._bytes = 0

    def write(self, target: str) -> BackupReport:
        """Make the copy; it has its name only once all of it is flushed.

        Raises:
            OutputRefused: something stands at the target, or it is inside the store.
            StoreUnusable: there is no store, or it is written anew again and again.
            OSError: the disk refused; nothing stands at the target.
        """
        disk, home = self._disk, self._home
        home.check()
        if disk.look(os.path.join(home.root, VERSION)) is None:
            raise StoreUnusable("There is no store to back up.", next="Name its folder with --home.")
        target, named = disk.real(target), target
        if disk.look(target) is not None or disk.look(named) is not None:
            raise OutputRefused("Something stands at the backup's path already.", next="Name a path that is free.")
        if target.startswith(home.root + os.sep):
            raise OutputRefused("A backup inside the store would be part of it.", next="Name a path outside of it.")
        above = os.path.dirname(target)
        if disk.look(above) is None:
            raise OutputRefused("The folder that the backup is to stand in is not there.", next="Make it first.")
        part = f"{target}{PARTIAL}{home.random_hex(4)}"
        try:
            self._fill(part)
            disk.replace(part, target)
        except BaseException:
            self._remove(part)
            raise
        disk.flush_folder(above)
        return BackupReport(path=target, files=self._files, size_bytes=self._bytes)

    def _fill(self, part: str) -> None:
        flaws = {one.where for one in Comparison(self._home).flaws()}
        self._disk.mkdir(part)
        witnesses = Witnesses(self._disk, part)
        names = [
            name for name, found in self._disk.scan(os.path.join(self._home.root, SESSIONS)) if found.kind == "folder"
        ]
        for name in names:
            self._session(part, f"{SESSIONS}/{name}", witnesses, flaws)
        for name in self._under("", skip=(SESSIONS, WITNESSES, STUDIES)):
            self._copy(part, name, witnesses, flaws)
        for name in sorted(flaws):  # what is missing stays missed
            if self._disk.look(os.path.join(part, name)) is None:
                self._witness_as_it_is(part, name)
        for folder in self._folders(part):
            self._disk.flush_folder(folder)

    def _session(self, part: str, folder: str, witnesses: Witnesses, flaws: set[str]) -> None:
        """Ledger, then archive, then the rest; once more where a file was written anew under another name."""
        done: set[str] = set()
        for _ in range(_TRIES):
            gone = False
            for below in (f"{folder}/{LEDGER}", f"{folder}/{ARCHIVE}", folder):
                for name in list(self._under(below)):
                    if name not in done:
                        here = self._copy(part, name, witnesses, flaws)
                        gone = gone or not here
                        done.add(name)
            if not gone:
                return
        raise StoreUnusable(
            "A session is written anew again and again while it is copied.", next="Try again when the purge is done."
        )

    def _copy(self, part: str, name: str, witnesses: Witnesses, flaws: set[str]) -> bool:
        """One file, unless it is a cache. Returns False where it is gone since its name was read."""
        if _CACHES.fullmatch(name):
            return True
        try:
            data = read_from(self._disk, os.path.join(self._home.root, name))
        except FileNotFoundError:
            return False
        if _GROWS.fullmatch(name) and name not in flaws:
            data = data[: data.rfind(b"\n") + 1]  # what its writer is in the middle of is not promised yet
        path = os.path.join(part, name)
        self._make(os.path.dirname(path))
        fd = self._disk.create(path)
        try:
            write_all(self._disk, fd, data)
            self._disk.flush(fd)
        finally:
            self._disk.close(fd)
        if name in flaws:
            self._witness_as_it_is(part, name)
        else:
            witnesses.put_whole(path, data)
        self._files += 1
        self._bytes += len(data)
        return True

    def _witness_as_it_is(self, part: str, name: str) -> None:
        source = os.path.join(self._home.root, WITNESSES, name)
        if self._disk.look(source) is not None:
            target = os.path.join(part, WITNESSES, name)
            self._make(os.path.dirname(target))
            self._disk.overwrite(target, read_from(self._disk, source))

    def _under(self, folder: str, skip: tuple[str, ...] = ()) -> Iterator[str]:
        """Plain files under a folder, by their paths from the root; links and pipes are left out."""
        for name, found in self._disk.scan(os.path.join(self._home.root, folder)):
            path = f"{folder}/{name}" if folder else name
            if path in skip:
                continue
            if found.kind == "folder":
                yield from self._under(path)
            elif found.kind == "file":
                yield path

    def _make(self, folder: str) -> None:
        if self._disk.look(folder) is None:
            self._make(os.path.dirname(folder))
            self._disk.mkdir(folder)

    def _folders(self, folder: str) -> Iterator[str]:
        for name, found in self._disk.scan(folder):
            if found.kind == "folder":
                yield from self._folders(os.path.join(folder, name))
        yield folder

    def _remove(self, folder: str) -> None:
        for name, found in self._disk.scan(folder):
            path = os.path.join(folder, name)
            if found.kind == "folder":
                self._remove(path)
            else:
                self._disk.remove(path)
        if self._disk.look(folder) is not None:
            self._disk.remove_folder(folder)


SMALL_BYTES = 1 << 20
"""A segment from this size on is left as it is."""


def pack(home: Home, folder: str) -> tuple[int, int]:
    """Write neighbours among the small segments into one, since each process leaves one: flushed and read back before
    the old ones go. After a crash between, both are there, and every reader takes an event or record that is there
    twice once.

    The lines stay as they are, byte for byte. What is not whole, or is not as its witness says, is left alone: packing
    hides no damage. A writer that has one of them open finds it taken away, and goes on in a new one. Returns how many
    segments were there before and are there now.

    Raises:
        OSError, WriteFailed: some may be as they were.
    """
    names = [
        (name, found.size)
        for name, found in home.disk.scan(folder)
        if found.kind == "file" and name.endswith(SEGMENT_SUFFIX)
    ]
    after = len(names)
    for run in _runs(names):
        after -= _put_together(home, folder, run)
    return len(names), after


def _runs(names: Iterable[tuple[str, int]]) -> Iterator[list[str]]:
    """Neighbours by name that are small each, and together no more than a segment holds."""
    run: list[str] = []
    total = 0
    for name, size in names:
        if size >= SMALL_BYTES or total + size > ROLL_BYTES:
            yield run
            run, total = [], 0
        if size < SMALL_BYTES:
            run.append(name)
            total += size
    yield run


def _put_together(home: Home, folder: str, names: list[str]) -> int:
    """Returns how many segments fewer there are."""
    if len(names) < 2:
        return 0
    disk = home.disk
    held: list[tuple[str, int]] = []
    try:
        lines: dict[bytes, None] = {}
        for name in names:
            path = os.path.join(folder, name)
            fd = disk.open(path)
            held.append((path, fd))
            found = disk.look(path)
            if not disk.hold(fd, 0.0) or found is None or found.identity != disk.found(fd).identity:
                return 0  # its writer is at work, or somebody wrote it anew
            data = read_span(disk, fd, 0, disk.found(fd).size)
            whole, end = settled(data, 0)
            if end != len(data) or not all(line.whole for line in whole) or differs(home, path, data):
                return 0
            lines.update((line.raw, None) for line in whole)
        new = b"".join(line + b"\n" for line in lines)
        path = free_name(disk, folder, names[-1])
        put_compared(disk, path, new, home.random_hex, "a segment")
        home.witnesses.put_whole(path, new)
        while held:
            old, fd = held[-1]
            try:
                take_away(home, old, aside=False)
            except PermissionError:  # Windows: not while we have it open ourselves
                held.pop()
                disk.close(fd)
                take_away(home, old, aside=False)
            else:
                held.pop()
                disk.close(fd)
        disk.flush_folder(folder)
        return len(names) - 1
    finally:
        for _, fd in held:
            disk.close(fd)


_OTHERS = 0o077
"""Bits by which anybody but the owner may do anything."""


def migrate(home: Home, *, dry_run: bool) -> Migration:
    """Mend what is out of date after an older program or a hand. Each step can be repeated, and a crash between two of
    them leaves a store that works.

    Raises:
        OSError: what was done stays done.
    """
    home.check()
    disk, changes = home.disk, list[str]()
    path = os.path.join(home.root, VERSION)
    if disk.look(home.root) is None or disk.look(path) is None:
        return Migration(dry_run=dry_run, version=FORMAT_VERSION, changes=())
    if loose := [name for name, found in _everything(home) if os.name == "posix" and found.mode & _OTHERS]:
        changes.append(f"{counted(len(loose), 'entry')} open to other users: for the owner only")
        for name in () if dry_run else loose:
            disk.tighten(os.path.join(home.root, name) if name else home.root)
    comparison = Comparison(home)
    lacks = ("has no witness", GARBLED)  # garbled: a migration, or a writer, that was killed in the write of it
    without = [one for one in comparison.flaws() if one.acceptable and one.what.startswith(lacks)]
    if without:
        changes.append(f"{counted(len(without), 'file')} without a whole witness: each gets one")
        for one in () if dry_run else without:
            home.witnesses.put_again(os.path.join(home.root, one.where))
    version = int(read_from(disk, path))
    if version < FORMAT_VERSION:
        changes.append(f"format {version}: now {FORMAT_VERSION}")
        if not dry_run:
            home.witnesses.strike(path)  # a crash before the new one must not make the new version look like a swap
            home.replace(path, b"%d\n" % FORMAT_VERSION)
    return Migration(dry_run=dry_run, version=FORMAT_VERSION, changes=tuple(changes))


def _everything(home: Home, folder: str = "") -> Iterator[tuple[str, Found]]:
    """Files and folders of the store by their paths from the root, the root itself as the empty one."""
    if not folder and (root := home.disk.look(home.root)) is not None:
        yield "", root
    for name, found in home.disk.scan(os.path.join(home.root, folder)):
        path = os.path.join(folder, name)
        if found.kind != "other":
            yield path, found
        if found.kind == "folder":
            yield from _everything(home, path)


class _Counts:
    def __init__(self) -> None:
        self.moved = self.here = self.events = self.records = self.handoffs = 0
        self.left: list[str] = []

    def has(self, events: Sequence[Event], records: Sequence[OffloadRecord]) -> None:
        """What a session has that stands in the target, or will."""
        self.events += len(events)
        self.records += len(records)


async def copy_store(
    source: Store,
    target: Store,
    *,
    dry_run: bool = False,
    fresh: bool = False,
    told: Callable[[SessionInfo], None] = lambda info: None,
) -> MovedStore:
    """Everything that cannot be made again: events, records, summaries, handoffs, what was purged, the secret.

    A session that stands in the target already, event for event and record for record, is left as it is: what was
    stopped goes on. One that stands there with other events is left too, and said.

    Args:
        fresh: refuse a target that somebody wrote to before.
        told: called after each session that was copied; with `dry_run`, that would be.

    Raises:
        OutputRefused: the target is in use; nothing was written.
        RecordDamaged: a session of the source cannot be read whole; it and what comes after it were not moved.
        ExchangeRefused: the target gave something back otherwise than it was written.
    """
    if fresh and await target.is_made():
        raise OutputRefused("Somebody wrote to the target before.", next="Name one that is free.")
    counts = _Counts()
    if not dry_run:
        await _secret(source, target, counts)
    for principal in await source.principals():
        for info in await source.ledger.sessions(principal):
            key = SessionKey(info.session_id, principal)
            if await _session(source, target, key, info, counts, dry_run=dry_run):
                told(info)
        await _handoffs(source, target, principal, counts, dry_run=dry_run)
    return MovedStore(
        dry_run=dry_run,
        sessions=counts.moved,
        already_there=counts.here,
        events=counts.events,
        records=counts.records,
        handoffs=counts.handoffs,
        left=tuple(counts.left),
    )


async def _secret(source: Store, target: Store, counts: _Counts) -> None:
    """Marks of masked secrets are made with it: with another one, new marks differ from old ones."""
    if not await target.take_secret(await source.secret()):
        counts.left.append("the secret: the target has its own, so new redaction marks differ from older ones")


async def _session(
    source: Store, target: Store, key: SessionKey, info: SessionInfo, counts: _Counts, *, dry_run: bool
) -> bool:
    """Whether it was copied, or would be."""
    events, records = await _read(source, key)
    there, archived = await _read(target, key)
    if there or archived:
        same = _lines(there) == _lines(events) if there else True
        missing = [one for one in records if one not in archived]
        extra = [one for one in archived if one not in records]
        if not same or extra or (there and missing):
            counts.left.append(f"{info.handle}: the target has another session of this id")
            return False
        counts.has(events, records)
        if there:
            counts.here += 1
            return False
        records_to_write = missing
    else:
        counts.has(events, records)
        records_to_write = list(records)
    counts.moved += 1
    if dry_run:
        return True
    buried = await source.tombstones(key)
    for at in range(0, len(records_to_write), 16):
        await target.archive.append(key, records_to_write[at : at + 16])
    summary = (await source.summaries.get(key)).summary
    if summary is not None and (kept := await target.summaries.get(key)).summary != summary:
        await target.summaries.put(key, summary, after=kept.version)
    if buried.keys:
        await target.bury(key, buried.keys, under_way=buried.under_way, whole=buried.whole)
    await target.ledger.adopt(key, events)  # the last step: what has events is whole
    now, archived = await _read(target, key)
    if _lines(now) != _lines(events) or sorted(archived, key=_batch) != sorted(records, key=_batch):
        raise ExchangeRefused(
            f"The target gave session {info.handle} back otherwise than it was written.",
            next="Check the target, remove the session there, then run the same again.",
        )
    return True


async def _read(store: Store, key: SessionKey) -> tuple[tuple[Event, ...], list[OffloadRecord]]:
    page = await store.ledger.read(key)
    damage = (*page.damage, *await store.archive.damage(key))
    if damage:
        raise RecordDamaged(
            f"Session {key.session_id!r} cannot be read whole: {damage[0].where}.",
            next="Repair it first (`palimpsest-mcp repair`), then run the same again.",
        )
    return page.events, [one async for one in store.archive.records(key)]


async def _handoffs(source: Store, target: Store, principal: str, counts: _Counts, *, dry_run: bool) -> None:
    there = {(one.place, one.sha256) for one in await target.handoffs.list(principal)}
    for one in await source.handoffs.list(principal):
        if one.text is None:
            counts.left.append(f"handoff {one.name}: {one.why}")
        elif one.place != "temp" and (one.place, one.sha256) not in there:  # forks belong to the machine
            if not dry_run:
                await target.handoffs.add(one.place, one.name, one.text, principal)
            counts.handoffs += 1


def _lines(events: Sequence[Event]) -> list[str]:
    """Equal where the sets of events are, also in what equality forgives (1 and 1.0)."""
    return sorted(repr(one) for one in events)


def _batch(record: OffloadRecord) -> str:
    return record.batch_id
