"""A session whose natural specifics were each changed, wherever they stand, into a new value of the same shape.

What is scored on such a session cannot have been met before, is no repetition that a table could fold up, and follows
from nothing else in the text. A value that stands in several places gets the same new value in all of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from .arms import SEED
from .replay import Message, all_text
from .scoring import CLASSES, specifics

_TRIES = 60
_HEX = "0123456789abcdef"
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()
_PRIVATE = re.compile(r"10\.|127\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.")
_TIME = re.compile(r"\d\d:\d\d(?::\d\d)?")


class Changer:
    """Remembers what became of each value."""

    def __init__(self, messages: Sequence[Message], untouched: Sequence[str]) -> None:
        """`untouched`: planted strings, which stay as they are."""
        text = all_text(list(messages))
        self._taken: set[str] = {value for values in specifics(text).values() for value in values}
        self._known: dict[tuple[str, str], str] = {}
        self._untouched = tuple(untouched)
        self.new: dict[str, set[str]] = {name: set() for name in CLASSES}
        """Class -> values that did not exist before."""

    def messages(self, messages: Sequence[Message]) -> list[Message]:
        """The session with every specific changed; structure, ids and names of tools stay."""
        return [{**one, "content": self._content(one["content"])} for one in messages]

    def _content(self, content: Any) -> Any:
        if isinstance(content, str):
            return self.text(content)
        return [self._block(block) for block in cast("list[Message]", content)]

    def _block(self, block: Message) -> Message:
        changed = dict(block)
        for key in ("text", "content", "input"):
            if key in block:
                changed[key] = self._any(block[key])
        return changed

    def _any(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._any(one) for one in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {key: self._any(one) for key, one in cast("dict[str, Any]", value).items()}
        return value

    def text(self, text: str) -> str:
        """One text; where two classes find overlapping spans, the first class has it."""
        taken = bytearray(len(text))
        for value in self._untouched:
            at = text.find(value)
            while at >= 0:
                taken[at : at + len(value)] = b"\1" * len(value)
                at = text.find(value, at + 1)
        spans: list[tuple[int, int, str]] = []
        for name, pattern in CLASSES.items():
            for match in pattern.finditer(text):
                start, end = match.span()
                if name == "url":
                    end = start + len(match.group().rstrip(".,;:!?*_"))
                if not any(taken[start:end]):
                    taken[start:end] = b"\1" * (end - start)
                    spans.append((start, end, self._other(name, text[start:end])))
        parts: list[str] = []
        at = 0
        for start, end, new in sorted(spans):
            parts += [text[at:start], new]
            at = end
        return "".join([*parts, text[at:]])

    def _other(self, name: str, value: str) -> str:
        known = self._known.get((name, value))
        if known is not None:
            return known
        rng = random.Random(f"{SEED}:{name}:{value}")
        for attempt in range(_TRIES):
            new = _CHANGES[name](value, rng)
            if attempt > _TRIES // 2 and name in ("version", "file:line", "integer"):
                new += str(rng.randint(1, 9))  # shapes with few digits run out of values
            if new not in self._taken and CLASSES[name].fullmatch(new):
                self._taken.add(new)
                self.new[name].add(new)
                break
        else:
            new = value  # nothing else has this shape: it stays, and is not scored
        self._known[(name, value)] = new
        return new


def _digits(value: str, rng: random.Random) -> str:
    """Every digit drawn anew; a first digit that was not 0 is none afterwards."""
    return re.sub(r"\d+", lambda m: _number(m.group(), rng), value)


def _number(digits: str, rng: random.Random) -> str:
    first = rng.choice("123456789") if digits[0] != "0" or len(digits) == 1 else "0"
    return first + "".join(rng.choices("0123456789", k=len(digits) - 1))


def _hex(value: str, rng: random.Random) -> str:
    return re.sub(r"[0-9a-f]", lambda _: rng.choice(_HEX), value)


def _letters(value: str, rng: random.Random) -> str:
    """Letters and digits drawn anew, each of its own kind; punctuation stays."""

    def other(match: re.Match[str]) -> str:
        char = match.group()
        if char.isdigit():
            return rng.choice("0123456789")
        return rng.choice(_UPPER if char.isupper() else _LOWER)

    return re.sub(r"[0-9A-Za-z]", other, value)


def _url(value: str, rng: random.Random) -> str:
    """The last part of the path, or the host's first name where there is none."""
    scheme, _, rest = value.partition("://")
    host, slash, path = rest.partition("/")
    if path.strip("/"):
        head, cut, tail = path.rstrip("/").rpartition("/")
        return f"{scheme}://{host}{slash}{head}{cut}{_letters(tail, rng)}{'/' if path.endswith('/') else ''}"
    name, dot, domain = host.partition(".")
    return f"{scheme}://{_letters(name, rng)}{dot}{domain}{slash}{path}"


def _date(value: str, rng: random.Random) -> str:
    day = f"20{rng.randint(10, 29)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    rest = _TIME.sub(
        lambda m: ":".join(f"{rng.randint(0, 23 if n == 0 else 59):02d}" for n in range(m.group().count(":") + 1)),
        value[10:],
        count=1,
    )
    fraction = re.compile(r"(?<=[.,])\d+")
    return day + fraction.sub(lambda m: "".join(rng.choices("0123456789", k=len(m.group()))), rest)


def _ip(value: str, rng: random.Random) -> str:
    """Every part drawn anew with as many digits; a private network stays the private network it is."""
    host, colon, port = value.partition(":")
    kept = _PRIVATE.match(host)
    ends = {1: (1, 9), 2: (10, 99), 3: (100, 254)}
    drawn = [str(rng.randint(*ends[len(part)])) for part in host[kept.end() if kept else 0 :].split(".")]
    return (kept.group() if kept else "") + ".".join(drawn) + colon + (_number(port, rng) if port else "")


def _line(value: str, rng: random.Random) -> str:
    path, _, line = value.rpartition(":")
    return f"{path}:{_number(line, rng)}"


def _code(value: str, rng: random.Random) -> str:
    if any(c.isdigit() for c in value):
        return _digits(value, rng)
    head = "ERR_" if value.startswith("ERR_") else value[0]
    return head + _letters(value[len(head) :], rng)


_CHANGES: dict[str, Callable[[str, random.Random], str]] = {
    "url": _url,
    "uuid": _hex,
    "date": _date,
    "ip": _ip,
    "file:line": _line,
    "version": _digits,
    "hex": _hex,
    "code": _code,
    "integer": _number,
}
