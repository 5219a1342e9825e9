"""Where columns begin in lines whose words stand below each other."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .grid import is_value

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
