"""Where each batch's record stands in an archive, kept up to date from new bytes only."""

from __future__ import annotations

import re
import threading
from typing import NamedTuple

import msgspec

from .segments import Line, Places, Reader, SegmentFolder


class Copy(NamedTuple):
    """One line that holds a batch's record."""

    segment: str
    offset: int
    size: int


class _BatchLine(msgspec.Struct):
    batch_id: str


_LINES: Reader[_BatchLine] = Reader(_BatchLine)
_NUMBER = re.compile(r"offload_(\d{4,18})")
_NAMED = re.compile(rb'[^{}\[\]]{0,4096}"batch_id":"(offload_\d{4,12})"')


class BatchIndex:
    """Batches of one session's archive. Safe over threads."""

    def __init__(self, segments: SegmentFolder) -> None:
        self._segments = segments
        self._lock = threading.Lock()
        self._places: Places = {}
        self._copies: dict[str, dict[Copy, None]] = {}
        self._damaged: set[str] = set()

    def refresh(self) -> None:
        """Take in what came since the last call.

        Raises:
            OSError: the folder cannot be read.
        """
        with self._lock:
            news = self._segments.news(self._places, skip_unreadable=True)
            for segment, line in news.lines:
                self._take(segment, line)
            self._places = news.places

    def copies(self, batch_id: str) -> list[Copy]:
        """Lines that hold the batch, oldest first: by segment, then by offset."""
        with self._lock:
            return sorted(self._copies.get(batch_id, {}))

    def batch_ids(self) -> list[str]:
        """Every batch that has a copy, by number, then by name."""
        with self._lock:
            return sorted(self._copies, key=batch_order)

    def _take(self, segment: str, line: Line) -> None:
        try:
            if not line.whole:
                raise ValueError
            batch_id = _LINES.decode(line.raw).batch_id
        except ValueError:
            if named := _NAMED.match(line.raw, 1):
                self._damaged.add(named[1].decode())
            return
        self._copies.setdefault(batch_id, {})[Copy(segment, line.offset, len(line.raw))] = None

    def is_damaged(self, batch_id: str) -> bool:
        """Whether a damaged line, or a last line that was cut off, says that it holds the batch.

        Raises:
            OSError: the end of a segment cannot be read.
        """
        with self._lock:
            return batch_id in self._damaged or batch_id in self._cut_off()

    def _cut_off(self) -> set[str]:
        ends = [(name, place) for name, place in self._places.items() if 0 <= place.offset < place.size]
        raws = (self._segments.read_line(name, place.offset, place.size - place.offset) for name, place in ends)
        return {named[1].decode() for raw in raws if (named := _NAMED.match(raw, 1))}


def batch_order(batch_id: str) -> tuple[int, str]:
    """Sorts `offload_0007` by its number; anything else comes first, by name."""
    number = _NUMBER.fullmatch(batch_id)
    return int(number[1]) if number else 0, batch_id
