"""`session/<folder>/checkpoint/`: how a ledger adds up to some place, and where in it the events of each item stand.

A cache that is never needed: whatever is wrong with it, or does not fit the segments, has the ledger read whole.
"""

from __future__ import annotations

import hashlib
import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import NamedTuple

import msgspec

from ..context.opened_fold import keys_of
from ..errors import PalimpsestError
from ..models.events import EVENT_SCHEMA, Event
from .disk import read_from, read_span
from .home import Home
from .segments import Line, Place, Places, Reader, SegmentFolder, encode, is_whole, settled

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
