"""x"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import NamedTuple

import msgspec

from ..context.opened_fold import keys_of
from ..errors import InvalidArgument, PalimpsestError, RevConflict, StoreUnusable, WriteFailed
from ..models.events import EVENT_SCHEMA, Event, Opened, SessionInfo, SessionKey
from ..models.records import OffloadRecord
from ..models.reports import Forgotten
from ..models.views import StatusNote
from ..ports.store import Tombstones
from .disk import Found, read_from, read_span, reads, writes
from .home import ARCHIVE, LEDGER, Home, folder_name, spare_handle
from .segments import Line, Place, Places, Reader, SegmentFolder, encode, is_whole, settled

# `session/<folder>/purged.jsonl`: what nobody may write again, and whether a purge of it is still under way.

TOMBSTONE_NAME = "purged.jsonl"
_LINES: Reader[Tombstones] = Reader(Tombstones)


class TombstoneFile:
    """One line, replaced as a whole. Most sessions have none: then it costs one look."""

    def __init__(self, home: Home, folder: str) -> None:
        self._home = home
        self._folder = folder
        self._path = os.path.join(folder, TOMBSTONE_NAME)
        self._lock = threading.Lock()
        self._known: tuple[object, Tombstones] = (None, Tombstones())

    def read(self) -> Tombstones:
        """What it says now.

        Raises:
            StoreUnusable: it is there and cannot be read: then nobody knows what may be written.
        """
        with self._lock:
            with reads("the list of what was purged"):
                found = self._home.disk.look(self._path)
                mark = None if found is None else (found.identity, found.size)
                if mark != self._known[0]:
                    self._known = (mark, self._read())
                elif mark is None:
                    self._known = (None, Tombstones())
            return self._known[1]

    def forgotten(self) -> Forgotten:
        """What no writer may write."""
        keys = self.read().keys
        return Forgotten(keys=frozenset(keys)) if keys else NOTHING_FORGOTTEN

    def put(self, keys: Collection[str], *, under_way: bool, whole: bool) -> None:
        """Add keys, and say whether a purge is under way; flushed.

        Raises:
            WriteFailed: what it said before still stands.
        """
        said = Tombstones(keys=tuple(sorted({*self.read().keys, *keys})), under_way=under_way, whole=whole)
        with writes("the list of what was purged"):
            self._home.make(self._folder)
            self._home.replace(self._path, encode(said))

    def _read(self) -> Tombstones:
        line = read_from(self._home.disk, self._path).rstrip(b"\n")
        try:
            if is_whole(line):
                return _LINES.decode(line)
        except ValueError:
            pass
        raise StoreUnusable(
            f"{TOMBSTONE_NAME} of a session is damaged: nobody knows what was purged, so nothing is written to it.",
            next="Restore that file from a backup, or remove it: what was purged may then be recorded again.",
        )


NOTHING_FORGOTTEN = Forgotten()


# Who a session is: the first ledger line says it, `session.json` is a cache of that.

CACHE_NAME = "session.json"
KEPT_INFOS = 4_096
"""Sessions whose `session.json` is held in memory; one takes about 1 KB."""


class _Names(msgspec.Struct):
    session_id: str


class Sessions:
    """Reads and writes `session.json`, and does without it where it is missing or garbled."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._infos: Reader[SessionInfo] = Reader(SessionInfo)
        self._events: Reader[Event] = Reader(Event)
        self._names: Reader[_Names] = Reader(_Names)
        self._known: dict[str, tuple[Found, SessionInfo]] = {}
        """By folder, what its `session.json` said and how the file stood then. Nobody changes one in place."""

    def cached(self, folder: str) -> SessionInfo | None:
        """What `session.json` says; None when it is missing, garbled or of another session.

        Raises:
            StoreUnusable: something stands in the folder's place.
        """
        path = os.path.join(folder, CACHE_NAME)
        try:
            found = self._home.disk.look(path)
            known = self._known.get(folder)
            if known is not None and known[0] == found:
                return known[1]
            if not self._home.stands(folder):
                return None
            line = read_from(self._home.disk, path).rstrip(b"\n")
            info = self._infos.decode(line) if is_whole(line) else None
        except (OSError, ValueError):
            return None
        if info is None or not _stands_in(info, folder):
            return None
        if found is not None and found.modified:
            if len(self._known) >= KEPT_INFOS:
                self._known.clear()
            self._known[folder] = found, info
        return info

    def met(self, folder: str) -> SessionInfo | None:
        """Who stood there when it was read last, by a name that is for good; all else of it may have changed."""
        known = self._known.get(folder)
        return None if known is None else known[1]

    def cache(self, folder: str, info: SessionInfo) -> None:
        """Write `session.json`. It can be done without, so it is not flushed, and a failure is nobody's."""
        try:
            path, line = os.path.join(folder, CACHE_NAME), encode(info)
            self._home.replace(path, line, durable=False)
            self._home.witnesses.put_whole(path, line)
        except (OSError, WriteFailed):
            return

    def opened(self, folder: str) -> SessionInfo | None:
        """What the ledger's `opened` line says; None without a good one.

        Raises:
            OSError: the folder cannot be read.
        """
        info = first_opened(self._decoded(self._lines(folder, LEDGER)))
        return info if info is not None and _stands_in(info, folder) else None

    def spare(self, folder: str, key: SessionKey | None) -> SessionInfo | None:
        """The little that can be said without an `opened` line; None when nothing was ever written.

        Args:
            key: the session asked for; None where only the folder is known, then a record or a `replaced` line tells.

        Raises:
            OSError: the folders cannot be read.
        """
        lines = [*self._lines(folder, LEDGER), *self._lines(folder, ARCHIVE)]
        if not lines:
            return None
        key = key or self._named(folder, lines)
        return None if key is None else spare_info(key)

    def _lines(self, folder: str, kind: str) -> list[Line]:
        news = SegmentFolder(self._home.disk, os.path.join(folder, kind), kind).news({}, skip_unreadable=True)
        return [line for _, line in news.lines if line.whole]

    def _decoded(self, lines: Iterable[Line]) -> Iterable[Event]:
        for line in lines:
            if line.raw.startswith(b'{"k":"opened"'):
                try:
                    yield self._events.decode(line.raw)
                except ValueError:
                    continue

    def _named(self, folder: str, lines: Iterable[Line]) -> SessionKey | None:
        """The key by which a record or `replaced` line names this folder; else the folder's own name, if that tells."""
        for line in lines:
            try:
                key = SessionKey(self._names.decode(line.raw).session_id)
            except ValueError:
                continue
            if folder_name(key) == os.path.basename(folder):
                return key
        plain = SessionKey(os.path.basename(folder))
        return plain if folder_name(plain) == os.path.basename(folder) else None


