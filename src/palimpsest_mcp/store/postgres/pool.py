"""Connections of one process to one server, at most so many, each with the statements that it has described.

What the pools tell whoever measures them has the names that OpenTelemetry has for clients of databases. Nothing is
measured where nobody imported the metrics API, and nothing but numbers is told.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any, NamedTuple, Protocol

import asyncpg

from ...errors import PalimpsestError, StoreUnusable

POOL = {"db.client.connection.pool.name": "palimpsest"}
SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30)
"""Buckets of waits."""


class Counted(Protocol):
    """A pool, as it stands now."""

    most: int
    used: int
    waiting: int

    @property
    def idle(self) -> int: ...


_POOLS: set[Counted] = set()


def begin(pool: Counted) -> None:
    """Count a pool from now on."""
    _POOLS.add(pool)
    _instruments_if_any()


def end(pool: Counted) -> None:
    """Count it no more."""
    _POOLS.discard(pool)


def note_wait(seconds: float) -> None:
    """A caller waited so long for its turn."""
    if (wait := _instruments_if_any()) is not None:
        wait.record(seconds, POOL)


def _instruments_if_any() -> Any:
    return instruments() if "opentelemetry.metrics" in sys.modules else None


@cache
def instruments() -> Any:
    """Made once; what is not a count of now is recorded with what comes back: the histogram of waits."""
    metrics = sys.modules["opentelemetry.metrics"]
    meter = metrics.get_meter("palimpsest_mcp")

    def of(count: Callable[[Counted], int], **kinds: str) -> Any:
        known = {**POOL, **{f"db.client.connection.{name}": value for name, value in kinds.items()}}
        return metrics.Observation(sum(map(count, tuple(_POOLS))), known)

    def connections(_: object) -> Iterator[Any]:
        yield of(lambda pool: pool.used, state="used")
        yield of(lambda pool: pool.idle, state="idle")

    def most(_: object) -> list[Any]:
        return [of(lambda pool: pool.most)]

    def waiting(_: object) -> list[Any]:
        return [of(lambda pool: pool.waiting)]

    observed = meter.create_observable_up_down_counter
    observed("db.client.connection.count", [connections], unit="{connection}", description="Connections that are open.")
    observed(
        "db.client.connection.max",
        [most],
        unit="{connection}",
        description="Most connections that may be open.",
    )
    observed(
        "db.client.connection.pending_requests",
        [waiting],
        unit="{request}",
        description="Callers that wait for a connection.",
    )
    return meter.create_histogram(
        "db.client.connection.wait_time",
        unit="s",
        description="How long callers waited for a connection.",
        explicit_bucket_boundaries_advisory=SECONDS,
    )


CONNECT_TIMEOUT_S = 5.0
_COMMAND_TIMEOUT_S = 120.0
_TURN_TIMEOUT_S = 30.0
"""So long a caller waits for its turn."""
_IDLE_S = 300.0
"""A connection that nobody wanted for so long is closed."""
_STATEMENTS = 500


class PoolConnection:
    """One connection. A statement is described once; from then on it goes out with its values, and the answer comes
    back, in one trip. No statement has a name on the server, so a pooler may send each one to another of its own.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._described: dict[str, Any] = {}
        self.idle_since = 0.0

    async def execute(self, sql: str, *values: Any) -> str:
        """What the server says of it. Without values it may be several statements."""
        if not values:
            return await self._connection.execute(sql)
        statement = await self._statement(sql)
        await statement.fetch(*values)
        return statement.get_statusmsg()

    async def fetch(self, sql: str, *values: Any) -> list[Any]:
        """All rows."""
        return await (await self._statement(sql)).fetch(*values)

    async def fetchrow(self, sql: str, *values: Any) -> Any:
        """The first row, or None."""
        return await (await self._statement(sql)).fetchrow(*values)

    async def fetchval(self, sql: str, *values: Any) -> Any:
        """The first value of the first row, or None."""
        return await (await self._statement(sql)).fetchval(*values)

    async def fetchmany(self, sql: str, many: Sequence[Sequence[Any]]) -> list[Any]:
        """A row for each, in one transaction, which is undone as a whole when one of them is refused."""
        return await (await self._statement(sql)).fetchmany(many)

    async def _statement(self, sql: str) -> Any:
        found = self._described.get(sql)
        if found is None:
            found = await self._connection.prepare(sql, name="")
            if len(self._described) >= _STATEMENTS:
                self._described.clear()
            self._described[sql] = found
        return found

    @property
    def is_closed(self) -> bool:
        """Whether it can be used no more."""
        return self._connection.is_closed()

    @property
    def in_transaction(self) -> bool:
        """Whether one was begun that did not end."""
        return not self.is_closed and self._connection.is_in_transaction()

    def terminate(self) -> None:
        """Close it at once, whatever it does."""
        self._connection.terminate()

    async def close(self) -> None:
        """Close it in order; at once where that takes too long."""
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await self._connection.close(timeout=5)


