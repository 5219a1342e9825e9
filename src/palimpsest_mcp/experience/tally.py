"""Counts a log in one pass: what was seen, how often it worked, by whom. Of an event only a hash is kept.

An event without a session votes with all others of its day; how votes are counted: `votes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from .forms import form_of, key_hash, quick_form
from .parse import Sighting, correction_of, day_of, is_after, is_wanted, outcome_of, read_line
from .votes import FAILURE, SEEN, SUCCESS, Cause, Cluster, Group, Kind, joined, vote_of

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
