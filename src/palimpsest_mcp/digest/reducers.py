"""One reducer a route: a stretch of lines becomes candidates, each with how much it tells of what the result was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from .long_lines import LONG, shortened
from .reduce_code import code_gist, diff_gist
from .reduce_logs import history_gists, log_gist, search_gists
from .reduce_rows import Family, families
from .reduce_runs import test_gist, trace_gists
from .reduce_text import html_lines, listing_gist, prose_gist, table_gist
from .units import Line, Reduced, Route, Table, Unit, mark_numbers

_GISTS: dict[Route, Callable[[str], float]] = {
    "code": code_gist,
    "diff": diff_gist,
    "html": prose_gist,
    "listing": listing_gist,
    "log": log_gist,
    "prose": prose_gist,
    "table": table_gist,
    "test": test_gist,
}
_IN_CONTEXT: dict[Route, Callable[[Sequence[Line]], list[float]]] = {
    "history": history_gists,
    "search": search_gists,
    "traceback": trace_gists,
}
"""Where what a line tells depends on the lines around it."""
_IN_ROWS: frozenset[Route] = frozenset({"history", "listing", "log", "prose", "table", "test"})
"""Where lines of one skeleton are no accident."""
_ELSEWHERE = Family("", (), (), ())
"""Stands for a line that is a row of a table begun before."""
_LETTER = re.compile(r"[^\W\d_]{2}")
_FIRST = 0.6
"""The first line of a stretch often says what follows, the last how it ended."""
_LAST = 0.8


def reduce_lines(route: Route, lines: Sequence[Line]) -> Reduced:
    """Candidates of one stretch, in order. Equal lines become one with a count; blank lines none; lines of one skeleton
    a table at the place of the first of them; other long lines pieces."""
    tables = _tables(lines) if route in _IN_ROWS else {}
    lines = [
        short
        for line in (html_lines(lines) if route == "html" else lines)
        for short in ((line,) if len(line.text) <= LONG or line.text in tables else shortened(line))
    ]
    counts = Counter(line.text for line in lines)
    gists = _IN_CONTEXT[route](lines) if route in _IN_CONTEXT else None
    gist_of = _GISTS.get(route, prose_gist)
    reduced = Reduced()
    for index, line in enumerate(lines):
        times = counts.pop(line.text, 0)
        family = tables.get(line.text)
        if not times or family is _ELSEWHERE or not (line.marks or _LETTER.search(line.text)):
            continue
        gist = gists[index] if gists else gist_of(line.text) if _LETTER.search(line.text) else 0.0
        if family is not None:
            rows = sum(counts.get(text, 0) for text in family.members[1:]) + times
            reduced.add(_table(family, [gist, *(gist_of(row.line) for row in family.rows)], rows))
            continue
        note = f"×{times} the next line" if times > 2 and gist > 0 else ""
        reduced.units.append(Unit(line.text, "quote", mark_numbers(line), gist, note=note))
    if reduced.units:
        reduced.units[0].gist += _FIRST
        reduced.units[-1].gist += _LAST
    return reduced


def _tables(lines: Sequence[Line]) -> dict[str, Family]:
    """The first line of each table -> the table, its others -> `_ELSEWHERE`."""
    found: dict[str, Family] = {}
    for family in families(list({line.text: line for line in lines}.values())):
        found |= dict.fromkeys(family.members, _ELSEWHERE)
        found[family.members[0]] = family
    return found


def _table(family: Family, gists: Sequence[float], times: int) -> Reduced:
    """Rows below the line that is shown whole, which may also stand alone; `gists` are of that line and of the rows."""
    reduced = Reduced(tables=[Table((family.heading,), family.specs, times)])
    reduced.units.append(Unit("", "row", family.specs, gists[0] + _FIRST, 0))
    for row, gist in zip(family.rows, gists[1:], strict=True):
        reduced.units.append(Unit(row.text, "row", row.specs, gist, 0))
    return reduced


__all__ = ["reduce_lines"]
