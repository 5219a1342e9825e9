"""Bytes as a row keeps them: compressed where that is shorter, always with the hash of what they were."""

from __future__ import annotations

import hashlib
import threading
from typing import NamedTuple

import zstandard

PLAIN, ZSTD = 0, 1
OUTSIDE = 2
"""The row says where the body is (`objects`)."""
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
