"""Texts whose lines stand under each other: documents, code, settings, diffs, web pages; each line with its place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from .long_lines import LONG, shortened
from .reduce_html import Block
from .reduce_text import page_places
from .text_forms import Shape
from .units import Line, Place, Reduced, Unit, mark_numbers

_LETTER = re.compile(r"[^\W\d_]{2}")


def placed(lines: Sequence[Line], texts: Sequence[str], shape: Shape) -> Reduced:
    """Candidates of one stretch.

    Args:
        texts: what the lines say, without numbers that stand before them.
    """
    pieces = [fitted(line) for line in lines]
    says = [text if len(of) == 1 else one.text for text, of in zip(texts, pieces, strict=True) for one in of]
    return _units([one for of in pieces for one in of], shape(says))


def placed_blocks(blocks: Sequence[tuple[Block, Line]]) -> Reduced:
    """Candidates of a web page."""
    lines = [line for _, line in blocks]
    return _units(lines, page_places([block for block, _ in blocks], [line.text for line in lines]))


def fitted(line: Line) -> Sequence[Line]:
    """A line as it may be shown: in pieces where it is too long."""
    return (line,) if len(line.text) <= LONG else tuple(shortened(line))


def _units(lines: Sequence[Line], places: Sequence[Place]) -> Reduced:
    """Equal lines become one with a count, blank ones none; one that others stand under is kept wherever it comes."""
    above = {place.under for place in places}
    counts = Counter(line.text for line in lines)
    reduced = Reduced()
    number: dict[int, int] = {}
    for index, (line, place) in enumerate(zip(lines, places, strict=True)):
        times = counts.get(line.text, 0)
        if index not in above and not (times and (line.marks or _LETTER.search(line.text))):
            continue
        counts.pop(line.text, None)
        note = f"×{times} the next line" if times > 2 and place.gist > 0 and index not in above else ""
        number[index] = len(reduced.units)
        under = number.get(place.under, -1)
        reduced.units.append(Unit(line.text, "quote", mark_numbers(line), place.gist, under=under, note=note))
    return reduced


__all__ = ["fitted", "placed", "placed_blocks"]
