"""Session files that come in as a stream."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import aiofiles

from ..errors import FileMissing, FileNotJson

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
        async with aiofiles.open(path, "rb") as file:
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
            f"The file cannot be read ({type(error).__name__}).", next="Check the path and its permissions."
        ) from error
    except zlib.error as error:
        raise _bad_gzip() from error


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
