"""What sessions say of one pattern.

One session has one vote for a pattern, however often it says it: success, unless anything in it failed. Because votes
are added by taking the higher of each part, an event that is read twice changes nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple

import msgspec

from .parse import Correction

MAX_MEMBERS = 6
_LINES_KEPT = 8

UNSAID, SEEN, SUCCESS, FAILURE = range(4)
"""What a session says of a pattern: of two, the higher one counts."""

Kind = Literal["rule", "query", "correction"]
Cause = Literal["", "rejected", "correction", "rubric", "relevance"]


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Everything said of one pattern within the window."""

    kind: Kind
    key: str
    """Hash of its normal form; of several that were merged, that of the first."""
    keys: tuple[str, ...]
    stance: str
    opposite: str
    members: tuple[str, ...]
    """Wordings as they came, the most frequent first: the first stands for all."""
    seen: int
    success: int
    failed: int
    seen_before: int = 0
    """The same three up to `Tally.mark`."""
    success_before: int = 0
    failed_before: int = 0
    rejected: bool = False
    causes: tuple[Cause, ...] = ()
    named_failure: bool = False
    """Some event named it as its failure mode."""
    corrections: tuple[Correction, ...] = ()
    """Of a correction: which way it points, as it came first."""
    first_day: int
    last_day: int
    last_success: int = 0
    """Newest success of a session in which nothing failed; 0: none."""
    last_failure: int = 0
    lines: tuple[int, ...] = ()
    """Places of its newest lines, as given to `Tally.add`."""


class Vote(NamedTuple):
    """What one session says of a pattern."""

    outcome: int
    before: int
    """Its outcome up to `Tally.mark`."""
    last_success: int
    """Ordinal of the day of its newest success; 0: none."""


@cache
def vote_of(outcome: int, day: int, *, is_new: bool) -> Vote:
    """The vote of a single mention. Cached, so that a hundred thousand equal votes are one object."""
    return Vote(outcome, UNSAID if is_new else outcome, day if outcome == SUCCESS else 0)


@dataclass(slots=True, eq=False)
class Group:
    """One normal form while it is counted."""

    kind: Kind
    stance: str
    opposite: str
    keys: tuple[str, ...]
    """Hashes of its normal form, and of those that were merged into it."""
    votes: dict[str | int, Vote] = field(default_factory=dict[str | int, Vote])
    """By session; without one all events of a day are one voter, known by the day's ordinal."""
    wordings: Counter[str] = field(default_factory=Counter[str])
    causes: Counter[Cause] = field(default_factory=Counter[Cause])
    lines: deque[int] = field(default_factory=lambda: deque(maxlen=_LINES_KEPT))
    days: set[int] = field(default_factory=set[int])
    last_failure: int = 0
    named: bool = False
    corrections: dict[Correction, None] = field(default_factory=dict[Correction, None])

    def add(self, voter: str | int, vote: Vote) -> None:
        """Count a vote; several of one voter are one."""
        held = self.votes.get(voter)
        self.votes[voter] = vote if held is None else Vote(*map(max, held, vote))

    def note(self, said: Correction) -> None:
        """Keep which way a correction points; the first few are enough."""
        if len(self.corrections) < MAX_MEMBERS:
            self.corrections[said] = None

    def cluster(self) -> Cluster:
        """What was counted."""
        now = Counter(vote.outcome for vote in self.votes.values())
        before = Counter(vote.before for vote in self.votes.values() if vote.before)
        successes = (vote.last_success for vote in self.votes.values() if vote.outcome == SUCCESS)
        ranked = sorted(self.wordings.items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0]))
        return Cluster(
            kind=self.kind,
            key=self.keys[0],
            keys=self.keys,
            stance=self.stance,
            opposite=self.opposite,
            members=tuple(text for text, _ in ranked[:MAX_MEMBERS]),
            seen=now.total(),
            success=now[SUCCESS],
            failed=now[FAILURE],
            seen_before=before.total(),
            success_before=before[SUCCESS],
            failed_before=before[FAILURE],
            rejected="rejected" in self.causes,
            causes=tuple(sorted(self.causes, key=lambda cause: (-self.causes[cause], cause))),
            named_failure=self.named,
            corrections=tuple(self.corrections),
            first_day=min(self.days),
            last_day=max(self.days),
            last_success=max(successes, default=0),
            last_failure=self.last_failure,
            lines=tuple(self.lines),
        )


def joined(groups: Sequence[Group]) -> Group:
    """Several normal forms as one: a session still has one vote."""
    first = groups[0]
    if len(groups) == 1:
        return first
    one = Group(first.kind, first.stance, first.opposite, tuple(key for group in groups for key in group.keys))
    for group in groups:
        for voter, vote in group.votes.items():
            one.add(voter, vote)
        one.wordings += group.wordings
        one.causes += group.causes
        one.days |= group.days
        one.last_failure = max(one.last_failure, group.last_failure)
        one.named = one.named or group.named
        for said in group.corrections:
            one.note(said)
    one.lines.extend(sorted(line for group in groups for line in group.lines))
    return one
