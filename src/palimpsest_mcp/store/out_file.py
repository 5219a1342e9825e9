"""A file that a user named for what a command gives back: the one place that decides whether it may be written."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import AsyncGenerator, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import aiofiles

from ..errors import FileMissing, FileNotJson, InvalidArgument, OutputRefused, WriteFailed
from .real_disk import flush_for, replace_for

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES}
"""What file systems without hard links answer."""


class OutFile:
    """A path that may be written: nothing stands there, or the user said that it may go.

    Making one looks, before any work is done; writing looks again, and takes the name in one step, so that what came
    there meanwhile stays. A link is what it names, and files count by what they are, not by how they are spelled.

    Args:
        path: as the user gave it.
        home: root of the store in use; nothing is written under it, whichever name leads there.
        sources: files that sessions were or are read from; while one stands there, it is never replaced.
        source_names: the names of those whose folder is not known; an existing file of such a name is not replaced.
        overwrite: whether a plain file that stands there may be replaced.
        mode: permissions of a new file; one that is replaced hands on its own.

    Raises:
        InvalidArgument: it names a folder, or a folder that does not exist.
        OutputRefused: something stands there, or it is a source, or in a store, or a link that leads nowhere.
    """

    def __init__(
        self,
        path: Path,
        *,
        home: Path,
        sources: Sequence[Path] = (),
        source_names: Collection[str] = (),
        overwrite: bool = False,
        mode: int = 0o600,
    ) -> None:
        self.path = path
        self._home = home
        self._sources = tuple(sources)
        self._source_names = frozenset(source_names)
        self._overwrite = overwrite
        self._mode = mode
        self._check()

    def write(self, data: bytes) -> None:
        """Write all of it, flushed, or nothing.

        Raises:
            InvalidArgument, OutputRefused, WriteFailed: nothing was written, and what stands there still does.
        """
        with self.open() as file:
            file.write(data)

    @contextmanager
    def open(self) -> Generator[BinaryIO]:
        """A file beside it, which takes its name when the block ends, flushed; not when the block raises.

        Raises:
            InvalidArgument, OutputRefused, WriteFailed: nothing was written, and what stands there still does.
        """
        target = self._check()
        try:
            mode = stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() else self._mode
            descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
            beside = Path(name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    yield file
                    file.flush()
                    flush_for(sys.platform).file(file.fileno())
                beside.chmod(mode)
                self._put(beside)
            finally:
                beside.unlink(missing_ok=True)
            with suppress(PermissionError):  # a folder that may be written but not read
                flush_for(sys.platform).folder(str(target.parent))
        except OSError as error:
            raise WriteFailed(
                f"{self.path} could not be written ({error.strerror or error}); what stood there before still does.",
                next="Make room or name another place; what the store has is whole.",
            ) from error

    def _put(self, finished: Path) -> None:
        target = self._check()
        if self._overwrite:
            replace_for(sys.platform)(str(finished), str(target))
            return
        try:
            _take_free_name(finished, target)
        except FileExistsError:
            raise self._stands_there() from None

    def _check(self) -> Path:
        """The path that takes the new content: through links, where one may be replaced."""
        if os.path.isdir(self.path):
            raise InvalidArgument(f"{self.path} is a folder.", next="Name a file in it.")
        if not os.path.isdir(self.path.absolute().parent):
            raise InvalidArgument(
                f"The folder of {self.path} does not exist.", next="Make it first, or name another place."
            )
        real = Path(os.path.realpath(self.path))
        self._refuse_store(Path(os.path.realpath(self.path.parent)) / self.path.name)
        self._refuse_store(real)
        try:
            os.lstat(self.path)
        except FileNotFoundError:
            self._refuse_unwritable(self.path.absolute().parent)
            return self.path.absolute()
        except OSError as error:
            raise InvalidArgument(
                f"{self.path} cannot become a file ({error.strerror}).", next="Name another file."
            ) from None
        if any(_same(self.path, source) for source in self._sources):
            raise self._kept("is a file that a session is read from, which is never replaced")
        if self._source_names & {self.path.name, real.name}:
            raise self._kept("has the name of a file that a session was read from, which is never replaced")
        if not real.is_file():
            raise self._kept(
                "is no plain file, and is not replaced" if os.path.lexists(real) else "is a link that leads nowhere"
            )
        if not self._overwrite:
            raise self._stands_there()
        self._refuse_unwritable(real.parent)
        return real

    def _refuse_unwritable(self, folder: Path) -> None:
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InvalidArgument(
                f"No file can be made in the folder of {self.path}.", next="Check its owner and mode, or name another."
            )

    def _kept(self, why: str) -> OutputRefused:
        return OutputRefused(f"{self.path} {why}.", next="Name another file.")

    def _stands_there(self) -> OutputRefused:
        return OutputRefused(
            f"{self.path} exists, and was left as it is.", next="Name another file, or replace it with --overwrite."
        )

    def _refuse_store(self, path: Path) -> None:
        home = Path(os.path.realpath(self._home))
        # A file above a home that is still to be made would stand in its way.
        if path in home.parents or any(_same(above, home) or _is_store(above) for above in (path, *path.parents)):
            raise OutputRefused(
                f"{self.path} is in the store's own folder, where nothing else is written.",
                next="Name a file outside of it.",
            )


def _take_free_name(beside: Path, target: Path) -> None:
    """Give a finished file its name, unless the name is taken.

    Raises:
        FileExistsError: it is; what stands there was not touched.
        OSError: it cannot be had.
    """
    try:
        os.link(beside, target)
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(beside.stat().st_mode))
    try:
        with os.fdopen(descriptor, "wb") as file, beside.open("rb") as finished:
            while chunk := finished.read(1 << 20):
                file.write(chunk)
            file.flush()
            flush_for(sys.platform).file(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)  # ours: nobody else could make it
        raise


def _same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file or folder, by whatever names."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _is_store(folder: Path) -> bool:
    """Whether a folder is a store, of this home or another."""
    return all(os.path.isfile(folder / name) for name in ("VERSION", "secret"))


# Session files that come in as a stream.

CHUNK_BYTES = 1 << 18
_GZIP = b"\x1f\x8b"


async def read_stream(path: Path, *, chunk_bytes: int = CHUNK_BYTES) -> AsyncGenerator[bytes]:
    """The bytes of a file, in pieces of about `chunk_bytes`; a gzipped file's content, recognised by its first bytes.

    Memory stays at a few pieces, whatever a gzipped file unfolds to. Who stops before the end closes it
    (`contextlib.aclosing`).

    Raises:
        FileMissing: it is not there or cannot be read.
        FileNotJson: its gzip data is cut off or damaged.
    """
    try:
        async with aiofiles.open(path, "rb", opener=_plain) as file:
            first = await file.read(max(chunk_bytes, len(_GZIP)))
            unfolding = _Unfolding(chunk_bytes) if first.startswith(_GZIP) else None
            chunk = first
            while chunk:
                if unfolding is None:
                    yield chunk
                else:
                    for piece in unfolding.pieces(chunk):
                        yield piece
                chunk = await file.read(chunk_bytes)
            if unfolding is not None:
                unfolding.finish()
    except OSError as error:
        raise FileMissing(
            f"The file cannot be read ({error.strerror or type(error).__name__}).",
            next="Check the path and its permissions.",
        ) from error
    except zlib.error as error:
        raise _bad_gzip() from error


def _plain(path: str, flags: int) -> int:
    """A pipe or a device is refused, and not waited for."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a plain file")
    return descriptor


class _Unfolding:
    """Gzip data in pieces of bounded size; several members after one another are one file, as gzip has it."""

    def __init__(self, piece_bytes: int) -> None:
        self._piece_bytes = piece_bytes
        self._member = zlib.decompressobj(wbits=31)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        piece = b""
        while data or len(piece) == self._piece_bytes:
            if self._member.eof:
                if not data.strip(b"\0"):
                    return  # padding at the end
                self._member = zlib.decompressobj(wbits=31)
            piece = self._member.decompress(data, self._piece_bytes)
            if piece:
                yield piece
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def finish(self) -> None:
        if not self._member.eof:
            raise _bad_gzip()


def _bad_gzip() -> FileNotJson:
    return FileNotJson("The file's gzip data is cut off or damaged.", next="Fetch or pack the file again.")


# Files outside our store, which users and hosts own: replaced whole or not at all.


def replace_beside(path: Path, data: bytes) -> None:
    """Write to a file beside it, flush, then take its place: a reader sees the old file or the new one.
    Permissions stay; those of a new file are its owner's alone.

    Raises:
        OSError: what stood there still stands.
    """
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    descriptor, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name[:40]}.")
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
