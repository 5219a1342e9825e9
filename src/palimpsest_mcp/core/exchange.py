"""Sessions into one file and out of it again: every line with its checksum, the whole with its hash, every text with
its own. Nothing is written before all of it was read and checked."""

from __future__ import annotations

import asyncio
import hashlib
import re
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from ..errors import ExchangeRefused, FileNotJson, RecordDamaged, SessionExists
from ..memory.summary.sections import NotASummary, from_markdown, to_markdown
from ..models.advice import Advice, step
from ..models.events import EVENT_SCHEMA, Event, Opened, Seen, SessionInfo, SessionKey
from ..models.items import content_sha256
from ..models.records import OffloadRecord
from ..models.reports import (
    EXCHANGE_SCHEMA,
    ExchangedSession,
    ExchangeEnd,
    ExchangeHead,
    ExchangeReport,
    ExchangeSession,
)
from ..store.archive import flaw
from ..store.out_file import read_stream
from ..store.segments import Reader, encode, is_whole
from .importer import as_path
from .parts import Facade
from .sessions import MAX_ID_CHARACTERS

MAX_BYTES = 1 << 30
"""Of an exchange file's content, unpacked. A larger one is refused: export fewer sessions at a time."""
MAX_NUMBER = 1 << 53
"""Of revisions, clocks and counts: what any JSON reader takes exactly."""
_BATCH = re.compile(r"offload_\d{4,12}")

_HEADS: Reader[ExchangeHead] = Reader(ExchangeHead)
_SESSIONS: Reader[ExchangeSession] = Reader(ExchangeSession)
_ENDS: Reader[ExchangeEnd] = Reader(ExchangeEnd)
_EVENTS: Reader[Event] = Reader(Event)
_RECORDS: Reader[OffloadRecord] = Reader(OffloadRecord)


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """One session as an exchange file holds it."""

    head: ExchangeSession
    events: tuple[Event, ...]
    records: tuple[OffloadRecord, ...]

    def row(self, status: Literal["exported", "imported", "already_here", "would_import"]) -> ExchangedSession:
        """For a report."""
        info = self.head.session
        return ExchangedSession(
            session_id=info.session_id,
            handle=info.handle,
            events=len(self.events),
            records=len(self.records),
            status=status,
        )


