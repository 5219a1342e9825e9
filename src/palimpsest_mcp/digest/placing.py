"""Texts whose lines stand under each other: documents, code, settings, diffs, web pages; each line with its place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .long_lines import LONG, shortened
from .reduce_code import code_places, diff_places, is_code
from .reduce_html import Block
from .reduce_text import is_document, page_places, prose_places
from .reduce_tree import is_tree, tree_places
from .units import Line, Place, Reduced, Route, Unit, mark_numbers

Shape: TypeAlias = Callable[[Sequence[str]], list[Place]]
"""What the lines of a stretch tell, and which line each stands under."""

_SHAPES: dict[Route, Shape] = {"code": code_places, "diff": diff_places, "html": tree_places}
_FEW_LINES = 3
"""Up to so many lines are no document only because they hold sentences: a row may hold one."""
_LETTER = re.compile(r"[^\W\d_]{2}")


def shape_of(route: Route, texts: Sequence[str]) -> Shape | None:
    """How lines stand under each other, on a closer look than a route takes; None where they do not."""
    if route in ("code", "prose") and is_tree(texts):
        return tree_places
    if (route == "prose" or len(texts) > _FEW_LINES) and route in ("code", "prose", "table") and is_document(texts):
        return prose_places
    if route == "prose" and is_code(texts):
        return code_places
    return _SHAPES.get(route)


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


__all__ = ["fitted", "placed", "placed_blocks", "shape_of"]
