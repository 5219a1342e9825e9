"""The archives of a store on disk, step by step; `disk_store` calls it from threads.

Where each batch's record stands in an archive, kept up to date from new bytes only.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import NamedTuple

import msgspec

from ..context.tombstones import holds_gone, record_without
from ..errors import Purged, RecordDamaged, WriteFailed
from ..models.advice import Advice, step
from ..models.events import SessionKey
from ..models.items import content_sha256
from ..models.records import RECORD_SCHEMA, OffloadRecord
from ..models.reports import Forgotten
from ..ports.seams import Clock, RandomHex
from ..ports.store import Broken, Damage, Tombstones
from .disk import Found, read_from, reads, unreadable, writes
from .home import ARCHIVE, Home
from .rewrite import Change, rewrite, spoilt
from .segments import (
    ROLL_BYTES,
    Appender,
    Line,
    OpenSegments,
    Places,
    Reader,
    SegmentFolder,
    encode,
    encode_all,
    is_whole,
)
from .session_folder import TombstoneFile, refuse_foreign, refuse_other_key


class Copy(NamedTuple):
    """One line that holds a batch's record."""

    segment: str
    offset: int
    size: int


class _BatchLine(msgspec.Struct):
    batch_id: str


_LINES: Reader[_BatchLine] = Reader(_BatchLine)
_NUMBER = re.compile(r"offload_(\d{4,18})")
_NAMED = re.compile(rb'[^{}\[\]]{0,4096}"batch_id":"(offload_\d{4,12})"')


class BatchIndex:
    """Batches of one session's archive. Safe over threads."""

    def __init__(self, segments: SegmentFolder) -> None:
        self._segments = segments
        self._lock = threading.Lock()
        self._places: Places = {}
        self._copies: dict[str, dict[Copy, None]] = {}
        self._damaged: set[str] = set()

    def refresh(self) -> None:
        """Take in what came since the last call.

        Raises:
            OSError: the folder cannot be read.
        """
        with self._lock:
            news = self._segments.news(self._places, skip_unreadable=True)
            for segment, line in news.lines:
                self._take(segment, line)
            self._places = news.places

    def copies(self, batch_id: str) -> list[Copy]:
        """Lines that hold the batch, oldest first: by segment, then by offset."""
        with self._lock:
            return sorted(self._copies.get(batch_id, {}))

    def batch_ids(self) -> list[str]:
        """Every batch that has a copy, by number, then by name."""
        with self._lock:
            return sorted(self._copies, key=batch_order)

    def _take(self, segment: str, line: Line) -> None:
        try:
            if not line.whole:
                raise ValueError
            batch_id = _LINES.decode(line.raw).batch_id
        except ValueError:
            if named := _NAMED.match(line.raw, 1):
                self._damaged.add(named[1].decode())
            return
        self._copies.setdefault(batch_id, {})[Copy(segment, line.offset, len(line.raw))] = None

    def is_damaged(self, batch_id: str) -> bool:
        """Whether a damaged line, or a last line that was cut off, says that it holds the batch.

        Raises:
            OSError: the end of a segment cannot be read.
        """
        with self._lock:
            return batch_id in self._damaged or batch_id in self._cut_off()

    def _cut_off(self) -> set[str]:
        ends = [(name, place) for name, place in self._places.items() if 0 <= place.offset < place.size]
        raws = (self._segments.read_line(name, place.offset, place.size - place.offset) for name, place in ends)
        return {named[1].decode() for raw in raws if (named := _NAMED.match(raw, 1))}


def batch_order(batch_id: str) -> tuple[int, str]:
    """Sorts `offload_0007` by its number; anything else comes first, by name."""
    number = _NUMBER.fullmatch(batch_id)
    return int(number[1]) if number else 0, batch_id


_RECORDS: Reader[OffloadRecord] = Reader(OffloadRecord)
_TICK_S = 0.1
"""More than the steps in which a file system tells when a file changed."""
_KEPT = 8
"""Sessions whose records are held in memory, up to `_AT_ONCE` of each."""
_AT_ONCE = 1 << 20
"""Bytes of lines that are read in one hop to a thread: a hop and a look at the folder cost more than a small record."""


