"""Pieces of what is too long to be shown whole: a value of a long line with the words that say what it is, one field of
an object, one cell of a wide row.

Those of one record are printed together, in its order: `… took 41 ms … port 8443 …` of a line, `path: name=relay-3|
port=8443` of an object or a row, with what names it first. None is made of a sentence that denies or excepts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from .blocks import SEPARATORS, Unit
from .notation import BETWEEN, CUT
from .proof import turns
from .records import Record, Table
from .source_facts import between, cut_at

LINE, ROW = 80, 120
"""Characters of a line, and of a row, from which it has pieces."""
MANY = 50
"""Rows of a table from which only what is an exception among them is told of one alone."""
COLUMNS = 4
"""Columns of a row that has pieces, at least."""
_LABEL = 3
"""Words that say what a value is: those before it, at the beginning of a line those behind it, too."""
_LONGEST = 160
"""Characters of a piece; a longer one is no shorter form."""
SPOKEN, _PASSAGE = 600, 160
"""Characters of a sentence that nobody ended, such as a transcript has, and of what is shown of it at once."""
_MOST = 40
"""Pieces of one record: what holds more is a list, and its values tell nothing apart."""
_WORD = re.compile(r"\S*\w\w\S*")
_ENDS = (".", "!", "?", ";", "|", "\t")
_STOPS = (".", "!", "?")
_BREAK = re.compile(r"[,;:.!?)]\s+")
"""Between two clauses of a sentence."""
_NEAR = 60
"""Characters that a clause may go on beside a piece of it."""


class Spot(NamedTuple):
    """A specific in a line: its characters, and its number in the batch."""

    start: int
    end: int
    number: int


def of_line(record: Record, number: int, spots: Sequence[Spot]) -> Iterator[Unit]:
    """Pieces of a long line, each around one of its values.

    Args:
        number: of the record.
        spots: its values, in order.
    """
    text = record.text
    for spot in spots[:_MOST]:
        first, last = _around(text, spot)
        if last - first > min(_LONGEST, len(text) // 2) or CUT in text[first:last]:
            continue
        if first and any(one.start <= first < one.end for one in spots):
            continue  # it would begin with a value, and nothing would say of what
        if between(text, first) and between(text, last) and not turns(cut_at(text, first) + cut_at(text, last)):
            inside = (one.number for one in spots if first <= one.start and one.end <= last)
            yield Unit((number,), text[first:last], span=(first, last), specs=tuple(dict.fromkeys(inside)))


def passage_places(text: str) -> Iterator[tuple[int, int]]:
    """Where stretches of what somebody said without a full stop stand, from blank to blank: together all of it but what
    could say the opposite of its sentence."""
    first = 0
    while first < len(text):
        last = len(text) if len(text) - first <= _PASSAGE else text.rfind(" ", first + 1, first + _PASSAGE)
        if last <= first:
            return  # no blanks: nothing that is read
        whole = between(text, first) and between(text, last) and CUT not in text[first:last]
        if whole and not turns(cut_at(text, first) + cut_at(text, last)):
            yield first, last
        first = last + 1


def passages(record: Record, number: int, spots: Sequence[Spot], places: Iterable[tuple[int, int]]) -> Iterator[Unit]:
    """Those of a record, from its `passage_places`."""
    for first, last in places:
        begin = bisect_left(spots, first, key=itemgetter(0))
        near = spots[begin : bisect_left(spots, last, begin, key=itemgetter(0))]
        inside = (one.number for one in near if one.end <= last)
        yield Unit((number,), record.text[first:last], span=(first, last), specs=tuple(dict.fromkeys(inside)))


def of_fields(record: Record, number: int, spots: Sequence[Spot]) -> Iterator[Unit]:
    """Fields of an object's line, but for the first, which says whose they are."""
    path, separator, pairs = fields_of(record.text)
    at = len(path)
    for place, pair in enumerate(pairs):
        end = at + len(pair)
        inside = tuple(dict.fromkeys(one.number for one in spots if at <= one.start and one.end <= end))
        if place and inside and len(pair) <= _LONGEST and pair.partition("=")[2]:
            yield Unit((number,), pair, span=(place, place + 1), specs=inside)
        at = end + len(separator)


