"""The made sessions: which of their values a pass still shows in context, planted strings as a guard, exact restore.

*Natural*: every value of the scorer's nine classes that only old results hold, in a copy of the session in which each
was changed into a new value of its shape: nothing can be known beforehand or follow from something else.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, run_process, table

from .replay import Message
from .sessions import Compacted, Scores, Session, changed, compact, load
from .side_by_side import Beside

TARGETS = {"100k": (0.3, 0.2), "1000k": (0.3, 0.2, 0.1), "rows": (0.3, 0.2)}
FLOORS = ("head+tail", "random lines")
GROWTH = (0.6, 0.8, 1.0)
NEWEST = 8
"""Messages at the end of a shorter list that may still change when the session grows."""


@dataclass
class Point:
    """One session at one target."""

    ours: Scores
    """As it is: planted strings, cut, invented."""
    twin: Scores
    """Values changed: natural ones in context."""
    floors: dict[str, tuple[Scores, Scores]]
    restored: dict[str, Any]


@dataclass
class Needles:
    """All that the page takes from here."""

    points: dict[tuple[str, float], Point] = field(default_factory=dict[tuple[str, float], Point])
    beside: Beside = field(default_factory=Beside)
    bare: dict[str, float] = field(default_factory=dict[str, float])
    """Session -> tokens of all its natural values, bare, as per cent of its tokens."""
    stable: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Session -> messages that come back byte for byte when it grows, one store."""


def point(session: Session, twin: Session, target: float, folder: Path) -> Point:
    """Ours, and the floors at the savings that ours reached."""
    run = compact(session, target, folder)
    ours = session.score(run.after)
    other = twin.score(compact(twin, target, folder).after)
    floors = {
        name: (session.score(session.floor(name, ours.saved)), twin.score(twin.floor(name, other.saved)))
        for name in FLOORS
    }
    return Point(ours, other, floors, restored(session, run))


def restored(session: Session, run: Compacted) -> dict[str, Any]:
    """Exact restore in a process that did not compact."""
    script = CHECKOUT / "benchmarks" / "quality" / "one_pass.py"
    out = run.home / "compacted.json"
    out.write_text(json.dumps(run.after, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    return json.loads(run_process([sys.executable, script, "restore", session.file, run.home, out]).output)


def stable(session: Session, folder: Path) -> list[str]:
    """For each step of growth, one store: how many messages of the shorter output, without its newest, come back."""
    home = Path(tempfile.mkdtemp(prefix="stable-", dir=folder))
    outputs: list[list[Message]] = []
    for part in GROWTH:
        length = int(len(session.messages) * part)
        length -= length % 2 == 0  # a list ends with a message of the user
        outputs.append(compact(session, 0.3, folder, home=home, limit=length).after)
    steps: list[str] = []
    for before, after in zip(outputs, outputs[1:], strict=False):
        most = max(1, len(before) - NEWEST)
        same = next((n for n in range(min(most, len(after))) if before[n] != after[n]), min(most, len(after)))
        steps.append(f"{same}/{most}")
    return steps


def needles(names: tuple[str, ...] = tuple(TARGETS)) -> tuple[str, Needles]:
    """All tables over the made sessions, and the points for the page."""
    found = Needles()
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-quality-"))
    try:
        for name in names:
            session = load(name)
            twin = changed(session, folder)
            for target in TARGETS[name]:
                found.points[name, target] = point(session, twin, target, folder)
            found.bare[name] = twin.bare_share
            found.stable[name] = stable(session, folder)
            found.beside.run(session, twin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = [row for (name, target), one in found.points.items() for row in _rows(name, target, one)]
    head = ("session, target", "arm", "saved %, values changed", "in context %", "bare %", "planted %", "cut; invented")
    text = table(head, rows)
    text += "\n\nOther programs on the same sessions in the same run, scored by the same code:\n\n"
    return text + found.beside.text(), found


def _rows(name: str, target: float, found: Point) -> list[list[str]]:
    arms = {"palimpsest": (found.ours, found.twin), **found.floors}
    return [
        [
            f"{name}, {target:g}" if arm == "palimpsest" else "",
            arm,
            f"{twin.saved:.1f}",
            f"{twin.strict:.1f}",
            f"{twin.bare:.1f}",
            f"{plain.planted:.1f}",
            f"{len(plain.cut) + len(twin.cut)}; {len(plain.invented) + len(twin.invented)}",
        ]
        for arm, (plain, twin) in arms.items()
    ]
