"""What a user does for a store that grows: copy it, put its small files together, let old sessions go, move it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

from ..context.fold import Fold
from ..errors import InvalidArgument, PassInProgress, StoreUnusable
from ..models.events import SessionInfo
from ..models.reports import (
    BackupReport,
    Migration,
    MovedStore,
    PackedSession,
    PurgedSession,
    RetentionReport,
)
from ..ports.store import Store
from ..settings.settings import Settings
from ..store.home import folder_name
from ..store.upkeep import copy_store
from .dependencies import noted
from .parts import Facade
from .wiring import is_database, needs_extra, open_store

FRESH = timedelta(days=1)
"""A session that was used within it is never removed for room."""


class Upkeep(Facade):
    """The library's methods about the store as files."""

    async def backup(self, target: Path | str) -> BackupReport:
        """Copy everything that cannot be made again into a new folder, while others write. The copy is a store: name it
        with `home` to verify it, to restore from it, or to go on in it.

        What was acknowledged before this began is in it. Experience in the folders of skills stands outside of the
        store and is not.

        Raises:
            OutputRefused, StoreUnusable, WriteFailed: nothing stands at the target.
        """
        self._deps.refuse_all_but_owner("A backup")
        with noted("backup") as counts:
            report = await self._deps.store.backup(str(target))
            counts |= {"files": report.files, "bytes": report.size_bytes}
            return report

    async def pack(self, session_id: str | None = None) -> tuple[PackedSession, ...]:
        """Put the small segments of one session, or of all, together, line for line. Returns those that have fewer
        now; a session with a pass under way is left out.

        Raises:
            SessionUnknown: there is none.
            WriteFailed, LockTimeout: some are as they were; run it again.
        """
        infos = (await self._sessions.find(session_id),) if session_id else await self._sessions.all()
        packed: list[PackedSession] = []
        for info in infos:
            key = self._sessions.key(info)
            try:
                async with self._deps.store.ledger.pass_lock(key):
                    before, after = await self._deps.store.pack(key)
            except PassInProgress:
                continue
            if after < before:
                packed.append(PackedSession(handle=info.handle, before=before, after=after))
        return tuple(packed)

    async def migrate(self, *, dry_run: bool = True) -> Migration:
        """Bring an older or hand-edited store up to date: its version, who may read its files, a witness for each.

        Raises:
            StoreNewer: a newer program wrote it.
            WriteFailed: run it again.
        """
        self._deps.refuse_all_but_owner("A migration")
        return await self._deps.store.migrate(dry_run=dry_run)

    async def retain(
        self, *, days: float | None = None, down_to_bytes: int | None = None, dry_run: bool = True
    ) -> RetentionReport:
        """Purge whole sessions that nobody used for so many days, then the longest unused until the store has the size.

        A session stays while a pass of it runs, while a younger one that stays came from it, and, where only room is
        asked for, while it was used within a day.

        Args:
            days: without use; None: of any age.
            down_to_bytes: of the store on disk; None: of any size.
            dry_run: only say what would go.

        Raises:
            InvalidArgument: neither is given, or one is negative.
            WriteFailed, LockTimeout: what was purged stays purged; run it again.
        """
        self._deps.refuse_all_but_owner("A retention")
        if (days is None and down_to_bytes is None) or (days or 0) < 0 or (down_to_bytes or 0) < 0:
            raise InvalidArgument(
                "A retention has an age in days, or a size to come down to.", next="Give one of them, not negative."
            )
        use = await self._deps.store.disk_use()
        now = datetime.fromisoformat(self._deps.now())
        infos = await self._sessions.all()
        aged = sorted([(await self._last_use(info), info) for info in infos], key=lambda one: one[0])
        size, gone, kept = use.total, dict[str, PurgedSession](), dict[str, str]()
        for used, info in aged:
            expired = days is not None and now - used > timedelta(days=days)
            crowded = down_to_bytes is not None and size > down_to_bytes
            if not expired and not crowded:
                continue
            if (await self._sessions.fold(info)).decided.purged and await self._is_empty(info):
                continue
            if why := await self._why_kept(info, infos, gone, fresh=not expired and now - used < FRESH):
                kept[info.handle] = why
                continue
            try:
                report = await self._parts.purge.session(info, everywhere=False, dry_run=dry_run)
            except PassInProgress:
                kept[info.handle] = "a pass of it is running"
                continue
            gone[info.session_id] = report.sessions[0]
            size -= use.folders.get(folder_name(self._sessions.key(info)), 0)
        after = size if dry_run else (await self._deps.store.disk_use()).total
        return RetentionReport(
            dry_run=dry_run,
            sessions=tuple(gone.values()),
            kept=tuple(f"{handle}: {why}" for handle, why in kept.items()),
            size_bytes=use.total,
            size_after=after,
        )

    async def _why_kept(
        self, info: SessionInfo, infos: tuple[SessionInfo, ...], gone: dict[str, PurgedSession], *, fresh: bool
    ) -> str:
        for other in infos:
            if other.session_id not in gone and other.parent == info.session_id:
                return f"{other.handle} came from it, and finds batches there"
        return "it was used within a day" if fresh else ""

    async def _last_use(self, info: SessionInfo) -> datetime:
        """The newest time that any event of it names."""
        page = await self._deps.store.ledger.read(self._sessions.key(info))
        times = [_time(event.ts) for event in page.events if event.ts]
        return max([_time(info.created), *times])

    async def _is_empty(self, info: SessionInfo) -> bool:
        fold: Fold = await self._sessions.fold(info)
        return not any(
            seen.item.content is not None for state in fold.states.values() for seen in state.versions.values()
        )


