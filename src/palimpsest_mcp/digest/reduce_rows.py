"""Lines of one skeleton as a table: the first one whole, of the others only what differs, in the same order.

    Requirement already satisfied: click>=8.0 in /usr/lib/site-packages (from …) (8.4.2)
    httpx>=0.27.0 | 0.27.2
    pyyaml>=6.0 | 6.0.3

What stands in all of them is said once. A cell is a stretch of its line as it is written, cut only where the registry
parts words too, never inside a specific; cells that were apart in the line stand apart behind ` | `. A column that is
left out of the rows is left out of the first line too: `…` stands there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import eq
from typing import NamedTuple

from .long_lines import CUT
from .units import Line, Mark

_LEAST = 3
"""Lines of one skeleton from which they are a table."""
_ALIKE = 0.5
"""Share of its words, at least, that a line has in common, place by place, with those it belongs to; what holds a digit
is alike."""
_NEAR = 12
"""Skeletons of as many words that a line is compared with, those of most lines; so the time stays linear, whatever the
lines are."""
_WORDS, _CHARACTERS = 60, 1000
"""A line of more is no row."""
_SAID_ONCE = 0.2
"""Share of the characters of the rows that must be the same in all: else the lines stay as they are."""
_COLUMNS = 0.6
"""From this share of lines with as many columns (two spaces or a tab apart) on, columns are what a row is made of."""
_UNIFORM = 0.8
"""From this share of lines with as many words on, words are."""
_MANY = 12
"""Rows from which a column that says nothing more is left out."""
_LONG, _MOST_OF_ROW = 10, 0.4
"""Characters of a cell, on average, and share of the rows' characters from which leaving a column out is worth it."""
_FRESH = 0.15
"""Share of its own characters that the words take that only it holds: where it is less, a column says little."""
_PROSE = 3
"""Words of a cell, on average, that make it prose."""
_VALUE = re.compile(r"(?<!\S)[^\s0-9]*[0-9]\S*")
_GUTTER = re.compile(r" *[0-9]+[\t\u2192]")
_FIELD = re.compile(r"\S+")
_COLUMN = re.compile(r"\S+(?: \S+)*")
_WIDE_GAP = re.compile(r"\S(?: {2,}| *\t\s*)\S")
_OPENS = re.compile(r"(?:[^\s(\[{<\"'`]*[=,;|])?[(\[{<\"'`]*")
_OPENER = {")": "(", "]": "[", "}": "{", ">": "<", '"': '"', "'": "'", "`": "`"}
_AFTER = ",;:"
_WORD = re.compile(r"[A-Za-z]{3,}")
_PART = re.compile(r"\w(?:[\w.:/@+~-]*\w)?")
_POSES = re.compile(r"[$\u276f] |[a-z][\w-]*: .*\w=")
"""What would be read as a command, or as a line of the ledger, where a key holds for all up to the next bar."""
_SEPARATOR = " | "

Span = tuple[int, int]


class Row(NamedTuple):
    """What one line adds to its table."""

    line: str
    """What it stands for, whole."""
    text: str
    specs: tuple[int, ...]


class Family(NamedTuple):
    """Lines of one skeleton."""

    heading: str
    specs: tuple[int, ...]
    """Of the heading."""
    members: tuple[str, ...]
    """The lines it stands for, in order, the first one too."""
    rows: tuple[Row, ...]
    """In order; lines that differ in nothing shown share a row."""


@dataclass(slots=True)
class _Skeleton:
    """Lines that are alike, and what they have in common."""

    words: list[str]
    """Place by place, with `0` for what holds a digit; empty where they differ."""
    lines: list[Line]


def families(lines: Sequence[Line]) -> list[Family]:
    """Tables among lines that all differ. Linear in their number, whatever they are; in order of the first line."""
    by_columns = _are_columns(lines)
    found = (_family(skeleton.lines, by_columns) for skeleton in _skeletons(lines, by_columns))
    return [family for family in found if family]


