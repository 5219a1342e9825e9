"""Counts a log in one pass: what was seen, how often it worked, by whom. No event is kept in memory.

One session has one vote for a pattern, however often it says it: success, unless anything in it failed. An event
without a session votes with all others of its day. Because a vote is the sum of flags, an event that is read twice
changes nothing.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from operator import eq
from typing import Any, Literal

import msgspec

from .forms import form_of, key_hash, quick_form
from .reading import Sighting, day_of, is_after, outcome_of, read_line

WINDOW_DAYS = 30
"""Only events of so many days count; exactly this old still does."""
MAX_KEYS = 20_000
"""Patterns held in full; of further ones the first sighting is not counted."""
MAX_MEMBERS = 6
_CACHED_TEXTS = 60_000
_LINES_KEPT = 8
_BUCKETS = 1 << 14
_MARK = (1 << 48) - 1

SUCCESS, FAILURE, SEEN = 1, 2, 4
_FLAGS = {"success": SUCCESS, "failure": FAILURE, "error": FAILURE, "partial": SEEN}
_UNTRUSTED = re.compile(r"(?:tool|web)(?![a-z])|web(?:page|site)", re.IGNORECASE)
_NEW = 1 << 3
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
    first_day: int
    last_day: int
    last_success: int = 0
    """Newest success of a session in which nothing failed; 0: none."""
    last_failure: int = 0
    lines: tuple[int, ...] = ()
    """Places of its newest lines, as given to `Tally.add`."""


class Tally:
    """Counts blocks of lines.

    Args:
        today: ordinal of the day, UTC.
        min_relevance: relevant/yield below this is low relevance.
        since: events up to this moment are not new, wherever they stand.
    """

    def __init__(self, today: int, *, min_relevance: float = 0.3, since: datetime | None = None) -> None:
        self.events = 0
        """Distinct events within the window."""
        self.new_events = 0
        """Distinct events after `mark`, whatever their age."""
        self.duplicates = self.damaged = self.ahead = self.untrusted = self.crowded = 0
        self.newest_feedback = ""
        """Of the last event, if that is new."""
        self.newest_day = 0
        """Of the lines since `begin_part`."""
        self.sessions: set[str] | None = None
        """Hand in a set to have the names of sessions since `mark` collected."""
        self._today = today
        self._oldest = today - WINDOW_DAYS
        self._min_relevance = min_relevance
        self._since = since
        self._identities = [bytearray() for _ in range(_BUCKETS)]
        self._days: dict[str, int] = {}
        self._groups: dict[str, _Group] = {}
        self._texts: dict[Kind, dict[str, list[Any]]] = {"rule": {}, "query": {}, "correction": {}}
        """Wording -> its group, and how often it was met."""
        self._crowd: set[int] = set()
        self._new = 0

    def begin_part(self) -> None:
        """Another file begins."""
        self.newest_day = 0

    def mark(self) -> None:
        """What was added so far had been there at the last compaction; what comes now is new."""
        self._new = _NEW
        self.damaged = self.duplicates = 0

    def add(self, block: bytes, *, at: int = 0) -> None:
        """Count whole lines.

        Args:
            at: place of the block's first byte; places of lines count on from it.
        """
        for line in block.split(b"\n"):
            if line:
                event = read_line(line)
                day = self._day(event.ts) if event is not None else None
                if event is not None and day is not None:
                    self._take(event, day, at)
                elif not line.isspace():
                    self.damaged += 1
            at += len(line) + 1

    def clusters(self, merged: Iterable[Sequence[str]] = ()) -> list[Cluster]:
        """Every pattern that was seen within the window.

        Args:
            merged: groups of key hashes that are one rule each.
        """
        by_hash = {group.hash: group for group in self._groups.values() if group.votes}
        for wordings in self._texts.values():
            for text, (group, number) in wordings.items():
                if group is not None and number:
                    group.wordings[text] = number
        out: list[Cluster] = []
        for keys in merged:
            together = [by_hash.pop(key) for key in keys if key in by_hash]
            if together:
                out.append(_joined(together).cluster(self._oldest - 1))
        return [*out, *(group.cluster(self._oldest - 1) for group in by_hash.values())]

    def _day(self, ts: str) -> int | None:
        if not ts.endswith(("Z", "+00:00")):
            return day_of(ts)
        day = self._days.get(ts[:10])
        if day is None and (day := day_of(ts)) is not None:
            self._days[ts[:10]] = day
        return day

    def _take(self, event: Sighting, day: int, at: int) -> None:
        feedback = event.feedback
        self.newest_feedback = ""
        if day > self.newest_day:
            self.newest_day = day
        if not self._first_time(event):
            self.duplicates += 1
            return
        if self._new and (self._since is None or is_after(event.ts, self._since)):
            self.new_events += 1
            self.newest_feedback = feedback
            if self.sessions is not None and event.session_id:
                self.sessions.add(event.session_id)
        if day > self._today:
            if day > self._today + 1:
                self.ahead += 1
                return
            day = self._today
        if day < self._oldest:
            return
        self.events += 1
        if is_untrusted(event):
            self.untrusted += 1
            return
        self._vote(event, day - self._oldest + 1, feedback, at)

    def _vote(self, event: Sighting, day: int, feedback: str, at: int) -> None:
        session = (hash(event.session_id) & _HASH if event.session_id else day) << _SESSION | self._new
        cause = cause_of(event, feedback, self._min_relevance)
        flag = FAILURE if cause else _FLAGS.get(event.outcome) or _FLAGS[outcome_of(event.outcome)]
        if text := event.winning_pattern:
            self._mention("rule", text, session, flag, day, at, cause)
        if text := event.failure_mode:
            self._mention("rule", text, session, FAILURE, day, at, cause, named=True)
        if text := event.good_query:
            self._mention("query", text, session, flag, day, at, cause)
        if text := event.bad_query:
            self._mention("query", text, session, FAILURE, day, at, cause, named=True)
        if cause == "correction" and (text := event.notes or event.failure_mode or event.winning_pattern):
            self._mention("correction", text, session, FAILURE, day, at, cause)

    def _mention(
        self, kind: Kind, text: str, session: int, flag: int, day: int, at: int, cause: Cause, *, named: bool = False
    ) -> None:
        try:
            entry = self._texts[kind][text]
        except KeyError:
            entry = self._entry(kind, text)
        group = entry[0]
        if group is None:
            return
        entry[1] += 1
        group.vote(session | day << _DAY | flag)
        group.place(at)
        if flag == FAILURE:
            group.causes[cause] = group.causes.get(cause, 0) + 1
            group.named = group.named or named

    def _entry(self, kind: Kind, text: str) -> list[Any]:
        """Group and number of sightings of a wording that was not met before in these very words."""
        quick = quick_form(text)
        known = self._texts[kind].get(quick)
        if known is not None:
            group = known[0]
        elif len(self._groups) >= MAX_KEYS and self._new_in_crowd(kind, quick):
            return [None, 0]
        else:
            group = self._group(kind, text)
            self._remember(kind, quick, [group, 0])
        entry = self._texts[kind].get(text) or [group, 0]
        self._remember(kind, text, entry)
        return entry

    def _group(self, kind: Kind, text: str) -> _Group | None:
        form = form_of(text)
        name = f"{kind}:{form.key}"
        if form.key and name not in self._groups:
            self._groups[name] = _Group(kind, key_hash(kind, form.key), form.stance, form.opposite)
            self._groups[name].wordings[text] = 1
        return self._groups.get(name)

    def _first_time(self, event: Sighting) -> bool:
        """Whether its identity is new: six bytes of a hash in one of many small heaps, since a set takes a hundred."""
        hashed = hash(event.id or event.event_id or event)
        heap, mark = self._identities[hashed & _BUCKETS - 1], (hashed >> 14 & _MARK).to_bytes(6, "little")
        if mark in heap:
            return False
        heap += mark
        return True

    def _new_in_crowd(self, kind: Kind, quick: str) -> bool:
        known = len(self._crowd)
        self._crowd.add(hash((kind, quick)) & _HASH)
        self.crowded += len(self._crowd) > known
        return len(self._crowd) > known

    def _remember(self, kind: Kind, text: str, entry: list[Any]) -> None:
        if len(self._texts[kind]) < _CACHED_TEXTS:
            self._texts[kind][text] = entry


def is_untrusted(event: Sighting) -> bool:
    """Whether its texts come from a tool's output or a page: whoever wrote those would promote rules of their own."""
    origin = event.origin or (event.metrics.origin if event.metrics else None)
    return bool(origin) and _UNTRUSTED.match(origin) is not None


