"""The way to the server: pools, transactions that say whose rows they may see, and what happens when a connection
breaks: the server's errors in words for the caller, never its own, which may quote what was stored."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

import asyncpg

from ...errors import InvalidArgument, LockTimeout, PalimpsestError, StoreUnusable, WriteFailed
from .pool import GroupCommit, Pool, PoolConnection, Statement

PREPARE = "palimpsest-mcp migrate --yes --store OWNERS-URL"
_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.UniqueViolationError,  # an append that was in doubt is there after all
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server is just ending this connection
    ConnectionError,
    TimeoutError,
    asyncio.TimeoutError,
    EOFError,
    OSError,
)


def may_pass(error: Exception) -> bool:
    """Whether the same may work on another connection."""
    return isinstance(error, _LOST) and not isinstance(error, asyncpg.exceptions.ClientConfigurationError)


def in_words(error: Exception, place: str, *, writing: bool) -> PalimpsestError:
    """The error for the caller.

    Args:
        place: host, port and database, for people.
        writing: something was to be written.
    """
    failed = WriteFailed if writing else StoreUnusable
    unchanged = ", so nothing was written" if writing else ""
    match error:
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return StoreUnusable(
                f"The database at {place} refuses this user or password.",
                next="Correct them in the store's URL (setting `store`), or in the file that PGPASSFILE names.",
            )
        case asyncpg.InvalidCatalogNameError():
            return StoreUnusable(
                f"There is no such database: {place}.", next="Create it (`createdb`), or correct its name in the URL."
            )
        case asyncpg.UndefinedTableError() | asyncpg.InvalidSchemaNameError() | asyncpg.UndefinedFunctionError():
            return no_schema(place)
        case asyncpg.ReadOnlySQLTransactionError():
            return failed(
                f"The database at {place} takes no writes: it is a standby, or set to read only.",
                next="Name the primary in the store's URL.",
            )
        case asyncpg.InsufficientPrivilegeError():
            return failed(
                f"The role lacks a right in the database at {place}{unchanged}.",
                next=f"Let the owner of the schema run `{PREPARE} --role ROLE` for it.",
            )
        case asyncpg.DiskFullError() | asyncpg.OutOfMemoryError():
            return failed(
                f"The database at {place} has no room left{unchanged}.",
                next="Free space on the database's disk, then run the same again.",
            )
        case asyncpg.DataCorruptedError():
            return failed(
                f"The database at {place} gives back other bytes than it was given{unchanged}.",
                next="Check the database's disk, and restore it from a backup if it is damaged.",
            )
        case asyncpg.TooManyConnectionsError():
            return StoreUnusable(
                f"The database at {place} has no connection left.",
                next="Put a pooler before it, or lower the setting `store_connections` of the servers.",
            )
        case asyncpg.QueryCanceledError() | asyncpg.LockNotAvailableError():
            return LockTimeout(
                f"The database at {place} did not get to it in time{unchanged}.",
                next="Try again; if it stays, look in the database for a transaction that never ends.",
            )
        case asyncpg.PostgresError() if not may_pass(error):
            state = error.sqlstate or "no code"
            return failed(
                f"The database at {place} refused a statement ({type(error).__name__}, {state}){unchanged}.",
                next="Look in the database's log for that code; if it is none of its doing, report it.",
            )
        case _:
            return failed(
                f"The database at {place} does not answer ({type(error).__name__}){unchanged}.",
                next="Start it, or correct host and port in the store's URL (setting `store`), then try again.",
            )


def no_schema(place: str) -> StoreUnusable:
    """There is a database, and nothing of ours in it."""
    return StoreUnusable(
        f"The database at {place} has no tables of this program yet, or this role may not use them.",
        next=f"Let the owner run `{PREPARE} --role ROLE` once; ROLE is what the servers sign in as.",
    )


Row: TypeAlias = Any
"""Of asyncpg; what is in it is named in the statement above."""
Conn: TypeAlias = PoolConnection
"""A connection in a transaction."""
T = TypeVar("T")
Work: TypeAlias = Callable[[Conn, bool], Awaitable[T]]
"""Statements of one transaction; the flag says that an earlier attempt may have been committed."""


class Everybody(Enum):
    """In the place of a principal: all of the tenant's rows. No name that a caller gives is it."""

    EVERYBODY = "*"


EVERYBODY: Final = Everybody.EVERYBODY
_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?")
_WAITS_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0)
"""Before each new attempt: a server that restarts is back within seconds."""


def owner_of(principal: str) -> bytes:
    """By what a principal's rows are known: a hash of a fixed size, empty for the local user."""
    return hashlib.sha256(principal.encode("utf-8", "surrogatepass")).digest() if principal else b""


def is_url(value: str) -> bool:
    """Whether a setting names a database, and not a folder."""
    return value.startswith(("postgresql://", "postgres://"))


class Url:
    """A database's URL, checked.

    Raises:
        InvalidArgument: it is none, or has a value that is out of range.
    """

    def __init__(self, text: str) -> None:
        try:
            parts = urlsplit(text)
            name, host, port = parts.path.lstrip("/"), parts.hostname or "localhost", parts.port or 5432
        except ValueError:
            parts, name, host, port = None, "", "", 0
        if parts is None or not is_url(text) or not name:
            raise InvalidArgument(
                "The store's URL is not one of a PostgreSQL database.",
                next="Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE.",
            )
        self.text = text
        self.place = f"{host}:{port}/{name}"
        """For people: without user and password."""


