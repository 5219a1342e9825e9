"""Session files: read whole, and named as sessions."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import aiofiles
import msgspec

from ..errors import FileMissing, FileWrongShape
from ..hosts.detect import SessionValue, parse_value, read_session
from ..hosts.pieces import messages_key
from ..models.text import plain_line
from ..ports.host import HostContext
from .importer import dump

MAX_FILE_BYTES = 1 << 30
"""A larger file is no session: 1 GiB is some 250M tokens."""


async def read_file(path: Path, *, line: int | None = None, form: str = "auto") -> SessionValue:
    """Read one session of a file.

    Raises:
        FileMissing: it is not there, not a regular file, too large, or may not be read.
        FileEmpty, FileNotJson, FileWrongShape, LineNeeded, InvalidArgument: what `read_session` raises.
    """
    try:
        await asyncio.to_thread(_check, path)
        async with aiofiles.open(path, "rb") as file:
            data = await file.read()
    except OSError as error:
        raise FileMissing(
            f"{_named(path)} cannot be read ({error.strerror or 'I/O error'}).", next="Check its path and permissions."
        ) from None
    return read_session(data, line=line, form=form)


def _check(path: Path) -> None:
    if not path.is_file():
        what = "is no regular file" if path.exists() else "is not there"
        raise FileMissing(f"{_named(path)} {what}.", next=_next_for(path))
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FileMissing(f"{_named(path)} is larger than 1 GiB.", next="Give one session, not a whole collection.")


def _named(path: Path) -> str:
    return f"The file {plain_line(str(path), 200)}"


def _next_for(path: Path) -> str:
    """A file of nearly this name in the same folder, where there is one."""
    try:
        names = [one.name for one in path.parent.iterdir() if one.is_file()]
    except (OSError, ValueError):
        names = []
    if meant := difflib.get_close_matches(path.name, names, n=2):
        return f"Did you mean {' or '.join(plain_line(str(path.with_name(name)), 200) for name in meant)}?"
    return "Check the path; it must be a regular file."


def parsed(found: SessionValue, kind_by_tool: Mapping[str, str]) -> HostContext:
    """The context of what a file holds.

    Raises:
        FileWrongShape: it names the first value that does not fit.
    """
    context = parse_value(found.value, form=found.form, kind_by_tool=kind_by_tool)
    return msgspec.structs.replace(context, warnings=(*found.warnings, *context.warnings))


def need_messages(context: HostContext) -> HostContext:
    """The context of a session that somebody wants shorter.

    Raises:
        FileWrongShape: no message is in it.
    """
    if context.items:
        return context
    form = "Claude Code transcript" if context.form == "claude-code" else "session"
    raise FileWrongShape(
        f"There is no message of a {form} in it.",
        next="Name a file with messages; its form is found by itself.",
        where="$",
    )


def with_system(context: HostContext, system: str) -> HostContext:
    """The context with a system prompt that stands beside it."""
    return msgspec.structs.replace(context, system_text=system) if system else context


def session_id_of(path: Path, line: int | None) -> str:
    """`<stem>-<hash8>`: the same file and line are the same session, two files with one name are not (L17).

    Args:
        line: 1-based, None for a file of one session.
    """
    name = f"{path.absolute()}\0{'' if line is None else line}".encode("utf-8", "surrogatepass")
    stem = path.name.split(".", 1)[0] or "session"
    return f"{stem}-{hashlib.sha256(name).hexdigest()[:8]}"


def place_of(path: Path) -> str:
    """The absolute path under which a session remembers its file."""
    return os.path.abspath(path)


def wrapper_of(value: Any) -> str:
    """JSON text of the object around a message list, its messages left out; empty where the list stands alone."""
    key = messages_key(value)
    return dump({**cast("dict[str, Any]", value), key: []}) if key else ""