class Exchange(Facade):
    """The use cases that move sessions from one store into another."""

    async def export_sessions(self, session_ids: Sequence[str], file: BinaryIO) -> ExchangeReport:
        """Write sessions, with their parents, into one checked file that `import_sessions` takes in another store.

        Args:
            file: open for writing bytes; what is written is gzipped.

        Raises:
            SessionUnknown: nothing was written.
            RecordDamaged: one of them is damaged, or a purge of it is under way; nothing was written.
        """
        infos = [await self._sessions.find(name) for name in session_ids]
        chosen = {one.session_id: one for info in infos for one in await self._sessions.family(info)}
        parcels = [await self._parcel(info) for info in chosen.values()]
        notes = [
            f"{one.handle} goes with it: batches are found there too" for one in chosen.values() if one not in infos
        ]
        packed, sha256 = await asyncio.to_thread(_packed, parcels, self._deps.now())
        await asyncio.to_thread(file.write, packed)
        rows = tuple(one.row("exported") for one in parcels)
        return ExchangeReport(sessions=rows, sha256=sha256, notes=tuple(notes))

    async def _parcel(self, info: SessionInfo) -> Parcel:
        store, key = self._deps.store, self._sessions.key(info)
        said = await store.tombstones(key)
        page = await store.ledger.read(key)
        records = tuple([record async for record in store.archive.records(key)])
        if page.damage or await store.archive.damage(key) or said.under_way:
            raise RecordDamaged(
                f"{info.handle} is damaged, or a purge of it is not finished, so it was not exported.",
                next=Advice(
                    "See what can be mended: {}; then {}, and export it again.",
                    step("repair", session_id=info.handle),
                    step("repair_now", session_id=info.handle),
                ),
            )
        summary = (await store.summaries.get(key)).summary
        head = ExchangeSession(
            session=info,
            events=len(page.events),
            records=len(records),
            summary=None if summary is None else to_markdown(summary),
            purged=said.keys,
        )
        return Parcel(head=head, events=page.events, records=records)

    async def import_sessions(self, path: Path | str, *, dry_run: bool = False) -> ExchangeReport:
        """Take in what `export_sessions` wrote. Everything in it is checked before anything is written; what is here
        already, event for event, stays as it is, so importing it again writes nothing.

        Args:
            dry_run: only check it.

        Raises:
            FileMissing, ExchangeRefused: it cannot be read, or is not what an export wrote; nothing was written.
            SessionExists: one of them is here with another content; nothing was written.
            WriteFailed, LockTimeout: each session is there whole or not at all; run it again.
        """
        parcels, sha256 = await self._read(as_path(path))
        new = [one for one in parcels if not await self._is_here(one)]
        taken = {info.handle: info.session_id for info in await self._sessions.all()}
        infos = [one.head.session for one in new]
        notes = [
            f"the handle {info.handle} is another session's here: name {info.session_id} by its id"
            for info in infos
            if taken.get(info.handle, info.session_id) != info.session_id
        ]
        for one in () if dry_run else new:
            await self._put(one)
        status: Literal["would_import", "imported"] = "would_import" if dry_run else "imported"
        rows = tuple(one.row(status if one in new else "already_here") for one in parcels)
        return ExchangeReport(sessions=rows, sha256=sha256, notes=tuple(notes))

    async def _is_here(self, one: Parcel) -> bool:
        """Whether a session has all that the file has of it."""
        store, key = self._deps.store, self._key(one)
        events = {(event.w, event.n): event for event in (await store.ledger.read(key)).events}
        records = {record.batch_id: record async for record in store.archive.records(key)}
        purged = await store.tombstones(key)
        same_records = all(records.get(record.batch_id) == record for record in one.records)
        if same_records and all(events.get((event.w, event.n)) == event for event in one.events):
            return True
        # A crash may have left its tombstones, records and summary, which come first.
        elsewhere = "Import the file into another store (--home)."
        handle = one.head.session.handle
        if not set(purged.keys) <= set(one.head.purged):
            raise SessionExists(
                f"Something of {handle} was purged here, and what was purged is not taken in again.", next=elsewhere
            )
        if events or any(records.get(r.batch_id, r) != r for r in one.records):
            raise SessionExists(
                f"A session {handle} of the same id is here already, with another content.", next=elsewhere
            )
        return False

    async def _put(self, one: Parcel) -> None:
        """Records first, flushed and read back, and the summary; then the events in one step: with them the session is
        there."""
        store, key = self._deps.store, self._key(one)
        known = {record.batch_id async for record in store.archive.records(key)}
        if one.head.purged:
            await store.bury(key, one.head.purged, under_way=False)
        await store.archive.append(key, [record for record in one.records if record.batch_id not in known])
        kept = await store.summaries.get(key)
        if one.head.summary is not None and not kept.version:
            await store.summaries.put(key, from_markdown(one.head.summary), after="")
        await store.ledger.adopt(key, one.events)

    def _key(self, one: Parcel) -> SessionKey:
        return SessionKey(one.head.session.session_id, self._deps.principal)

    async def _read(self, path: Path) -> tuple[list[Parcel], str]:
        """The sessions of a file, everything in it checked."""
        reading = Reading(self._deps.principal)
        try:
            async for line in _lines(path):
                reading.take(line)
        except FileNotJson as error:
            raise _refused(error.message) from error
        return reading.done()


