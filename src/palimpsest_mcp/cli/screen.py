"""Writes to stdout: plain, stable lines; on a terminal, bars and tables. Stored text is made plain first."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..models.plain_text import plain, plain_line

if TYPE_CHECKING:
    from rich.console import Console

BAR_CELLS = 40
_CELL = 100
"""Longest cell of a table; whole values are in `--json`."""


def on_terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout.isatty()


def say(*lines: str) -> None:
    """Lines as they are, without what could move a cursor."""
    for line in lines:
        sys.stdout.write(plain(line) + "\n")


def say_json(value: Any) -> None:
    """One line of JSON in ASCII: exact for every string there is, half surrogate pairs included."""
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")


def say_bytes(data: bytes) -> None:
    """Exactly these bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say_fields(pairs: Iterable[tuple[str, str]]) -> None:
    """`name  value` lines; empty values are left out."""
    rows = [(name, plain_line(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        say(f"{name.ljust(width)}  {value}")


def say_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Iterable[int] = ()) -> None:
    """Columns; those in `numbers` stand to the right. Nothing for no rows."""
    if not rows:
        return
    cells = [[plain_line(cell, _CELL) for cell in row] for row in rows]
    right = frozenset(numbers)
    if on_terminal():
        _rich_table(head, cells, right)
        return
    widths = [max(len(row[place]) for row in [list(head), *cells]) for place in range(len(head))]
    for row in [list(head), *cells]:
        parts = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        say("  ".join(parts).rstrip())


def say_bar(name: str, share: float | None, words: str) -> None:
    """How full the window is: a bar on a terminal, else the words alone."""
    if not on_terminal() or share is None:
        say(f"{name}  {words}")
        return
    from rich.text import Text

    filled = round(min(1.0, max(0.0, share)) * BAR_CELLS)
    colour = "red" if share >= 0.9 else "yellow" if share >= 0.7 else "green"
    console().print(
        Text.assemble(f"{name}  ", ("█" * filled, colour), ("░" * (BAR_CELLS - filled), "dim"), f"  {words}")
    )


def console(*, stderr: bool = False) -> Console:
    """A rich console on stdout, or on stderr for progress."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def _rich_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int]) -> None:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)
