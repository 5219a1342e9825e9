"""Small files that are read and replaced as a whole: `VERSION`, `secret`, `session.json`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from ..errors import StoreUnusable, WriteFailed
from .disk import Disk


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


def error_name(error: OSError) -> str:
    """Such as `EACCES`; the kind of error where the system names none."""
    return errno.errorcode.get(error.errno or 0, type(error).__name__)
