"""Planted and natural specifics on the peers' sessions: what is shown, what is in view, and what bounds it."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, Run, run_process
from peer_runs import made_sessions

from .arms import floors, in_batches, tokens
from .plants import planted_again
from .replay import Message, all_text, replaced, rest_text, results_of
from .scoring import CLASSES, Context, Source, View, macro, share, specifics
from .shapes import Changer

KEPT = 3
LEVELS = {"100k": (60, 70, 80), "100k23": (60, 70, 80), "1000k": (60, 70, 80, 90), "rows": (60, 70)}
"""Session -> per cent of its tokens that a point must save at least."""
_ROWS = re.compile(r"\[×(\d+) rows\]")
_LEDGER = re.compile(r" .* … |[a-z]+: ")
_NOTE = ("[palimpsest ", "[item ", "[×")


@dataclass
class Scores:
    """One view of a session."""

    saved: float
    planted: dict[str, tuple[float, float]]
    """`all`, `salient`, `plain` -> (shown in the item's own part, in view anywhere), per cent."""
    shown: float
    in_view: float
    """Natural specifics, macro over classes."""
    per_class: dict[str, tuple[int, int]]
    context: float
    context_with_heading: float
    cut: list[str] = field(default_factory=list[str])
    invented: list[str] = field(default_factory=list[str])


@dataclass
class Session:
    """A made session and what is looked for in it."""

    name: str
    file: Path
    messages: list[Message]
    needles: list[dict[str, Any]]
    scored: dict[str, set[str]] | None = None
    """Class -> the only natural values that count; None for all."""

    @cached_property
    def results(self) -> dict[str, str]:
        return results_of(self.messages)

    @cached_property
    def old(self) -> list[str]:
        return list(self.results)[:-KEPT]

    @cached_property
    def outside(self) -> str:
        """What never leaves: everything but old results."""
        kept = list(self.results)[-KEPT:]
        return "\n".join([rest_text(self.messages), *(self.results[one] for one in kept)])

    @cached_property
    def source(self) -> Source:
        return Source(all_text(self.messages))

    @cached_property
    def contexts(self) -> dict[str, Context]:
        return {one: Context(self.results[one]) for one in self.old}

    @cached_property
    def total(self) -> int:
        return count(self.messages)

    @cached_property
    def old_tokens(self) -> int:
        return sum(tokens(self.results[one]) for one in self.old)

    @cached_property
    def natural(self) -> dict[str, dict[str, set[str]]]:
        """Old result -> class -> values that stand nowhere outside the old results."""
        outside = specifics(self.outside)
        found: dict[str, dict[str, set[str]]] = {}
        for one in self.old:
            own = specifics(self.results[one])
            scored = own if self.scored is None else {name: own[name] & self.scored[name] for name in own}
            found[one] = {name: values - outside[name] for name, values in scored.items()}
        return found

    @cached_property
    def bare_tokens(self) -> int:
        """Of every scored specific of the old results once, with one blank each."""
        values = {value for own in self.natural.values() for group in own.values() for value in group}
        return sum(tokens(value) for value in values | {one["value"] for one in self.needles}) + len(values)

    @property
    def bound(self) -> float:
        """Per cent that could be saved if every old result vanished."""
        return 100 * self.old_tokens / self.total

    def room(self, saved: float) -> float:
        """Tokens left for old results at a saving, as a share of what all their specifics take bare, per cent."""
        left = self.total * (1 - saved / 100) - (self.total - self.old_tokens)
        return 100 * max(0.0, left) / self.bare_tokens

    def score(self, after: Sequence[Message], *, with_context: bool = True) -> Scores:
        """What is left in a shorter list."""
        found = results_of(list(after))
        parts = {one: found.get(one, "") for one in self.results}
        text = all_text(list(after))
        everywhere = View(text)
        planted = {group: self._planted(parts, everywhere, group) for group in ("all", "salient", "plain")}
        there = specifics(text)
        own_parts = {one: View(parts[one]) for one in self.old}
        shown: dict[str, tuple[int, int]] = {}
        view: dict[str, tuple[int, int]] = {}
        for name in CLASSES:
            pairs = [(one, value) for one in self.old for value in self.natural[one][name]]
            values = {value for _, value in pairs}
            own = sum(own_parts[one].has(value) for one, value in pairs)
            shown[name] = (own, len(pairs))
            view[name] = (sum(v in there[name] or everywhere.has(v) for v in values), len(values))
        cut, invented = self.source.strangers(there)
        near, wide = self._context(parts) if with_context else (0.0, 0.0)
        saved = 100 * (1 - count(after) / self.total)
        return Scores(saved, planted, macro(shown), macro(view), view, near, wide, cut, invented)

    def _planted(self, parts: dict[str, str], everywhere: View, group: str) -> tuple[float, float]:
        chosen = [one for one in self.needles if group == "all" or one["salient"] == (group == "salient")]
        own = sum(View(parts[one["tool_use_id"]]).has(one["value"]) for one in chosen)
        view = sum(everywhere.has(one["value"]) for one in chosen)
        return share(own, len(chosen)), share(view, len(chosen))

    def _context(self, parts: dict[str, str]) -> tuple[float, float]:
        """Shares of shown specifics with key or rarest word in their line; in their line or their table's heading."""
        near = wide = total = 0
        for one in self.old:
            if parts[one] == self.results[one]:
                continue
            context = self.contexts[one]
            heading, rows = "", 0
            for line in parts[one].split("\n"):
                if begun := _ROWS.fullmatch(line):
                    heading, rows = "", int(begun[1]) + 2
                if line.startswith(_NOTE):
                    continue
                rows = 0 if heading and _LEDGER.match(line) else max(0, rows - 1)
                heading = (heading or line) if rows else ""
                for values in specifics(line).values():
                    for value in values:
                        if context.knows(value):
                            total += 1
                            good = context.has(line, value)
                            near += good
                            wide += good or context.has(f"{line} {heading}", value)
        return share(near, total), share(wide, total)

    def floor(self, name: str, saved: float) -> list[Message]:
        """The session with a floor's views in the place of old results, at about this saving."""
        left = (self.total * (1 - saved / 100) - (self.total - self.old_tokens)) / self.old_tokens
        texts = [self.results[one] for one in self.old]
        views = in_batches(floors()[name], texts, [int(left * tokens(text)) for text in texts])
        return replaced(self.messages, dict(zip(self.old, views, strict=True)))


def count(messages: Sequence[Message]) -> int:
    """o200k tokens of everything a model reads in a list."""
    return tokens(rest_text(list(messages))) + sum(map(tokens, results_of(list(messages)).values()))


def load(name: str) -> Session:
    """One of the made sessions: the peers' where the shared folder has their scripts, else one of our own making."""
    file = made_sessions() / f"session_{name}.json"
    messages = json.loads(file.read_bytes())["messages"]
    truth = json.loads(file.with_suffix(".truth.json").read_bytes())["needles"]
    session = Session(name, file, messages, truth)
    old = set(session.old)
    session.needles = [one for one in truth if one["tool_use_id"] in old]
    return session


def changed(session: Session, folder: Path) -> Session:
    """The same session with every natural specific changed into a new one of its shape, and other strings planted."""
    changer = Changer(session.messages, ())
    messages = changer.messages(session.messages)
    views, truth = planted_again(messages, results_of(messages), session.old)
    messages = replaced(messages, views)
    file = folder / f"changed_{session.name}.json"
    file.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    return Session(f"{session.name}, changed", file, messages, truth, changer.new)


@dataclass
class Compacted:
    """A compaction in a process of its own."""

    target: float
    after: list[Message]
    call: dict[str, Any]
    run: Run
    home: Path
    out: Path


def compact(session: Session, target: float, folder: Path, *, home: Path | None = None, limit: int = 0) -> Compacted:
    """A new store unless one is given."""
    place = home or Path(tempfile.mkdtemp(prefix="home-", dir=folder))
    out = folder / "out.json"
    script = CHECKOUT / "benchmarks" / "quality" / "one_pass.py"
    arguments = ["compact", session.file, place, out, f"{target:.4f}", *([limit] if limit else [])]
    run = run_process([sys.executable, script, *map(str, arguments)])
    return Compacted(target, json.loads(out.read_bytes()), json.loads(run.output), run, place, out)


def compacted_to(session: Session, saved: float, folder: Path, *, first: float | None = None) -> Compacted | None:
    """The largest target that was found to save this much; None where none does."""
    target = first or 1 - saved / 100
    best: Compacted | None = None
    for _ in range(5):
        done = compact(session, target, folder)
        real = 100 * (1 - count(done.after) / session.total)
        if real >= saved and (best is None or target > best.target):
            best = done
        if real >= saved and (real - saved < 1.0 or first):
            break
        step = (real - saved) / 100 - (0.002 if real < saved else 0.0)
        target = max(0.01, target + step)
        if best is not None and target <= best.target:
            break
    return best
