"""The seam to the operating system: every call by which ledger and archive touch a disk."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from ..errors import StoreUnusable, WriteFailed

if TYPE_CHECKING:
    import asyncio
    from types import CoroutineType


Release: TypeAlias = Callable[[], None]


class Found(NamedTuple):
    """What stands at a path; a link is `other`, whatever it points to."""

    kind: Literal["file", "folder", "other"]
    size: int
    identity: tuple[int, int]
    """Device and inode: equal for one file under two names, new for a new file under an old name."""
    mode: int
    modified: float = 0.0
    """Seconds since 1970."""


class Disk(Protocol):
    """Paths are absolute. Every failure is an OSError. No call follows a link in its last step."""

    def pid(self) -> int:
        """The process: a fork has another one."""
        ...

    def is_alive(self, pid: int) -> bool:
        """Whether a process may still be running."""
        ...

    def tighten(self, path: str) -> None:
        """Leave a file or folder to its owner only."""
        ...

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        ...

    def real(self, path: str) -> str:
        """A path that a user named, with every link in it followed; nothing need stand there."""
        ...

    def database(self, path: str) -> str:
        """What SQLite is to open for the database at a path."""
        ...

    def guard(self, root: str) -> None:
        """From now on no link below this folder is followed, in the last step or in any before it: where somebody swaps
        a folder for a link, also between two calls, what is asked for below it is not found, and nothing can be made
        there. Windows looks at the last step only."""
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

    def overwrite(self, path: str, data: bytes) -> None:
        """Put bytes at the beginning of a file in one write, unflushed; the file is made where there is none."""
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


# One hop to a thread and back, for a whole operation of many steps.


P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


async def hop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread, to its end.

    A cancelled caller stops waiting, the work does not stop in the middle: what it wrote is whole, only unacknowledged.
    """
    import asyncio  # a hook that only reads small files starts without it

    here = copy_context()
    # As `asyncio.to_thread`, without a task around it.
    running = asyncio.get_running_loop().run_in_executor(None, lambda: here.run(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(_take_outcome)
        raise


def in_thread(work: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], CoroutineType[Any, Any, T]]:
    """A method that blocks, to be awaited: each call is one hop to a thread."""

    @wraps(work)
    async def hopped(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await hop(work, self, *args, **kwargs)

    return hopped


def _take_outcome(done: asyncio.Future[Any]) -> None:
    """Nobody waits any more: look at the outcome, so that it is not reported as forgotten."""
    if not done.cancelled():
        done.exception()


# Small files that are read and replaced as a whole: `VERSION`, `secret`, `session.json`.


def read_from(disk: Disk, path: str, offset: int = 0) -> bytes:
    """The bytes of a plain file from an offset to its end.

    Raises:
        OSError: it cannot be read; a link, folder or pipe is `EINVAL`.
    """
    fd = disk.open(path)
    try:
        found = disk.found(fd)
        if found.kind != "file":
            raise OSError(errno.EINVAL, "not a plain file")
        return read_span(disk, fd, offset, found.size - offset)
    finally:
        disk.close(fd)


def read_span(disk: Disk, fd: int, offset: int, size: int) -> bytes:
    """Up to `size` bytes from an offset; fewer only where the file ends."""
    chunks: list[bytes] = []
    while size > 0 and (chunk := disk.read(fd, size, offset)):
        chunks.append(chunk)
        offset += len(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def write_all(disk: Disk, fd: int, data: bytes) -> None:
    """Write every byte, however few the system takes at a time."""
    rest = memoryview(data)
    while rest:
        taken = disk.write(fd, rest)
        if taken <= 0:
            raise OSError(errno.EIO, "the system took nothing")
        rest = rest[taken:]


def replace_whole(
    disk: Disk, path: str, data: bytes, random_hex: Callable[[int], str], *, durable: bool = True
) -> None:
    """Put new content in the place of a file: readers see the old or the new one, and once this returns the new one is
    on disk. A crash may leave a `.tmp` file beside it, which nobody reads.

    Args:
        durable: False for what can be made again: nothing is flushed, and when the machine crashes the file may be
            lost or garbled.
    """
    spare = f"{path}.{disk.pid()}-{random_hex(4)}.tmp"
    try:
        _write(disk, spare, data, durable=durable)
        disk.replace(spare, path)
    except OSError:
        remove_if_there(disk, spare)
        raise
    if durable:
        disk.flush_folder(os.path.dirname(path))


def put_compared(disk: Disk, path: str, data: bytes, random_hex: Callable[[int], str], what: str) -> None:
    """The same for what nobody could make again: what the disk gives back is compared before it has its name.

    Args:
        what: names it in the error, such as `the summary`.

    Raises:
        WriteFailed, OSError: what stood there still does; only its name's flush may have failed.
    """
    spare = f"{path}.{disk.pid()}-{random_hex(4)}.tmp"
    try:
        _write(disk, spare, data)
        if read_from(disk, spare) != data:
            raise WriteFailed(
                f"The disk gave {what} back with other bytes.", next="Check the disk, then try again: nothing changed."
            )
        disk.replace(spare, path)
    except (OSError, WriteFailed):
        remove_if_there(disk, spare)
        raise
    disk.flush_folder(os.path.dirname(path))


def _write(disk: Disk, path: str, data: bytes, *, durable: bool = True) -> None:
    fd = disk.create(path)
    try:
        write_all(disk, fd, data)
        if durable:
            disk.flush(fd)
    finally:
        disk.close(fd)


def remove_if_there(disk: Disk, path: str) -> None:
    """Remove a file that nobody needs, if it can be done."""
    try:
        disk.remove(path)
    except OSError:
        return  # the first failure is what the caller must hear of


SPARE_KEPT_S = 3_600.0
"""A spare file that is older belongs to nobody, if its process is dead too."""
_SPARE = re.compile(r".+\.(\d+)-[0-9a-f]+\.tmp")


def sweep(disk: Disk, folder: str) -> None:
    """Remove what processes that died in the middle of a replacement left in a folder, if it can be done."""
    with suppress(OSError):
        for name, found in disk.scan(folder):
            spare = _SPARE.fullmatch(name)
            if spare is None or found.kind != "file" or time.time() - found.modified < SPARE_KEPT_S:
                continue
            if not disk.is_alive(int(spare[1])):
                remove_if_there(disk, os.path.join(folder, name))


# What the system's errors mean for a caller, in words. Only errno goes in: never stored text.


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_TOO_MANY = frozenset({errno.EMFILE, errno.ENFILE})


def write_failed(error: OSError, what: str) -> WriteFailed:
    """A failed write or flush. `what` names what was to be written, such as `the ledger`."""
    if error.errno in _FULL:
        return WriteFailed(
            f"The disk is full, so {what} was not written.", next="Free some space, then run the same again."
        )
    if error.errno in _FORBIDDEN:
        return WriteFailed(
            f"The store does not allow writing ({error_name(error)}), so {what} was not written.",
            next="Make the store's folder writable, or name another with --home or PALIMPSEST_HOME.",
        )
    if error.errno in _TOO_MANY:
        return WriteFailed(
            f"Too many files are open, so {what} was not written.", next="Raise the limit (ulimit -n), then try again."
        )
    return WriteFailed(
        f"Writing {what} failed ({error_name(error)}).", next="Check the disk with the system's tools, then try again."
    )


def unreadable(error: OSError, what: str) -> StoreUnusable:
    """A failed read of something that must be known before going on."""
    return StoreUnusable(
        f"Reading {what} failed ({error_name(error)}).",
        next="Check the disk and the permissions of the store's folder, then try again.",
    )


@contextmanager
def writes(what: str) -> Generator[None]:
    """Around what writes: a failure of the disk becomes `write_failed`.

    Raises:
        WriteFailed: `what` was not written.
    """
    try:
        yield
    except OSError as error:
        raise write_failed(error, what) from error


@contextmanager
def reads(what: str) -> Generator[None]:
    """Around what reads: a failure of the disk becomes `unreadable`.

    Raises:
        StoreUnusable: `what` cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise unreadable(error, what) from error


def error_name(error: OSError) -> str:
    """Such as `EACCES`; the kind of error where the system names none."""
    return errno.errorcode.get(error.errno or 0, type(error).__name__)
