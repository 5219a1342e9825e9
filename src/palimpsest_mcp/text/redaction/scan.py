"""Looks through a text once, and lets each detector work only where something opened its gate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias

from .literals import is_hex, looks_random
from .patterns import Find, Gates, merged
from .views import views

# Where a secret goes on in the next line: wrapped by a terminal, a mail, a string in code.


_GAP = re.compile(
    rb"(?P<joint>[ \t]*\\{0,15}[\"'`]?[ \t]*[+.\\]?[ \t\\]{0,16})(?:\r?[ ]*\n|\r)"
    rb"(?:[ \t]*\d{1,6}[\t:|])?[ \t]*(?:[>|#*+]{1,2}[ \t]+)?(?:[bfru]{0,2}\\{0,15}[\"'`])?"
)
_RUN = re.compile(rb"[A-Za-z0-9_+/=.~-]{4,4096}")
_SHORTEST = 12  # what is shorter ends by itself
_LAST_RANK = 6000  # personal data does not wrap


def end_of(text: bytes, find: Find) -> int:
    """The end of a find, behind those next lines that go on with it.

    A line goes on with a secret that fills the line before to its end when it begins with what no word begins with, and
    is not the name of a next value. Hexadecimal goes on with hexadecimal only: behind a key may stand a commit's id.
    """
    end = find.end
    first = text[max(find.start, end - 2 * _SHORTEST) : end].decode("utf-8", "replace")
    while find.rank < _LAST_RANK and (gap := _GAP.match(text, end)) and (run := _RUN.match(text, gap.end())):
        more = run.group().decode()
        joined_in_code = bool(gap.group("joint").strip())
        if (
            len(first) < _SHORTEST
            or text[run.end() : run.end() + 1] in (b":", b"(", b"[", b"@")
            or "=" in more.rstrip("=")
        ):
            break
        if not looks_random(more) and not (joined_in_code and any(c.isdigit() for c in more)):
            break
        if is_hex(more) and not is_hex(first[-8:]):
            break
        end = run.end()
    return end


Ranges: TypeAlias = Sequence[tuple[int, int]]
"""Parts of a text, in bytes: in order, not overlapping."""

_CHUNK = 16 << 10
_OVERLAP = 512  # no gate's own text is longer
_ROOM = 512  # how far a find may go on behind the chunk in which its gate stands


class Detector(Protocol):
    """Finds secrets of one or more sorts in UTF-8 bytes."""

    @property
    def gates(self) -> Sequence[str]:
        """RE2 patterns, at least one; wherever there is a secret of a sort, its gate occurs beside it."""
        ...

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Secrets of the gate's sort in these ranges: in no order, overlapping where two readings are possible."""
        ...


class Scanner:
    """All detectors over one text."""

    def __init__(self, detectors: Sequence[Detector]) -> None:
        self._sorts = [(detector, gate) for detector in detectors for gate in range(len(detector.gates))]
        self._gates = Gates([pattern for detector in detectors for pattern in detector.gates])

    def finds(self, raw: bytes) -> Iterator[Find]:
        """What the detectors find, with what goes on in the next lines; overlapping between the text's views."""
        for view in views(raw):
            finds = list(self._in(view.text))
            done = 0
            for find in merged(finds) if finds else ():
                if find.end <= done:
                    continue
                done = end_of(view.text, find)
                start, end = view.place(find.start, done)
                yield find._replace(start=start, end=end)

    def _in(self, text: bytes) -> Iterator[Find]:
        end = len(text)
        if end <= _CHUNK:
            for sort in self._gates.opened_by(text) if text else ():
                detector, gate = self._sorts[sort]
                yield from detector.find(gate, text, ((0, end),))
            return
        start = 0
        opened: dict[int, list[tuple[int, int]]] = {}
        while start < end:
            stop = _chunk_end(text, start, end)
            reach = (max(0, start - _ROOM), min(len(text), stop + _ROOM))
            for sort in self._gates.opened_by(text[start : min(len(text), stop + _OVERLAP)]):
                ranges = opened.setdefault(sort, [])
                if ranges and reach[0] <= ranges[-1][1]:
                    ranges[-1] = (ranges[-1][0], reach[1])
                else:
                    ranges.append(reach)
            start = stop
        for sort, ranges in opened.items():
            detector, gate = self._sorts[sort]
            yield from detector.find(gate, text, ranges)


def _chunk_end(text: bytes, start: int, end: int) -> int:
    """At a line's end where there is one near."""
    stop = start + _CHUNK
    if stop >= end:
        return end
    line_end = text.rfind(b"\n", stop - 2048, stop)
    return line_end + 1 if line_end >= 0 else stop
