"""Search over the index, or without it while it cannot be used."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..ports.store import Entry, Match
from .fts_index import FtsIndex, IndexDown
from .hop import hop
from .linear_search import LinearSearch

T = TypeVar("T")

RETRY_AFTER_S = 20.0


class IndexSearch:
    """See `ports.store.Search`. Never raises for a broken index: then entries are kept in memory and looked through.

    `indexed` speaks of whichever of the two answers, so its caller adds to the right one.
    """

    def __init__(self, index: FtsIndex, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._index = index
        self._spare = LinearSearch()
        self._monotonic = monotonic
        self._down_until = float("-inf")

    async def add(self, entries: Sequence[Entry]) -> None:
        await hop(self._either, lambda: self._index.add(entries), lambda: self._spare.add(entries))

    async def find(
        self,
        query: str,
        *,
        principal: str = "",
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        limit: int = 10,
    ) -> tuple[Match, ...]:
        def first() -> tuple[Match, ...]:
            return self._index.find(query, principal=principal, session_ids=session_ids, project=project, limit=limit)

        def second() -> tuple[Match, ...]:
            return self._spare.find(query, principal=principal, session_ids=session_ids, project=project, limit=limit)

        return await hop(self._either, first, second)

    async def indexed(self, principal: str, session_id: str) -> frozenset[str]:
        return await hop(
            self._either,
            lambda: self._index.indexed(principal, session_id),
            lambda: self._spare.indexed(principal, session_id),
        )

    async def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        await hop(self._forget, principal, session_id, batch_ids)

    def close(self) -> None:
        self._index.close()

    def _forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        """What cannot be taken out of the index goes with it: it is made anew from the archive."""
        self._spare.forget(principal, session_id, batch_ids)
        try:
            self._index.forget(principal, session_id, batch_ids)
        except IndexDown:
            self._index.discard()

    def _either(self, first: Callable[[], T], second: Callable[[], T]) -> T:
        if self._monotonic() >= self._down_until:
            try:
                answer = first()
            except IndexDown:
                self._down_until = self._monotonic() + RETRY_AFTER_S
            else:
                self._spare.clear()
                return answer
        return second()
