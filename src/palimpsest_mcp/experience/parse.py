"""One line of a log as what counts of it, whichever of the four shapes it has.

The shapes: the seed's 18 fields; `skill, channel, query_shape, outcome, count_…`; `query, channel, score, ts`; and
`type, ts, session_id, platform, pattern, effect, evidence`, some of whose rows have `finding` and `validated` instead.
The first is read fast, everything else slowly and leniently: a field that cannot be used is left out, a line without
a time or any known field is damaged.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime
from typing import Any, cast

import msgspec

from .forms import quick_form

KNOWN = frozenset(
    {
        *("skill", "channel", "platform", "outcome", "type", "query", "query_shape", "pattern", "finding", "effect"),
        *("score", "winning_pattern", "failure_mode", "good_query", "bad_query", "notes"),
    }
)
"""A line with none of these is no event."""
_FAILURE_WORDS = ("fail", "loss", "lose", "error", "anti")
_SUCCESS_WORDS = ("win", "success")
_TEXTS = ("winning_pattern", "failure_mode", "good_query", "bad_query", "notes")


class Measures(msgspec.Struct, frozen=True, gc=False):
    """What of `metrics` weighs."""

    user_feedback: str | None = None
    rubric_passed: bool | None = None
    yielded: float | None = msgspec.field(default=None, name="yield")
    relevant: float | None = None
    latency_ms: float | None = None
    origin: str | None = None


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """What counts of an event. Two sightings that are equal are one event, as are two of one `id`."""

    ts: str
    outcome: str
    id: str | None = None
    event_id: str | None = None
    session_id: str | None = None
    metrics: Measures | None = None
    user_feedback: str | None = None
    origin: str | None = None
    task_domain: str | None = None
    query_type: str | None = None
    winning_pattern: str | None = None
    failure_mode: str | None = None
    good_query: str | None = None
    bad_query: str | None = None
    notes: str | None = None

    @property
    def feedback(self) -> str:
        """`accepted`, `rejected`, `correction`, or empty; from the top level, else from the metrics."""
        said = self.user_feedback or (self.metrics.user_feedback if self.metrics else None)
        return said.strip().casefold() if said else ""

    @property
    def relevance(self) -> float | None:
        """relevant/yield, where both were measured and something was found."""
        found = self.metrics.yielded if self.metrics else None
        relevant = self.metrics.relevant if self.metrics else None
        return relevant / found if found and relevant is not None else None

    @property
    def query(self) -> str:
        """What names the query among others of its skill: domain and type, else the template; empty: any."""
        if self.task_domain or self.query_type:
            return f"{self.task_domain or ''}/{self.query_type or ''}"
        return quick_form(self.good_query or self.bad_query or "")


class Correction(msgspec.Struct, frozen=True):
    """Which way a correction points. One of the two may be empty."""

    wanted: str
    """What the user wants instead."""
    corrected: str
    """What the user corrected."""

    @property
    def text(self) -> str:
        """What names it: two corrections that want the same are one."""
        return self.wanted or self.corrected


def correction_of(event: Sighting) -> Correction | None:
    """What a correction corrects, and what it wants instead; None for an event without one.

    The user's words in `notes` are what is wanted. Beside a failure mode (or a bad query) the winning pattern is too;
    alone it is what the skill did, and was corrected.
    """
    if not event.feedback.startswith("correct"):
        return None
    wrong, right = event.failure_mode or event.bad_query, event.winning_pattern or event.good_query
    wanted = event.notes or (right if wrong else "") or ""
    corrected = wrong or right or ""
    return Correction(wanted, corrected) if wanted or corrected else None


def is_wanted(event: Sighting) -> bool:
    """Whether the winning side of an event is what a correction wants: it names the wrong one beside it."""
    return event.feedback.startswith("correct") and bool(event.failure_mode or event.bad_query)


_fast: msgspec.json.Decoder[Sighting] = msgspec.json.Decoder(Sighting)


def read_line(line: bytes) -> Sighting | None:
    """The event of a line, or None when the line is damaged. Never raises."""
    try:
        return _fast.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        fields = fields_of(line)
        return None if fields is None else sighting_of(fields)


def fields_of(line: bytes) -> dict[str, Any] | None:
    """The object of a line as it stands, or None."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def sighting_of(fields: dict[str, Any]) -> Sighting | None:
    """What counts of an event of any shape; None when it has no time, or nothing that an event has."""
    ts = _time_text(fields)
    if ts is None or day_of(ts) is None or not KNOWN & fields.keys():
        return None
    texts = {name: _text(fields.get(name)) for name in _TEXTS}
    outcome = _outcome(fields)
    if (pattern := _text(fields.get("pattern"))) and not texts["winning_pattern"] and not texts["failure_mode"]:
        said = _text(fields.get("finding")) or pattern
        texts["failure_mode" if outcome == "failure" else "winning_pattern"] = said
    return Sighting(
        ts=ts,
        outcome=outcome,
        id=own_id(fields),
        session_id=_text(fields.get("session_id")),
        metrics=_measures(fields.get("metrics")),
        user_feedback=_text(fields.get("user_feedback")),
        origin=_text(fields.get("origin")),
        task_domain=_text(fields.get("task_domain")),
        query_type=_text(fields.get("query_type")),
        **texts,
    )


