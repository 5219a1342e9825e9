"""Transcripts on disk: read on from an offset, and which of them a fork was copied from."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from ...hosts.pieces import as_fields, text_of
from ...hosts.transcript_rows import MESSAGE_ROWS, block_ids
from ...hosts.transcript_tail import Tail, forked_from
from ..files import MAX_FILE_BYTES

_FIRST_BYTES = 1 << 20
"""So much of a transcript tells whether it begins with copied rows."""
_SIBLINGS = 32
"""Newest transcripts of the same folder that a fork's rows are looked for in."""
_MOST_BYTES = 64 << 20
"""A larger one is not searched."""
_MOST_ROWS = 200


def bytes_after(
    path: str, offset: int, identity: tuple[int, int], *, most: int = MAX_FILE_BYTES
) -> tuple[bytes, tuple[int, int], bool] | None:
    """What a file holds from an offset on, which file it is, and whether it was read from its start: because it is
    another file now, or was cut shorter. None when nothing is new."""
    try:
        with open(path, "rb") as file:  # a path from outside: opened as it is
            found = os.fstat(file.fileno())
            here = (found.st_dev, found.st_ino)
            anew = here != identity or found.st_size < offset
            offset = 0 if anew else offset
            if not stat.S_ISREG(found.st_mode) or found.st_size == offset:
                return None
            file.seek(offset)
            return file.read(most), here, anew
    except OSError:
        return None


def origins(path: str, session_id: str) -> list[str]:
    """The sessions that a transcript's first rows may have been copied from, the likeliest first; none for a session
    that only just began. The client keeps the rows' ids when it forks a session (2.1.328)."""
    found = bytes_after(path, 0, (0, 0), most=_FIRST_BYTES) if path else None
    head = Tail()
    head.feed(found[0] if found else b"")
    if told := forked_from(head.rows, session_id):
        return [told]
    if not _has_a_past(head.rows):
        return []
    ids = [text_of(row, "uuid").encode() for row in head.rows if text_of(row, "type") in MESSAGE_ROWS][:_MOST_ROWS]
    shared = {other: _shared(other, ids) for other in _siblings(Path(path))}
    likely = sorted((other for other in shared if shared[other]), key=lambda other: -shared[other])
    return [other.stem for other in likely]


def _has_a_past(rows: list[dict[str, Any]]) -> bool:
    """Whether more than one prompt stands there, or a compaction."""
    prompts = [
        row for row in rows if text_of(row, "type") == "user" and not list(block_ids(row, "tool_result", "tool_use_id"))
    ]
    real = [row for row in prompts if row.get("isMeta") is not True and as_fields(row.get("message")) is not None]
    return len(real) > 1 or any(text_of(row, "subtype") == "compact_boundary" for row in rows)


def _siblings(path: Path) -> list[Path]:
    """The newest other transcripts of the same project."""
    try:
        sizes = {other: other.stat() for other in path.parent.glob("*.jsonl") if other != path}
    except OSError:
        return []
    small = [other for other, told in sizes.items() if told.st_size <= _MOST_BYTES and stat.S_ISREG(told.st_mode)]
    return sorted(small, key=lambda other: -sizes[other].st_mtime)[:_SIBLINGS]


def _shared(path: Path, ids: list[bytes]) -> int:
    try:
        data = path.read_bytes()
    except OSError:
        return 0
    if not ids or ids[0] not in data:
        return 0
    return sum(one in data for one in ids)


__all__ = ["bytes_after", "origins"]
