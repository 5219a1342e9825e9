"""Reading segment files: what came since the last look, without a lock and whoever is writing.

Writing segment files: each belongs to one process and is never opened again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import threading
import zlib
from collections import OrderedDict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from ..errors import WriteFailed
from ..models.events import SessionInfo
from ..models.records import OffloadRecord
from ..ports.seams import Clock, RandomHex
from ..ports.store import Damage
from .disk import Disk, Found, read_from, read_span, sweep, write_all
from .home import SEGMENT_SUFFIX, Home, Witness, segment_name

# One line of a segment: a JSON object whose last member is a checksum of the bytes before it (`docs/format.md`).


T = TypeVar("T")

_SCHEMA = b'{"schema":'
_MORE = b',"_m":1'
_TAIL_SIZE = len(b',"_c":"00000000"}')


def encode(value: msgspec.Struct, *, more: bool = False) -> bytes:
    """One line, newline included.

    Args:
        more: the next line belongs to the same step; readers take both or neither.

    Raises:
        WriteFailed: the value cannot be put into JSON: nested deeper than the parser can follow.
    """
    try:
        body = _json(value)
    except (RecursionError, ValueError, TypeError) as error:
        raise WriteFailed(
            f"A value has no form in JSON ({type(error).__name__}): it is nested too deeply, or not of JSON's types.",
            next="Record it as a string.",
        ) from None
    if isinstance(value, OffloadRecord | SessionInfo) and not body.startswith(_SCHEMA):
        body = b"%s1,%s" % (_SCHEMA, body[1:])  # left out as a default, but a file says its version
    head = body[:-1] + _MORE if more else body[:-1]
    return b'%s,"_c":"%08x"}\n' % (head, zlib.crc32(head))


def encode_all(values: Sequence[msgspec.Struct], *, as_one: bool = False) -> bytes:
    """Lines of one append.

    Args:
        as_one: readers take all of them, or none: also after a crash in the middle of the write.
    """
    last = len(values) - 1
    return b"".join(encode(value, more=as_one and number < last) for number, value in enumerate(values))


def is_whole(line: bytes) -> bool:
    """Whether a line, without its newline, has the checksum of its own bytes."""
    head, tail = line[:-_TAIL_SIZE], line[-_TAIL_SIZE:]
    return bool(head) and tail == b',"_c":"%08x"}' % zlib.crc32(head)


def is_more(line: bytes) -> bool:
    """Whether the next line belongs to the same step."""
    return line[-_TAIL_SIZE - len(_MORE) : -_TAIL_SIZE] == _MORE


class Line(NamedTuple):
    """A line in its segment."""

    offset: int
    """Of its first byte."""
    raw: bytes
    """Without the newline."""
    whole: bool


def settled(data: bytes, start: int) -> tuple[list[Line], int]:
    """Lines that are complete, and the offset behind them.

    A last line without its newline, and a last step whose closing line is not there yet, are left for later: a writer
    is in the middle of it, or died there.

    Args:
        data: bytes of a segment from `start` on.
    """
    lines: list[Line] = []
    kept = at = end = 0
    while (newline := data.find(b"\n", at)) >= 0:
        raw = data[at:newline]
        line = Line(start + at, raw, is_whole(raw))
        lines.append(line)
        at = newline + 1
        if not line.whole or not is_more(raw):
            kept, end = len(lines), at
    return lines[:kept], start + end


class Reader(Generic[T]):
    """Turns whole lines back into values."""

    def __init__(self, type: Any) -> None:
        self._type = type
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(type)

    def decode(self, line: bytes) -> T:
        """The value of a line.

        Raises:
            ValueError: the line's JSON has another shape: a newer program wrote it, or a hand.
        """
        try:
            return self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError):
            return self._decode_slowly(line)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def _decode_slowly(self, line: bytes) -> T:
        """The standard library reads lone surrogates and NaN; for everything else it agrees that the line is bad."""
        try:
            return msgspec.convert(json.loads(line), self._type)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ValueError("another shape") from error


def _json(value: msgspec.Struct) -> bytes:
    try:
        body = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate: only as an escape does it keep the file valid UTF-8
        return _stdlib_json(value, ascii_only=True)
    # msgspec writes NaN and infinities as null; where there is one, the standard library is exact.
    if b"null" in body and _has_odd_number(msgspec.to_builtins(value)):
        return _stdlib_json(value, ascii_only=False)
    return body


def _has_odd_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_odd_number, cast("dict[str, Any]", value).values()))
    if isinstance(value, list | tuple):
        return any(map(_has_odd_number, cast("Sequence[Any]", value)))
    return isinstance(value, float) and not math.isfinite(value)


def _stdlib_json(value: msgspec.Struct, *, ascii_only: bool) -> bytes:
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=ascii_only, separators=(",", ":"))
    return text.encode()


OUR_LIMITS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
"""Failures that say nothing about the file."""
_TRIES = 3
_STEP = 1 << 20
"""Bytes of a segment that become lines at a time; more where a line, or what readers take as one, is longer."""


class Place(NamedTuple):
    """How far a segment was read."""

    offset: int
    """Everything before it is known."""
    size: int
    """The file's size then: behind the offset there may be an unfinished append."""


