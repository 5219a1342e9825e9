"""Segments written anew: without what a purge removes, or with whole lines in the place of broken ones."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TypeAlias

from ..errors import LockTimeout, WriteFailed
from ..models.purges import Forgotten
from .disk import Disk, Found
from .home import Home
from .lines import is_whole
from .names import SEGMENT_SUFFIX
from .whole_files import put_compared, read_span

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
            put_compared(disk, _free(disk, folder, name), new, home.random_hex, "a segment")
        try:
            _take_away(disk, path, aside=aside)
        except PermissionError:  # Windows: not while we have it open ourselves
            disk.close(fd)
            fd = None
            _take_away_elsewhere(disk, path, aside=aside)
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


def _free(disk: Disk, folder: str, name: str) -> str:
    """A name that sorts where the old one did, behind it: of two records of one batch the later counts."""
    parts = _NAME.fullmatch(name)
    assert parts is not None
    number = int(parts[2] or 0)
    while True:
        number += 1
        path = os.path.join(folder, f"{parts[1]}.r{number:04d}{SEGMENT_SUFFIX}")
        if disk.look(path) is None:
            return path


def _take_away(disk: Disk, path: str, *, aside: bool) -> None:
    if not aside:
        disk.remove(path)
        return
    kept, number = path + ASIDE, 1
    while disk.look(kept) is not None:
        number += 1
        kept = f"{path}{ASIDE}-{number}"
    disk.replace(path, kept)


def _take_away_elsewhere(disk: Disk, path: str, *, aside: bool) -> None:
    try:
        _take_away(disk, path, aside=aside)
    except PermissionError as error:
        raise WriteFailed(
            "Another program has a file of this session open, so it could not be taken away.",
            next="End the programs that use this session (servers, agents), then run the same again.",
        ) from error


def spoilt(raw: bytes, gone: Forgotten) -> bool:
    """Whether a line that cannot be read may hold what has to go."""
    text = raw.decode("utf-8", "replace")
    return gone.mask is not None and gone.mask(text) != text


__all__ = ["ASIDE", "Change", "rewrite", "spoilt"]
