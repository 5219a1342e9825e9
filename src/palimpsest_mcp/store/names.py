"""Names on disk: session folders and segment files. An id becomes a path only where every file system takes it."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime

from ..errors import InvalidArgument
from ..models.events import SessionKey

SEGMENT_SUFFIX = ".jsonl"
_SAFE = re.compile(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_HASHED = "h-"


def folder_name(key: SessionKey) -> str:
    """The folder of a session: its own id where that is safe on every file system, else `h-` and a hash.

    Safe: lower-case letters, digits, `-`, `_`, at most 64, not a Windows device, and not itself starting with `h-`.
    A principal always gives a hash, of both.

    Raises:
        InvalidArgument: the id is not a string, or empty.
    """
    if not isinstance(key.session_id, str) or not isinstance(key.principal, str) or not key.session_id:  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign values reach this
        raise InvalidArgument("A session id is a string that is not empty.", next="Give a session id.")
    name = key.session_id
    if not key.principal and _SAFE.fullmatch(name) and name not in _DEVICES and not name.startswith(_HASHED):
        return name
    return _HASHED + key_hash(key)[:32]


def key_hash(key: SessionKey) -> str:
    """Base32 of SHA-256, lower case, unpadded. The principal's length goes in, so that no two keys run together."""
    principal = key.principal.encode("utf-8", "surrogatepass")
    text = b"%d:" % len(principal) + principal + key.session_id.encode("utf-8", "surrogatepass")
    return base64.b32encode(hashlib.sha256(text).digest()).decode().rstrip("=").lower()


def spare_handle(key: SessionKey) -> str:
    """A handle for a session whose own was lost with its first ledger line."""
    return "s" + key_hash(key)[:8]


def segment_name(now: datetime, writer: str) -> str:
    """`20261120T101500123456Z-<writer>.jsonl`: sorts by time, and every file system takes it."""
    stamp = now.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
    return f"{re.sub('[-:.]', '', stamp)}Z-{writer}{SEGMENT_SUFFIX}"
