"""What can be chosen for a digest: lines as they stand, and rows below the one line that says what they share.

Both encodings expand without loss: the columns of a table and the values that never vary are said once, and so is what
lines have in common that are alike (`templates.py`).

Pieces of what is too long to be shown whole: a value of a long line with the words that say what it is, one field of
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

import msgspec

from .notation import BETWEEN, CUT, INSIDE, NAMED, SEPARATORS
from .proof import turns
from .records import MASKED, Reading, Record, Table
from .source_facts import between, cut_at
from .templates import BREAK, Template

_LONG = 400
"""Characters from which a line or a cell is cut."""
_CUT_LINE, _CUT_CELL = 240, 160
"""Characters that are left of a line, and of a cell."""
_TRIES = 4
"""Gaps that are tried for a cut: each reads the sentence around it."""
_CONSTANT = 3
"""Rows from which a value that all of them share is said once."""
_POSES = re.compile(
    r"\s|» |…|\[(?:(?:like )?item |names\]|\d[\d,]* of |all |columns |=|[^\]]*restore_batch |summary by "
    r"|\d+ results?\b)"
)
_GAP = re.compile(r"(?<=[\s,;|)\]}>])|(?=\s)")


class Unit(msgspec.Struct, array_like=True):
    """What is chosen at once."""

    records: tuple[int, ...]
    """Those that it shows: one, or the consecutive ones of a row of a template."""
    text: str
    """As it is printed."""
    block: int = -1
    """The block that it is a row of; -1: a line that stands for itself."""
    cut: bool = False
    """Only the beginning of the line is shown."""
    span: tuple[int, int] | None = None
    """Only a piece of the record is shown: its characters; of fields and of a row the first number says
    which of them."""
    of: int = -1
    """Of a piece: the block in which its record is a row."""
    specs: tuple[int, ...] = ()
    """Specifics that it shows, by their numbers in the batch."""
    told: float = 0.0
    """What it tells beside them (`rank.py`); falls with each further one of its block."""
    asked: float = 0.0
    """More, because somebody asked for it."""
    cost: int = 0
    """Tokens of its line; 0: not counted yet."""


class Block(msgspec.Struct, array_like=True):
    """Rows and what stands above them."""

    head: str
    """Columns, or the template; printed behind the count."""
    noun: str
    """`rows`, or `like` for lines that are alike."""
    lines: tuple[str, ...] = ()
    """Printed below it: values that never vary, columns that are left out."""
    total: int = 0
    spread: bool = True
    """A row a line; else the values stand one after another."""
    table: int = -1
    """The table that it shows; -1: lines that are alike."""
    columns: tuple[int, ...] = ()
    """Columns of the table whose values stand in its rows."""
    same: tuple[int, ...] = ()
    """Columns whose one value is said above them."""
    run: bool = False
    """Values that are numbers in order are said as `first–last`."""

    @property
    def shown(self) -> frozenset[int]:
        """Columns of the table whose values are to be seen."""
        return frozenset((*self.columns, *self.same))


def encoded(
    reading: Reading,
    free: Sequence[int],
    templates: Sequence[Template],
    narrow: dict[int, tuple[int, ...]] | None = None,
    *,
    outcome: int = _LONG,
) -> tuple[list[Unit], list[Block]]:
    """Everything that can be chosen, in source order.

    Args:
        free: the records that may be.
        templates: of those of them that are alike.
        outcome: characters that are left of a line that says how it went.
        narrow: table -> its columns that are shown, where not all of them are.
    """
    units: list[Unit] = []
    blocks: list[Block] = []
    rows: dict[int, list[int]] = {}
    for n in free:
        if reading.records[n].table >= 0:
            rows.setdefault(reading.records[n].table, []).append(n)
    for table, members in rows.items():
        _add_table(reading, table, members, (narrow or {}).get(table), units, blocks)
    free = [n for n in free if reading.records[n].table < 0 and reading.records[n].text]
    covered = {n for template in templates for one, _ in template.rows for n in one}
    for template in templates:
        _add_template(template, units, blocks)
    units += [_line(reading.records[n], n, outcome) for n in free if n not in covered]
    return sorted(units, key=lambda unit: unit.records[0]), blocks


def _add_table(
    reading: Reading,
    number: int,
    members: Sequence[int],
    narrow: tuple[int, ...] | None,
    units: list[Unit],
    blocks: list[Block],
) -> None:
    table = reading.tables[number]
    cells = [reading.records[n].cells for n in members]
    width = max(map(len, cells))
    names = (*table.columns, *[""] * (width - len(table.columns)))
    if narrow is None and any("[redacted:" in cell for cell in cells[0]):
        said = [c for c in range(width) if not all(c < len(row) and MASKED.fullmatch(row[c]) for row in cells)]
        narrow = tuple(said) if table.key in said and len(said) < width else None
    shown = list(range(width)) if narrow is None else list(narrow)
    separator = _separator([*names, *(cell for row in cells for cell in row)])
    same = [
        c for c in shown if len(members) >= _CONSTANT and len({row[c] if c < len(row) else "" for row in cells}) == 1
    ]
    same = same if len(same) < len(shown) else same[1:]
    if len(shown) - len(same) < 2 and separator != SEPARATORS[0]:
        same = []  # with one column left, nothing would say which separator it is
    vary = sorted((c for c in shown if c not in same), key=lambda c: (c != table.key, c))
    lines: list[str] = []
    if named := [f"{names[c]}={_cell(cells[0][c])}" for c in same if c < len(cells[0]) and cells[0][c]]:
        lines.append(f"[all {len(members):,} {table.noun}] {separator.join(named)}")
    if narrow is not None and (dropped := [names[c] or f"column {c + 1}" for c in range(width) if c not in shown]):
        more = f" and {len(dropped) - NAMED} more" if len(dropped) > NAMED + 1 else ""
        lines.append(f"[columns left out: {', '.join(dropped[:NAMED] if more else dropped)}{more}]")
    head = separator.join(names[c] for c in vary) if any(names[c] for c in vary) else ""
    blocks.append(
        Block(head, table.noun, tuple(lines), len(members), table=number, columns=tuple(vary), same=tuple(same))
    )
    for n, row in zip(members, cells, strict=True):
        text = separator.join(_cell(row[c]) if c < len(row) else "" for c in vary)
        units.append(Unit((n,), text, len(blocks) - 1, cut=any(len(cell) > _LONG for cell in row)))


def _add_template(template: Template, units: list[Unit], blocks: list[Block]) -> None:
    values = [value for _, row in template.rows for value in row]
    separator = _separator([template.text, *values]) if len(template.rows[0][1]) > 1 else ""
    lone = not separator and not any(" " in value for value in values)
    blocks.append(Block(template.text, "like", (), len(template.rows), spread=not lone, run=template.run))
    units += [Unit(covered, separator.join(row), len(blocks) - 1) for covered, row in template.rows]


def _separator(cells: Sequence[str]) -> str:
    return next((one for one in SEPARATORS if not any(one in cell for cell in cells)), SEPARATORS[-1])


def _cell(text: str) -> str:
    text = text.replace("\n", BREAK)
    return text if len(text) <= _LONG else f"{_piece(text, _CUT_CELL)} {CUT}"


def _line(record: Record, number: int, outcome: int) -> Unit:
    text = record.text
    most, kept = (outcome, outcome) if record.kind == "outcome" else (_LONG, _CUT_LINE)
    if len(text) <= most or record.kind == "claim":
        return Unit((number,), text)
    return Unit((number,), f"{_piece(text, kept)} {CUT}", cut=True)


def _piece(text: str, width: int) -> str:
    """The beginning of a text, up to a gap between words; to one where nothing that denies is cut, if there is one."""
    ends = [gap.start() for gap in _GAP.finditer(text, 0, width) if gap.start()]
    pieces = (text[:end].rstrip() for end in ends[: -_TRIES - 1 : -1])
    return next((one for one in pieces if not turns(cut_at(text, len(one)))), text[: ends[-1]].rstrip() if ends else "")


def escaped(text: str) -> str:
    """A line of a source, marked as data where it could be taken for one of ours."""
    return f"» {text}" if _POSES.match(text) or INSIDE.fullmatch(text) else text


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