def _are_columns(lines: Sequence[Line]) -> bool:
    """Whether rows are better told by columns, whose cells may hold any number of words, than by words."""
    filled = [line.text for line in lines if line.text.strip()]
    if sum(_WIDE_GAP.search(text) is not None for text in filled) < max(_COLUMNS * len(filled), _LEAST):
        return False
    if Counter(len(text.split()) for text in filled).most_common(1)[0][1] >= _UNIFORM * len(filled):
        return False
    columns, times = Counter(len(_COLUMN.findall(text)) for text in filled).most_common(1)[0]
    return columns > 2 and times >= _COLUMNS * len(filled)


def _skeletons(lines: Sequence[Line], by_columns: bool) -> list[_Skeleton]:
    """Lines by what they have in common: each belongs to the one it is most like, of those of as many words."""
    by_length: dict[int, list[_Skeleton]] = {}
    every: list[_Skeleton] = []
    for line in lines:
        text = _VALUE.sub("0", line.text) if len(line.text) <= _CHARACTERS else ""
        words = _COLUMN.findall(text) if by_columns else text.split()
        if not 1 < len(words) <= _WORDS:
            continue
        near = by_length.setdefault(len(words), [])
        best: _Skeleton | None = None
        most = 0
        for skeleton in near:
            alike = sum(map(eq, words, skeleton.words))
            if alike > most and (by_columns or 2 * alike > len(words) or _share_a_word(words, skeleton.words)):
                best, most = skeleton, alike
        if best is None or not by_columns and most < _ALIKE * len(words):
            best = _Skeleton(words, [line])
            every.append(best)
            near.append(best)
            if len(near) > _NEAR:
                near.remove(min(near, key=lambda one: len(one.lines)))
            continue
        best.lines.append(line)
        if most < len(words):
            best.words = [a if a == b else "" for a, b in zip(best.words, words, strict=True)]
    return every


def _share_a_word(words: Sequence[str], others: Sequence[str]) -> bool:
    return any(one == other != "0" for one, other in zip(words, others, strict=True))


def _family(lines: Sequence[Line], by_columns: bool) -> Family | None:
    """The table of lines with as many words; None where it would not be much shorter than they are."""
    if len(lines) < _LEAST or _GUTTER.match(lines[0].text):
        return None
    pattern = _COLUMN if by_columns else _FIELD
    places = list(zip(*([found.span() for found in pattern.finditer(line.text)] for line in lines), strict=True))
    differing = [spans for spans in places if len(set(_cells(lines, spans))) > 1]
    if not 0 < len(differing) < len(places):
        return None
    columns = _apart(list(map(_whole, lines, _trimmed(lines, spans))) for spans in differing)
    left_out = _dispensable([_cells(lines, spans) for spans in columns])
    kept = [spans for n, spans in enumerate(columns) if n not in left_out]
    if 2 * _wordless([_cells(lines, spans) for spans in kept]) > len(lines):
        kept += [list(map(_whole, lines, spans)) for spans in _words_beside(lines, places, differing)]
    rows: dict[str, Row] = {}
    saved = 0
    for nth, line in enumerate(lines[1:], 1):
        row = _row(line, [spans[nth] for spans in kept])
        saved += len(line.text) - len(row.text)
        rows.setdefault(row.text, row)
    if saved < _SAID_ONCE * sum(len(line.text) for line in lines[1:]) or any(map(_POSES.match, rows)):
        return None
    heading, specs = _cut_out(lines[0], [columns[n][0] for n in left_out])
    return Family(heading, specs, tuple(line.text for line in lines), tuple(rows.values()))


def _cells(lines: Sequence[Line], spans: Sequence[Span]) -> list[str]:
    return [line.text[start:end] for line, (start, end) in zip(lines, spans, strict=True)]


def _trimmed(lines: Sequence[Line], spans: Sequence[Span]) -> Sequence[Span]:
    """A column without the brackets, quotes and `key=` that all its cells have: `(8.4.2)` is `8.4.2`."""
    cells = _cells(lines, spans)
    opening = _OPENS.match(_common_start(cells))
    before = opening.end() if opening else 0  # it matches nothing too
    after = 0
    for char in _common_start([cell[::-1] for cell in cells]):
        if char not in _AFTER and not all(_closes_nothing(cell[before : len(cell) - after], char) for cell in cells):
            break
        after += 1
    if before + after >= min(map(len, cells)):
        return spans
    return [(start + before, end - after) for start, end in spans]


