"""Q4: values that the rest of a real session needs and that stand only in results that were compacted by then.

Two questions. *Compaction points* of tau-bench: after every result, all but the newest three are compacted at a budget;
which values of later calls' arguments (four characters and more, with a digit) are still in view, and at how many
points is none missing? *Later-use probes* of long sessions: literals that first occur in a result and that the agent
writes again at least three of its messages later; results are digested once, three a batch, as a pass does it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from measuring import table
from real_sessions import RealSession, sessions

from .arms import Arm, OurDigest, floors, in_batches, tokens
from .replay import Event, events, leaves
from .scoring import share, stands

KEPT = 3
BUDGETS = (0.30, 0.20, 0.10)
SMALL = 200
"""Results under this many tokens stay whole, for every arm alike, in the probes of long sessions."""
ONE = "palimpsest, one batch"
THREE = "palimpsest, three a batch"
BOUND = "(all values bare, cheapest first)"
_VALUE = re.compile(r"[\w.@:/#-]{4,}")
LONG = ("pi-mono", "spotter", "deer-flow")
LITERAL = re.compile(
    r"(?:[\w.~@-]*/){2,}[\w.@-]+|[\w.-]+/[\w-]+\.\w{1,5}\b"
    r"|(?<![\w-])[0-9a-f]*\d[0-9a-f]{6,39}(?![\w-])|(?<![\w.,-])\d{5,}(?![\w,-])"
    r"|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[a-z0-9]+(?:_[a-z0-9]+){2,}\b"
)


@dataclass
class Tally:
    """Values found and wanted, points without a loss, tokens kept of those compacted."""

    found: int = 0
    wanted: int = 0
    whole: int = 0
    points: int = 0
    kept: int = 0
    compacted: int = 0
    missed: list[str] = field(default_factory=list[str])

    def add(self, view: str, wanted: Sequence[str]) -> None:
        missed = [value for value in wanted if not stands(view, value)]
        self.found += len(wanted) - len(missed)
        self.wanted += len(wanted)
        self.whole += not missed
        self.points += 1
        self.missed += missed

    @property
    def recall(self) -> float:
        return share(self.found, self.wanted)

    def cells(self) -> str:
        kept = f", {100 * self.kept / self.compacted:.0f} % of the tokens" if self.compacted else ""
        return f"{self.recall:.1f} ({self.whole}/{self.points}{kept})"


@dataclass(frozen=True)
class Point:
    """A moment of a session: what is compacted then, and what of it is needed later."""

    old: tuple[str, ...]
    wanted: tuple[str, ...]


def points(session: RealSession) -> Iterator[Point]:
    """Moments right after a result, where later calls need something that only compacted results hold."""
    found = events(session.messages)
    results = [n for n, one in enumerate(found) if one.kind == "result"]
    for number in range(KEPT, len(results)):
        now = results[number]
        old = results[: number - KEPT + 1]
        compacted = "\n".join(found[n].text for n in old)
        kept = session.system + "\n".join(one.text for n, one in enumerate(found[: now + 1]) if n not in old)
        later = {value for one in found[now:] if one.kind == "called" for value in leaves(one.arguments)}
        wanted = sorted(
            value
            for value in later
            if len(value) >= 4
            and any(c.isdigit() for c in value)
            and stands(compacted, value)
            and not stands(kept, value)
        )
        if wanted:
            yield Point(tuple(found[n].text for n in old), tuple(wanted))


def our_arms() -> dict[str, Callable[[], Arm]]:
    """Our digest in both ways a point can be put to it, and the floors."""
    arms: dict[str, Callable[[], Arm]] = {ONE: OurDigest, THREE: lambda: _batched(OurDigest())}
    arms |= {name: partial(_itself, arm) for name, arm in floors().items()}
    return arms | {BOUND: lambda: bare_values}


def _itself(arm: Arm) -> Arm:
    return arm


def bare_values(texts: Sequence[str], budgets: Sequence[int]) -> list[str]:
    """No digest, but what bounds one: every word with a digit once, bare, cheapest first, until the budget is full."""
    values = {m.group() for text in texts for m in _VALUE.finditer(text) if any(c.isdigit() for c in m.group())}
    budget = sum(budgets)
    chosen: list[str] = []
    for value in sorted(values, key=lambda one: (tokens(one), one)):
        if tokens(value) + 1 > budget:
            break
        budget -= tokens(value) + 1
        chosen.append(value)
    return [" ".join(chosen) if n == 0 else "" for n in range(len(texts))]


def _batched(arm: Arm) -> Arm:
    return lambda texts, budgets: in_batches(arm, texts, budgets)


def compaction_points(only: str = "tau-bench") -> dict[str, dict[float, Tally]]:
    """Arm -> budget -> tally over every point of every session."""
    all_points = [point for session in sessions(only) for point in points(session)]
    found: dict[str, dict[float, Tally]] = {}
    for name, make in our_arms().items():
        found[name] = {budget: Tally() for budget in BUDGETS}
        for budget, tally in found[name].items():
            for point in all_points:
                views = make()(point.old, [int(budget * tokens(text)) for text in point.old])
                tally.add("\n".join(views), point.wanted)
                tally.kept += sum(map(tokens, views))
                tally.compacted += sum(map(tokens, point.old))
    return found


@dataclass(frozen=True)
class Probe:
    """A literal of a result that the agent writes again much later."""

    value: str
    result: int
    """Index of the result that held it first."""
    used: int
    """Index of the event that writes it again."""


def probes(found: Sequence[Event]) -> list[Probe]:
    """Literals by where they first stand; only those whose first later use is three messages of the agent away."""
    first: dict[str, int] = {}
    said: set[str] = set()
    turn_of: dict[int, int] = {}
    turn, message = 0, -1
    chosen: list[Probe] = []
    for at, event in enumerate(found):
        if event.by_assistant and event.message != message:
            turn, message = turn + 1, event.message
        for value in dict.fromkeys(match.group() for match in LITERAL.finditer(event.text)):
            if event.kind == "result":
                if value not in first and value not in said:
                    first[value], turn_of[at] = at, turn
            elif value not in said:
                said.add(value)
                if event.by_assistant and value in first and turn - turn_of[first[value]] >= 3:
                    chosen.append(Probe(value, first[value], at))
    return chosen


def later_uses(only: str) -> dict[str, dict[float, Tally]]:
    """Arm -> budget -> tally over the probes of a source's sessions whose result is compacted at the time of use.

    A point is one event of the agent that writes such literals again.
    """
    made = {name: {budget: Tally() for budget in BUDGETS} for name in our_arms() if name not in (ONE, BOUND)}
    for session in sessions(only):
        found = events(session.messages)
        results = [n for n, one in enumerate(found) if one.kind == "result"]
        chosen = probes(found)
        for name, make in our_arms().items():
            for budget, tally in made.get(name, {}).items():
                _replay(found, results, chosen, make(), budget, tally)
    return made


def _replay(
    found: Sequence[Event], results: Sequence[int], chosen: Sequence[Probe], arm: Arm, budget: float, tally: Tally
) -> None:
    large = [n for n in results if tokens(found[n].text) >= SMALL]
    texts = [found[n].text for n in large]
    views = dict(zip(large, in_batches(arm, texts, [int(budget * tokens(text)) for text in texts]), strict=True))
    tally.kept += sum(map(tokens, views.values()))
    tally.compacted += sum(map(tokens, texts))
    shown = {n: views.get(n, found[n].text) for n in results}
    by_use: dict[int, list[str]] = {}
    for probe in chosen:
        done = [n for n in results if n < probe.used]
        whole = done[-KEPT:]
        if probe.result not in whole and not any(stands(found[n].text, probe.value) for n in whole):
            by_use.setdefault(probe.used, []).append(probe.value)
    for used, wanted in by_use.items():
        old = [n for n in results if n < used][:-KEPT]
        tally.add("\n".join(shown[n] for n in old), wanted)


def completion() -> dict[str, dict[float, Tally]]:
    """Arm -> budget -> tally, a point a session: values of tau-bench's gold actions that its own results hold.

    Uncompacted, all of them are in view by choice; a session with none missing could still be completed from its view.
    """
    made = {name: {budget: Tally() for budget in BUDGETS} for name in our_arms()}
    for session in sessions("tau-bench"):
        found = events(session.messages)
        texts = [one.text for one in found if one.kind == "result"]
        old, kept = (
            texts[:-KEPT],
            "\n".join(texts[-KEPT:] + [e.text for e in found if e.kind == "said" and not e.by_assistant]),
        )
        gold = {v for action in _gold(session) for v in leaves(action) if len(v) >= 4 and any(c.isdigit() for c in v)}
        wanted = sorted(v for v in gold if stands("\n".join(old), v) and not stands(kept, v))
        if not wanted:
            continue
        for name, make in our_arms().items():
            for budget, tally in made[name].items():
                views = make()(old, [int(budget * tokens(text)) for text in old])
                tally.add("\n".join(views), wanted)
    return made


def _gold(session: RealSession) -> list[object]:
    return [action.get("kwargs") for action in session.meta.get("gold_actions", [])]


@dataclass(frozen=True)
class Later:
    """What the overview takes: arm -> budget -> tally."""

    airline: dict[str, dict[float, Tally]]
    gold: dict[str, dict[float, Tally]]


def q4() -> tuple[str, Later]:
    """The tables of Q4, and the compaction points for the overview."""
    airline = compaction_points()
    head = ("arm", *(f"{100 * budget:.0f} % budget" for budget in BUDGETS))

    def rows(found: dict[str, dict[float, Tally]]) -> list[list[str]]:
        return [[name, *(tally.cells() for tally in tallies.values())] for name, tallies in found.items()]

    one = next(iter(airline.values()))[0.3]
    text = (
        f"tau-bench, {one.points} compaction points, {one.wanted} values, newest {KEPT} results whole: values in "
        "view, % (points with nothing missing, tokens kept of those compacted):\n\n" + table(head, rows(airline))
    )
    for source in LONG:
        used = later_uses(source)
        first = next(iter(used.values()))[0.3]
        text += f"\n\n{source}, {first.wanted} later-use probes whose result is compacted at the time of use:\n\n"
        text += table(head, rows(used))
    gold = completion()
    first = next(iter(gold.values()))[0.3]
    text += (
        f"\n\nTask completion stands in as needed-later recall against the uncompacted session: {first.wanted} values "
        f"of tau-bench's gold actions in {first.points} sessions that hold them only in compacted results "
        f"(uncompacted: 100, {first.points}/{first.points}):\n\n" + table(head, rows(gold))
    )
    return text, Later(airline, gold)
