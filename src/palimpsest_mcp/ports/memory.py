"""Where summaries and handoffs are kept; disk and memory pass `testing.store_contract`."""

from __future__ import annotations

from typing import Protocol

import msgspec

from ..models.events import SessionKey
from ..models.handoffs import Place
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


class StoredHandoff(msgspec.Struct, frozen=True, kw_only=True):
    """One file in one of the three places."""

    name: str
    """Without `.md`."""
    place: Place
    path: str
    """For people; a store without files names the place in it."""
    text: str | None
    """None: there is none to be had; `why` says it."""
    sha256: str
    """Of its bytes, lower-case hex; empty where they were not read."""
    why: str = ""
    """Why there is no text, in words that go on after the file's name: `is no UTF-8 text`."""


class Handoffs(Protocol):
    """Files of one principal: `memory` for the next phase, `archive` for old ones, `temp` for forks.

    Any number of processes may write. A file is never overwritten. Callers redact before they add; nothing here looks
    for secrets.
    """

    async def add(self, place: Place, stem: str, text: str, principal: str = "") -> StoredHandoff:
        """Keep a new file named `stem`, or `stem-2`, `stem-3` … where that name is taken, in `archive` too.

        It is flushed, read back and compared before it has its name; a crash leaves all of it or nothing.

        Args:
            stem: lower-case letters, digits and `-` only.

        Raises:
            InvalidArgument: the stem is none, or the text has no form in UTF-8.
            WriteFailed, LockTimeout, StoreUnusable: nothing was added.
        """
        ...

    async def list(self, principal: str = "") -> tuple[StoredHandoff, ...]:
        """Every file that is there now, by place (memory, archive, temp) and name. A file that cannot be read costs
        itself alone.

        Raises:
            StoreUnusable: a folder cannot be read.
        """
        ...

    async def archive(self, one: StoredHandoff, principal: str = "") -> StoredHandoff | None:
        """Move a file from `memory` to `archive`. At any moment it is in one of them, or in both with the same bytes.

        Returns:
            It in its new place; None where it is gone or has other bytes than were read: then nothing was done.

        Raises:
            WriteFailed, LockTimeout: it is still in `memory`.
        """
        ...

    async def remove(self, one: StoredHandoff, principal: str = "", *, note: str = "") -> bool:
        """Remove a file for good, if it is still the one that was read.

        Args:
            note: one line that is kept, flushed before the file goes; empty for what was consumed.

        Returns:
            Whether it was removed here.

        Raises:
            WriteFailed, LockTimeout: it may still be there; a note may already stand.
        """
        ...

    async def removed(self, principal: str = "") -> tuple[str, ...]:
        """The notes of everything that was removed for good, oldest first."""
        ...