def _common_start(texts: Sequence[str]) -> str:
    low, high = min(texts), max(texts)
    for at, char in enumerate(low):
        if char != high[at]:
            return low[:at]
    return low


def _closes_nothing(cell: str, closer: str) -> bool:
    """Whether a bracket or quote at the end of a cell was opened outside of it."""
    opener = _OPENER.get(closer)
    if opener is None:
        return False
    return cell.count(closer) % 2 == 1 if opener == closer else cell.count(closer) > cell.count(opener)


def _whole(line: Line, span: Span) -> Span:
    """The span, grown to hold every specific that it cuts."""
    start, end = span
    for mark in line.marks:
        if mark.start >= end:
            break
        if mark.end > start:
            start, end = min(start, mark.start), max(end, mark.end)
    return start, end


def _apart(columns: Iterable[list[Span]]) -> list[list[Span]]:
    """Columns that parts of one specific stand in are one: a day, a time and a zone."""
    found: list[list[Span]] = []
    for spans in columns:
        if found and all(mine[0] < before[1] for mine, before in zip(spans, found[-1], strict=True)):
            found[-1] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(found[-1], spans, strict=True)]
        else:
            found.append(spans)
    return found


def _dispensable(columns: Sequence[Sequence[str]]) -> list[int]:
    """Of a long table, the columns that take much and add little: values that stand in others too, or come again and
    again, and prose."""
    if len(columns) < 2 or len(columns[0]) < _MANY:
        return []
    words = [{word for cell in column for word in _PART.findall(cell)} for column in columns]
    sizes = [sum(map(len, column)) for column in columns]
    found: list[int] = []
    for number, column in enumerate(columns):
        rest = [n for n in range(len(columns)) if n != number and n not in found]
        if sizes[number] < max(_LONG * len(column), _MOST_OF_ROW * sum(sizes[n] for n in (number, *rest))):
            continue
        fresh = words[number].difference(*(words[n] for n in rest))
        says_little = sum(map(len, fresh)) < _FRESH * sizes[number]
        is_prose = sum(cell.count(" ") for cell in column) >= (_PROSE - 1) * len(column)
        if (says_little or is_prose) and 2 * _wordless([columns[n] for n in rest]) < len(column):
            found.append(number)
    return found


def _wordless(columns: Sequence[Sequence[str]]) -> int:
    """How many rows of these columns hold no word."""
    return sum(not any(map(_WORD.search, row)) for row in zip(*columns, strict=True))


def _words_beside(
    lines: Sequence[Line], places: Sequence[Sequence[Span]], differing: Sequence[Sequence[Span]]
) -> list[Sequence[Span]]:
    """For rows that would be values alone: their keys, else the last of the words that all lines share."""
    if 2 * _wordless([_cells(lines, spans) for spans in differing]) <= len(lines):
        return list(differing)
    shared = [spans for spans in places if spans not in differing and _WORD.search(lines[0].text, *spans[0])]
    return shared[-1:]


def _row(line: Line, spans: Sequence[Span]) -> Row:
    """The cells of one line, in order: as one where they touch, overlap, or only a single space parts them."""
    text = line.text
    cells: list[Span] = []
    for start, end in sorted(spans):
        if cells and (start <= cells[-1][1] or text[cells[-1][1] : start] == " "):
            cells[-1] = (cells[-1][0], max(end, cells[-1][1]))
        else:
            cells.append((start, end))
    specs = dict.fromkeys(mark.spec for cell in cells for mark in _inside(line, cell))
    return Row(text, _SEPARATOR.join(text[start:end] for start, end in cells), tuple(specs))


def _cut_out(line: Line, spans: Sequence[Span]) -> tuple[str, tuple[int, ...]]:
    """A line with a mark in place of what is cut out, and the specifics that are left in it."""
    text = line.text
    for start, end in reversed(spans):
        text = f"{text[:start]}{CUT}{text[end:]}"
    cut = {mark for span in spans for mark in _inside(line, span)}
    return text.strip(), tuple(dict.fromkeys(mark.spec for mark in line.marks if mark not in cut))


def _inside(line: Line, span: Span) -> list[Mark]:
    start, end = span
    return [mark for mark in line.marks if mark.start >= start and mark.end <= end]


__all__ = ["Family", "Row", "families"]