Places: TypeAlias = Mapping[str, Place]
"""By segment name."""
_START = Place(0, 0)
_ODD = Place(-1, -1)
"""Of something that is not a plain file: reported once."""


class News(NamedTuple):
    """What came to a folder of segments since some places."""

    lines: list[tuple[str, Line]]
    """With the segment's name; by segment in order of names, then by offset."""
    places: dict[str, Place]
    damage: list[Damage]


class SegmentFolder:
    """The segments of one kind in one session.

    Args:
        label: what damage reports call the folder.
    """

    def __init__(self, disk: Disk, folder: str, label: str) -> None:
        self._disk = disk
        self._folder = folder
        self._label = label

    def changed(self, places: Places) -> list[tuple[str, Found]]:
        """Segments that are new or have another size than at `places`: one scan of the folder.

        Raises:
            OSError: the folder cannot be read.
        """
        here = self._disk.look(self._folder)
        if here is None:
            return []
        if here.kind != "folder":
            raise OSError(errno.ENOTDIR, "not a folder")
        return [
            (name, found)
            for name, found in self._disk.scan(self._folder)
            if name.endswith(SEGMENT_SUFFIX) and _differs(places.get(name), found)
        ]

    def news(self, places: Places, *, skip_unreadable: bool) -> News:
        """Complete lines since `places`.

        Args:
            skip_unreadable: a segment that the disk does not give back is damage, and is tried again the next time.

        Raises:
            OSError: the folder cannot be read, or a segment without `skip_unreadable`.
        """
        news = News([], dict(places), [])
        for _ in self.steps(news, skip_unreadable=skip_unreadable):
            pass
        return news

    def steps(self, news: News, *, skip_unreadable: bool) -> Iterator[None]:
        """Add complete lines since `news.places`, some at a time: who takes them out after every step never has the
        lines of a long session in memory twice.

        Raises:
            OSError: as `news`.
        """
        for _ in range(_TRIES):  # a segment that vanishes was merged into another one: look again
            vanished = False
            for name, found in self.changed(news.places):
                try:
                    data, start = self._bytes(name, found, news)
                except FileNotFoundError:
                    vanished = True
                except OSError as error:
                    if not skip_unreadable or error.errno in OUR_LIMITS:
                        raise
                    where = f"{self._label}/{name}"
                    news.damage.append(Damage(where=where, what="the disk does not give it back"))
                else:
                    if start >= 0:
                        yield from _settle(name, data, start, news)
            if not vanished:
                break

    def secure(self, places: Places, flushed: Mapping[str, int]) -> dict[str, Place]:
        """Flush segments that grew since `places`, whoever wrote them, and their names. Returns the places now.

        What a process reads may still be in memory only: its writer may have died before its flush.

        Args:
            flushed: path -> size up to which a segment needs no flush.

        Raises:
            OSError: one of them cannot be flushed.
        """
        grown = [(name, found) for name, found in self.changed(places) if found.kind == "file"]
        paths = [(os.path.join(self._folder, name), found.size) for name, found in grown]
        unsafe = [path for path, size in paths if flushed.get(path) != size]
        for path in unsafe:
            with suppress(FileNotFoundError):  # a purge wrote it anew, and flushed it
                self._disk.flush_others(path)
        if unsafe:
            self._disk.flush_folder(self._folder)
        return {**places, **{name: Place(found.size, found.size) for name, found in grown}}

    def where(self, name: str, offset: int) -> str:
        """A place, as damage reports name it."""
        return f"{self._label}/{name} at byte {offset}"

    def read_line(self, name: str, offset: int, size: int) -> bytes:
        """The bytes of one line, without its newline.

        Raises:
            OSError: they cannot be read.
        """
        fd = self._disk.open(os.path.join(self._folder, name))
        try:
            return read_span(self._disk, fd, offset, size)
        finally:
            self._disk.close(fd)

    def _bytes(self, name: str, found: Found, news: News) -> tuple[bytes, int]:
        """The bytes of a segment from where it is known on, and where that is; none where it is no more what it was."""
        start = max(0, news.places.get(name, _START).offset)
        if found.kind == "file" and found.size >= start:
            return read_from(self._disk, os.path.join(self._folder, name), start), start
        if found.kind != "file":
            place, where, what = _ODD, f"{self._label}/{name}", "not a plain file; it was not opened"
        else:
            place, where, what = (
                Place(start, found.size),
                self.where(name, found.size),
                "the file is shorter than it was",
            )
        news.places[name] = place
        news.damage.append(Damage(where=where, what=what))
        return b"", -1


