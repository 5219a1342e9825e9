"""What a store must do. Disk, memory and any later distributed store pass one contract (`palimpsest_mcp.testing`).

Where summaries and handoffs are kept; disk and memory pass `testing.store_contract`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Literal, Protocol

import msgspec

from ..models.events import Decision, Event, Observation, SessionInfo, SessionKey
from ..models.handoffs import Place
from ..models.records import OffloadRecord
from ..models.reports import BackupReport, Forgotten, Migration
from ..models.summaries import AnchoredSummary
from ..models.views import StatusNote
from .seams import HostNotes


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


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Something stored that could not be read. It costs itself, nothing beside it."""

    where: str
    """Segment and line, or a row's key; never a user's text."""
    what: str


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A stored line that cannot be trusted, with its bytes: what can still be read of it helps to rebuild it."""

    where: str
    raw: bytes


class Flaw(msgspec.Struct, frozen=True, kw_only=True):
    """Something stored that is not what was written: it is missing, or differs from what is said of it elsewhere."""

    where: str
    """Path in the store, with `/`."""
    what: str
    severity: Literal["note", "damage"]
    lines: int = 0
    """How many lines are missing; 0 where nobody can say."""
    size: int = 0
    """Bytes that it had."""
    acceptable: bool = False
    """Nothing is known to be lost: a repair takes it as it stands."""


class Tombstones(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the user had removed from a session: no write brings it back."""

    keys: tuple[str, ...] = ()
    """As `PurgedEvent.keys`."""
    under_way: bool = False
    """A purge began, and did not come to its end."""
    whole: bool = False
    """The whole session was purged: what comes later is kept."""


class LedgerPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events since a cursor, in no promised order: a fold depends on the set only."""

    events: tuple[Event, ...]
    cursor: object
    """Opaque; hand it back to read only what came after."""
    damage: tuple[Damage, ...] = ()


class Checkpoint(Protocol):
    """What a session's events add up to at some cursor, and a way to single ones of them. Its methods block."""

    @property
    def sums(self) -> bytes:
        """As `keep_checkpoint` got them."""
        ...

    @property
    def cursor(self) -> object:
        """Read on from here."""
        ...

    @property
    def turn(self) -> AbstractContextManager[object]:
        """Held while what is known is changed; one thread may take it several times."""
        ...

    def events_of(self, key: str) -> Sequence[Event] | None:
        """The events before the cursor that have a key (`context.opened_fold.keys_of`); None where they cannot be
        trusted: read everything.
        """
        ...

    def everything(self) -> Sequence[Event]:
        """Every whole event up to the cursor; later ones may be among them.

        Raises:
            StoreUnusable: the ledger cannot be read.
        """
        ...