def first_opened(events: Iterable[Event]) -> SessionInfo | None:
    """The info of the earliest `opened` event."""
    opened = [event for event in events if isinstance(event, Opened)]
    return min(opened, key=lambda event: (event.clock, event.w, event.n)).info if opened else None


def spare_info(key: SessionKey) -> SessionInfo:
    """All that is known of a session that was written to but never created, or whose first line is lost."""
    return SessionInfo(session_id=key.session_id, principal=key.principal, handle=spare_handle(key))


def oldest_first(infos: Iterable[SessionInfo]) -> tuple[SessionInfo, ...]:
    """By time of creation, then by id; sessions without a readable time come first."""

    def age(info: SessionInfo) -> tuple[float, str]:
        try:
            return datetime.fromisoformat(info.created).timestamp(), info.session_id
        except (ValueError, OverflowError):
            return float("-inf"), info.session_id

    return tuple(sorted(infos, key=age))


def not_empty(rev: int) -> RevConflict:
    """Raised where events of another store would stand beside a session's own."""
    return RevConflict(f"The session has events, up to revision {rev}.", next="Import into another store.", rev=rev)


def refuse_other_key(key: SessionKey, session_id: str, principal: str) -> None:
    """Raises InvalidArgument where what is to be stored names another session than the key."""
    if (session_id, principal) != (key.session_id, key.principal):
        raise InvalidArgument("What is to be stored names another session.", next="Use the key of that session.")


