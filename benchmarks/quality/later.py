"""Needed later: of the specifics that an agent really used after a cut and that only replaced results held, the share
in view.

A session is cut at half, 65 and 80 % of its results and compacted. *Needed* is every specific (of this file's own
shapes) that the agent types later, in a call or in words, before a later result shows it again, and that stood before
the cut in nothing but results older than the newest three. The floors get as many characters for every result.

tau-bench's sessions are short: there a cut follows every result, and needed are values (four characters and more, with
a digit) of later calls' arguments.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from measuring import table

from .passes import compacted, head_and_tail, lines_by_lot
from .real import chosen
from .replay import Message, all_text, events, leaves, results_of
from .scoring import View, share, stands

SOURCES = ("pi-mono", "spotter", "openhands", "openhands-sdk", "swe-agent", "deer-flow", "deepagents")
CUTS = (0.5, 0.65, 0.8)
KEPT = 3
SESSIONS = 12
RESULTS = 16
FEWEST = 4
TARGETS = {"sessions": (0.3,), "tau-bench": (0.5, 0.3)}
SEED = 7
_ENDINGS = "py|ts|tsx|js|ex|exs|go|rs|java|md|json|toml|yaml|yml|sh|css|html|sql"
_SHAPES = (
    r"https?://[^\s\"'<>)\]]+",
    r"(?<![\w/.-])/?(?:[\w.@-]+/)+[\w.@-]+(?::\d+)?",
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+",
    r"\b[a-z]\w*_\w+\b",
    r"\b[a-z]+[A-Z]\w+\b",
    r"\b[A-Z][a-z]+[A-Z]\w+\b",
    r"\b[A-Z]{2,}[A-Z0-9_]*\d\w*\b",
    r"\b[0-9a-f]{7,40}\b",
    r"\b\d[\d.,:-]{2,}\d\b",
    rf"\b[\w-]+\.(?:{_ENDINGS})\b",
    r"\b\w+-\w*\d\w*\b",
)
SPECIFIC = re.compile("|".join(_SHAPES))


@dataclass
class Needed:
    """What was needed, and how much of it each arm still shows."""

    cuts: int = 0
    wanted: int = 0
    ours: int = 0
    head_and_tail: int = 0
    by_lot: int = 0
    size: int = 0
    """Characters of what stands for old results, of `of`."""
    of: int = 0
    missed: list[str] = field(default_factory=list[str])

    @property
    def cells(self) -> list[str]:
        return [f"{share(one, self.wanted):.1f}" for one in (self.ours, self.head_and_tail, self.by_lot)]


def specifics(text: str) -> set[str]:
    """What of a text could be typed again."""
    return {found.group().rstrip(".,:;") for found in SPECIFIC.finditer(text) if len(found.group()) >= 4}


def needed(messages: Sequence[Message], cut: int) -> set[str]:
    """Of a session that is cut behind so many messages."""
    past, future = events(list(messages[:cut])), events(list(messages[cut:]))
    results = [one for one in past if one.kind == "result"]
    visible = "\n".join(one.text for one in (*(e for e in past if e.kind != "result"), *results[-KEPT:]))
    held = set[str]().union(*(specifics(one.text) for one in results[:-KEPT]))
    seen, wanted = set[str](), set[str]()
    for one in future:
        own = specifics(one.text)
        if one.kind == "called" or (one.kind == "said" and one.by_assistant):
            wanted |= {value for value in own & held - seen - wanted if not _whole(visible, value)}
        seen |= own
    return wanted


def _whole(text: str, value: str) -> bool:
    """Whether a value stands outside of every longer word."""
    at = text.find(value)
    while at >= 0:
        sides = text[at - 1 : at] if at else "", text[at + len(value) : at + len(value) + 1]
        if not any(one.isalnum() or one == "_" for one in sides):
            return True
        at = text.find(value, at + 1)
    return False


def _cuts(messages: list[Message]) -> Iterator[tuple[int, set[str]]]:
    at = [one.message for one in events(messages) if one.kind == "result"]
    for part in CUTS:
        cut = at[int(len(at) * part)] + 1
        wanted = needed(messages, cut) if messages[cut - 1]["role"] == "user" else set[str]()
        if len(wanted) >= FEWEST:
            yield cut, wanted


def _every_cut(messages: list[Message]) -> Iterator[tuple[int, set[str]]]:
    found = events(messages)
    at = [n for n, one in enumerate(found) if one.kind == "result"]
    for number in range(KEPT, len(at)):
        now = at[number]
        old = at[: number - KEPT + 1]
        hidden = View("\n".join(found[n].text for n in old))
        kept = View("\n".join(one.text for n, one in enumerate(found[: now + 1]) if n not in old))
        later = {value for one in found[now:] if one.kind == "called" for value in leaves(one.arguments)}
        long = {value for value in later if len(value) >= 4 and any(c.isdigit() for c in value)}
        wanted = {value for value in long if hidden.has(value) and not kept.has(value)}
        if wanted:
            yield found[now].message + 1, wanted


def measured(
    target: float, sources: Sequence[str] = SOURCES, sessions: int = SESSIONS, results: int = RESULTS
) -> dict[str, Needed]:
    """Source -> what was needed, `all` among them."""
    rng = random.Random(SEED)
    found = {"all": Needed()}
    for source, messages in chosen(sources, sessions, results):
        every = source == "tau-bench"
        for cut, wanted in (_every_cut if every else _cuts)(messages):
            before = messages[:cut]
            after = compacted(before, target, "later")
            view, kept = all_text(after), results_of(after)
            full = dict(list(results_of(before).items())[:-KEPT])
            size = {call: len(kept.get(call, "")) for call in full}
            cut_text = "\n".join(head_and_tail(text, size[call]) for call, text in full.items())
            lot = "\n".join(lines_by_lot(text, size[call], rng) for call, text in full.items())
            holds = stands if every else _whole
            for tally in (found["all"], found.setdefault(source, Needed())):
                tally.cuts += 1
                tally.wanted += len(wanted)
                tally.ours += sum(holds(view, value) for value in wanted)
                tally.head_and_tail += sum(holds(cut_text, value) for value in wanted)
                tally.by_lot += sum(holds(lot, value) for value in wanted)
                tally.size += sum(size.values())
                tally.of += sum(map(len, full.values()))
            found["all"].missed += sorted(value for value in wanted if not holds(view, value))
    return found


@dataclass(frozen=True)
class Later:
    """What the page takes: (sessions or tau-bench, target) -> source -> what was needed."""

    targets: dict[tuple[str, float], dict[str, Needed]]


def later() -> tuple[str, Later]:
    """The table by source, and the tallies."""
    found = {("sessions", target): measured(target) for target in TARGETS["sessions"]}
    found |= {("tau-bench", t): measured(t, ("tau-bench",), 10**6, KEPT + 1) for t in TARGETS["tau-bench"]}
    rows = [
        [f"{target:g}", source, str(one.cuts), str(one.wanted), *one.cells, f"{100 - share(one.size, one.of):.1f}"]
        for (_, target), by_source in found.items()
        for source, one in by_source.items()
        if source != "all" or len(by_source) > 2
    ]
    head = ("target", "source", "cuts", "needed", "ours %", "head+tail %", "lines by lot %", "results saved %")
    text = table(head, rows)
    for (where, target), by_source in found.items():
        missed = sorted(set(by_source["all"].missed))
        if missed:
            print(
                f"not in view, {where}, {target:g}:", *missed[:40], file=sys.stderr
            )  # of real sessions: never written
    return text, Later(found)
