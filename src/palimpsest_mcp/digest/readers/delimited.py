"""Fields between commas, tabs, semicolons or bars: CSV, TSV, and what databases print without a frame."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..records import Reading, Record
from .grid import is_value, tabulate

_LEAST = 3
"""Lines with the same number of fields before they are a table: two lines of prose may have as many commas each."""
_LONGEST_ROW = 50
"""Lines that a quoted field may run over; after them its quote was never meant to open one."""
_SAMPLE = 20
"""Rows by which head and columns are told."""
_WIDEST = 200
"""Characters of a field of the first lines, at most: beyond it is prose."""
_HEADS = re.compile(
    r"\b(?:id|name|key|type|kind|value|date|time|title|text|description|status|state|code|url|path|file|email|city"
    r"|country|role|label|category|count|amount|price|version|user|item|region|owner|group|language|size|address)\b"
)
"""Words of which a line of names without any number below it has one."""
_NAME = re.compile(r"[^\W\d][\w .()%/#$\u20ac:-]{0,59}")
_CODE = re.compile(
    r"[{}\\]|;$|\s=\s|=>|->|::|\(\)|\w\(|^\s*(?:#|//|/\*|\*|<|>|\[|\(|- |@|import |from |def |return |const |let |var )"
    r"|^.{0,14}\d\d:\d\d:\d\d(?:[.,]\d{1,9})?[\]Z+:\d-]{0,7} +\S|[^,]\.$"
)
"""In a first line: source, a log with its time, a list or a sentence."""


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_QUOTED = re.compile('"[^"]*"')
_PLACE = re.compile(r"\W+|.*:|\d+-")
"""A first field that says where the source behind it stands: `-`, `a.py:12:`."""


class _Shape(NamedTuple):
    delimiter: str
    rows: list[tuple[int, list[str]]]
    odd: list[tuple[int, str]]
    """Lines between rows that have another number of fields."""
    end: int


def _fields(lines: Sequence[str], at: int, delimiter: str) -> tuple[list[str], int] | None:
    """The fields of the row that begins on a line, as written, and where the next row begins."""
    line = lines[at]
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)], at + 1
    end, quotes = at + 1, line.count('"')
    while quotes % 2 and end < min(len(lines), at + _LONGEST_ROW):
        quotes += lines[end].count('"')
        end += 1
    if quotes % 2:
        return [cell.strip() for cell in line.split(delimiter)], at + 1
    try:
        rows = list(csv.reader([row + "\n" for row in lines[at:end]], delimiter=delimiter))
    except csv.Error:
        return None
    return ([cell.strip() for cell in rows[0]], end) if len(rows) == 1 else None


def _shape(lines: Sequence[str], start: int, most: int | None = None) -> _Shape | None:
    first = lines[start]
    if not first.strip() or first[0].isspace() or _CODE.search(first[:_WIDEST]):
        return None
    for delimiter in "\t,;|":
        if delimiter in first and (shape := _rows(lines, start, delimiter, most)) is not None:
            return shape
    return None


def _rows(lines: Sequence[str], start: int, delimiter: str, most: int | None) -> _Shape | None:
    rows: list[tuple[int, list[str]]] = []
    odd: list[tuple[int, str]] = []
    at, width = start, 0
    while at < len(lines) and lines[at].strip():
        if (parsed := _fields(lines, at, delimiter)) is None:
            break
        cells, after = parsed
        width = width or len(cells)
        if len(cells) != width or (delimiter != "\t" and lines[at][0].isspace()):
            following = _fields(lines, at + 1, delimiter) if len(rows) >= _LEAST and at + 1 < len(lines) else None
            if following is None or len(following[0]) != width or delimiter not in lines[at]:
                break
            odd.append((at, lines[at].strip()))
            at += 1
            continue
        rows.append((at, cells))
        if len(rows) == _LEAST and not _plausible(lines, rows, delimiter):
            return None
        at = after
        if most is not None and len(rows) >= most:
            break
    return _Shape(delimiter, rows, odd, at) if len(rows) >= _LEAST and width > 1 else None


def _plausible(lines: Sequence[str], rows: Sequence[tuple[int, list[str]]], delimiter: str) -> bool:
    """Whether the first rows are a table and not sentences, numbered lines or source that have as many marks each."""
    cells = [cell for _, row in rows for cell in row]
    texts = [lines[at] for at, _ in rows]
    if (
        any(len(cell) > _WIDEST for cell in cells)
        or all(not row[-1] for _, row in rows)
        or any(not row[0] for _, row in rows)
    ):
        return False
    if delimiter == "," and sum(text.rstrip().endswith((",", "{", "(", "[")) for text in texts) > 1:
        names = rows[0][1]  # the last column may be blank in most rows, below a head that names it
        if len(names) <= _LEAST or not all(map(_NAME.fullmatch, names)):
            return False
    if delimiter == "," and all(len(_THOUSANDS.findall(text)) == text.count(",") for text in texts):
        return False
    if len(rows[0][1]) == 2 and _counting(rows):
        return False
    if delimiter == "\t":
        return not any(_PLACE.fullmatch(row[0]) for _, row in rows)
    if any(_CODE.search(text[:_WIDEST]) for text in texts):
        return False
    spaced = any(delimiter + " " in _QUOTED.sub("", text) for text in texts)
    if not spaced:
        return len(rows[0][1]) > 2 or any(is_value(cell) or _NAME.fullmatch(cell) for cell in rows[0][1])
    columns = list(zip(*(row for _, row in rows[1:]), strict=True))
    short = all(len(cell.split()) <= 4 for cell in cells)
    return delimiter != "|" and short and len(columns) > 2 and any(all(map(is_value, column)) for column in columns)


def _counting(rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether the first fields are the numbers of lines, as `cat -n` gives them."""
    first = rows[0][1][0]
    return first.isdecimal() and all(row[0] == str(int(first[:9]) + n) for n, (_, row) in enumerate(rows))


def _has_head(rows: Sequence[Sequence[str]]) -> bool:
    head, below = rows[0], rows[1 : _SAMPLE + 1]
    if len(set(head)) < len(head) or not all(_NAME.fullmatch(name) for name in head[1:]):
        return False
    if any(is_value(name) for name in head) or len(head[0]) > 60:
        return False
    if any(
        all(is_value(row[n]) or not row[n] for row in below) and any(row[n] for row in below) for n in range(len(head))
    ):
        return True
    return any(_HEADS.search(name.casefold().replace("_", " ")) for name in head)


def claims(lines: Sequence[str], start: int) -> int:
    """The end of the rows from here on."""
    if _shape(lines, start, _LEAST) is None:
        return start
    shape = _shape(lines, start)
    return shape.end if shape else start


def read(lines: Sequence[str]) -> Reading:
    """Rows in source order; a line with another number of fields stands between them as it is."""
    shape = _shape(lines, 0)
    if shape is None:
        return Reading([Record(line.strip(), at=n) for n, line in enumerate(lines) if line.strip()])
    headed = _has_head([cells for _, cells in shape.rows])
    table, records = tabulate(shape.rows[0][1] if headed else (), shape.rows[headed:])
    records += [Record(text, at=at) for at, text in shape.odd]
    records.sort(key=lambda record: record.at)
    return Reading(records, [table])
