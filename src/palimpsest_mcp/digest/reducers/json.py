"""JSON records as tables: like records share one heading of column names; a lone record is written as `name: value`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..ledger_lines import speaks
from ..lines import Line, Reduced, Table, Unit
from .json_records import Record

_SEPARATOR = " | "
_FIELDS_WIDTH = 140
"""A lone record's fields share a line up to about this many characters."""
_COMMON = 0.5
"""A column stands in the heading when this share of the rows has it; others are written `name=value` in their row."""
_MOSTLY = 0.8
"""A value that this share of the rows has is said once for all, and only the exceptions are written."""
_FIRST_ROW, _ROW_OF_FEW, _ROW = 3.0, 2.0, 0.5
_FEW = 30
"""Records that a reader would go through one by one: what was found, rather than a data set."""
_WIDE, _LEAVES = 0.3, 0.3
_NAMED_WIDTH = 70
"""Characters of what names a record, about; a record twice as wide is told by that alone first."""
_NAMING = (
    *("title", "name", "id", "key", "label", "subject", "error", "status", "state", "version", "message", "result"),
    *("path", "file", "filename", "number", "type", "date", "summary"),
)
"""Last words of the columns that say which record it is and what came of it, the most telling first."""


def reduce_records(
    records: Sequence[Record], titles: dict[str, Line], lines: Sequence[Line], long: int
) -> tuple[Reduced, list[Told]]:
    """Candidates of a JSON text, and for each record what tells which it is.

    `titles` are the column names read as lines; `lines` the labels and cells in the order of the records, without the
    cells longer than `long` characters or with newlines, which are texts of their own.
    """
    groups: dict[str, list[_Row]] = {}
    every: list[_Row] = []
    at = 0
    for record in records:
        row = _Row(record)
        if record.label:
            row.label = lines[at]
            at += 1
        for cell in record.cells:
            if len(cell.text) <= long and "\n" not in cell.text:
                row.cells[cell.column] = lines[at]
                at += 1
        groups.setdefault(record.path, []).append(row)
        every.append(row)
    reduced = Reduced()
    for path, rows in groups.items():
        reduced.add(_table(path, rows, titles) if len(rows) > 1 else _fields(path, rows[0], titles))
    return reduced, [Told(row.unit, len(groups[row.record.path])) for row in every]


class Told(NamedTuple):
    """What tells which record it is."""

    unit: Unit | None
    """Its name, its row, or the last of its fields; None where it has only long texts."""
    among: int
    """Records like it, itself included."""


@dataclass(slots=True)
class _Row:
    record: Record
    cells: dict[str, Line] = field(default_factory=dict[str, Line])
    label: Line | None = None
    unit: Unit | None = None


def _marks(*lines: Line) -> tuple[int, ...]:
    return tuple(dict.fromkeys([mark.spec for line in lines for mark in line.marks]))


def _fields(path: str, row: _Row, titles: dict[str, Line]) -> Reduced:
    """One record: several short fields a line."""
    reduced = Reduced()
    label = [row.label] if row.label is not None else []
    heading = " ".join(part for part in (_names(path), *(line.text for line in label)) if part)
    if heading:
        reduced.tables.append(Table((f"{heading}:",), _marks(*label, *_title(path, titles)), 0))
    table = 0 if heading else -1
    texts: list[str] = []
    parts: list[Line] = []
    for column, cell in row.cells.items():
        text = f"{column}: {cell.text}" if column else cell.text
        if texts and sum(map(len, texts)) + len(text) > _FIELDS_WIDTH:
            reduced.units.append(Unit(_SEPARATOR.join(texts), "row", _marks(*parts), 1.5, table))
            texts, parts = [], []
        texts.append(text)
        parts += [titles[column], cell] if column else [cell]
    if texts:
        reduced.units.append(Unit(_SEPARATOR.join(texts), "row", _marks(*parts), 1.5, table))
        row.unit = reduced.units[-1]
    return reduced


def _table(path: str, rows: list[_Row], titles: dict[str, Line]) -> Reduced:
    """Records alike: names once, what nearly all share once, then a row each."""
    counts = Counter(column for row in rows for column in row.cells)
    usual = _usual(rows, [column for column, times in counts.items() if column and times == len(rows)])
    columns = [c for c, n in counts.items() if c and c not in usual and n >= _COMMON * len(rows)]
    labelled = any(row.label is not None for row in rows)
    head = _SEPARATOR.join((["(name)"] if labelled else []) + columns)
    heading = [head] if head else []
    shared: list[Line] = [titles[c] for c in columns]
    if usual:
        heading.append("unless said: " + _SEPARATOR.join(f"{c}={cell.text}" for c, cell in usual.items()))
        shared += [line for c, cell in usual.items() for line in (titles[c], cell)]
    if _names(path) and heading:
        heading[0] = f"{_names(path)}: {heading[0]}"
        shared += _title(path, titles)
    reduced = Reduced(tables=[Table(tuple(heading), _marks(*shared), len(rows))])
    named = _named(path, rows, columns, titles)
    first, other = (_WIDE, _WIDE) if named.units else (_FIRST_ROW, _ROW_OF_FEW if len(rows) <= _FEW else _ROW)
    if not columns and not labelled:
        first, other = _LEAVES, min(other, _LEAVES)
    last_words = {column: column.rpartition(" ")[2] for column in columns}
    for number, row in enumerate(rows):
        unit = _row(row, last_words, usual, titles, labelled)
        unit.gist = first if number == 0 else other
        if unit.text.strip(" |"):
            reduced.units.append(unit)
            row.unit = row.unit or unit
    named.add(reduced)
    return named


