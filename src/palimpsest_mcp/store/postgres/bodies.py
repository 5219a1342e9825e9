"""Bytes as a row keeps them: compressed where that is shorter, always with the hash of what they were. Large ones
of the archive may lie outside of the database, in S3-compatible storage.

An object is named by the hash of its bytes: it is created once, never changed, and a repeated append finds it there.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import zstandard

from ...errors import StoreUnusable, WriteFailed

PLAIN, ZSTD = 0, 1
OUTSIDE = 2
"""The row says where the body is (`Objects`)."""
GONE = -1
"""A purge took the body."""
_SMALL = 1 << 11
"""Below this, compressing saves nothing that counts."""
_MOST = 1 << 30
"""PostgreSQL's own limit for one value; a row never says that it was more."""


class _Coders(threading.local):
    """One of each a thread: making one takes longer than using it on a small body, and no two threads may share it."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=3).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_CODERS = _Coders()


class Body(NamedTuple):
    """What a row keeps."""

    enc: int
    data: bytes
    sha256: bytes
    """Of the bytes as they were given."""
    size: int
    """As they were given."""


def packed(data: bytes) -> Body:
    """The bytes for a row."""
    sha256 = hashlib.sha256(data).digest()
    if len(data) > _SMALL:
        small = _CODERS.compress(data)
        if len(small) < len(data):
            return Body(ZSTD, small, sha256, len(data))
    return Body(PLAIN, data, sha256, len(data))


def unpacked(enc: int, data: bytes, sha256: bytes) -> bytes:
    """The bytes as they were given.

    Raises:
        ValueError: they are not what was written.
    """
    try:
        plain = _CODERS.decompress(data, max_output_size=_MOST) if enc == ZSTD else data
    except zstandard.ZstdError as error:
        raise ValueError("its compressed bytes are damaged") from error
    if enc == OUTSIDE:
        raise ValueError("its body is in no object storage that this server reaches (setting `store_bodies`)")
    if enc not in (PLAIN, ZSTD):
        raise ValueError("its encoding is of a newer program")
    if hashlib.sha256(plain).digest() != sha256:
        raise ValueError("its bytes do not fit their hash")
    return plain


LARGE_BYTES = 256 << 10
"""What takes more than this in a row, compressed, goes outside."""
_UNCLAIMED = timedelta(hours=1)
"""No append takes so long: an object without a row that is older belongs to nobody."""
_AT_A_TIME = 8


class Ref(msgspec.Struct, frozen=True):
    """What a row has in the place of its body."""

    path: str
    enc: int
    """As the object's bytes are coded."""


_REFS = msgspec.json.Decoder(Ref)


def path_of(body: bytes) -> str:
    """Where a row's body is."""
    return _REFS.decode(body).path


class Objects:
    """One bucket, or a part of it.

    Args:
        url: `s3://BUCKET/PREFIX`; keys and endpoint come from the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT` …).
        large_bytes: bodies of more bytes are taken.
        options: for the storage's client, as `obstore` has them.
    """

    def __init__(self, url: str, *, large_bytes: int = LARGE_BYTES, **options: Any) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError
        from obstore.store import from_url

        self._api: Any = obstore
        self.large_bytes = large_bytes
        options.setdefault("retry_config", {"max_retries": 3, "retry_timeout": timedelta(seconds=10)})
        self._exists, self._failed = AlreadyExistsError, BaseError
        try:
            self._store: Any = from_url(url, **options)
        except (BaseError, ValueError) as error:
            raise StoreUnusable(
                "The setting `store_bodies` names no object storage.", next="Write s3://BUCKET/PREFIX."
            ) from error

    async def put(self, folder: str, body: Body) -> Body:
        """What the row keeps of a body whose bytes are now outside, read back and compared.

        Raises:
            WriteFailed: they are not.
        """
        path = f"{folder}/{hashlib.sha256(body.data).hexdigest()}"
        try:
            try:
                await self._api.put_async(self._store, path, body.data, mode="create")
            except self._exists:
                # Of an earlier attempt: made young again, so that no sweep takes it before its row is there.
                if await self._bytes(path) == body.data:
                    await self._api.put_async(self._store, path, body.data)
            back = await self._bytes(path)
        except (self._failed, OSError) as error:
            raise WriteFailed(
                f"The object storage does not take a large body ({type(error).__name__}), so nothing was written.",
                next="Start it, or correct `store_bodies` and the keys in the environment, then run the same again.",
            ) from error
        if back != body.data:
            raise WriteFailed(
                "The object storage gives back other bytes than it was given, so nothing was written.",
                next="Look at the bucket: something else writes or deletes there.",
            )
        return Body(OUTSIDE, msgspec.json.encode(Ref(path, body.enc)), body.sha256, body.size)

    async def filled(self, rows: Sequence[Any]) -> list[Any]:
        """Rows with their bodies in them; one whose object is gone stays as it is.

        Raises:
            StoreUnusable: the storage does not answer.
        """
        found = [dict(row) for row in rows]
        outside = [row for row in found if row["enc"] == OUTSIDE]
        for at in range(0, len(outside), _AT_A_TIME):
            await asyncio.gather(*(self._fill(row) for row in outside[at : at + _AT_A_TIME]))
        return found

    async def _fill(self, row: dict[str, Any]) -> None:
        try:
            ref = _REFS.decode(row["body"])
            row["body"], row["enc"] = await self._bytes(ref.path), ref.enc
        except (FileNotFoundError, msgspec.MsgspecError):
            return
        except (self._failed, OSError) as error:
            raise StoreUnusable(
                f"The object storage with the large bodies does not answer ({type(error).__name__}).",
                next="Start it, or correct `store_bodies` and the keys in the environment, then try again.",
            ) from error

    async def _bytes(self, path: str) -> bytes:
        answer = await self._api.get_async(self._store, path)
        return bytes(await answer.bytes_async())

    async def sweep(self, folder: str, kept: Collection[str]) -> int:
        """Delete what no row names any more; what is so young that an append may still be at it stays.

        Raises:
            WriteFailed: some may be there.
        """
        try:
            old = datetime.now(UTC) - _UNCLAIMED
            listed = [one async for page in self._api.list(self._store, folder) for one in page]
            gone = [one["path"] for one in listed if one["path"] not in kept and one["last_modified"] < old]
            return await self._remove(gone)
        except (self._failed, OSError) as error:
            raise self._still_there(error) from error

    async def remove(self, bodies: Collection[bytes]) -> None:
        """Delete the objects of bodies that rows had.

        Raises:
            WriteFailed: some may be there; ask again.
        """
        try:
            await self._remove([path_of(one) for one in bodies])
        except (self._failed, OSError) as error:
            raise self._still_there(error) from error

    async def _remove(self, paths: Sequence[str]) -> int:
        if paths:
            await self._api.delete_async(self._store, list(paths))
        return len(paths)

    @staticmethod
    def _still_there(error: Exception) -> WriteFailed:
        return WriteFailed(
            f"The object storage does not delete ({type(error).__name__}): a text that had to go may still be there.",
            next="Start it, then run the same again.",
        )
