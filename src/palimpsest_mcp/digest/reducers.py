"""One reducer a route: a stretch of lines becomes candidates, each with how much it tells of what the result was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .long_lines import LONG
from .placing import fitted, placed
from .reduce_rows import Row, families
from .reduce_tables import head_of
from .routing import Stretch
from .text_forms import FORMS, TextForm, whole
from .units import Line, Reduced, Table, Unit, mark_numbers

_HIT = 0.5
_LETTER = re.compile(r"[^\W\d_]{2}")
_FIRST = 0.6
"""The first line of a stretch often says what follows, the last how it ended."""
_LAST = 0.8


class _Place(NamedTuple):
    """Where a line stands in a table."""

    table: int
    text: str
    """Its row; empty for the line that is the heading."""
    specs: tuple[int, ...]
    says: bool | None = None
    below: tuple[Row, ...] = ()
    """Rows that stand right below the heading, wherever their lines stood."""


def reduce_lines(
    lines: Sequence[Line], texts: Sequence[str], parts: Sequence[Stretch], ready: Mapping[Stretch, Reduced]
) -> Reduced:
    """Candidates of a text, in order. Lines of one skeleton are rows of a table wherever they stand, but for those that
    stand under each other.

    Args:
        texts: what the lines say, without numbers that stand before them.
        ready: stretches that are reduced already.
    """
    shapes = {part: FORMS[part.route].shape_of(texts[part.start : part.end]) for part in parts if part not in ready}
    blocks = [
        (form, form.rows, lines[part.start : part.end])
        for part, shape in shapes.items()
        if shape is None and (form := FORMS[part.route]).rows
    ]
    found, names = families((rows(block), form.searched) for form, rows, block in blocks)
    times = Counter(line.text for line in lines) if found else Counter[str]()
    of_all = sum(len(block) for _, rows, block in blocks if rows is whole) == len(lines)
    reduced = Reduced(names=names if of_all else None)
    rows: dict[str, _Place | None] = {}
    for number, family in enumerate(found):
        count = sum(times[text] for text in family.members)
        reduced.tables.append(Table((family.heading,), family.specs, count, inline=family.inline))
        rows |= dict.fromkeys(family.members)
        below = family.rows if family.together else ()
        rows |= {row.line: _Place(number, row.text, row.specs, row.says) for row in family.rows if not below}
        rows[family.members[0]] = _Place(number, "", family.specs, below=below)
    for part in parts:
        own = lines[part.start : part.end]
        if part in ready:
            reduced.add(ready[part])
        elif shape := shapes[part]:
            reduced.add(placed(own, texts[part.start : part.end], shape))
        else:
            reduced.add(Reduced(_stretch(FORMS[part.route], own, rows)), shift=False)
    return reduced


def _stretch(form: TextForm, lines: Sequence[Line], rows: dict[str, _Place | None]) -> list[Unit]:
    """Candidates of one stretch. Equal lines become one with a count; blank lines none; long ones that are no rows
    pieces. `rows`: what lines are in tables; taken out of it once they have been told, None stays."""
    if any(len(line.text) > LONG for line in lines):
        lines = [short for line in lines for short in ((line,) if line.text in rows else fitted(line))]
    counts = Counter(line.text for line in lines)
    gists = form.gists(lines) if form.gists else None
    units: list[Unit] = []
    for index, line in enumerate(lines):
        times = counts.pop(line.text, 0)
        if not times or not (line.marks or _LETTER.search(line.text)):
            continue
        gist = gists[index] if gists else form.gist(line.text) if _LETTER.search(line.text) else 0.0
        if form.rows and line.text in rows:
            place = rows[line.text]
            rows[line.text] = None
            if place is not None:
                gist += 0 if place.text else _FIRST
                units.append(Unit(place.text, "row", place.specs, gist, place.table, says=place.says))
                units += [Unit(row.text, "row", row.specs, _HIT, place.table, says=row.says) for row in place.below]
            continue
        note = f"×{times} the next line" if times > 2 and gist > 0 else ""
        units.append(Unit(line.text, "quote", mark_numbers(line), gist, note=note))
    if units:
        units[0].gist += _FIRST
        units[-1].gist += _LAST
    if form.headed:
        _put_under(units, head_of([line.text for line in lines]))
    return units


def _put_under(units: Sequence[Unit], head: str) -> None:
    """Rows below the names of their columns."""
    above = next((n for n, unit in enumerate(units) if head and unit.text == head and unit.kind == "quote"), -1)
    for unit in units[above + 1 :] if above >= 0 else ():
        unit.under = above


__all__ = ["reduce_lines"]
