"""The registry of specifics: strings that must survive verbatim, found in one linear pass."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, Final

import msgspec

from ...models.items import Span
from ...models.text import late
from . import lexer, patterns
from .delimited import view
from .lexer import Hit, lex
from .vocabulary import KEY_WORDS

# The classes of specifics: what each is worth, and which come first when a digest runs short.


class SpecificClass(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of string that must survive verbatim."""

    name: str
    weight: float
    """What showing one is worth to a digest, 0.5-6: what an agent cannot guess and would act on wrongly weighs most."""
    first_rank: bool
    """Before one of these is left out, the budget of the batch grows (design §9.1)."""
    description: str
    example: str


class UserClass(msgspec.Struct, frozen=True, kw_only=True):
    """A class that a user adds in the settings."""

    name: str
    pattern: str
    """RE2 syntax: no look-around, no back references. Matched inside one line; `^` and `$` are the line's ends."""
    weight: float = 3.0
    first_rank: bool = False
    description: str = "added in the settings"
    example: str = ""


def _c(name: str, weight: float, first: bool, description: str, example: str) -> SpecificClass:
    return SpecificClass(name=name, weight=weight, first_rank=first, description=description, example=example)


CLASSES: tuple[SpecificClass, ...] = (
    _c("error", 6, True, "error types and symbolic error codes", "ENOENT"),
    _c("status", 6, True, "exit codes, HTTP status and signals, with the word that says so", "exit code 2"),
    _c("url", 5, True, "addresses with a scheme, whole", "https://example.org/a?b=1"),
    _c("path", 4, False, "files and folders, with :line(:column)", "src/app/main.py:12:5"),
    _c("issue", 4, True, "issues, pull requests, tickets, CVE and advisory ids", "owner/repo#12"),
    _c("uuid", 3, False, "UUIDs", "6f1e2c4a-0b7d-4c1e-9a55-2f6f0c3d9b10"),
    _c("hash", 3, False, "hexadecimal of 7 digits or more, a letter and a digit among them", "6e62183"),
    _c("date", 3, False, "dates, times, and both together", "2026-11-20T10:00:00.123Z"),
    _c("host", 4, False, "IP addresses, host names, with port", "10.0.0.7:5432"),
    _c("version", 3, True, "versions, version ranges, package@version", "2.0.0-beta.1"),
    _c("money", 3, True, "amounts with a currency", "$12.50"),
    _c("score", 2.5, True, "percentages, and shares written with a decimal point", "92.2 %"),
    _c("quantity", 2, True, "numbers with their unit", "3.4GB"),
    _c("number", 2, True, "decimals, grouped numbers, and integers of 5 digits or more", "48213"),
    _c("integer", 0.5, False, "integers of 2 to 4 digits", "1593"),
    _c("id", 4, False, "identifiers that mix letters and digits", "HAT069"),
    _c("constant", 1, False, "UPPER_SNAKE names", "MAX_RETRIES"),
    _c("name", 1.8, False, "qualified, snake_case and camelCase names", "os.path.join"),
    _c("handle", 1.5, False, "@names; an e-mail address is none", "@octocat"),
    _c("email", 1, False, "e-mail addresses, whole", "ada@example.org"),
    _c("command", 2, False, "shell commands after a `$ ` prompt", "$ npm run build"),
)
"""In the order that decides where one string could be of two classes."""


# A user's own class, matched by RE2: linear time whatever the pattern and the text.


_NAME = late(r"[a-z][a-z0-9_-]{0,30}")


class BadUserClass(ValueError):
    """A class from the settings cannot be used.

    Attributes:
        name: of the class, as the user wrote it.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"specifics class {name!r}: {why}")
        self.name = name


class UserPattern:
    """One compiled class."""

    def __init__(self, user: UserClass, *, taken: Sequence[str]) -> None:
        if _NAME.fullmatch(user.name) is None:
            raise BadUserClass(user.name, "a name is a lower-case letter, then letters, digits, - or _")
        if user.name in taken:
            raise BadUserClass(user.name, "this name is built in")
        if not 0.5 <= user.weight <= 6:
            raise BadUserClass(user.name, "the weight is a number from 0.5 to 6")
        self.pattern = user.pattern
        self.described = SpecificClass(
            name=user.name,
            weight=user.weight,
            first_rank=user.first_rank,
            description=user.description,
            example=user.example,
        )
        self._compiled = _compile(user)

    def found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Matches, line by line, none of them empty."""
        for found in self._compiled.finditer(text):
            if found.end() > found.start():
                yield found.start(), found.end(), self.described.name


