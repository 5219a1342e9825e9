"""The one way to read a file that a user names in the settings: regular, small, and never waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MOST_BYTES = 1_000_000
"""Of a settings or rule file: the largest in use have some 200 kB."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class NotReadable(OSError):
    """A file that is not read, with its reason in `strerror`."""


def read_small(path: Path, *, beside: Path | None = None) -> bytes:
    """The bytes of a regular file of at most `MOST_BYTES`; a FIFO or device is refused before it is opened.

    Args:
        beside: folder out of which a link in the file's place may not lead; None: a link may lead anywhere.

    Raises:
        NotReadable: it is another kind of file, too large, or a link out of the folder.
        OSError: it is not there or cannot be read.
    """
    if beside is not None and path.is_symlink():
        target, folder = os.path.realpath(path), os.path.realpath(beside)
        if os.path.commonpath((target, folder)) != folder:
            raise _refused(f"it is a link out of the folder {beside}")
    _check(os.stat(path))
    fd = os.open(path, _FLAGS)
    with open(fd, "rb") as file:
        _check(os.fstat(fd))  # another file may have taken its place
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _too_large()
    return data


def _check(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "something else")
        raise _refused(f"it is {kind}, not a regular file")
    if found.st_size > MOST_BYTES:
        raise _too_large()


def _too_large() -> NotReadable:
    return _refused(f"it is larger than {MOST_BYTES:,} bytes")


def _refused(why: str) -> NotReadable:
    return NotReadable(0, why)
