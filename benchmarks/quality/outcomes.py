"""What was the result? Of the replaced results that say how something went, the share whose digest still says it.

A line says so if it matches OUTCOME; a result is *told* if the first 60 characters of one such line, blanks squeezed,
stand in its digest. Results with more than 25 such lines are logs and are left out. Floors have as many characters.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from measuring import table

from .passes import compacted, head_and_tail, lines_by_lot
from .real import chosen
from .replay import results_of
from .scoring import share

SOURCES = (
    "pi-mono", "spotter", "openhands", "openhands-sdk", "swe-agent", "deer-flow", "deepagents", "tau-bench",
    "toolbench",
)  # fmt: skip
TARGETS = (0.3, None)
SESSIONS = 10
"""Of each source, at most."""
RESULTS = 6
MOST = 25
LONGEST = 400
SEED = 1
OUTCOME = re.compile(
    "(?i)"
    + "|".join(
        (
            r"\b\d+ (?:tests?|examples|passed|failed|failures?)\b.*\b(?:fail\w*|pass\w*|error\w*|skipped)",
            r"passed successfully",
            r"total errors?: ?\d",
            r"successfully (?:installed|created|updated|applied|built|copied|wrote|written|uninstalled)",
            r"has been (?:created|updated|edited|written)",
            r"file (?:updated|created|written|edited)",
            r"text replaced",
            r"syntax error",
            r"^\s*\**\(?[A-Z]\w*(?:Error|Exception)\b",
            r"\berror: ",
            r"^error\b",
            r"^fatal: ",
            r"command not found",
            r"no such file",
            r"permission denied",
            r"not found\b",
            r"no matches",
            r"no (?:files|results) found",
            r"exit(?:ed)? (?:code|status|with)\W*\d+",
            r"build (?:succeeded|failed)",
            r"compilation (?:error|failed)",
            r"nothing to commit",
            r"is not (?:installed|supported|allowed|available)",
            r"timed? ?out",
            r"refused|denied",
            r"traceback",
            r"segmentation fault",
            r"assert\w* failed",
            r"\bFAIL(?:ED)?\b",
            r"(?:completed|finished) in",
        )
    )
)


@dataclass
class Told:
    """Results with an outcome, and how many of them each arm still tells."""

    results: int = 0
    ours: int = 0
    head_and_tail: int = 0
    by_lot: int = 0
    missed: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """(source, its last outcome line, the digest)."""

    @property
    def cells(self) -> list[str]:
        return [f"{share(one, self.results):.1f}" for one in (self.ours, self.head_and_tail, self.by_lot)]


def outcome_lines(text: str) -> list[str]:
    """Lines that say how it went."""
    return [line.strip() for line in text.split("\n") if len(line) < LONGEST and OUTCOME.search(line)]


def is_told(lines: Sequence[str], view: str) -> bool:
    """Whether one of these lines stands in a view."""
    squeezed = _squeezed(view)
    return any(_squeezed(line)[:60] in squeezed for line in lines)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def measured(
    target: float | None, sources: Sequence[str] = SOURCES, sessions: int = SESSIONS
) -> tuple[dict[str, Told], int]:
    """(source -> what was told, `all` among them; characters of all digests)."""
    rng = random.Random(SEED)
    found = {"all": Told()}
    size = 0
    for source, messages in chosen(sources, sessions, RESULTS):
        before, after = results_of(messages), results_of(compacted(messages, target, "o"))
        for call, text in before.items():
            digest = after.get(call, "")
            if digest == text:
                continue
            size += len(digest)
            lines = outcome_lines(text)
            if not lines or len(lines) > MOST:
                continue
            told = is_told(lines, digest)
            cut = is_told(lines, head_and_tail(text, len(digest)))
            lot = is_told(lines, lines_by_lot(text, len(digest), rng))
            for tally in (found["all"], found.setdefault(source, Told())):
                tally.results += 1
                tally.ours += told
                tally.head_and_tail += cut
                tally.by_lot += lot
            if not told:
                found["all"].missed.append((source, lines[-1], digest))
    return found, size


@dataclass(frozen=True)
class Outcomes:
    """What the page takes: target (None: the policy's) -> source -> what was told."""

    targets: dict[float | None, dict[str, Told]]


def outcomes() -> tuple[str, Outcomes]:
    """The table by source, and the tallies."""
    found = {target: measured(target)[0] for target in TARGETS}
    rows = [
        [_target(target), source, str(one.results), *one.cells]
        for target, by_source in found.items()
        for source, one in by_source.items()
    ]
    text = table(("target", "source", "results", "ours %", "head+tail %", "lines by lot %"), rows)
    for target, by_source in found.items():
        missed = by_source["all"].missed
        random.Random(SEED).shuffle(missed)
        for source, line, digest in missed[:8]:
            shown = " / ".join(digest.split("\n"))[:160]
            # Pieces of real sessions are for whoever runs it, and never written.
            print(f"not told, {_target(target)}, {source}: {line[:110]} | {shown}", file=sys.stderr)
    return text, Outcomes(found)


def _target(target: float | None) -> str:
    return "policy" if target is None else f"{target:g}"