class SessionArchive:
    """One session's archive, as one process writes and reads it."""

    def __init__(
        self,
        home: Home,
        key: SessionKey,
        clock: Clock,
        random_hex: RandomHex,
        roll_bytes: int,
        now_s: Callable[[], float],
    ) -> None:
        self.pid = home.disk.pid()
        self.key = key
        self.folder = home.session_folder(key)
        self._home = home
        self._now_s = now_s
        self._path = os.path.join(self.folder, ARCHIVE)
        self._segments = SegmentFolder(home.disk, self._path, f"{os.path.basename(self.folder)}/{ARCHIVE}")
        self._index = BatchIndex(self._segments)
        self.appender = Appender(home, self._path, clock, random_hex, roll_bytes=roll_bytes)
        self.tombstones = TombstoneFile(home, self.folder)
        self.writing = threading.Lock()
        self._kept: tuple[list[tuple[str, Found]], list[OffloadRecord]] | None = None
        """Every whole record of a small archive, and how its files stood before they were read."""

    def append(self, records: Sequence[OffloadRecord]) -> None:
        """Write, flush, read back from the disk's own view, compare.

        Raises:
            WriteFailed: any of it failed; what was written is cut off again.
        """
        with self.writing, writes("the archive"), self.appender.turn() as segment:
            refuse_purged(records, self.tombstones.read())
            data = encode_all(records)
            start = self.appender.append(data, len(records))
            try:
                self._read_back(segment.name, start, data)
            except (OSError, WriteFailed):
                self.appender.abandon(start)
                raise

    def _read_back(self, segment: str, start: int, data: bytes) -> None:
        found = read_from(self._home.disk, os.path.join(self._path, segment), start)
        if found != data:
            raise WriteFailed(
                "The disk gives back other bytes than were written to the archive.",
                next="Check the disk; nothing was replaced.",
            )
        for line in found.split(b"\n")[:-1]:
            if reason := self._line_flaw(line):
                raise WriteFailed(f"A record cannot be trusted: {reason}.", next="Record the items again.")

    def get(self, batch_id: str) -> OffloadRecord | None:
        """The newest whole copy, None when the archive has none at all.

        Raises:
            RecordDamaged: there are copies, and none is whole.
            StoreUnusable: the folder cannot be read.
        """
        self._refresh()
        if (record := self._newest_whole(batch_id)) is not None:
            return record
        if not self._index.copies(batch_id) and not self._is_damaged(batch_id):
            return None
        raise RecordDamaged(
            f"The record of {batch_id} is damaged, and there is no whole copy.",
            next=Advice(
                "Restore the session's folder `offloaded` from a backup; what else is damaged: {}", step("verify")
            ),
        )

    def _newest_whole(self, batch_id: str) -> OffloadRecord | None:
        for copy in reversed(self._index.copies(batch_id)):
            record = self._load(copy)
            if record is not None and record.batch_id == batch_id and not flaw(record, self.key):
                return record
        return None

    def batch_ids(self) -> list[str]:
        """Every batch with a copy that looks whole, in batch order."""
        self._refresh()
        return self._index.batch_ids()

    def kept(self) -> list[OffloadRecord] | None:
        """Every whole record, where they are in memory and the files stand as they stood: one look at the folder."""
        known = self._kept
        try:
            return known[1] if known is not None and self._home.disk.scan(self._path) == known[0] else None
        except OSError:
            return None

    def let_go(self) -> None:
        """Hold no records in memory."""
        self._kept = None

    def first(self) -> tuple[list[OffloadRecord], list[str]]:
        """As `some` of every batch; and the batches that were not looked at. What is small is kept in memory.

        Raises:
            StoreUnusable: the folder cannot be read.
        """
        try:
            stood = self._home.disk.scan(self._path)
        except OSError as error:
            raise unreadable(error, "the archive") from error
        batch_ids = self.batch_ids()
        found, looked = self.some(batch_ids)
        newest = max((entry.modified for _, entry in stood), default=0.0)
        size = sum(entry.size for _, entry in stood)
        # A file may change twice within one tick of its clock: what is that young is read again the next time.
        settled = stood and 0 < newest < self._now_s() - _TICK_S
        self._kept = (stood, found) if settled and size <= _AT_ONCE and len(found) == len(batch_ids) else None
        return found, batch_ids[looked:]

    def some(self, batch_ids: Sequence[str]) -> tuple[list[OffloadRecord], int]:
        """The first of these, as far as `_AT_ONCE` bytes of lines go, but one at least, and how many were looked at.
        Batches without a whole copy are left out.

        Raises:
            StoreUnusable: the folder cannot be read.
        """
        self._refresh()
        found: list[OffloadRecord] = []
        size = looked = 0
        for batch_id in batch_ids:
            if looked and size >= _AT_ONCE:
                break
            looked += 1
            size += max((copy.size for copy in self._index.copies(batch_id)), default=0)
            if (record := self._newest_whole(batch_id)) is not None:
                found.append(record)
        return found, looked

    def damage(self) -> tuple[Damage, ...]:
        """Everything in the archive, read anew."""
        with reads("the archive"):
            news = self._segments.news({}, skip_unreadable=True)
        for segment, line in news.lines:
            if reason := self._line_flaw(line.raw):
                news.damage.append(Damage(where=self._segments.where(segment, line.offset), what=reason))
        return tuple(news.damage)

    def broken(self) -> list[Broken]:
        """Lines that cannot be trusted, with their bytes, and what a file that was cut off ends with.

        Raises:
            StoreUnusable: the folder cannot be read.
        """
        with reads("the archive"):
            news = self._segments.news({}, skip_unreadable=True)
            ends = [(name, place) for name, place in news.places.items() if 0 <= place.offset < place.size]
            tails = [
                Broken(
                    where=self._segments.where(name, place.offset),
                    raw=self._segments.read_line(name, place.offset, place.size - place.offset),
                )
                for name, place in ends
            ]
        lines = [
            Broken(where=self._segments.where(name, line.offset), raw=line.raw)
            for name, line in news.lines
            if self._line_flaw(line.raw)
        ]
        return lines + tails

    def mend(self, records: Mapping[bytes, OffloadRecord | None]) -> int:
        """Put records in the place of broken lines; the files that held these are kept aside.

        Raises:
            WriteFailed, LockTimeout: what was broken is there as it was.
        """

        def change(raw: bytes, whole: bool) -> bytes | None:
            if raw not in records:
                return raw
            record = records[raw]
            return None if record is None else encode(record)[:-1]

        return self._rewrite(change, tail=True, aside=True)

    def forget(self, gone: Forgotten) -> int:
        """Write every segment anew that holds what has to go.

        Raises:
            WriteFailed, LockTimeout: some segments may still have it; asking again goes on.
        """

        def change(raw: bytes, whole: bool) -> bytes | None:
            if gone.whole:
                return None
            try:
                record = _RECORDS.decode(raw) if whole else None
            except ValueError:
                record = None
            if record is None:
                return None if spoilt(raw, gone) else raw
            kept = record_without(record, gone)
            return raw if kept is record else encode(kept)[:-1]

        return self._rewrite(change, tail=False, aside=False)

    def _rewrite(self, change: Change, *, tail: bool, aside: bool) -> int:
        with writes("the archive"):
            with self.writing:
                self.appender.close()
            self.let_go()
            return rewrite(self._home, self._path, change, tail=tail, aside=aside)

    def _line_flaw(self, raw: bytes) -> str:
        if not is_whole(raw):
            return "not a record: its checksum does not fit"
        try:
            return flaw(_RECORDS.decode(raw), self.key)
        except ValueError as error:
            return f"not a record: {error}"

    def _load(self, copy: Copy) -> OffloadRecord | None:
        try:
            raw = self._segments.read_line(copy.segment, copy.offset, copy.size)
            return _RECORDS.decode(raw) if is_whole(raw) else None
        except (OSError, ValueError):
            return None

    def _is_damaged(self, batch_id: str) -> bool:
        with reads("the archive"):
            return self._index.is_damaged(batch_id)

    def _refresh(self) -> None:
        with reads("the archive"):
            self._index.refresh()


