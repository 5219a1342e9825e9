"""Tables that fit the terminal: what is an id, a code or a number stands whole, and the rest yields in a written order.

1. Prose, and lists of ids, get narrower, the last column first: prose ends in `…`, a list in the number that it leaves
   out. None gets narrower than `LEAST` cells.
2. Where that is not enough, whole columns leave, in the order of `LEAVES`; a line below the table names them.
3. What is left is never cut: an id that alone is wider than the terminal goes over its edge.

A column in which nothing stands is not shown. Where nobody looks at a terminal nothing yields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Literal

from ..models.reports import Usage

LEAST = 12
LONGEST = 100
"""Cells of prose in a table that has all the room it wants; `--json` has everything."""
GAP = "  "
BETWEEN = ", "

LEAVES = (
    "begins with", "event", "source", "elsewhere", "form", "task", "such as", "would leave", "place", "host", "created",
    "why", "written", "when", "archives", "queries", "damaged", "pending", "failures", "compacted", "left out",
    "counts as", "text", "what", "tool", "kind", "title", "age", "from",
    "phase", "digest", "tokens",
)  # fmt: skip
"""Names of the columns that leave, the first to go first; any other column stays."""


@dataclass(frozen=True)
class Column:
    """One column: its heading, and what stands in it."""

    name: str
    holds: Literal["code", "number", "prose", "list"] = "code"
    """`list`: codes with a comma between them, of which the last ones yield."""


def laid_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """The lines of a table.

    Args:
        rows: one-line cells.
        width: cells of the terminal; None: as wide as it is.
    """
    cells = [[_held(column, cell) for column, cell in zip(columns, row, strict=True)] for row in rows]
    shown = [at for at in range(len(columns)) if width is None or any(row[at] for row in cells)]
    natural = [
        max([cell_count(column.name), *(cell_count(row[at]) for row in cells)]) for at, column in enumerate(columns)
    ]
    least = [_least(column, natural[at], [row[at] for row in cells]) for at, column in enumerate(columns)]
    gone: list[str] = []
    for name in LEAVES if width is not None else ():
        if _total([least[at] for at in shown]) <= (width or 0):
            break
        if (at := next((at for at in shown if columns[at].name == name), None)) is not None and len(shown) > 1:
            shown.remove(at)
            gone.append(name)
    widths = _narrowed(shown, natural, least, width)
    head = _line([columns[at].name for at in shown], [columns[at] for at in shown], widths)
    lines = [head] if width is None else [head, "─" * min(width, _total(widths))]
    for row in cells:
        fitted = [_fitted(columns[at], row[at], size) for at, size in zip(shown, widths, strict=True)]
        lines.append(_line(fitted, [columns[at] for at in shown], widths))
    if gone:
        lines.append(f"no room for {', '.join(gone)}: a wider terminal or --json has all")
    return lines


def cell_count(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _held(column: Column, cell: str) -> str:
    return cut(cell, LONGEST) if column.holds == "prose" else cell


def _least(column: Column, natural: int, cells: Sequence[str]) -> int:
    if column.holds == "prose":
        return max(cell_count(column.name), min(natural, LEAST))
    if column.holds == "list":
        return max([cell_count(column.name), *(cell_count(_some(cell, 0)) for cell in cells)])
    return natural


def _narrowed(shown: Sequence[int], natural: Sequence[int], least: Sequence[int], width: int | None) -> list[int]:
    widths = [natural[at] for at in shown]
    if width is None:
        return widths
    for place in reversed(range(len(shown))):
        over = _total(widths) - width
        widths[place] = max(least[shown[place]], widths[place] - max(0, over))
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _fitted(column: Column, cell: str, size: int) -> str:
    if cell_count(cell) <= size:
        return cell
    return _some(cell, size) if column.holds == "list" else cut(cell, size)


def _some(cell: str, size: int) -> str:
    """As many of a list as fit, at least one, and how many more there are."""
    parts = cell.split(BETWEEN)
    kept = len(parts)
    while kept > 1 and cell_count(cell) > size:
        kept -= 1
        cell = f"{BETWEEN.join(parts[:kept])} +{len(parts) - kept}"
    return cell


def cut(text: str, size: int) -> str:
    """Prose in so many cells; what is cut off ends in an ellipsis."""
    if cell_count(text) <= size:
        return text
    kept = text[: size - 1]
    while cell_count(kept) > size - 1:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    parts: list[str] = []
    for cell, column, size in zip_longest(cells, columns, widths):
        space = " " * (size - cell_count(cell))
        parts.append(space + cell if column.holds == "number" else cell + space)
    return GAP.join(parts).rstrip()


# Numbers as people read them.


def tokens(value: int | None) -> str:
    """`131,072`, or `unknown`."""
    return "unknown" if value is None else f"{value:,}"


def size(value: int) -> str:
    """`1.4 MB`, in powers of 1,000."""
    if value < 1_000:
        return f"{value} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if value < scale * 1_000 or unit == "GB":
            return f"{value / scale:.1f} {unit}"
    return f"{value} B"


def percent(share: float | None) -> str:
    """`65.5 %`, or `unknown`."""
    return "unknown" if share is None else f"{share * 100:.1f} %"


def age(since: str, now: datetime) -> str:
    """`5 min`, `3 h`, `12 d`: how long ago something was; empty where the stamp is none."""
    try:
        minutes = (now - datetime.fromisoformat(since)).total_seconds() / 60
    except (ValueError, TypeError):
        return ""
    if minutes < 60:
        return f"{max(0, int(minutes))} min"
    return f"{int(minutes / 60)} h" if minutes < 48 * 60 else f"{int(minutes / 1440)} d"


def fill(usage: Usage) -> str:
    """`131,072 of 200,000 tokens (65.5 %)`."""
    share = "" if usage.ratio is None else f" ({percent(usage.ratio)})"
    return f"{tokens(usage.used.value)} of {tokens(usage.effective_window.value)} tokens{share}"


def sources(usage: Usage) -> str:
    """Where both numbers come from."""
    return f"used: {usage.used.source}; window: {usage.effective_window.source}"
