"""What docs/quality.md shows of a run: one table a question, with its goals, between the page's markers."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, table

from .ablation import FIGURES, Ablation
from .billing import NONE, OWN, Billed, break_even
from .drift import Arm as Rounds
from .later import Later
from .needles import Needles
from .outcomes import Outcomes
from .owners import Owners
from .targets import Targets, figures

PAGE = CHECKOUT / "docs" / "quality.md"
JUDGED = Path(__file__).with_name("judged.toml")
JUDGEMENTS = ("good", "usable", "bad")
OWNED = {0.5: 75, 0.3: 48}
TOLD = {0.3: 95, None: 98}
LATER = {("sessions", 0.3): 88, ("tau-bench", 0.5): 85, ("tau-bench", 0.3): 60}
STRICT = {("1000k", 0.3): 93, ("1000k", 0.2): 87, ("1000k", 0.1): 70}
PLANTED = {("1000k", 0.3): 97, ("1000k", 0.2): 93, ("1000k", 0.1): 85}
FLOORS = ("head+tail", "lines by lot")
PEER = "best peer that saves as much"
SHOWN = 14
"""Rows of the ablation that the page shows: those that move most."""

Table = tuple[tuple[str, ...], list[list[str]]]


def _owners(found: Owners) -> Table:
    rows: list[list[str]] = []
    for share, arms in found.arms.items():
        for verdict, goal in (("owned", f"≥ {OWNED[share]}"), ("bare", "≤ 1"), ("wrong", "0")):
            cells = [f"{arms[name].shares[verdict]:.1f}" for name in ("palimpsest", *FLOORS)]
            rows.append([f"{verdict}, {100 * share:.0f} % of the tokens", goal, *cells])
    return ("figure", "goal", "ours", *FLOORS), rows


def _outcomes(found: Outcomes) -> Table:
    rows = [
        [f"told, {'the policy’s own target' if t is None else f'target {t:g}'}", f"≥ {TOLD[t]}", str(s["all"].results)]
        + s["all"].cells
        for t, s in found.targets.items()
    ]
    return ("figure", "goal", "results", "ours", *FLOORS), rows


def _later(found: Later) -> Table:
    rows = [
        [f"in view, {where}, target {target:g}", f"≥ {LATER[where, target]}", str(by["all"].wanted), *by["all"].cells]
        for (where, target), by in found.targets.items()
    ]
    return ("figure", "goal", "needed", "ours", *FLOORS), rows


def _needles(found: Needles) -> Table:
    rows: list[list[str]] = []
    for (name, target), one in found.points.items():
        goal = f"≥ {STRICT[name, target]}" if (name, target) in STRICT else "–"
        floors = [f"{twin.strict:.1f}" for _, twin in one.floors.values()]
        peer = found.beside.best(f"{name}, changed", one.twin.saved, "strict")
        ours = [f"{one.twin.saved:.1f}", f"{one.twin.strict:.1f}", f"{one.twin.bare:.1f}"]
        rows.append([f"in context, {name}, target {target:g}", goal, *ours, *floors, peer])
    return ("figure", "goal", "saved", "ours", "ours, without context", *FLOORS, PEER), rows


def _guard(found: Needles) -> Table:
    rows: list[list[str]] = []
    for (name, target), one in found.points.items():
        goal = f"≥ {PLANTED[name, target]}" if (name, target) in PLANTED else "–"
        floors = [f"{plain.planted:.1f}" for plain, _ in one.floors.values()]
        peer = found.beside.best(name, one.ours.saved, "planted")
        ours = [f"{one.ours.saved:.1f}", f"{one.ours.planted:.1f}"]
        rows.append([f"planted strings, {name}, target {target:g}", goal, *ours, *floors, peer])
    both = [scores for one in found.points.values() for scores in (one.ours, one.twin)]
    strange = f"{sum(len(one.cut) for one in both)}; {sum(len(one.invented) for one in both)}"
    rows.append(["values cut; invented, all of these", "0; 0", "", strange, "", "", ""])
    back = [one.restored for one in found.points.values()]
    exact = f"{sum(one['exact'] for one in back)} of {sum(one['changed'] for one in back)}"
    rows.append(["restored byte for byte in a new process", "all", "", exact, "", "", ""])
    steps = [step.split("/") for every in found.stable.values() for step in every]
    same = f"{sum(int(step[0]) for step in steps)} of {sum(int(step[1]) for step in steps)}"
    rows.append(["messages that stay as they are while the session grows", "all", "", same, "", "", ""])
    return ("figure", "goal", "saved", "ours", *FLOORS, PEER), rows


def _ablation(found: Ablation) -> Table:
    most = sorted(found.rows, key=lambda name: -found.moved(name))[:SHOWN]
    return ("engine", *FIGURES, "tokens"), found.cells(most)


def _archive(found: dict[str, tuple[float, float]]) -> Table:
    rows: list[list[str]] = []
    for source in dict.fromkeys(key.rsplit(", ", 1)[0] for key in found):
        arms = ("palimpsest", "plain BM25", "random", "head+tail")
        rows.append([source, *(f"{found[f'{source}, {arm}'][1]:.0f}" for arm in arms)])
    return ("found among ten hits", "ours", "plain BM25", "by lot", "first and last"), rows


def _drift(found: dict[str, Rounds]) -> Table:
    arms = [found[name] for name in ("palimpsest", "head+tail", "random lines")]
    rows = [
        [figure, goal, *cells]
        for figure, goal, cells in (
            ("facts in view after ten rounds, %", "100", [f"{arm.in_view[-1]:.0f}" for arm in arms]),
            ("facts that can be restored, %", "100", [f"{arm.restorable[-1]:.0f}" for arm in arms]),
            ("cut or invented", "0", [str(sum(arm.invented)) for arm in arms]),
            ("decoys without their rejection", "0", [f"{arm.misleading[-1]} of {arm.decoys[-1]}" for arm in arms]),
        )
    ]
    return ("figure", "goal", "ours", *FLOORS), rows


def _billing(found: Billed) -> Table:
    plain = found.first[NONE]
    bills = [found.first[name] for name in ("palimpsest, research", "clear", "head+tail")]
    rows = [
        ["billed, longest session", "below 0", *(f"{100 * (one.total / plain.total - 1):+.1f} %" for one in bills)],
        ["paid back after calls", "≤ 20", *(str(break_even(plain, one) or "never") for one in bills)],
        ["passes in it", "–", *(str(len(one.passes)) for one in bills)],
    ]
    rows += [
        [f"passes a session, median, {window}", "≤ 2" if window == OWN else "–", f"{median:g}", "", ""]
        for window, median in found.medians.items()
    ]
    return ("figure", "goal", "ours", "cleared results", "head+tail"), rows


def _targets(found: Targets) -> Table:
    return ("figure", "goal", "ours", "a provider’s clearing"), figures(found)


TABLES: dict[str, tuple[str, Callable[[Any], Table]]] = {
    "owners": ("owners", _owners),
    "outcomes": ("outcomes", _outcomes),
    "later": ("later", _later),
    "needles": ("needles", _needles),
    "guard": ("needles", _guard),
    "ablation": ("ablation", _ablation),
    "archive": ("archive", _archive),
    "drift": ("drift", _drift),
    "billing": ("billing", _billing),
    "targets": ("targets", _targets),
}
"""Marker of the page -> (the part of the run that it is made of, what it shows)."""


def tables(found: dict[str, Any]) -> dict[str, str]:
    """Marker -> table, of what was measured in this run; and the judged digests."""
    made = {name: table(*show(found[part])) for name, (part, show) in TABLES.items() if part in found}
    return made | {"judged": judged_text()}


def judged() -> list[dict[str, Any]]:
    """Digests that somebody read beside their sources."""
    return tomllib.loads(JUDGED.read_text("utf-8"))["digest"]


def judged_text() -> str:
    """How many are what; all of them in one table, and the bad ones beside their sources."""
    every = judged()
    counts = ", ".join(f"{sum(one['judgement'] == name for one in every)} {name}" for name in JUDGEMENTS)
    # What a reader quotes is no link of the page.
    rows = [[one["kind"], one["target"], one["judgement"], one["why"].replace("](", "] (")] for one in every]
    parts = [f"{len(every)} read: {counts}.", table(("source", "target", "judgement", "why"), rows)]
    worst = [one for name in reversed(JUDGEMENTS) for one in every if one["judgement"] == name][:3]
    for one in worst:
        parts += [f"**{one['kind']}, {one['judgement']}.** The source, then the digest:", _fenced(one["source"])]
        parts.append(_fenced(one["digest"]))
    return "\n\n".join(parts)


def _fenced(text: str) -> str:
    return f"~~~text\n{text.strip()}\n~~~"


def marker(name: str) -> tuple[str, str]:
    """The lines of the page between which a table stands."""
    return f"<!-- {name}: written by benchmarks/quality/run.py -->", f"<!-- end of {name} -->"


def written(page: str, made: dict[str, str]) -> str:
    """The page with these tables between their markers.

    Raises:
        ValueError: the page has no such markers.
    """
    for name, text in made.items():
        begin, end = marker(name)
        head, rest = page[: page.index(begin) + len(begin)], page[page.index(end) :]
        page = f"{head}\n\n{text}\n\n{rest}"
    return page


def between(page: str) -> Iterator[tuple[str, str]]:
    """(marker, what stands there) for every table of the page."""
    for name in (*TABLES, "judged"):
        begin, end = marker(name)
        yield name, page[page.index(begin) + len(begin) : page.index(end)].strip()
