"""The parts together, and what only a whole store can say."""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ...errors import PalimpsestError
from ...models.events import SessionKey
from ...models.reports import BackupReport, Forgotten, Migration
from ...models.views import StatusNote
from ...ports.seams import RandomHex
from ...ports.store import DiskUse, Flaw, Tombstones
from ..disk_store import DiskStore
from ..home import ARCHIVE, LEDGER, SESSIONS, Home, folder_name
from ..host_files import HostFiles
from ..real_disk import RealDisk
from ..rewrite import forget_notes, texts_of
from ..session_folder import StatusFiles
from ..upkeep import copy_store
from . import schema
from .archive import PgArchive
from .documents import PgHandoffs, PgSummaries
from .ledger import LEASE_S, PgLedger, info_of
from .link import EVERYBODY, Conn, Link, Row
from .rows import GONE, Keys, Objects, name_text, unpacked
from .search import PgSearch, texts

SECRET_BYTES = 32
TENANT = "default"
_PAGE = 8
"""Sessions of which all rows are read at a time, where all of them are looked at."""


class PgStore:
    """A store in PostgreSQL. Making one connects to nothing; the first call does, and looks at the tables.

    Args:
        url: of a role that owns nothing and is not above row-level security.
        home: folder of this machine for the notes of a host's hooks, which read them without a database.
        tenant: whose rows; no statement sees another's.
        connections: at most so many at a time, for the whole process.
        objects: takes large bodies of the archive; None keeps them in rows.
        lease_s: after so long without a sign of life a pass is over.
    """

    def __init__(
        self,
        url: str,
        *,
        home: Path,
        tenant: str = TENANT,
        schema_name: str = schema.SCHEMA,
        connections: int = 4,
        objects: Objects | None = None,
        random_hex: RandomHex = secrets.token_hex,
        lease_s: float = LEASE_S,
        waits_s: tuple[float, ...] | None = None,
    ) -> None:
        more = {} if waits_s is None else {"waits_s": waits_s}
        self._link = Link(url, tenant=tenant, schema=schema_name, connections=connections, **more)
        self._keys = Keys(tenant)
        self._home = Home(home, RealDisk(), random_hex)
        self._status = StatusFiles(self._home)
        self._random_hex = random_hex
        self._secret = b""
        self._link.check = schema.check
        self.ledger = PgLedger(self._link, self._keys, random_hex, lease_s=lease_s, on_write=self._note_known)
        self.archive = PgArchive(self._link, self._keys, self.ledger, objects)
        self.search = PgSearch(self._link, self._keys)
        self.summaries = PgSummaries(self._link, self._keys)
        self.handoffs = PgHandoffs(self._link)
        self.host_notes = HostFiles(self._home.root, self._home.disk)
        self._noted: set[str] = set()

    @property
    def location(self) -> str:
        return f"postgresql {self._link.place}, tenant {self._link.tenant}"

    async def check(self) -> None:
        """Whether the database can be used at all; writes nothing.

        Raises:
            StoreUnusable, StoreNewer: see their sentences.
        """
        await schema.check(self._link)

    async def is_made(self) -> bool:
        return bool(self._secret or await self._read_secret())

    async def secret(self) -> bytes:
        if not self._secret:
            self._secret = await self._read_secret() or await self._make_secret(
                bytes.fromhex(self._random_hex(SECRET_BYTES))
            )
        return self._secret

    async def take_secret(self, secret: bytes) -> bool:
        return await self._make_secret(secret) == secret

    async def _read_secret(self) -> bytes:
        found = await self._link.run(
            "",
            lambda connection, again: connection.fetchval(
                "select secret from tenant where tenant = $1", self._link.tenant
            ),
        )
        return found or b""

    async def _make_secret(self, secret: bytes) -> bytes:
        async def work(connection: Conn, again: bool) -> bytes:
            await connection.execute(
                "insert into tenant (tenant, secret) values ($1, $2) on conflict do nothing", self._link.tenant, secret
            )
            return await connection.fetchval("select secret from tenant where tenant = $1", self._link.tenant)

        return await self._link.run("", work, writing=True)

    async def tombstones(self, key: SessionKey) -> Tombstones:
        state = await self._link.run(
            key.principal, lambda connection, again: self._keys.find(connection, key, anew=True)
        )
        return Tombstones() if state is None else state.tombstones

    async def bury(self, key: SessionKey, keys: Collection[str] = (), *, under_way: bool, whole: bool = False) -> None:
        await self._link.run(
            key.principal,
            lambda connection, again: self._keys.bury(connection, key, keys, under_way=under_way, whole=whole),
            writing=True,
        )

    async def keep_study(self, key: SessionKey, name: str, data: bytes, keys: Collection[str]) -> bool:
        return False  # many share a database; what one of them reads ahead would be a body more of each result

    async def studies(self, key: SessionKey) -> list[bytes]:
        return []

    async def forget_beside(self, key: SessionKey, gone: Forgotten) -> tuple[str, ...]:
        return tuple(await self.summaries.forget(key, gone))

    async def forget_notes(self, gone: Forgotten, principal: str = "") -> tuple[str, ...]:
        notes = await asyncio.to_thread(forget_notes, self._home, gone)
        return (*await self.handoffs.forget(gone, principal), *notes)

    async def traces(self, holds: Callable[[str], bool]) -> tuple[str, ...]:
        found: list[str] = []
        for table in ("step", "record", "entry", "summary", "aside", "checkpoint"):
            found += [
                f"{table} of {name_text(row['session_name'])}"
                async for row in self._everything(table)
                if await asyncio.to_thread(_holds, holds, table, row)
            ]
        found += [at for at, body in await self.handoffs.bodies() if any(map(holds, texts_of(body)))]
        return tuple(dict.fromkeys(found))

    async def flaws(self) -> tuple[Flaw, ...]:
        rows = await self._link.run(
            EVERYBODY,
            lambda connection, again: connection.fetch(
                "select s.session_key, s.name, s.info, s.owner, s.steps - s.missed_steps - c.steps as steps,"
                " s.records - s.missed_records - c.records as records from session s cross join lateral"
                " (select (select count(*) from step t where t.session_key = s.session_key) as steps,"
                " (select count(*) from record r where r.session_key = s.session_key) as records) c"
                " where s.tenant = $1"
                " and (s.steps - s.missed_steps <> c.steps or s.records - s.missed_records <> c.records)",
                self._link.tenant,
            ),
        )
        return tuple(
            Flaw(
                where=f"{SESSIONS}/{_folder(row)}/{part}/rows",
                what=f"{missing} of the session's rows are gone",
                severity="damage",
                lines=missing,
            )
            for row in rows
            for part, missing in ((LEDGER, row["steps"]), (ARCHIVE, row["records"]))
            if missing > 0
        )

    async def accept(self, key: SessionKey | None = None, *, losses: bool = False) -> int:
        if not losses:
            return 0

        async def work(connection: Conn, again: bool) -> int:
            state = None if key is None else await self._keys.find(connection, key, anew=True)
            if key is not None and state is None:
                return 0
            done = await connection.fetch(
                "update session s set"
                " missed_steps = s.steps - (select count(*) from step t where t.session_key = s.session_key),"
                " missed_records = s.records - (select count(*) from record r where r.session_key = s.session_key)"
                " where s.tenant = $1 and ($2::uuid is null or s.session_key = $2) and"
                " (s.steps - s.missed_steps <> (select count(*) from step t where t.session_key = s.session_key)"
                " or s.records - s.missed_records <> (select count(*) from record r"
                " where r.session_key = s.session_key)) returning 1",
                *(self._link.tenant, None if state is None else state.key),
            )
            return len(done)

        return await self._link.run(EVERYBODY if key is None else key.principal, work, writing=True)

    async def pack(self, key: SessionKey) -> tuple[int, int]:
        """Nothing: a row needs no packing."""
        return 0, 0

    async def migrate(self, *, dry_run: bool) -> Migration:
        """Nothing of it is a server's to do: the owner prepares the tables (`schema.prepare`)."""
        await self.check()
        return Migration(dry_run=dry_run, version=schema.VERSION, changes=())

    async def backup(self, target: str) -> BackupReport:
        copied = await copy_store(self, DiskStore(Path(target)), fresh=True)
        use = await DiskStore(Path(target)).disk_use()
        return BackupReport(path=target, files=copied.sessions, size_bytes=use.total)

    async def principals(self) -> tuple[str, ...]:
        rows = await self._link.run(
            EVERYBODY,
            lambda connection, again: connection.fetch(
                "select distinct on (owner) owner, info from session where tenant = $1 and info is not null",
                self._link.tenant,
            ),
        )
        return tuple(sorted({"", *(info_of(row["info"]).principal for row in rows)}))

    async def note_status(self, key: SessionKey, note: StatusNote) -> None:
        await asyncio.to_thread(self._status.put, key, note)

    async def disk_use(self) -> DiskUse:
        rows = await self._link.run(
            EVERYBODY,
            lambda connection, again: connection.fetch(
                "select s.name, s.owner, s.info,"
                " (select coalesce(sum(pg_column_size(t.body)), 0) from step t where t.session_key = s.session_key)"
                " as ledger, (select coalesce(sum(pg_column_size(r.body)), 0) from record r"
                " where r.session_key = s.session_key) as archive,"
                " (select coalesce(sum(pg_column_size(e.body) + pg_column_size(e.words)), 0) from entry e"
                " where e.session_key = s.session_key) as index from session s where s.tenant = $1",
                self._link.tenant,
            ),
        )
        ledger, archive, index = (int(sum(row[part] for row in rows)) for part in ("ledger", "archive", "index"))
        return DiskUse(
            ledger=ledger,
            archive=archive,
            index=index,
            total=ledger + archive + index,
            folders={_folder(row): int(row["ledger"] + row["archive"] + row["index"]) for row in rows},
        )

    async def aclose(self) -> None:
        await self._link.aclose()

    async def _everything(self, table: str) -> AsyncIterator[Row]:
        """Every row of a table, some sessions at a time."""
        last = uuid.UUID(int=0)
        while True:
            sessions = await self._link.run(
                EVERYBODY,
                lambda connection, again, last=last: connection.fetch(
                    "select session_key from session where tenant = $1 and session_key > $2"
                    " order by session_key limit $3",
                    *(self._link.tenant, last, _PAGE),
                ),
            )
            if not sessions:
                return
            last = sessions[-1]["session_key"]
            rows: Sequence[Row] = await self._link.run(
                EVERYBODY,
                lambda connection, again, keys=[one["session_key"] for one in sessions]: connection.fetch(
                    f"select t.*, s.name as session_name from {table} t join session s using (session_key)"
                    " where t.tenant = $1 and t.session_key = any($2::uuid[])",
                    *(self._link.tenant, keys),
                ),
            )
            for row in await self.archive.filled(rows) if table == "record" else rows:
                yield row

    def _note_known(self, key: SessionKey) -> None:
        """Hooks of this machine know the session by its folder, without asking the database."""
        if key.principal or key.session_id in self._noted:
            return
        self._noted.add(key.session_id)
        with suppress(OSError, PalimpsestError):
            self._home.make(self._home.session_folder(key), flushed=False)


def _folder(row: Row) -> str:
    principal = info_of(row["info"]).principal if row["info"] is not None else ""
    return folder_name(SessionKey(name_text(row["name"]), principal))


def _holds(holds: Callable[[str], bool], table: str, row: Row) -> bool:
    return any(map(holds, _texts(table, row)))


def _texts(table: str, row: Row) -> Iterator[str]:
    """What a row says, as it stands and decoded."""
    if table == "entry":
        yield from texts_of(texts(row))
    elif table in ("step", "record", "checkpoint") and row["enc"] != GONE:
        try:
            yield from texts_of(unpacked(row["enc"], row["body"], row["sha256"]))
        except ValueError:
            yield from texts_of(bytes(row["body"]))
    elif table in ("summary", "aside"):
        yield from texts_of(bytes(row["body"]))
