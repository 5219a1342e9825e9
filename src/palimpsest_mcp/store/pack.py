"""Small segments of one folder put together: each process leaves one, and a year of them is thousands of files.

The lines stay as they are, byte for byte. What is not whole, or is not as its witness says, is left alone: packing
hides no damage.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from .appender import ROLL_BYTES
from .disk import put_compared, read_span
from .flaws import differs
from .home import SEGMENT_SUFFIX, Home
from .rewrite import free_name, take_away
from .segments import settled

SMALL_BYTES = 1 << 20
"""A segment from this size on is left as it is."""


def pack(home: Home, folder: str) -> tuple[int, int]:
    """Write neighbours among the small segments into one: flushed and read back before the old ones go. After a crash
    between, both are there, and every reader takes an event or record that is there twice once.

    A writer that has one of them open finds it taken away, and goes on in a new one. Returns how many segments were
    there before and are there now.

    Raises:
        OSError, WriteFailed: some may be as they were.
    """
    names = [
        (name, found.size)
        for name, found in home.disk.scan(folder)
        if found.kind == "file" and name.endswith(SEGMENT_SUFFIX)
    ]
    after = len(names)
    for run in _runs(names):
        after -= _put_together(home, folder, run)
    return len(names), after


def _runs(names: Iterable[tuple[str, int]]) -> Iterator[list[str]]:
    """Neighbours by name that are small each, and together no more than a segment holds."""
    run: list[str] = []
    total = 0
    for name, size in names:
        if size >= SMALL_BYTES or total + size > ROLL_BYTES:
            yield run
            run, total = [], 0
        if size < SMALL_BYTES:
            run.append(name)
            total += size
    yield run


def _put_together(home: Home, folder: str, names: list[str]) -> int:
    """Returns how many segments fewer there are."""
    if len(names) < 2:
        return 0
    disk = home.disk
    held: list[tuple[str, int]] = []
    try:
        lines: dict[bytes, None] = {}
        for name in names:
            path = os.path.join(folder, name)
            fd = disk.open(path)
            held.append((path, fd))
            found = disk.look(path)
            if not disk.hold(fd, 0.0) or found is None or found.identity != disk.found(fd).identity:
                return 0  # its writer is at work, or somebody wrote it anew
            data = read_span(disk, fd, 0, disk.found(fd).size)
            whole, end = settled(data, 0)
            if end != len(data) or not all(line.whole for line in whole) or differs(home, path, data):
                return 0
            lines.update((line.raw, None) for line in whole)
        new = b"".join(line + b"\n" for line in lines)
        path = free_name(disk, folder, names[-1])
        put_compared(disk, path, new, home.random_hex, "a segment")
        home.witnesses.put_whole(path, new)
        while held:
            old, fd = held[-1]
            try:
                take_away(home, old, aside=False)
            except PermissionError:  # Windows: not while we have it open ourselves
                held.pop()
                disk.close(fd)
                take_away(home, old, aside=False)
            else:
                held.pop()
                disk.close(fd)
        disk.flush_folder(folder)
        return len(names) - 1
    finally:
        for _, fd in held:
            disk.close(fd)