class ArchiveFiles:
    """`ports.store.Archive` says what each call promises.

    Args:
        now_s: the time by which the disk says when a file changed.
    """

    def __init__(
        self,
        home: Home,
        *,
        clock: Clock,
        random_hex: RandomHex,
        roll_bytes: int = ROLL_BYTES,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._now_s = now_s
        self._clock = clock
        self._random_hex = random_hex
        self._roll_bytes = roll_bytes
        self._archives: dict[str, SessionArchive] = {}
        self._adding = threading.Lock()
        self._newest: list[SessionArchive] = []
        """Those that may hold records, the newest first."""
        self._open_segments = OpenSegments()

    def append(self, key: SessionKey, records: Sequence[OffloadRecord]) -> None:
        for record in records:
            refuse_other_key(key, record.session_id, key.principal)
        if not records:
            return
        self._home.check()
        archive = self._archive(key)
        archive.append(records)
        self._open_segments.used(archive.appender, archive.writing)

    def get_kept(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        """A record that `kept` has, and that nobody can have changed since: its originals are plain strings."""
        found = next((one for one in self.kept(key) or () if one.batch_id == batch_id), None)
        return found if found and all(isinstance(item.result, (str, NoneType)) for item in found.items) else None

    def get(self, key: SessionKey, batch_id: str) -> OffloadRecord | None:
        return self._archive(key).get(batch_id) if self._stands(key) else None

    def batch_ids(self, key: SessionKey) -> list[str]:
        return self._archive(key).batch_ids() if self._stands(key) else []

    def kept(self, key: SessionKey) -> list[OffloadRecord] | None:
        """What a look at the folder finds unchanged since `first`; None: ask that."""
        return self._archive(key).kept() if self._stands(key) else None

    def first(self, key: SessionKey) -> tuple[list[OffloadRecord], list[str]]:
        if not self._stands(key):
            return [], []
        archive = self._archive(key)
        found = archive.first()
        with self._adding:
            self._newest = [archive, *(one for one in self._newest if one is not archive)]
            for old in self._newest[_KEPT:]:
                old.let_go()
            del self._newest[_KEPT:]
        return found

    def some(self, key: SessionKey, batch_ids: Sequence[str]) -> tuple[list[OffloadRecord], int]:
        return self._archive(key).some(batch_ids) if self._stands(key) else ([], len(batch_ids))

    def damage(self, key: SessionKey) -> tuple[Damage, ...]:
        return self._archive(key).damage() if self._stands(key) else ()

    def broken(self, key: SessionKey) -> tuple[Broken, ...]:
        return tuple(self._archive(key).broken()) if self._stands(key) else ()

    def mend(self, key: SessionKey, records: Mapping[bytes, OffloadRecord | None]) -> int:
        refuse_foreign(key, filter(None, records.values()))
        return self._archive(key).mend(records) if records and self._stands(key) else 0

    def forget(self, key: SessionKey, gone: Forgotten) -> int:
        return self._archive(key).forget(gone) if self._stands(key) else 0

    def close(self) -> None:
        self._open_segments.close()

    def _stands(self, key: SessionKey) -> bool:
        self._home.check()
        return self._home.stands(self._home.session_folder(key))

    def _archive(self, key: SessionKey) -> SessionArchive:
        folder = self._home.session_folder(key)
        known = self._archives.get(folder)
        if known is not None and known.pid == self._home.disk.pid():
            return known
        with self._adding:
            if self._archives.get(folder) is known:
                self._archives[folder] = SessionArchive(
                    self._home, key, self._clock, self._random_hex, self._roll_bytes, self._now_s
                )
            return self._archives[folder]


# What makes a stored record whole, and the order of batches.


def flaw(record: OffloadRecord, key: SessionKey) -> str:
    """Why a record cannot be trusted; empty when it can: the right session, and every item fits its hash."""
    if record.schema > RECORD_SCHEMA:
        return "a newer program wrote it"
    if record.session_id != key.session_id:
        return "it names another session"
    for number, item in enumerate(record.items):
        if item.purged:
            if item.result is not None:
                return f"item {number} was purged and holds a text"
        elif item.sha256 and not _fits(item.result, item.sha256):
            return f"item {number} does not fit its hash"
    return ""


def refuse_purged(records: Iterable[OffloadRecord], tombstones: Tombstones) -> None:
    """Raises Purged where a record holds a text that the user had removed: what is not archived is not replaced."""
    keys = frozenset(tombstones.keys)
    if keys and any(holds_gone(record, keys) for record in records):
        raise Purged(
            "A text of this batch was purged, so it is not stored again; the context stays as it is.",
            next="Run the pass again: what was purged stays out of it.",
        )


def _fits(result: object, sha256: str) -> bool:
    try:
        return content_sha256(result) == sha256  # pyright: ignore[reportArgumentType]  # whatever JSON held
    except ValueError:  # bad base64
        return False
