"""What a host wrote down of a session that it compacts by itself, whatever its file looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InputError
from ..ports.seams import Form
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
    set_by: str
    """What says that the folder is elsewhere, as the end of `Set …`."""
    roots: tuple[str, ...] = ()
    """Patterns under the folder of which one is there where the host is in use; empty: the folder itself."""
    at_once: bool = False
    """Results are archived when they are read: the file tells of a compaction only after the turn that it came in."""
    project: Callable[[Path], str] | None = None
    """The project of a session's file, where the file itself does not say it. It may read; it never raises."""

    def is_in(self, folder: Path) -> bool:
        """Whether the host keeps anything there."""
        if not self.roots:
            return folder.is_dir()
        return any(next(folder.glob(root), None) is not None for root in self.roots)


def rows_in(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines. A line that is torn, since its host writes it right now, is passed over, and so is one
    that is no session's."""
    for line in data.split(b"\n"):
        if line.strip():
            try:
                row = decode(line)
            except (InputError, ValueError):
                continue
            if isinstance(row, dict):
                yield row
