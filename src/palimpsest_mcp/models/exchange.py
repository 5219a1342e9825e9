"""The file by which sessions go from one store to another (`docs/format.md`)."""

from __future__ import annotations

from typing import Literal

import msgspec

from .events import SessionInfo

EXCHANGE_SCHEMA = 1
"""Version of the exchange file. A reader refuses a higher one."""


class ExchangeHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    exchange: int
    sessions: int
    created: str
    """ISO-8601 with offset."""


class ExchangeSession(msgspec.Struct, frozen=True, kw_only=True):
    """The line before a session's events and records."""

    session: SessionInfo
    events: int
    records: int
    summary: str | None = None
    """Its anchored summary as markdown."""
    purged: tuple[str, ...] = ()
    """Keys of contents that nobody may record again."""


class ExchangeEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The last line."""

    lines: int
    """How many stand before it."""
    sha256: str
    """Of all bytes before it."""


class ExchangedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session of an export or import."""

    session_id: str
    handle: str
    events: int
    records: int
    status: Literal["exported", "imported", "already_here", "would_import"]


class ExchangeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was exported or imported."""

    sessions: tuple[ExchangedSession, ...]
    sha256: str
    """Of the file's content, unpacked, without its last line."""
    notes: tuple[str, ...] = ()
