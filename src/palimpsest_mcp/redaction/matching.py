"""Google RE2 on UTF-8 bytes: time linear in the text, whatever the pattern and the text."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, cast

_re2 = importlib.import_module("re2")  # ships without types; the Protocols below are what this room uses of it

_STATES_BYTES = 64 << 20  # room for the automaton's states; RE2 slows down, and stays linear, where it does not suffice
_TOGETHER = 12  # patterns in one automaton: its states multiply, and are built while the first texts are read


class Found(Protocol):
    """One match; offsets are bytes of the searched text, (-1, -1) for a group that took no part."""

    def span(self, group: int = 0) -> tuple[int, int]: ...
    def start(self, group: int = 0) -> int: ...
    def end(self, group: int = 0) -> int: ...
    def group(self, group: int = 0) -> bytes: ...


class Pattern(Protocol):
    """A compiled pattern. What lies outside `pos` and `endpos` still decides on word and line boundaries."""

    @property
    def groups(self) -> int: ...
    def search(self, text: bytes, pos: int = ..., endpos: int = ...) -> Found | None: ...
    def match(self, text: bytes, pos: int = ..., endpos: int = ...) -> Found | None: ...
    def fullmatch(self, text: bytes, pos: int = ..., endpos: int = ...) -> Found | None: ...
    def finditer(self, text: bytes, pos: int = ..., endpos: int = ...) -> Iterator[Found]: ...


class BadPattern(ValueError):
    """RE2 does not take the pattern; the text says why, without the pattern."""


class Find(NamedTuple):
    """A secret's place: bytes from `start` up to `end`."""

    start: int
    end: int
    kind: str
    rank: int
    """Where finds overlap, the lowest rank names the kind."""


def compiled(source: str, *, any_case: bool = False, longest: bool = False) -> Pattern:
    """Compile a pattern for bytes of UTF-8.

    Raises:
        BadPattern: not a pattern that RE2 knows (look-around and back references are not).
    """
    options = _re2.Options()
    options.max_mem = _STATES_BYTES
    options.log_errors = False
    options.case_sensitive = not any_case
    options.longest_match = longest
    try:
        return cast("Pattern", _re2.compile(source.encode(), options=options))
    except _re2.error as error:
        reason = error.args[0] if error.args else "not understood"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise BadPattern(text.split(":", 1)[0]) from None


class Gates:
    """Says in one pass, or a few, which of several patterns occur in a text, wherever."""

    def __init__(self, patterns: Sequence[str]) -> None:
        options = _re2.Options()
        options.max_mem = _STATES_BYTES
        options.log_errors = False
        self._sets: list[tuple[int, Any]] = []
        for first in range(0, len(patterns), _TOGETHER):
            together = _re2.Set.SearchSet(options)
            for pattern in patterns[first : first + _TOGETHER]:
                together.Add(pattern.encode())
            together.Compile()
            self._sets.append((first, together))

    def opened_by(self, text: bytes) -> list[int]:
        """Places, in the order given, of the patterns that occur."""
        return [
            first + place
            for first, together in self._sets
            for place in sorted(cast("list[int] | None", together.Match(text)) or ())
        ]


def literal(text: str) -> str:
    """The text as a pattern for itself."""
    return cast("str", _re2.escape(text))


def merged(finds: list[Find]) -> list[Find]:
    """Overlapping finds as one, in order of place; the kind is that of the lowest rank, then of the longest."""
    out: list[Find] = []
    for find in sorted(finds):
        if not out or find.start >= out[-1].end:
            out.append(find)
            continue
        last = out[-1]
        best = min(last, find, key=lambda f: (f.rank, f.start - f.end))
        out[-1] = Find(last.start, max(last.end, find.end), best.kind, best.rank)
    return out
