"""A made session: what is looked for in it, and what a shorter list still has of it."""

from __future__ import annotations

import json
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
from .scoring import CLASSES, Source, View, share, specifics
from .shapes import Changer
from .strict import Homes, expanded

KEPT = 3
LEAST = 8
"""Values of a class from which it counts: a few do not sway the mean."""


@dataclass
class Scores:
    """One view of a session, per cent."""

    saved: float
    planted: float
    """In view, of the planted strings."""
    strict: float
    """Shown in context, of the natural values: the mean over their classes."""
    bare: float
    """In view anyhow, of the same."""
    cut: list[str] = field(default_factory=list[str])
    invented: list[str] = field(default_factory=list[str])


@dataclass
class Session:
    """A made session and what is looked for in it."""

    name: str
    file: Path
    messages: list[Message]
    needles: list[dict[str, Any]]
    scored: set[str] | None = None
    """The only natural values that count; None for all."""

    @cached_property
    def results(self) -> dict[str, str]:
        return results_of(self.messages)

    @cached_property
    def old(self) -> list[str]:
        return list(self.results)[:-KEPT]

    @cached_property
    def source(self) -> Source:
        return Source(all_text(self.messages))

    @cached_property
    def total(self) -> int:
        return count(self.messages)

    @cached_property
    def old_tokens(self) -> int:
        return sum(tokens(self.results[one]) for one in self.old)

    @cached_property
    def natural(self) -> dict[str, set[str]]:
        """Class -> values of the old results that stand nowhere else."""
        kept = list(self.results)[-KEPT:]
        outside = specifics("\n".join([rest_text(self.messages), *(self.results[one] for one in kept)]))
        found = {name: set[str]() for name in CLASSES}
        for one in self.old:
            for name, values in specifics(self.results[one]).items():
                found[name] |= values - outside[name]
        return {name: values if self.scored is None else values & self.scored for name, values in found.items()}

    @cached_property
    def values(self) -> set[str]:
        """All of them."""
        return set[str]().union(*self.natural.values())

    @cached_property
    def homes(self) -> Homes:
        return Homes((self.results[one] for one in self.old), self.values)

    @cached_property
    def bare_share(self) -> float:
        """Tokens of all natural values, bare, with a blank each, as per cent of the session's."""
        return 100 * sum(tokens(value) + 1 for value in self.values) / self.total

    def score(self, after: Sequence[Message]) -> Scores:
        """What is left in a shorter list."""
        text = all_text(list(after))
        lines = expanded(text)  # of everything: some programs put results elsewhere
        every = View("\n".join([text, *(line.text for line in lines)]))
        planted = sum(every.has(one["value"]) for one in self.needles)
        bare = {value for value in self.values if every.has(value)}
        strict = self.homes.shown(lines, self.values)
        unseen = bare - strict  # by a scorer's pattern: a neighbour may have grown the match
        strict |= {value for value in unseen if any(value in one.text and self.homes.fits(one, value) for one in lines)}
        cut, invented = self.source.strangers(specifics(text))
        return Scores(
            100 * (1 - count(after) / self.total),
            share(planted, len(self.needles)),
            self._mean(strict),
            self._mean(bare | strict),
            cut,
            invented,
        )

    def _mean(self, shown: set[str]) -> float:
        """Over the classes with enough values, per cent."""
        every = [share(len(own & shown), len(own)) for own in self.natural.values() if len(own) >= LEAST]
        return sum(every) / len(every) if every else 100.0

    def floor(self, name: str, saved: float) -> list[Message]:
        """The session with a floor's views in the place of old results, at about this saving."""
        left = max(0.0, self.total * (1 - saved / 100) - (self.total - self.old_tokens)) / self.old_tokens
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
    new = {value for values in changer.new.values() for value in values}
    return Session(f"{session.name}, changed", file, messages, truth, new)


@dataclass
class Compacted:
    """A compaction in a process of its own."""

    after: list[Message]
    call: dict[str, Any]
    run: Run
    home: Path


def compact(session: Session, target: float, folder: Path, *, home: Path | None = None, limit: int = 0) -> Compacted:
    """A new store unless one is given."""
    place = home or Path(tempfile.mkdtemp(prefix="home-", dir=folder))
    out = folder / "out.json"
    script = CHECKOUT / "benchmarks" / "quality" / "one_pass.py"
    arguments = ["compact", session.file, place, out, f"{target:.4f}", *([limit] if limit else [])]
    run = run_process([sys.executable, script, *map(str, arguments)])
    return Compacted(json.loads(out.read_bytes()), json.loads(run.output), run, place)
