"""The events behind a rule: found again in the log by their normal forms."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Any

from .forms import form_of, key_hash, quick_form
from .reading import Sighting, correction_of, day_of, identity_of, read_line
from .tally import WINDOW_DAYS, cause_of, is_untrusted
from .votes import Kind

SHOWN = 200
"""Newest events that are kept."""
_CACHED = 20_000


class Witnesses:
    """Collects the events that speak of a rule.

    Args:
        kind: of the rule.
        keys: hashes of its normal forms.
        today: ordinal of the day, UTC.
    """

    def __init__(self, kind: Kind, keys: Collection[str], today: int, *, min_relevance: float) -> None:
        self.total = 0
        self.events: deque[dict[str, Any]] = deque(maxlen=SHOWN)
        self._kind: Kind = kind
        self._keys = frozenset(keys)
        self._today = today
        self._min_relevance = min_relevance
        self._known: dict[str, bool] = {}
        self._met: set[str] = set()

    def add(self, block: bytes) -> None:
        """Look through whole lines, in the order of the log."""
        for line in block.split(b"\n"):
            event = read_line(line) if line.strip() else None
            if event is None or not (said := self._said(event)):
                continue
            event_id = identity_of(line)
            if event_id not in self._met:
                self._met.add(event_id)
                self.total += 1
                self.events.append(self._row(event, event_id, said))

    def _said(self, event: Sighting) -> str:
        """The text by which the event speaks of the rule; empty when it does not."""
        if self._kind == "query":
            texts = (event.good_query, event.bad_query)
        elif self._kind == "correction":
            texts = (said.text,) if (said := correction_of(event)) else ()
        else:
            texts = (event.winning_pattern, event.failure_mode)
        return next((text for text in texts if text and self._belongs(text)), "")

    def _belongs(self, text: str) -> bool:
        quick = quick_form(text)
        if quick not in self._known:
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[quick] = key_hash(self._kind, form_of(text).key) in self._keys
        return self._known[quick]

    def _row(self, event: Sighting, event_id: str, said: str) -> dict[str, Any]:
        row: dict[str, Any] = {"event_id": event_id, "ts": event.ts, "session_id": event.session_id or ""}
        row |= {"outcome": event.outcome, "counts_as": self._counts_as(event, said), "text": said}
        return row | ({"user_feedback": event.feedback} if event.feedback else {})

    def _counts_as(self, event: Sighting, said: str) -> str:
        day = day_of(event.ts)
        if day is None or day < self._today - WINDOW_DAYS:
            return f"older than {WINDOW_DAYS} days"
        if is_untrusted(event):
            return "not counted: its text comes from a tool or the web"
        if cause := cause_of(event, event.feedback, self._min_relevance):
            return f"failure ({cause})"
        if said in (event.failure_mode, event.bad_query):
            return "failure"
        return {"success": "success", "partial": "seen"}.get(event.outcome, "failure")
