"""JSON records as tables: like records share one heading of column names; a lone record is written as `name: value`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .json_records import Record
from .units import Line, Reduced, Table, Unit

_SEPARATOR = " | "
_FIELDS_WIDTH = 140
"""A lone record's fields share a line up to about this many characters."""
_COMMON = 0.5
"""A column stands in the heading when this share of the rows has it; others are written `name=value` in their row."""
_MOSTLY = 0.8
"""A value that this share of the rows has is said once for all, and only the exceptions are written."""


def reduce_records(records: Sequence[Record], titles: dict[str, Line], lines: Sequence[Line], long: int) -> Reduced:
    """Candidates of a JSON text.

    `titles` are the column names read as lines; `lines` the labels and cells in the order of the records, without the
    cells longer than `long` characters or with newlines, which are texts of their own.
    """
    groups: dict[str, list[_Row]] = {}
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
    reduced = Reduced()
    for path, rows in groups.items():
        reduced.add(_table(path, rows, titles) if len(rows) > 1 else _fields(path, rows[0], titles))
    return reduced


class _Row:
    __slots__ = ("cells", "label", "path")

    def __init__(self, record: Record) -> None:
        self.path = record.path
        self.label: Line | None = None
        self.cells: dict[str, Line] = {}


def _marks(*lines: Line) -> tuple[int, ...]:
    return tuple(dict.fromkeys(mark.spec for line in lines for mark in line.marks))


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
    return reduced


def _table(path: str, rows: list[_Row], titles: dict[str, Line]) -> Reduced:
    """Records alike: names once, what nearly all share once, then a row each."""
    counts = Counter(column for row in rows for column in row.cells)
    usual = {column: value for column, value in _usual(rows, counts).items() if counts[column] == len(rows)}
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
    for number, row in enumerate(rows):
        unit = _row(row, columns, usual, titles, labelled)
        unit.gist = 2.5 if number == 0 else 1.0 if number == len(rows) - 1 else 0.5
        if unit.text.strip(" |"):
            reduced.units.append(unit)
    return reduced


def _names(path: str) -> str:
    """The names of a path, without the marks for indexes and for names that are data."""
    return " ".join(name for name in path.split(" ") if name not in ("[]", "{}"))


def _title(path: str, titles: dict[str, Line]) -> list[Line]:
    return [titles[path]] if path in titles else []


def _usual(rows: list[_Row], counts: Counter[str]) -> dict[str, Line]:
    found: dict[str, Line] = {}
    if len(rows) < 4:
        return found
    for column in counts:
        if not column:
            continue
        values = Counter(row.cells[column].text for row in rows if column in row.cells)
        text, times = values.most_common(1)[0]
        if times >= _MOSTLY * len(rows):
            cells = (row.cells[column] for row in rows if column in row.cells)
            found[column] = next(cell for cell in cells if cell.text == text)
    return found


def _row(row: _Row, columns: list[str], usual: dict[str, Line], titles: dict[str, Line], labelled: bool) -> Unit:
    used: list[Line] = []
    texts: list[str] = []
    if labelled:
        texts.append(row.label.text if row.label else "")
        used += [row.label] if row.label else []
    if "" in row.cells:
        texts.append(row.cells[""].text)
        used.append(row.cells[""])
    for column in columns:
        cell = row.cells.get(column)
        texts.append(cell.text if cell else "")
        used += [cell] if cell else []
    for column, cell in row.cells.items():
        if not column or column in columns or (column in usual and usual[column].text == cell.text):
            continue
        texts.append(f"{column}={cell.text}")
        used += [titles[column], cell]
    return Unit(_SEPARATOR.join(texts), "row", _marks(*used), table=0)


__all__ = ["reduce_records"]
