"""The memory store's search."""

from __future__ import annotations

from collections.abc import Sequence

from ..ports.store import Entry, Match
from .linear_search import LinearSearch


class MemorySearch:
    """See `ports.store.Search`."""

    def __init__(self) -> None:
        self._entries = LinearSearch()

    async def add(self, entries: Sequence[Entry]) -> None:
        self._entries.add(entries)

    async def find(
        self,
        query: str,
        *,
        principal: str = "",
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        limit: int = 10,
    ) -> tuple[Match, ...]:
        return self._entries.find(query, principal=principal, session_ids=session_ids, project=project, limit=limit)

    async def indexed(self, principal: str, session_id: str) -> frozenset[str]:
        return self._entries.indexed(principal, session_id)

    async def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        self._entries.forget(principal, session_id, batch_ids)
