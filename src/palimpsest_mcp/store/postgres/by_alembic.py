"""The same tables by Alembic: a revision is one of the SQL files, run under the same lock and noted in the same table
as by `schema.prepare`, so that either may go on where the other stopped. Needs `palimpsest-mcp[alembic]`.

`migration` says what the tables are; Alembic's own table, beside it in the schema, is set to that before each command.
A file of the same name in `alembic/versions` makes a SQL file a revision.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from logging.config import fileConfig
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import asyncpg
from alembic import context
from alembic.runtime.migration import MigrationInfo
from alembic.util import CommandError
from sqlalchemy import Connection, NullPool
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from ...errors import PalimpsestError
from . import schema
from .link import Url, checked_name, in_words
from .schema import LOCK, SCHEMA, VERSION, Step

T = TypeVar("T")
_DIALECT = "postgresql+asyncpg://"
_MONTHS = (
    "select make_month((date_trunc('month', now() at time zone 'utc') + make_interval(months => n))::date)"
    f" from generate_series(-1, {schema.MONTHS_AHEAD}) n"
)


class Revision(NamedTuple):
    """What Alembic looks for in a file of `versions`."""

    doc: str
    revision: str
    down_revision: str | None
    upgrade: Callable[[], None]
    downgrade: Callable[[], None]


def revision_of(file: str) -> Revision:
    """The revision that stands for the SQL file of this name."""
    before: Step | None = None
    for one in schema.steps():
        if one.name == Path(file).stem:
            return Revision(one.name, _id(one.version), _id(before.version) if before else None, _upgrade(one), _refuse)
        before = one
    raise CommandError(f"{file} has no SQL file of its name.")


def _id(version: int) -> str:
    return f"{version:04}"


def _upgrade(one: Step) -> Callable[[], None]:
    def upgrade() -> None:
        for statement in one.statements:
            if context.is_offline_mode():
                context.static_output(f"{statement.rstrip().rstrip(';')};")
            else:
                _on(context.get_bind(), lambda line, statement=statement: line.execute(statement))

    return upgrade


def _refuse() -> NoReturn:
    raise CommandError(
        "The tables only go forward, since an older version would lose what was written by a newer."
        " Next: Restore a backup of the database."
    )


def run() -> None:
    """Do what the command asks: all of it in one transaction, or, with `--sql`, print that transaction."""
    file = context.config.config_file_name
    if file and context.config.file_config.has_section("loggers"):
        fileConfig(file, disable_existing_loggers=False, encoding="utf-8")
    try:
        options = [one.partition("=") for one in context.get_x_argument()]
        if unknown := {name for name, _, _ in options} - {"role", "store"}:
            raise CommandError(f"-x takes role=NAME and store=URL, not {', '.join(sorted(unknown))}.")
        roles = tuple(checked_name(value, "role") for name, _, value in options if name == "role")
        if context.is_offline_mode():
            _print(roles)
            return
        stores = [value for name, _, value in options if name == "store"]
        url = stores[-1] if stores else context.config.get_main_option("sqlalchemy.url") or ""
        asyncio.run(_run(re.sub(r"^(postgres(?:ql)?)\+\w+:", r"\1:", url), roles))
    except PalimpsestError as error:
        raise CommandError(str(error)) from error


def _print(roles: tuple[str, ...]) -> None:
    applied: list[str] = []

    def note(ctx: Any, step: MigrationInfo, heads: Any, run_args: Any) -> None:
        if step.is_upgrade and not step.is_stamp:
            applied.append(str(step.up_revision_id))

    context.configure(url=_DIALECT, version_table_schema=SCHEMA, on_version_apply=note)
    with context.begin_transaction():
        for statement in (LOCK, f'create schema if not exists "{SCHEMA}"', schema.search_path(SCHEMA)):
            context.static_output(f"{statement};")
        context.run_migrations()
        if _id(VERSION) in applied:
            for statement in (_MONTHS, *(one for role in roles for one in schema.rights(SCHEMA, role))):
                context.static_output(f"{statement};")


async def _run(url: str, roles: tuple[str, ...]) -> None:
    place = Url(url).place
    line = await schema.owners_connection(url)

    async def connection_of() -> Any:
        return line

    engine = create_async_engine(_DIALECT, async_creator=connection_of, poolclass=NullPool)
    try:
        async with engine.connect() as connection, connection.begin() as transaction:
            done = await connection.run_sync(_migrate, place, roles)
            if done is None:
                await transaction.rollback()
    except (asyncpg.PostgresError, DBAPIError) as error:
        first = error.orig.__cause__ if isinstance(error, DBAPIError) and error.orig else error
        raise in_words(first if isinstance(first, Exception) else error, place, writing=False) from error
    finally:
        await line.close(timeout=5)
    for change in done or ():
        context.config.print_stdout(change)


def _migrate(connection: Connection, place: str, roles: tuple[str, ...]) -> tuple[str, ...] | None:
    """What was done, in words; None where the command only reads."""
    connection.exec_driver_sql(LOCK)  # the first statement: by it SQLAlchemy begins the transaction of all others
    done = _on(connection, lambda line: schema.begin(line, SCHEMA))
    before = _on(connection, lambda line: schema.versions(line, place))
    context.configure(connection=connection, version_table_schema=SCHEMA)
    own = context.get_context()
    own.stamp(context.script, _id(max(before)) if before else "base")
    context.run_migrations()
    if own.opts.get("dont_mutate"):
        return None
    after = _on(connection, lambda line: schema.versions(line, place))
    newest = max(after, default=0)
    if own.get_current_heads() != ((_id(newest),) if newest else ()):
        raise CommandError(
            f"The tables at {place} are of version {newest}, so no other can be stamped; nothing was changed."
            " Next: Run `alembic upgrade head`."
        )
    done += tuple(f"tables of version {one}" for one in sorted(after - before))
    if newest == VERSION:
        done += _on(connection, lambda line: schema.finish(line, SCHEMA, roles, changed=bool(done)))
    elif roles:
        raise CommandError("Rights are for the newest tables; nothing was changed. Next: Run `alembic upgrade head`.")
    return done or (f"nothing to do: the tables have version {newest}",)


def _on(connection: Connection, work: Callable[[Any], Awaitable[T]]) -> T:
    """What work on asyncpg's own connection gives: a file of many statements goes to the server as it is."""
    line: Any = connection.connection.dbapi_connection
    return line.run_async(work)
