"""The one table: every figure that has a goal, beside the floors of the same run and what others showed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .atoms import MATCHED
from .billing import NONE, OWN, Billed, break_even
from .drift import Arm as Rounds
from .later_use import BUDGETS, ONE, THREE, Later
from .planted import Planted, Point

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
PUBLISHED = {"100k": "18 at ≥ 70", "1000k": "11 at ≥ 70", "rows": "11 at ≥ 70"}
"""In the peers' report, on other sessions of the same kind."""
SECONDS = {"100k": 0.5, "1000k": 3.0}
HEAD = ("figure", "goal", "shown", "in view", "clear", "random lines", "head+tail", "best peer, same run", "published")
_FLOORS = ("clear", "random lines", "head+tail")
_NOTHING = ("", "", "")


def rows(found: dict[str, Any]) -> list[list[str]]:
    """As HEAD says; only what was measured in this run."""
    made: list[list[str]] = []
    for name, rows_of in _PARTS.items():
        if name in found:
            made += rows_of(found[name])
    return made


def _row(
    figure: str, goal: str, ours: tuple[str, str], floors: Sequence[str], peer: str = "", note: str = ""
) -> list[str]:
    return [figure, goal, *ours, *floors, peer, note]


def _planted(found: Planted) -> Iterator[list[str]]:
    for name, levels in found.points.items():
        for level, point in levels.items():
            yield from _point(found, name, level, point)
    points = [point for levels in found.points.values() for point in levels.values() if point]
    cut = sum(len(one.cut) for p in points for one in (p.ours, p.changed))
    invented = sum(len(one.invented) for p in points for one in (p.ours, p.changed))
    others = found.beside.scores.values()
    peer = f"cut {min(len(o.cut) for o in others)}–{max(len(o.cut) for o in others)}" if others else ""
    yield _row(
        "cut in the middle; invented, all of these", "0; 0", ("", f"{cut}; {invented}"), _NOTHING, peer, "7–65; –"
    )
    yield from _promises(found)


def _point(found: Planted, name: str, level: int, point: Point | None) -> Iterator[list[str]]:
    goal = f"≥ {PLANTED[name, level]}" if (name, level) in PLANTED else "–"
    figure = f"planted, {name}, ≥ {level} % saved"
    best = found.beside.best(name, level)
    peer = f"{best[1].planted['all'][1]:.1f} {best[0]}" if best else ""
    if point is None:
        yield _row(figure, goal, ("", "not reached"), _NOTHING, peer, PUBLISHED.get(name, ""))
        return
    shown, view = point.ours.planted["all"]
    below = [f"{point.floors[arm][0].planted['all'][1]:.1f}" for arm in _FLOORS]
    yield _row(figure, goal, (f"{shown:.1f}", f"{view:.1f}"), below, peer, PUBLISHED.get(name, ""))
    shown, view = point.changed.planted["all"]
    below = [f"{point.floors[arm][1].planted['all'][1]:.1f}" for arm in _FLOORS]
    yield _row(f"planted again, other shapes, {name}, ≥ {level} %", goal, (f"{shown:.1f}", f"{view:.1f}"), below)
    wanted = NATURAL.get((name, level))
    below = [f"{point.floors[arm][1].in_view:.1f}" for arm in _FLOORS]
    other = found.beside.best_natural(name, level)
    peer = f"{other[1].in_view:.1f} {other[0]}" if other else ""
    figure = f"natural, values changed, macro, {name}, ≥ {level} %; bare, all are {found.bare[name]:.1f} % of it"
    ours = (f"{point.changed.shown:.1f}", f"{point.changed.in_view:.1f}")
    yield _row(figure, f"≥ {wanted}" if wanted else "–", ours, below, peer, "46 at 64, 7 at 88" if wanted else "")
    if level >= 70:
        context = f"{point.ours.context:.1f} ({point.ours.context_with_heading:.1f} with headings)"
        peer = f"{best[1].context:.1f} {best[0]}" if best else ""
        figure = f"shown with key or rarest word in the line, {name}, ≥ {level} %"
        yield _row(figure, "≥ 95", (context, ""), _NOTHING, peer, "99 (cutters)")


def _promises(found: Planted) -> Iterator[list[str]]:
    all_of = found.promises.values()
    exact, replaced = sum(one.exact for one in all_of), sum(one.replaced for one in all_of)
    yield _row("exact restore in a fresh process", "all", ("", f"{exact}/{replaced}"), _NOTHING, "", "308/308")
    for name, limit in SECONDS.items():
        mine = [one for (session, _), one in found.promises.items() if session == name]
        if mine:
            call = f"{min(o.call_s for o in mine):.2f}–{max(o.call_s for o in mine):.2f}"
            cold = f"{min(o.cold_s for o in mine):.2f}–{max(o.cold_s for o in mine):.2f}"
            peak = max(o.peak_mb for o in mine)
            goal = f"< {limit:g} s, < 250 MB"
            ours = ("", f"{call} (cold process {cold}), {peak:.0f} MB")
            yield _row(
                f"verified and durable, {name}, in the call, s", goal, ours, _NOTHING, "", "0.8 / 2.6 s at 13 % saved"
            )
    steps = [step for one in all_of for step in one.one_store]
    if steps:
        same, most = (sum(int(step.split("/")[n]) for step in steps) for n in (0, 1))
        yield _row(
            "byte-stable past, one store, %", "100", ("", f"{100 * same / most:.1f}"), _NOTHING, "", "100 (clear)"
        )


