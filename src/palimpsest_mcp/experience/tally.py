"""Counts a log in one pass: what was seen, how often it worked, by whom. Of an event only a hash is kept.

An event without a session votes with all others of its day.

One session has one vote for a pattern, however often it says it: success, unless anything in it failed. Because votes
are added by taking the higher of each part, an event that is read twice changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec

from .events import (
    Correction,
    Sighting,
    correction_of,
    day_of,
    is_after,
    is_wanted,
    outcome_of,
    read_line,
)
from .forms import form_of, key_hash, quick_form

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


WINDOW_DAYS = 30
"""Only events of so many days count; exactly this old still does."""
MAX_KEYS = 20_000
"""Patterns held in full; of further ones the first sighting is not counted."""
_CACHED_TEXTS = 60_000

_OUTCOMES = {"success": SUCCESS, "failure": FAILURE, "error": FAILURE, "partial": SEEN}
_UNTRUSTED = re.compile(r"(?:tool|web)(?![a-z])|web(?:page|site)", re.IGNORECASE)


LEAST_RANKED = 4
"""Measured events of a query from which on they are ranked among each other."""


class Relevance:
    """What share of its results is usually relevant, query by query: 10 of 40 is little for one and much for another.

    Args:
        least: an event is of low relevance below this part of its query's median. Where fewer than `LEAST_RANKED`
            events tell what is usual, only nothing relevant at all is low.
    """

    def __init__(self, today: int, least: float) -> None:
        self._oldest = today - WINDOW_DAYS
        self._least = least
        self._percents: dict[str, Counter[int]] = {}
        self._medians: dict[str, int | None] = {}
        """Of the queries that were asked for; everything is added before the first question."""

    def add(self, block: bytes) -> None:
        """Look through whole lines; those of the window count."""
        for line in block.split(b"\n"):
            if b'"relevant"' not in line or (event := read_line(line)) is None or (share := event.relevance) is None:
                continue
            if (day_of(event.ts) or 0) >= self._oldest and not is_untrusted(event):
                self._percents.setdefault(event.query, Counter())[round(100 * min(share, 1.0))] += 1

    def is_low(self, event: Sighting) -> bool:
        """Whether an event found far less of use than its query usually does."""
        if (share := event.relevance) is None:
            return False
        if (median := self._median(event.query)) is None:
            return share == 0
        return round(100 * share) < self._least * median

    def _median(self, query: str) -> int | None:
        """In percent; None where too few events tell."""
        if query not in self._medians:
            known = self._percents.get(query, Counter())
            half, seen = known.total() // 2, 0
            self._medians[query] = None
            for percent in sorted(known) if known.total() >= LEAST_RANKED else ():
                if (seen := seen + known[percent]) > half:
                    self._medians[query] = percent
                    break
        return self._medians[query]


class Tally:
    """Counts blocks of lines.

    Args:
        today: ordinal of the day, UTC.
        relevance: what is low; without it only nothing relevant at all.
        since: events up to this moment are not new, wherever they stand.
    """

    def __init__(self, today: int, *, relevance: Relevance | None = None, since: datetime | None = None) -> None:
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
        self._relevance = relevance or Relevance(today, 0.0)
        self._since = since
        self._identities: set[bytes] = set()
        self._days: dict[str, int] = {}
        self._groups: dict[str, Group] = {}
        self._texts: dict[Kind, dict[str, list[Any]]] = {"rule": {}, "query": {}, "correction": {}}
        """Wording -> its group, and how often it was met."""
        self._crowd: set[bytes] = set()
        self._is_new = False

    def begin_part(self) -> None:
        """Another file begins."""
        self.newest_day = 0

    def mark(self) -> None:
        """What was added so far had been there at the last compaction; what comes now is new."""
        self._is_new = True
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
        by_hash = {group.keys[0]: group for group in self._groups.values() if group.votes}
        for wordings in self._texts.values():
            for text, (group, number) in wordings.items():
                if group is not None and number:
                    group.wordings[text] = number
        out: list[Cluster] = []
        for keys in merged:
            together = [by_hash.pop(key) for key in keys if key in by_hash]
            if together:
                out.append(joined(together).cluster())
        return [*out, *(group.cluster() for group in by_hash.values())]

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
        if not _is_first(self._identities, event.id or event.event_id or event):
            self.duplicates += 1
            return
        if self._is_new and (self._since is None or is_after(event.ts, self._since)):
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
        self._vote(event, day, feedback, at)

    def _vote(self, event: Sighting, day: int, feedback: str, at: int) -> None:
        cause = cause_of(event, feedback, self._relevance)
        outcome = FAILURE if cause else _OUTCOMES.get(event.outcome) or _OUTCOMES[outcome_of(event.outcome)]
        good = SEEN if is_wanted(event) else outcome  # what the user wants did not fail; that it works is still to show
        said = correction_of(event) if cause == "correction" else None
        mentions: tuple[tuple[Kind, str | None, int, bool], ...] = (
            ("rule", event.winning_pattern, good, False),
            ("rule", event.failure_mode, FAILURE, True),
            ("query", event.good_query, good, False),
            ("query", event.bad_query, FAILURE, True),
            ("correction", said.text if said else None, FAILURE, False),
        )
        for kind, text, outcome, named in mentions:
            if not text or (group := self._mention(kind, text)) is None:
                continue
            group.add(event.session_id or day, vote_of(outcome, day, is_new=self._is_new))
            group.days.add(day)
            group.lines.append(at)
            if outcome == FAILURE:
                group.last_failure = max(group.last_failure, day)
                group.causes[cause] += 1
                group.named = group.named or named
            if kind == "correction" and said:
                group.note(said)

    def _mention(self, kind: Kind, text: str) -> Group | None:
        entry = self._texts[kind].get(text) or self._entry(kind, text)
        entry[1] += 1
        return entry[0]

    def _entry(self, kind: Kind, text: str) -> list[Any]:
        """Group and number of sightings of a wording that was not met before in these very words."""
        quick = quick_form(text)
        known = self._texts[kind].get(quick)
        if known is not None:
            group = known[0]
        elif len(self._groups) >= MAX_KEYS and _is_first(self._crowd, (kind, quick)):
            self.crowded += 1
            return [None, 0]
        else:
            group = self._group(kind, text)
            self._remember(kind, quick, [group, 0])
        entry = self._texts[kind].get(text) or [group, 0]
        self._remember(kind, text, entry)
        return entry

    def _group(self, kind: Kind, text: str) -> Group | None:
        form = form_of(text)
        name = f"{kind}:{form.key}"
        if form.key and name not in self._groups:
            self._groups[name] = Group(kind, form.stance, form.opposite, (key_hash(kind, form.key),))
            self._groups[name].wordings[text] = 1
        return self._groups.get(name)

    def _remember(self, kind: Kind, text: str, entry: list[Any]) -> None:
        if len(self._texts[kind]) < _CACHED_TEXTS:
            self._texts[kind][text] = entry


def _is_first(known: set[bytes], value: object) -> bool:
    """Whether a value is met for the first time. Of each its whole hash is kept, since a text may have any length."""
    before = len(known)
    known.add(sha256(repr(value).encode()).digest())
    return len(known) > before


def is_untrusted(event: Sighting) -> bool:
    """Whether its texts come from a tool's output or a page: whoever wrote those would promote rules of their own."""
    origin = event.origin or (event.metrics.origin if event.metrics else None)
    return bool(origin) and _UNTRUSTED.match(origin) is not None


def cause_of(event: Sighting, feedback: str, relevance: Relevance) -> Cause:
    """Why an event is no success, whatever its outcome says; empty where nothing speaks against it."""
    if feedback == "rejected":
        return "rejected"
    if feedback.startswith("correct"):
        return "correction"
    if event.metrics is not None and event.metrics.rubric_passed is False:
        return "rubric"
    return "relevance" if relevance.is_low(event) else ""