class Pool:
    """Connections to one server; whoever waits for one gets its turn in order.

    Args:
        most: connections at a time.
    """

    def __init__(self, url: str, most: int) -> None:
        self._url, self.most = url, most
        self.used = self.waiting = 0
        self._turns = asyncio.Semaphore(most)
        self._idle: list[PoolConnection] = []
        self._sweep: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        begin(self)

    @property
    def idle(self) -> int:
        """Connections that nobody uses now."""
        return len(self._idle)

    @asynccontextmanager
    async def line(self) -> AsyncGenerator[PoolConnection]:
        """A connection for the length of one transaction. It is closed where what it is in the middle of is not known:
        after an error that is neither ours nor the server's answer, and with a transaction left open.

        Raises:
            TimeoutError: none became free in time.
        """
        await self._turn()
        line: PoolConnection | None = None
        self.used += 1
        try:
            line = self._take() or await self._connected()
            yield line
        except (asyncpg.PostgresError, PalimpsestError):
            raise
        except BaseException:
            if line is not None:
                line.terminate()
            raise
        finally:
            if line is not None and line.in_transaction:
                line.terminate()
            elif line is not None and not line.is_closed:
                self._give(line)
            self.used -= 1
            self._turns.release()

    async def _turn(self) -> None:
        began = asyncio.get_running_loop().time()
        self.waiting += 1
        try:
            if self._turns.locked():
                async with asyncio.timeout(_TURN_TIMEOUT_S):
                    await self._turns.acquire()
            else:
                await self._turns.acquire()
        finally:
            self.waiting -= 1
            note_wait(asyncio.get_running_loop().time() - began)

    async def close(self) -> None:
        """Close every connection; nobody uses one any more."""
        end(self)
        if self._sweep is not None:
            self._sweep.cancel()
        idle, self._idle = self._idle, []
        await asyncio.gather(*(one.close() for one in idle), *self._closing)

    def _take(self) -> PoolConnection | None:
        while self._idle:
            line = self._idle.pop()
            if not line.is_closed:
                return line
        return None

    def _give(self, line: PoolConnection) -> None:
        loop = asyncio.get_running_loop()
        line.idle_since = loop.time()
        self._idle.append(line)
        if self._sweep is None:
            self._sweep = loop.call_later(_IDLE_S, self._close_idle)

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        old = [one for one in self._idle if one.idle_since <= loop.time() - _IDLE_S]
        self._idle = [one for one in self._idle if one not in old]
        for one in old:
            task = loop.create_task(one.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        self._sweep = loop.call_later(_IDLE_S, self._close_idle) if self._idle else None

    async def _connected(self) -> PoolConnection:
        try:
            connection: Any = await asyncpg.connect(
                self._url,
                statement_cache_size=0,
                timeout=CONNECT_TIMEOUT_S,
                command_timeout=_COMMAND_TIMEOUT_S,
            )
        except (ValueError, asyncpg.exceptions.ClientConfigurationError) as error:
            raise StoreUnusable(
                "The store's URL has an option that cannot be used.",
                next="Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and no more than that.",
            ) from error
        with suppress(AttributeError):  # a transport of another loop takes nothing: then they are two writes
            _in_one_write(connection._transport)
        return PoolConnection(connection)


def _in_one_write(transport: Any) -> None:
    """Have a statement go out with its values: asyncpg writes the two one after the other, and each write would wake
    up pooler and server by itself."""
    write, held = transport.write, bytearray()

    def joined(data: bytes | bytearray | memoryview) -> None:
        nonlocal held
        if data[:1] == b"P" and data[-1:] == b"\0":  # the message Parse alone: what ends a trip (Sync, Flush) ends in 4
            held += data
        elif held:
            held += data
            whole, held = held, bytearray()
            write(whole)
        else:
            write(data)

    transport.write = joined


# Appends that wait for a connection go together: one trip, one commit, and each caller hears of its own.


_MOST = 16
"""Callers in one trip."""
_SMALL_BYTES = 1 << 16
"""What has more bytes goes alone: nobody waits for it."""


class Statement(NamedTuple):
    """A statement that gives one value, and says itself whose rows it is about."""

    sql: str
    values: Sequence[Any]
    order: bytes
    """Callers of one trip take their locks in this order, so that no two trips wait for each other."""
    size: int
    """Bytes of its values."""
    shared: bool
    """It may be in one transaction with others: it sets nothing there but whose rows it is about."""


class _Waiting(NamedTuple):
    once: Statement
    answer: asyncio.Future[Any]


class GroupCommit:
    """What is waiting for a connection of one pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: dict[str, deque[_Waiting]] = {}

    async def run(self, once: Statement) -> Any:
        """Its value. Where one statement of a trip fails, nothing of the trip was done, and each goes alone."""
        if not once.shared or once.size > _SMALL_BYTES:
            return await self._alone(once)
        mine = _Waiting(once, asyncio.get_running_loop().create_future())
        queue = self._waiting.setdefault(once.sql, deque())
        queue.append(mine)
        try:
            async with self._pool.line() as line:
                if mine in queue:  # else somebody took it along
                    await self._take(line, queue, mine)
        except BaseException:
            if mine in queue:
                queue.remove(mine)
            mine.answer.cancel()
            raise
        try:
            return await mine.answer
        except _NotTogether:
            return await self._alone(once)

    async def _alone(self, once: Statement) -> Any:
        async with self._pool.line() as line:
            return await line.fetchval(once.sql, *once.values)

    async def _take(self, line: PoolConnection, queue: deque[_Waiting], mine: _Waiting) -> None:
        """Mine, and what waits before and after it."""
        queue.remove(mine)
        trip = [mine]
        while queue and len(trip) < _MOST:
            trip.append(queue.popleft())
        trip.sort(key=lambda one: one.once.order)
        error: Exception = ConnectionError("whoever took it along was stopped")
        try:
            rows = await line.fetchmany(mine.once.sql, [one.once.values for one in trip])
        except asyncpg.PostgresError as refused:
            error = _NotTogether() if len(trip) > 1 else refused
        except Exception as broken:
            error = broken
            line.terminate()
        else:
            for one, row in zip(trip, rows, strict=True):
                if not one.answer.done():
                    one.answer.set_result(row[0])
        finally:
            for one in trip:
                if not one.answer.done():
                    one.answer.set_exception(error)
                    one.answer.exception()  # whoever is gone need not hear of it


class _NotTogether(Exception):
    """A statement of the trip was refused, so the trip was taken back."""
