"""What agents typed again later, counted from sessions: writes `digest/prior.toml` (`make prior`).

A session is cut behind some of its results. What only results older than the newest three hold by then is *shown*;
*needed* is what the agent types later, in the arguments of a call or in words of its own, before a result or a user
shows it again. Counts are means over the cuts of a session. Sources: the shared sessions and, where `TRAJECTORIES`
names a folder with their git directories (`owner+name/repo`), two public collections; of them only counts are kept.
"""

from __future__ import annotations

import bisect
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from math import log
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import CHECKOUT
from real_sessions import sessions

from palimpsest_mcp.digest.records import plain
from palimpsest_mcp.text.specifics.registry import DefaultRegistry
from quality.arms import tokens
from quality.replay import events

OUT = CHECKOUT / "src" / "palimpsest_mcp" / "digest" / "prior.toml"
KEPT = 3
SMOOTH = 5.0
"""Needed ones that are added to each cell and to what is expected of it: a cell of few counts stays near its class."""
FEWEST = 20
"""Shown, below which a cell is not written: its class says as much."""
GENERAL = {
    "name": 31, "id": 27, "issue": 27, "handle": 26, "number": 19, "path": 18, "constant": 16, "integer": 9,
    "quantity": 5, "version": 5, "hash": 3, "date": 2, "uuid": 0.5, "error": 20, "status": 10, "url": 10, "host": 15,
    "money": 10, "score": 5, "email": 15, "command": 10,
}  # fmt: skip
"""Per cent, as the quality lab counted it in coding sessions; from `error` on our guess, since it has no count."""
ATTEMPTS = 5
"""Models that tried each task of multi-swe-bench: together they count as one."""
_NUMBERS = frozenset({"number", "integer", "quantity", "version", "date", "score", "money", "hash"})
_REGISTRY = DefaultRegistry()
_TESTED = re.compile(r"\d+ (passed|failed|passing|failing)\b|Tests run:|test result:|^ok\s+\S+\s+[\d.]+s", re.MULTILINE)
_CODED = r"[;{}]\s*$|^\s*(def|class|import|from|return|if|for|const|let|export|public|private)\b|\)\s*[:{]?$"


class Event(NamedTuple):
    """`typed` by the agent, `result`, or `user`."""

    kind: str
    text: str
    tool: str = ""


class Session(NamedTuple):
    """Events of one session."""

    source: str
    events: list[Event]
    half: int
    """0 or 1: half of the sessions of each source are held out from the other; attempts at one task stay together."""
    weight: float = 1.0


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(one)
    elif value is not None:
        yield str(value)