def of_row(
    record: Record, number: int, columns: Sequence[int], table: Table, specs: Sequence[Sequence[int]]
) -> Iterator[Unit]:
    """Cells of a wide row, each under its name, but for the one that names the row. Nothing is made of rows whose
    columns have no names.

    Args:
        columns: those that may have pieces.
        specs: per cell the specifics in it; a cell without is none, unless its row is an exception for it.
    """
    names, key = table.columns, table.key
    if not 0 <= key < min(len(names), len(record.cells)) or not names[key] or not _fits(record.cells[key]):
        return
    for column in columns:
        if column == key or column >= min(len(names), len(record.cells)):
            continue
        name, cell = names[column], record.cells[column]
        if name and _fits(cell) and cell[0] not in "[{" and (specs[column] or is_exception(table, record, column)):
            yield Unit((number,), f"{name}={cell}", span=(column, column + 1), specs=tuple(specs[column]))


def is_exception(table: Table, record: Record, column: int) -> bool:
    """Whether nearly all rows have one and the same value there, and this one another."""
    return record.cells[column] not in ("", table.usual.get(column, record.cells[column]))


def _fits(cell: str) -> bool:
    """Whether a cell can stand in a line with others: what has a line break of its own could pose as one of ours."""
    return 0 < len(cell) <= _LONGEST and not any(one in cell for one in (*SEPARATORS, "\n"))


def fields_of(text: str) -> tuple[str, str, list[str]]:
    """Of an object's line its path with `: `, what parts its fields, and these; none where it is no such line."""
    for start in (0, *(found.end() for found in re.finditer(": ", text[:200]))):
        for one in SEPARATORS:
            pairs = text[start:].split(one)
            if len(pairs) > 1 and all(pair.find("=") > 0 for pair in pairs):
                return text[:start], one, pairs
    return "", "", []


def joined(record: Record, names: Sequence[str], key: int, units: Sequence[Unit]) -> str:
    """The pieces of one record as they are printed, in its order."""
    spans = [unit.span for unit in units if unit.span]
    if record.table >= 0:
        return "|".join([f"{names[key]}={record.cells[key]}", *dict.fromkeys(unit.text for unit in units)])
    path, separator, pairs = fields_of(record.text) if record.kind == "field" else ("", "", [])
    if pairs:
        shown = [pairs[0], *(pairs[place] for place, _ in spans)]
        return path + separator.join(shown if len(shown) == len(pairs) else [*shown, CUT])
    return _joined(record.text, spans)


def _joined(text: str, spans: Sequence[tuple[int, int]]) -> str:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    said = BETWEEN.join(text[start:end] for start, end in merged)
    said = f"{CUT} {said}" if text[: merged[0][0]].strip() else said
    return f"{said} {CUT}" if text[merged[-1][1] :].strip() else said


def _around(text: str, spot: Spot) -> tuple[int, int]:
    """A value with the words that say what it is."""
    first, last = _out(text, spot.start, -1), _out(text, spot.end, 1)
    words = 0
    for found in reversed(list(_WORD.finditer(text, max(0, first - _LONGEST), first))):
        if words == _LABEL or text[:first].rstrip()[-1:] in _ENDS:
            break
        if found.start() and between(text, found.start()):
            first, words = found.start(), words + 1
    while words < _LABEL and text[:last][-1:] not in _ENDS and (found := _WORD.search(text, last)):
        last, words = _out(text, found.end(), 1), words + 1
    return _clause(text, first, last) if text[-1:] in _STOPS else (first, last)


def _clause(text: str, first: int, last: int) -> tuple[int, int]:
    """The clause of a sentence around a piece of it, where that is not long: the piece alone is no English."""
    begins = [found.end() for found in _BREAK.finditer(text, max(0, first - _NEAR), first)]
    begin = begins[-1] if begins else 0 if first <= _NEAR else first
    found = _BREAK.search(text, last, last + _NEAR)
    end = found.start() + 1 if found else len(text) if len(text) - last <= _NEAR else last
    return begin, end


def _out(text: str, at: int, step: int) -> int:
    """The nearest place in a direction at which a text may be cut."""
    for _ in range(_LONGEST):
        if not 0 < at < len(text) or between(text, at) and not (text[at - 1].isalnum() and text[at].isalnum()):
            break
        at += step
    return at
