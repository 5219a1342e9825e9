"""The library's methods that list, find and give back what was offloaded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from ..models.records import OffloadRecord
from ..models.reports import BatchView, Hit, Restored
from ..services.messages import Messages
from ..services.offloaded import Offloaded
from ..services.pages import Page, page_of
from ..services.sessions import Sessions


class RestoringMethods:
    """What `Palimpsest` gives back, byte for byte. Every method finds a session by id or handle."""

    _sessions: Sessions
    _messages: Messages
    _offloaded: Offloaded

    async def list_offloaded(self, session_id: str) -> tuple[BatchView, ...]:
        """Every batch that was dropped, in order."""
        return await self._offloaded.batches(await self._sessions.find(session_id))

    async def list_offloaded_page(self, session_id: str, cursor: str = "", *, size: int = 20) -> Page[BatchView]:
        """One page of the same.

        Raises:
            InvalidArgument: the cursor is none of ours.
        """
        return page_of(await self.list_offloaded(session_id), cursor, size)

    async def iter_offloaded(self, session_id: str) -> AsyncGenerator[BatchView]:
        """The same, one by one."""
        for batch in await self.list_offloaded(session_id):
            yield batch

    async def record(self, session_id: str, batch_id: str) -> OffloadRecord:
        """The archive's record of a batch."""
        return await self._offloaded.record(await self._sessions.find(session_id), batch_id)

    async def search_offloaded(
        self, query: str, *, session_id: str | None = None, project: str | None = None, limit: int = 10
    ) -> tuple[Hit, ...]:
        """Dropped items that hold the query's words, best first; in every session unless one is named."""
        info = await self._sessions.find(session_id) if session_id else None
        return await self._offloaded.search(query, info=info, project=project, limit=limit)

    async def restore(
        self, session_id: str, batch_id: str, item_id: str | None = None, *, noted: bool = True
    ) -> Restored:
        """One original, byte for byte. The digest in the context stays (L13).

        Args:
            item_id: needed unless the batch has one item; a call id does too.
            noted: False where the caller itself says by `note_fetched` which text it hands over.
        """
        info = await self._sessions.find(session_id)
        one = await self._offloaded.restore(info, batch_id, item_id)
        if noted:
            await self._offloaded.note_fetched(info, [one], [])
        return one

    async def restore_batch(self, session_id: str, batch_id: str, *, noted: bool = True) -> tuple[Restored, ...]:
        """Every original of a batch, in order; `noted` as in `restore`."""
        info = await self._sessions.find(session_id)
        found = await self._offloaded.restore_batch(info, batch_id)
        if noted:
            await self._offloaded.note_fetched(info, found, [])
        return found

    async def note_fetched(
        self, session_id: str, restored: Sequence[Restored], texts: Sequence[str], also: Sequence[str] = ()
    ) -> None:
        """Say under which very texts originals were handed to an agent, so that they are known when they come back.

        Args:
            also: further forms that hosts may give the same copy.
        """
        await self._offloaded.note_fetched(await self._sessions.find(session_id), restored, texts, also)

    async def reinstate(self, session_id: str, batch_id: str) -> None:
        """Put the whole units of a batch back in the place of their digest."""
        await self._offloaded.reinstate(await self._sessions.find(session_id), batch_id)

    async def expand_messages(self, messages: list[Any], *, session_id: str) -> list[Any]:
        """The list with every digest of ours replaced by its original: equal to what was compacted."""
        return await self._messages.expand(await self._sessions.find(session_id), messages)

    async def restore_all(self, session_id: str) -> Any:
        """The newest list or file that was compacted under this session, equal to what came in."""
        return await self._messages.restore_all(await self._sessions.find(session_id))
