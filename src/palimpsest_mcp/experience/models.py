"""Experience of skills: events that were logged, rules that were made of them, and what is reported about both.

Where the experience of skills is kept, and who may word it. Disk and memory pass one contract
(`palimpsest_mcp.testing.experience_contract`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date
from math import sqrt
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

Outcome = Literal["success", "failure", "partial"]
Feedback = Literal["accepted", "rejected", "correction"]
RuleKind = Literal["rule", "query", "correction"]
Section = Literal["active", "failures", "queries", "pending"]
Trigger = Literal["new_events", "new_bytes", "user_feedback", "session_end"]


class ExperienceEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One use of a skill: the seed's 18 fields in its order, and two of ours that may be absent."""

    ts: str
    """ISO-8601 with offset."""
    session_id: str | None = None
    skill: str
    group: str | None = None
    task_domain: str | None = None
    query_type: str | None = None
    input_shape: Any = None
    """The form of the input, never its words."""
    method: Any = None
    environment: dict[str, Any] = {}
    outcome: Outcome
    metrics: dict[str, Any] = {}
    """`yield, relevant, unique_sources, latency_ms, cost_usd, user_feedback, rubric_passed` and what else there was."""
    winning_pattern: str | None = None
    failure_mode: str | None = None
    good_query: str | None = None
    """A template, such as `{brand} {feature} 2026`."""
    bad_query: str | None = None
    evidence_refs: tuple[Any, ...] = ()
    promote_candidate: bool = False
    notes: str | None = None
    id: str | msgspec.UnsetType = msgspec.UNSET
    """The caller's own id; without one the event is known by its canonical hash."""
    origin: str | msgspec.UnsetType = msgspec.UNSET
    """Where the texts come from: `user`, `model`, `tool` or `web`. The last two never promote anything."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rule as the side file keeps it."""

    id: str
    """`r` and at least four hexadecimal digits; stays the same for the life of the rule."""
    kind: RuleKind
    section: Section
    text: str
    """As the digest has it: one line, redacted."""
    seen: int
    """Votes: one a session, an event without a session at most one a day."""
    success: int = 0
    failed: int = 0
    first_seen: date
    last_seen: date
    last_verified: date
    """The newest success; of a failure mode the newest failure."""
    lower_bound: float = 0.0
    """Wilson's, 95 %, of success."""
    keys: tuple[str, ...] = ()
    """Hashes of the normal forms that belong to it."""
    members: tuple[str, ...] = ()
    """Wordings that were seen, redacted; at most five."""
    events: tuple[str, ...] = ()
    """Identities of its newest events; at most eight."""
    conflict: str = ""
    """Id of a rule that says the opposite."""
    shown: bool = True


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern that was seen within the window and is no rule yet."""

    kind: RuleKind
    text: str
    why: str
    seen: int
    success: int
    failed: int


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction did, or with `planned` would do."""

    skill: str
    status: Literal["compacted", "nothing_to_do", "planned"]
    reason: str
    folder: str
    triggers: tuple[Trigger, ...] = ()
    events: int = 0
    """Distinct events of the last 30 days."""
    new_events: int = 0
    """Distinct events since the last compaction, whatever their age."""
    duplicates: int = 0
    damaged: int = 0
    """Lines that are no event; each counted once."""
    promoted: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    """Rules that went to Pending Revalidation."""
    removed: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    """Rules that contradict each other, or read like orders to an agent: for a person to decide."""
    waiting: tuple[Waiting, ...] = ()
    """Patterns that are no rules yet, and why; the nearest to one first, at most ten."""
    waiting_total: int = 0
    not_shown: int = 0
    rotated: str = ""
    """Archive that the log became, relative to the skill's folder."""
    snapshot: str = ""
    diff: str = ""
    """Unified, of `experience.md`."""
    text: str = ""
    """`experience.md` after it."""
    notes: tuple[str, ...] = ()


class SkillStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One skill in `experience status`."""

    skill: str
    folder: str
    new_events: int
    """Distinct events since the last compaction; of more than a mebibyte of them, those in the first one."""
    new_bytes: int
    log_bytes: int
    damaged: int
    """Lines since the last compaction that are no event."""
    triggers: tuple[Trigger, ...] = ()
    rules: int = 0
    queries: int = 0
    failures: int = 0
    pending: int = 0
    not_shown: int = 0
    archives: int = 0
    snapshots: int = 0
    last_compacted: str = ""
    lines: int = 0
    """Of `experience.md`."""


class EventRecorded(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `record_experience`."""

    skill: str
    event_id: str
    new_events: int
    new_bytes: int
    triggers: tuple[Trigger, ...]
    """Conditions for a compaction that are met now."""
    folder: str
    redacted: dict[str, int] = {}
    """Masked spans by kind."""
    warnings: tuple[str, ...] = ()


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a rule comes from."""

    skill: str
    rule: Rule
    events: tuple[dict[str, Any], ...]
    """The newest, oldest first, redacted: `event_id, ts, session_id, outcome, counts_as, text` and what weighed."""
    total: int
    notes: tuple[str, ...] = ()


class ExperienceView(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `experience show`."""

    status: SkillStatus
    text: str
    """`experience.md`; empty where there is none."""
    advice: str = ""
    """The same for whoever is about to use the skill: what to do, what to avoid, what worked."""
    rules: tuple[Rule, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    waiting_total: int = 0


class RolledBack(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `experience rollback`."""

    skill: str
    status: Literal["rolled_back", "nothing_to_do"]
    snapshot: str = ""
    diff: str = ""
    text: str = ""
    kept_as: str = ""
    """Where the text that was replaced is kept."""


# How much success can be relied on after a few votes.


_Z = 1.959964
"""95 %, two-sided."""


def lower_bound(success: int, seen: int) -> float:
    """Lower end of Wilson's score interval (1927) for a share; 0.0 without votes. 3 of 3 gives 0.438, 4 of 5 0.376."""
    if seen <= 0:
        return 0.0
    # A footer that was changed by hand may claim more successes than votes.
    share, square = min(success, seen) / seen, _Z * _Z
    middle = share + square / (2 * seen)
    spread = _Z * sqrt(share * (1 - share) / seen + square / (4 * seen * seen))
    return max(0.0, (middle - spread) / (1 + square / seen))


LIVE_LOG = "experience/patterns.jsonl"
"""The log that is appended to, relative to a skill's folder."""
ARCHIVE_FOLDER = "experience/archive"

SkillFile: TypeAlias = Literal["digest", "side"]
"""`digest`: `experience.md` in the skill's folder. `side`: our own notes about it, under our own root."""


class SkillPlace(msgspec.Struct, frozen=True):
    """Where a skill's experience is."""

    name: str
    key: str
    """Names the folder under our own root; differs for two skills of one name."""
    folder: str
    seed: str = ""
    """Folder of a bundled digest that is only read, as long as there is none of our own."""


class LogPart(msgspec.Struct, frozen=True):
    """One file of a skill's log."""

    name: str
    """Relative to the skill's folder: `LIVE_LOG`, or an archive's."""
    size: int
    head: str
    """Hash of its first line, by which it is known under a new name; empty while it has no whole line."""


class ExperienceLog(Protocol):
    """Append-only lines of skills. What was acknowledged survives a crash of process and machine."""

    async def append(self, place: SkillPlace, line: bytes) -> None:
        """Write one line, newline included, flushed. Processes take turns; nothing before it changes, but that a torn
        tail which somebody left is closed by a newline.

        Raises:
            WriteFailed, LockTimeout: the line does not count as written.
        """
        ...

    async def parts(self, place: SkillPlace) -> tuple[LogPart, ...]:
        """Every file of the log: archives in the order of their names, the live log last. Each line stands in one.

        Raises:
            LockTimeout: somebody who takes no lock renames them again and again.
        """
        ...

    def blocks(self, place: SkillPlace, part: LogPart, start: int = 0) -> AsyncIterator[bytes]:
        """Bytes of a part from an offset to the size it was listed with, cut behind newlines; the last block may end
        without one."""
        ...

    async def blank(self, place: SkillPlace, mask: Callable[[str], str]) -> bool:
        """Put in the place of every line what a mask makes of it, of the same size, in every part; appends wait
        meanwhile. Returns whether a line changed.

        Args:
            mask: gives a text of as many bytes back.

        Raises:
            WriteFailed, LockTimeout: some parts may be as they were; ask again.
        """
        ...

    async def rotate(self, place: SkillPlace, month: str) -> str:
        """Give the live log the name of an archive and start an empty one; nothing is copied or deleted, and appends
        wait meanwhile.

        Args:
            month: `YYYY-MM`; a suffix is added when the name is taken.

        Returns:
            The archive's name, relative to the skill's folder; empty when there is no log.

        Raises:
            WriteFailed, LockTimeout: the log is as it was.
        """
        ...


class ExperienceFiles(Protocol):
    """Small files that are read and replaced as a whole: after a crash the old or the new one, never half."""

    async def read(self, place: SkillPlace, file: SkillFile) -> bytes | None:
        """The file's bytes; None when it is not there. The digest falls back to the seed's."""
        ...

    async def replace(self, place: SkillPlace, file: SkillFile, data: bytes | None) -> None:
        """Put a file in the place of the old one, flushed; None removes it.

        Raises:
            WriteFailed: the old one still stands.
        """
        ...

    async def snapshots(self, place: SkillPlace) -> tuple[str, ...]:
        """Names of the snapshots, oldest first."""
        ...

    async def snapshot(self, place: SkillPlace, name: str) -> bytes | None:
        """A snapshot's bytes."""
        ...

    async def keep_snapshot(self, place: SkillPlace, name: str, data: bytes | None) -> None:
        """Write a snapshot, flushed; None removes it."""
        ...


class Experience(Protocol):
    """Experience of skills: where each is, its log, its files."""

    @property
    def log(self) -> ExperienceLog: ...
    @property
    def files(self) -> ExperienceFiles: ...

    async def find(self, skill: str, *, create: bool = False) -> SkillPlace:
        """The one folder of a skill under the roots. A longer path such as `channels/search-x` names one of several.

        Args:
            create: where no root has it, name a folder under our own root for it.

        Raises:
            InvalidArgument: the name could lead elsewhere.
            SkillAmbiguous, SkillUnknown: none, or several.
        """
        ...

    async def skills(self) -> tuple[SkillPlace, ...]:
        """Every skill with a log or a digest of our own, by name."""
        ...

    def lock(self, place: SkillPlace) -> AbstractAsyncContextManager[None]:
        """Held by the one compaction a skill may have at a time, over processes; freed when its holder dies.

        Raises:
            LockTimeout: on entry, when another one takes too long.
        """
        ...


class RuleDraft(msgspec.Struct, frozen=True):
    """A group of patterns before it has its words."""

    id: str
    texts: tuple[str, ...]
    """Redacted wordings, the most frequent first."""


class WordedRule(msgspec.Struct, frozen=True):
    """A proposal: these drafts are one rule, and it reads so."""

    ids: tuple[str, ...]
    text: str


class RuleWriter(Protocol):
    """Groups and words rules. It proposes; code verifies that a proposal adds nothing, and counts."""

    @property
    def name(self) -> str:
        """Goes into the report."""
        ...

    async def word(self, drafts: Sequence[RuleDraft]) -> tuple[WordedRule, ...]:
        """Proposals, in any order, for some or all drafts.

        Raises:
            WordingFailed: no answer in time, or none that can be read.
        """
        ...


class WordingFailed(Exception):
    """A rule writer gave nothing usable; its text says why, and quotes nothing."""
