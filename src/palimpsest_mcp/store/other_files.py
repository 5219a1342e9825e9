"""Everything that is neither ledger nor archive, when a user has texts removed: taken out, and looked for."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator
from typing import Any, cast

from ..ledger.tombstones import masked_value
from ..models.purges import Forgotten
from .home import ARCHIVE, LEDGER, Home
from .rewriting import ASIDE
from .whole_files import put_compared, read_from

_CACHES = frozenset({"status.json", "start.json", "session.json"})
_NOTES = ("claude-code",)
"""Folders under the root whose files belong to no session."""
_ROOT_CACHES = ("statusline.json", "index.sqlite3.aside")


def forget_in(home: Home, path: str, gone: Forgotten, *, cache: bool = False) -> bool:
    """Take out of a small file what has to go; with `gone.whole`, and where it is a cache, the file goes. Returns
    whether anything went.

    Raises:
        WriteFailed, OSError: it is as it was.
    """
    text = read_from(home.disk, path).decode("utf-8", "surrogateescape")
    if gone.about is not None and not gone.about(text):
        return False
    masked = text if gone.mask is None else masked_text(text, gone.mask)
    if not gone.whole and masked == text:
        return False
    if gone.whole or cache:
        home.disk.remove(path)
        home.disk.flush_folder(os.path.dirname(path))
    else:
        put_compared(home.disk, path, masked.encode("utf-8", "surrogateescape"), home.random_hex, "a file")
    return True


def masked_text(text: str, mask: Callable[[str], str]) -> str:
    """A text masked as it stands and, where it or a line of it is JSON, also as that says it."""
    lines = mask(text).split("\n")
    return "\n".join(_masked_line(line, mask) for line in lines)


def _masked_line(line: str, mask: Callable[[str], str]) -> str:
    if line[:1] not in "{[":
        return line
    try:
        value = json.loads(line)
    except ValueError:
        return line
    masked = masked_value(value, mask)
    return line if masked == value else json.dumps(masked)


def blanked(data: bytes, mask: Callable[[str], str]) -> bytes:
    """Lines of a log, each masked and as long as it was: who read them remembers how far.

    Args:
        mask: gives a text of as many bytes back.
    """
    return b"\n".join(_blanked(line, mask) for line in data.split(b"\n"))


def _blanked(line: bytes, mask: Callable[[str], str]) -> bytes:
    new = masked_text(line.decode("utf-8", "surrogateescape"), mask).encode("utf-8", "surrogateescape")
    return line if new == line else new.ljust(len(line))


def forget_beside(home: Home, folder: str, gone: Forgotten) -> list[str]:
    """What a session's folder holds beside ledger, archive and summary: caches, and segments that a repair kept aside,
    which go whole. Returns names of what changed.

    Raises:
        WriteFailed, OSError: some of it may still be there.
    """
    changed: list[str] = []
    for name, found in home.disk.scan(folder):
        path = os.path.join(folder, name)
        if (
            found.kind == "file"
            and (name in _CACHES or name.endswith(".tmp"))
            and forget_in(home, path, gone, cache=True)
        ):
            changed.append(name)
    for kind in (LEDGER, ARCHIVE):
        for name, found in home.disk.scan(os.path.join(folder, kind)):
            if found.kind == "file" and (ASIDE in name or (name.endswith(".tmp") and gone.whole)):
                home.disk.remove(os.path.join(folder, kind, name))
                home.disk.flush_folder(os.path.join(folder, kind))
                changed.append(f"{kind}/{name}")
    home.disk.flush_folder(folder)  # also what a purge that was killed took away
    return changed


def forget_notes(home: Home, gone: Forgotten) -> list[str]:
    """The same for files that belong to no session. Returns their names."""
    changed: list[str] = []
    for folder in _NOTES:
        for name, found in home.disk.scan(os.path.join(home.root, folder)):
            if found.kind == "file" and forget_in(home, os.path.join(home.root, folder, name), gone):
                changed.append(f"{folder}/{name}")
    for name in _ROOT_CACHES:
        path = os.path.join(home.root, name)
        found = home.disk.look(path)
        if found is not None and found.kind == "file" and forget_in(home, path, gone, cache=True):
            changed.append(name)
    return changed


def traces(home: Home, folder: str, holds: Callable[[str], bool]) -> list[str]:
    """Files under a folder that hold a text, as their bytes stand or as what they mean: JSON in JSON, base64 too."""
    found: list[str] = []
    for name, what in home.disk.scan(folder):
        path = os.path.join(folder, name)
        if what.kind == "folder":
            found += traces(home, path, holds)
        elif what.kind == "file" and any(map(holds, texts_of(read_from(home.disk, path)))):
            found.append(os.path.relpath(path, home.root))
    return found


def texts_of(data: bytes) -> Iterator[str]:
    """What bytes that are kept say, as they stand and decoded."""
    text = data.decode("utf-8", "replace")
    yield text
    for line in text.split("\n"):
        yield from _inner(line)


def _inner(text: str) -> Iterator[str]:
    """The texts that JSON text says."""
    if text[:1] not in "{[":
        return
    try:
        yield from _leaves(json.loads(text))
    except (ValueError, RecursionError):
        return


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield from _inner(value)
    elif isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        packed = members.get("base64", members.get("data"))
        if isinstance(packed, str):
            yield _unpacked(packed)
        for name, one in members.items():
            yield name
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _leaves(one)


def _unpacked(packed: str) -> str:
    try:
        return base64.b64decode(packed, validate=True).decode("utf-8", "replace")
    except ValueError:
        return ""


__all__ = ["blanked", "forget_beside", "forget_in", "forget_notes", "masked_text", "texts_of", "traces"]
