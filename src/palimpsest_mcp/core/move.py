"""A database made ready, and a store moved into another one: folder to database and back."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from ..errors import InvalidArgument, StoreUnusable
from ..models.events import SessionInfo
from ..models.maintenance import Migration, MovedStore
from ..ports.store import Store
from ..settings.settings import Settings
from ..store.copy_store import copy_store
from .wiring import is_database, needs_extra, open_store


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
