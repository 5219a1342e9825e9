"""The one table: every figure that has a goal, beside the floors of the same run and what others showed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .billing import NONE, Bill, break_even
from .later_use import BUDGETS, ONE, THREE

PLANTED = {
    ("100k", 70): 99,
    ("100k", 80): 95,
    ("1000k", 70): 99,
    ("1000k", 80): 97,
    ("1000k", 90): 90,
    ("rows", 60): 99,
    ("rows", 70): 95,
}
NATURAL = {("1000k", 70): 95, ("1000k", 80): 88, ("1000k", 90): 65}
BEST_PEER = {"100k": "18 at ≥ 70", "1000k": "11 at ≥ 70", "rows": "11 at ≥ 70"}
"""Published in the peers' report, on other sessions of the same kind."""
_FLOORS = ("clear", "random lines", "head+tail")


def rows(found: dict[str, Any]) -> list[list[str]]:
    """Figure, goal, ours, three floors, others; only what was measured in this run."""
    made: list[list[str]] = []
    for name, rows_of in _PARTS.items():
        if name in found:
            made += rows_of(found[name])
    return made


def _planted(points: dict[str, dict[int, Any]]) -> Iterator[list[str]]:
    for name, levels in points.items():
        for level, point in levels.items():
            figure = f"planted in view, {name}, ≥ {level} % saved"
            goal = f"≥ {PLANTED[name, level]}"
            if point is None:
                yield [figure, goal, "not reached", "", "", "", BEST_PEER[name]]
                continue
            below = [f"{point.floors[arm][0].planted['all'][1]:.1f}" for arm in _FLOORS]
            yield [figure, goal, f"{point.ours.planted['all'][1]:.1f}", *below, BEST_PEER[name]]
            wanted = NATURAL.get((name, level))
            below = [f"{point.floors[arm][1].in_view:.1f}" for arm in _FLOORS]
            peer = "46 at 64, 7 at 88" if wanted else ""
            figure = f"natural in view, values changed, macro, {name}, ≥ {level} %"
            yield [figure, f"≥ {wanted}" if wanted else "–", f"{point.changed.in_view:.1f}", *below, peer]
            if level >= 70:
                context = f"{point.ours.context:.1f} ({point.ours.context_with_heading:.1f} with headings)"
                yield [
                    f"shown with key or rarest word in the line, {name}, ≥ {level} %",
                    "≥ 95",
                    context,
                    "",
                    "",
                    "",
                    "99 (cutters)",
                ]
    all_points = [point for levels in points.values() for point in levels.values() if point]
    strange = [sum(len(one.cut) for p in all_points for one in (p.ours, p.changed))]
    strange.append(sum(len(one.invented) for p in all_points for one in (p.ours, p.changed)))
    yield ["cut in the middle; invented, all of these", "0; 0", f"{strange[0]}; {strange[1]}", "", "", "", "7–65; –"]


def _atoms(found: dict[str, dict[float, Any]]) -> Iterator[list[str]]:
    for budget, goal, other in ((0.2, 99, "98.2"), (0.1, 85, "77.8"), (0.05, 68, "61.6")):
        cells = [f"{found[arm][budget].rate('all'):.1f}" for arm in ("palimpsest", *_FLOORS)]
        yield [f"atoms, {100 * (1 - budget):.0f} % saved", f"≥ {goal}", *cells, f"{other} (sketch, other files)"]


def _archive(found: dict[str, tuple[float, float]]) -> Iterator[list[str]]:
    for source in dict.fromkeys(key.rsplit(", ", 1)[0] for key in found):
        cells = [f"{found[f'{source}, {arm}'][1]:.0f}" for arm in ("palimpsest", "clear", "random", "head+tail")]
        yield [f"archive R@10, {source}", "–", *cells, f"{found[f'{source}, plain BM25'][1]:.0f} (BM25, same run)"]


def _pages(found: dict[str, dict[float, Any]]) -> Iterator[list[str]]:
    cells = [f"{found[arm][0.2].recall:.1f}" for arm in ("palimpsest", *_FLOORS)]
    yield ["facts of pages that were written later, 20 % budget", "–", *cells, ""]


def _later(found: dict[str, dict[float, Any]]) -> Iterator[list[str]]:
    for budget, goal, other in zip(BUDGETS, ("–", "≥ 99", "≥ 95"), ("", "96.6", "83.4"), strict=True):
        ours = f"{found[ONE][budget].recall:.1f} ({found[THREE][budget].recall:.1f} three a batch)"
        cells = [f"{found[arm][budget].recall:.1f}" for arm in _FLOORS]
        note = f"{other} (sketch, other counter)" if other else ""
        yield [f"needed later, tau-bench, {100 * budget:.0f} % budget", goal, ours, *cells, note]


def _drift(found: dict[str, Any]) -> Iterator[list[str]]:
    cells = [f"{found[arm].in_view[-1]:.0f}" for arm in ("palimpsest", *_FLOORS)]
    yield ["facts in view after 10 rounds", "100", *cells, ""]
    cells = [f"{found[arm].restorable[-1]:.0f}" for arm in ("palimpsest", *_FLOORS)]
    yield ["facts restorable after 10 rounds", "100", *cells, ""]
    cells = [str(sum(found[arm].invented)) for arm in ("palimpsest", *_FLOORS)]
    yield ["cut or invented in 10 rounds", "0", *cells, ""]


def _billing(found: dict[str, Bill]) -> Iterator[list[str]]:
    plain = found[NONE]
    arms = ("palimpsest, research", *_FLOORS)
    cells = [f"{100 * (found[arm].total / plain.total - 1):+.1f} %" for arm in arms]
    yield ["billed, longest session, against none", "below 0", *cells, ""]
    cells = [str(break_even(plain, found[arm]) or "never") for arm in arms]
    yield ["paid back after calls", "≤ 20", *cells, ""]
    yield ["passes in it", "≤ 2 (median)", *(str(len(found[arm].passes)) for arm in arms), ""]


_PARTS: dict[str, Any] = {
    "planted": _planted,
    "q1": _atoms,
    "q2": _archive,
    "q3": _pages,
    "q4": _later,
    "q5": _drift,
    "q6": _billing,
}
