"""What must not be kept of an event: secrets, and the words that somebody typed."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from ..models.plain_text import plain

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
