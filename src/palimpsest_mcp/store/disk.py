"""The seam to the operating system: every call by which ledger and archive touch a disk."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from .platforms import Flush, Replace, flush_for, replace_for

if TYPE_CHECKING:
    import asyncio

Release: TypeAlias = Callable[[], None]
LOCK_POLL_S = 0.002


class Found(NamedTuple):
    """What stands at a path; a link is `other`, whatever it points to."""

    kind: Literal["file", "folder", "other"]
    size: int
    identity: tuple[int, int]
    """Device and inode: equal for one file under two names, new for a new file under an old name."""
    mode: int


class Disk(Protocol):
    """Paths are absolute. Every failure is an OSError. No call follows a link in its last step."""

    def pid(self) -> int:
        """The process: a fork has another one."""
        ...

    def real(self, path: str) -> str:
        """A path that a user named, with every link in it followed; nothing need stand there."""
        ...

    def database(self, path: str) -> str:
        """What SQLite is to open for the database at a path."""
        ...

    def look(self, path: str) -> Found | None:
        """What stands at a path, or None."""
        ...

    def scan(self, folder: str) -> list[tuple[str, Found]]:
        """Names in a folder with what they are, sorted; empty where there is no such folder."""
        ...

    def mkdir(self, path: str) -> None:
        """A folder for the owner only."""
        ...

    def create(self, path: str) -> int:
        """A new file for the owner only, open for writing; fails when the name is taken."""
        ...

    def extend(self, path: str) -> int:
        """Open a file that is there for appending; one with a second name is refused, since that may be anywhere."""
        ...

    def open(self, path: str) -> int:
        """Open for reading; never waits, whatever stands there."""
        ...

    def found(self, fd: int) -> Found:
        """What an open file is."""
        ...

    def write(self, fd: int, data: memoryview) -> int:
        """Append bytes; returns how many were taken, which may be fewer."""
        ...

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Up to `size` bytes; empty at the end."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut an open file; the next write goes to the new end."""
        ...

    def flush(self, fd: int) -> None:
        """Flush an open file. A failure is final: a second try proves nothing."""
        ...

    def flush_others(self, path: str) -> None:
        """Flush a file that another process writes or wrote."""
        ...

    def flush_folder(self, path: str) -> None:
        """Flush the names in a folder."""
        ...

    def close(self, fd: int) -> None: ...

    def replace(self, source: str, target: str) -> None:
        """Put a file in the place of another in one step."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file."""
        ...

    def lock(self, path: str, timeout_s: float) -> Release | None:
        """Take a lock over threads and processes; None when the time ran out. The holder's death frees it."""
        ...

    def hold(self, fd: int, timeout_s: float) -> bool:
        """Lock the very file that is open, against everybody who holds it by another descriptor; False when the time
        ran out. Letting go, closing it and the holder's death free it."""
        ...

    def let_go(self, fd: int) -> None:
        """End a hold."""
        ...


_TAKE, _FREE = 2 | 4, 8
"""`LOCK_EX | LOCK_NB` and `LOCK_UN` of flock, the same on every POSIX system."""
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
_EXTEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_ALWAYS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)


class RealDisk:
    """The operating system's own files."""

    def __init__(self, *, flush: Flush | None = None, replace: Replace | None = None) -> None:
        self._flush = flush or flush_for(sys.platform)
        self._replace = replace or replace_for(sys.platform)

    def pid(self) -> int:
        return os.getpid()

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def database(self, path: str) -> str:
        return path

    def look(self, path: str) -> Found | None:
        try:
            return _found(os.lstat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def scan(self, folder: str) -> list[tuple[str, Found]]:
        found: list[tuple[str, Found]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    try:
                        found.append((entry.name, _found(entry.stat(follow_symlinks=False))))
                    except FileNotFoundError:
                        continue  # gone since its name was read
        except FileNotFoundError:
            return []
        return sorted(found)

    def mkdir(self, path: str) -> None:
        os.mkdir(path, 0o700)

    def create(self, path: str) -> int:
        return os.open(path, _CREATE | _ALWAYS, 0o600)

    def extend(self, path: str) -> int:
        fd = os.open(path, _EXTEND | _ALWAYS)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            os.close(fd)
            raise OSError(errno.EINVAL, "not a plain file with one name")
        return fd

    def open(self, path: str) -> int:
        return os.open(path, _READ | _ALWAYS)

    def found(self, fd: int) -> Found:
        return _found(os.fstat(fd))

    def write(self, fd: int, data: memoryview) -> int:
        return os.write(fd, data)

    if sys.platform == "win32":

        def read(self, fd: int, size: int, offset: int) -> bytes:
            os.lseek(fd, offset, os.SEEK_SET)
            return os.read(fd, size)
    else:

        def read(self, fd: int, size: int, offset: int) -> bytes:
            return os.pread(fd, size, offset)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def flush(self, fd: int) -> None:
        self._flush.file(fd)

    def flush_others(self, path: str) -> None:
        self._flush.others_file(path)

    def flush_folder(self, path: str) -> None:
        self._flush.folder(path)

    def close(self, fd: int) -> None:
        os.close(fd)

    def replace(self, source: str, target: str) -> None:
        self._replace(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def lock(self, path: str, timeout_s: float) -> Release | None:
        from filelock import FileLock, Timeout  # it costs 40 ms, and a hook locks nothing

        # A lock object of its own for every hold: its own descriptor is what keeps threads of one process apart.
        lock = FileLock(path, mode=0o600, thread_local=False)
        try:
            lock.acquire(timeout=timeout_s, poll_interval=LOCK_POLL_S)
        except Timeout:
            return None
        return lambda: lock.release(force=True)

    def hold(self, fd: int, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while not _flock(fd, _TAKE):
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOCK_POLL_S)
        return True

    def let_go(self, fd: int) -> None:
        _flock(fd, _FREE)


def _flock(fd: int, operation: int) -> bool:
    """Whether it could be had at once. Windows needs none: a file that is open there can be neither removed nor
    renamed, so whoever wants to take it away is refused instead."""
    if sys.platform == "win32":
        return True
    import fcntl  # not there on Windows

    try:
        fcntl.flock(fd, operation)
    except BlockingIOError:
        return False
    return True


def _found(status: os.stat_result) -> Found:
    mode = status.st_mode
    kind = "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"
    return Found(kind, status.st_size, (status.st_dev, status.st_ino), stat.S_IMODE(mode))


# One hop to a thread and back, for a whole operation of many steps.


P = ParamSpec("P")
T = TypeVar("T")


async def hop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread, to its end.

    A cancelled caller stops waiting, the work does not stop in the middle: what it wrote is whole, only unacknowledged.
    """
    import asyncio  # a hook that only reads small files starts without it

    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(_take_outcome)
        raise


def _take_outcome(done: asyncio.Future[Any]) -> None:
    """Nobody waits any more: look at the outcome, so that it is not reported as forgotten."""
    if not done.cancelled():
        done.exception()
