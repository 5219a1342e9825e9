"""The ledgers of a store on disk, step by step; `disk_store` calls it from threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from ..errors import InvalidArgument, LockTimeout, PalimpsestError, PassInProgress
from ..models.events import Decision, Event, Observation, Opened, Replaced, SessionInfo, SessionKey
from ..models.reports import Forgotten
from ..ports.seams import Clock, RandomHex
from ..ports.store import Broken, LedgerPage, Tombstones
from .disk import Release, reads, unreadable, writes
from .home import SESSIONS, Home
from .segments import OUR_LIMITS, ROLL_BYTES, OpenSegments, Place
from .session_folder import OpenedLedger, Sessions, oldest_first, refuse_other_key
from .session_log import SessionLog
from .studies import StudyFiles

FEW_EVENTS = 4
"""That are noted without a thread: what a check says about the window is one. A thread there and back takes twice as
long, and milliseconds while another works."""
FEW_SESSIONS = 8
"""That are listed without a thread, which takes longer there and back than a look at each."""
LITTLE_BYTES = 1 << 14
"""Of news that are read at once: a hop to a thread takes longer."""


class Cursor(msgspec.Struct, frozen=True):
    """How far each segment of one session was read."""

    folder: str
    places: dict[str, Place]


class LedgerFiles:
    """`ports.store.Ledger` says what each call promises."""

    def __init__(
        self,
        home: Home,
        *,
        clock: Clock,
        random_hex: RandomHex,
        lock_timeout_s: float = 10.0,
        roll_bytes: int = ROLL_BYTES,
    ) -> None:
        self._home = home
        self._clock = clock
        self._random_hex = random_hex
        self._lock_timeout_s = lock_timeout_s
        self._roll_bytes = roll_bytes
        self._logs: dict[str, SessionLog] = {}
        self._adding = threading.Lock()
        self._sessions = Sessions(home)
        self._listed = 0
        """Sessions that were listed last; 0: none yet."""
        self._open_segments = OpenSegments()
        self.studies = StudyFiles(home)

    def create(self, key: SessionKey, info: SessionInfo) -> SessionInfo:
        refuse_other_key(key, info.session_id, info.principal)
        self._home.check()
        log = self._log(key)
        if known := self._sessions.cached(log.folder):
            return known
        with self._commit_lock(log):
            known = self._opened(log)
            if known is None:
                log.observe([Opened(info=info, ts=info.created)], durable=True)
            else:
                log.secure()  # whoever wrote it may have died before it was safe
            self._sessions.cache(log.folder, known or info)
        self._open_segments.used(log.appender, log.writing)
        return known or info

    def info(self, key: SessionKey) -> SessionInfo | None:
        log = self._log(key)
        if known := self.cached_info(key):
            return known
        if not self._home.stands(log.folder):
            return None
        if known := self._opened(log):
            self._sessions.cache(log.folder, known)
            return known
        return self._spare(log.folder, key)

    def cached_info(self, key: SessionKey) -> SessionInfo | None:
        """What `session.json` says, if it is there and whole: one small read."""
        self._home.check()
        return self._sessions.cached(self._home.session_folder(key))

    def stands(self, key: SessionKey) -> bool:
        """Whether anything of the session is there: one look."""
        self._home.check()
        return self._home.stands(self._home.session_folder(key))

    def sessions(self, principal: str, beginning: str = "") -> tuple[SessionInfo, ...]:
        infos = self._infos(lambda one: one.principal == principal and one.session_id.startswith(beginning))
        return oldest_first(infos)

    def few_sessions(self, principal: str, beginning: str = "") -> tuple[SessionInfo, ...] | None:
        """The same where there were so few at the last time that it is not worth a thread; else None."""
        return self.sessions(principal, beginning) if 0 < self._listed <= FEW_SESSIONS else None

    def principals(self) -> tuple[str, ...]:
        return tuple(sorted({"", *(info.principal for info in self._infos(lambda _: True))}))

    def _infos(self, wanted: Callable[[SessionInfo], bool]) -> Iterator[SessionInfo]:
        """Of everybody's sessions those that are wanted by their ids."""
        self._home.check()
        folder = os.path.join(self._home.root, SESSIONS)
        with reads("the list of sessions"):
            entries = self._home.disk.scan(folder)
        self._listed = len(entries)
        for name, found in entries:
            path = os.path.join(folder, name)
            if found.kind != "folder" or ((met := self._sessions.met(path)) is not None and not wanted(met)):
                continue  # a folder is of one id for good
            if (info := self._info_of(path)) is not None and wanted(info):
                yield info

    def read_little(self, key: SessionKey, after: object | None) -> LedgerPage | None:
        """The page, when nothing or little came since the cursor: one look at the folder, and a short read of what was
        just written. None where it is worth a thread."""
        if after is None:
            return None
        log = self._log(key)
        cursor = _cursor_of(after, log)
        grown = log.grown(cursor.places)
        if grown == 0:
            return LedgerPage(events=(), cursor=cursor)
        return self.read(key, after) if grown is not None and grown <= LITTLE_BYTES else None

    def read(self, key: SessionKey, after: object | None = None) -> LedgerPage:
        self._home.check()
        log = self._log(key)
        cursor = Cursor(log.folder, {}) if after is None else _cursor_of(after, log)
        if not self._home.stands(log.folder):
            return LedgerPage(events=(), cursor=cursor)
        events, places, damage = log.read(cursor.places)
        return LedgerPage(events=tuple(events), cursor=Cursor(log.folder, places), damage=tuple(damage))

    def checkpoint(self, key: SessionKey) -> OpenedLedger | None:
        self._home.check()
        log = self._log(key)
        known = log.open_checkpoint() if self._home.stands(log.folder) else None
        if known is None:
            return None
        return OpenedLedger(log.checkpoints, known, Cursor(log.folder, known.places), lambda: log.whole(known.places))

    def keep_checkpoint(self, key: SessionKey, cursor: object, sums: bytes, events: int) -> None:
        log = self._log(key)
        places = _cursor_of(cursor, log).places
        if self._home.stands(log.folder):
            log.checkpoints.keep(places, sums, events)

    def drop_checkpoint(self, key: SessionKey) -> None:
        with writes("what a checkpoint's folder holds"):
            self._log(key).checkpoints.drop()

    def observe(self, key: SessionKey, events: Sequence[Observation], *, durable: bool = True) -> None:
        self._home.check()
        log = self._log(key)
        log.observe(events, durable=durable)
        self._open_segments.used(log.appender, log.writing)

    def observe_at_once(self, key: SessionKey, events: Sequence[Observation]) -> bool:
        """The same, not flushed, where it is a small write that waits for nobody; else nothing is done, and it is worth
        a thread."""
        if len(events) > FEW_EVENTS:
            return False
        self._home.check()
        log = self._log(key)
        done = log.observe_at_once(events)
        if done:
            self._open_segments.used(log.appender, log.writing)
        return done

    def decide(
        self,
        key: SessionKey,
        decisions: Sequence[Decision],
        *,
        after_rev: int,
        lock_timeout_s: float | None = None,
    ) -> int:
        self._home.check()
        log = self._log(key)
        if any(isinstance(decision, Replaced) for decision in decisions):
            log.secure_archive()
        with self._commit_lock(log, lock_timeout_s):
            rev = log.decide(decisions, after_rev=after_rev)
        self._open_segments.used(log.appender, log.writing)
        return rev

    def adopt(self, key: SessionKey, events: Sequence[Event]) -> None:
        self._home.check()
        log = self._log(key)
        with self._commit_lock(log):
            log.adopt(events)
        self._open_segments.used(log.appender, log.writing)

    def forget(self, key: SessionKey, gone: Forgotten) -> int:
        self._home.check()
        log = self._log(key)
        if not self._home.stands(log.folder):
            return 0
        with self._commit_lock(log):
            return log.forget(gone)

    def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        self._home.check()
        log = self._log(key)
        return tuple(log.broken()) if self._home.stands(log.folder) else ()

    def pack(self, key: SessionKey) -> tuple[int, int]:
        self._home.check()
        log = self._log(key)
        if not self._home.stands(log.folder):
            return 0, 0
        with self._commit_lock(log):
            return log.pack()

    def mend(self, key: SessionKey, events: Mapping[bytes, Event | None]) -> int:
        self._home.check()
        log = self._log(key)
        if not events or not self._home.stands(log.folder):
            return 0
        with self._commit_lock(log):
            return log.mend(events)

    def tombstones(self, key: SessionKey) -> Tombstones:
        self._home.check()
        return self._log(key).tombstones.read()

    def bury(self, key: SessionKey, keys: Collection[str], *, under_way: bool, whole: bool = False) -> None:
        self._home.check()
        log = self._log(key)
        with self._commit_lock(log):
            log.tombstones.put(keys, under_way=under_way, whole=whole)

    def keep_study(self, key: SessionKey, name: str, data: bytes, keys: Collection[str]) -> bool:
        log = self._log(key)
        if not self._home.stands(log.folder):
            return False
        with suppress(PalimpsestError), self._commit_lock(log):
            return self.studies.keep(log.folder, log.tombstones, name, data, keys)
        return False

    def prepare_lock(self, key: SessionKey) -> None:
        """Make the folder that locks stand in."""
        self._home.check()
        with writes("the session's folder"):
            self._home.make(self._log(key).folder)

    def lock_pass(self, key: SessionKey) -> Release:
        """Take the pass lock or raise; never waits. The folder is there (`prepare_lock`)."""
        release = self._lock(os.path.join(self._log(key).folder, "pass.lock"), 0.0)
        if release is None:
            raise PassInProgress(
                "Another compaction pass on this session is running.", next="Wait for it to end, then try again."
            )
        return release

    def close(self) -> None:
        self._open_segments.close()

    def _log(self, key: SessionKey) -> SessionLog:
        """This process's view of a session; a forked child starts anew and leaves its parent's segment alone."""
        folder = self._home.session_folder(key)
        log = self._logs.get(folder)
        if log is not None and log.pid == self._home.disk.pid():
            return log
        with self._adding:
            if self._logs.get(folder) is log:
                self._logs[folder] = SessionLog(self._home, key, self._clock, self._random_hex, self._roll_bytes)
            return self._logs[folder]

    @contextmanager
    def _commit_lock(self, log: SessionLog, timeout_s: float | None = None) -> Generator[None]:
        """One decision at a time, over threads and processes.

        Raises:
            LockTimeout: somebody holds it for too long.
        """
        wait_s = self._lock_timeout_s if timeout_s is None else timeout_s
        deadline = time.monotonic() + wait_s
        if not log.deciding.acquire(timeout=wait_s):
            raise _too_long()
        try:
            with writes("the session's folder"):
                self._home.make(log.folder)
            release = self._lock(os.path.join(log.folder, "commit.lock"), max(0.0, deadline - time.monotonic()))
            if release is None:
                raise _too_long()
            try:
                yield
            finally:
                release()
        finally:
            log.deciding.release()

    def _lock(self, path: str, timeout_s: float) -> Release | None:
        with writes("the session's lock"):
            return self._home.disk.lock(path, timeout_s)

    def _opened(self, log: SessionLog) -> SessionInfo | None:
        with reads("the ledger"):
            return self._sessions.cached(log.folder) or self._sessions.opened(log.folder)

    def _spare(self, folder: str, key: SessionKey | None) -> SessionInfo | None:
        with reads("the session"):
            return self._sessions.spare(folder, key)

    def _info_of(self, folder: str) -> SessionInfo | None:
        """The info of a folder; None for one that nothing was written to, or that the disk does not give back."""
        try:
            return self._sessions.cached(folder) or self._sessions.opened(folder) or self._sessions.spare(folder, None)
        except OSError as error:
            if error.errno in OUR_LIMITS:
                raise unreadable(error, "the list of sessions") from error
            return None


def _cursor_of(after: object, log: SessionLog) -> Cursor:
    if not isinstance(after, Cursor) or after.folder != log.folder:
        raise InvalidArgument("The cursor is not one of this session.", next="Read from the beginning.")
    return after


def _too_long() -> LockTimeout:
    return LockTimeout(
        "Another process holds this session's commit lock.", next="Try again; if it stays, look for a stopped process."
    )
