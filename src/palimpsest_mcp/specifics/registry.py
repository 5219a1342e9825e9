"""The registry of specifics: strings that must survive verbatim, found in one linear pass."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import Final

from ..models.specifics import Span
from . import lexer, phrases
from .classes import CLASSES, SpecificClass, UserClass
from .groups import view
from .keys import key_before
from .lexer import Hit, lex
from .user import UserPattern, compiled

RULES: Final = "4"
"""Counts up with every change of what the built-in classes find."""

_LAYOUT = "\n\t\r\"'`()[]{}|"
_COLOUR = re.compile("\x1b\\[[0-9;?]{0,64}[A-Za-z]")
_BLANKS = {ord(c): " " for c in _LAYOUT}
_BLOCK = 25_000
_CACHE_CHARS = 2_000_000
_AFTER: Final[dict[int, Callable[[str, int, int, str], tuple[int, str]]]] = {
    lexer.REACH_URL: phrases.after_scheme,
    lexer.REACH_NUMBER: phrases.after_number,
    lexer.REACH_DATE: phrases.after_date,
    lexer.REACH_WORD: phrases.after_word,
    lexer.REACH_ERROR: phrases.after_error,
    lexer.REACH_PATH: phrases.after_path,
    lexer.REACH_MONEY: phrases.after_money,
    lexer.REACH_COMMA: phrases.after_comma,
    lexer.REACH_DOI: phrases.after_doi,
}
"""How a find goes on once what follows its token is seen."""
_OF_NUMBERS: Final = frozenset(
    (lexer.REACH_NUMBER, lexer.REACH_DATE, lexer.REACH_WORD, lexer.REACH_MONEY, lexer.REACH_COMMA)
)
"""Read in the plain view of groups."""

Found = tuple[int, int, str]
"""Start, end, class."""


class DefaultRegistry:
    """Built-in classes and the user's own; implements `ports.text.Registry`.

    What it finds in a text is what it finds in each of its lines (D2): no span crosses a newline, and none depends on
    another line. Time and memory are linear in the text. Safe to share between threads.
    """

    def __init__(self, extra: Sequence[UserClass] = ()) -> None:
        """Take the user's classes.

        Raises:
            BadUserClass: a name is taken or no plain word, a weight is out of range, or RE2 refuses a pattern.
        """
        self._extra = compiled(extra, taken=tuple(cls.name for cls in CLASSES))
        self.classes: tuple[SpecificClass, ...] = (*(one.described for one in self._extra), *CLASSES)
        self._rank = {cls.name: rank for rank, cls in enumerate(self.classes)}
        told = "\x00".join(f"{one.described.name}\x01{one.pattern}" for one in self._extra)
        self.version: str = RULES if not told else f"{RULES}+{hashlib.sha256(told.encode()).hexdigest()[:8]}"
        self._cache = _Cache()

    def spans(self, text: str) -> list[Span]:
        """Specifics in order of place, not overlapping, each with its key where there is one; a name needs none."""
        return [
            Span(start, end, cls, text[start:end], "" if cls == "name" else key_before(text, start))
            for start, end, cls in self._found(text)
        ]

    def set_of(self, text: str) -> set[tuple[str, str]]:
        """The set S of D2: (class, text), whatever the key and however often."""
        return {(cls, text[start:end]) for start, end, cls in self._found(text)}

    def _found(self, text: str) -> Iterable[Found]:
        built_in = (found for at, block in _blocks(text) for found in self._scan(block, at))
        return _resolved(built_in, self._extra, text, self._rank) if self._extra else built_in

    def _scan(self, text: str, offset: int) -> Iterator[Found]:
        plainly = view(text)
        blanked = f" {_blanked(plainly)} "
        tokens = blanked.split(" ")
        records = self._records(tokens)
        at, done = -1, 0
        for token, hits in zip(compress(tokens, records), filter(None, records), strict=True):
            at = blanked.find(f" {token} ", at + 1)  # the next token that is equal, hence this one
            for begin, stop, cls, reach in hits:
                start, end = at + begin, at + stop
                if start < done:
                    continue
                if reach:
                    end, cls = _AFTER[reach](plainly if reach in _OF_NUMBERS else text, start, end, cls)
                if cls:
                    end += text[start] == "(" and text[end : end + 1] == ")"  # one bracket became a minus
                    done = end
                    yield start + offset, end + offset, cls

    def _records(self, tokens: list[str]) -> list[tuple[Hit, ...]]:
        """What each token holds. The cache only saves time: it is dropped when full, and nothing depends on it."""
        cache = self._cache
        records = list(map(cache.__getitem__, tokens))
        if cache.chars > _CACHE_CHARS:
            self._cache = _Cache()
        return records


class _Cache(dict[str, tuple[Hit, ...]]):
    """Tokens with what they hold."""

    chars = 0

    def __missing__(self, token: str) -> tuple[Hit, ...]:
        self[token] = hits = lex(token)
        self.chars += len(token)
        return hits


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Whole lines, some ten thousands of characters at a time: what is at hand at once stays small."""
    if len(text) <= _BLOCK:
        yield 0, text
        return
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK) + 1 or len(text)
        yield start, text[start:end]
        start = end


def _blanked(text: str) -> str:
    if "\x1b" in text:
        text = _COLOUR.sub(_blank, text)
    if text.isascii():
        return text.translate(_BLANKS)
    for char in _LAYOUT:
        text = text.replace(char, " ")
    return text


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _resolved(built_in: Iterable[Found], extra: Sequence[UserPattern], text: str, rank: dict[str, int]) -> list[Found]:
    """The longest wins, then registry order, then place."""
    every = [*built_in, *(found for one in extra for found in one.found(text))]
    every.sort(key=lambda f: (f[0] - f[1], rank[f[2]], f[0]))
    taken = bytearray(len(text))
    kept: list[Found] = []
    for start, end, cls in every:
        if not (taken[start] or taken[end - 1]):
            taken[start:end] = b"\x01" * (end - start)
            kept.append((start, end, cls))
    return sorted(kept)
