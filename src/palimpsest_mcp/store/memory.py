"""A store in memory: for tests, and for library use that keeps nothing."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from ..errors import InvalidArgument, PassInProgress, RevConflict, WriteFailed
from ..models.events import Decision, Event, Observation, Opened, SessionInfo, SessionKey
from ..models.records import OffloadRecord
from ..ports.clock import RandomHex
from ..ports.store import Damage, DiskUse, LedgerPage
from .lines import Reader, encode
from .memory_handoffs import MemoryHandoffs
from .memory_search import MemorySearch
from .memory_summaries import MemorySummaries
from .names import folder_name
from .records import batch_order, flaw
from .sessions import first_opened, oldest_first, refuse_other_key, spare_info

E = TypeVar("E", bound=Event)

_EVENTS: Reader[Event] = Reader(Event)
_RECORDS: Reader[OffloadRecord] = Reader(OffloadRecord)


class _Session:
    def __init__(self) -> None:
        self.lines: list[bytes] = []
        """Events in the form of the disk, so that what comes out is what went in, and no object is shared."""
        self.records: dict[str, bytes] = {}
        self.clock = 0
        self.rev = 0
        self.passing = False


class MemoryLedger:
    """See `ports.store.Ledger`. One event loop; nothing survives the process."""

    def __init__(self, random_hex: RandomHex) -> None:
        self._random_hex = random_hex
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._writer = f"{os.getpid()}-{random_hex(8)}"
        self._written = 0

    def session(self, key: SessionKey) -> _Session | None:
        folder_name(key)  # refuses what is no id
        return self._sessions.get((key.principal, key.session_id))

    def made(self, key: SessionKey) -> _Session:
        folder_name(key)
        return self._sessions.setdefault((key.principal, key.session_id), _Session())

    async def create(self, key: SessionKey, info: SessionInfo) -> SessionInfo:
        refuse_other_key(key, info.session_id, info.principal)
        session = self.made(key)
        known = first_opened(_EVENTS.decode(line[:-1]) for line in session.lines)
        if known is None:
            self._append(session, [Opened(info=info, ts=info.created)])
        return known or info

    async def info(self, key: SessionKey) -> SessionInfo | None:
        session = self.session(key)
        if session is None or not (session.lines or session.records):
            return None
        return first_opened(_EVENTS.decode(line[:-1]) for line in session.lines) or spare_info(key)

    async def sessions(self, principal: str = "") -> tuple[SessionInfo, ...]:
        keys = [SessionKey(name, owner) for owner, name in self._sessions if owner == principal]
        return oldest_first([info for key in keys if (info := await self.info(key))])

    async def read(self, key: SessionKey, after: object | None = None) -> LedgerPage:
        session = self.session(key)
        lines = session.lines if session else []
        start = 0 if after is None else _place(after, key, len(lines))
        events = tuple(_EVENTS.decode(line[:-1]) for line in lines[start:])
        return LedgerPage(events=events, cursor=(key, len(lines)))

    async def observe(self, key: SessionKey, events: Sequence[Observation], *, durable: bool = True) -> None:
        self._append(self.made(key), events)

    async def decide(
        self,
        key: SessionKey,
        decisions: Sequence[Decision],
        *,
        after_rev: int,
        lock_timeout_s: float | None = None,
    ) -> int:
        session = self.made(key)
        if session.rev != after_rev:
            raise RevConflict(
                f"The session is at revision {session.rev}, not {after_rev}.",
                next="Read the session again and decide anew.",
                rev=session.rev,
            )
        self._append(session, [msgspec.structs.replace(d, rev=after_rev + n) for n, d in enumerate(decisions, 1)])
        session.rev += len(decisions)
        return session.rev

    @asynccontextmanager
    async def pass_lock(self, key: SessionKey) -> AsyncGenerator[None]:
        session = self.made(key)
        if session.passing:
            raise PassInProgress(
                "Another compaction pass on this session is running.", next="Wait for it to end, then try again."
            )
        session.passing = True
        try:
            yield
        finally:
            session.passing = False

    def _append(self, session: _Session, events: Sequence[E]) -> None:
        stamped = [
            msgspec.structs.replace(event, w=self._writer, n=self._written + n, clock=session.clock + n)
            for n, event in enumerate(events, 1)
        ]
        session.lines += [encode(event) for event in stamped]  # all of them can be written, or none is
        self._written += len(events)
        session.clock += len(events)


class MemoryArchive:
    """See `ports.store.Archive`."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self._ledger = ledger

    async def append(self, key: SessionKey, records: Sequence[OffloadRecord]) -> None:
        for record in records:
            refuse_other_key(key, record.session_id, key.principal)
            if reason := flaw(record, key):
                raise WriteFailed(f"A record cannot be trusted: {reason}.", next="Record the items again.")
        lines = {record.batch_id: encode(record) for record in records}
        if lines:
            self._ledger.made(key).records.update(lines)

    async def get(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        session = self._ledger.session(key)
        line = session.records.get(batch_id) if session else None
        return None if line is None else _RECORDS.decode(line[:-1])

    async def records(self, key: SessionKey) -> AsyncIterator[OffloadRecord]:
        session = self._ledger.session(key)
        for batch_id in sorted(session.records if session else (), key=batch_order):
            record = await self.get(key, batch_id)
            if record is not None:
                yield record

    async def damage(self, key: SessionKey) -> tuple[Damage, ...]:
        return ()


class MemoryStore:
    """Keeps everything until the process ends. The same behaviour as `DiskStore`, one process only."""

    def __init__(self, *, random_hex: RandomHex = secrets.token_hex) -> None:
        self.ledger = MemoryLedger(random_hex)
        self.archive = MemoryArchive(self.ledger)
        self.search = MemorySearch()
        self.summaries = MemorySummaries()
        self.handoffs = MemoryHandoffs()
        self._secret = bytes.fromhex(random_hex(32))

    @property
    def location(self) -> str:
        return "memory"

    async def secret(self) -> bytes:
        return self._secret

    async def disk_use(self) -> DiskUse:
        return DiskUse(ledger=0, archive=0, index=0, total=0)

    async def aclose(self) -> None:
        await asyncio.sleep(0)


def _place(after: object, key: SessionKey, end: int) -> int:
    match after:
        case (SessionKey() as named, int() as place) if named == key and 0 <= place <= end:
            return place
        case _:
            raise InvalidArgument("The cursor is not one of this session.", next="Read from the beginning.")
