"""Google RE2 on UTF-8 bytes: time linear in the text, whatever the pattern and the text."""

from __future__ import annotations

import hashlib
import hmac
import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, cast

from ...models.text import late

_re2 = importlib.import_module("re2")  # ships without types; the Protocols below are what this room uses of it

_DIRECT = importlib.import_module("re2._re2")  # the library's wrapper costs more than most matches
_RE2: Any = _DIRECT.RE2
_SET: Any = _DIRECT.Set
_ANYWHERE, _AT_START, _WHOLE = _RE2.Anchor.UNANCHORED, _RE2.Anchor.ANCHOR_START, _RE2.Anchor.ANCHOR_BOTH
_NOTHING = ((-1, -1),)
_STATES_BYTES = 64 << 20  # room for the automaton's states; RE2 slows down, and stays linear, where it does not suffice
_TOGETHER = 25  # patterns in one automaton: its states multiply, and are built while the first texts are read


class PatternMatch(Protocol):
    """One match; offsets are bytes of the searched text, (-1, -1) for a group that took no part."""

    def span(self, group: int = 0) -> tuple[int, int]: ...
    def start(self, group: int = 0) -> int: ...
    def end(self, group: int = 0) -> int: ...
    def group(self, group: int = 0) -> bytes: ...


class Pattern(Protocol):
    """A compiled pattern. What lies outside `pos` and `endpos` still decides on word and line boundaries."""

    @property
    def groups(self) -> int: ...
    def search(self, text: bytes, pos: int = ..., endpos: int = ...) -> PatternMatch | None: ...
    def match(self, text: bytes, pos: int = ..., endpos: int = ...) -> PatternMatch | None: ...
    def fullmatch(self, text: bytes, pos: int = ..., endpos: int = ...) -> PatternMatch | None: ...
    def finditer(self, text: bytes, pos: int = ..., endpos: int = ...) -> Iterator[PatternMatch]: ...
    def spans(self, text: bytes, pos: int = ..., endpos: int = ...) -> Iterator[tuple[int, int]]: ...


class _Match:
    """Spans of one match, as the library's own, without its cost in Python: a log is full of candidates."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: bytes, spans: Sequence[tuple[int, int]]) -> None:
        self._text, self._spans = text, spans

    def span(self, group: int = 0) -> tuple[int, int]:
        return self._spans[group]

    def start(self, group: int = 0) -> int:
        return self._spans[group][0]

    def end(self, group: int = 0) -> int:
        return self._spans[group][1]

    def group(self, group: int = 0) -> bytes:
        start, end = self._spans[group]
        return self._text[start:end] if start >= 0 else None  # type: ignore[return-value]


class _Compiled:
    """A pattern of RE2, called directly."""

    __slots__ = ("_match", "groups")

    def __init__(self, expression: Any) -> None:
        self._match = expression.Match
        self.groups: int = expression.NumberOfCapturingGroups()

    def _first(self, anchor: Any, text: bytes, pos: int, endpos: int | None) -> _Match | None:
        end = len(text) if endpos is None else min(endpos, len(text))
        spans = self._match(anchor, text, pos, end) if pos <= end else _NOTHING
        return None if spans[0][0] < 0 else _Match(text, spans)

    def search(self, text: bytes, pos: int = 0, endpos: int | None = None) -> PatternMatch | None:
        return self._first(_ANYWHERE, text, pos, endpos)

    def match(self, text: bytes, pos: int = 0, endpos: int | None = None) -> PatternMatch | None:
        return self._first(_AT_START, text, pos, endpos)

    def fullmatch(self, text: bytes, pos: int = 0, endpos: int | None = None) -> PatternMatch | None:
        return self._first(_WHOLE, text, pos, endpos)

    def finditer(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Iterator[PatternMatch]:
        end = len(text) if endpos is None else min(endpos, len(text))
        match, place = self._match, pos
        while place <= end:
            spans = match(_ANYWHERE, text, place, end)
            start, stop = spans[0]
            if start < 0:
                return
            yield _Match(text, spans)
            place = stop if stop > place else place + 1

    def spans(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Iterator[tuple[int, int]]:
        """Where the matches stand, for half the cost."""
        end = len(text) if endpos is None else min(endpos, len(text))
        match = self._match
        while pos <= end:
            span: tuple[int, int] = match(_ANYWHERE, text, pos, end)[0]
            if span[0] < 0:
                return
            yield span
            pos = span[1] if span[1] > pos else pos + 1


class BadPattern(ValueError):
    """RE2 does not take the pattern; the text says why, without the pattern."""


class Find(NamedTuple):
    """A secret's place: bytes from `start` up to `end`."""

    start: int
    end: int
    kind: str
    rank: int
    """Where finds overlap, the lowest rank names the kind."""


WITHHELD = "withheld"
"""The kind of a find that is no secret, but the rest of a text that nobody had the time to check."""


