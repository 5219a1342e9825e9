"""An event that comes in: checked, brought into the seed's 18 fields, without secrets and raw queries."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias, cast, get_args

import msgspec

from ..errors import InvalidEvent
from ..models.text import plain
from .models import ExperienceEvent, Feedback
from .parse import own_id, sighting_of

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