def cause_of(event: Sighting, feedback: str, min_relevance: float) -> Cause:
    """Why an event is no success, whatever its outcome says; empty where nothing speaks against it."""
    if feedback == "rejected":
        return "rejected"
    if feedback.startswith("correct"):
        return "correction"
    if (measures := event.metrics) is not None:
        if measures.rubric_passed is False:
            return "rubric"
        found, relevant = measures.yielded, measures.relevant
        if found and relevant is not None and relevant / found < min_relevance:
            return "relevance"
    return ""


class _Group:
    """One normal form while it is counted."""

    __slots__ = (
        *("causes", "hash", "keys", "kind", "lines", "named", "opposite", "place", "stance", "vote", "votes"),
        "wordings",
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
    held |= flag if low & _NEW else flag | flag << 3
    return held & 63 | low >> _DAY << 6 if flag == SUCCESS and low >> _DAY > held >> 6 else held


def _sums(votes: Counter[int], shift: int) -> tuple[int, int, int]:
    """Votes in all, for it, against it."""
    flags = [(vote >> shift & 7, number) for vote, number in votes.items() if vote >> shift & 7]
    success = sum(number for flag, number in flags if flag & 3 == SUCCESS)
    return sum(number for _, number in flags), success, sum(number for flag, number in flags if flag & FAILURE)


def _joined(groups: Sequence[_Group]) -> _Group:
    """Several normal forms as one: a session still has one vote."""
    first = groups[0]
    if len(groups) == 1:
        return first
    one = _Group(first.kind, first.hash, first.stance, first.opposite)
    one.keys = tuple(key for group in groups for key in group.keys)
    for group in groups:
        one.votes.extend(group.votes)
        one.wordings += group.wordings
        for cause, number in group.causes.items():
            one.causes[cause] = one.causes.get(cause, 0) + number
        one.named = one.named or group.named
    one.lines.extend(sorted(line for group in groups for line in group.lines))
    return one
