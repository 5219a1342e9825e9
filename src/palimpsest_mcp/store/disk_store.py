"""The store on disk: ledger, archive and search under one folder, safe over processes (`docs/format.md`)."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from ..models.events import Decision, Event, Observation, SessionInfo, SessionKey
from ..models.records import OffloadRecord
from ..models.reports import BackupReport, Forgotten, Migration
from ..models.views import StatusNote
from ..ports.seams import Clock, RandomHex
from ..ports.store import Broken, Checkpoint, Damage, DiskUse, Flaw, LedgerPage, Tombstones
from .archive import ArchiveFiles
from .disk import Disk, hop, in_thread, reads, writes
from .documents import DiskHandoffs, DiskSummaries, SummaryFiles
from .flaws import Comparison
from .home import ARCHIVE, LEDGER, SESSIONS, Home, Secret, folder_name
from .host_files import HostFiles
from .ledger import LedgerFiles
from .real_disk import RealDisk
from .rewrite import forget_beside, forget_notes, traces
from .search import INDEX_NAME, FtsIndex, IndexSearch
from .session_folder import StatusFiles
from .upkeep import Backup, migrate


class DiskLedger:
    """See `ports.store.Ledger`. What has many steps is one hop to a thread; a look that finds nothing new, or little,
    is none."""

    def __init__(self, files: LedgerFiles) -> None:
        self._files = files

    async def create(self, key: SessionKey, info: SessionInfo) -> SessionInfo:
        return await hop(self._files.create, key, info)

    async def info(self, key: SessionKey) -> SessionInfo | None:
        if (known := self._files.cached_info(key)) is not None or not self._files.stands(key):
            return known
        return await hop(self._files.info, key)

    async def infos(self, session_ids: Collection[str], principal: str = "") -> tuple[SessionInfo, ...]:
        found = [await self.info(SessionKey(one, principal)) for one in session_ids]
        return tuple(one for one in found if one is not None)

    async def sessions(self, principal: str = "", *, beginning: str = "") -> tuple[SessionInfo, ...]:
        found = self._files.few_sessions(principal, beginning)
        return await hop(self._files.sessions, principal, beginning) if found is None else found

    async def marks(self, session_ids: Collection[str], principal: str = "") -> Mapping[str, str]:
        return {}

    async def some_sessions(
        self, principal: str = "", *, skip: int, count: int, newest_first: bool = False
    ) -> tuple[tuple[SessionInfo, ...], int]:
        infos = await self.sessions(principal)
        return (infos[::-1] if newest_first else infos)[skip : skip + count], len(infos)

    async def by_handle(self, handle: str, principal: str = "") -> SessionInfo | None:
        return next((one for one in await self.sessions(principal) if one.handle == handle), None)

    async def read(self, key: SessionKey, after: object | None = None) -> LedgerPage:
        return self._files.read_little(key, after) or await hop(self._files.read, key, after)

    async def look(self, key: SessionKey, after: object | None = None) -> tuple[SessionInfo | None, LedgerPage]:
        return await self.info(key), await self.read(key, after)

    async def open(self, key: SessionKey) -> tuple[SessionInfo | None, Checkpoint | None, LedgerPage]:
        found = await self.checkpoint(key)
        return await self.info(key), found, await self.read(key, None if found is None else found.cursor)

    async def open_small(
        self, session_ids: Collection[str], principal: str = ""
    ) -> Mapping[str, tuple[SessionInfo | None, Checkpoint | None, LedgerPage]]:
        return {}

    async def checkpoint(self, key: SessionKey) -> Checkpoint | None:
        return await hop(self._files.checkpoint, key)

    async def keep_checkpoint(self, key: SessionKey, cursor: object, sums: bytes, events: int) -> None:
        await hop(self._files.keep_checkpoint, key, cursor, sums, events)

    async def drop_checkpoint(self, key: SessionKey) -> None:
        await hop(self._files.drop_checkpoint, key)

    async def observe(self, key: SessionKey, events: Sequence[Observation], *, durable: bool = True) -> None:
        if durable or not self._files.observe_at_once(key, events):
            await hop(self._files.observe, key, events, durable=durable)

    async def observe_and_read(
        self, key: SessionKey, events: Sequence[Observation], after: object | None, *, durable: bool = True
    ) -> LedgerPage:
        await self.observe(key, events, durable=durable)
        return await self.read(key, after)

    async def observe_known(self, key: SessionKey, events: Sequence[Observation], after: object) -> LedgerPage | None:
        return None if await self.info(key) is None else await self.observe_and_read(key, events, after, durable=False)

    async def decide(
        self,
        key: SessionKey,
        decisions: Sequence[Decision],
        *,
        after_rev: int,
        lock_timeout_s: float | None = None,
    ) -> int:
        return await hop(self._files.decide, key, decisions, after_rev=after_rev, lock_timeout_s=lock_timeout_s)

    async def adopt(self, key: SessionKey, events: Sequence[Event]) -> None:
        await hop(self._files.adopt, key, events)

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        return await hop(self._files.forget, key, gone)

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return await hop(self._files.broken, key)

    async def mend(self, key: SessionKey, events: Mapping[bytes, Event | None]) -> int:
        return await hop(self._files.mend, key, events)

    @asynccontextmanager
    async def pass_lock(self, key: SessionKey) -> AsyncGenerator[None]:
        await hop(self._files.prepare_lock, key)
        release = self._files.lock_pass(key)  # on the loop: nothing can be cancelled between taking and holding it
        try:
            yield
        finally:
            release()


class DiskArchive:
    """See `ports.store.Archive`."""

    def __init__(self, files: ArchiveFiles) -> None:
        self._files = files

    async def append(self, key: SessionKey, records: Sequence[OffloadRecord]) -> None:
        await hop(self._files.append, key, records)

    async def get(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        return self._files.get_kept(key, batch_id) or await hop(self._files.get, key, batch_id)

    async def batch_ids(self, key: SessionKey) -> tuple[str, ...]:
        kept = self._files.kept(key)
        return tuple(await hop(self._files.batch_ids, key) if kept is None else [one.batch_id for one in kept])

    async def some(self, key: SessionKey, batch_ids: Collection[str]) -> tuple[OffloadRecord, ...]:
        kept = self._files.kept(key)
        found, rest = (kept, list[str]()) if kept is not None else await hop(self._files.first, key)
        rest, wanted = [one for one in rest if one in batch_ids], [one for one in found if one.batch_id in batch_ids]
        while rest:
            more, looked = await hop(self._files.some, key, rest)
            wanted, rest = wanted + more, rest[looked:]
        return tuple(wanted)

    async def records(self, key: SessionKey) -> AsyncIterator[OffloadRecord]:
        kept = self._files.kept(key)
        found, rest = (kept, []) if kept is not None else await hop(self._files.first, key)
        for record in found:
            yield record
        while rest:
            found, looked = await hop(self._files.some, key, rest)  # what is damaged `damage` names
            for record in found:
                yield record
            rest = rest[looked:]

    async def damage(self, key: SessionKey) -> tuple[Damage, ...]:
        return await hop(self._files.damage, key)

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return await hop(self._files.broken, key)

    async def mend(self, key: SessionKey, records: Mapping[bytes, OffloadRecord | None]) -> int:
        return await hop(self._files.mend, key, records)

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        return await hop(self._files.forget, key, gone)


class DiskStore:
    """A store in a folder. Making one touches nothing; the folder is looked at with the first call, and made with the
    first write.

    Args:
        home: the store's root. It may be a link; nothing below it may be.
        disk: the seam to the operating system.
        clock: names segments; nothing is ordered by it.
        random_hex: makes writers' names and the store's secret.
        lock_timeout_s: how long a decision waits for another one.
        temp: where forks' handoffs stand; None: the system's folder for temporary files.
        most_bytes: that the store may take on disk; 0 for no limit.
    """

    def __init__(
        self,
        home: Path,
        *,
        disk: Disk | None = None,
        clock: Clock = lambda: datetime.now(UTC),
        random_hex: RandomHex = secrets.token_hex,
        lock_timeout_s: float = 10.0,
        temp: Path | None = None,
        most_bytes: int = 0,
    ) -> None:
        self._home = Home(home, disk or RealDisk(), random_hex, most_bytes=most_bytes)
        self._secret = Secret(self._home, random_hex)
        self._ledger = LedgerFiles(self._home, clock=clock, random_hex=random_hex, lock_timeout_s=lock_timeout_s)
        self._archive = ArchiveFiles(self._home, clock=clock, random_hex=random_hex)
        self._status = StatusFiles(self._home)
        self.ledger = DiskLedger(self._ledger)
        self.archive = DiskArchive(self._archive)
        self._index = FtsIndex(self._home, self._store_id)
        self.search = IndexSearch(self._index)
        self._summaries = SummaryFiles(self._home, self._ledger, random_hex, lock_timeout_s=lock_timeout_s)
        self.summaries = DiskSummaries(self._summaries)
        forks = _system_temp if temp is None else lambda: self._home.disk.real(str(temp))
        self.handoffs = DiskHandoffs(self._home, forks, random_hex, lock_timeout_s=lock_timeout_s)
        self.host_notes = HostFiles(self._home.root, self._home.disk)

    @property
    def location(self) -> str:
        return self._home.root

    async def check(self) -> None:
        """Whether the home can be used at all; writes nothing.

        Raises:
            StoreUnusable, StoreNewer: see their sentences.
        """
        await hop(self._home.check)

    async def secret(self) -> bytes:
        return await hop(self._secret.get)

    async def take_secret(self, secret: bytes) -> bool:
        return await hop(self._secret.take, secret) == secret

    async def principals(self) -> tuple[str, ...]:
        return await hop(self._ledger.principals)

    async def is_made(self) -> bool:
        return bool(await hop(self._secret.if_made))

    async def note_status(self, key: SessionKey, note: StatusNote) -> None:
        await hop(self._status.put, key, note)

    async def tombstones(self, key: SessionKey) -> Tombstones:
        return await hop(self._ledger.tombstones, key)

    async def bury(self, key: SessionKey, keys: Collection[str] = (), *, under_way: bool, whole: bool = False) -> None:
        await hop(self._ledger.bury, key, keys, under_way=under_way, whole=whole)

    async def keep_study(self, key: SessionKey, name: str, data: bytes, keys: Collection[str]) -> bool:
        return await hop(self._ledger.keep_study, key, name, data, keys)

    async def studies(self, key: SessionKey) -> list[bytes]:
        return await hop(self._ledger.studies.of, self._home.session_folder(key))

    async def pack(self, key: SessionKey) -> tuple[int, int]:
        return await hop(self._ledger.pack, key)

    @in_thread
    def aclose(self) -> None:
        self._ledger.close()
        self._archive.close()
        self.search.close()

    @in_thread
    def forget_beside(self, key: SessionKey, gone: Forgotten) -> tuple[str, ...]:
        folder = self._home.session_folder(key)
        with writes("the session's folder"):
            rest = forget_beside(self._home, folder, gone) if self._home.stands(folder) else []
            self._ledger.studies.drop(folder)
        return (*self._summaries.forget(key, gone), *rest)

    @in_thread
    def forget_notes(self, gone: Forgotten, principal: str = "") -> tuple[str, ...]:
        with writes("the store's notes"):
            notes = forget_notes(self._home, gone)
        return (*self.handoffs.forget(gone, principal), *notes)

    @in_thread
    def traces(self, holds: Callable[[str], bool]) -> tuple[str, ...]:
        with reads("the store"):
            return (*traces(self._home, self._home.root, holds), *self.handoffs.holds(holds, ""))

    @in_thread
    def flaws(self) -> tuple[Flaw, ...]:
        self._home.check()
        with reads("the store's folder"):
            found = Comparison(self._home).flaws()
            if self._secret.if_made() and (what := self._index.flaw()):
                found.append(Flaw(where=INDEX_NAME, what=what, severity="note"))
        return tuple(found)

    @in_thread
    def backup(self, target: str) -> BackupReport:
        with writes("the backup"):
            return Backup(self._home).write(os.path.abspath(target))

    @in_thread
    def migrate(self, *, dry_run: bool) -> Migration:
        with writes("the store's new form"):
            return migrate(self._home, dry_run=dry_run)

    @in_thread
    def accept(self, key: SessionKey | None = None, *, losses: bool = False) -> int:
        self._home.check()
        under = "" if key is None else f"{SESSIONS}/{folder_name(key)}/"
        with writes("what is said of the store's files"):
            return Comparison(self._home).accept(under, losses=losses)

    def _store_id(self) -> str:
        return hashlib.sha256(b"index of " + self._secret.get()).hexdigest()[:32]

    @in_thread
    def disk_use(self) -> DiskUse:
        self._home.check()
        root = self._home.root
        with reads("the store's folder"):
            folders = [
                os.path.join(root, SESSIONS, name) for name, _ in self._home.disk.scan(os.path.join(root, SESSIONS))
            ]
            files = self._home.disk.scan(root)
            return DiskUse(
                ledger=sum(self._home.size_of(os.path.join(folder, LEDGER)) for folder in folders),
                archive=sum(self._home.size_of(os.path.join(folder, ARCHIVE)) for folder in folders),
                index=sum(found.size for name, found in files if name.startswith(INDEX_NAME)),
                total=self._home.size_of(root),
                folders={os.path.basename(folder): self._home.size_of(folder) for folder in folders},
            )


def _system_temp() -> str:
    # Asked only for forks: finding the folder writes a file to it.
    import tempfile

    return os.path.realpath(tempfile.gettempdir())