def _named(path: str, rows: list[_Row], columns: list[str], titles: dict[str, Line]) -> Reduced:
    """Records too wide to be shown by the dozen, by what names them alone: a title, a version, what came of it."""
    chosen: list[str] = []
    width = 0.0
    for name in _NAMING:
        for column in columns:
            if column.rpartition(" ")[2].lower() == name and column not in chosen:
                wide = sum(len(row.cells[column].text) for row in rows if column in row.cells) / len(rows)
                if width + wide <= _NAMED_WIDTH:
                    chosen.append(column)
                    width += wide
    every = sum(sum(len(cell.text) + len(_SEPARATOR) for cell in row.cells.values()) for row in rows) / len(rows)
    if every < 2 * _NAMED_WIDTH or not (chosen or rows[0].label):
        return Reduced()
    columns = [column for column in columns if column in chosen]
    labelled = any(row.label is not None for row in rows)
    head = _SEPARATOR.join((["(name)"] if labelled else []) + columns)
    shared = [titles[column] for column in columns]
    if _names(path):
        head = f"{_names(path)}: {head}"
        shared += _title(path, titles)
    found = Reduced(tables=[Table((head,), _marks(*shared), len(rows))])
    for number, row in enumerate(rows):
        unit = _names_of(row, columns)
        unit.gist = _FIRST_ROW if number == 0 else _ROW_OF_FEW if len(rows) <= _FEW else _ROW
        if unit.text.strip(" |"):
            found.units.append(unit)
            row.unit = unit
    return found


def _names_of(row: _Row, columns: list[str]) -> Unit:
    """`urllib3 | version=2.7.0`: what holds a specific stands with its key."""
    used = [row.label] if row.label else []
    texts = [row.label.text] if row.label else []
    for column in columns:
        cell = row.cells.get(column)
        if cell:
            texts.append(f"{column.rpartition(' ')[2]}={cell.text}" if cell.marks and cell.text else cell.text)
            used.append(cell)
    return Unit(_SEPARATOR.join(texts), "row", _marks(*used), table=0)


def _names(path: str) -> str:
    """The names of a path, without the marks for indexes and for names that are data."""
    return " ".join(name for name in path.split(" ") if name not in ("[]", "{}"))


def _title(path: str, titles: dict[str, Line]) -> list[Line]:
    return [titles[path]] if path in titles else []


def _usual(rows: list[_Row], columns: Sequence[str]) -> dict[str, Line]:
    """Of columns that all rows have: the value that nearly all have there."""
    found: dict[str, Line] = {}
    for column in columns if len(rows) >= 4 else ():
        values = [row.cells[column].text for row in rows]
        text, times = Counter(values).most_common(1)[0]
        if times >= _MOSTLY * len(rows):
            found[column] = rows[values.index(text)].cells[column]
    return found


def _row(
    row: _Row, columns: Mapping[str, str], usual: Mapping[str, Line], titles: Mapping[str, Line], labelled: bool
) -> Unit:
    """`columns`: those of the heading, and the last word of each."""
    used: list[Line] = []
    texts: list[str] = []
    named: dict[int, str] = {}
    if labelled:
        texts.append(row.label.text if row.label else "")
        used += [row.label] if row.label else []
    if "" in row.cells:
        texts.append(row.cells[""].text)
        used.append(row.cells[""])
    for column, word in columns.items():
        cell = row.cells.get(column)
        if cell is None:
            texts.append("")
            continue
        if _is_bare_value(cell):
            named[len(texts)] = f"{word}={cell.text}"
        texts.append(cell.text)
        used.append(cell)
    for column, cell in row.cells.items():
        if not column or column in columns or (column in usual and usual[column].text == cell.text):
            continue
        texts.append(f"{column}={cell.text}")
        used += [titles[column], cell]
    spelled = _SEPARATOR.join(named.get(n, text) for n, text in enumerate(texts)) if named else ""
    return Unit(_SEPARATOR.join(texts), "row", _marks(*used), table=0, spelled=spelled)


def _is_bare_value(cell: Line) -> bool:
    """Whether a cell is nothing but a value that says nothing alone."""
    mark = cell.marks[0] if len(cell.marks) == 1 else None
    return mark is not None and (mark.start, mark.end) == (0, len(cell.text)) and not speaks(cell.text)
