"""Columns by position: what `kubectl get`, `docker ps`, `df` and `ps` print, and financial statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..records import Reading, Record
from .grid import WIDEST, WORD, column_starts, cut, is_value, places, tabulate

_WIDE = re.compile(r"\s{2,}")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
"""Numbers at the head of a column belong to a date; else the line is one of the rows."""
_RULE = re.compile(r"\s*[-=\u2500\u2501\u2550]{3,}\s*")
_NAME = re.compile(r"[\w%#(+][\w%#()/.\u00b0$\u20ac+*'-]*")
_LONGEST_NAME = 40
_SAMPLE = 20
"""Rows by which the head is told from a row."""


class _Layout(NamedTuple):
    head: str
    nameless: bool
    """The first column has no name: the labels of a statement."""
    cuts: list[int]
    """Where each column but the first begins."""
    rows: list[tuple[int, list[str]]]
    odd: list[tuple[int, str]]
    """Lines between rows that run across the columns."""
    ruled: bool
    end: int


def _gaps(line: str, below: str) -> list[tuple[int, int]] | None:
    """The gaps between words of a possible head, from and to; the first begins at 0 over labels without a name."""
    if len(line) > WIDEST or "\t" in line or _WIDE.search(line.strip()) is None:
        return None
    words = list(WORD.finditer(line))
    if not all(_NAME.fullmatch(word.group()) for word in words) or line.rstrip()[-1] in ".,;":
        return None
    if any(len(name) > _LONGEST_NAME for name in _WIDE.split(line.strip())):
        return None
    indent = words[0].start()
    gaps = [(left.end(), right.start()) for left, right in zip(words, words[1:], strict=False)]
    numbers = [word.group() for word in words if is_value(word.group())]
    dated = not numbers or any(map(_YEAR.search, numbers)) and all(len(n) < 3 or _YEAR.search(n) for n in numbers)
    if dated and indent > 1 and below.strip() and len(below) - len(below.lstrip()) < indent:
        return [(0, indent), *gaps]
    return None if any(word.group()[0].isdigit() for word in words) else gaps


def _pieces(line: str, wanted: int, nameless: bool) -> list[str] | None:
    """The cells of a row that runs across the columns, where its own gaps leave no doubt."""
    pieces = _WIDE.split(line.strip())
    if len(pieces) == wanted:
        return pieces
    label, *values = line.strip().rsplit(maxsplit=wanted - 1)
    if not nameless or len(values) < wanted - 1 or not all(map(is_value, values)):
        return None
    return None if is_value(label.split()[-1]) else [label, *values]


def _layout(lines: Sequence[str], start: int) -> _Layout | None:
    ruled = start + 1 < len(lines) and _RULE.fullmatch(lines[start + 1]) is not None
    first = start + 1 + ruled
    while first < len(lines) and first < start + 3 and not lines[first].strip():
        first += 1
    gaps = _gaps(lines[start], lines[first]) if first < len(lines) and lines[start].strip() else None
    if gaps is None:
        return None
    nameless = gaps[0][0] == 0
    if first > start + 1 + ruled and not nameless:
        return None
    firm = [gap for n, gap in enumerate(gaps) if gap[1] - gap[0] > 1 or (nameless and n == 0)]
    masks = [((1 << (right - left)) - 1) << left for left, right in firm]
    used = places(lines[start])
    regular: list[int] = []
    ragged: list[tuple[int, list[str]]] = []
    labels: list[tuple[int, list[str]]] = []
    odd: list[tuple[int, str]] = []
    at = end = first
    while at < len(lines) and at <= end + 1 + nameless:
        line, at = lines[at], at + 1
        if not line.strip() or _RULE.fullmatch(line):
            if nameless or line.strip():
                continue
            break
        wide = _WIDE.search(line.strip()) is not None
        merged = used | places(line)
        if len(line.rstrip()) <= gaps[0][1] and not wide:
            if not nameless:
                break
            labels.append((at - 1, [line.strip()]))
        elif "\t" not in line and all(mask & ~merged for mask in masks):
            again = nameless and end > first and at - 1 > end and line[: gaps[0][1] // 2 + 1].isspace()
            if not (wide or is_value(line.split()[-1])) or again or (not nameless and line[: gaps[0][0]].isspace()):
                break  # prose that happens to have blanks there, or the head of the next table
            used = merged
            regular.append(at - 1)
            end = at
        elif len(line) <= WIDEST and (cells := _pieces(line, len(firm) + 1, nameless)) is not None:
            ragged.append((at - 1, cells))
            end = at
        elif len(regular) > 1 and end == at - 1 and not nameless and wide:
            odd.append((at - 1, line.strip()))
        else:
            break
    if len(regular) + len(ragged) < 2 or (len(ragged) > len(regular) and not nameless):
        return None
    cuts = column_starts([lines[n] for n in regular], gaps, firm, used, exact=bool(ragged))
    if cuts is None:
        return None
    rows = sorted([(n, cut(lines[n], cuts)) for n in regular] + ragged + [label for label in labels if label[0] < end])
    return _Layout(lines[start], nameless, cuts, rows, [line for line in odd if line[0] < end], ruled, end)


def _columns(layout: _Layout) -> list[str] | None:
    """The names, if the first line has names and is not the first of the rows."""
    sample = [cells for _, cells in layout.rows[:_SAMPLE]]
    names = cut(layout.head, layout.cuts) if layout.cuts else ["", *_WIDE.split(layout.head.strip())]
    if len(names) < 2 + layout.nameless or any(len(cells) > len(names) for cells in sample):
        return None
    if not layout.nameless and (layout.ruled or layout.head.isupper()):
        return names
    for n in range(1 if layout.nameless else 0, len(names)):
        values = [is_value(cells[n]) for cells in sample if n < len(cells) and cells[n]]
        if layout.nameless and 3 * sum(values) > 2 * len(values):
            return names
        if values and all(values) and not any(map(str.isdigit, names[n])):
            return names
    return None


def _told(lines: Sequence[str]) -> tuple[_Layout, list[str]] | None:
    layout = _layout(lines, 0)
    columns = _columns(layout) if layout else None
    return (layout, columns) if layout and columns else None


def claims(lines: Sequence[str], start: int) -> int:
    """The end of the table that has its head on this line; told by its first rows, so that a refusal costs little."""
    found, size = start, _SAMPLE
    while told := _told(lines[start : start + size]):
        found = start + told[0].end
        if found + 3 < start + size or start + size >= len(lines):
            break
        size *= 4
    return found


def read(lines: Sequence[str]) -> Reading:
    """Rows in source order; a label without values is the heading of those below it."""
    told = _told(lines)
    if told is None:
        return Reading([Record(line.strip(), at=n) for n, line in enumerate(lines) if line.strip()])
    layout, columns = told
    if layout.nameless and (levels := _levels(lines, layout)):
        return levels
    table, records = tabulate(columns, layout.rows)
    records += [Record(text, at=at) for at, text in layout.odd]
    records.sort(key=lambda record: record.at)
    heading, before = -1, 0
    for n, record in enumerate(records):
        if record.at > before + 1:
            heading = -1
        before = record.at
        if layout.nameless and not any(record.cells[1:]):
            records[n] = Record(record.cells[0], "heading", at=record.at)
            heading = n
        else:
            record.under = heading
    return Reading(records, [table])


def _levels(lines: Sequence[str], layout: _Layout) -> Reading | None:
    """Rows named by two columns without names, of which the first is said once for all rows of a group, as pandas
    prints them: lines below their head, the later ones of a group below its first."""
    named = {at: cells[0] for at, cells in layout.rows if any(cells[1:])}
    places = {at: len(lines[at]) - len(lines[at].lstrip()) for at in named}
    firsts = [at for at, place in places.items() if place == min(places.values())]
    if not 1 < len(firsts) < len(named) or not all(_WIDE.search(named[at]) for at in firsts):
        return None
    records = [Record(layout.head.strip(), "heading")]
    names = first = 0
    for at in range(1, layout.end):
        if not (text := lines[at].strip()) or _RULE.fullmatch(lines[at]):
            continue
        if at not in named:
            records.append(Record(text, "heading", under=0, at=at))
            names = len(records) - 1
        elif at in firsts:
            records.append(Record(text, "row", under=names, at=at))
            first = len(records) - 1
        else:
            records.append(Record(text, "row", under=first, at=at, indent=lines[at][: lines[at].index(text)]))
    return Reading(records)
