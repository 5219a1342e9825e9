"""The side file: what of the log was read, and where each rule comes from. And the snapshots before each change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal

import msgspec

from ..models.experience import Rule
from ..ports.experience import LIVE_LOG, LogPart
from .tally import WINDOW_DAYS

KEPT_SNAPSHOTS = 20


class ReadPart(msgspec.Struct, frozen=True):
    """How far a file of the log had been read at the last compaction."""

    name: str
    head: str
    size: int
    newest: date | None = None
    """Day of its newest event."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """`side.json` of a skill."""

    schema: int = 1
    skill: str = ""
    folder: str = ""
    compacted_at: str = ""
    damaged: int = 0
    """Damaged lines in what was read, each counted once."""
    parts: tuple[ReadPart, ...] = ()
    rules: tuple[Rule, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The digest before a change, and the rules that it was made of."""

    schema: int = 1
    at: str
    why: Literal["compact", "rollback"]
    digest: bytes | None
    rules: tuple[Rule, ...] = ()


class ToRead(msgspec.Struct, frozen=True):
    """A file of the log, and from where on it is new."""

    part: LogPart
    start: int
    newest: date | None
    """Of what is not new."""


def encode(value: Side | Snapshot) -> bytes:
    """Readable JSON; the same value gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def decode_side(data: bytes | None) -> Side | None:
    """None where there is none, or it cannot be read: then everything is counted anew, and the digest's lines stay."""
    try:
        return None if data is None else msgspec.json.decode(data, type=Side)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def decode_snapshot(data: bytes | None) -> Snapshot | None:
    """None where it is not there or cannot be read."""
    try:
        return None if data is None else msgspec.json.decode(data, type=Snapshot)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def to_read(side: Side | None, parts: Sequence[LogPart]) -> list[ToRead]:
    """Each file with what of it is new. A file that was rotated is known by its first line."""
    known = list(side.parts) if side else []
    found: dict[str, ReadPart] = {}
    for same_name in (True, False):
        for part in parts:
            if part.name in found or not (part.head or same_name):
                continue
            match = next(
                (one for one in known if one.head == part.head and one.size <= part.size
                 and (one.name == part.name if same_name else one.name == LIVE_LOG)),
                None,
            )  # fmt: skip
            if match is not None:
                known.remove(match)
                found[part.name] = match
    return [
        ToRead(part, found[part.name].size, found[part.name].newest) if part.name in found else ToRead(part, 0, None)
        for part in parts
    ]


def still_counts(read: ToRead, today: date) -> bool:
    """Whether what was read before may hold events of the window."""
    return read.start > 0 and (read.newest is None or (today - read.newest).days <= WINDOW_DAYS)
