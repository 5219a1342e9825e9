"""A few values of a JSON text replaced where they stand: every other byte of it stays as it came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder()
Edit = tuple[int, int, str]
"""From, to, and what stands there then."""


class NotSpliceable(ValueError):
    """The text is not the JSON that it was read as: an object has one name twice, or it is cut short."""


class Place(NamedTuple):
    """A value and where it stands in its text."""

    start: int
    end: int
    value: Any


def value_at(text: str, at: int = 0) -> Place:
    """The value that begins at a place, after white space.

    Raises:
        NotSpliceable: there is none.
    """
    start = _past_space(text, at)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise NotSpliceable("no JSON") from None
    return Place(start, end, value)


def members(text: str, at: int = 0) -> dict[str, Place]:
    """The members of the object that begins at a place.

    Raises:
        NotSpliceable: it is no object, or has a name twice.
    """
    at = _past_space(text, at)
    found: dict[str, Place] = {}
    if text[at : at + 1] != "{":
        raise NotSpliceable("no object")
    at = _past_space(text, at + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise NotSpliceable("no name")
        _, at, name = value_at(text, at)
        at = _past_space(text, at)
        if text[at : at + 1] != ":" or name in found:
            raise NotSpliceable("no value, or a name twice")
        found[name] = value_at(text, at + 1)
        at = _next(text, found[name].end, "}")
    return found


def elements(text: str, at: int = 0) -> list[Place]:
    """The elements of the list that begins at a place.

    Raises:
        NotSpliceable: it is no list.
    """
    at = _past_space(text, at)
    if text[at : at + 1] != "[":
        raise NotSpliceable("no list")
    found: list[Place] = []
    at = _past_space(text, at + 1)
    while text[at : at + 1] != "]":
        found.append(value_at(text, at))
        at = _next(text, found[-1].end, "]")
    return found


def edits(text: str, at: int, before: Any, after: Any) -> Iterator[Edit]:
    """What is to change in a text so that it says `after`: as little as can be told apart.

    Args:
        before: the value that begins at `at`; parts of `after` that are the very same objects are not looked into.

    Raises:
        NotSpliceable: the text is not what `before` was read from.
    """
    if after is before:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        if old.keys() == new.keys():
            for name, place in members(text, at).items():
                yield from edits(text, place.start, old[name], new[name])
            return
    if isinstance(before, list) and isinstance(after, list):
        olds, news = cast("list[Any]", before), cast("list[Any]", after)
        if len(olds) == len(news):
            for place, old, new in zip(elements(text, at), olds, news, strict=True):
                yield from edits(text, place.start, old, new)
            return
    place = value_at(text, at)
    if before != after:
        yield place.start, place.end, written(after)


def spliced(text: str, changes: Iterator[Edit] | list[Edit]) -> str:
    """The text with its changes; they do not overlap."""
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(changes):
        parts += (text[at:start], new)
        at = end
    return "".join([*parts, text[at:]])


def written(value: Any) -> str:
    """A value as JSON that can be encoded, halves of surrogate pairs too."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text) else json.dumps(value)


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _next(text: str, at: int, close: str) -> int:
    """Behind the comma, or at the closing bracket."""
    at = _past_space(text, at)
    if text[at : at + 1] == close:
        return at
    after = _past_space(text, at + 1)
    if text[at : at + 1] != "," or text[after : after + 1] in ("", close):
        raise NotSpliceable("no comma")
    return after
