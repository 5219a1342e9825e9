"""A value that is shown counts only in its context: beside its key, among the words of its line, or below its column.

*In context*, of a line of a view: the key right before the value in the source stands right before it there;
or three of the six words nearest to it in its source line stand in that line; or the line is a row, and the name above
the value's column is its key or column in the source. Of a source line with fewer words all must be there; a value that
has its source line to itself has no context to lose.

A view may be anybody's. Of our notation, what is said once for many lines is said for each before it is judged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from .scoring import places, specifics

MOST = 50
"""Places of one value that are looked at."""
NEAREST, NEEDED = 6, 3
_REACH = 200
"""Characters around a value in which its words are looked for."""
_WORD = re.compile(r"[^\W_]{2,}")
_KEY = re.compile(r"([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*[\"'(]*$")
_MARKS = ("|", "\t", ",")
_BEHIND = re.compile(r"(.*) … \[([^\s\[\]]+(?: [^\s\[\]]+)*)\]")
_HEAD = re.compile(r"\[([\d,]+) of [\d,]+ ([^\]·]{1,60}?)( as item \d+)?\] ?(.*)")
_SLOT = re.compile(r"<(\d+)>")
_RUN = re.compile(r"(\d+)–(\d+)")
_SEPARATORS = "|¦‖"


class Home(NamedTuple):
    """What stands around a value at one place of a source."""

    names: frozenset[str]
    """Its key, its column."""
    words: tuple[str, ...]
    """The nearest ones."""


class Line(NamedTuple):
    """A line of a view, expanded."""

    text: str
    cells: tuple[tuple[str, str], ...] = ()
    """Of a row: (column, cell)."""


class Homes:
    """Where each of some values stands in some texts."""

    def __init__(self, texts: Iterable[str], values: Collection[str]) -> None:
        self._homes: dict[str, list[Home]] = {}
        for text in texts:
            for line, header in _with_headers(text):
                for value in {one for found in specifics(line).values() for one in found if one in values}:
                    homes = self._homes.setdefault(value, [])
                    homes += [_home(line, header, value, at) for at in places(line, value)][: MOST - len(homes)]

    def fits(self, line: Line, value: str) -> bool:
        """Whether a value stands in its context in a line."""
        homes = self._homes.get(value, ())
        words = set(_WORD.findall(line.text))
        if any(sum(word in words for word in one.words) >= min(NEEDED, len(one.words)) for one in homes):
            return True
        names = {found[1] for at in places(line.text, value) if (found := _KEY.search(line.text[max(0, at - 80) : at]))}
        names |= {column for column, cell in line.cells if next(places(cell, value), -1) >= 0}
        last = {re.split(r"[./]", name)[-1] for name in names if name}
        return any(not last.isdisjoint(one.names) for one in homes)

    def shown(self, lines: Sequence[Line], values: Collection[str]) -> set[str]:
        """Those of the values that stand in their context in one of the lines."""
        found = set[str]()
        for line in lines:
            for own in specifics(line.text).values():
                found |= {value for value in own if value in values and value not in found and self.fits(line, value)}
        return found


def _with_headers(text: str) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """Each line, with the separator and the first line of the table that it may belong to."""
    header: tuple[str, tuple[str, ...]] = ("", ())
    for line in text.split("\n"):
        mark = next((one for one in _MARKS if line.count(one) >= 2), "")
        if not mark or mark != header[0] or line.count(mark) != len(header[1]) - 1:
            header = (mark, tuple(cell.strip(" \"'`*") for cell in line.split(mark)) if mark else ())
            yield line, ("", ())
        else:
            yield line, header


def _home(line: str, header: tuple[str, tuple[str, ...]], value: str, at: int) -> Home:
    end = at + len(value)
    key = _KEY.search(line[max(0, at - 80) : at])
    mark, columns = header
    names = {key[1].split(".")[-1]} if key else set[str]()
    if mark:
        names |= {columns[line.count(mark, 0, at)]} - {""}
    before = [(at - found.end(), found[0]) for found in _WORD.finditer(line, max(0, at - _REACH), at)]
    after = [(found.start() - end, found[0]) for found in _WORD.finditer(line, end, end + _REACH)]
    near = sorted([*before, *after])[:NEAREST]
    return Home(frozenset(names), tuple(word for _, word in near))


def expanded(view: str) -> list[Line]:
    """The lines that a view stands for."""
    lines = view.split("\n")
    found: list[Line] = []
    columns: dict[str, str] = {}
    at = 0
    while at < len(lines):
        head = _HEAD.fullmatch(lines[at])
        # Names behind a line of code are in no line with their words.
        found += map(Line, behind.groups() if (behind := _BEHIND.fullmatch(lines[at])) else [lines[at]])
        at += 1
        if not head:
            continue
        names = columns[head[2]] = columns.get(head[2], "") if head[3] else head[4]
        while at < len(lines) and lines[at].startswith("[") and not _HEAD.fullmatch(lines[at]):
            found.append(Line(lines[at]))
            at += 1
        end = at
        while end < len(lines) and lines[end].startswith(" "):
            end += 1
        found += _rows(names, [line[1:] for line in lines[at:end]], int(head[1].replace(",", "")))
        at = end
    return found


def _rows(head: str, rows: Sequence[str], count: int) -> Iterator[Line]:
    slots = max((int(one) for one in _SLOT.findall(head)), default=0)
    if slots == 1 and len(rows) != count:
        rows = [value for row in rows for one in row.split(" ") for value in _run(one)]
    mark = next((one for one in _SEPARATORS if one in head or (not head or slots) and any(one in r for r in rows)), "")
    columns = head.split(mark) if mark and not slots else [head]
    for row in rows:
        cells = row.split(mark) if mark and slots != 1 else [row]
        if slots and len(cells) == slots:
            for line in _SLOT.sub(lambda slot, own=cells: own[int(slot[1]) - 1], head).split(" ⏎ "):
                yield Line(line)
        elif not slots and len(cells) == len(columns):
            yield Line(row, tuple(zip(columns, cells, strict=True)))
        else:
            yield Line(row)  # a heading inside the block


def _run(value: str) -> Iterator[str]:
    found = _RUN.fullmatch(value)
    if not found:
        yield value
        return
    for number in range(int(found[1]), min(int(found[2]), int(found[1]) + 100_000) + 1):
        yield str(number).zfill(len(found[1]))
