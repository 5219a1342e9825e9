"""The tables over the made sessions: what survives at each saving, and whether the rest of the promise holds.

Natural specifics are scored twice: as they are, and in a copy of the session in which each was changed into a new value
of its shape. Restore, time and memory are taken in processes of their own; the stable past with one store over three
lengths of the session, and again with a new store for each length.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, run_process, table

from .arms import floors
from .replay import Message
from .sessions import LEVELS, Compacted, Scores, Session, changed, compact, compacted_to, load

GROWTH = (0.6, 0.8, 1.0)
NEWEST = 8
"""Messages at the end of a shorter list that may still change when the session grows."""
STABLE_TARGET = 0.3


@dataclass
class Point:
    """One session at one saving."""

    ours: Scores
    changed: Scores
    floors: dict[str, tuple[Scores, Scores]]
    """Name -> (as it is, changed)."""
    run: Compacted
    room: float


def point(session: Session, other: Session, level: float, folder: Path) -> Point | None:
    """None where our passes cannot save that much."""
    run = compacted_to(session, level, folder)
    if run is None:
        return None
    ours = session.score(run.after)
    second = compacted_to(other, level, folder, first=run.target)
    twin = other.score(second.after if second else run.after)
    below = {
        name: (
            session.score(session.floor(name, level), with_context=False),
            other.score(other.floor(name, level), with_context=False),
        )
        for name in floors()
    }
    return Point(ours, twin, below, run, session.room(level))


def rows_of(name: str, level: float, found: Point | None) -> list[list[str]]:
    """Ours and the floors, one row each."""
    if found is None:
        return [[f"{name}, ≥ {level:g} %", "palimpsest", "not reached", *[""] * 9]]
    rows: list[list[str]] = []
    arms = {"palimpsest": (found.ours, found.changed), **found.floors}
    for arm, (plain, twin) in arms.items():
        own = arm == "palimpsest"
        shown, view = plain.planted["all"]
        rows.append(
            [
                f"{name}, ≥ {level:g} %" if own else "",
                arm,
                f"{plain.saved:.1f}",
                f"{shown:.1f} / {view:.1f}",
                f"{plain.planted['salient'][1]:.1f} / {plain.planted['plain'][1]:.1f}",
                f"{plain.shown:.1f} / {plain.in_view:.1f}",
                f"{twin.shown:.1f} / {twin.in_view:.1f}",
                f"{found.room:.0f}" if own else "",
                f"{plain.context:.1f} / {plain.context_with_heading:.1f}" if own else "",
                f"{len(plain.cut) + len(twin.cut)}; {len(plain.invented) + len(twin.invented)}",
                f"{found.run.target:.3f}" if own else "",
                str(found.run.call["pointers"]) if own else "",
            ]
        )
    return rows


def by_class(points: dict[str, dict[int, Point | None]]) -> list[list[str]]:
    """In view of each class in the changed sessions: where the macro comes from."""
    rows: list[list[str]] = []
    for name, levels in points.items():
        for level, found in levels.items():
            if found:
                cells = [f"{kept}/{total}" if total else "–" for kept, total in found.changed.per_class.values()]
                rows.append([f"{name}, ≥ {level} %", *cells])
    return rows


def stable(session: Session, folder: Path, *, one_store: bool) -> list[str]:
    """For each step of growth: how many messages of the shorter output, without its newest, come back unchanged."""
    home = Path(tempfile.mkdtemp(prefix="stable-", dir=folder))
    outputs: list[list[Message]] = []
    for part in GROWTH:
        length = int(len(session.messages) * part)
        length -= length % 2 == 0  # a list ends with a message of the user
        outputs.append(compact(session, STABLE_TARGET, folder, home=home if one_store else None, limit=length).after)
    steps: list[str] = []
    for before, after in zip(outputs, outputs[1:], strict=False):
        most = max(1, len(before) - NEWEST)
        same = 0
        while same < min(most, len(after)) and before[same] == after[same]:
            same += 1
        steps.append(f"{same}/{most}")
    return steps


def restored(session: Session, run: Compacted) -> dict[str, Any]:
    """Exact restore in a process that did not compact."""
    script = CHECKOUT / "benchmarks" / "quality" / "one_pass.py"
    out = run.home / "compacted.json"
    out.write_text(json.dumps(run.after, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    return json.loads(run_process([sys.executable, script, "restore", session.file, run.home, out]).output)


def planted(names: tuple[str, ...] = tuple(LEVELS)) -> tuple[str, dict[str, dict[int, Point | None]]]:
    """All tables over the made sessions, and the points for the overview."""
    rows: list[list[str]] = []
    bounds: list[list[str]] = []
    promises: list[list[str]] = []
    points: dict[str, dict[int, Point | None]] = {}
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-quality-"))
    try:
        for name in names:
            session = load(name)
            other = changed(session, folder)
            points[name] = {level: point(session, other, level, folder) for level in LEVELS[name]}
            for level, found in points[name].items():
                rows += rows_of(name, level, found)
            natural = sum(len(values) for values in (other.scored or {}).values())
            shares = [f"{100 * one.bare_tokens / one.total:.1f}" for one in (session, other)]
            bounds.append(
                [name, f"{session.total:,}", str(len(session.needles)), f"{natural:,}", *shares, f"{session.bound:.1f}"]
            )
            promises += _promises(session, points[name], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    head = ("session, saved at least", "arm", "saved %", "planted: shown / in view", "in view: salient / plain")
    head += (
        "natural macro: shown / in view",
        "the same, values changed",
        "room : bare %",
        "context: line / line or heading",
    )
    head += ("cut; invented", "target", "pointers")
    text = table(head, rows)
    text += "\n\nWhat bounds it (newest 3 results and everything that is no result stay):\n\n"
    text += table(
        (
            "session",
            "o200k tokens",
            "planted",
            "natural, changed",
            "all specifics, bare, % of tokens",
            "changed",
            "most that can be saved %",
        ),
        bounds,
    )
    classes = ("changed session", *(next(iter(_points(points))).changed.per_class))
    text += "\n\nIn view of each class, values changed:\n\n" + table(classes, by_class(points))
    text += "\n\nThe rest of the promise:\n\n" + table(
        (
            "session, saved", "exact restore, fresh process", "stable past, one store", "stable past, a new store each",
            "call, s", "cold process, s", "peak MB",
        ),
        promises,
    )  # fmt: skip
    return text, points


def _points(points: dict[str, dict[int, Point | None]]) -> list[Point]:
    return [found for levels in points.values() for found in levels.values() if found]


def _promises(session: Session, levels: dict[int, Point | None], folder: Path) -> list[list[str]]:
    rows: list[list[str]] = []
    for level, found in levels.items():
        if found is None:
            continue
        back = restored(session, found.run)
        first = not rows
        rows.append(
            [
                f"{session.name}, ≥ {level} %",
                f"{back['exact']}/{back['changed']}{'' if back['expanded_equal'] else ', the list differs'}",
                ", ".join(stable(session, folder, one_store=True)) if first else "",
                ", ".join(stable(session, folder, one_store=False)) if first and session.name != "1000k" else "",
                f"{found.run.call['seconds']:.2f}",
                f"{found.run.run.seconds:.2f}",
                f"{found.run.run.peak_mb:.0f}",
            ]
        )
    return rows