def _time(text: str) -> datetime:
    """Of an event; one that says none was long ago."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    return found if found.tzinfo else found.astimezone()


# A database made ready, and a store moved into another one: folder to database and back.


async def prepare_database(url: str, roles: tuple[str, ...], *, dry_run: bool) -> Migration:
    """Make or renew the tables of a database, and give roles their rights.

    Args:
        url: of the role that owns them.

    Raises:
        StoreUnusable, StoreNewer, InvalidArgument: nothing was changed.
    """
    with needs_extra():
        from ..store.postgres import schema
    changes = await schema.prepare(url, roles=roles, dry_run=dry_run)
    return Migration(dry_run=dry_run, version=schema.VERSION, changes=changes)


async def move(
    source: str, target: str, *, dry_run: bool, told: Callable[[SessionInfo], None] = lambda info: None
) -> MovedStore:
    """Copy what one store holds into another; the first stays as it is. Stopped, it goes on when it is called again.

    Args:
        source, target: a folder, or a database's URL.

    Raises:
        InvalidArgument: both are one, or one stands in the other.
        StoreUnusable: there is nothing to move, or one of them cannot be used.
        RecordDamaged, ExchangeRefused, WriteFailed: what was moved before is whole.
    """
    _refuse_one_in_the_other(source, target)
    async with _opened(source) as first, _opened(target) as second:
        made = await _is_made(first, source, "--from")
        await _is_made(second, target, "--to")
        if not made:
            raise StoreUnusable(f"There is no store at {first.location}.", next="Name one with --from.")
        return await copy_store(first, second, dry_run=dry_run, told=told)


def _refuse_one_in_the_other(source: str, target: str) -> None:
    """By whatever names: the first stays as it is, so the second cannot be part of it."""
    if source == target:
        raise InvalidArgument("Both stores are the same one.", next="Name another with --to.")
    if is_database(source) or is_database(target):
        return
    first, second = Path(source).expanduser().resolve(), Path(target).expanduser().resolve()
    if first == second:
        raise InvalidArgument("Both stores are the same one.", next="Name another with --to.")
    if first in second.parents or second in first.parents:
        raise InvalidArgument("One of the stores stands in the other.", next="Name a folder outside of it.")


async def _is_made(store: Store, named: str, option: str) -> bool:
    """As the store says; where it cannot be used, the next step names the option that gave it."""
    try:
        return await store.is_made()
    except StoreUnusable as error:
        if is_database(named):
            raise
        raise StoreUnusable(error.message, next=f"Name another with {option}.") from None


async def shared_secret(home: str | None) -> bytes:
    """The secret of the database that the settings name, which all its servers have; empty where the store is a folder.

    Raises:
        StoreUnusable, StoreNewer, InvalidSettings: the database cannot be used.
    """
    settings = Settings.load(home=home)
    if not settings.store.get_secret_value():
        return b""
    async with _opened(settings.store.get_secret_value(), home) as store:
        return await store.secret()


@asynccontextmanager
async def _opened(place: str, home: str | None = None) -> AsyncGenerator[Store]:
    chosen = Settings.load(store=place, home=home) if is_database(place) else Settings.load(home=place, store="")
    store = open_store(chosen, lambda: datetime.now().astimezone(), secrets.token_hex)
    try:
        yield store
    finally:
        await store.aclose()
