"""Rows and columns as all readers of tables hand them over: which column names a row, which rows differ.

Where columns begin in lines whose words stand below each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..records import Record, Table

_NUMBER = re.compile(
    r"[(\-+\u2212~<>\u2248$\u20ac\u00a3\u00a5#]{0,4}\d[\d.,:/'\s\u00a0\u202f\u2009-]*[A-Za-z%\u00b0\u00b5\u20ac]{0,4}\)?"
)
_TOTALS = frozenset(
    [
        "total",
        "totals",
        "sum",
        "overall",
        "average",
        "avg",
        "mean",
        "gesamt",
        "summe",
        "итого",
        "всего",
        "合計",
        "合计",
        "小計",
    ]
)
_NONE = frozenset(["-", "\u2013", "\u2014", "NaN", "NULL", "None", "null", "n/a", "N/A"])
_STATUS_AT_LEAST = 5
"""Rows below which no value is rare: in three rows each differs."""
_RARE = 0.1
"""Share of the rows up to which a value is rare beside one that most rows have."""


def is_value(cell: str) -> bool:
    """A number, an amount, a date, or a mark for none: what stands in a column, never at its head."""
    return cell in _NONE or _NUMBER.fullmatch(cell) is not None


def tabulate(
    columns: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], *, table: int = 0, under: int = -1
) -> tuple[Table, list[Record]]:
    """The table and the records of its rows.

    Args:
        columns: names as written; empty where the source names none.
        rows: for each the number of its first line, and its cells; short rows are filled up.
        table: number that the table will have in its reading.
        under: number of the heading that the rows stand under.
    """
    width = max([len(columns), *(len(cells) for _, cells in rows)])
    filled = [tuple(cells) + ("",) * (width - len(cells)) for _, cells in rows]
    names = tuple(columns) + ("",) * (width - len(columns)) if columns else ()
    counts = [Counter(cells[n] for cells in filled) for n in range(width)]
    worths = _worths(filled, counts)
    records = [
        Record("|".join(cells), "row", worth, under, table, cells, at)
        for (at, _), cells, worth in zip(rows, filled, worths, strict=True)
    ]
    # What stands first is all that names a row whose columns have no names: those keep their order.
    return Table(names, key=_key(counts, len(rows)) if names else 0), records


def _key(counts: Sequence[Counter[str]], rows: int) -> int:
    """The first column whose values are all there and all different; else the one with the most different ones."""
    different = [len(seen) - ("" in seen) for seen in counts]
    return next((n for n, many in enumerate(different) if many == rows), different.index(max(different, default=0)))


def _worths(rows: Sequence[Sequence[str]], counts: Sequence[Counter[str]]) -> list[float]:
    """More for a row of totals, and for one with a rare value where most rows have the same."""
    worths = [2.0 if row and row[0].strip("*_: ").casefold() in _TOTALS else 1.0 for row in rows]
    if len(rows) < _STATUS_AT_LEAST:
        return worths
    rare = max(1, int(len(rows) * _RARE))
    for n, seen in enumerate(counts):
        usual, times = max(seen.items(), key=lambda item: item[1])
        if 2 * times <= len(rows) or len(seen) == 1 or len(seen) > max(3, len(rows) // 5):
            continue
        for at, row in enumerate(rows):
            if row[n] != usual and seen[row[n]] <= rare:
                worths[at] = max(worths[at], 2.0 if is_value(row[n]) or not row[n] else 3.0)
    return worths


WIDEST = 500
"""Characters of a line in which columns are looked for: no terminal is wider."""
WORD = re.compile(r"\S+")
_FREE = re.compile("0+")


def places(line: str) -> int:
    """One bit a place: a word stands there."""
    used = 0
    for word in WORD.finditer(line[:WIDEST]):
        used |= ((1 << (word.end() - word.start())) - 1) << word.start()
    return used


def column_starts(
    rows: Sequence[str], gaps: Sequence[tuple[int, int]], firm: Sequence[tuple[int, int]], used: int, *, exact: bool
) -> list[int] | None:
    """Where the columns begin: in the widest run of places, within a gap of the head, that no row uses.

    A single blank between two words of the head parts columns only if all rows have something on both sides.
    A single free place inside a wide gap could be a blank of a value: then values follow it, or there is no table.
    """
    found: list[tuple[int, bool, bool]] = []
    widest = 0
    for left, right in gaps:
        bits = format((used >> left) & ((1 << (right - left)) - 1), f"0{right - left}b")[::-1]
        runs = [(run.end() - run.start(), run.start() + left) for run in _FREE.finditer(bits)]
        if runs and ((left, right) in firm or not exact):
            width, begin = runs[-1] if left == 0 else max(runs)
            widest = max(widest, width)
            found.append((begin, (left, right) in firm, width > 1 or begin in (left, right - 1) or left == 0))
    cells = [cut(row, [begin for begin, _, _ in found]) for row in rows]
    if not all(sure or all(is_value(row[n + 1]) for row in cells) for n, (_, _, sure) in enumerate(found)):
        return None
    kept = [begin for n, (begin, wide, _) in enumerate(found) if wide or all(row[n] and row[n + 1] for row in cells)]
    return kept if widest > 1 or gaps[0][0] == 0 else None


def cut(line: str, cuts: Sequence[int]) -> list[str]:
    """The cells of a line."""
    return [line[left:right].strip() for left, right in zip([0, *cuts], [*cuts, None], strict=True)]
