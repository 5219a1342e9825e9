"""One reducer a route: a stretch of lines becomes candidates, each with how much it tells of what the result was."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .reduce_code import code_gist, diff_gist
from .reduce_logs import history_gists, log_gist, search_gists, templates
from .reduce_runs import test_gist, trace_gists
from .reduce_text import html_lines, listing_gist, prose_gist, table_gist
from .units import Line, Reduced, Route, Unit, mark_numbers

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
_LETTER = re.compile(r"[^\W\d_]{2}")
_FIRST = 0.6
"""The first line of a stretch often says what follows, the last how it ended."""
_LAST = 0.8


def reduce_lines(route: Route, lines: Sequence[Line]) -> Reduced:
    """Candidates of one stretch, in order. Equal lines become one with a count; blank lines none."""
    if route == "html":
        lines = html_lines(lines)
    counts: dict[str, int] = {}
    for line in lines:
        counts[line.text] = counts.get(line.text, 0) + 1
    gists = _IN_CONTEXT[route](lines) if route in _IN_CONTEXT else None
    gist_of = _GISTS.get(route, prose_gist)
    reduced = Reduced()
    for index, line in enumerate(lines):
        times = counts.get(line.text, 0)
        if not times or not (line.marks or _LETTER.search(line.text)):
            continue
        del counts[line.text]
        gist = gists[index] if gists else gist_of(line.text) if _LETTER.search(line.text) else 0.0
        note = f"×{times} the next line" if times > 2 and gist > 0 else ""
        reduced.units.append(Unit(line.text, "quote", mark_numbers(line), gist, note=note))
    if reduced.units:
        reduced.units[0].gist += _FIRST
        reduced.units[-1].gist += _LAST
    if route in ("log", "test", "listing", "history"):
        templates(reduced.units)
    return reduced


__all__ = ["reduce_lines"]
