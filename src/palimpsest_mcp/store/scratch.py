"""A store that reads another one and keeps to itself whatever is written: for runs that must leave nothing behind."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from ..models.events import Decision, Event, Observation, SessionInfo, SessionKey
from ..models.purges import Forgotten
from ..models.records import OffloadRecord
from ..models.status import StatusNote
from ..ports.clock import RandomHex
from ..ports.store import Archive, Broken, Damage, DiskUse, Ledger, LedgerPage, Store, Tombstones
from .memory import MemoryStore
from .names import folder_name
from .records import batch_order
from .sessions import oldest_first


class ScratchLedger:
    """See `ports.store.Ledger`. A session is read from below once, when it is asked for, and goes on in memory."""

    def __init__(self, below: Ledger, own: Ledger) -> None:
        self._below = below
        self._own = own
        self._damage: dict[SessionKey, tuple[Damage, ...]] = {}
        """Of every session that was read from below."""
        self._loading = asyncio.Lock()

    async def create(self, key: SessionKey, info: SessionInfo) -> SessionInfo:
        await self._load(key)
        return await self._own.create(key, info)

    async def info(self, key: SessionKey) -> SessionInfo | None:
        return await self._own.info(key) or await self._below.info(key)

    async def sessions(self, principal: str = "") -> tuple[SessionInfo, ...]:
        found = [*await self._own.sessions(principal), *await self._below.sessions(principal)]
        return oldest_first({info.session_id: info for info in found}.values())

    async def read(self, key: SessionKey, after: object | None = None) -> LedgerPage:
        damage = await self._load(key)
        page = await self._own.read(key, after)
        return msgspec.structs.replace(page, damage=damage) if after is None else page

    async def observe(self, key: SessionKey, events: Sequence[Observation], *, durable: bool = True) -> None:
        await self._load(key)
        await self._own.observe(key, events, durable=durable)

    async def decide(
        self,
        key: SessionKey,
        decisions: Sequence[Decision],
        *,
        after_rev: int,
        lock_timeout_s: float | None = None,
    ) -> int:
        await self._load(key)
        return await self._own.decide(key, decisions, after_rev=after_rev, lock_timeout_s=lock_timeout_s)

    @asynccontextmanager
    async def pass_lock(self, key: SessionKey) -> AsyncGenerator[None]:
        await self._load(key)
        async with self._own.pass_lock(key):
            yield

    async def adopt(self, key: SessionKey, events: Sequence[Event]) -> None:
        await self._load(key)
        await self._own.adopt(key, events)

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        await self._load(key)
        return await self._own.forget(key, gone)

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return await self._below.broken(key)

    async def mend(self, key: SessionKey, events: Mapping[bytes, Event]) -> int:
        """Nothing: what is broken lies below."""
        return 0

    async def _load(self, key: SessionKey) -> tuple[Damage, ...]:
        folder_name(key)  # refuses what is no id
        async with self._loading:
            if key not in self._damage:
                page = await self._below.read(key)
                if page.events:
                    await self._own.adopt(key, page.events)
                self._damage[key] = page.damage
            return self._damage[key]


class ScratchArchive:
    """See `ports.store.Archive`. What is archived here is not archived below."""

    def __init__(self, below: Archive, own: Archive) -> None:
        self._below = below
        self._own = own

    async def append(self, key: SessionKey, records: Sequence[OffloadRecord]) -> None:
        await self._own.append(key, records)

    async def get(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        return await self._own.get(key, batch_id) or await self._below.get(key, batch_id)

    async def records(self, key: SessionKey) -> AsyncIterator[OffloadRecord]:
        own = {record.batch_id: record async for record in self._own.records(key)}
        late = sorted(own, key=batch_order, reverse=True)
        async for record in self._below.records(key):
            while late and batch_order(late[-1]) < batch_order(record.batch_id):
                yield own[late.pop()]
            if record.batch_id not in own:
                yield record
        while late:
            yield own[late.pop()]

    async def damage(self, key: SessionKey) -> tuple[Damage, ...]:
        return await self._below.damage(key)

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return await self._below.broken(key)

    async def mend(self, key: SessionKey, records: Mapping[bytes, OffloadRecord]) -> int:
        """Nothing: what is broken lies below."""
        return 0

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        """Of what this process archived; below nothing is forgotten."""
        return await self._own.forget(key, gone)


class ScratchStore:
    """What a store holds, and on top of it what this process would have written: nothing of that reaches the store, and
    one that is not made yet is not made.

    Searches, summaries, handoffs and hosts' notes of the store below are not shown: who asks for those writes nothing.
    """

    def __init__(self, below: Store, *, random_hex: RandomHex = secrets.token_hex) -> None:
        own = MemoryStore(random_hex=random_hex)
        self._below = below
        self._own = own
        self.ledger = ScratchLedger(below.ledger, own.ledger)
        self.archive = ScratchArchive(below.archive, own.archive)
        self.search = own.search
        self.summaries = own.summaries
        self.handoffs = own.handoffs
        self.host_notes = own.host_notes

    @property
    def location(self) -> str:
        return self._below.location

    async def is_made(self) -> bool:
        return await self._below.is_made() or await self._own.is_made()

    async def note_status(self, key: SessionKey, note: StatusNote) -> None:
        await self._own.note_status(key, note)

    async def secret(self) -> bytes:
        return await (self._below if await self._below.is_made() else self._own).secret()

    async def tombstones(self, key: SessionKey) -> Tombstones:
        below, own = await self._below.tombstones(key), await self._own.tombstones(key)
        return Tombstones(
            keys=tuple(sorted({*below.keys, *own.keys})),
            under_way=below.under_way or own.under_way,
            whole=below.whole or own.whole,
        )

    async def bury(self, key: SessionKey, keys: Collection[str] = (), *, under_way: bool, whole: bool = False) -> None:
        await self._own.bury(key, keys, under_way=under_way, whole=whole)

    async def forget_beside(self, key: SessionKey, gone: Forgotten) -> tuple[str, ...]:
        return await self._own.forget_beside(key, gone)

    async def forget_notes(self, gone: Forgotten, principal: str = "") -> tuple[str, ...]:
        return await self._own.forget_notes(gone, principal)

    async def traces(self, holds: Callable[[str], bool]) -> tuple[str, ...]:
        return (*await self._below.traces(holds), *await self._own.traces(holds))

    async def disk_use(self) -> DiskUse:
        return await self._below.disk_use()

    async def aclose(self) -> None:
        """What was written here is gone; the store below stays open, and is its owner's to close."""
        await self._own.aclose()


__all__ = ["ScratchStore"]