class Reading:
    """Takes an exchange file line by line."""

    def __init__(self, principal: str) -> None:
        self._principal = principal
        self._hash = hashlib.sha256()
        self._lines = 0
        self._head: ExchangeHead | None = None
        self._end: ExchangeEnd | None = None
        self._current: ExchangeSession | None = None
        self._events: dict[tuple[str, int], Event] = {}
        self._records: dict[str, OffloadRecord] = {}
        self._parcels: dict[str, Parcel] = {}

    def take(self, line: bytes) -> None:
        """Check one line, without its newline."""
        number = self._lines + 1
        if self._end is not None:
            raise _refused("Something stands behind its last line.")
        if not is_whole(line) and number == 1:
            raise _refused(
                "It does not begin as what an export wrote does.",
                next="Name a file that export wrote, copied whole; compact reads a session's own file.",
            )
        if not is_whole(line):
            raise _refused(f"Line {number} does not have the checksum of its bytes.")
        try:
            self._understand(line)
        except ValueError as error:
            raise _refused(f"Line {number} is not what an export writes there.") from error
        if self._end is None:
            self._hash.update(line + b"\n")
        self._lines += 1

    def done(self) -> tuple[list[Parcel], str]:
        """Everything, when the last line was taken."""
        head, end = self._head, self._end
        if head is None or end is None or head.sessions != len(self._parcels) or end.lines != self._lines - 1:
            raise _refused("Its end is missing.")
        if end.sha256 != self._hash.hexdigest():
            raise _refused("Its content does not have the hash that its last line names.")
        return list(self._parcels.values()), end.sha256

    def _understand(self, line: bytes) -> None:
        if self._head is None:
            self._head = _HEADS.decode(line)
            if self._head.exchange > EXCHANGE_SCHEMA:
                raise _refused(
                    f"It has version {self._head.exchange}, this program knows up to {EXCHANGE_SCHEMA}.",
                    next="Install a newer palimpsest-mcp.",
                )
            return
        now = self._current
        if now is None:
            if line.startswith(b'{"lines":'):
                self._end = _ENDS.decode(line)
                return
            self._begin(_SESSIONS.decode(line))
        elif len(self._events) < now.events:
            self._event(_EVENTS.decode(line), now.session)
        else:
            self._record(_RECORDS.decode(line), now.session)
        now = self._current
        if now is not None and len(self._events) == now.events and len(self._records) == now.records:
            self._finish(now)

    def _begin(self, head: ExchangeSession) -> None:
        info = head.session
        if not 0 < len(info.session_id) <= MAX_ID_CHARACTERS or info.session_id in self._parcels:
            raise ValueError("an id that cannot be, or comes twice")
        if min(head.events, head.records) < 0 or not head.events:
            raise ValueError("a session without events")
        if head.summary is not None:
            try:
                from_markdown(head.summary)
            except NotASummary as error:
                raise ValueError("no summary") from error
        self._current = msgspec.structs.replace(head, session=msgspec.structs.replace(info, principal=self._principal))
        self._events, self._records = {}, {}

    def _event(self, event: Event, info: SessionInfo) -> None:
        numbers = (event.n, event.clock, getattr(event, "rev", 0))
        if event.v > EVENT_SCHEMA or not all(0 <= number <= MAX_NUMBER for number in numbers):
            raise ValueError("a newer program's event, or a number that cannot be")
        if (event.w, event.n) in self._events or not event.w:
            raise ValueError("an event that comes twice")
        if isinstance(event, Opened):
            if event.info.session_id != info.session_id:
                raise ValueError("another session's event")
            event = msgspec.structs.replace(event, info=msgspec.structs.replace(event.info, principal=self._principal))
        if isinstance(event, Seen):
            item = event.item
            if item.content is not None and content_sha256(item.content) != item.sha256:
                raise ValueError("a text that does not have its hash")
        self._events[event.w, event.n] = event

    def _record(self, record: OffloadRecord, info: SessionInfo) -> None:
        if record.batch_id in self._records or not _BATCH.fullmatch(record.batch_id):
            raise ValueError("a batch that comes twice, or no batch")
        if reason := flaw(record, SessionKey(info.session_id, self._principal)):
            raise ValueError(reason)
        if content_sha256(record.digest_replacing_inline) != record.digest_sha256 and not any(
            item.purged for item in record.items
        ):
            raise ValueError("a digest that does not have its hash")
        self._records[record.batch_id] = record

    def _finish(self, now: ExchangeSession) -> None:
        events, records = tuple(self._events.values()), tuple(self._records.values())
        self._parcels[now.session.session_id] = Parcel(head=now, events=events, records=records)
        self._current = None


def _packed(parcels: Sequence[Parcel], now: str) -> tuple[bytes, str]:
    """The file's bytes, and the hash of its content before the last line."""
    lines = [encode(ExchangeHead(exchange=EXCHANGE_SCHEMA, sessions=len(parcels), created=now))]
    for one in parcels:
        lines += [encode(one.head), *map(encode, one.events), *map(encode, one.records)]
    content = b"".join(lines)
    sha256 = hashlib.sha256(content).hexdigest()
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    end = encode(ExchangeEnd(lines=len(lines), sha256=sha256))
    return packer.compress(content) + packer.compress(end) + packer.flush(), sha256


async def _lines(path: Path) -> AsyncIterator[bytes]:
    """Lines of a file, unpacked piece by piece, and never more than `MAX_BYTES` of it."""
    rest, size = bytearray(), 0
    async with aclosing(read_stream(path)) as pieces:
        async for piece in pieces:
            size += len(piece)
            if size > MAX_BYTES:
                raise _refused(f"It unfolds to more than {MAX_BYTES:,} bytes.", next="Export fewer sessions at a time.")
            start = len(rest)
            rest += piece
            if (last := rest.rfind(b"\n", start)) >= 0:
                for line in bytes(rest[:last]).split(b"\n"):
                    yield line
                del rest[: last + 1]
    if rest:
        raise _refused("Its last line is cut off.")


def _refused(why: str, *, next: str = "Export the sessions again, and copy the file whole.") -> ExchangeRefused:
    return ExchangeRefused(f"This file cannot be imported. {why}", next=next)
