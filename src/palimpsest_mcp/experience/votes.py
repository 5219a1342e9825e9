"""What sessions say of one pattern, eight bytes for each mention.

One session has one vote for a pattern, however often it says it: success, unless anything in it failed. Because a vote
is the sum of flags, an event that is read twice changes nothing.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import eq
from typing import Literal

import msgspec

from .parse import Correction

MAX_MEMBERS = 6
_LINES_KEPT = 8

SUCCESS, FAILURE, SEEN = 1, 2, 4
NEW = 1 << 3
_DAY, _SESSION = 4, 9
"""A vote is one number of 63 bits: flags, whether it came after the mark, its day (1 is the oldest of the window), and
a hash of its session. Eight bytes for each mention, and none for a dictionary."""
_HASH = (1 << 54) - 1
_LOW = (1 << _SESSION) - 1
_LOW_OF, _SESSION_OF = _LOW.__and__, _SESSION.__rrshift__
"""All but the session, and the session alone; as built-in functions, since there may be millions of votes."""

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


def ballot(session_id: str | None, day: int, new: int) -> int:
    """A vote without its flag: whose, of which day, and `NEW` or 0. Without a session all events of a day are one."""
    return (hash(session_id) & _HASH if session_id else day) << _SESSION | day << _DAY | new


class Group:
    """One normal form while it is counted."""

    __slots__ = (
        *("causes", "corrections", "hash", "keys", "kind", "lines", "named", "opposite", "place", "stance", "vote"),
        *("votes", "wordings"),
    )

    def __init__(self, kind: Kind, hashed: str, stance: str, opposite: str) -> None:
        self.kind: Kind = kind
        self.hash = hashed
        self.keys: tuple[str, ...] = (hashed,)
        self.stance = stance
        self.opposite = opposite
        self.votes = array("Q")
        self.vote = self.votes.append
        self.wordings: Counter[str] = Counter()
        self.causes: dict[Cause, int] = {}
        self.lines: deque[int] = deque(maxlen=_LINES_KEPT)
        self.place = self.lines.append
        self.named = False
        self.corrections: dict[Correction, None] = {}

    def note(self, said: Correction) -> None:
        """Keep which way a correction points; the first few are enough."""
        if len(self.corrections) < MAX_MEMBERS:
            self.corrections[said] = None

    def cluster(self, oldest: int) -> Cluster:
        """What was counted, with days as ordinals. `oldest`: the ordinal of day 0."""
        votes, days = _counted(self.votes)
        seen, success, failed = _sums(votes, 0)
        seen_before, success_before, failed_before = _sums(votes, 3)
        newest = max((vote >> 6 for vote in votes if vote & 3 == SUCCESS), default=0)
        failures = [day for day, flag in days if flag == FAILURE]
        ranked = sorted(self.wordings.items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0]))
        return Cluster(
            kind=self.kind,
            key=self.hash,
            keys=self.keys,
            stance=self.stance,
            opposite=self.opposite,
            members=tuple(text for text, _ in ranked[:MAX_MEMBERS]),
            seen=seen,
            success=success,
            failed=failed,
            seen_before=seen_before,
            success_before=success_before,
            failed_before=failed_before,
            rejected=bool(self.causes.get("rejected")),
            causes=tuple(sorted(self.causes, key=lambda cause: (-self.causes[cause], cause))),
            named_failure=self.named,
            corrections=tuple(self.corrections),
            first_day=min(day for day, _ in days) + oldest,
            last_day=max(day for day, _ in days) + oldest,
            last_success=newest + oldest if newest else 0,
            last_failure=max(failures) + oldest if failures else 0,
            lines=tuple(self.lines),
        )


def _counted(votes: Iterable[int]) -> tuple[Counter[int], set[tuple[int, int]]]:
    """How many sessions voted how (flags, flags before the mark, day of the newest success), and the days of flags."""
    ordered = sorted(votes)
    sessions = array("Q", map(_SESSION_OF, ordered))
    if any(map(eq, sessions, islice(sessions, 1, None))):
        out, lows = _folded(ordered)
    else:  # nobody voted twice, as in most logs: then no vote needs a look of its own
        lows = Counter(map(_LOW_OF, ordered))
        out = Counter[int]()
        for low, number in lows.items():
            out[_with(0, low)] += number
    return out, {(low >> _DAY, low & 7) for low in lows}


def _folded(ordered: Sequence[int]) -> tuple[Counter[int], set[int]]:
    """Votes of one session, which stand side by side, as one."""
    out: Counter[int] = Counter()
    lows: set[int] = set()
    session, held = -1, 0
    for vote in ordered:
        low = vote & _LOW
        lows.add(low)
        if vote >> _SESSION != session:
            if held:
                out[held] += 1
            session, held = vote >> _SESSION, 0
        held = _with(held, low)
    out[held] += 1
    return out, lows


def _with(held: int, low: int) -> int:
    """A session's vote with one more mention in it."""
    flag = low & 7
    held |= flag if low & NEW else flag | flag << 3
    return held & 63 | low >> _DAY << 6 if flag == SUCCESS and low >> _DAY > held >> 6 else held


def _sums(votes: Counter[int], shift: int) -> tuple[int, int, int]:
    """Votes in all, for it, against it."""
    flags = [(vote >> shift & 7, number) for vote, number in votes.items() if vote >> shift & 7]
    success = sum(number for flag, number in flags if flag & 3 == SUCCESS)
    return sum(number for _, number in flags), success, sum(number for flag, number in flags if flag & FAILURE)


def joined(groups: Sequence[Group]) -> Group:
    """Several normal forms as one: a session still has one vote."""
    first = groups[0]
    if len(groups) == 1:
        return first
    one = Group(first.kind, first.hash, first.stance, first.opposite)
    one.keys = tuple(key for group in groups for key in group.keys)
    for group in groups:
        one.votes.extend(group.votes)
        one.wordings += group.wordings
        for cause, number in group.causes.items():
            one.causes[cause] = one.causes.get(cause, 0) + number
        one.named = one.named or group.named
        for said in group.corrections:
            one.note(said)
    one.lines.extend(sorted(line for group in groups for line in group.lines))
    return one
