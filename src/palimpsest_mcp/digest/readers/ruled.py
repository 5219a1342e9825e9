"""Tables with drawn lines: Markdown, psql, mysql, box characters, and names with a rule of dashes under each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..records import Reading, Record
from .grid import tabulate

_RULE = re.compile(r"[-=+|:\s\u2500-\u257f]+")
_DASHES = re.compile(r"[-=\u2500\u2501\u2550]{2}|:-|-:|\|\s*-\s*\|")
_JOINTS = re.compile(r"[+|\u2502\u2503\u2551\u250c-\u254b\u2552-\u256c\u256d-\u2570]")
_BARS = re.compile(r"(?<!\\)[|\u2502\u2503\u2551]")
_BAR = "|\u2502\u2503\u2551"
_RUN = re.compile(r"[-=]+")
_RUNS = re.compile(r"\s*[-=]{2}[-=\s]*")
_OUTCOME = re.compile(r"\(\d[\d,]* rows?\)|\d[\d,]* rows? in set\b.{0,40}|Empty set\b.{0,40}")
_LEAST = 3
"""Framed lines that are a table without a rule."""


class _Grid(NamedTuple):
    columns: list[str]
    rows: list[tuple[int, list[str]]]
    others: list[Record]
    """Its outcome, and lines inside that have another number of cells."""
    end: int


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line) is not None and _DASHES.search(line) is not None


def _framed(line: str) -> bool:
    text = line.strip()
    return len(text) > 1 and text[0] in _BAR and text[-1] in _BAR


def _cells(line: str) -> list[str]:
    text = line.strip()
    cells = [cell.strip() for cell in _BARS.split(text)]
    if text[:1] in _BAR:
        cells = cells[1:]
    return cells[:-1] if _framed(line) and not text.endswith("\\|") else cells


def _outcome(lines: Sequence[str], at: int) -> list[Record]:
    """The count that a database prints below, directly or after one empty line."""
    for n in (at, at + 1):
        if n < len(lines) and (text := lines[n].strip()):
            return [Record(text, "outcome", 3.0, at=n)] if _OUTCOME.fullmatch(text) else []
    return []


def _barred(lines: Sequence[str], start: int) -> _Grid | None:
    """A table whose cells stand between bars."""
    border = lines[start].strip()
    bordered = _is_rule(border) and " " not in border and _JOINTS.match(border) is not None
    head = start + bordered
    if head >= len(lines) or _BARS.search(lines[head]) is None or _is_rule(lines[head]):
        return None
    if bordered and not _framed(lines[head]):
        return None
    columns = _cells(lines[head])
    below = lines[head + 1] if head + 1 < len(lines) else ""
    ruled = _is_rule(below) and len([part for part in _JOINTS.split(below.strip().strip("|")) if part]) == len(columns)
    alone = len(columns) < 2 and not (bordered or _framed(lines[head]) and "|" in below)
    if alone or (not ruled and not (bordered or _framed(lines[head]))):
        return None
    rows: list[tuple[int, list[str]]] = [] if ruled else [(head, columns)]
    others: list[Record] = []
    at = head + 1
    while at < len(lines):
        line = lines[at]
        cells = _cells(line) if _BARS.search(line) else []
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if cells and not _is_rule(line) and _is_rule(following) and not bordered:
            break  # the head of the next table
        if _is_rule(line) and (_JOINTS.search(line) or at == head + 1):
            pass
        elif len(cells) == len(columns) or (ruled and _framed(line) and len(columns) // 2 < len(cells) < len(columns)):
            rows.append((at, cells))
        elif ruled and rows and _framed(line):
            others.append(Record(line.strip(), at=at))
        else:
            break
        at += 1
    if bordered and not ruled and at - head < 2 or (not ruled and not bordered and len(rows) < _LEAST):
        return None
    tail = _outcome(lines, at)
    if not rows and not tail:
        return None
    return _Grid(columns if ruled else [], rows, others + tail, tail[0].at + 1 if tail else at)


def _underlined(lines: Sequence[str], start: int) -> _Grid | None:
    """A table whose names have dashes under each, which give the columns: pip, sqlite, PowerShell, reStructuredText."""
    opened = _RUNS.fullmatch(lines[start]) is not None and len(lines[start].split()) > 1
    head = start + opened
    if head + 1 >= len(lines) or not lines[head].strip() or _RUNS.fullmatch(lines[head + 1]) is None:
        return None
    places = [run.start() for run in _RUN.finditer(lines[head + 1])]
    columns = _cut(lines[head], places)
    single = len(places) < 2
    if columns is None or not all(columns) or (single and not lines[head].startswith(" ")):
        return None
    rows: list[tuple[int, list[str]]] = []
    at = head + 2
    while at < len(lines) and lines[at].strip() and not _OUTCOME.fullmatch(lines[at].strip()):
        ruled = _RUNS.fullmatch(lines[at]) is not None
        cells = _cut(lines[at], places)
        if (ruled and single) or not (ruled or (cells and (single or any(cells[1:])))):
            break
        if cells and not ruled:
            rows.append((at, cells))
        at += 1
    tail = _outcome(lines, at)
    if not tail and (single or not rows):
        return None
    return _Grid(columns, rows, tail, tail[0].at + 1 if tail else at)


def _cut(line: str, places: Sequence[int]) -> list[str] | None:
    """The pieces of a line that begin at these places; none where a word runs across one."""
    if any(not line[place - 1 : place].isspace() for place in places[1:] if place < len(line)):
        pieces = re.split(r"\s{2,}", line.strip())
        return pieces if len(pieces) == len(places) else None
    ends = [*places[1:], len(line)]
    return [line[0 if n == 0 else place : end].strip() for n, (place, end) in enumerate(zip(places, ends, strict=True))]


def _grid(lines: Sequence[str], start: int) -> _Grid | None:
    return (_barred(lines, start) or _underlined(lines, start)) if lines[start].strip() else None


def claims(lines: Sequence[str], start: int) -> int:
    """The end of the table that begins on this line."""
    grid = _grid(lines, start)
    return grid.end if grid else start


def read(lines: Sequence[str]) -> Reading:
    """Rows in source order, and the count that a database printed below them."""
    grid = _grid(lines, 0)
    if grid is None:
        return Reading([Record(line.strip(), at=n) for n, line in enumerate(lines) if line.strip()])
    table, records = tabulate(grid.columns, grid.rows)
    return Reading(sorted(records + grid.others, key=lambda record: record.at), [table])
