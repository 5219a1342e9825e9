"""Probes: questions made from originals, which what stays in the context must still answer (seed 003)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from .text import counted

ProbeType: TypeAlias = Literal[
    "intent",
    "file_path",
    "file_changes",
    "decision",
    "rationale",
    "error",
    "resolution",
    "blocker",
    "progress",
    "next_steps",
    "recall",
    "outcome",
    "owner",
    "standing_order",
]
ProbeState: TypeAlias = Literal["passed", "passed with a warning", "failed", "not enough to judge", "not validated"]
"""`failed`: a critical probe failed, or less than 70 % passed. `not enough to judge`: fewer than ten were asked, and no
critical one failed. `not validated`: nothing could be asked that only what left can answer."""


def net_share(passed: int, asked: int, emptied: int) -> float | None:
    """What is answered beyond the control, of what the control leaves open; None where that is nothing."""
    return max(0, passed - emptied) / (asked - emptied) if asked > emptied else None


class ProbeCount(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The probes of one type."""

    passed: int = 0
    total: int = 0
    critical_failed: int = 0


class FailedProbe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that what stays does not answer."""

    type: ProbeType
    question: str
    expected: tuple[str, ...]
    """All of them must stand in one passage, case and all. Redacted; empty where the original cannot be read."""
    critical: bool = False
    item_id: str = ""
    """The item that the question was made from."""
    batch_id: str = ""
    """The batch whose digest should answer it; empty where no digest was to."""


class JudgedProbes(msgspec.Struct, frozen=True, kw_only=True):
    """A model's second opinion: beside the verdict, never part of it."""

    author: str
    asked: int
    """Probes that it was shown: at most twelve, of items that are no longer there as they were."""
    answered: int
    """Of these, answered by what stays, as it sees it."""


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of the probes of a pass, or of a session as it stands."""

    state: ProbeState = "not validated"
    passed: int = 0
    total: int = 0
    emptied: int = 0
    """The control: of `total`, so many have all their values somewhere in what stays when every digest is emptied."""
    by_type: dict[str, ProbeCount] = {}
    """In the order of `ProbeType`; types without a probe are left out."""
    failed: tuple[FailedProbe, ...] = ()
    """The critical ones first; at most `MAX_FAILED`, `by_type` counts them all."""
    distractors: int = 0
    """Values that no original holds, asked in the same way; each must be answered "no"."""
    distractors_taken: int = 0
    """Of these, answered "yes": counted as failed probes too."""
    retries: int = 0
    """How often batches were made again, with more room or one by one."""
    kept_raw: int = 0
    """Batches that were not used, so that their items stay as they were."""
    elapsed_s: float | None = None
    """Seconds that asking took, over all rounds."""
    judged: JudgedProbes | None = None
    """None: nobody was asked (the default), or no answer came; then a note says why."""
    notes: tuple[str, ...] = ()

    @property
    def score(self) -> float | None:
        """(passed - emptied) / (total - emptied), 0.0-1.0: what the digests themselves answer; None for no question."""
        return net_share(self.passed, self.total, self.emptied)

    @property
    def line(self) -> str:
        """`passed with a warning: 36 of 42 (0 with the digests emptied; recall 22 of 28), 1 retry`."""
        if not self.total:
            return self.state
        lacking = [f"{name} {c.passed} of {c.total}" for name, c in self.by_type.items() if c.passed < c.total]
        if self.distractors_taken:
            lacking.append(f"{self.distractors_taken} of {self.distractors} distractors taken")
        beside = "; ".join([f"{self.emptied} with the digests emptied", *([", ".join(lacking)] if lacking else [])])
        words = f"{self.state}: {self.passed} of {self.total} ({beside})"
        if self.retries:
            words += f", {counted(self.retries, 'retry')}"
        return words + (f", {counted(self.kept_raw, 'batch')} kept raw" if self.kept_raw else "")


MAX_FAILED = 12
