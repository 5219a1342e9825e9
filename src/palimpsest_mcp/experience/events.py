"""An event that comes in: checked, brought into the seed's 18 fields, without secrets and raw queries.

One line of a log as what counts of it, whichever of the four shapes it has.

The shapes: the seed's 18 fields; `skill, channel, query_shape, outcome, count_…`; `query, channel, score, ts`; and
`type, ts, session_id, platform, pattern, effect, evidence`, some of whose rows have `finding` and `validated` instead.
The first is read fast, everything else slowly and leniently: a field that cannot be used is left out, a line without
a time or any known field is damaged.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias, cast, get_args

import msgspec

from ..errors import InvalidEvent
from ..models.text import plain
from .forms import quick_form
from .models import ExperienceEvent, Feedback

KNOWN = frozenset(
    {
        *("skill", "channel", "platform", "outcome", "type", "query", "query_shape", "pattern", "finding", "effect"),
        *("score", "winning_pattern", "failure_mode", "good_query", "bad_query", "notes"),
    }
)
"""A line with none of these is no event."""
_FAILURE_WORDS = ("fail", "loss", "lose", "error", "anti")
_SUCCESS_WORDS = ("win", "success")
_SAID_IN = ("winning_pattern", "failure_mode", "good_query", "bad_query", "notes")


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
    texts = {name: _text(fields.get(name)) for name in _SAID_IN}
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


# What must not be kept of an event: secrets, and the words that somebody typed.


RAW_QUERIES = frozenset(
    ("query", "queries", "raw_query", "user_query", "original_query", "search_query", "prompt", "q")
)
"""Keys whose text is what somebody typed: only its shape is kept."""
_SHORTEST = 3
"""Characters of a raw query that is looked for in the other texts too; shorter ones stand everywhere by chance."""

Mask: TypeAlias = Callable[[str], tuple[str, Mapping[str, int]]]
"""A text -> the same without its secrets, and how many there were by kind."""


def without_raw_queries(fields: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields with each raw query, at any depth, replaced by its shape; and the queries themselves."""
    raw: list[str] = []

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            return {key: shape(part) if str(key).casefold() in RAW_QUERIES else walk(part) for key, part in items}
        return [walk(part) for part in cast("list[Any]", value)] if isinstance(value, list) else value

    def shape(value: Any) -> Any:
        if isinstance(value, list):
            return [shape(part) for part in cast("list[Any]", value)]
        if not isinstance(value, str):
            return walk(value)
        raw.append(value)
        return query_shape(value)

    made = walk(fields)
    if isinstance(made.get("query"), dict):
        made.setdefault("query_shape", made["query"])
    return made, [text for text in raw if len(text.strip()) >= _SHORTEST]


