"""What a host wrote down of a session that it compacts by itself, whatever its file looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..errors import FileNotJson
from ..ports.host import Form
from .json_bytes import decode


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """What stood in the context between two compactions, as it was just before the later one."""

    messages: tuple[Any, ...]
    summary: str = ""
    """What the host put in its place; empty for the stretch that goes on."""


class RecordedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session, from the first stretch that the file still has to the one that goes on."""

    session_id: str
    form: Form
    stretches: tuple[Stretch, ...]
    """Every one but the last ended in a compaction."""
    project: str = ""
    model: str = ""
    used_tokens: int | None = None
    """As the provider reported it for the newest answer."""
    window_tokens: int | None = None


class Recorder(msgspec.Struct, frozen=True, kw_only=True):
    """How one host keeps its sessions."""

    host: str
    folder: Callable[[Mapping[str, str], Path], Path]
    """Where they are, by environment and home."""
    patterns: tuple[str, ...]
    """Of the files under it."""
    read: Callable[[bytes], RecordedSession | None]
    """A file's bytes; None where they are no session."""


def rows_in(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines. A line that is torn, since its host writes it right now, is passed over."""
    for line in data.split(b"\n"):
        if line.strip():
            try:
                row = decode(line)
            except (FileNotJson, ValueError):
                continue
            if isinstance(row, dict):
                yield row
