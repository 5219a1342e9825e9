"""The side file: what of the log was read, and where each rule comes from. And the snapshots before each change."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from datetime import date
from typing import Any, Literal

import msgspec

from .forms import form_of, key_hash, quick_form
from .models import Rule, Trigger
from .parse import Sighting, correction_of, day_of, identity_of, read_line
from .ports import LIVE_LOG, LogPart
from .tally import WINDOW_DAYS, Relevance, cause_of, is_untrusted
from .votes import Kind

KEPT_SNAPSHOTS = 20


class ReadPart(msgspec.Struct, frozen=True):
    """How far a file of the log had been read at the last compaction."""

    name: str
    head: str
    size: int
    newest: date | None = None
    """Day of its newest event."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """`side.json` of a skill."""

    schema: int = 1
    skill: str = ""
    folder: str = ""
    compacted_at: str = ""
    damaged: int = 0
    """Damaged lines in what was read, each counted once."""
    parts: tuple[ReadPart, ...] = ()
    rules: tuple[Rule, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The digest before a change, and the rules that it was made of."""

    schema: int = 1
    at: str
    why: Literal["compact", "rollback"]
    digest: bytes | None
    rules: tuple[Rule, ...] = ()


class ToRead(msgspec.Struct, frozen=True):
    """A file of the log, and from where on it is new."""

    part: LogPart
    start: int
    newest: date | None
    """Of what is not new."""


def encode(value: Side | Snapshot) -> bytes:
    """Readable JSON; the same value gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def decode_side(data: bytes | None) -> Side | None:
    """None where there is none, or it cannot be read: then everything is counted anew, and the digest's lines stay."""
    try:
        return None if data is None else msgspec.json.decode(data, type=Side)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def decode_snapshot(data: bytes | None) -> Snapshot | None:
    """None where it is not there or cannot be read."""
    try:
        return None if data is None else msgspec.json.decode(data, type=Snapshot)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def to_read(side: Side | None, parts: Sequence[LogPart]) -> list[ToRead]:
    """Each file with what of it is new. A file that was rotated is known by its first line."""
    known = list(side.parts) if side else []
    found: dict[str, ReadPart] = {}
    for same_name in (True, False):
        for part in parts:
            if part.name in found or not (part.head or same_name):
                continue
            match = next(
                (one for one in known if one.head == part.head and one.size <= part.size
                 and (one.name == part.name if same_name else one.name == LIVE_LOG)),
                None,
            )  # fmt: skip
            if match is not None:
                known.remove(match)
                found[part.name] = match
    return [
        ToRead(part, found[part.name].size, found[part.name].newest) if part.name in found else ToRead(part, 0, None)
        for part in parts
    ]


def still_counts(read: ToRead, today: date) -> bool:
    """Whether what was read before may hold events of the window."""
    return read.start > 0 and (read.newest is None or (today - read.newest).days <= WINDOW_DAYS)


# The events behind a rule: found again in the log by their normal forms.


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

    def __init__(self, kind: Kind, keys: Collection[str], today: int, *, relevance: Relevance) -> None:
        self.total = 0
        self.events: deque[dict[str, Any]] = deque(maxlen=SHOWN)
        self._kind: Kind = kind
        self._keys = frozenset(keys)
        self._today = today
        self._relevance = relevance
        self._known: dict[str, bool] = {}
        self._met: set[str] = set()

    def add(self, block: bytes) -> None:
        """Look through whole lines, in the order of the log."""
        for line in block.split(b"\n"):
            event = read_line(line) if line.strip() else None
            if event is None or not (said := self._said(event)):
                continue
            identity = identity_of(line, whole=True)
            if identity not in self._met:
                self._met.add(identity)
                self.total += 1
                self.events.append(self._row(event, identity_of(line), said))

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
        if cause := cause_of(event, event.feedback, self._relevance):
            return f"failure ({cause})"
        if said in (event.failure_mode, event.bad_query):
            return "failure"
        return {"success": "success", "partial": "seen"}.get(event.outcome, "failure")


# When a compaction is due. What is handed in is counted since the last one, so that each trigger resets with it.


NEW_EVENTS = 10
NEW_BYTES = 64 * 1024
ROTATE_BYTES = 1024 * 1024
"""A log above this becomes an archive."""
LARGE_BYTES = 64 * 1024
"""Above this a model may word the rules."""


def triggers_met(
    new_events: int, new_bytes: int, last_feedback: str, *, used_in_ended_session: bool
) -> tuple[Trigger, ...]:
    """The triggers that are met, in the seed's order.

    Args:
        last_feedback: explicit feedback of the last event, if that event is new.
        used_in_ended_session: a session ends in which the skill was used since the last compaction.
    """
    met: dict[Trigger, bool] = {
        "new_events": new_events >= NEW_EVENTS,
        "new_bytes": new_bytes > NEW_BYTES and new_events > 0,
        "user_feedback": bool(last_feedback),
        "session_end": used_in_ended_session,
    }
    return tuple(name for name, is_met in met.items() if is_met)
