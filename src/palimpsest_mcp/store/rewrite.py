"""Segments written anew: without what a purge removes, or with whole lines in the place of broken ones."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

from ..context.tombstones import masked_value
from ..errors import LockTimeout, WriteFailed
from ..models.reports import Forgotten
from .disk import Disk, Found, put_compared, read_from, read_span
from .home import ARCHIVE, LEDGER, SEGMENT_SUFFIX, Home
from .segments import is_whole

Change: TypeAlias = Callable[[bytes, bool], bytes | None]
"""A line without its newline, and whether its checksum fits -> what stands in its place; None: nothing."""

ASIDE = ".damaged"
HOLD_TIMEOUT_S = 10.0
_NAME = re.compile(rf"(.+?)(?:\.r(\d{{4,}}))?{re.escape(SEGMENT_SUFFIX)}")


def rewrite(home: Home, folder: str, change: Change, *, tail: bool, aside: bool) -> int:
    """Write every segment anew of which a line changes. Returns how many lines changed.

    The old file is held meanwhile, so that its writer, who may be alive, either sees it taken away before the next
    append, or has its line in the new one. The new file has all its bytes, flushed and read back, before it gets a
    name; both are there when a crash comes then, with the same lines, and the same call takes the old one away later.

    Args:
        tail: keep what stands behind the last newline; without it, it goes: nobody was promised it.
        aside: keep the old file under another name.

    Raises:
        WriteFailed, LockTimeout, OSError: some segments may be as they were.
    """
    done = 0
    for name, found in home.disk.scan(folder):
        if name.endswith(SEGMENT_SUFFIX) and found.kind == "file":
            done += _rewrite(home, folder, name, found, change, tail=tail, aside=aside)
    if home.disk.look(folder) is not None:
        home.disk.flush_folder(folder)  # also what one that was killed took away: a power cut could bring it back
    return done


def _rewrite(home: Home, folder: str, name: str, found: Found, change: Change, *, tail: bool, aside: bool) -> int:
    disk, path = home.disk, os.path.join(folder, name)
    try:
        fd: int | None = disk.open(path)
    except FileNotFoundError:
        return 0
    assert fd is not None
    try:
        if not disk.hold(fd, HOLD_TIMEOUT_S):
            raise LockTimeout(
                "A program is in the middle of writing to this session.",
                next="Try again; if it stays, look for a stopped process.",
            )
        now = disk.look(path)
        if now is None or now.identity != found.identity:
            return 0  # somebody else wrote it anew
        data = read_span(disk, fd, 0, disk.found(fd).size)
        new, changed = _changed(data, change, tail=tail)
        if new == data:
            return 0
        if new:
            home.make(folder)
            new_path = free_name(disk, folder, name)
            put_compared(disk, new_path, new, home.random_hex, "a segment")
            home.witnesses.put_whole(new_path, new)
        try:
            take_away(home, path, aside=aside)
        except PermissionError:  # Windows: not while we have it open ourselves
            disk.close(fd)
            fd = None
            _take_away_elsewhere(home, path, aside=aside)
        return changed
    finally:
        if fd is not None:
            disk.close(fd)


def _changed(data: bytes, change: Change, *, tail: bool) -> tuple[bytes, int]:
    *lines, rest = data.split(b"\n")
    kept: list[bytes] = []
    changed = int(bool(rest) and not tail)
    for raw in lines:
        line = change(raw, is_whole(raw))
        changed += line is not raw and line != raw
        if line is not None:
            kept.append(line + b"\n")
    if rest and tail and (line := change(rest, False)) is not rest:  # the newline alone may be missing
        kept.append(b"" if line is None else line + b"\n")
        return b"".join(kept), changed + 1
    return b"".join(kept) + (rest if tail else b""), changed


def free_name(disk: Disk, folder: str, name: str) -> str:
    """A name that sorts where the old one did, behind it: of two records of one batch the later counts."""
    parts = _NAME.fullmatch(name)
    assert parts is not None
    number = int(parts[2] or 0)
    while True:
        number += 1
        path = os.path.join(folder, f"{parts[1]}.r{number:04d}{SEGMENT_SUFFIX}")
        if disk.look(path) is None:
            return path


def take_away(home: Home, path: str, *, aside: bool) -> None:
    disk = home.disk
    home.witnesses.strike(path)
    if not aside:
        disk.remove(path)
        return
    kept, number = path + ASIDE, 1
    while disk.look(kept) is not None:
        number += 1
        kept = f"{path}{ASIDE}-{number}"
    disk.replace(path, kept)


def _take_away_elsewhere(home: Home, path: str, *, aside: bool) -> None:
    try:
        take_away(home, path, aside=aside)
    except PermissionError as error:
        raise WriteFailed(
            "Another program has a file of this session open, so it could not be taken away.",
            next="End the programs that use this session (servers, agents), then run the same again.",
        ) from error


def spoilt(raw: bytes, gone: Forgotten) -> bool:
    """Whether a line that cannot be read may hold what has to go."""
    text = raw.decode("utf-8", "replace")
    return gone.mask is not None and gone.mask(text) != text


# Everything that is neither ledger nor archive, when a user has texts removed: taken out, and looked for.


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
        home.witnesses.strike(path)
        home.disk.remove(path)
        home.disk.flush_folder(os.path.dirname(path))
    else:
        data = masked.encode("utf-8", "surrogateescape")
        put_compared(home.disk, path, data, home.random_hex, "a file")
        home.witnesses.put_whole(path, data)
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
