"""Reading segment files: what came since the last look, without a lock and whoever is writing."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from ..ports.store import Damage
from .disk import Disk, Found
from .lines import Line, settled
from .names import SEGMENT_SUFFIX
from .whole_files import read_from, read_span

OUR_LIMITS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
"""Failures that say nothing about the file."""
_TRIES = 3


class Place(NamedTuple):
    """How far a segment was read."""

    offset: int
    """Everything before it is known."""
    size: int
    """The file's size then: behind the offset there may be an unfinished append."""


Places: TypeAlias = Mapping[str, Place]
"""By segment name."""
_ODD = Place(-1, -1)
"""Of something that is not a plain file: reported once."""


class News(NamedTuple):
    """What came to a folder of segments since some places."""

    lines: list[tuple[str, Line]]
    """With the segment's name; by segment in order of names, then by offset."""
    places: dict[str, Place]
    damage: list[Damage]


class SegmentFolder:
    """The segments of one kind in one session.

    Args:
        label: what damage reports call the folder.
    """

    def __init__(self, disk: Disk, folder: str, label: str) -> None:
        self._disk = disk
        self._folder = folder
        self._label = label

    def changed(self, places: Places) -> list[tuple[str, Found]]:
        """Segments that are new or have another size than at `places`: one scan of the folder.

        Raises:
            OSError: the folder cannot be read.
        """
        here = self._disk.look(self._folder)
        if here is None:
            return []
        if here.kind != "folder":
            raise OSError(errno.ENOTDIR, "not a folder")
        return [
            (name, found)
            for name, found in self._disk.scan(self._folder)
            if name.endswith(SEGMENT_SUFFIX) and _differs(places.get(name), found)
        ]

    def news(self, places: Places, *, skip_unreadable: bool) -> News:
        """Complete lines since `places`.

        Args:
            skip_unreadable: a segment that the disk does not give back is damage, and is tried again the next time.

        Raises:
            OSError: the folder cannot be read, or a segment without `skip_unreadable`.
        """
        news = News([], dict(places), [])
        for _ in range(_TRIES):  # a segment that vanishes was merged into another one: look again
            vanished = [entry for entry in self.changed(news.places) if not self._take(entry, news, skip_unreadable)]
            if not vanished:
                break
        return news

    def secure(self, places: Places, flushed: Mapping[str, int]) -> dict[str, Place]:
        """Flush segments that grew since `places`, whoever wrote them, and their names. Returns the places now.

        What a process reads may still be in memory only: its writer may have died before its flush.

        Args:
            flushed: path -> size up to which a segment needs no flush.

        Raises:
            OSError: one of them cannot be flushed.
        """
        grown = [(name, found) for name, found in self.changed(places) if found.kind == "file"]
        paths = [(os.path.join(self._folder, name), found.size) for name, found in grown]
        unsafe = [path for path, size in paths if flushed.get(path) != size]
        for path in unsafe:
            with suppress(FileNotFoundError):  # a purge wrote it anew, and flushed it
                self._disk.flush_others(path)
        if unsafe:
            self._disk.flush_folder(self._folder)
        return {**places, **{name: Place(found.size, found.size) for name, found in grown}}

    def where(self, name: str, offset: int) -> str:
        """A place, as damage reports name it."""
        return f"{self._label}/{name} at byte {offset}"

    def read_line(self, name: str, offset: int, size: int) -> bytes:
        """The bytes of one line, without its newline.

        Raises:
            OSError: they cannot be read.
        """
        fd = self._disk.open(os.path.join(self._folder, name))
        try:
            return read_span(self._disk, fd, offset, size)
        finally:
            self._disk.close(fd)

    def _take(self, entry: tuple[str, Found], news: News, skip_unreadable: bool) -> bool:
        name, found = entry
        if found.kind != "file":
            news.places[name] = _ODD
            news.damage.append(Damage(where=f"{self._label}/{name}", what="not a plain file; it was not opened"))
            return True
        try:
            self._read(name, found.size, news)
        except FileNotFoundError:
            return False
        except OSError as error:
            if not skip_unreadable or error.errno in OUR_LIMITS:
                raise
            news.damage.append(Damage(where=f"{self._label}/{name}", what="the disk does not give it back"))
        return True

    def _read(self, name: str, size: int, news: News) -> None:
        start = max(0, news.places.get(name, Place(0, 0)).offset)
        if size < start:
            news.places[name] = Place(start, size)
            news.damage.append(Damage(where=self.where(name, size), what="the file is shorter than it was"))
            return
        data = read_from(self._disk, os.path.join(self._folder, name), start)
        lines, end = settled(data, start)
        news.lines.extend((name, line) for line in lines)
        news.places[name] = Place(end, start + len(data))


def _differs(place: Place | None, found: Found) -> bool:
    if found.kind != "file":
        return place != _ODD
    return place is None or place.size != found.size
