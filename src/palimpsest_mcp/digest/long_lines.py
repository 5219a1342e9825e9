"""Over-long lines: cut into pieces between words, never inside a specific or a word, each cut marked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .units import Line, Mark

LONG = 400
"""Characters from which a line is cut into pieces."""
_PIECE = 240
_WORD = 160
"""A run without layout longer than this is no word anybody reads: it is left out of the pieces whole."""
_BREAK = re.compile(r"(?<=[.!?;,}\]]) +|\s+|(?<=[;,}\]])(?=[\"'{\[(<])|(?<=>)(?=<)")
CUT = "…"


def shortened(line: Line) -> Iterator[Line]:
    """Pieces of a long line in order, with their specifics; `…` stands where more of the line went before or on."""
    text, marks = line.text, line.marks
    start = 0
    at = 0
    for end in _cuts(text, marks):
        piece = text[start:end].strip()
        if piece and not _is_blob(piece):
            inside: list[Mark] = []
            while at < len(marks) and marks[at].end <= end:
                if marks[at].start >= start:
                    inside.append(marks[at])
                at += 1
            shown = f"{CUT} {piece}" if start else piece
            yield Line(f"{shown} {CUT}" if end < len(text) else shown, tuple(inside))
        start = end


def _cuts(text: str, marks: tuple[Mark, ...]) -> Iterator[int]:
    """Places to cut: about every `_PIECE` characters, where a gap lies outside every specific."""
    last = 0
    candidate = 0
    at = 0
    for gap in _BREAK.finditer(text):
        place = gap.end()
        while at < len(marks) and marks[at].end <= gap.start():
            at += 1
        if at < len(marks) and marks[at].start < place:
            continue
        if place - last > _PIECE and candidate > last:
            yield candidate
            last = candidate
        candidate = place
    if candidate > last and len(text) - last > _PIECE:
        yield candidate
    yield len(text)


def _is_blob(piece: str) -> bool:
    return len(piece) > _PIECE + _WORD and not any(c.isspace() for c in piece[:_PIECE])


__all__ = ["CUT", "LONG", "shortened"]
