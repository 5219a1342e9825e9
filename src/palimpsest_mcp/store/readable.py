"""Files that people read: session files coming in as a stream, summaries and exports going out as a whole."""

from __future__ import annotations

import codecs
import os
import secrets
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path

import aiofiles

from ..errors import FileMissing, FileNotJson
from .disk import Disk, RealDisk
from .failures import write_failed
from .hop import hop
from .whole_files import remove_if_there

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


async def read_text_stream(path: Path, *, chunk_bytes: int = CHUNK_BYTES) -> AsyncGenerator[str]:
    """The same as text, decoded from UTF-8; a byte order mark is dropped.

    Raises:
        FileMissing: as above.
        FileNotJson: as above, or it is not UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        async with aclosing(read_stream(path, chunk_bytes=chunk_bytes)) as chunks:
            async for chunk in chunks:
                if text := decoder.decode(chunk):
                    yield text
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise FileNotJson("The file is not UTF-8 text.", next="Convert it to UTF-8.") from error


async def write_readable(path: Path, content: str | bytes, *, disk: Disk | None = None) -> None:
    """Put a whole file in its place: readers see the old or the new one; flushed when this returns.

    Half surrogate pairs in a string are written as `?`.

    Raises:
        WriteFailed: the old file, if any, is still there.
    """
    disk = disk or RealDisk()
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    spare = f"{path}.{disk.pid()}-{secrets.token_hex(4)}.tmp"
    try:
        async with aiofiles.open(spare, "xb", opener=_private) as file:
            await file.write(data)
            await file.flush()
            await hop(disk.flush, file.fileno())
        await hop(_put_in_place, disk, spare, str(path))
    except OSError as error:
        raise write_failed(error, f"the file {path.name}") from error
    finally:
        await hop(remove_if_there, disk, spare)


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


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _put_in_place(disk: Disk, source: str, target: str) -> None:
    disk.replace(source, target)
    disk.flush_folder(os.path.dirname(os.path.abspath(target)))
