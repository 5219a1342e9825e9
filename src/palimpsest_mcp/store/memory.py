"""A store in memory: for tests, and for library use that keeps nothing."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from ..errors import InvalidArgument, PassInProgress, RevConflict, WriteFailed
from ..ledger.tombstones import event_without, record_without
from ..models.events import Decision, Event, Observation, Opened, SessionInfo, SessionKey
from ..models.purges import Forgotten
from ..models.records import OffloadRecord
from ..ports.clock import RandomHex
from ..ports.store import Broken, Damage, DiskUse, LedgerPage, Tombstones
from .lines import Reader, encode
from .memory_handoffs import MemoryHandoffs
from .memory_search import MemorySearch
from .memory_summaries import MemorySummaries
from .names import folder_name
from .other_files import texts_of
from .records import batch_order, flaw, refuse_purged
from .sessions import first_opened, not_empty, oldest_first, refuse_other_key, spare_info

E = TypeVar("E", bound=Event)

_EVENTS: Reader[Event] = Reader(Event)
_RECORDS: Reader[OffloadRecord] = Reader(OffloadRecord)


class _Session:
    def __init__(self) -> None:
        self.lines: list[bytes] = []
        """Events in the form of the disk, so that what comes out is what went in, and no object is shared. Empty where
        one was purged: cursors count them."""
        self.tombstones = Tombstones()
        self.records: dict[str, bytes] = {}
        self.clock = 0
        self.rev = 0
        self.passing = False

    def events(self, start: int = 0) -> list[Event]:
        return [_EVENTS.decode(line[:-1]) for line in self.lines[start:] if line]

    def forgotten(self) -> Forgotten:
        return Forgotten(keys=frozenset(self.tombstones.keys))


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

    def everything(self) -> dict[str, _Session]:
        """Sessions by their ids."""
        return {name: session for (_, name), session in self._sessions.items()}

    async def create(self, key: SessionKey, info: SessionInfo) -> SessionInfo:
        refuse_other_key(key, info.session_id, info.principal)
        session = self.made(key)
        known = first_opened(session.events())
        if known is None:
            self._append(session, [Opened(info=info, ts=info.created)])
        return known or info

    async def info(self, key: SessionKey) -> SessionInfo | None:
        session = self.session(key)
        if session is None or not (session.lines or session.records):
            return None
        return first_opened(session.events()) or spare_info(key)

    async def sessions(self, principal: str = "") -> tuple[SessionInfo, ...]:
        keys = [SessionKey(name, owner) for owner, name in self._sessions if owner == principal]
        return oldest_first([info for key in keys if (info := await self.info(key))])

    async def read(self, key: SessionKey, after: object | None = None) -> LedgerPage:
        session = self.session(key)
        end = len(session.lines) if session else 0
        start = 0 if after is None else _place(after, key, end)
        return LedgerPage(events=tuple(session.events(start)) if session else (), cursor=(key, end))

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

    async def adopt(self, key: SessionKey, events: Sequence[Event]) -> None:
        session = self.made(key)
        if session.events():
            raise not_empty(session.rev)
        session.lines += [encode(event) for event in events]
        session.clock = max((event.clock for event in events), default=0)
        session.rev = max((getattr(event, "rev", 0) for event in events), default=0)

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        session = self.session(key)
        if session is None:
            return 0
        changed = 0
        for place, line in enumerate(session.lines):
            if line:
                event = _EVENTS.decode(line[:-1])
                kept = event_without(event, gone)
                changed += kept is not event
                session.lines[place] = b"" if kept is None else encode(kept)
        return changed

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return ()

    async def mend(self, key: SessionKey, events: Mapping[bytes, Event]) -> int:
        return 0

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
        kept = [event_without(event, session.forgotten()) for event in stamped]
        session.lines += [
            encode(event) for event in kept if event is not None
        ]  # all of them can be written, or none is
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
        if not records:
            return
        session = self._ledger.made(key)
        refuse_purged(records, session.tombstones)
        session.records.update({one.batch_id: encode(one) for one in records})

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

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return ()

    async def mend(self, key: SessionKey, records: Mapping[bytes, OffloadRecord]) -> int:
        return 0

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        session = self._ledger.session(key)
        if session is None:
            return 0
        changed = 0
        for batch_id, line in list(session.records.items()):
            record = _RECORDS.decode(line[:-1])
            kept = record_without(record, gone)
            changed += kept is not record or gone.whole
            session.records[batch_id] = encode(kept)
            if gone.whole:
                del session.records[batch_id]
        return changed


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

    async def tombstones(self, key: SessionKey) -> Tombstones:
        session = self.ledger.session(key)
        return Tombstones() if session is None else session.tombstones

    async def bury(self, key: SessionKey, keys: Collection[str] = (), *, under_way: bool, whole: bool = False) -> None:
        session = self.ledger.made(key)
        session.tombstones = Tombstones(
            keys=tuple(sorted({*session.tombstones.keys, *keys})), under_way=under_way, whole=whole
        )

    async def forget_beside(self, key: SessionKey, gone: Forgotten) -> tuple[str, ...]:
        return self.summaries.forget(key, gone)

    async def forget_notes(self, gone: Forgotten, principal: str = "") -> tuple[str, ...]:
        return self.handoffs.forget(gone, principal)

    async def traces(self, holds: Callable[[str], bool]) -> tuple[str, ...]:
        sessions = self.ledger.everything().items()
        lines = {name: b"".join([*one.lines, *one.records.values()]) for name, one in sessions}
        kept = {**lines, "summary": self.summaries.everything(), "handoffs": self.handoffs.everything()}
        return tuple(name for name, data in kept.items() if any(map(holds, texts_of(data))))

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
