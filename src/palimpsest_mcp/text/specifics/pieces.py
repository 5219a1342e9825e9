"""Source pieces (D1): lines, JSON leaves as written, sentences. Nothing is reformatted: `1.10` stays `1.10`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

LONGEST_PATH: Final = 64
"""Steps; a leaf that lies deeper carries the innermost ones, so that hostile nesting costs linear memory."""

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*"')
_ESCAPE = re.compile(r"\\(?:u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))")
_WORDS: Final = ("true", "false", "null")
_PLAIN: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SENTENCE = re.compile(r"(?<=[.!?])[ \t]+(?=[\"'(\[]?[A-Z0-9])|(?<=[\u3002\uff01\uff1f])")

Path = tuple[str | int, ...]


class Leaf(NamedTuple):
    """One value of a JSON text."""

    path: Path
    """Keys and 0-based indexes from the root, at most the innermost `LONGEST_PATH`."""
    literal: str
    """The decoded text of a string; anything else as written, down to every zero."""
    is_string: bool

    @property
    def key(self) -> str:
        """The nearest key with a name, empty at the root and in bare lists."""
        return next((step for step in reversed(self.path) if isinstance(step, str)), "")


def lines(text: str) -> list[str]:
    r"""Lines without their `\n`; no other character ends a line. A final `\n` opens no further line."""
    split = text.split("\n")
    if split[-1] == "":
        split.pop()
    return split


def sentences(text: str) -> list[str]:
    """Sentences of prose, line by line; joined by what stood between them they are the text again."""
    return [part for line in lines(text) for part in _SENTENCE.split(line) if part.strip()]


def json_leaves(text: str) -> list[Leaf] | None:
    """Leaves of a JSON object or array in the order written, or `None` where the text is not one.

    Empty objects and arrays are leaves too, `{}` and `[]`. Duplicate keys all stand. Linear in time, without recursion.
    """
    start = _BLANK.match(text).end()  # type: ignore[union-attr]
    if text[start : start + 1] not in ("{", "["):
        return None
    try:
        return list(_walk(text, start))
    except _NotJson:
        return None


def embedded(leaf: Leaf) -> list[Leaf] | None:
    """Leaves of a string leaf that holds JSON itself, their paths going on from it; `None` where it holds none."""
    inner = json_leaves(leaf.literal) if leaf.is_string else None
    return None if inner is None else [one._replace(path=(*leaf.path, *one.path)) for one in inner]


class _NotJson(Exception):
    pass


def _walk(text: str, at: int) -> Iterator[Leaf]:
    """A stack machine over the text; `path[-1]` is the key or index of the value that comes next."""
    path: list[str | int] = []
    closers: list[str] = []
    while True:
        at = _skip(text, at)
        opener = text[at : at + 1]
        if opener and opener in "{[":
            closer = "}" if opener == "{" else "]"
            inner = _skip(text, at + 1)
            if text[inner : inner + 1] == closer:
                yield Leaf(tuple(path[-LONGEST_PATH:]), opener + closer, False)
                at = inner + 1
            else:
                closers.append(closer)
                at = _open(text, inner, closer, path)
                continue
        else:
            leaf, at = _scalar(text, at, path)
            yield leaf
        at = _after_value(text, at, path, closers)
        if not closers:
            return


def _open(text: str, at: int, closer: str, path: list[str | int]) -> int:
    if closer == "]":
        path.append(0)
        return at
    key, at = _key(text, at)
    path.append(key)
    return at


def _after_value(text: str, at: int, path: list[str | int], closers: list[str]) -> int:
    """Close what ends here, step to the next member; position of the next value, or of the end."""
    while closers:
        at = _skip(text, at)
        mark = text[at : at + 1]
        if mark == closers[-1]:
            closers.pop()
            path.pop()
            at += 1
            continue
        if mark != ",":
            raise _NotJson
        at = _skip(text, at + 1)
        last = path.pop()
        if isinstance(last, int):
            path.append(last + 1)
            return at
        key, at = _key(text, at)
        path.append(key)
        return at
    if _skip(text, at) != len(text):
        raise _NotJson
    return at


def _key(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise _NotJson
    colon = _skip(text, found.end())
    if text[colon : colon + 1] != ":":
        raise _NotJson
    return _decoded(found[0]), colon + 1


def _scalar(text: str, at: int, path: list[str | int]) -> tuple[Leaf, int]:
    if text[at : at + 1] == '"':
        found = _STRING.match(text, at)
        if found is None:
            raise _NotJson
        return Leaf(tuple(path[-LONGEST_PATH:]), _decoded(found[0]), True), found.end()
    for word in _WORDS:
        if text.startswith(word, at):
            return Leaf(tuple(path[-LONGEST_PATH:]), word, False), at + len(word)
    found = _NUMBER.match(text, at)
    if found is None:
        raise _NotJson
    return Leaf(tuple(path[-LONGEST_PATH:]), found[0], False), found.end()


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _decoded(quoted: str) -> str:
    inner = quoted[1:-1]
    return _ESCAPE.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(found: re.Match[str]) -> str:
    high, low, single, plain = found.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    return chr(int(single, 16)) if single else _PLAIN.get(plain, plain)
