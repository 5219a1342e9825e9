"""What the server's errors mean for a caller, in words. Never the server's own: these may quote what was stored."""

from __future__ import annotations

import asyncio

import asyncpg

from ...errors import LockTimeout, PalimpsestError, StoreUnusable, WriteFailed

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
