"""Writing segment files: each belongs to one process and is never opened again."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager, suppress

from ..ports.text import Clock, RandomHex
from .disk import sweep, write_all
from .home import Home, segment_name
from .witness import Witness

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