def _settle(name: str, data: bytes, start: int, news: News) -> Iterator[None]:
    """Add the lines of a segment's bytes, which begin at `start`, to the news."""
    at, step, size = 0, _STEP, start + len(data)
    while True:
        lines, end = settled(data[at : at + step], start + at)
        news.lines.extend((name, line) for line in lines)
        news.places[name] = Place(end, size)
        yield
        if start + at + step >= size:
            return
        at, step = end - start, _STEP if lines else 2 * step


def _differs(place: Place | None, found: Found) -> bool:
    if found.kind != "file":
        return place != _ODD
    return place is None or place.size != found.size


ROLL_BYTES = 16 << 20
"""A segment of this size gets no further lines."""
HOLD_TIMEOUT_S = 10.0
"""How long an append waits for a purge that writes its segment anew."""
OPEN_SEGMENTS = 64
"""Segments of one kind that a process keeps open; a session that had to give way goes on in a new segment."""


class Segment:
    """One open segment and how far it is good."""

    def __init__(self, path: str, fd: int, identity: tuple[int, int], writer: str, pid: int) -> None:
        self.path = path
        self.fd = fd
        self.identity = identity
        self.writer = writer
        self.pid = pid
        self.size = 0
        """Bytes of every append that succeeded."""
        self.lines = 0
        self.sum = hashlib.sha256()
        """Of these bytes."""
        self.safe: tuple[int, str] = (0, self.sum.hexdigest())
        """How many of them were flushed, and their hash."""
        self.witnessed = 0
        """How many of them have a witness."""
        self.named = False
        """Whether its name in the folder is flushed."""

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


