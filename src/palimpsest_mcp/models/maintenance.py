"""What purge, repair, export and import say before and after, and the file by which sessions move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from .events import SessionInfo


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What has to go."""

    keys: frozenset[str] = frozenset()
    """Of contents: hashes, and for short ones hash and item id (`PurgedEvent.keys`)."""
    mask: Callable[[str], str] | None = None
    """Takes what else has to go out of a text; gives any other text back as it is."""
    whole: bool = False
    """Everything of the session but its id and its decisions."""
    about: Callable[[str], bool] | None = None
    """Of what belongs to no session, which texts it concerns; None: all."""


class PurgedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a purge."""

    session_id: str
    handle: str
    whole: bool
    """Everything of it but its id goes."""
    items: tuple[str, ...]
    """Whose texts go."""
    batches: tuple[str, ...]
    """Of which nothing is left to restore."""
    live: int
    """How many of the items still stand in the host's context, by our last view of it. The host's own copy stays."""
    size_bytes: int
    """Of the texts."""


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Another session that holds some of the same texts, and keeps them."""

    session_id: str
    handle: str
    items: int


class PurgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a purge removes, or did."""

    dry_run: bool
    sessions: tuple[PurgedSession, ...]
    elsewhere: tuple[Elsewhere, ...] = ()
    changed: tuple[str, ...] = ()
    """What else was changed: summary, handoffs, notes, experience."""
    left: tuple[str, ...] = ()
    """Places that still hold the text."""
    notes: tuple[str, ...] = ()


THE_DIGEST = "the digest"


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One damaged thing."""

    where: str
    what: str
    """Batch, items, or the event."""
    source: str
    """What it is rebuilt from; empty where it is lost."""
    lost: tuple[str, ...] = ()
    """Items, or `THE_DIGEST`, of which no whole copy is left."""

    @property
    def possible(self) -> bool:
        """Whether it can be, or was, mended as a whole."""
        return bool(self.source) and not self.lost

    @property
    def restorable(self) -> bool:
        """Whether every original comes back as it is, and only the digest that stood for them is lost."""
        return bool(self.source) and self.lost == (THE_DIGEST,)


class RepairReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair mends, or did."""

    dry_run: bool
    repairs: tuple[Repair, ...]
    mended: int = 0
    """Lines, lists and purges."""
    accepted: int = 0
    """Files that were taken as they are: from now on `verify` notices what goes missing in them."""
    given_up: tuple[str, ...] = ()
    """What was lost for good, and is not missed any more since the user accepted it."""

    @property
    def ok(self) -> bool:
        """Whether nothing is beyond repair, or the user gave it up."""
        return all(one.possible for one in self.repairs) or (bool(self.given_up) and not self.dry_run)


class BackupReport(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a store that was made, or checked."""

    path: str
    files: int
    size_bytes: int


class MovedStore(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied from one store into another."""

    dry_run: bool
    sessions: int
    """Written now; with `dry_run`, that would be."""
    already_there: int
    """Of an earlier run, and equal."""
    events: int
    records: int
    """Of these sessions, the earlier ones too."""
    handoffs: int
    left: tuple[str, ...] = ()
    """What was not copied, and why."""


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """What brings a store to what this program makes, or did."""

    dry_run: bool
    version: int
    """Format of the store, from now on."""
    changes: tuple[str, ...]
    """In words; none where there is nothing to do."""


class PackedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session whose segments were put together."""

    handle: str
    before: int
    """Segments of ledger and archive."""
    after: int


class RetentionReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a retention removes, or did."""

    dry_run: bool
    sessions: tuple[PurgedSession, ...]
    """Oldest first."""
    kept: tuple[str, ...] = ()
    """Handles of those it would have taken, with the reason why they stay."""
    size_bytes: int = 0
    """Of the store before."""
    size_after: int = 0
    """Of the store afterwards; for a dry run what is expected."""


# The file by which sessions go from one store to another (`docs/format.md`).


EXCHANGE_SCHEMA = 1
"""Version of the exchange file. A reader refuses a higher one."""


class ExchangeHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    exchange: int
    sessions: int
    created: str
    """ISO-8601 with offset."""


class ExchangeSession(msgspec.Struct, frozen=True, kw_only=True):
    """The line before a session's events and records."""

    session: SessionInfo
    events: int
    records: int
    summary: str | None = None
    """Its anchored summary as markdown."""
    purged: tuple[str, ...] = ()
    """Keys of contents that nobody may record again."""


class ExchangeEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The last line."""

    lines: int
    """How many stand before it."""
    sha256: str
    """Of all bytes before it."""


class ExchangedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session of an export or import."""

    session_id: str
    handle: str
    events: int
    records: int
    status: Literal["exported", "imported", "already_here", "would_import"]


class ExchangeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was exported or imported."""

    sessions: tuple[ExchangedSession, ...]
    sha256: str
    """Of the file's content, unpacked, without its last line."""
    notes: tuple[str, ...] = ()
