"""What each constant of the engine moves: the judges with it, and without.

A row takes one constant away (or one step: a reader, a kind of template, the prior) and runs a small setting again:
records of known owner, a few real sessions for outcomes and later use, one made session for values in context. Seeded,
and the same passes in every row. A constant that moves nothing should go; a test wants a row for each that there is.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import table

from palimpsest_mcp.context import fit
from palimpsest_mcp.digest import (
    blocks,
    choice,
    draft,
    engine,
    fill,
    item,
    lines,
    object_outline,
    outline,
    rank,
    runs,
    source,
    study,
    templates,
)
from palimpsest_mcp.digest.readers import READERS
from palimpsest_mcp.digest.records import Kind

from . import later, outcomes, owners
from .arms import tokens
from .passes import compacted
from .replay import results_of
from .sessions import Session, changed, load

SHARE = 0.3
NEVER = 10**9
ROWS_OF_A_TEXT = 30
FAST = (("spotter", "deer-flow", "tau-bench"), 3)
FULL = (("pi-mono", "spotter", "deer-flow", "tau-bench"), 10)
"""Sources of outcomes, and sessions of each; `ABLATION=full` takes twice as long and counts three times as many."""
FIGURES = ("owned %", "outcomes %", "later %", "in context %")
NOTHING = 0.05
"""Points below which a figure has not moved; per cent, of tokens."""
_PLAIN = rank.KIND["line"]
_NEED = rank.Need

Change = tuple[Any, str, Any]
"""(module, name in it, what stands there instead)."""


@dataclass(frozen=True)
class Figures:
    """One row: per cent of each judge, and tokens of all that stands for old results."""

    shares: tuple[float, ...]
    tokens: int


def _kind(kind: Kind) -> list[Change]:
    """As a plain line; what is worth that much already is worth nothing."""
    return [(rank, "KIND", {**rank.KIND, kind: 0.0 if rank.KIND[kind] == _PLAIN else _PLAIN})]


def _reader(name: str) -> list[Change]:
    return [(source, "READERS", tuple(one for one in READERS if one.name != name))]


def _flat(_form: str) -> Mapping[str, float]:
    gains = [float(cell["gain"]) for cell in rank._prior()["class"].values()]  # pyright: ignore[reportPrivateUsage]
    return dict.fromkeys(rank._prior()["class"], sum(gains) / len(gains))  # pyright: ignore[reportPrivateUsage]


def _without_focus(form: str, _focus: Sequence[str] = (), *rest: Any, **named: Any) -> rank.Need:
    return _NEED(form, (), *rest, **named)


def _unmarked(reading: Any, **_told: Any) -> list[int]:
    return [n for n, record in enumerate(reading.records) if record.kind == "outcome"]


def _no_number(*_given: Any) -> None:
    return None


def _unsaid(*_given: Any, **_told: Any) -> str:
    return ""


def _none(*_given: Any) -> tuple[Any, ...]:
    return ()


ROWS: dict[str, list[Change]] = {
    **{f"rank.KIND {kind}": _kind(kind) for kind in rank.KIND},
    "rank.WHOLE": [(rank, "WHOLE", 1)],
    "rank.SENTENCE": [(rank, "SENTENCE", rank.WHOLE)],
    "rank.COMMON": [(rank, "COMMON", 0.0)],
    "rank.EXAMPLE": [(rank, "EXAMPLE", 1.0)],
    "rank.FOCUS": [(rank, "FOCUS", 0.0)],
    "rank.FOCUS_MOST": [(rank, "FOCUS_MOST", NEVER)],
    "rank.RARE": [(rank, "RARE", 0.0)],
    "rank.NAMED": [(rank, "NAMED", 1.0)],
    "rank.FEW_ASKED": [(rank, "FEW_ASKED", NEVER)],
    "rank.WANTED": [(rank, "WANTED", 0.0)],
    "rank.ASKED": [(rank, "ASKED", 1.0)],
    "rank.USER": [(rank, "USER", 0.0)],
    "rank.UNKNOWN": [(rank, "UNKNOWN", 0.0)],
    "rank.VALUE": [(rank, "VALUE", 0.0)],
    "rank.SMALL": [(rank, "SMALL", 0)],
    "rank.FADE": [(rank, "FADE", 0.0)],
    "rank.FIRST": [(rank, "FIRST", 0.0)],
    "rank._PROSE": [(rank, "_PROSE", frozenset())],
    "rank.NAME": [(rank, "NAME", 0.0)],
    "rank.NAME_AGAIN": [(rank, "NAME_AGAIN", 0.0)],
    "rank.CALLED": [(rank, "CALLED", 0.0)],
    "rank.NAME_MOST": [(rank, "NAME_MOST", NEVER)],
    "rank.NAMES_HALF": [(rank, "NAMES_HALF", NEVER)],
    "rank.SHORTEST": [(rank, "SHORTEST", 1)],
    "rank.LONGEST": [(rank, "LONGEST", NEVER)],
    "rank.COMMON_WORDS": [(rank, "COMMON_WORDS", frozenset())],
    "rank.FORMS": [(rank, "FORMS", {})],
    "rank._LONG_ENOUGH_FOR_HEX": [(rank, "_LONG_ENOUGH_FOR_HEX", NEVER)],
    "rank._NO_NAMES": [(rank, "_NO_NAMES", frozenset())],
    "fill._SHARED": [(fill, "_SHARED", 1)],
    "fill._HEAD": [(fill, "_HEAD", 0)],
    "lines._HEAD": [(lines, "_HEAD", 0)],
    "fill._RUN": [(fill, "_RUN", 1)],
    "lines.FEW": [(lines, "FEW", 0)],
    "lines.SHORT": [(lines, "SHORT", NEVER)],
    "fill._AS": [(fill, "_AS", 0)],
    "item.DEEP": [(item, "DEEP", 1)],
    "item._OUTER": [(item, "_OUTER", 0.0)],
    "runs._PASSAGE": [(runs, "_PASSAGE", 1)],
    "runs.FULL_LINE": [(runs, "FULL_LINE", NEVER), (item, "FULL_LINE", NEVER)],
    "runs.HALF_LINE": [(runs, "HALF_LINE", NEVER), (item, "HALF_LINE", NEVER)],
    "runs._TOLD_TOGETHER": [(runs, "_TOLD_TOGETHER", 0)],
    "runs._FEW_POINTS": [(runs, "_FEW_POINTS", 0)],
    "runs.SPOKEN_KINDS": [(runs, "SPOKEN_KINDS", frozenset()), (item, "SPOKEN_KINDS", frozenset())],
    "runs._ORDERED": [(runs, "_ORDERED", frozenset())],
    "item._SHORT_TABLE": [(item, "_SHORT_TABLE", 0)],
    "fill._NAMES": [(fill, "_NAMES", 0)],
    "fill._NAMES_SHARE": [(fill, "_NAMES_SHARE", NEVER)],
    "fill._NAMES_LEAST": [(fill, "_NAMES_LEAST", 0)],
    "fill._NEIGHBOURS": [(fill, "_NEIGHBOURS", 0)],
    "item.OUTCOMES": [(item, "OUTCOMES", 0)],
    "names of code without a place": [(item, "_PLACES", 0)],
    "item._NO_TEMPLATES": [(item, "_NO_TEMPLATES", frozenset())],
    "lines._NESTED": [(lines, "_NESTED", frozenset())],
    "fill._OWN": [(fill, "_OWN", 0.0)],
    "fill._FEW_ROWS": [(fill, "_FEW_ROWS", 0)],
    "item._LEADING": [(item, "_LEADING", float(NEVER))],
    "fill._WORTH": [(fill, "_WORTH", 0.0)],
    "blocks.LINE": [(blocks, "LINE", NEVER)],
    "blocks.ROW": [(blocks, "ROW", NEVER)],
    "blocks.MANY": [(blocks, "MANY", NEVER)],
    "blocks.COLUMNS": [(blocks, "COLUMNS", 2)],
    "blocks.SPOKEN": [(blocks, "SPOKEN", NEVER)],
    "blocks._PASSAGE": [(blocks, "_PASSAGE", 40)],
    "item._EARLY": [(item, "_EARLY", NEVER)],
    "blocks._LABEL": [(blocks, "_LABEL", 0)],
    "blocks._LONGEST": [(blocks, "_LONGEST", NEVER)],
    "blocks._MOST": [(blocks, "_MOST", NEVER)],
    "study.MOST_CHARS": [(study, "MOST_CHARS", 0)],
    "study._ALIKE": [(study, "_ALIKE", NEVER)],
    "study._WIDE": [(study, "_WIDE", 2)],
    "blocks._LONG": [(blocks, "_LONG", NEVER)],
    "blocks._TRIES": [(blocks, "_TRIES", 1)],
    "blocks._CUT_LINE": [(blocks, "_CUT_LINE", blocks._LONG)],  # pyright: ignore[reportPrivateUsage]
    "blocks._CUT_CELL": [(blocks, "_CUT_CELL", blocks._LONG)],  # pyright: ignore[reportPrivateUsage]
    "blocks._CONSTANT": [(blocks, "_CONSTANT", NEVER)],
    "templates.LEAST": [(templates, "LEAST", 2)],
    "templates.LINES": [(templates, "LINES", NEVER)],
    "templates._SAVES": [(templates, "_SAVES", 1.0)],
    "templates off": [(source, "mined", _none)],
    "templates over lines off": [(templates, "_over_lines", _none)],
    "templates of one number off": [(templates, "_one_number", _no_number)],
    "templates of folders off": [(templates, "_folders", _none)],
    "templates of hits off": [(templates, "_hits", _none)],
    "draft._CHECKS": [(draft, "_CHECKS", 1)],
    "engine._ROUNDS": [(engine, "_ROUNDS", 1)],
    "engine._NEAR": [(engine, "_NEAR", 1.0)],
    "choice._CARRIED": [(choice, "_CARRIED", 0.0)],
    "choice._OUTCOME": [(choice, "_OUTCOME", NEVER)],
    "choice._BRIEF_OUTCOME": [(choice, "_BRIEF_OUTCOME", NEVER)],
    "choice._PLAINLY": [(choice, "_PLAINLY", NEVER)],
    "choice._FEW_RECORDS": [(choice, "_FEW_RECORDS", 0)],
    "draft._SHAPE": [(draft, "_SHAPE", 0)],
    "draft._BRIEF_SHAPE": [(draft, "_BRIEF_SHAPE", 0)],
    "draft._OBJECT": [(draft, "_OBJECT", 1)],
    "draft._FEW_LINES": [(draft, "_FEW_LINES", NEVER)],
    "draft._LONG_LEFT": [(draft, "_LONG_LEFT", NEVER)],
    "engine._WIDER": [(engine, "_WIDER", ())],
    "study._MANY_LINKS": [(study, "_MANY_LINKS", NEVER)],
    "study._NAME": [(study, "_NAME", 0)],
    "study._NEXT": [(study, "_NEXT", 1.0)],
    "object_outline._LISTS": [(object_outline, "_LISTS", 0.4)],
    "object_outline.COLUMNS": [(object_outline, "COLUMNS", 1), (outline, "COLUMNS", 1)],
    "outline._BEFORE": [(outline, "_BEFORE", 1.0)],
    "object_outline._TINY": [(object_outline, "_TINY", 0)],
    "object_outline._NAMED": [(object_outline, "_NAMED", 0)],
    "object_outline._VALUE": [(object_outline, "_VALUE", 0)],
    "object_outline._SHARED": [(object_outline, "_SHARED", 0.0)],
    "object_outline.FEW_ROWS": [(object_outline, "FEW_ROWS", 0), (outline, "FEW_ROWS", 0)],
    "outline._HITS": [(outline, "_HITS", 0)],
    "outline._LISTED": [(outline, "_LISTED", 0)],
    "outline._DEFINED_TOO": [(outline, "_DEFINED_TOO", 0)],
    "outline._ERRORS, _SAID": [(outline, "_ERRORS", 60), (outline, "_SAID", 0)],
    "outline._MOST_SECTIONS": [(outline, "_MOST_SECTIONS", 0)],
    "object_outline._MARK": [(object_outline, "_MARK", 0)],
    "object_outline._DAY": [(object_outline, "_DAY", 0)],
    "not shown: unsaid": [(draft, "unshown", _unsaid)],
    "draft._LONG_TABLE": [(draft, "_LONG_TABLE", NEVER)],
    "draft._SOME_ROWS": [(draft, "_SOME_ROWS", 1)],
    "engine._FEW_TOKENS": [(engine, "_FEW_TOKENS", 1)],
    "choice.FEW_SHARE": [(choice, "FEW_SHARE", 0.0001)],
    "engine._WORTHWHILE": [(engine, "_WORTHWHILE", 0.0)],
    "engine._MOSTLY": [(engine, "_MOSTLY", 0.0)],
    "draft._ROOMY": [(draft, "_ROOMY", 0.0)],
    "draft._LARGE": [(draft, "_LARGE", 0.0)],
    "draft._LARGEST": [(draft, "_LARGEST", 1)],
    "object_outline.OVER": [(object_outline, "OVER", 0), (outline, "OVER", 0)],
    "object_outline._INNER_NAMES": [(object_outline, "_INNER_NAMES", 0)],
    "rank.MEMBER": [(rank, "MEMBER", 1.0)],
    "item._FEW_ROWS": [(item, "_FEW_ROWS", 0)],
    "blocks._NEAR": [(blocks, "_NEAR", 0)],
    "engine._SILENCINGS": [(engine, "_SILENCINGS", 0)],
    "choice._SAME": [(choice, "_SAME", 2.0)],
    "choice._LEAST_SAME": [(choice, "_LEAST_SAME", 1)],
    "engine._BETTER": [(engine, "_BETTER", 1.0)],
    "choice._WORD_CELL": [(choice, "_WORD_CELL", 0.0)],
    "choice._DERIVED": [(choice, "_DERIVED", 1.0)],
    "choice._STATE": [(choice, "_STATE", 1.0)],
    "choice.FULL": [(choice, "FULL", 1.0)],
    "choice.WIDE": [(choice, "WIDE", NEVER)],
    "choice._SAMPLED": [(choice, "_SAMPLED", NEVER)],
    "item._KEPT": [(item, "_KEPT", 0)],
    "draft._PARTS": [(draft, "_PARTS", 0)],
    "fit.MISSED": [(fit, "MISSED", 0.0)],
    "prior: one gain for all classes": [(rank, "_rates", _flat)],
    "focus off": [(choice, "Need", _without_focus)],
    "cues off": [(study, "mark", _unmarked)],
    **{f"reader {one.name} off": _reader(one.name) for one in READERS},
}
"""What is taken away -> how."""
MODULES = (
    rank,
    fill,
    item,
    runs,
    lines,
    blocks,
    templates,
    choice,
    draft,
    engine,
    source,
    study,
)  # fit and the outlines: a few of each


_made: list[Session] = []
"""In each process the made session, changed; put together once, by the process that starts the others."""


def users(module: Any, name: str) -> list[Any]:
    """The module, and those that import this name of it."""
    return [one for one in MODULES if one is module or vars(one).get(name) is getattr(module, name) and name[0] != "_"]


def small(changes: Sequence[Change] = ()) -> Figures:
    """The judges in a small setting, with some names of the engine changed."""
    places = [(user, name, value) for module, name, value in changes for user in users(module, name)]
    kept = [(module, name, getattr(module, name)) for module, name, _ in places]
    try:
        for module, name, value in places:
            setattr(module, name, value)
        ours, _ = owners.measured(SHARE, rows=ROWS_OF_A_TEXT)
        told, size = outcomes.measured(SHARE, *FULL if os.environ.get("ABLATION") == "full" else FAST)
        used = later.measured(SHARE, ("spotter",), 1)["all"]
        (session,) = _made
        after = compacted(session.messages, SHARE)
        views = results_of(after)
        kept_tokens = ours.tokens + sum(tokens(views[one]) for one in session.old) + (size + used.size) // 3
        shares = (
            ours.shares["owned"],
            100 * told["all"].ours / max(1, told["all"].results),
            100 * used.ours / max(1, used.wanted),
            session.score(after).strict,
        )
        return Figures(shares, kept_tokens)
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def _given(session: Session) -> None:
    _made[:] = [session]


def _row(name: str) -> Figures:
    found = small(ROWS[name] if name else ())
    print(f"{name or 'all of it'}: {found}", file=sys.stderr, flush=True)  # a long run that is ended has said something
    return found


@dataclass(frozen=True)
class Ablation:
    """All rows; `full` is the engine as it is."""

    full: Figures
    rows: dict[str, Figures]

    def moved(self, name: str) -> float:
        """The most that a figure moved, points or per cent of the tokens."""
        one = self.rows[name]
        points = [abs(a - b) for a, b in zip(one.shares, self.full.shares, strict=True)]
        return max(*points, abs(100 * (one.tokens / self.full.tokens - 1)))

    def cells(self, names: Sequence[str]) -> list[list[str]]:
        """The engine as it is, then what each row is without it: the difference."""
        first = ["all of it", *(f"{one:.1f}" for one in self.full.shares), f"{self.full.tokens:,}"]
        return [first, *([f"without {name}" if " off" not in name else name, *self._moves(name)] for name in names)]

    def _moves(self, name: str) -> list[str]:
        one = self.rows[name]
        moves = [a - b for a, b in zip(one.shares, self.full.shares, strict=True)]
        more = 100 * (one.tokens / self.full.tokens - 1)
        return [*("" if abs(move) < NOTHING else f"{move:+.1f}" for move in moves), f"{more:+.1f} %"]


def ablation(names: Sequence[str] = tuple(ROWS), jobs: int = 0) -> tuple[str, Ablation]:
    """The table of all rows, and the rows. Without a number as many processes as there are cores."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-quality-") as folder:
        twin = changed(load("100k"), Path(folder))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs or os.cpu_count() or 1, context, _given, (twin,)) as pool:
        full, *rest = pool.map(_row, ["", *names])
    found = Ablation(full, dict(zip(names, rest, strict=True)))
    idle = [name for name in names if found.moved(name) < NOTHING]
    text = table(("engine", *FIGURES, "tokens"), found.cells(names))
    return f"{text}\n\nMoves nothing in this setting: {', '.join(idle) or 'none'}.", found
