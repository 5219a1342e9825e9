"""The tables over the made sessions: what survives at each saving, and whether the rest of the promise holds.

Natural specifics are scored twice: as they are, and in a copy of the session in which each was changed into a new value
of its shape; in that copy other strings are planted, of other shapes, under other keys, at other places. Restore, time
and memory are taken in processes of their own; the stable past with one store over three lengths of the session, and
again with a new store for each length.
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
from .side_by_side import Beside

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


@dataclass
class Promise:
    """The rest of the promise, of one session at one saving."""

    exact: int
    replaced: int
    equal: bool
    """Whether the shorter list, expanded, is the input again."""
    one_store: list[str]
    new_stores: list[str]
    call_s: float
    cold_s: float
    peak_mb: float


@dataclass
class Planted:
    """All that the overview takes from here."""

    points: dict[str, dict[int, Point | None]]
    promises: dict[tuple[str, int], Promise]
    beside: Beside
    bare: dict[str, float]
    """Session -> tokens of all its specifics, bare, values changed, as per cent of its tokens."""


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
        return [[f"{name}, ≥ {level:g} %", "palimpsest", "not reached", *[""] * 10]]
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
                f"{twin.planted['all'][0]:.1f} / {twin.planted['all'][1]:.1f}",
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


def planted(names: tuple[str, ...] = tuple(LEVELS)) -> tuple[str, Planted]:
    """All tables over the made sessions, and the points for the overview."""
    rows: list[list[str]] = []
    bounds: list[list[str]] = []
    found = Planted({}, {}, Beside(), {})
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-quality-"))
    try:
        for name in names:
            session = load(name)
            other = changed(session, folder)
            found.points[name] = {level: point(session, other, level, folder) for level in LEVELS[name]}
            for level, one in found.points[name].items():
                rows += rows_of(name, level, one)
            found.bare[name] = 100 * other.bare_tokens / other.total
            natural = sum(len(values) for values in (other.scored or {}).values())
            shares = [f"{100 * one.bare_tokens / one.total:.1f}" for one in (session, other)]
            planted_strings = f"{len(session.needles)}, {len(other.needles)}"
            bounds.append(
                [name, f"{session.total:,}", planted_strings, f"{natural:,}", *shares, f"{session.bound:.1f}"]
            )
            found.promises |= _promises(session, found.points[name], folder)
            found.beside.run(session, other)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    head = ("session, saved at least", "arm", "saved %", "planted: shown / in view", "in view: salient / plain")
    head += ("planted again, other shapes", "natural macro: shown / in view", "the same, values changed")
    head += ("room : bare %", "context: line / line or heading", "cut; invented", "target", "pointers")
    text = table(head, rows)
    head = (
        "session",
        "o200k tokens",
        "planted, again",
        "natural, changed",
        "all specifics, bare, % of tokens",
        "changed",
    )
    text += "\n\nWhat bounds it (newest 3 results and everything that is no result stay):\n\n"
    text += table((*head, "most that can be saved %"), bounds)
    classes = ("changed session", *(next(iter(_points(found.points))).changed.per_class))
    text += "\n\nIn view of each class, values changed:\n\n" + table(classes, by_class(found.points))
    text += (
        "\n\nOther programs on the same sessions in the same run, scored by the same code:\n\n" + found.beside.text()
    )
    head = ("session, saved", "exact restore, fresh process", "stable past, one store", "stable past, a new store each")
    text += "\n\nThe rest of the promise:\n\n"
    text += table((*head, "call, s", "cold process, s", "peak MB"), map(_promise_cells, found.promises.items()))
    return text, found


def _points(points: dict[str, dict[int, Point | None]]) -> list[Point]:
    return [found for levels in points.values() for found in levels.values() if found]


def _promises(session: Session, levels: dict[int, Point | None], folder: Path) -> dict[tuple[str, int], Promise]:
    """The stable past is measured once a session; with new stores only where that is quick."""
    made: dict[tuple[str, int], Promise] = {}
    for level, found in levels.items():
        if found is None:
            continue
        back = restored(session, found.run)
        first = not made
        made[session.name, level] = Promise(
            back["exact"],
            back["changed"],
            back["expanded_equal"],
            stable(session, folder, one_store=True) if first else [],
            stable(session, folder, one_store=False) if first and session.name != "1000k" else [],
            found.run.call["seconds"],
            found.run.run.seconds,
            found.run.run.peak_mb,
        )
    return made


def _promise_cells(one: tuple[tuple[str, int], Promise]) -> list[str]:
    (name, level), found = one
    return [
        f"{name}, ≥ {level} %",
        f"{found.exact}/{found.replaced}{'' if found.equal else ', the list differs'}",
        ", ".join(found.one_store),
        ", ".join(found.new_stores),
        f"{found.call_s:.2f}",
        f"{found.cold_s:.2f}",
        f"{found.peak_mb:.0f}",
    ]
