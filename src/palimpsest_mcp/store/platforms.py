"""What differs between operating systems: how bytes are flushed, and how one file takes another's place."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from typing import Protocol

NOT_POSSIBLE_HERE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
"""What a file system answers that has no such flush. Any other error is a failed flush."""

F_FULLFSYNC = 51
"""macOS `fcntl.h`; the module `fcntl` has the name only there."""


class Flush(Protocol):
    """Brings bytes, and names in a folder, to where a power cut cannot take them."""

    def file(self, fd: int) -> None:
        """Flush an open file. An OSError is final: asking again proves nothing."""
        ...

    def others_file(self, path: str) -> None:
        """Flush a file that another process writes or wrote, as far as the platform can."""
        ...

    def folder(self, path: str) -> None:
        """Flush the names in a folder, as far as the platform can."""
        ...


class PosixFlush:
    """`fsync` for files and folders."""

    def file(self, fd: int) -> None:
        os.fsync(fd)

    def others_file(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self.file(fd)
        finally:
            os.close(fd)

    def folder(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.file(fd)
        except OSError as error:
            if error.errno not in NOT_POSSIBLE_HERE:
                raise
        finally:
            os.close(fd)


class FullFlush(PosixFlush):
    """macOS: `fsync` leaves the bytes in the drive's cache, `F_FULLFSYNC` does not.

    Falls back to `fsync` only where the file system has no full flush; an I/O error never does.
    """

    def __init__(self, control: Callable[[int, int], int], fsync: Callable[[int], None] = os.fsync) -> None:
        self._control = control
        self._fsync = fsync

    def file(self, fd: int) -> None:
        try:
            self._control(fd, F_FULLFSYNC)
        except OSError as error:
            if error.errno not in NOT_POSSIBLE_HERE:
                raise
            self._fsync(fd)


class WindowsFlush:
    """`FlushFileBuffers` for files that are open for writing. Nothing else can be flushed there: no folder, whose names
    NTFS journals by itself, and no file of another process."""

    def file(self, fd: int) -> None:
        os.fsync(fd)

    def others_file(self, path: str) -> None:
        return

    def folder(self, path: str) -> None:
        return


class Replace(Protocol):
    """Puts a file in the place of another in one step."""

    def __call__(self, source: str, target: str, /) -> None: ...


class PatientReplace:
    """Windows refuses while somebody (often a virus scanner) has the target open: try again for a short while.

    Args:
        pauses_s: seconds to wait before each further try; when they are used up, the refusal is raised.
    """

    def __init__(
        self,
        replace: Replace = os.replace,
        sleep: Callable[[float], None] = time.sleep,
        pauses_s: tuple[float, ...] = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4),
    ) -> None:
        self._replace = replace
        self._sleep = sleep
        self._pauses_s = pauses_s

    def __call__(self, source: str, target: str, /) -> None:
        for pause_s in self._pauses_s:
            try:
                return self._replace(source, target)
            except PermissionError:
                self._sleep(pause_s)
        return self._replace(source, target)


def flush_for(platform: str) -> Flush:
    """The flush that `sys.platform` needs."""
    if platform == "win32":
        return WindowsFlush()
    if platform == "darwin":
        import fcntl  # not there on Windows

        return FullFlush(fcntl.fcntl)
    return PosixFlush()


def replace_for(platform: str) -> Replace:
    """The replace that `sys.platform` needs."""
    return PatientReplace() if platform == "win32" else os.replace
