"""Batch numbers, taken under the commit lock before anything is made of them (L11)."""

from __future__ import annotations

from ..ledger.fold import Fold, batch_id, batch_number
from ..models.events import Reserved, SessionInfo
from .dependencies import Dependencies
from .sessions import Sessions


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


__all__ = ["reserve_numbers"]
