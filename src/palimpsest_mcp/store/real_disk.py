"""The operating system's own files: how a disk's calls are made on Linux, macOS and Windows."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from typing import Protocol

from .disk import Found, Release

# What differs between operating systems: how bytes are flushed, and how one file takes another's place.

NOT_POSSIBLE_HERE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
"""What a file system answers that has no such flush. Any other error is a failed flush."""

F_FULLFSYNC = 51
"""macOS `fcntl.h`; the module `fcntl` has the name only there."""


class Flush(Protocol):
    """Brings bytes, and names in a folder, to where a power cut cannot take them."""

    def file(self, fd: int) -> None:
        """Flush an open file. An OSError is final: asking again proves nothing."""
        ...

    def others_file(self, path: str, *, dir_fd: int | None = None) -> None:
        """Flush a file that another process writes or wrote, as far as the platform can."""
        ...

    def folder(self, path: str, *, dir_fd: int | None = None) -> None:
        """Flush the names in a folder, as far as the platform can. With `dir_fd` a link is not followed."""
        ...


class PosixFlush:
    """`fsync` for files and folders."""

    def file(self, fd: int) -> None:
        os.fsync(fd)

    def others_file(self, path: str, *, dir_fd: int | None = None) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
        try:
            self.file(fd)
        finally:
            os.close(fd)

    def folder(self, path: str, *, dir_fd: int | None = None) -> None:
        links = os.O_NOFOLLOW if dir_fd is not None else 0
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | links, dir_fd=dir_fd)
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

    def others_file(self, path: str, *, dir_fd: int | None = None) -> None:
        return

    def folder(self, path: str, *, dir_fd: int | None = None) -> None:
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


LOCK_POLL_S = 0.002
_TAKE, _FREE = 2 | 4, 8
"""`LOCK_EX | LOCK_NB` and `LOCK_UN` of flock, the same on every POSIX system."""
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
_EXTEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OVERWRITE = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_LOCK = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_ALWAYS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)


class _InFolder:
    """Gives a name and the open folder that it stands in; the path itself and None where nothing is guarded.

    The folder is reached from the root step by step, each by the one before, so that no path is walked a second time:
    what a look found to be a folder cannot be a link by the time that something is made in it. No generator: a call of
    a tool does this a dozen times.

    Raises:
        NotADirectoryError, FileNotFoundError: a link, or nothing, stands in the place of a folder.
    """

    __slots__ = ("_fd", "_path", "_root")

    def __init__(self, path: str, root: str) -> None:
        self._path, self._root = path, root
        self._fd: int | None = None

    def __enter__(self) -> tuple[str, int | None]:
        below = [name for name in self._path[len(self._root) + 1 :].split(os.sep) if name] if self._root else []
        if not below:
            return self._path, None
        fd = os.open(self._root, _FOLDER)
        try:
            for folder in below[:-1]:
                next_fd = _below(fd, folder)
                os.close(fd)
                fd = next_fd
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        return below[-1], fd

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)


class RealDisk:
    """The operating system's own files."""

    def __init__(self, *, flush: Flush | None = None, replace: Replace | None = None) -> None:
        self._flush = flush or flush_for(sys.platform)
        self._replace = replace or replace_for(sys.platform)
        self._guarded: tuple[str, ...] = ()

    def guard(self, root: str) -> None:
        if os.open in os.supports_dir_fd and root not in self._guarded:
            self._guarded = (*self._guarded, root)

    def _in_folder(self, path: str) -> _InFolder:
        root = next((root for root in self._guarded if path.startswith(root + os.sep)), "")
        return _InFolder(path, root)

    def pid(self) -> int:
        return os.getpid()

    def is_alive(self, pid: int) -> bool:
        if sys.platform == "win32":  # there a signal of 0 ends it
            return True
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True

    def tighten(self, path: str) -> None:
        with self._in_folder(path) as (name, folder):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if not stat.S_ISLNK(mode):
                os.chmod(name, 0o700 if stat.S_ISDIR(mode) else 0o600, dir_fd=folder)

    def remove_folder(self, path: str) -> None:
        with self._in_folder(path) as (name, folder):
            os.rmdir(name, dir_fd=folder)

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def database(self, path: str) -> str:
        return path

    def look(self, path: str) -> Found | None:
        try:
            if os.path.dirname(path) in self._guarded:  # no folder below the root is walked through
                return _found(os.lstat(path))
            with self._in_folder(path) as (name, folder):
                return _found(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def scan(self, folder: str) -> list[tuple[str, Found]]:
        try:
            with self._in_folder(folder) as (name, above):
                if above is None:
                    return _entries(folder)
                fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
                try:
                    return _entries(fd)
                finally:
                    os.close(fd)
        except FileNotFoundError:
            return []

    def mkdir(self, path: str) -> None:
        with self._in_folder(path) as (name, folder):
            os.mkdir(name, 0o700, dir_fd=folder)

    def create(self, path: str) -> int:
        return self._opened(path, _CREATE)

    def extend(self, path: str) -> int:
        fd = self._opened(path, _EXTEND)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            os.close(fd)
            raise OSError(errno.EINVAL, "not a plain file with one name")
        return fd

    def open(self, path: str) -> int:
        return self._opened(path, _READ)

    def _opened(self, path: str, flags: int) -> int:
        with self._in_folder(path) as (name, folder):
            return os.open(name, flags | _ALWAYS, 0o600, dir_fd=folder)

    def found(self, fd: int) -> Found:
        return _found(os.fstat(fd))

    def write(self, fd: int, data: memoryview) -> int:
        return os.write(fd, data)

    def overwrite(self, path: str, data: bytes) -> None:
        fd = self._opened(path, _OVERWRITE)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

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
        with self._in_folder(path) as (name, folder):
            self._flush.others_file(name, dir_fd=folder)

    def flush_folder(self, path: str) -> None:
        with self._in_folder(path) as (name, folder):
            self._flush.folder(name, dir_fd=folder)

    def close(self, fd: int) -> None:
        os.close(fd)

    def replace(self, source: str, target: str) -> None:
        with self._in_folder(source) as (old, here), self._in_folder(target) as (new, there):
            if here is None and there is None:
                self._replace(source, target)
            else:
                os.replace(old, new, src_dir_fd=here, dst_dir_fd=there)

    def remove(self, path: str) -> None:
        with self._in_folder(path) as (name, folder):
            os.unlink(name, dir_fd=folder)

    if sys.platform == "win32":

        def lock(self, path: str, timeout_s: float) -> Release | None:
            from filelock import FileLock, Timeout  # it costs 40 ms, and a hook locks nothing

            # A lock object of its own for every hold: what keeps threads of one process apart.
            lock = FileLock(path, mode=0o600, thread_local=False)
            try:
                lock.acquire(timeout=timeout_s, poll_interval=LOCK_POLL_S)
            except Timeout:
                return None
            return lambda: lock.release(force=True)
    else:

        def lock(self, path: str, timeout_s: float) -> Release | None:
            # A descriptor of its own for every hold is what keeps threads of one process apart. The file stays: were it
            # removed, who waits for it and who comes later would hold two different ones.
            fd = self._opened(path, _LOCK)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise OSError(errno.EINVAL, "not a plain file")
                held = _wait_for(fd, timeout_s)
            except BaseException:
                os.close(fd)
                raise
            if not held:
                os.close(fd)
                return None
            return lambda: _let_go_and_close(fd)

    def hold(self, fd: int, timeout_s: float) -> bool:
        return _wait_for(fd, timeout_s)

    def let_go(self, fd: int) -> None:
        _flock(fd, _FREE)


def _below(fd: int, folder: str) -> int:
    try:
        return os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=fd)
    except OSError as error:
        if error.errno == errno.ELOOP:  # what macOS says of a link; Linux says that it is no folder
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
        raise


def _wait_for(fd: int, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not _flock(fd, _TAKE):
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOCK_POLL_S)
    return True


def _let_go_and_close(fd: int) -> None:
    """A child that was forked meanwhile has the descriptor too: closing ours would not free the lock."""
    try:
        _flock(fd, _FREE)
    finally:
        os.close(fd)


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


def _entries(folder: str | int) -> list[tuple[str, Found]]:
    found: list[tuple[str, Found]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found.append((entry.name, _found(entry.stat(follow_symlinks=False))))
            except FileNotFoundError:
                continue  # gone since its name was read
    return sorted(found)


def _found(status: os.stat_result) -> Found:
    mode = status.st_mode
    kind = "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"
    identity = (status.st_dev, status.st_ino)
    return Found(kind, status.st_size, identity, stat.S_IMODE(mode), status.st_mtime)