class _Late:
    """Stands for a pattern until it is used: of a hundred rules a short text needs a few."""

    def __init__(self, make: Callable[[], Pattern]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._make()
        self.__dict__.update({one: getattr(found, one) for one in _USES})
        return self.__dict__[name]


_USES = ("groups", "search", "match", "fullmatch", "finditer", "spans")


@lru_cache(maxsize=512)  # redactors of one process share patterns, and the states that RE2 builds for them
def compiled(source: str, *, any_case: bool = False, longest: bool = False, groups: bool = True) -> Pattern:
    """A pattern of ours for bytes of UTF-8, compiled when it is first used. Without groups a match is found at a third
    of the cost."""
    return cast("Pattern", _Late(lambda: compiled_now(source, any_case=any_case, longest=longest, groups=groups)))


@lru_cache(maxsize=512)
def compiled_now(source: str, *, any_case: bool = False, longest: bool = False, groups: bool = True) -> Pattern:
    """The same, compiled at once: for patterns that a user wrote.

    Raises:
        BadPattern: not a pattern that RE2 knows (look-around and back references are not).
    """
    options = _re2.Options()
    options.max_mem = _STATES_BYTES
    options.log_errors = False
    options.case_sensitive = not any_case
    options.longest_match = longest
    options.never_capture = not groups
    expression = _RE2(source.encode(), options)
    if not expression.ok():
        raise BadPattern(expression.error().decode("utf-8", "replace").split(":", 1)[0])
    return _Compiled(expression)


class Gates:
    """Says in one pass, or a few, which of several patterns occur in a text, wherever."""

    def __init__(self, patterns: Sequence[str]) -> None:
        options = _re2.Options()
        options.max_mem = _STATES_BYTES
        options.log_errors = False
        self._sets: list[tuple[int, Callable[[bytes], list[int]]]] = []
        for first in range(0, len(patterns), _TOGETHER):
            together = _SET(_ANYWHERE, options)
            for pattern in patterns[first : first + _TOGETHER]:
                together.Add(pattern.encode())
            together.Compile()
            self._sets.append((first, together.Match))

    def opened_by(self, text: bytes) -> list[int]:
        """Places, in the order given, of the patterns that occur."""
        out: list[int] = []
        for first, match in self._sets:
            if places := match(text):
                out += sorted(first + place for place in places)
        return out


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


# The mark that stands for a secret: `[redacted:kind:hash8]`, in letters that only the store's key can make.


_MARK = late(rb"\[redacted:([a-z0-9][a-z0-9_-]{0,63}):([g-v]{5})([g-v]{3})\]")
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")
"""Hex digits as letters: nobody takes a mark for a hash or a number that the source does not have."""


class Marker:
    """Makes marks with one store's key.

    Equal secrets get equal hashes within a store, so that a reader sees that two places hold the same one; without the
    key nobody can test a guess against the hash, nor compare marks of two stores.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def mark(self, kind: str, secret: bytes) -> bytes:
        """The mark in UTF-8: five letters of the HMAC-SHA256 (RFC 2104) of the secret, and three that prove the key."""
        letters = self._letters(secret)[:5]
        return f"[redacted:{kind}:{letters}{self._proof(kind, letters)}]".encode()

    def marks(self, text: bytes) -> list[tuple[int, int]]:
        """Where in the text marks of this store stand, in order. What only looks like a mark is text like any other."""
        if b"[redacted:" not in text:
            return []
        found = _MARK.finditer(text)
        return [m.span() for m in found if m.group(3).decode() == self._proof(m.group(1).decode(), m.group(2).decode())]

    def _proof(self, kind: str, letters: str) -> str:
        return self._letters(f"mark:{kind}:{letters}".encode())[:3]

    def _letters(self, data: bytes) -> str:
        return hmac.new(self._key, data, hashlib.sha256).hexdigest().translate(_LETTERS)


def kind_of(rule_id: str) -> str:
    """A rule's id in the letters that a mark allows."""
    return re.sub(r"[^a-z0-9_-]+", "-", rule_id.lower()).strip("-_")[:64] or "rule"


# Whether a user's pattern fits everything: as an exception it would turn masking off, as a rule mask all that is.


_SHAPES = (
    b"k7Qz9XvB2mWc8RtY4nHp6LdJ3sGf5TbN1aVe0UiKoQyZ",  # letters and digits
    b"7f3a9c0e41b8d62557ce90af13bd846209e7d1f5c3a8",  # hexadecimal
    b"+x/9Q=b+/7w==Kd/2+Z=h/5T+=m/8R+c=/4Y+n=/6L+p",  # base64 and the like
    b"!t#9&b%2*w@7^k$4~m?8(r)1{y}5[n]3<h>6|p;0,l:z",  # signs
    b"four plain words or more that say not anything",  # a sentence
)
"""Texts that have nothing in common but their length."""
_LENGTHS = (8, 16, 40)
_MOST = 3
"""Shapes of one length that a pattern may fit; the keys of two services rarely share more than two."""


def fits_everything(pattern: Pattern, *, whole: bool) -> bool:
    """Whether a pattern fits the empty text, or nearly all texts of some length whatever they look like.

    Args:
        whole: it must fit from end to end, as an exception does; else somewhere.
    """
    fits = pattern.fullmatch if whole else pattern.search
    return fits(b"") is not None or any(
        sum(fits(shape[:length]) is not None for shape in _SHAPES) > _MOST for length in _LENGTHS
    )