class Ledger(Protocol):
    """Append-only events of sessions: the truth about what is in context.

    Any number of processes may write one session. What was acknowledged survives a crash of process and machine.
    """

    async def create(self, key: SessionKey, info: SessionInfo) -> SessionInfo:
        """Make the session known; when it exists already, nothing changes. Returns what is stored."""
        ...

    async def info(self, key: SessionKey) -> SessionInfo | None:
        """The session's info, or None when it does not exist."""
        ...

    async def infos(self, session_ids: Collection[str], principal: str = "") -> tuple[SessionInfo, ...]:
        """`info` of each that exists, in no promised order."""
        ...

    async def sessions(self, principal: str = "", *, beginning: str = "") -> tuple[SessionInfo, ...]:
        """Every session of a principal, oldest first.

        Args:
            beginning: only those whose id begins so.
        """
        ...

    async def some_sessions(
        self, principal: str = "", *, skip: int, count: int, newest_first: bool = False
    ) -> tuple[tuple[SessionInfo, ...], int]:
        """So many of a principal's sessions, after so many others, by birth; and how many there are. Where those stand
        that have no readable time of birth is the store's choice."""
        ...

    async def marks(self, session_ids: Collection[str], principal: str = "") -> Mapping[str, str]:
        """Of each session a text that is another one after every event that comes to its ledger, and after a purge or
        repair of it. Where that takes more than a look at each, a store gives none.
        """
        ...

    async def by_handle(self, handle: str, principal: str = "") -> SessionInfo | None:
        """The principal's session that has a handle; None where none has."""
        ...

    async def read(self, key: SessionKey, after: object | None = None) -> LedgerPage:
        """Every whole event that is there now, or only those after a cursor. Takes no lock.

        An unknown session has no events. A torn last line of a segment is ignored; a bad line elsewhere is damage.
        """
        ...

    async def look(self, key: SessionKey, after: object | None = None) -> tuple[SessionInfo | None, LedgerPage]:
        """`info` and `read`, asked together: of a store that is far away they are one trip."""
        ...

    async def open(self, key: SessionKey) -> tuple[SessionInfo | None, Checkpoint | None, LedgerPage]:
        """`look` from the beginning, or from the newest checkpoint that fits: then the page has what came behind it."""
        ...

    async def open_small(
        self, session_ids: Collection[str], principal: str = ""
    ) -> Mapping[str, tuple[SessionInfo | None, Checkpoint | None, LedgerPage]]:
        """`open` of those that exist and are small, asked together. Where that takes as long as one after the other, a
        store gives none.
        """
        ...

    async def checkpoint(self, key: SessionKey) -> Checkpoint | None:
        """The newest checkpoint that fits what is there; None where there is none, or anything about it is wrong. A
        store may do without.
        """
        ...

    async def keep_checkpoint(self, key: SessionKey, cursor: object, sums: bytes, events: int) -> None:
        """Keep what the events before a cursor add up to. It is a cache: that it failed is not told.

        Args:
            events: how many different ones they are; where the ledger has not just as many, nothing is kept.
        """
        ...

    async def drop_checkpoint(self, key: SessionKey) -> None:
        """Take it away: the next one is made of every event.

        Raises:
            WriteFailed: it is still there.
        """
        ...

    async def observe(self, key: SessionKey, events: Sequence[Observation], *, durable: bool = True) -> None:
        """Append observations: all of them, or none. Only a crash in the middle may leave the first few of them.

        The ledger fills writer, number and clock. With `durable` they are flushed when this returns; without it they
        may be lost in a crash, and the caller can afford that.

        Raises:
            WriteFailed: nothing of it counts as written.
        """
        ...

    async def observe_and_read(
        self, key: SessionKey, events: Sequence[Observation], after: object | None, *, durable: bool = True
    ) -> LedgerPage:
        """`observe`, then `read`, in as few trips as the store can."""
        ...

    async def observe_known(self, key: SessionKey, events: Sequence[Observation], after: object) -> LedgerPage | None:
        """The same unflushed, of a session that was read before, as far as `after`. None where it has to be looked at
        anew, since it is not there any more or something was purged from it: then nothing is written."""
        ...

    async def decide(
        self,
        key: SessionKey,
        decisions: Sequence[Decision],
        *,
        after_rev: int,
        lock_timeout_s: float | None = None,
    ) -> int:
        """Append decisions as one step, only if `after_rev` is still the session's highest revision (compare-and-set).

        They get revisions `after_rev + 1` and up, in the order given, and are flushed. Returns the highest revision.

        Args:
            lock_timeout_s: how long to wait for another decision; None: as long as the store does (L11).

        Raises:
            RevConflict: another decision came first; fold again and decide anew.
            WriteFailed, LockTimeout: nothing was decided.
        """
        ...

    async def adopt(self, key: SessionKey, events: Sequence[Event]) -> None:
        """Write events of another store as they are, with their ids and revisions, into a session that has none: all of
        them in one step, flushed, or none.

        Raises:
            RevConflict: the session has events.
            WriteFailed, LockTimeout: nothing of it counts as written.
        """
        ...

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        """Write what is there anew without what has to go; other processes may be writing meanwhile. Ids, revisions
        and the order of events stay. Returns how many lines changed: asked again, none.

        Raises:
            WriteFailed, LockTimeout: some of it may still be there; ask again.
        """
        ...

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        """Lines that cannot be read."""
        ...

    async def mend(self, key: SessionKey, events: Mapping[bytes, Event | None]) -> int:
        """Put events in the place of broken lines, named by their bytes, flushed and read back; None leaves a line out.
        Nothing is deleted: what held the broken lines is kept aside. Returns how many were put.

        Raises:
            WriteFailed, LockTimeout: what was broken is there as it was.
        """
        ...

    def pass_lock(self, key: SessionKey) -> AbstractAsyncContextManager[None]:
        """Held by the one pass a session may have at a time, over processes; freed when its holder dies.

        Raises:
            PassInProgress: on entry, when another holds it. It never waits.
        """
        ...


