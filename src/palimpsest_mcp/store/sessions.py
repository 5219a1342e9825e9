"""Who a session is: the first ledger line says it, `session.json` is a cache of that."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime

import msgspec

from ..errors import InvalidArgument, RevConflict, WriteFailed
from ..models.events import Event, Opened, SessionInfo, SessionKey
from ..models.records import OffloadRecord
from .home import ARCHIVE, LEDGER, Home, folder_name, spare_handle
from .segments import Line, Reader, SegmentFolder, encode, is_whole
from .whole_files import read_from

CACHE_NAME = "session.json"


class _Names(msgspec.Struct):
    session_id: str


class Sessions:
    """Reads and writes `session.json`, and does without it where it is missing or garbled."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._infos: Reader[SessionInfo] = Reader(SessionInfo)
        self._events: Reader[Event] = Reader(Event)
        self._names: Reader[_Names] = Reader(_Names)

    def cached(self, folder: str) -> SessionInfo | None:
        """What `session.json` says; None when it is missing, garbled or of another session.

        Raises:
            StoreUnusable: something stands in the folder's place.
        """
        try:
            if not self._home.stands(folder):
                return None
            line = read_from(self._home.disk, os.path.join(folder, CACHE_NAME)).rstrip(b"\n")
            info = self._infos.decode(line) if is_whole(line) else None
        except (OSError, ValueError):
            return None
        return info if info is not None and _stands_in(info, folder) else None

    def cache(self, folder: str, info: SessionInfo) -> None:
        """Write `session.json`. It can be done without, so it is not flushed, and a failure is nobody's."""
        try:
            self._home.replace(os.path.join(folder, CACHE_NAME), encode(info), durable=False)
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
