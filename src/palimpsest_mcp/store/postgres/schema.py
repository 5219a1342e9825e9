"""The tables, brought to what this program needs: plain SQL, one file a version, each in a transaction of its own."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from importlib.resources import files
from typing import Any, NamedTuple

import asyncpg

from ...errors import StoreNewer, StoreUnusable
from .errors import PREPARE, in_words, no_schema
from .link import Link, Url, checked_name
from .pool import CONNECT_TIMEOUT_S, Line

SCHEMA = "palimpsest"
"""Of the tables in the database."""
_LOCK = 0x70616C69
"""Of the advisory lock that servers which start at once wait for."""
MONTHS_AHEAD = 12
OLDEST_SERVER = 130000
_TABLES = "name, session, step, record, summary, aside, entry, lease, handoff, handoff_removed, tenant, unsearched"
_FUNCTIONS = (
    "add_records(text, text, uuid, int, text, bigint, bytea[], smallint[], bytea[], int[], bytea[], bytea[])",
    "add_step(text, text, uuid, int, bigint, bigint, bytea, int, int, text, bigint, smallint, bytea, bytea,"
    " boolean, int)",
    "records_of(text, text, uuid, bytea, boolean)",
    "session_named(text, text, bytea)",
    "session_of_handle(text, text, bytea)",
    "steps_after(text, text, uuid, bigint, int)",
    "counted(text[], uuid[], int)",
    "found(text, text, uuid[], int, int)",
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


def steps() -> tuple[Step, ...]:
    """Every version, lowest first."""
    found = [
        one for one in files(__name__.rpartition(".")[0]).joinpath("migrations").iterdir() if one.name.endswith(".sql")
    ]
    return tuple(
        Step(int(one.name.split("_")[0]), one.name.removesuffix(".sql"), one.read_text(encoding="utf-8"))
        for one in sorted(found, key=lambda one: one.name)
    )


VERSION = 3
"""Of the tables that this program reads and writes."""


async def check(link: Link) -> None:
    """Whether the tables are those of this program, and the role one that sees its own rows only.

    Raises:
        StoreUnusable, StoreNewer: see their sentences.
    """

    async def look(connection: Line, again: bool) -> tuple[int | None, bool, int]:
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
    try:
        connection: Any = await asyncpg.connect(url, statement_cache_size=0, timeout=CONNECT_TIMEOUT_S)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
        raise in_words(error, place, writing=False) from error
    done: tuple[str, ...] = ()
    try:
        async with connection.transaction():
            await connection.execute(f"select pg_advisory_xact_lock({_LOCK})")
            done = await _prepare(connection, place, schema, roles, today or datetime.now(UTC).date())
            if dry_run:
                raise _NotNow
        return done
    except _NotNow:
        return done
    except asyncpg.PostgresError as error:
        raise in_words(error, place, writing=False) from error
    finally:
        await connection.close(timeout=5)


async def _prepare(connection: Any, place: str, schema: str, roles: tuple[str, ...], today: date) -> tuple[str, ...]:
    done: list[str] = []
    if not await connection.fetchval("select exists (select from pg_namespace where nspname = $1)", schema):
        await connection.execute(f'create schema "{schema}"')
        done.append(f"schema {schema}")
    await connection.execute(f'set local search_path = "{schema}", pg_temp')
    made = await connection.fetchval("select to_regclass('migration') is not null")
    known: set[int] = set()
    if made:
        known = {row["version"] for row in await connection.fetch("select version from migration")}
    if known and max(known) > VERSION:
        raise StoreNewer(
            f"The tables at {place} are of version {max(known)}; this program knows {VERSION}.",
            next="Update palimpsest-mcp on this machine.",
        )
    for one in steps():
        if one.version not in known:
            await connection.execute(one.sql)
            await connection.execute(
                "insert into migration (version, name, sha256) values ($1, $2, $3)", one.version, one.name, one.sha256
            )
            done.append(f"tables of version {one.version}")
    for number in range(-1, MONTHS_AHEAD + 1):
        month = today.year * 12 + today.month - 1 + number
        first = date(month // 12, month % 12 + 1, 1)
        if await connection.fetchval("select make_month($1)", first):
            done.append(f"partitions of {first:%Y-%m}")
    for role in (*roles, *(await _known_roles(connection, schema, roles) if done else ())):
        await _grant(connection, schema, role)
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


async def _grant(connection: Any, schema: str, role: str) -> None:
    if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", role):
        raise StoreUnusable(
            f"There is no role {role} in the database.", next=f"Create it: create role \"{role}\" login password '…';"
        )
    await connection.execute(f'grant usage on schema "{schema}" to "{role}"')
    await connection.execute(f'grant select on migration to "{role}"')
    await connection.execute(f'grant {_RIGHTS} on {_TABLES} to "{role}"')
    for function in _FUNCTIONS:
        await connection.execute(f'grant execute on function {function} to "{role}"')
