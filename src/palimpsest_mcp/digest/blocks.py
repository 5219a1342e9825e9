"""What can be chosen for a digest: lines as they stand, and rows below the one line that says what they share.

Both encodings expand without loss: the columns of a table and the values that never vary are said once, and so is what
lines have in common that are alike (`templates.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from .notation import CUT, INSIDE, NAMED
from .proof import turns
from .records import MASKED, Reading, Record
from .source_facts import cut_at
from .templates import BREAK, Template

SEPARATORS = "|¦‖"
"""Between cells: the first that none of them holds."""
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
    """Only a piece of the record is shown (`pieces.py`): its characters; of fields and of a row the first number says
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