def checked_name(name: str, what: str) -> str:
    """A tenant or schema, if it may stand in a statement.

    Raises:
        InvalidArgument: it may not.
    """
    if not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"The {what} is not a plain name.", next="Use lower-case letters, digits, - and _; at most 64 of them."
        )
    return name


# One pool a database and event loop: every principal's store of a process takes its connections from the same.


class _Shared:
    def __init__(self, pool: Pool) -> None:
        self.pool, self.group_commit = pool, GroupCommit(pool)
        self.users = 0


_POOLS: dict[tuple[str, int, int], _Shared] = {}


async def _undo(connection: PoolConnection) -> None:
    """Roll back, or let the connection go where that cannot be done at once."""
    done = False
    try:
        async with asyncio.timeout(5):
            await connection.execute("ROLLBACK")
        done = True
    except Exception:  # it is broken: what was wrong first is what the caller hears of
        pass
    finally:
        if not done:
            connection.terminate()


class Link:
    """Transactions of one tenant.

    Args:
        schema: of the tables.
        connections: at most so many at a time, for the whole process.
        waits_s: before each attempt after the first.
    """

    def __init__(
        self, url: str, *, tenant: str, schema: str, connections: int = 4, waits_s: tuple[float, ...] = _WAITS_S
    ) -> None:
        self.url = Url(url)
        self.tenant = checked_name(tenant, "tenant")
        self.schema = checked_name(schema, "schema")
        self._connections = connections
        self._waits_s = waits_s
        self._key: tuple[str, int, int] | None = None
        self.check: Callable[[Link], Awaitable[None]] | None = None
        """Looks at the tables before the first transaction."""

    @property
    def place(self) -> str:
        """For people."""
        return self.url.place

    def whose(self, principal: str) -> tuple[str, str]:
        """Tenant and owner, as the functions in the database take them."""
        return self.tenant, owner_of(principal).hex()

    async def run(
        self,
        principal: str | Everybody,
        work: Work[T],
        *,
        writing: bool = False,
        durable: bool = True,
        at_once: Statement | None = None,
    ) -> T:
        """Do work in a transaction that sees one principal's rows, again on a new connection where one breaks.

        The work must be one that may be repeated: by a compare-and-set, or by a name that is taken once.

        Args:
            principal: or `EVERYBODY`.
            durable: False lets a crash of the server lose the last moments of it.
            at_once: tried first: the same as one statement, which gives None where it did not.

        Raises:
            StoreUnusable, WriteFailed, LockTimeout: by what the server says.
        """
        owner = principal.value if isinstance(principal, Everybody) else owner_of(principal).hex()

        async def attempt(again: bool) -> T:
            if at_once and not again and (done := await self._shared().group_commit.run(at_once)) is not None:
                return done
            async with self._transaction(owner, writing=writing, durable=durable) as connection:
                return await work(connection, again)

        return await self._tried(attempt, writing=writing)

    async def ask(self, function: str, principal: str, *values: Any) -> list[Row]:
        """Rows of a function that reads, which sets tenant and owner itself: a transaction of one statement.

        Args:
            function: its name and its parameters from the third on, `f($1, $2, $3)`.

        Raises:
            StoreUnusable, LockTimeout: by what the server says.
        """

        async def attempt(again: bool) -> list[Row]:
            async with self._shared().pool.line() as connection:
                return await connection.fetch(
                    f'select * from "{self.schema}".{function}', *self.whose(principal), *values
                )

        return await self._tried(attempt, writing=False)

    async def _tried(self, attempt: Callable[[bool], Awaitable[T]], *, writing: bool) -> T:
        """What an attempt gives, on a new connection where one breaks."""
        if (check := self.check) is not None:
            self.check = None
            try:
                await check(self)
            except BaseException:
                self.check = check
                raise
        again = False
        for wait_s in (*self._waits_s, None):
            try:
                return await attempt(again)
            except PalimpsestError:
                raise
            except Exception as error:
                if wait_s is None or not may_pass(error):
                    raise in_words(error, self.place, writing=writing) from error
                again = True
            await asyncio.sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    @asynccontextmanager
    async def _transaction(self, owner: str, *, writing: bool, durable: bool) -> AsyncGenerator[Conn]:
        async with self._shared().pool.line() as connection:
            await connection.execute(
                f'BEGIN{"" if writing else " READ ONLY"}; SET LOCAL search_path = "{self.schema}", pg_temp;'
                f" SET LOCAL palimpsest.tenant = '{self.tenant}'; SET LOCAL palimpsest.owner = '{owner}'"
                f"{'' if durable else '; SET LOCAL synchronous_commit = off'}"
            )
            try:
                yield connection
                if await connection.execute("COMMIT") != "COMMIT":
                    raise ConnectionError("rolled back")
            except BaseException:
                await _undo(connection)
                raise

    def _shared(self) -> _Shared:
        if self._key is not None and (shared := _POOLS.get(self._key)) is not None:
            return shared
        key = (self.url.text, id(asyncio.get_running_loop()), self._connections)
        shared = _POOLS.get(key)
        if shared is None:
            shared = _POOLS[key] = _Shared(Pool(self.url.text, self._connections))
        if self._key != key:
            self._key = key
            shared.users += 1
        return shared

    async def aclose(self) -> None:
        """Close the connections, if nobody else in the process uses them."""
        key, self._key = self._key, None
        shared = _POOLS.get(key) if key is not None else None
        if shared is None or key is None:
            return
        shared.users -= 1
        if shared.users <= 0:
            del _POOLS[key]
            await shared.pool.close()
