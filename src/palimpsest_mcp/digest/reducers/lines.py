"""One reducer a route: a stretch of lines becomes candidates, each with how much it tells of what the result was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..lines import LONG, Line, Place, Reduced, Table, Unit, mark_numbers, shortened
from .html import Block
from .prose import RULE, page_places
from .routing import FORMS, Shape, Stretch, TextForm, whole
from .rows import Row, families

# The few lines that cry out among many that do not, whatever the text is: an ERROR in a listing, a FIXME in code.


LOUD = (
    re.compile(
        r"\b(?:ERROR|FATAL|CRITICAL|PANIC|FAILED|FAILURE|FIXME|XXX)\b"
        r"|(?:\b|\w)(?:[Ee]rror|[Ff]ailed|[Ff]atal|[Pp]anic|Exception): "
    ),
    re.compile(
        r"\b(?:Exited|Restarting) \([1-9]"
        r"|\b(?:unhealthy|CrashLoopBackOff|ImagePullBackOff|OOMKilled|Evicted|Killed|WARN|WARNING)\b"
        r"|\b(?:[Nn]ot found|denied|refused|[Tt]imed out|[Cc]annot|[Aa]borted)\b"
    ),
)
"""The loudest words, and those that stand out where none of the former does."""
STEMS = (
    ("ERROR", "FATAL", "CRITICAL", "PANIC", "FAIL", "FIXME", "XXX", "rror: ", "ailed: ", "atal: ", "anic: ", "ption: "),
    ("Exited (", "Restarting (", "unhealthy", "BackOff", "Killed", "Evicted", "WARN", "ot found", "denied", "refused")
    + ("imed out", "annot", "borted"),
)
"""One of these stands in whatever such a pattern finds: looked for first, since that is many times quicker."""
_CUTS = (re.compile(r"\t"), re.compile(r"\s*\|\s*"), re.compile(r","), re.compile(r" {3,}"))
"""What stands between the cells of a row."""
_FIGURE = re.compile(r"[^A-Za-z_]*\d[^A-Za-z_]*$")
_OF_DOCUMENT = re.compile(r"\s*+(?:[-*+>|] |#+ )|.{160}")
"""Headings, items, cells and paragraphs speak of errors that did not happen."""
_FEW, _SHARE = 3, 0.03
"""Loud lines up to which they are few: so many, or this share of all."""
_TELLS = 1.8
_CAUSE = "Caused by: "
"""Begins the line of a stack trace that tells the most: the last one names the root of the trouble."""


def raise_loud(units: Sequence[Unit]) -> None:
    """Mark loud lines, and let them tell more, where they are few; where every line is loud none of them stands out."""
    whole = "\n".join([unit.text for unit in units])
    for words, stems in zip(LOUD, STEMS, strict=True):
        maybe = {id(unit): unit for stem in stems if stem in whole for unit in units if stem in unit.text}
        loud = [
            unit
            for unit in maybe.values()
            if words.search(unit.text) and not (words is LOUD[1] and _OF_DOCUMENT.match(unit.text))
        ]
        if loud:
            if len(loud) <= max(_FEW, _SHARE * len(units)):
                for unit in loud:
                    unit.loud = True
                    unit.gist = max(unit.gist, _TELLS + unit.text.startswith(_CAUSE) / 10)
            return


def loudest_first(units: Sequence[Unit]) -> list[int]:
    """Places of the loud units: those that tell the most, of equals the first, then the last, then those between."""
    loud = [index for index, unit in enumerate(units) if unit.loud]
    ordered = loud[:1] + loud[:0:-1][:1] + loud[1:-1]
    return sorted(ordered, key=lambda index: -units[index].gist)


# Texts whose lines stand under each other: documents, code, settings, diffs, web pages; each line with its place.


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
        _put_under(units, _head_of([line.text for line in lines]))
    return units


def _head_of(texts: Sequence[str]) -> str:
    """The row of names above rows of data; empty where there is none."""
    rows = [n for n, text in enumerate(texts[:40]) if text.strip() and not RULE.match(text)]
    if len(rows) < 3:
        return ""
    cut = max(_CUTS, key=lambda pattern: min(len(pattern.findall(texts[n])) for n in rows[1:4]))
    for n in rows[:4]:
        cells = [cell.strip(" \"'|") for cell in cut.split(texts[n].strip())]
        cells = [cell for cell in cells if cell]
        below = [cut.split(texts[m].strip()) for m in rows if m > n][:5]
        if len(cells) < 2 or not below or any(abs(len(row) - len(cut.split(texts[n].strip()))) > 2 for row in below):
            continue
        if any(_FIGURE.match(cell) or len(cell) > 40 for cell in cells):
            return ""
        figures = sum(bool(_FIGURE.match(cell.strip(" \"'|"))) for row in below for cell in row)
        return texts[n] if figures else ""
    return ""


def _put_under(units: Sequence[Unit], head: str) -> None:
    """Rows below the names of their columns."""
    above = next((n for n, unit in enumerate(units) if head and unit.text == head and unit.kind == "quote"), -1)
    for unit in units[above + 1 :] if above >= 0 else ():
        unit.under = above
