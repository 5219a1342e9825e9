"""One session's ledger, as one process writes and reads it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from ..context.tombstones import event_without
from ..errors import RevConflict
from ..models.events import EVENT_SCHEMA, Decision, Event, Observation, SessionKey
from ..models.maintenance import Forgotten
from ..ports.store import Broken, Damage
from ..ports.text import Clock, RandomHex
from .appender import Appender
from .home import ARCHIVE, LEDGER, Home
from .rewrite import Change, rewrite, spoilt
from .segments import Line, Place, Places, Reader, SegmentFolder, encode, encode_all, is_more
from .sessions import not_empty
from .tombstones import TombstoneFile
from .whole_files import unreadable, write_failed

E = TypeVar("E", bound=Event)

_EVENTS: Reader[Event] = Reader(Event)


def _is_event(line: Line) -> bool:
    try:
        return line.whole and _EVENTS.decode(line.raw).v <= EVENT_SCHEMA
    except ValueError:
        return False


class _Order(msgspec.Struct):
    """What ordering needs of any event, also of a kind that this program does not know."""

    clock: int = 0
    rev: int = 0


_ORDERS: Reader[_Order] = Reader(_Order)


class SessionLog:
    """Reads take no lock; writes of one process take turns."""

    def __init__(self, home: Home, key: SessionKey, clock: Clock, random_hex: RandomHex, roll_bytes: int) -> None:
        self.pid = home.disk.pid()
        self.folder = home.session_folder(key)
        self._ledger = os.path.join(self.folder, LEDGER)
        self._archive_path = os.path.join(self.folder, ARCHIVE)
        self._home = home
        self._archive = SegmentFolder(home.disk, self._archive_path, ARCHIVE)
        self._archived: Places = {}
        """How far the archive is known to be flushed."""
        self._segments = SegmentFolder(home.disk, self._ledger, f"{os.path.basename(self.folder)}/{LEDGER}")
        self.appender = Appender(home, self._ledger, clock, random_hex, roll_bytes=roll_bytes)
        self.tombstones = TombstoneFile(home, self.folder)
        self.writing = threading.Lock()
        self.deciding = threading.Lock()
        """The commit lock's part inside this process."""
        self._counting = threading.Lock()
        self._places: Places = {}
        """How far the order of events is known."""
        self._read_once = False
        self._clock = 0
        self._rev = 0
        self._newest = ""
        """Segment of the decision with that revision, until it is known to be flushed."""

    def is_unchanged(self, places: Places) -> bool:
        """Whether there is nothing new since `places`: one look at the folder.

        Raises:
            StoreUnusable: the folder cannot be read.
        """
        try:
            return not self._segments.changed(places)
        except OSError as error:
            raise unreadable(error, "the ledger") from error

    def read(self, places: Places) -> tuple[list[Event], dict[str, Place], list[Damage]]:
        """Whole events since `places`, where reading ended, and what could not be read.

        Raises:
            StoreUnusable: the folder cannot be read.
        """
        try:
            news = self._segments.news(places, skip_unreadable=True)
        except OSError as error:
            raise unreadable(error, "the ledger") from error
        events: list[Event] = []
        for segment, line in news.lines:
            try:
                if not line.whole:
                    raise ValueError("its checksum does not fit")
                event = _EVENTS.decode(line.raw)
                if event.v > EVENT_SCHEMA:
                    raise ValueError("a newer program wrote it")
                events.append(event)
            except ValueError as error:
                what = f"not an event: {error}"
                news.damage.append(Damage(where=self._segments.where(segment, line.offset), what=what))
        self._count(max((event.clock for event in events), default=0))
        return events, news.places, news.damage

    def observe(self, events: Sequence[Observation], *, durable: bool) -> None:
        """Append observations, all or none.

        Raises:
            WriteFailed, StoreUnusable: none of them.
        """
        with self.writing:
            if not self._read_once:
                self._catch_up(skip_unreadable=True)
            self._append(events, durable=durable)

    def decide(self, decisions: Sequence[Decision], *, after_rev: int) -> int:
        """Append decisions if `after_rev` is the highest revision on disk. The caller holds the commit lock.

        Raises:
            RevConflict: it is not.
            WriteFailed, StoreUnusable: nothing was decided.
        """
        with self.writing:
            self._catch_up(skip_unreadable=False)
            if self._rev != after_rev:
                raise RevConflict(
                    f"The session is at revision {self._rev}, not {after_rev}.",
                    next="Read the session again and decide anew.",
                    rev=self._rev,
                )
            self._secure_newest()
            revised = [
                msgspec.structs.replace(decision, rev=after_rev + step) for step, decision in enumerate(decisions, 1)
            ]
            self._append(revised, durable=True, as_one=True)
            self._rev += len(revised)
            self._newest = ""
            return self._rev

    def secure(self) -> None:
        """Flush every segment that is there.

        Raises:
            WriteFailed: one cannot be flushed.
        """
        try:
            self._home.make(self._ledger)
            self._segments.secure({}, self._home.flushed)
        except OSError as error:
            raise write_failed(error, "the ledger") from error

    def secure_archive(self) -> None:
        """Flush what is in the archive, before a decision may speak of it: a pass may adopt a dead one's records (L10).

        Raises:
            WriteFailed: it cannot be flushed.
        """
        try:
            if self._home.disk.look(self._archive_path) is not None:
                self._home.make(self._archive_path)
                self._archived = self._archive.secure(self._archived, self._home.flushed)
        except OSError as error:
            raise write_failed(error, "the archive") from error

    def adopt(self, events: Sequence[Event]) -> None:
        """Append another store's events as they are, in one step. The caller holds the commit lock.

        Raises:
            RevConflict: there are events.
            WriteFailed, StoreUnusable: nothing was written.
        """
        lines = encode_all(events, as_one=True)
        with self.writing:
            if self.read({})[0]:
                raise not_empty(self._rev)
            try:
                with self.appender.turn():
                    self.appender.append(lines, len(events))
            except OSError as error:
                raise write_failed(error, "the ledger") from error
            self._catch_up(skip_unreadable=True)

    def forget(self, gone: Forgotten) -> int:
        """Write every segment anew that holds what has to go. The caller holds the commit lock. Returns how many lines
        changed.

        Raises:
            WriteFailed, LockTimeout: some segments may still have it; asking again goes on.
        """

        def change(raw: bytes, whole: bool) -> bytes | None:
            try:
                event = _EVENTS.decode(raw) if whole else None
            except ValueError:
                event = None
            if event is None:
                return None if gone.whole or spoilt(raw, gone) else raw
            kept = event_without(event, gone)
            return raw if kept is event else None if kept is None else encode(kept, more=is_more(raw))[:-1]

        return self._rewrite(change, tail=False)

    def broken(self) -> list[Broken]:
        """Lines that cannot be read, with their bytes."""
        try:
            news = self._segments.news({}, skip_unreadable=True)
        except OSError as error:
            raise unreadable(error, "the ledger") from error
        return [
            Broken(where=self._segments.where(name, line.offset), raw=line.raw)
            for name, line in news.lines
            if not _is_event(line)
        ]

    def mend(self, events: Mapping[bytes, Event]) -> int:
        """Put events in the place of broken lines; the files that held these are kept aside."""

        def change(raw: bytes, whole: bool) -> bytes | None:
            event = None if whole else events.get(raw)
            return raw if event is None else encode(event, more=is_more(raw))[:-1]

        return self._rewrite(change, tail=True, aside=True)

    def _rewrite(self, change: Change, *, tail: bool, aside: bool = False) -> int:
        try:
            with self.writing:
                self.appender.close()
            return rewrite(self._home, self._ledger, change, tail=tail, aside=aside)
        except OSError as error:
            raise write_failed(error, "the ledger") from error

    def _catch_up(self, *, skip_unreadable: bool) -> None:
        """Read the order of all events to every segment's end."""
        try:
            news = self._segments.news(self._places, skip_unreadable=skip_unreadable)
        except OSError as error:
            raise unreadable(error, "the ledger") from error
        for segment, line in news.lines:
            self._take_order(segment, line)
        self._places = news.places
        self._read_once = True

    def _take_order(self, segment: str, line: Line) -> None:
        try:
            order = _ORDERS.decode(line.raw) if line.whole else _Order()
        except ValueError:
            return
        self._count(order.clock)
        if order.rev > self._rev:
            self._rev, self._newest = order.rev, segment

    def _count(self, clock: int) -> None:
        with self._counting:
            self._clock = max(self._clock, clock)

    def _secure_newest(self) -> None:
        """Flush the decision that ours will follow: its writer may have died, or be about to, before its own flush.

        Whoever wrote it did the same with the one before, so all of them are safe.
        """
        if not self._newest:
            return
        try:
            self._home.disk.flush_others(os.path.join(self._ledger, self._newest))
            self._home.disk.flush_folder(self._ledger)
        except FileNotFoundError:
            pass  # a purge wrote it anew, and flushed it
        except OSError as error:
            raise write_failed(error, "the ledger") from error
        self._newest = ""

    def _append(self, events: Sequence[Event], *, durable: bool, as_one: bool = False) -> None:
        if not events:
            return
        try:
            with self.appender.turn() as segment:
                gone = self.tombstones.forgotten()
                kept = [one for event in events if (one := event_without(event, gone)) is not None]
                lines = encode_all(self._stamped(kept, segment.writer, segment.lines), as_one=as_one)
                start = self.appender.append(lines, len(kept), durable=durable)
        except OSError as error:
            raise write_failed(error, "the ledger") from error
        if self._places.get(segment.name, Place(0, 0)).offset == start:
            end = start + len(lines)
            self._places = {**self._places, segment.name: Place(end, end)}

    def _stamped(self, events: Sequence[E], writer: str, written: int) -> list[E]:
        with self._counting:
            first = self._clock + 1
            self._clock += len(events)
        return [
            msgspec.structs.replace(event, w=writer, n=written + number, clock=first + number - 1)
            for number, event in enumerate(events, 1)
        ]
