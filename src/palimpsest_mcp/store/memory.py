"""What needs no folder: the store on a disk in memory, for tests and for library use that keeps nothing.

A store that reads another one and keeps to itself whatever is written: for runs that must leave nothing behind.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import secrets
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Literal

import msgspec

from ..errors import StoreUnusable
from ..models.events import Decision, Event, Observation, SessionInfo, SessionKey
from ..models.records import OffloadRecord
from ..models.reports import BackupReport, Forgotten
from ..ports.seams import RandomHex
from ..ports.store import Archive, Broken, Damage, DiskUse, Flaw, Ledger, LedgerPage, Store, Tombstones
from .archive import ArchiveFiles, batch_order
from .disk import Found, Release
from .disk_store import DiskArchive, DiskLedger, DiskStore
from .home import folder_name
from .ledger import LedgerFiles
from .session_folder import oldest_first

# A disk in memory: as much of an operating system as a store needs, for one process.


class Node:
    """A file or folder. What a flush made safe is noted only by `testing.disks`, which can lose the rest."""

    numbers = itertools.count(1)

    def __init__(self, kind: Literal["file", "folder"]) -> None:
        self.kind: Literal["file", "folder"] = kind
        self.number = next(self.numbers)
        self.data = bytearray()
        self.safe = b""
        self.doubtful = False
        """A flush failed: the bytes that were not safe then may be anything, for good."""
        self.names: dict[str, Node] = {}
        self.safe_names: dict[str, Node] = {}


class MemoryDisk:
    """Implements `disk.Disk`, safe over threads. There are no links, and nothing outlives the object.

    Args:
        root: what is on the disk; None for an empty one.
    """

    def __init__(self, root: Node | None = None) -> None:
        self.root = root or Node("folder")
        self._open: dict[int, Node] = {}
        self._fds = itertools.count(3)
        self._locked: set[str] = set()
        self._held: dict[int, int] = {}
        """Number of a file -> descriptor that holds it."""
        self._turn = threading.Condition()

    def pid(self) -> int:
        return os.getpid()

    def is_alive(self, pid: int) -> bool:
        return pid == self.pid()

    def tighten(self, path: str) -> None:
        self._existing(path)

    def remove_folder(self, path: str) -> None:
        with self._call("remove"):
            self._taken(path)

    def real(self, path: str) -> str:
        return path

    def database(self, path: str) -> str:
        return ":memory:"

    def guard(self, root: str) -> None:
        return  # there are no links

    def look(self, path: str) -> Found | None:
        with self._call("look"):
            node = self._node(path)
            return None if node is None else _found(node)

    def scan(self, folder: str) -> list[tuple[str, Found]]:
        with self._call("scan"):
            node = self._node(folder)
            if node is None:
                return []
            if node.kind != "folder":
                raise NotADirectoryError(errno.ENOTDIR, "not a folder")
            return sorted((name, _found(child)) for name, child in node.names.items())

    def mkdir(self, path: str) -> None:
        with self._call("mkdir"):
            self._add(path, Node("folder"))

    def create(self, path: str) -> int:
        with self._call("create"):
            return self._opened(self._add(path, Node("file")))

    def extend(self, path: str) -> int:
        with self._call("extend"):
            return self._opened(self._existing(path))

    def open(self, path: str) -> int:
        with self._call("open"):
            return self._opened(self._existing(path))

    def found(self, fd: int) -> Found:
        with self._call("found"):
            return _found(self._open[fd])

    def write(self, fd: int, data: memoryview) -> int:
        with self._call("write"):
            self._open[fd].data += data
            return len(data)

    def overwrite(self, path: str, data: bytes) -> None:
        with self._call("overwrite"):
            node = self._node(path) or self._add(path, Node("file"))
            node.data[: len(data)] = data

    def read(self, fd: int, size: int, offset: int) -> bytes:
        with self._call("read"):
            return bytes(self._open[fd].data[offset : offset + size])

    def truncate(self, fd: int, size: int) -> None:
        with self._call("truncate"):
            del self._open[fd].data[size:]

    def flush(self, fd: int) -> None:
        """Nothing: no power cut leaves anything of it."""

    def flush_others(self, path: str) -> None:
        self._existing(path)

    def flush_folder(self, path: str) -> None:
        self._existing(path)

    def close(self, fd: int) -> None:
        self.let_go(fd)
        del self._open[fd]

    def replace(self, source: str, target: str) -> None:
        with self._call("replace"):
            node = self._taken(source)
            parent, name = self._parent(target)
            parent.names[name] = node

    def remove(self, path: str) -> None:
        with self._call("remove"):
            self._taken(path)

    def lock(self, path: str, timeout_s: float) -> Release | None:
        with self._call("lock"):
            if not self._turn.wait_for(lambda: path not in self._locked, timeout_s):
                return None
            if self._node(path) is None:
                self._add(path, Node("file"))
            self._locked.add(path)
            return lambda: self._unlock(path)

    def hold(self, fd: int, timeout_s: float) -> bool:
        with self._call("hold"):
            number = self._open[fd].number
            free = self._turn.wait_for(lambda: self._held.get(number, fd) == fd, timeout_s)
            if free:
                self._held[number] = fd
            return free

    def let_go(self, fd: int) -> None:
        with self._turn:
            self._held = {number: holder for number, holder in self._held.items() if holder != fd}
            self._turn.notify_all()

    def _unlock(self, path: str) -> None:
        with self._turn:
            self._locked.discard(path)
            self._turn.notify_all()

    def _call(self, name: str) -> AbstractContextManager[object]:
        """Where every call that could fail on a real disk begins."""
        return self._turn

    def _opened(self, node: Node) -> int:
        fd = next(self._fds)
        self._open[fd] = node
        return fd

    def _node(self, path: str) -> Node | None:
        node: Node | None = self.root
        for part in os.path.splitdrive(path)[1].split(os.sep):
            node = node.names.get(part) if node is not None and part else node
        return node

    def _existing(self, path: str) -> Node:
        node = self._node(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return node

    def _parent(self, path: str) -> tuple[Node, str]:
        parent = self._existing(os.path.dirname(path))
        if parent.kind != "folder":
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
        return parent, os.path.basename(path)

    def _add(self, path: str, node: Node) -> Node:
        parent, name = self._parent(path)
        if name in parent.names:
            raise FileExistsError(errno.EEXIST, "it is there already")
        parent.names[name] = node
        return node

    def _taken(self, path: str) -> Node:
        """What stood at a path, which is free now."""
        parent, name = self._parent(path)
        self._existing(path)
        return parent.names.pop(name)


def _found(node: Node) -> Found:
    return Found(node.kind, len(node.data), (1, node.number), 0o700 if node.kind == "folder" else 0o600)


_ROOT, _TEMP = Path("memory:"), Path("memory:temp")
"""Named in what people read, such as a handoff's path."""


class MemoryStore(DiskStore):
    """Keeps everything until the process ends."""

    def __init__(self, *, random_hex: RandomHex = secrets.token_hex) -> None:
        disk = MemoryDisk()
        disk.mkdir(str(_TEMP))
        super().__init__(_ROOT, disk=disk, random_hex=random_hex, temp=_TEMP)

    @property
    def location(self) -> str:
        return "memory"

    async def backup(self, target: str) -> BackupReport:
        raise StoreUnusable("There is no store to back up.", next="Name its folder with --home.")


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
