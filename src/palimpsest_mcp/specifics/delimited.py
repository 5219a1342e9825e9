"""Comma-delimited text, told by its lines: its separators become tabs, so that two fields are never one number (D2).

A view of the same length. Only runs of records with the same number of fields are read so, only where a comma stands
between two digits (elsewhere nothing could be joined), and only where something says that commas part fields here:
names above, or a comma in every record that no number could hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SUSPECT = re.compile(r"[0-9],[-+$\u20ac\u00a3(]?[0-9]")
_TAIL, _HEAD = re.compile(r"[0-9][0-9.]*$"), re.compile(r"[0-9][0-9.]*(?<!\.)")
_NUMBER = re.compile(
    r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]{1,3}(?:,[0-9]{2}){1,3},[0-9]{3}(?:\.[0-9]+)?|[0-9]+,[0-9]+"
    r"|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+"
)
"""With commas between groups, or before the decimals."""
_TUPLES = re.compile(r"(?:\([^()\n]{1,400}\), ?)+\([^()\n]{1,400}\)")
_IN_TUPLE = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\), ?\(|(,)")
_NUMERIC = re.compile(r"\s*[-+(]?[$\u20ac\u00a3]?[0-9][0-9.]*[%)]?\s*")
_NAME = re.compile(r"\s*\"?[^\W\d][^\",;:={}\n]{0,60}\"?\s*")
_LONGEST: Final = 20_000
"""Characters of a record; a longer one is no row."""
_MOST_LINES: Final = 40
"""Of one record whose quoted field holds line breaks."""


def fields_apart(text: str) -> str:
    """The text with tabs for the commas that part its fields; the same object where there are none such."""
    found = _SUSPECT.search(text)
    if found is None:
        return text
    if "),(" in text or "), (" in text:
        text = _TUPLES.sub(_tuples_apart, text)
    places: list[int] = []
    done = 0
    while found is not None:
        run = _run_around(text, found.start(), done)
        done = run.end
        if run.rows:
            for row in run.rows:
                places += row.commas
        found = _SUSPECT.search(text, max(done, found.end()))
    if not places:
        return text
    chars = list(text)
    for place in places:
        chars[place] = "\t"
    return "".join(chars)


def _tuples_apart(found: re.Match[str]) -> str:
    if not _SUSPECT.search(found[0]):
        return found[0]
    return _IN_TUPLE.sub(lambda one: "\t" if one[1] else one[0], found[0])


class _Row:
    """One record: where it lies, and the commas outside of its quotes and brackets."""

    __slots__ = ("commas", "end", "fields", "start", "wrapped")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        line = text[start:end]
        inner, shift = _unwrapped(line)
        self.wrapped = inner is not line
        self.commas = [start + shift + at for at in _commas(inner)]
        edges = [start + shift - 1, *self.commas, start + shift + len(inner)]
        self.fields = [text[a + 1 : b] for a, b in zip(edges, edges[1:], strict=False)]


class _Run:
    __slots__ = ("end", "rows")

    def __init__(self, end: int, rows: list[_Row]) -> None:
        self.end, self.rows = end, rows


def _run_around(text: str, place: int, done: int) -> _Run:
    """The run of records around a place, from `done` on; without rows where it is none."""
    start = max(done, text.rfind("\n", done, place) + 1)
    first = _Row(text, start, _end_of(text, start))
    rows = [first]
    if not _may_be_row(first):
        return _Run(first.end + 1, [])
    at = start
    while at > done:  # upwards: quoted line breaks end the run there
        above = text.rfind("\n", done, at - 1) + 1 if at - 1 > done else done
        row = _Row(text, max(above, done), at - 1)
        if not _alike(row, first):
            break
        rows.insert(0, row)
        at = row.start
    at = first.end + 1
    while at < len(text):
        row = _Row(text, at, _end_of(text, at))
        if not _alike(row, first):
            break
        rows.append(row)
        at = row.end + 1
    return _Run(at, rows if _is_delimited(rows) else [])


def _end_of(text: str, start: int) -> int:
    """Where a record ends that begins here: quoted fields may hold line breaks."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    quotes = text.count('"', start, end)
    first = end
    for _ in range(_MOST_LINES):
        if quotes % 2 == 0 or end >= len(text):
            break
        more = text.find("\n", end + 1)
        more = len(text) if more < 0 else more
        quotes += text.count('"', end + 1, more)
        end = more
    return end if quotes % 2 == 0 and end - start <= _LONGEST else first


def _may_be_row(row: _Row) -> bool:
    return bool(row.commas) and row.end - row.start <= _LONGEST


def _alike(row: _Row, first: _Row) -> bool:
    return len(row.commas) == len(first.commas) and row.wrapped == first.wrapped and _may_be_row(row)


def _is_delimited(rows: list[_Row]) -> bool:
    if len(rows) < 2 or any(field[:1] == " " for row in rows for field in row.fields[1:]):
        return False
    if all(not row.fields[-1].strip() for row in rows) and len(rows[0].commas) == 1:
        return False  # lines that end in a comma
    if rows[0].wrapped:
        return True
    if any(all(any(mark in field for field in row.fields) for row in rows) for mark in ";\t|"):
        return False  # they part the fields
    if all(_NAME.fullmatch(field) for field in rows[0].fields):
        return True
    sure = [_has_sure_comma(row) for row in rows]
    if all(sure):
        return True
    return any(sure) and all(_NUMERIC.fullmatch(field) for row in rows for field in row.fields)


def _has_sure_comma(row: _Row) -> bool:
    """Whether some comma of a record stands in no number, however numbers are written."""
    return any(not _may_join(left, right) for left, right in zip(row.fields, row.fields[1:], strict=False))


def _may_join(left: str, right: str) -> bool:
    ends, begins = _TAIL.search(left), _HEAD.match(right)
    if ends is None or begins is None:
        return False
    before = left[ends.start() - 1 : ends.start()]
    if before and before in "-_/" and left[ends.start() - 2 : ends.start() - 1].isalnum():
        return False
    return not (before.isascii() and before.isalpha()) and _NUMBER.fullmatch(f"{ends[0]},{begins[0]}") is not None


def _unwrapped(line: str) -> tuple[str, int]:
    """What stands between the brackets of a tuple that is a line with a comma behind it, and where that begins."""
    bare = line.rstrip()
    if bare[-1:] in ",;" and bare[:-1].rstrip().endswith(")") and line.lstrip().startswith("("):
        start = line.index("(") + 1
        return line[start : bare.rindex(")")], start
    return line, 0


def _commas(line: str) -> Iterator[int]:
    if '"' not in line and "(" not in line and "[" not in line and "{" not in line:
        at = line.find(",")
        while at >= 0:
            yield at
            at = line.find(",", at + 1)
        return
    balanced = all(line.count(a) == line.count(b) for a, b in ("()", "[]", "{}"))
    quoted, depth = False, 0
    for at, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif balanced and char in "([{":
            depth += 1
        elif balanced and char in ")]}":
            depth -= 1
        elif char == "," and depth <= 0:
            yield at


__all__ = ["fields_apart"]
