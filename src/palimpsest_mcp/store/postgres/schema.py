"""The tables, brought to what this program needs: plain SQL, one file a version, each in a transaction of its own."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from importlib.resources import files
from typing import Any, NamedTuple

import asyncpg

from ...errors import StoreNewer, StoreUnusable
from .link import PREPARE, Link, Url, checked_name, in_words, no_schema
from .pool import CONNECT_TIMEOUT_S, PoolConnection

SCHEMA = "palimpsest"
"""Of the tables in the database."""
LOCK = f"select pg_advisory_xact_lock({0x70616C69})"
"""Whoever changes the tables has this lock until the transaction ends; who starts at the same time waits for it."""
MONTHS_AHEAD = 12
OLDEST_SERVER = 130000
_TABLES = (
    "name, session, step, record, summary, aside, entry, lease, handoff, handoff_removed, tenant, unsearched,"
    " checkpoint"
)
_FUNCTIONS = (
    "add_records(text, text, uuid, int, text, bigint, bytea[], smallint[], bytea[], int[], bytea[], bytea[])",
    "add_step(text, text, uuid, int, bigint, bigint, bytea, int, int, text, bigint, smallint, bytea, bytea,"
    " boolean, int)",
    "add_step_at(text, text, uuid, int, bigint, bigint, bytea, int, int, text, bigint, smallint, bytea, bytea,"
    " boolean, int)",
    "records_of(text, text, uuid, bytea, boolean)",
    "session_named(text, text, bytea)",
    "session_of_handle(text, text, bytea)",
    "session_since(text, text, bytea, bigint, int)",
    "steps_after(text, text, uuid, bigint, int)",
    "counted(text[], uuid[], int)",
    "found(text, text, uuid[], int, int)",
    "count_words(text, text, text[], uuid[], uuid[], int)",
    "find_words(text, text, text[], text[], uuid[], uuid[], int, int)",
    "unsearched_sessions(text, text)",
    "unsearched_batches(text, text, bytea)",
    "archived_batches(text, text, bytea)",
    "newest_records(text, text, bytea, bytea[])",
    "sessions_named(text, text, bytea[])",
    "sessions_beginning(text, text, bytea)",
    "sessions_by_birth(text, text, int, int, boolean)",
    "search_words(text, text, text[], bigint[], text[], text[], text[], int[], text[], boolean[], int, uuid[],"
    " uuid[], int, int, int, int, int, int, int)",
    "session_opened(text, text, bytea)",
    "session_marks(text, text, bytea[])",
    "sessions_searched(text, text, bytea[])",
    "batches_archived(text, text, bytea)",
    "sessions_opened(text, text, bytea[], int, int)",
    "search_entries(text, text, text[], bigint[], text[], text[], text[], int[], text[], int[], int, uuid[],"
    " uuid[], int, int, int, int, int, int, int, boolean)",
)
_RIGHTS = "select, insert, update, delete"


class Step(NamedTuple):
    """One version of the tables."""

    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def statements(self) -> tuple[str, str]:
        """What makes it, and what notes that it was made."""
        row = f"{self.version}, '{self.name}', '{self.sha256}'"
        return self.sql, f"insert into migration (version, name, sha256) values ({row})"


def steps() -> tuple[Step, ...]:
    """Every version, lowest first."""
    found = [
        one for one in files(__name__.rpartition(".")[0]).joinpath("migrations").iterdir() if one.name.endswith(".sql")
    ]
    return tuple(
        Step(int(one.name.split("_")[0]), one.name.removesuffix(".sql"), one.read_text(encoding="utf-8"))
        for one in sorted(found, key=lambda one: one.name)
    )


VERSION = 9
"""Of the tables that this program reads and writes."""


async def check(link: Link) -> None:
    """Whether the tables are those of this program, and the role one that sees its own rows only.

    Raises:
        StoreUnusable, StoreNewer: see their sentences.
    """

    async def look(connection: PoolConnection, again: bool) -> tuple[int | None, bool, int]:
        row = await connection.fetchrow(
            "select current_setting('server_version_num')::int as server, to_regclass('migration') is not null as made,"
            " (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)"
            " or coalesce(pg_has_role(current_user, (select relowner from pg_class where oid = to_regclass('step')),"
            " 'MEMBER'), false) as mighty"
        )
        version = await connection.fetchval("select max(version) from migration") if row["made"] else None
        return version, row["mighty"], row["server"]

    version, mighty, server = await link.run("", look)
    if server < OLDEST_SERVER:
        raise StoreUnusable(
            f"The database at {link.place} is PostgreSQL {server // 10000}.", next="Use version 13 or newer."
        )
    if version is None:
        raise no_schema(link.place)
    if version > VERSION:
        raise StoreNewer(
            f"The tables at {link.place} are of version {version}; this program knows {VERSION}.",
            next="Update palimpsest-mcp on this machine.",
        )
    if version < VERSION:
        raise StoreUnusable(
            f"The tables at {link.place} are of version {version}; this program needs {VERSION}.",
            next=f"Let the owner run `{PREPARE}`: servers of the older version go on meanwhile.",
        )
    if mighty:
        raise StoreUnusable(
            "The role of the store's URL owns the tables or is above row-level security: it could see every tenant.",
            next=f"Sign in as another role, and let the owner give it its rights: `{PREPARE} --role ROLE`.",
        )


class _NotNow(Exception):
    """What a dry run did is taken back."""


async def prepare(
    url: str,
    *,
    schema: str = SCHEMA,
    roles: tuple[str, ...] = (),
    today: date | None = None,
    dry_run: bool = False,
) -> tuple[str, ...]:
    """Make the tables, or bring them to this program's version; make the partitions of the coming months; give roles
    their rights. Any number of processes may call it at once; called again, it changes nothing.

    Args:
        url: of a role that may make a schema in the database, and owns it afterwards.

    Returns:
        What was done, in words; with `dry_run`, what would be.

    Raises:
        StoreUnusable, StoreNewer: nothing was changed.
    """
    place, schema = Url(url).place, checked_name(schema, "schema")
    for role in roles:
        checked_name(role, "role")
    connection = await owners_connection(url)
    done: tuple[str, ...] = ()
    try:
        async with connection.transaction():
            await connection.execute(LOCK)
            done = await _prepare(connection, place, schema, roles, today)
            if dry_run:
                raise _NotNow
        return done
    except _NotNow:
        return done
    except asyncpg.PostgresError as error:
        raise in_words(error, place, writing=False) from error
    finally:
        await connection.close(timeout=5)


async def _prepare(
    connection: Any, place: str, schema: str, roles: tuple[str, ...], today: date | None
) -> tuple[str, ...]:
    done = await begin(connection, schema)
    known = await versions(connection, place)
    for one in steps():
        if one.version not in known:
            for statement in one.statements:
                await connection.execute(statement)
            done += (f"tables of version {one.version}",)
    return done + await finish(connection, schema, roles, today=today, changed=bool(done))


# The parts of it, for Alembic too (`by_alembic`). Each runs in a transaction that has the lock.


async def owners_connection(url: str) -> Any:
    """A connection of the role that owns the tables.

    Raises:
        StoreUnusable: there is none to be had.
    """
    try:
        return await asyncpg.connect(url, statement_cache_size=0, timeout=CONNECT_TIMEOUT_S)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
        raise in_words(error, Url(url).place, writing=False) from error


async def begin(connection: Any, schema: str) -> tuple[str, ...]:
    """Make the schema if it is not there; the rest of the transaction is about it."""
    made = await connection.fetchval("select exists (select from pg_namespace where nspname = $1)", schema)
    if not made:
        await connection.execute(f'create schema "{schema}"')
    await connection.execute(search_path(schema))
    return () if made else (f"schema {schema}",)


async def versions(connection: Any, place: str) -> set[int]:
    """Those that the tables went through.

    Raises:
        StoreNewer: one of them is of a newer program.
    """
    if not await connection.fetchval("select to_regclass('migration') is not null"):
        return set()
    known = {row["version"] for row in await connection.fetch("select version from migration")}
    if known and max(known) > VERSION:
        raise StoreNewer(
            f"The tables at {place} are of version {max(known)}; this program knows {VERSION}.",
            next="Update palimpsest-mcp on this machine.",
        )
    return known


async def finish(
    connection: Any, schema: str, roles: tuple[str, ...], *, today: date | None = None, changed: bool
) -> tuple[str, ...]:
    """Make the partitions of the coming months, and give roles their rights.

    Args:
        changed: something new is in the schema, which those who had rights before need too.

    Raises:
        StoreUnusable: there is no such role.
    """
    done: list[str] = []
    today = today or datetime.now(UTC).date()
    for number in range(-1, MONTHS_AHEAD + 1):
        month = today.year * 12 + today.month - 1 + number
        first = date(month // 12, month % 12 + 1, 1)
        if await connection.fetchval("select make_month($1)", first):
            done.append(f"partitions of {first:%Y-%m}")
    for role in (*roles, *(await _known_roles(connection, schema, roles) if changed or done else ())):
        if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", role):
            raise StoreUnusable(
                f"There is no role {role} in the database.",
                next=f"Create it: create role \"{role}\" login password '…';",
            )
        for statement in rights(schema, role):
            await connection.execute(statement)
        done.append(f"rights of {role}")
    return tuple(done)


async def _known_roles(connection: Any, schema: str, named: tuple[str, ...]) -> tuple[str, ...]:
    """Roles that were given their rights before: what is new in the schema is for them too."""
    rows = await connection.fetch(
        "select r.rolname from pg_class c cross join aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee"
        " where c.oid = to_regclass($1) and a.privilege_type = 'SELECT' and a.grantee <> c.relowner order by 1",
        f'"{schema}".migration',
    )
    return tuple(row["rolname"] for row in rows if row["rolname"] not in named)


def search_path(schema: str) -> str:
    """The statement that the rest of a transaction is about this schema by."""
    return f'set local search_path = "{schema}", pg_temp'


def rights(schema: str, role: str) -> tuple[str, ...]:
    """The statements that give a role what a server needs."""
    return (
        f'grant usage on schema "{schema}" to "{role}"',
        f'grant select on migration to "{role}"',
        f'grant {_RIGHTS} on {_TABLES} to "{role}"',
        *(f'grant execute on function {function} to "{role}"' for function in _FUNCTIONS),
    )
