"""Batch numbers, taken under the commit lock before anything is made of them (L11)."""

from __future__ import annotations

from typing import Protocol

from ..ledger.fold import Fold, batch_id, batch_number
from ..models.events import Reserved, SessionInfo
from .dependencies import Dependencies
from .sessions import Sessions


class Highest(Protocol):
    """Knows the numbers that were given already."""

    highest: int
    """Highest batch number in ledger and archive, of the session and its parents."""


RESERVED_AT_ONCE = 64
"""Batch numbers taken by one decision; gaps are normal (L11)."""


class Numbers:
    """Batch ids for one pass, reserved some at a time."""

    def __init__(
        self, given: Dependencies, sessions: Sessions, info: SessionInfo, highest: Highest, pass_id: str
    ) -> None:
        self._given = given
        self._sessions = sessions
        self._info = info
        self._highest = highest
        self._pass_id = pass_id
        self._next = 0
        self._reserved_to = -1

    async def next(self) -> str:
        """The next one; reserves more under the commit lock when none is left (L11)."""
        if self._next > self._reserved_to:
            taken: list[int] = []

            def reserve(fold: Fold) -> list[Reserved]:
                first = max(fold.decided.last_number, self._highest.highest) + 1
                taken[:] = [first]
                return [Reserved(pass_id=self._pass_id, first=first, count=RESERVED_AT_ONCE, ts=self._given.now())]

            await self._sessions.decide(self._info, reserve)
            self._next, self._reserved_to = taken[0], taken[0] + RESERVED_AT_ONCE - 1
        self._next += 1
        return batch_id(self._next - 1)


async def reserve_numbers(
    given: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    count: int,
    *,
    pass_id: str,
    lock_timeout_s: float | None = None,
) -> tuple[str, ...]:
    """Batch ids after every one that the session or a parent of it has, reserved or archived; gaps are normal.

    Raises:
        LockTimeout, WriteFailed: none was taken.
    """
    highest = 0
    for owner in await sessions.family(info):
        highest = max(highest, (await sessions.fold(owner)).decided.last_number)
        async for record in given.store.archive.records(sessions.key(owner)):
            highest = max(highest, batch_number(record.batch_id))
    taken: list[int] = []

    def reserve(fold: Fold) -> list[Reserved]:
        taken[:] = [max(fold.decided.last_number, highest) + 1]
        return [Reserved(pass_id=pass_id, first=taken[0], count=count, ts=given.now())]

    await sessions.decide(info, reserve, lock_timeout_s=lock_timeout_s)
    return tuple(batch_id(number) for number in range(taken[0], taken[0] + count))


__all__ = ["Numbers", "reserve_numbers"]