def refuse_foreign(key: SessionKey, records: Iterable[OffloadRecord]) -> None:
    """The same for records."""
    for record in records:
        refuse_other_key(key, record.session_id, key.principal)


def _stands_in(info: SessionInfo, folder: str) -> bool:
    return folder_name(SessionKey(info.session_id, info.principal)) == os.path.basename(folder)


# `session/<id>/status.json`: a few numbers for a status line, which has no time to read a ledger. A cache.


STATUS_NAME = "status.json"


class StatusFiles:
    """Writes the notes of sessions that are there."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def put(self, key: SessionKey, note: StatusNote) -> None:
        """Write a session's note. It can be done without, so it is not flushed, and a failure is nobody's."""
        folder = self._home.session_folder(key)
        try:
            if self._home.stands(folder):
                self._home.replace(os.path.join(folder, STATUS_NAME), encoded_status(note), durable=False)
        except (OSError, StoreUnusable, WriteFailed):
            return


def encoded_status(note: StatusNote) -> bytes:
    """One line of JSON."""
    fields = {name: getattr(note, name) for name in note.__struct_fields__}
    return json.dumps({"v": 1, **fields}).encode() + b"\n"


FOLDER, ABOUT, LOCK = "checkpoint", "about.json", "checkpoint.lock"
SCHEMA = 1
"""Grows with every change of what stands there, and of what the sums mean."""
_HASH, _SPOT = 8, 8 + 4 + 8 + 4
"""Bytes of a key's hash, and of a spot: the hash, the number of the segment, offset and size of the line."""
_TAIL = 4_096
"""So many bytes before the place up to which a segment was read are compared."""
_EVENTS: Reader[Event] = Reader(Event)


class _Segment(msgspec.Struct, frozen=True):
    """A segment when the checkpoint was written."""

    name: str
    offset: int
    size: int
    device: int
    inode: int
    modified: float
    tail: str
    """SHA-256 of the last bytes before the offset."""


class _Run(msgspec.Struct, frozen=True):
    """A file of spots, sorted; it is written once."""

    name: str
    size: int
    sha256: str


class _About(msgspec.Struct, frozen=True):
    schema: int
    events: int
    """How many stand before the places."""
    clock: int
    rev: int
    segments: tuple[_Segment, ...]
    runs: tuple[_Run, ...]
    sums: bytes
    """What the fold makes of these events; the store does not look into it."""

    @property
    def places(self) -> dict[str, Place]:
        return {one.name: Place(one.offset, one.size) for one in self.segments}


_ABOUTS: Reader[_About] = Reader(_About)


class Known(NamedTuple):
    """A checkpoint that fits what is there."""

    sums: bytes
    places: dict[str, Place]
    clock: int
    rev: int
    names: tuple[str, ...]
    runs: tuple[bytes, ...]