def query_shape(text: str) -> dict[str, str]:
    """What is kept of a raw query: how long it is and in which script."""
    length = "short" if len(text) < 20 else "medium" if len(text) < 60 else "long"
    letters = [unicodedata.name(char, "") for char in text if char.isalpha()]
    wide = sum(name.startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL")) for name in letters)
    latin = sum(name.startswith("LATIN") for name in letters)
    if wide and latin:
        return {"length_bucket": length, "language": "mixed"}
    pure = "cjk" if wide and wide == len(letters) else "latin" if latin and latin == len(letters) else "other"
    return {"length_bucket": length, "language": pure}


def without_words(value: Any, words: list[str]) -> Any:
    """The value with these words replaced in every text, and without characters that hide or move."""
    if isinstance(value, dict):
        return {plain(str(key)): without_words(part, words) for key, part in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [without_words(part, words) for part in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    for word in words:
        value = value.replace(word, "{query}")
    return plain(value)


def masked(event: dict[str, Any], mask: Mask) -> tuple[dict[str, Any], dict[str, int]]:
    """Each text masked, then each field together with its name, since `"api_key": "…"` tells only as a whole."""
    counts: Counter[str] = Counter()

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {walk(key): walk(part) for key, part in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [walk(part) for part in cast("list[Any]", value)]
        if not isinstance(value, str):
            return value
        text, found = mask(value)
        counts.update(found)
        return text

    made: dict[str, Any] = {}
    for name, value in cast("dict[str, Any]", walk(event)).items():
        whole = msgspec.json.encode({name: value}).decode()
        text, found = mask(whole)
        made[name] = value if text == whole else _read_back(name, text)
        counts.update(found)
    return made, dict(counts)


def _read_back(name: str, text: str) -> Any:
    """A mark that took a quotation mark with it leaves no JSON: then the whole field goes."""
    try:
        return msgspec.json.decode(text)[name]
    except (msgspec.MsgspecError, KeyError, TypeError):
        return "[redacted]"


MAX_BYTES = 64 * 1024
"""Of one line."""
EXAMPLE = (
    '{"session_id": "s1", "outcome": "success", "winning_pattern": "brand + pain word + last 30 days", '
    '"metrics": {"yield": 18, "relevant": 9, "user_feedback": "accepted"}}'
)
_TEXTS = ("group", "task_domain", "query_type", "winning_pattern", "failure_mode", "good_query", "bad_query", "notes")
_COUNTS = ("yield", "relevant", "unique_sources", "latency_ms", "cost_usd")
_OLDER = frozenset(
    (
        *("channel", "query_shape", "count_returned", "count_total", "query", "score", "type", "generation"),
        *("platform", "pattern", "effect", "evidence", "finding", "impact", "validated", "timestamp", "detail"),
    )
)
"""Fields of the older shapes, whose meaning goes into the 18."""
_OWN = frozenset(("id", "event_id", "origin", "user_feedback"))
_ORIGINS = ("user", "model", "tool", "web")


class Prepared(msgspec.Struct, frozen=True):
    """What is written."""

    line: bytes
    redacted: dict[str, int]
    warnings: tuple[str, ...]


def prepare(event: Mapping[str, Any], skill: str, now: datetime, mask: Mask) -> Prepared:
    """Check an event of any known shape and make the line that is appended.

    Raises:
        InvalidEvent: it names the field; nothing was written.
    """
    try:
        fields, warnings = _known_fields(dict(event), skill)
        shaped, raw = without_raw_queries(fields)
        made = _checked(_eighteen(shaped, skill, now), now)
        kept, counts = masked(without_words(msgspec.to_builtins(made), raw), mask)
        line = msgspec.json.encode(kept) + b"\n"
    except RecursionError:
        raise _wrong("event", "it is nested too deeply", "Make it flatter.") from None
    except (TypeError, UnicodeError, msgspec.ValidationError, OverflowError):
        raise _wrong("event", "it holds what JSON has no form for", "Give text, numbers, lists and objects.") from None
    if len(line) > MAX_BYTES:
        raise _wrong("event", f"it takes {len(line)} bytes of at most {MAX_BYTES}", "Shorten its texts.")
    return Prepared(line, counts, tuple(warnings))


def _known_fields(event: dict[str, Any], skill: str) -> tuple[dict[str, Any], list[str]]:
    named = event.get("skill")
    if named not in (None, "", skill, skill.rsplit("/", 1)[-1]):
        raise _wrong("skill", "it names another skill than the call", "Leave skill out of the event.")
    known = {*ExperienceEvent.__struct_fields__, *_OLDER, *_OWN}
    warnings: list[str] = []
    for name in [name for name in event if name not in known]:
        del event[name]
        near = difflib.get_close_matches(str(name), sorted(known), n=1)
        warnings.append(f"left out: unknown field {str(name)[:40]!r}" + (f" (is it {near[0]}?)" if near else ""))
    return event, [*warnings, *_foreign_channel(event, skill)]


def _foreign_channel(event: dict[str, Any], skill: str) -> list[str]:
    """A warning where the event of a search skill names another channel than the skill does."""
    leaf, channel = skill.rsplit("/", 1)[-1].casefold(), event.get("channel") or event.get("platform")
    if not leaf.startswith("search-") or not isinstance(channel, str) or channel.strip().casefold() in leaf:
        return []
    return [f"its channel is not the one that {leaf} is named after"]


def _eighteen(fields: dict[str, Any], skill: str, now: datetime) -> dict[str, Any]:
    """The seed's fields, with the meaning of an older shape in them."""
    made = {name: fields.get(name) for name in ExperienceEvent.__struct_fields__ if name not in ("id", "origin")}
    made["skill"] = skill
    made["ts"] = made["ts"] or fields.get("timestamp") or now.isoformat(timespec="microseconds")
    made["metrics"] = _metrics(fields)
    if _OLDER & fields.keys():
        made |= _from_older(fields, made)
    if made["outcome"] == "error":
        made["outcome"] = "failure"
    given = {"id": own_id(fields), "origin": fields.get("origin")}
    return made | {name: value for name, value in given.items() if value is not None}


def _from_older(fields: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    seen = sighting_of({**fields, "ts": made["ts"]})
    said: dict[str, Any] = {"input_shape": fields.get("query_shape")}
    said["method"] = fields.get("channel") or fields.get("platform")
    said["notes"] = fields.get("effect") or fields.get("impact") or fields.get("detail")
    if seen is not None:
        said |= {"winning_pattern": seen.winning_pattern, "failure_mode": seen.failure_mode, "outcome": seen.outcome}
    return {name: value for name, value in said.items() if not made[name]}


def _metrics(fields: dict[str, Any]) -> dict[str, Any]:
    metrics = fields.get("metrics")
    if metrics is not None and not isinstance(metrics, dict):
        raise _wrong("metrics", "it is not an object", 'Give {"yield": 18, "relevant": 9}.')
    made = dict(cast("dict[str, Any]", metrics or {}))
    for older, ours in (("count_returned", "yield"), ("count_total", "total"), ("score", "score")):
        if older in fields:
            made.setdefault(ours, fields[older])
    if fields.get("user_feedback") is not None:
        made["user_feedback"] = fields["user_feedback"]
    if isinstance(said := made.get("user_feedback"), str):
        made["user_feedback"] = said.strip().lower() or None
    return made


def _checked(made: dict[str, Any], now: datetime) -> ExperienceEvent:
    """Every field has its type and range."""
    _check_time(made["ts"], now)
    if made["outcome"] not in ("success", "failure", "partial"):
        raise _wrong("outcome", "it is none of success, failure (or error) and partial", "Say how it went.")
    for name in (*_TEXTS, "session_id"):
        if made[name] is not None and not isinstance(made[name], str):
            raise _wrong(name, "it is not text", "Give a string, or leave it out.")
    _check_metrics(made["metrics"])
    if made.get("origin") not in (None, *_ORIGINS):
        raise _wrong("origin", f"it is none of {', '.join(_ORIGINS)}", "Say where the texts come from, or nothing.")
    if not isinstance(made["environment"], (dict, type(None))):
        raise _wrong("environment", "it is not an object", 'Give {"auth": "paid", "locale": "en"}.')
    _check_evidence(made["evidence_refs"])
    if made["promote_candidate"] not in (None, True, False):
        raise _wrong("promote_candidate", "it is neither true nor false", "Leave it out.")
    return msgspec.convert({name: value for name, value in made.items() if value is not None}, ExperienceEvent)


def _check_time(ts: Any, now: datetime) -> None:
    try:
        moment = datetime.fromisoformat(ts)
    except (TypeError, ValueError):
        raise _wrong("ts", "it is no ISO-8601 time", "Give a time such as 2026-04-22T08:15:00+08:00.") from None
    if moment.tzinfo is None:
        raise _wrong("ts", "it has no offset", "Give a time such as 2026-04-22T08:15:00+08:00.")
    if moment - now > timedelta(days=1):
        raise _wrong("ts", "it lies in the future", "Leave ts out: then it is now.")


def _check_metrics(metrics: dict[str, Any]) -> None:
    for name in _COUNTS:
        value = metrics.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            raise _wrong(f"metrics.{name}", "it is no number of at least 0", "Give a number, or leave it out.")
    if not isinstance(metrics.get("rubric_passed"), (bool, type(None))):
        raise _wrong("metrics.rubric_passed", "it is neither true nor false", "Leave it out.")
    if metrics.get("user_feedback") not in (None, *get_args(Feedback)):
        raise _wrong("user_feedback", f"it is none of {', '.join(get_args(Feedback))}", "Leave it out.")


def _check_evidence(refs: Any) -> None:
    if not isinstance(refs, (list, tuple, type(None))):
        raise _wrong("evidence_refs", "it is no list", "Give a list of URLs.")
    for ref in cast("list[Any]", refs or []):
        if isinstance(ref, dict):
            fields = cast("dict[str, Any]", ref)
            if not all(isinstance(fields.get(name), str) and fields[name] for name in ("title", "url")):
                raise _wrong("evidence_refs", "an entry has no title or no url", "Give both, or only the URL as text.")
        elif not isinstance(ref, str) or not ref:
            raise _wrong("evidence_refs", "an entry is no text", "Give URLs as text.")


def _wrong(field: str, what: str, next: str) -> InvalidEvent:
    return InvalidEvent(f"Field {field}: {what}.", next=f"{next} A correct event: {EXAMPLE}", field=field)