def _atoms(found: dict[str, dict[float, Any]]) -> Iterator[list[str]]:
    mine = found["palimpsest"]
    for budget, goal, other in ((0.2, 99, "98.2"), (0.1, 85, "77.8"), (0.05, 68, "61.6")):
        cells = [f"{found[arm][budget].rate('all'):.1f}" for arm in _FLOORS]
        figure = f"atoms, {100 * (1 - budget):.0f} % saved"
        yield _row(
            figure, f"≥ {goal}", (f"{mine[budget].rate('all'):.1f}", ""), cells, "", f"{other} (sketch, other files)"
        )
    cells = [f"{found[arm][MATCHED].rate('all'):.1f}" for arm in _FLOORS]
    figure = f"atoms, matched savings, {mine[MATCHED].saved:.1f} % saved"
    yield _row(
        figure, "–", (f"{mine[MATCHED].rate('all'):.1f}", ""), cells, "", "75.2 sketch, 38.8 headroom, 29.9 Paritok"
    )


def _archive(found: dict[str, tuple[float, float]]) -> Iterator[list[str]]:
    for source in dict.fromkeys(key.rsplit(", ", 1)[0] for key in found):
        ours, *below = (f"{found[f'{source}, {arm}'][1]:.0f}" for arm in ("palimpsest", "clear", "random", "head+tail"))
        plain = f"{found[f'{source}, plain BM25'][1]:.0f} (plain BM25)"
        yield _row(f"archive R@10, {source}", "–", ("", ours), below, plain)


def _pages(found: dict[str, dict[float, Any]]) -> Iterator[list[str]]:
    ours, *below = (f"{found[arm][0.2].recall:.1f}" for arm in ("palimpsest", *_FLOORS))
    yield _row("facts of pages that were written later, 20 % budget", "–", (ours, ""), below)


def _later(found: Later) -> Iterator[list[str]]:
    for title, tallies in (
        ("needed later, tau-bench", found.airline),
        ("values of gold actions, tau-bench", found.gold),
    ):
        for budget, goal, other in zip(BUDGETS, ("–", "≥ 99", "≥ 95"), ("", "96.6", "83.4"), strict=True):
            ours = f"{tallies[ONE][budget].recall:.1f} ({tallies[THREE][budget].recall:.1f} three a batch)"
            cells = [f"{tallies[arm][budget].recall:.1f}" for arm in _FLOORS]
            note = f"{other} (sketch, other counter)" if other and tallies is found.airline else ""
            wanted = goal if tallies is found.airline else "–"
            yield _row(f"{title}, {100 * budget:.0f} % budget", wanted, ("", ours), cells, "", note)


def _drift(found: dict[str, Rounds]) -> Iterator[list[str]]:
    arms = [found[name] for name in ("palimpsest", *_FLOORS)]
    for figure, goal, cells in (
        ("facts in view after 10 rounds", "100", [f"{arm.in_view[-1]:.0f}" for arm in arms]),
        ("facts restorable after 10 rounds", "100", [f"{arm.restorable[-1]:.0f}" for arm in arms]),
        ("cut or invented in 10 rounds", "0", [str(sum(arm.invented)) for arm in arms]),
        ("decoys in view without their rejection", "0", [f"{arm.misleading[-1]} of {arm.decoys[-1]}" for arm in arms]),
    ):
        yield _row(figure, goal, ("", cells[0]), cells[1:])


def _billing(found: Billed) -> Iterator[list[str]]:
    plain = found.first[NONE]
    bills = [found.first[name] for name in ("palimpsest, research", *_FLOORS)]
    for figure, goal, cells in (
        ("billed, longest session", "below 0", [f"{100 * (one.total / plain.total - 1):+.1f} %" for one in bills]),
        ("paid back after calls", "≤ 20", [str(break_even(plain, one) or "never") for one in bills]),
        ("passes in it", "–", [str(len(one.passes)) for one in bills]),
    ):
        yield _row(figure, goal, ("", cells[0]), cells[1:])
    for window, median in found.medians.items():
        figure = f"passes a session under `research`, median, {window}"
        goal = "≤ 2" if window == OWN else "–"
        yield _row(figure, goal, ("", f"{median:g} ({found.even[window]:g} if each met its target)"), _NOTHING)


_PARTS: dict[str, Any] = {
    "planted": _planted,
    "q1": _atoms,
    "q2": _archive,
    "q3": _pages,
    "q4": _later,
    "q5": _drift,
    "q6": _billing,
}