class Checkpoints:
    """The checkpoint of one session.

    Args:
        segments: of the ledger, which stands in `ledger`.
    """

    def __init__(self, home: Home, folder: str, ledger: str, segments: SegmentFolder) -> None:
        self._home, self._session, self._ledger, self._segments = home, folder, ledger, segments
        self._folder = os.path.join(folder, FOLDER)

    def open(self) -> Known | None:
        """The checkpoint, if it is whole and the segments are those that it was made of."""
        with suppress(OSError, PalimpsestError):
            about = self._about()
            if about is None or not self._fits(about):
                return None
            runs = [self._run(run) for run in about.runs]
            whole = tuple(run for run in runs if run is not None)
            if len(whole) == len(runs):
                return Known(
                    about.sums, about.places, about.clock, about.rev, tuple(s.name for s in about.segments), whole
                )
        return None

    def events_of(self, known: Known, key: str) -> list[Event] | None:
        """The events that have a key; None where one of them cannot be read any more."""
        found: list[Event] = []
        wanted = _hash_of(key)
        for run in known.runs:
            for segment, offset, size in _spots(run, wanted):
                try:
                    raw = self._segments.read_line(known.names[segment], offset, size)
                    event = _EVENTS.decode(raw) if is_whole(raw) else None
                except (OSError, ValueError, IndexError):
                    return None
                if event is None:
                    return None
                if key in keys_of(event):  # else another key has the same hash
                    found.append(event)
        return found

    def keep(self, places: Places, sums: bytes, events: int) -> None:
        """Write what events up to some places add up to; nothing where it cannot be said, or somebody else is at it.

        Args:
            events: how many are in the sums. Where there are not just as many, nothing is written.
        """
        with suppress(OSError, PalimpsestError):
            release = self._home.disk.lock(os.path.join(self._session, LOCK), 0.0)
            if release is None:
                return
            try:
                self._keep(places, sums, events)
            finally:
                release()

    def drop(self) -> None:
        """Take it away.

        Raises:
            OSError: it is still there.
        """
        disk = self._home.disk
        found = disk.look(self._folder)
        if found is None or found.kind != "folder":
            return
        for name in (ABOUT, *(name for name, _ in disk.scan(self._folder) if name != ABOUT)):
            with suppress(FileNotFoundError):
                disk.remove(os.path.join(self._folder, name))
        disk.flush_folder(self._folder)

    def _keep(self, places: Places, sums: bytes, events: int) -> None:
        base = self._about()
        if base is None or not self._fits(base) or any(run is None for run in map(self._run, base.runs)):
            base = _About(SCHEMA, 0, 0, 0, (), (), b"")
        before = base.places
        if any(name not in places or places[name].offset < place.offset for name, place in before.items()):
            return  # somebody is further
        self._segments.secure({}, self._home.flushed)  # it must not outlive what it speaks of
        names = [*before, *sorted(places.keys() - before.keys())]
        spots: list[bytes] = []
        count, clock, rev = base.events, base.clock, base.rev
        for number, name in enumerate(names):
            for line in self._lines(name, before.get(name, Place(0, 0)).offset, places[name].offset):
                event = _EVENTS.decode(line.raw) if line.whole else None
                if event is None or event.v > EVENT_SCHEMA:
                    return  # damage is told whenever the session is read
                count, clock, rev = count + 1, max(clock, event.clock), max(rev, getattr(event, "rev", 0))
                spots += [_spot(key, number, line) for key in keys_of(event)]
        if count != events:
            return
        segments = [self._segment(name, places[name]) for name in names]
        runs = self._with(base.runs, spots)
        about = _About(SCHEMA, count, clock, rev, tuple(segments), runs, sums)
        self._home.replace(os.path.join(self._folder, ABOUT), encode(about), witness=False)
        for name, _ in self._home.disk.scan(self._folder):
            if name != ABOUT and name not in {run.name for run in runs}:
                self._home.disk.remove(os.path.join(self._folder, name))

    def _with(self, old: Sequence[_Run], spots: list[bytes]) -> tuple[_Run, ...]:
        """Runs with more spots: a new one takes in those that are not twice as long, so that there are always few."""
        if not spots:
            return tuple(old)
        self._home.make(self._folder)
        runs = list(old)
        while runs and runs[-1].size < 2 * _SPOT * len(spots):
            data = self._run(runs.pop()) or b""
            spots += [data[at : at + _SPOT] for at in range(0, len(data), _SPOT)]
        data = b"".join(sorted(spots))
        name = f"{self._home.random_hex(6)}.run"
        self._home.replace(os.path.join(self._folder, name), data, witness=False)
        return (*runs, _Run(name, len(data), hashlib.sha256(data).hexdigest()))

    def _about(self) -> _About | None:
        path = os.path.join(self._folder, ABOUT)
        if self._home.disk.look(path) is None:
            return None
        line = read_from(self._home.disk, path).removesuffix(b"\n")
        try:
            about = _ABOUTS.decode(line) if is_whole(line) else None
        except ValueError:
            return None
        return about if about is not None and about.schema == SCHEMA else None

    def _fits(self, about: _About) -> bool:
        """Whether every segment is the file that it was, and has grown at most."""
        here = dict(self._home.disk.scan(self._ledger))
        for one in about.segments:
            found = here.get(one.name)
            if found is None or found.kind != "file" or found.identity != (one.device, one.inode):
                return False
            if found.size < one.size or (found.size == one.size and found.modified != one.modified):
                return False
            if found.size != one.size and self._tail(one.name, one.offset) != one.tail:
                return False
        return True

    def _run(self, run: _Run) -> bytes | None:
        """The bytes of a run, if they are what was written."""
        data = read_from(self._home.disk, os.path.join(self._folder, run.name))
        return data if len(data) == run.size and hashlib.sha256(data).hexdigest() == run.sha256 else None

    def _segment(self, name: str, place: Place) -> _Segment:
        found = self._home.disk.look(os.path.join(self._ledger, name))
        if found is None or place.offset < 0:
            raise FileNotFoundError(name)
        # One that grew meanwhile has another time than what it had at this place: then its end is compared.
        modified = found.modified if found.size == place.size else -1.0
        return _Segment(name, place.offset, place.size, *found.identity, modified, self._tail(name, place.offset))

    def _tail(self, name: str, offset: int) -> str:
        return hashlib.sha256(self._bytes(name, max(0, offset - _TAIL), offset)).hexdigest()

    def _lines(self, name: str, start: int, end: int) -> Iterator[Line]:
        lines, at = settled(self._bytes(name, start, end), start)
        if at != end:
            raise OSError("the segment is not what was read")
        return iter(lines)

    def _bytes(self, name: str, start: int, end: int) -> bytes:
        if start >= end:
            return b""
        disk = self._home.disk
        fd = disk.open(os.path.join(self._ledger, name))
        try:
            return read_span(disk, fd, start, end - start)
        finally:
            disk.close(fd)


