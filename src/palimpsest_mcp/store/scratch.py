"""A store that reads another one and keeps to itself whatever is written: for runs that must leave nothing behind."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager

import msgspec

from ..models.events import Decision, Event, Observation, SessionInfo, SessionKey
from ..models.maintenance import Forgotten
from ..models.records import OffloadRecord
from ..ports.store import Archive, Broken, Damage, DiskUse, Flaw, Ledger, LedgerPage, Store, Tombstones
from ..ports.text import RandomHex
from .archive import ArchiveFiles
from .batch_index import batch_order
from .disk_store import DiskArchive, DiskLedger
from .home import folder_name
from .ledger import LedgerFiles
from .memory import MemoryStore
from .sessions import oldest_first


class ScratchLedger(DiskLedger):
    """A session is read from below once, when it is asked for, and goes on in memory. What is broken below stays so."""

    def __init__(self, below: Ledger, own: LedgerFiles) -> None:
        super().__init__(own)
        self._below = below
        self._damage: dict[SessionKey, tuple[Damage, ...]] = {}
        """Of every session that was read from below."""
        self._loading = asyncio.Lock()

    async def create(self, key: SessionKey, info: SessionInfo) -> SessionInfo:
        await self._load(key)
        return await super().create(key, info)

    async def info(self, key: SessionKey) -> SessionInfo | None:
        return await super().info(key) or await self._below.info(key)

    async def sessions(self, principal: str = "", *, beginning: str = "") -> tuple[SessionInfo, ...]:
        own, below = super().sessions, self._below.sessions
        found = [*await own(principal, beginning=beginning), *await below(principal, beginning=beginning)]
        return oldest_first({info.session_id: info for info in found}.values())

    async def by_handle(self, handle: str, principal: str = "") -> SessionInfo | None:
        ours = next((one for one in await super().sessions(principal) if one.handle == handle), None)
        return ours or await self._below.by_handle(handle, principal)

    async def read(self, key: SessionKey, after: object | None = None) -> LedgerPage:
        damage = await self._load(key)
        page = await super().read(key, after)
        return msgspec.structs.replace(page, damage=damage) if after is None else page

    async def observe(self, key: SessionKey, events: Sequence[Observation], *, durable: bool = True) -> None:
        await self._load(key)
        await super().observe(key, events, durable=durable)

    async def decide(
        self,
        key: SessionKey,
        decisions: Sequence[Decision],
        *,
        after_rev: int,
        lock_timeout_s: float | None = None,
    ) -> int:
        await self._load(key)
        return await super().decide(key, decisions, after_rev=after_rev, lock_timeout_s=lock_timeout_s)

    @asynccontextmanager
    async def pass_lock(self, key: SessionKey) -> AsyncGenerator[None]:
        await self._load(key)
        async with super().pass_lock(key):
            yield

    async def adopt(self, key: SessionKey, events: Sequence[Event]) -> None:
        await self._load(key)
        await super().adopt(key, events)

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        await self._load(key)
        return await super().forget(key, gone)

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return await self._below.broken(key)

    async def _load(self, key: SessionKey) -> tuple[Damage, ...]:
        folder_name(key)  # refuses what is no id
        async with self._loading:
            if key not in self._damage:
                page = await self._below.read(key)
                if page.events:
                    await super().adopt(key, page.events)
                self._damage[key] = page.damage
            return self._damage[key]


class ScratchArchive(DiskArchive):
    """What is archived here is not archived below, and below nothing is forgotten."""

    def __init__(self, below: Archive, own: ArchiveFiles) -> None:
        super().__init__(own)
        self._below = below

    async def get(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        return await super().get(key, batch_id) or await self._below.get(key, batch_id)

    async def batch_ids(self, key: SessionKey) -> tuple[str, ...]:
        return tuple({*await super().batch_ids(key), *await self._below.batch_ids(key)})

    async def some(self, key: SessionKey, batch_ids: Collection[str]) -> tuple[OffloadRecord, ...]:
        own = await super().some(key, batch_ids)
        rest = set(batch_ids).difference(one.batch_id for one in own)
        return (*own, *await self._below.some(key, rest))

    async def records(self, key: SessionKey) -> AsyncIterator[OffloadRecord]:
        own = {record.batch_id: record async for record in super().records(key)}
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


class ScratchStore(MemoryStore):
    """What a store holds, and on top of it what this process would have written: nothing of that reaches the store, and
    one that is not made yet is not made.

    Searches, summaries, handoffs and hosts' notes of the store below are not shown: who asks for those writes nothing.
    Closing this one leaves the store below open: it is its owner's.
    """

    def __init__(self, below: Store, *, random_hex: RandomHex = secrets.token_hex) -> None:
        super().__init__(random_hex=random_hex)
        self._below = below
        self.ledger = ScratchLedger(below.ledger, self._ledger)
        self.archive = ScratchArchive(below.archive, self._archive)

    @property
    def location(self) -> str:
        return self._below.location

    async def is_made(self) -> bool:
        return await self._below.is_made() or await super().is_made()

    async def secret(self) -> bytes:
        return await self._below.secret() if await self._below.is_made() else await super().secret()

    async def take_secret(self, secret: bytes) -> bool:
        return await self.secret() == secret if await self._below.is_made() else await super().take_secret(secret)

    async def principals(self) -> tuple[str, ...]:
        return tuple(sorted({*await self._below.principals(), *await super().principals()}))

    async def tombstones(self, key: SessionKey) -> Tombstones:
        below, own = await self._below.tombstones(key), await super().tombstones(key)
        return Tombstones(
            keys=tuple(sorted({*below.keys, *own.keys})),
            under_way=below.under_way or own.under_way,
            whole=below.whole or own.whole,
        )

    async def traces(self, holds: Callable[[str], bool]) -> tuple[str, ...]:
        return (*await self._below.traces(holds), *await super().traces(holds))

    async def flaws(self) -> tuple[Flaw, ...]:
        return await self._below.flaws()

    async def disk_use(self) -> DiskUse:
        return await self._below.disk_use()
