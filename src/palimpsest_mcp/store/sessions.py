"""What a session's folder says of it beside its events: who it is (`session.json`), what was purged of it
(`purged.jsonl`), its numbers for a status line (`status.json`). And the few rules of sessions that all stores keep."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Collection, Iterable
from datetime import datetime

import msgspec

from ..errors import InvalidArgument, RevConflict, StoreUnusable, WriteFailed
from ..models.events import Event, Opened, SessionInfo, SessionKey
from ..models.maintenance import Forgotten
from ..models.records import OffloadRecord
from ..models.views import StatusNote
from ..ports.store import Tombstones
from .disk import Found, read_from, reads, writes
from .home import ARCHIVE, LEDGER, Home, folder_name, spare_handle
from .segments import Line, Reader, SegmentFolder, encode, is_whole

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