def compiled(extra: Sequence[UserClass], *, taken: Sequence[str]) -> tuple[UserPattern, ...]:
    """All of a user's classes, in their order; `taken` are names in use.

    Raises:
        BadUserClass: for the first one that cannot be used.
    """
    names = [one.name for one in extra]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadUserClass(twice, "it is there twice")
    return tuple(UserPattern(one, taken=taken) for one in extra)


def _compile(user: UserClass) -> Any:
    re2: Any = importlib.import_module("re2")  # costs milliseconds that only those who add classes should pay
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    try:
        return re2.compile("(?m)" + user.pattern, options)
    except re2.error as error:
        raise BadUserClass(user.name, f"RE2 refuses the pattern: {error}") from error


# The words that say what a value is: the nearest key to its left, in the same line.


LONGEST_KEY = 40
"""Characters; a longer run is prose, not a key."""

_LOOK = LONGEST_KEY + 40
# All three read the text before the value backwards. A type between name and value (`timeout: float = 5.0`) is no key.
_OPENERS, _SIGNS = " \t\"'`([{$<\\*", frozenset("=:>")  # of a pair: what may stand between its sign and the value
_OPEN = r"[\"'`(\[{$<\\]{0,4}[ \t]{0,16}\*{0,2}"
_CLOSE = r"[ \t]{0,16}[\"'`)\]*\\]{0,4}"
_PAIR = late(rf"{_OPEN}(?:=[ \t]{{0,4}}[0-9A-Za-z_.\]\[|]{{1,24}} ?:|>=|[=:]){_CLOSE}([0-9A-Za-z_.$@/-]+)")
_FLAG = late(r"[\"']?[ =]([0-9A-Za-z_-]*[0-9A-Za-z])--?(?:[\s\"'(\[]|$)")
_NAMED = late(
    r" (?::|=)?((?:"
    + "|".join(
        word[::-1]
        for word in sorted(
            KEY_WORDS,
            key=lambda w: (-len(w), w),
        )
    )
    + r"))(?![0-9A-Za-z_])"
)
_NAMED_ENDS = frozenset(":=") | {word[-1] for word in KEY_WORDS}


def key_before(text: str, start: int) -> str:
    """Key of the value at `start`, without quotes, empty where none stands right before it."""
    before = text[start - 1 : start]
    if before not in " \t=:\"'`([{$<" or not before:
        return ""
    left = text[max(0, start - _LOOK) : start]
    left = left[left.rfind("\n") + 1 :]
    if left.rstrip(_OPENERS)[-1:] in _SIGNS:
        found = _PAIR.match(left[::-1])
        if found:
            return _clean(found[1][::-1])
    if before == " ":
        back = left[::-1]
        found = _FLAG.match(back) if "-" in left else None
        if found is None and left[-2:-1] in _NAMED_ENDS:
            found = _NAMED.match(back)
        if found:
            return _clean(found[1][::-1])
    return ""


def _clean(key: str) -> str:
    key = key.lstrip("-./$").rstrip("-./$@")
    return key if len(key) <= LONGEST_KEY and any(c.isalpha() for c in key) else ""


RULES: Final = "4"
"""Counts up with every change of what the built-in classes find."""

_LAYOUT = "\n\t\r\"'`()[]{}|"
_COLOUR = late("\x1b\\[[0-9;?]{0,64}[A-Za-z]")
_BLANKS = {ord(c): " " for c in _LAYOUT}
_BLOCK = 25_000
_CACHE_CHARS = 2_000_000
_AFTER: Final[dict[int, Callable[[str, int, int, str], tuple[int, str]]]] = {
    lexer.REACH_URL: patterns.after_scheme,
    lexer.REACH_NUMBER: patterns.after_number,
    lexer.REACH_DATE: patterns.after_date,
    lexer.REACH_WORD: patterns.after_word,
    lexer.REACH_ERROR: patterns.after_error,
    lexer.REACH_PATH: patterns.after_path,
    lexer.REACH_MONEY: patterns.after_money,
    lexer.REACH_COMMA: patterns.after_comma,
    lexer.REACH_DOI: patterns.after_doi,
}
"""How a find goes on once what follows its token is seen."""
_OF_NUMBERS: Final = frozenset(
    (lexer.REACH_NUMBER, lexer.REACH_DATE, lexer.REACH_WORD, lexer.REACH_MONEY, lexer.REACH_COMMA)
)
"""Read in the plain view of groups."""

Found = tuple[int, int, str]
"""Start, end, class."""


class DefaultRegistry:
    """Built-in classes and the user's own; implements `ports.seams.Registry`.

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
