"""Appends that wait for a connection go together: one trip, one commit, and each caller hears of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import asyncpg

from .pool import Pool, PoolConnection

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