class Archive(Protocol):
    """Keeps every record ever given to it, until the user has it purged."""

    async def append(self, key: SessionKey, records: Sequence[OffloadRecord]) -> None:
        """Write records, flush file and folder, read them back and compare. Only then does this return.

        Raises:
            WriteFailed: a write, flush or comparison failed; the records do not count as archived.
        """
        ...

    async def get(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        """The record of a batch, with checksums checked; None when there is none.

        Two records with one batch id (a retry): the newest whole one.

        Raises:
            RecordDamaged: the record is there but not whole, and no whole copy exists.
        """
        ...

    async def batch_ids(self, key: SessionKey) -> tuple[str, ...]:
        """Every batch that has a record, damaged ones perhaps among them, in no promised order."""
        ...

    async def some(self, key: SessionKey, batch_ids: Collection[str]) -> tuple[OffloadRecord, ...]:
        """The whole records of these batches, in no promised order."""
        ...

    def records(self, key: SessionKey) -> AsyncIterator[OffloadRecord]:
        """Every whole record of a session, in batch order. Damaged ones are left to `damage`."""
        ...

    async def damage(self, key: SessionKey) -> tuple[Damage, ...]:
        """What could not be read, with checksums and item hashes checked."""
        ...

    async def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        """The same with its bytes, and what a file that was cut off ends with."""
        ...

    async def mend(self, key: SessionKey, records: Mapping[bytes, OffloadRecord | None]) -> int:
        """As `Ledger.mend`, for records."""
        ...

    async def forget(self, key: SessionKey, gone: Forgotten) -> int:
        """As `Ledger.forget`, for records: items that have to go stay as id, hash and size, with no text and no part of
        a digest. A record that is lost as a whole goes with `gone.whole`."""
        ...


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One searchable item, redacted before it comes here."""

    session_id: str
    batch_id: str
    item_id: str
    text: str
    named: str = ""
    """The words that name it: tool, title, address, arguments."""
    tool_name: str = ""
    title: str = ""
    ts: str = ""
    lines_stand: bool = True
    """Whether the text has the original's lines; masking may have taken some."""
    places_stand: bool = True
    """Whether it has them character for character."""
    principal: str = ""
    project: str = ""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """One search result, best first by `score`."""

    session_id: str
    batch_id: str
    item_id: str
    snippet: str
    """One line around the best passage."""
    score: float
    """Higher is better; comparable within one answer only."""
    tool_name: str = ""
    title: str = ""
    ts: str = ""
    close: float = 0.0
    """How much of what is rare in the query stands together in the best passage, as rarity among passages in nats:
    about 5 for one rare name; comparable between queries."""
    line: int | None = None
    """1-based line of the original, of the rarest word in the best passage; None where masking moved the lines."""
    offset: int | None = None
    """Character of the original to read on from; None where masking moved the characters."""
    handle: str = ""
    """Of the session, where the store knows it without another look."""


class Search(Protocol):
    """Keyword search over archived items. A cache: losing it loses nothing, and it says when it must be rebuilt."""

    async def add(self, entries: Sequence[Entry]) -> None:
        """Make entries findable. An entry with the same session, batch and item replaces the old one."""
        ...

    async def find(
        self,
        query: str,
        *,
        principal: str = "",
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        limit: int = 10,
    ) -> tuple[Match, ...]:
        """Entries that hold the query's words, CJK text included, best first. Any text is a valid query; quotes make a
        phrase.

        English endings do not matter, nor do accents; a joined word (`main_loop`) is found whole and by its parts. A
        word that nothing has stands for what begins with it. Of fewer than four terms, entries with all of them hide
        those with some.

        `session_ids` None: all sessions of the principal (and of the project, when given).
        """
        ...

    async def find_everywhere(
        self, query: str, *, principal: str = "", project: str | None = None, limit: int = 10
    ) -> tuple[Match, ...] | None:
        """`find` in all sessions, where none is behind; None where one is, or only `behind` can say."""
        ...

    async def indexed(self, principal: str, session_id: str) -> frozenset[str]:
        """Batch ids of the session that are indexed; the caller adds the missing ones."""
        ...

    async def lacking(self, principal: str, session_id: str, batch_ids: Collection[str]) -> frozenset[str]:
        """Which of these batches of a session have a record that is not indexed. What `forget` dropped need not be
        among them."""
        ...

    async def behind(self, principal: str, session_ids: Collection[str] | None = None) -> frozenset[str] | None:
        """Sessions of which the archive may have batches that are not indexed; None where only `indexed` can say.

        Args:
            session_ids: of these only, and also those that lost everything that was indexed.
        """
        ...

    async def forget(self, principal: str, session_id: str, batch_ids: Sequence[str]) -> None:
        """Drop entries for a purge: also their bytes, if need be with everything else in the index.

        Raises:
            WriteFailed: they are still there.
        """
        ...


class DiskUse(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes on disk, by what they are for."""

    ledger: int
    archive: int
    index: int
    total: int
    folders: Mapping[str, int] = {}
    """By the name of a session's folder."""


class Store(Protocol):
    """Ledger, archive, search, summaries and handoffs together, and what only a whole store can say."""

    @property
    def ledger(self) -> Ledger: ...
    @property
    def archive(self) -> Archive: ...
    @property
    def search(self) -> Search: ...
    @property
    def summaries(self) -> Summaries: ...
    @property
    def handoffs(self) -> Handoffs: ...
    @property
    def host_notes(self) -> HostNotes: ...

    @property
    def location(self) -> str:
        """For people: a folder, a database's name, `memory`."""
        ...

    async def is_made(self) -> bool:
        """Whether somebody wrote to it before: then there is a secret. Makes nothing."""
        ...

    async def secret(self) -> bytes:
        """32 random bytes, made once a store: the key of redaction marks (D12)."""
        ...

    async def take_secret(self, secret: bytes) -> bool:
        """Have another store's secret, where there is none yet. Returns whether it is the secret now."""
        ...

    async def principals(self) -> tuple[str, ...]:
        """Whose sessions there are, sorted: the local user first, who is there always."""
        ...

    async def tombstones(self, key: SessionKey) -> Tombstones:
        """What was purged from a session."""
        ...

    async def bury(self, key: SessionKey, keys: Collection[str] = (), *, under_way: bool, whole: bool = False) -> None:
        """Add keys that nobody may write again, and say whether a purge is under way; flushed. From now on every write,
        by any process, leaves these contents out.

        Raises:
            WriteFailed: what stood there before still does.
        """
        ...

    async def keep_study(self, key: SessionKey, name: str, data: bytes, keys: Collection[str]) -> bool:
        """Keep what was read of some contents of a session, in the place of what had that name: a cache, of which a
        store may keep none, and lets the oldest go.

        Args:
            name: letters and digits.
            keys: of the contents, as in tombstones.

        Returns:
            False where it is not kept: always where one of the contents was purged.
        """
        ...

    async def studies(self, key: SessionKey) -> Sequence[bytes]:
        """What of that is still there, in no order, and maybe damaged."""
        ...

    async def forget_beside(self, key: SessionKey, gone: Forgotten) -> tuple[str, ...]:
        """Take out what has to go of everything else that is kept of a session: its summary, files that were kept
        aside, caches. Returns what was changed, in words for people."""
        ...

    async def forget_notes(self, gone: Forgotten, principal: str = "") -> tuple[str, ...]:
        """The same for what belongs to no session: handoffs, notes about hosts and skills, the rest of the index."""
        ...

    async def traces(self, holds: Callable[[str], bool]) -> tuple[str, ...]:
        """Where something is still kept that holds a text, told by names of places; everything is looked at as it is
        stored, and decoded."""
        ...

    async def flaws(self) -> tuple[Flaw, ...]:
        """What is missing, or differs from what was written, over all sessions and everything beside them."""
        ...

    async def accept(self, key: SessionKey | None = None, *, losses: bool = False) -> int:
        """Take what stands there now for what was written, where nothing is known to be lost; of one session, or of
        all. Returns how many files.

        Args:
            losses: also where something is known to be lost: it is not missed from then on.
        """
        ...

    async def pack(self, key: SessionKey) -> tuple[int, int]:
        """Put small segments of a session together, line for line (L15). The caller holds the pass lock. Returns how
        many there were, and are.

        Raises:
            WriteFailed, LockTimeout: some may be as they were.
        """
        ...

    async def migrate(self, *, dry_run: bool) -> Migration:
        """Bring an older or hand-edited store up to date.

        Raises:
            StoreNewer: a newer program wrote it.
            WriteFailed: what was done stays done.
        """
        ...

    async def backup(self, target: str) -> BackupReport:
        """Copy everything that cannot be made again into a new folder that is a store itself, while others write.

        Raises:
            OutputRefused, StoreUnusable, WriteFailed: nothing stands at the target.
        """
        ...

    async def note_status(self, key: SessionKey, note: StatusNote) -> None:
        """Keep a session's numbers where a status line finds them; a failure is nobody's."""
        ...

    async def disk_use(self) -> DiskUse:
        """What the store takes now."""
        ...

    async def aclose(self) -> None:
        """Close files and connections. Idempotent."""
        ...