class Appender:
    """Writes to one folder of segments. Not safe over threads: its user holds a lock.

    A failed write or flush is final for the segment: what was appended is cut off again as well as it can be, and the
    next append goes to a new file.
    """

    def __init__(
        self, home: Home, folder: str, clock: Clock, random_hex: RandomHex, *, roll_bytes: int = ROLL_BYTES
    ) -> None:
        self._home = home
        self._disk = home.disk
        self._folder = folder
        self._clock = clock
        self._random_hex = random_hex
        self._roll_bytes = roll_bytes
        self._segment: Segment | None = None

    @contextmanager
    def turn(self) -> Generator[Segment]:
        """The segment that the next append goes to, held until the block ends.

        A purge writes a segment anew without some of its lines and takes the old one away, also one that its writer has
        open. It holds the file meanwhile: so a writer sees its file taken away before it writes, or the purge sees what
        was written.

        Raises:
            OSError: none can be made, or somebody holds it for too long.
        """
        segment = self._held()
        try:
            yield segment
        finally:
            if self._segment is segment:  # else it is closed, and its number may be another file's
                self._bear_witness(segment)
                try:
                    self._disk.let_go(segment.fd)
                except OSError:
                    self.close()

    def is_free(self) -> bool:
        """Whether a turn would neither open a segment nor wait for anybody."""
        now = self._segment
        if now is None or now.pid != self._disk.pid() or not self._disk.hold(now.fd, 0.0):
            return False
        self._disk.let_go(now.fd)  # the turn holds it anew: whoever takes none leaves nothing held
        return True

    def _held(self) -> Segment:
        while True:
            now = self._segment
            if now is not None and now.pid != self._disk.pid():
                self.close()  # a forked child shares its parent's hold
                continue
            if now is None:
                now = self._segment = self._open()
            if not self._disk.hold(now.fd, HOLD_TIMEOUT_S):
                raise OSError(errno.EAGAIN, "somebody holds the segment")
            if self._usable(now):
                return now
            self.close()

    def append(self, data: bytes, lines: int, *, durable: bool = True) -> int:
        """Write lines to the segment's end, in a turn; with `durable` they, and the segment's name, are flushed.

        Returns:
            The offset they start at.

        Raises:
            OSError, WriteFailed: they do not count as written.
        """
        segment = self._segment
        assert segment is not None, "only in a turn"
        self._home.refuse_overfull(len(data))
        try:
            write_all(self._disk, segment.fd, data)
            if durable:
                self._flush(segment)
        except OSError:
            self.abandon(segment.size)
            raise
        start = segment.size
        segment.size += len(data)
        segment.lines += lines
        segment.sum.update(data)
        if durable:
            segment.safe = (segment.size, segment.sum.hexdigest())
            self._home.flushed[segment.path] = segment.size
        return start

    def abandon(self, size: int) -> None:
        """Cut the segment to what was good and never write to it again."""
        segment = self._segment
        if segment is None:
            return
        self._segment = None
        try:
            self._disk.truncate(segment.fd, size)
            self._disk.flush(segment.fd)
        except OSError:
            pass  # the caller already raises the first failure; what is left is unacknowledged
        finally:
            self._close(segment)

    def close(self) -> None:
        """Close the file. A later append opens a new segment."""
        if self._segment is not None:
            self._close(self._segment)
            self._segment = None

    def _bear_witness(self, segment: Segment) -> None:
        """After the append, and while a purge cannot take the segment away."""
        if segment.size == segment.witnessed:
            return
        safe, safe_sha256 = segment.safe
        sha256 = safe_sha256 if safe == segment.size else segment.sum.hexdigest()
        self._home.witnesses.put(segment.path, Witness(segment.size, segment.lines, safe, sha256, safe_sha256))
        segment.witnessed = segment.size

    def _flush(self, segment: Segment) -> None:
        self._disk.flush(segment.fd)
        if not segment.named:
            self._disk.flush_folder(self._folder)
            segment.named = True

    def _usable(self, segment: Segment) -> bool:
        """Not when full, and not when a purge took it away or the store was moved or removed under us."""
        if segment.size >= self._roll_bytes:
            return False
        found = self._disk.look(segment.path)
        if found is not None and found.identity == segment.identity:
            return True
        self._home.forget_made()
        return False

    def _open(self) -> Segment:
        self._home.make(self._folder)
        for folder in (self._folder, os.path.dirname(self._folder)):
            sweep(self._disk, folder)
        pid = self._disk.pid()
        writer = f"{pid}-{self._random_hex(8)}"
        path = os.path.join(self._folder, segment_name(self._clock(), writer))
        fd = self._disk.create(path)
        try:
            return Segment(path, fd, self._disk.found(fd).identity, writer, pid)
        except OSError:
            self._disk.close(fd)
            raise

    def _close(self, segment: Segment) -> None:
        with suppress(OSError):  # everything acknowledged was flushed before
            self._disk.close(segment.fd)


class OpenSegments:
    """Keeps the number of open segments within bounds, whatever the number of sessions."""

    def __init__(self, size: int = OPEN_SEGMENTS) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._open: OrderedDict[int, tuple[Appender, threading.Lock]] = OrderedDict()

    def used(self, appender: Appender, lock: threading.Lock) -> None:
        """The appender was just used; the one unused for longest is closed. Call it without holding `lock`."""
        with self._lock:
            self._open[id(appender)] = (appender, lock)
            self._open.move_to_end(id(appender))
            oldest = self._open.popitem(last=False)[1] if len(self._open) > self._size else None
        if oldest is not None:
            with oldest[1]:
                oldest[0].close()

    def close(self) -> None:
        """Close every segment."""
        with self._lock:
            everything = list(self._open.values())
            self._open.clear()
        for appender, lock in everything:
            with lock:
                appender.close()