def day_of(ts: str) -> int | None:
    """The day of a time in UTC, as its ordinal; a time without offset is taken as UTC. None: no time at all."""
    try:
        moment = datetime.fromisoformat(ts)
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).toordinal()
    except (ValueError, OverflowError):
        return None


def is_after(ts: str, moment: datetime) -> bool:
    """Whether a time lies behind a moment; one that cannot be read does not."""
    try:
        found = datetime.fromisoformat(ts)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)) > moment
    except (ValueError, OverflowError):
        return False


def identity_of(line: bytes, *, whole: bool = False) -> str:
    """The identity of an event for people and side files: its id, else a hash that form and order do not change.

    Args:
        whole: not shortened for people, so that no two events share it.
    """
    fields = fields_of(line) or {}
    if (given := own_id(fields)) is not None:
        return given if whole else given[:80]
    canonical = json.dumps(fields, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    return "e" + (hashed if whole else hashed[:12])


def own_id(fields: dict[str, Any]) -> str | None:
    """The id that the caller gave, as text."""
    given = fields.get("id") or fields.get("event_id")
    return str(given) if isinstance(given, (str, int)) and not isinstance(given, bool) else None


def month_of(ts: str) -> str | None:
    """`YYYY-MM` of a time, in UTC."""
    day = day_of(ts)
    return None if day is None else date.fromordinal(day).isoformat()[:7]


def _time_text(fields: dict[str, Any]) -> str | None:
    for name in ("ts", "timestamp", "validated"):
        value = fields.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                return datetime.fromtimestamp(value, UTC).isoformat()
            except (ValueError, OverflowError, OSError):
                return None
    return None


def outcome_of(said: str) -> str:
    """`success`, `failure` or `partial` for any log's word; what says neither was only seen."""
    word = said.casefold()
    if any(part in word for part in _FAILURE_WORDS):
        return "failure"
    return "success" if any(part in word for part in _SUCCESS_WORDS) else "partial"


def _outcome(fields: dict[str, Any]) -> str:
    said = fields.get("outcome") or fields.get("type")
    return outcome_of(said) if isinstance(said, str) else "partial"


def _measures(value: Any) -> Measures | None:
    if not isinstance(value, dict):
        return None
    found = cast("dict[str, Any]", value)
    passed = found.get("rubric_passed")
    return Measures(
        user_feedback=_text(found.get("user_feedback")),
        rubric_passed=passed if isinstance(passed, bool) else None,
        yielded=_number(found.get("yield")),
        relevant=_number(found.get("relevant")),
        latency_ms=_number(found.get("latency_ms")),
        origin=_text(found.get("origin")),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    try:
        return float(value)
    except OverflowError:
        return None
