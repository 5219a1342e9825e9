"""Where anchored summaries are kept; disk and memory pass `palimpsest_mcp.testing.summaries_contract`."""

from __future__ import annotations

from typing import Protocol

import msgspec

from ..models.events import SessionKey
from ..models.summaries import AnchoredSummary


class StoredSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one session."""

    summary: AnchoredSummary | None
    """None: there is none, or it cannot be read."""
    version: str
    """Changes with every byte of what is kept; empty when nothing is."""
    note: str = ""
    """Why it cannot be read, in words for a person."""


class Summaries(Protocol):
    """One anchored summary a session. Any number of processes may read and write it.

    Callers redact before they put; nothing here looks for secrets.
    """

    async def get(self, key: SessionKey) -> StoredSummary:
        """What is kept, read from what is there now; never writes.

        Raises:
            StoreNewer: a newer program wrote it.
            StoreUnusable: it is there, but the store does not give it.
        """
        ...

    async def put(self, key: SessionKey, summary: AnchoredSummary, *, after: str) -> str:
        """Keep a summary in the place of the version that was read (compare-and-set).

        It is flushed, read back and compared before it takes the old one's place; a reader, and a crash at any moment,
        finds the old or the new one, whole. What could not be read is kept aside first.

        Args:
            after: the version that `get` gave; empty for none.

        Returns:
            The new version.

        Raises:
            SummaryChanged: another one is there by now; get and merge anew.
            InvalidArgument: a text in it has no form in UTF-8.
            WriteFailed, LockTimeout: the old one is still there.
        """
        ...

    async def list(self, principal: str = "") -> tuple[str, ...]:
        """Ids of a principal's sessions that have a summary, sorted."""
        ...