def _hash_of(key: str) -> bytes:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()


def _spot(key: str, segment: int, line: Line) -> bytes:
    return (
        _hash_of(key) + segment.to_bytes(4, "big") + line.offset.to_bytes(8, "big") + len(line.raw).to_bytes(4, "big")
    )


def _spots(run: bytes, wanted: bytes) -> Iterator[tuple[int, int, int]]:
    """Segment, offset and size of what has this hash."""
    at = bisect_left(range(len(run) // _SPOT), wanted, key=lambda one: run[one * _SPOT : one * _SPOT + _HASH]) * _SPOT
    while run[at : at + _HASH] == wanted:
        numbers = run[at + _HASH : at + _SPOT]
        yield (
            int.from_bytes(numbers[:4], "big"),
            int.from_bytes(numbers[4:12], "big"),
            int.from_bytes(numbers[12:], "big"),
        )
        at += _SPOT


class OpenedLedger:
    """A session's checkpoint and the events behind it: `ports.store.Checkpoint`.

    Args:
        everything: reads the whole ledger.
    """

    def __init__(
        self, checkpoints: Checkpoints, known: Known, cursor: object, everything: Callable[[], Sequence[Event]]
    ) -> None:
        self._checkpoints, self._known, self._cursor, self._everything = checkpoints, known, cursor, everything
        self._turn = threading.RLock()

    @property
    def sums(self) -> bytes:
        return self._known.sums

    @property
    def cursor(self) -> object:
        return self._cursor

    @property
    def turn(self) -> AbstractContextManager[object]:
        return self._turn

    def events_of(self, key: str) -> Sequence[Event] | None:
        return self._checkpoints.events_of(self._known, key)

    def everything(self) -> Sequence[Event]:
        return self._everything()