def _of_messages(messages: list[dict[str, Any]]) -> list[Event]:
    found: list[Event] = []
    tools: dict[str, str] = {}
    for one in events(messages):
        if one.kind == "result":
            found.append(Event("result", plain(one.text), tools.get(one.id, "")))
        elif one.kind == "called":
            typed = "\n".join(_leaves(one.arguments))
            tools[one.id] = f"{one.name} {typed[:200]}"
            found.append(Event("typed", plain(typed)))
        else:
            found.append(Event("typed" if one.by_assistant else "user", plain(one.text)))
    return found


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", f"--git-dir={folder}", *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def _trajectories(folder: Path) -> Iterator[Session]:
    """SWE-agent's files: one step is a response and what came back."""
    for file in _git(folder, "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        if file.endswith(".traj"):
            told = json.loads(_git(folder, "show", f"HEAD:{file}"))
            asked = [h for h in told["history"][:4] if h["role"] != "assistant" and not h.get("is_demo")]
            found = [Event("user", plain(h["content"])) for h in asked]
            for step in told["trajectory"]:
                found.append(Event("typed", plain(step["response"])))
                found.append(Event("result", plain(step["observation"] or ""), step["action"] or ""))
            yield Session("multi-swe-bench", found, crc32(Path(file).name.encode()) % 2, 1 / ATTEMPTS)


def _transcripts(folder: Path) -> Iterator[Session]:
    """Claude Code's files, remarks before them."""
    for file in _git(folder, "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        if file.endswith(".jsonl"):
            rows = [json.loads(r) for r in _git(folder, "show", f"HEAD:{file}").splitlines() if r.startswith("{")]
            messages = [row["message"] for row in rows if "role" in (row.get("message") or {})]
            yield Session("session-share", _of_messages(messages), crc32(file.encode()) % 2)


def every_session() -> Iterator[Session]:
    """The shared sessions, then what was fetched."""
    for one in sessions():
        yield Session(one.file.name.split(".")[0], _of_messages(one.messages), one.line % 2)
    if fetched := os.environ.get("TRAJECTORIES"):
        yield from _transcripts(Path(fetched) / "moredip+session-share" / "repo")
        yield from _trajectories(Path(fetched) / "multi-swe-bench+experiments" / "repo")


def form_of(text: str, tool: str) -> str:
    """A guess at the kind of content, by shape and by the verb of the call; independent of the readers."""
    lines = [line for line in text.split("\n") if line.strip()][:200]
    start = text.lstrip()[:300].lower()

    def most(pattern: str, share: float) -> bool:
        return sum(re.search(pattern, line) is not None for line in lines) > share * len(lines)

    rules: list[tuple[str, Callable[[], object]]] = [
        ("prose", lambda: not lines),
        ("html", lambda: "<html" in start or start.startswith("<!doctype")),
        ("json", lambda: start[:1] in ("{", "[") and not start.startswith("[file") and most(r'":|^[\s\]}{\[]', 0.5)),
        ("diff", lambda: re.search(r"^(diff --git|@@ |--- a/|commit [0-9a-f]{7})", text, re.M)),
        ("test", lambda: re.search(_TESTED, text)),
        ("search", lambda: most(r"^\s*\S*[\w/-]+\.\w+[:-]\d+[:-]", 0.4)),
        ("search", lambda: re.match(r"(?i)grep|rg |search|find_str|ack ", tool) and most(r":\d+", 0.3)),
        ("listing", lambda: len(lines) > 1 and most(r"^\s*(\S*/)?[\w.@-]+/?$|^[d-][rwx-]{9}|^[│├└ ]+", 0.7)),
        ("code", lambda: len(lines) > 3 and most(r"^\s*\d+[:\t→|]", 0.6)),
        ("log", lambda: most(r"\d\d:\d\d:\d\d", 0.4)),
        ("table", lambda: most(r"\||\t|^\(.*,.*\)", 0.6)),
        ("code", lambda: most(_CODED, 0.35)),
        ("log", lambda: re.search(r"Traceback|^\s+at \S+\(|\berror\b|warning|Exception", text, re.M)),
    ]
    return next((form for form, fits in rules if fits()), "prose")


def _place(needle: str, text: str) -> int:
    """Where it stands, not inside a longer word; -1: nowhere."""
    at = text.find(needle)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(needle) : at + len(needle) + 1]
        if not (_wordy(before) and _wordy(needle[0])) and not (_wordy(after) and _wordy(needle[-1])):
            return at
        at = text.find(needle, at + 1)
    return -1


def _wordy(char: str) -> bool:
    return char.isalnum() or char == "_"


class _Later:
    """What comes after a cut."""

    def __init__(self, after: list[Event]) -> None:
        self._texts = {True: "", False: ""}
        self._starts: dict[bool, list[int]] = {True: [], False: []}
        self._numbers: dict[bool, list[int]] = {True: [], False: []}
        for typed in (True, False):
            size = 0
            parts: list[str] = []
            for number, event in enumerate(after):
                if (event.kind == "typed") == typed:
                    self._starts[typed].append(size)
                    self._numbers[typed].append(number)
                    parts.append(event.text)
                    size += len(event.text) + 1
            self._texts[typed] = "\n".join(parts)
        self._values = {text for _, text in _REGISTRY.set_of(self._texts[True])}

    def needs(self, cls: str, text: str) -> bool:
        """Typed, and not shown before that."""
        typed = self._first(True, text)
        if typed is None or (cls in _NUMBERS and text not in self._values):
            return False
        shown = self._first(False, text)
        return shown is None or typed < shown

    def _first(self, typed: bool, text: str) -> int | None:
        at = _place(text, self._texts[typed])
        return None if at < 0 else self._numbers[typed][bisect.bisect_right(self._starts[typed], at) - 1]


def _cuts(found: list[Event]) -> list[int]:
    """Behind which events to cut: three times at least, more in long sessions, from 35 to 85 % of the results."""
    results = [number for number, event in enumerate(found) if event.kind == "result"]
    if len(results) < 2 * KEPT:
        return []
    many = max(3, min(16, len(results) // 25))
    shares = [0.35 + 0.5 * step / (many - 1) for step in range(many)]
    return sorted({results[max(KEPT, int(len(results) * share))] + 1 for share in shares})


Cell = tuple[str, str, str]
"""Source with its half (`tau-bench 0`), form, class."""


def counted() -> tuple[dict[Cell, list[float]], Counter[str]]:
    """Shown, needed and tokens of those shown, by cell; and how many sessions of each source were long enough."""
    cells: defaultdict[Cell, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    used: Counter[str] = Counter()
    for session in every_session():
        cuts = _cuts(session.events)
        used[session.source] += bool(cuts)
        known: dict[int, tuple[str, set[tuple[str, str]]]] = {}
        for cut in cuts:
            past = [n for n, event in enumerate(session.events[:cut]) if event.kind == "result"]
            old, new = past[:-KEPT], set(past[-KEPT:])
            rest = [e.text for n, e in enumerate(session.events[:cut]) if n in new or e.kind != "result"]
            view, later = "\n".join(rest), _Later(session.events[cut:])
            holders: dict[tuple[str, str], int] = {}
            for number in old:
                if number not in known:
                    event = session.events[number]
                    known[number] = form_of(event.text, event.tool), _REGISTRY.set_of(event.text)
                holders.update(dict.fromkeys(known[number][1], number))
            weight = session.weight / len(cuts)
            for (cls, text), number in holders.items():
                if _place(text, view) < 0:
                    cell = cells[f"{session.source} {session.half}", known[number][0], cls]
                    cell[0] += weight
                    cell[1] += weight * later.needs(cls, text)
                    cell[2] += weight * tokens(text)
    return cells, used


class Gains(NamedTuple):
    """Worth by class, and by form and class: as a share, on the scale of the general counts."""

    classes: dict[str, float]
    cells: dict[tuple[str, str], float]


def gains(cells: Mapping[Cell, list[float]]) -> Gains:
    """General counts, corrected by what was needed here over what they would have let expect in the same source."""
    factor = _factors(cells)
    by_class: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    by_cell: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (source, form, cls), (shown, needed, _) in cells.items():
        for counts in (by_class[cls], by_cell[form, cls]):
            counts[0] += shown * factor[source] * GENERAL[cls] / 100
            counts[1] += needed
    ratio = {cls: (by_class[cls][1] + SMOOTH) / (by_class[cls][0] + SMOOTH) for cls in GENERAL}
    classes = {cls: GENERAL[cls] / 100 * ratio[cls] for cls in GENERAL}
    found: dict[tuple[str, str], float] = {}
    for (form, cls), (expected, needed) in by_cell.items():
        found[form, cls] = classes[cls] * (needed + SMOOTH) / (expected * ratio[cls] + SMOOTH)
    return Gains(classes, found)


def _factors(cells: Mapping[Cell, list[float]]) -> dict[str, float]:
    """By source: needed, over what the general counts say; they were counted another way, and sources differ."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [1.0, 10.0])
    for (source, _, cls), (shown, needed, _) in cells.items():
        sums[source][0] += needed
        sums[source][1] += shown * GENERAL[cls] / 100
    return {source: needed / expected for source, (needed, expected) in sums.items()}


def held_out(cells: Mapping[Cell, list[float]], held: str, without: str) -> list[float]:
    """Poisson deviance of counts under: one rate for all, general counts, ours by class, ours by cell, each learned
    without those whose source begins with `without`, and scaled to the total. Less is better."""
    learned = gains({cell: counts for cell, counts in cells.items() if not cell[0].startswith(without)})
    own = {cell: counts for cell, counts in cells.items() if cell[0] == held}
    models: list[Callable[[str, str], float]] = [
        lambda form, cls: 1.0,
        lambda form, cls: GENERAL[cls],
        lambda form, cls: learned.classes[cls],
        lambda form, cls: learned.cells.get((form, cls), learned.classes[cls]),
    ]
    found: list[float] = []
    for model in models:
        said = {cell: counts[0] * model(cell[1], cell[2]) for cell, counts in own.items()}
        scale = sum(counts[1] for counts in own.values()) / sum(said.values())
        terms = (
            (counts[1] * log(counts[1] / (said[cell] * scale)) if counts[1] else 0.0) - counts[1] + said[cell] * scale
            for cell, counts in own.items()
        )
        found.append(round(2 * sum(terms), 1))
    return found


def as_toml(cells: Mapping[Cell, list[float]], used: Mapping[str, int]) -> str:
    """The table with its source and date."""
    learned = gains(cells)
    told = ", ".join(f"{name} {count}" for name, count in sorted(used.items()) if count)
    rows = [
        "# What agents typed again later, by class of specific and kind of content. Made by `make prior`: do not edit.",
        f'made = "{date.today()}"',
        f'sessions = "{told}"',
        'method = "benchmarks/quality/prior.py: shown = held by older results only; needed = typed later by the agent"',
        "# shown, needed: counts, means over a session's cuts; per_1000 of those shown, per_1000_tokens of theirs;",
        "# gain: share needed, smoothed, on the scale of the general counts of coding sessions; for `rank.py`",
    ]
    whole: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for (_, form, cls), counts in cells.items():
        for cell in (whole["", cls], whole[form, cls]):
            for n, count in enumerate(counts):
                cell[n] += count
    rows += ["", "[class]", *(_row(cls, whole["", cls], learned.classes[cls]) for cls in GENERAL)]
    for form in sorted({form for form, _ in whole if form}):
        seen = [cls for cls in GENERAL if whole[form, cls][0] >= FEWEST]
        if seen:
            rows += ["", f"[form.{form}]", *(_row(cls, whole[form, cls], learned.cells[form, cls]) for cls in seen)]
    return "\n".join(rows) + "\n"


def _row(cls: str, counts: list[float], gain: float) -> str:
    shown, needed, size = counts
    return (
        f"{cls} = {{ shown = {shown:.0f}, needed = {needed:.1f}, per_1000 = {1000 * needed / max(1.0, shown):.1f}, "
        f"per_1000_tokens = {1000 * needed / max(1.0, size):.1f}, gain = {gain:.3f} }}"
    )


def main() -> None:
    """Count, say how it does on sources held out, write the table."""
    cells, used = counted()
    print("deviance under one rate, general counts, ours by class, ours by class and form: without this half / source")
    totals = [[0.0] * 4, [0.0] * 4]
    for held in sorted({cell[0] for cell in cells}):
        needed = sum(counts[1] for cell, counts in cells.items() if cell[0] == held)
        if needed >= 1:
            found = [held_out(cells, held, without) for without in (held, held.split(" ")[0])]
            totals = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(totals, found, strict=True)]
            print(f"{held:18} needed {needed:5.1f}", *found)
    print(f"{'all':31}", *([round(one, 1) for one in row] for row in totals))
    OUT.write_text(as_toml(cells, used), encoding="utf-8")


if __name__ == "__main__":
    main()
