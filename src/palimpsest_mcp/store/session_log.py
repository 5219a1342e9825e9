"""One session's ledger, as one process writes and reads it."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import msgspec

from ..context.tombstones import event_without
from ..errors import RevConflict
from ..models.events import EVENT_SCHEMA, Decision, Event, Observation, Seen, SessionKey
from ..models.items import Action, Item
from ..models.reports import Forgotten
from ..ports.seams import Clock, RandomHex
from ..ports.store import Broken, Damage
from .disk import reads, unreadable, write_failed, writes
from .home import ARCHIVE, LEDGER, Home
from .rewrite import Change, rewrite, spoilt
from .segments import Appender, Line, News, Place, Places, Reader, SegmentFolder, encode, encode_all, is_more
from .session_folder import NOTHING_FORGOTTEN, Checkpoints, Known, TombstoneFile, not_empty
from .upkeep import pack

E = TypeVar("E", bound=Event)

_EVENTS: Reader[Event] = Reader(Event)


class _Known(NamedTuple):
    """What events that are read after each other may share."""

    texts: dict[str, str]
    calls: dict[str, Item]
    """By unit, until a result of theirs came."""


def _share(event: Event, known: _Known) -> None:
    """What is equal is one object, since the values of a short item take more than its text: names that many events
    have, the names of one item, and what a result repeats of its call."""
    for name in ("w", "ts"):
        _set(event, name, known.texts.setdefault(value := getattr(event, name), value))
    if event.clock == event.n:
        _set(event, "clock", event.n)
    if not isinstance(event, Seen):
        return
    item = event.item
    for name in ("kind", "role", "tool_name"):
        _set(item, name, known.texts.setdefault(value := getattr(item, name), value))
    call = known.calls.pop(item.unit, None) if item.role == "tool" else None
    if call is not None:
        for name in ("unit", "call_id", "action"):
            if (value := getattr(call, name)) == getattr(item, name):
                _set(item, name, value)
        if repr(call.args) == repr(item.args):  # `==` takes 1 for true, and any order of names
            _set(item, "args", call.args)
    for name in ("unit", "call_id"):
        if getattr(item, name) == item.id:
            _set(item, name, item.id)
    if item.kind == "tool_call":
        if item.action is not None and item.args is not None:
            _share_target(item.action, item.args)
        known.calls[item.unit] = item


def _share_target(action: Action, args: Mapping[str, Any]) -> None:
    for value in args.values():
        if value == action.target:
            _set(action, "target", value)
            return


_set = msgspec.structs.force_setattr


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


def _order_of(line: Line) -> _Order:
    try:
        return _ORDERS.decode(line.raw) if line.whole else _Order()
    except ValueError:
        return _Order()


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
        self.checkpoints = Checkpoints(home, self.folder, self._ledger, self._segments)
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

    def grown(self, places: Places) -> int | None:
        """Bytes that came since `places`: one look at the folder. None where something else happened to it.

        Raises:
            StoreUnusable: the folder cannot be read.
        """
        with reads("the ledger"):
            changed = self._segments.changed(places)
        grown = [found.size - max(0, places.get(name, Place(0, 0)).offset) for name, found in changed]
        odd = any(found.kind != "file" for _, found in changed) or any(size <= 0 for size in grown)
        return None if odd else sum(grown)

    def open_checkpoint(self) -> Known | None:
        """What is known without reading the ledger; None: read it."""
        known = self.checkpoints.open()
        if known is not None and not self._read_once and not self._places:
            with self.writing:
                self._places = known.places
                self._rev = max(self._rev, known.rev)  # its segment was flushed before the checkpoint was written
            self._count(known.clock)
        return known

    def read(self, places: Places) -> tuple[list[Event], dict[str, Place], list[Damage]]:
        """Whole events since `places`, where reading ended, and what could not be read.

        Raises:
            StoreUnusable: the folder cannot be read.
        """
        news = News([], dict(places), [])
        events: list[Event] = []
        known = _Known({}, {})
        clock, rev, newest = 0, 0, ""
        with reads("the ledger"):
            for _ in self._segments.steps(news, skip_unreadable=True):
                news.lines.reverse()
                while news.lines:  # bytes go as events come: a long session would stand in memory twice
                    segment, line = news.lines.pop()
                    try:
                        if not line.whole:
                            raise ValueError("its checksum does not fit")
                        event = _EVENTS.decode(line.raw)
                        if event.v > EVENT_SCHEMA:
                            raise ValueError("a newer program wrote it")
                        _share(event, known)
                        events.append(event)
                        order = _Order(event.clock, getattr(event, "rev", 0))
                    except ValueError as error:
                        order = _order_of(line)
                        what = f"not an event: {error}"
                        news.damage.append(Damage(where=self._segments.where(segment, line.offset), what=what))
                    clock = max(clock, order.clock)
                    if order.rev > rev:
                        rev, newest = order.rev, segment
        self._count(clock)
        if not places and self.writing.acquire(blocking=False):
            try:
                if not self._read_once and not self._places:  # else the first write would read all of it again
                    self._places, self._read_once = dict(news.places), True
                    if rev > self._rev:
                        self._rev, self._newest = rev, newest
            finally:
                self.writing.release()
        return events, news.places, news.damage

    def whole(self, known: Places) -> list[Event]:
        """Every event, for who goes on from places that he did not read up to: nobody would read again what is missing.

        Args:
            known: segments that were read once.

        Raises:
            StoreUnusable: the folder, or one of these segments, cannot be read. Then the checkpoint goes: who comes
                next reads what there is, and the rest as soon as the disk gives it back.
        """
        events, places, _ = self.read({})
        paths = [os.path.join(self._ledger, name) for name in known if name not in places]
        with reads("the ledger"):
            missed = [path for path in paths if self._home.disk.look(path) is not None]  # else it was written anew
        if missed:
            with self.writing:
                self._places, self._read_once = {}, False
            with suppress(OSError):
                self.checkpoints.drop()
            raise unreadable(OSError(errno.EIO, "not given back"), "the ledger")
        return events

    def observe(self, events: Sequence[Observation], *, durable: bool) -> None:
        """Append observations, all or none.

        Raises:
            WriteFailed, StoreUnusable: none of them.
        """
        with self.writing:
            if not self._read_once:
                self._catch_up(skip_unreadable=True)
            self._append(events, durable=durable)

    def observe_at_once(self, events: Sequence[Observation]) -> bool:
        """The same, not flushed, if it takes no waiting; else nothing is done.

        Raises:
            WriteFailed, StoreUnusable: none of them.
        """
        if not self._read_once or not self.writing.acquire(blocking=False):
            return False
        try:
            with writes("the ledger"):
                free = self.appender.is_free()
            if free:
                self._append(events, durable=False)
            return free
        finally:
            self.writing.release()

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
        with writes("the ledger"):
            self._home.make(self._ledger)
            self._segments.secure({}, self._home.flushed)

    def secure_archive(self) -> None:
        """Flush what is in the archive, before a decision may speak of it: a pass may adopt a dead one's records (L10).

        Raises:
            WriteFailed: it cannot be flushed.
        """
        with writes("the archive"):
            if self._home.disk.look(self._archive_path) is not None:
                self._home.make(self._archive_path)
                self._archived = self._archive.secure(self._archived, self._home.flushed)

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
            with writes("the ledger"), self.appender.turn():
                self.appender.append(lines, len(events))
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
        with reads("the ledger"):
            news = self._segments.news({}, skip_unreadable=True)
        return [
            Broken(where=self._segments.where(name, line.offset), raw=line.raw)
            for name, line in news.lines
            if not _is_event(line)
        ]

    def pack(self) -> tuple[int, int]:
        """Put small segments of ledger and archive together. The caller holds the commit lock. Returns how many there
        were, and are.

        Raises:
            WriteFailed: some may be as they were.
        """
        with writes("the segments"):
            self.checkpoints.drop()
            counts = [pack(self._home, folder) for folder in (self._ledger, self._archive_path)]
        return sum(before for before, _ in counts), sum(after for _, after in counts)

    def mend(self, events: Mapping[bytes, Event | None]) -> int:
        """Put events in the place of broken lines; the files that held these are kept aside."""

        def change(raw: bytes, whole: bool) -> bytes | None:
            if raw not in events or _is_event(Line(0, raw, whole)):
                return raw
            event = events[raw]
            return None if event is None else encode(event, more=is_more(raw))[:-1]

        return self._rewrite(change, tail=True, aside=True)

    def _rewrite(self, change: Change, *, tail: bool, aside: bool = False) -> int:
        with writes("the ledger"):
            self.checkpoints.drop()
            with self.writing:
                self.appender.close()
            return rewrite(self._home, self._ledger, change, tail=tail, aside=aside)

    def _catch_up(self, *, skip_unreadable: bool) -> None:
        """Read the order of all events to every segment's end."""
        with reads("the ledger"):
            news = self._segments.news(self._places, skip_unreadable=skip_unreadable)
        for segment, line in news.lines:
            self._take_order(segment, line)
        self._places = news.places
        self._read_once = True

    def _take_order(self, segment: str, line: Line) -> None:
        order = _order_of(line)
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
        with writes("the ledger"), self.appender.turn() as segment:
            gone = self.tombstones.forgotten()
            kept = list(events)
            if gone != NOTHING_FORGOTTEN:
                kept = [one for event in events if (one := event_without(event, gone)) is not None]
            lines = encode_all(self._stamped(kept, segment.writer, segment.lines), as_one=as_one)
            start = self.appender.append(lines, len(kept), durable=durable)
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
