"""What the digests of a pass are asked for: its instructions, the newest request, open todos, what was typed later."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import msgspec

from ...digest.rank import names_typed, typed_in, words_of
from ...memory.summary.calls import calls_of, strings
from ...memory.summary.quotes import ends_of, one_line, spoken
from ...memory.summary.talk import MAX_ASKED, intent_of, last_asked
from ...memory.summary.todos import todos_of
from ...models.items import Item, content_text
from ...models.plans import ContextItem
from ...models.reports import AskedFor
from ...ports.seams import Redacted, Redactor
from ...text.languages import word_lists

MOST = 80
"""Words that one result is asked for."""
_TYPED, _CALLED_FOR, _REQUESTED = 32, 12, 16
"""Of them at most: what was typed after it, the latest first; what its call looked for; what was asked for then."""
_MOST_ARGUMENT = 1_600
"""Characters of an argument beyond which it may give way to its first line, so that it is not sure to stay in view."""
_MOST_TEXT = 20_000
"""Characters of one message, or argument, that are looked at."""
_MOST_INSTRUCTIONS = 2_000
"""Characters of the instructions of a pass that are looked at."""
_DATA: dict[str, Any] = word_lists("focus")
_QUOTED = re.compile(r"[\"“”„«»`「]([^\"“”„«»`「」\n]{2,80})[\"“”„«»`」]|(?<!\w)['‘]([^'‘’\n]{2,80})['’](?!\w)")
_CLAUSE = re.compile(
    rf"[.;!?](?:\s|$)|[。；！？\n]|, (?=(?:{'|'.join(_DATA['clauses'])})\b)| (?=(?:{'|'.join(_DATA['drops'])})\b)",
    re.IGNORECASE,
)
_TERM = re.compile(r"[^\s\"'`“”„«»「」,;]+")
_PLURAL = re.compile(r"[a-zA-Z]{3,}[^s\W]s")
_MOST_WANTED, _MOST_WORDS = 8, 4


class Cues:
    """How one language asks for every line of a kind."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        def any_of(*names: str) -> str:
            return "|".join(one for name in names for one in words.get(name, ())) or "(?!)"

        between = f"(?:{any_of('with')})" + (r"\s+)?" if words.get("bare") else r"\b)")
        self.keep = re.compile(rf"\b(?:{any_of('keep')})\b", re.IGNORECASE)
        self.last = re.compile(rf"\b(?:{any_of('last')})\W*$", re.IGNORECASE)
        self.lines_with = re.compile(rf"\b(?:{any_of('lines')})\s+(?:{between}(.+)", re.IGNORECASE)
        self.every = re.compile(rf"\b(?:{any_of('every')})\b(.*?)\b({any_of('lines', 'kinds')})\b", re.IGNORECASE)
        self.glued = [re.compile(one, re.IGNORECASE) for one in words.get("glued", ())]
        self.also = re.compile(rf"\s*(?:,|/|、|\b(?:{any_of('also')})\b)\s*", re.IGNORECASE)
        self.empty: frozenset[str] = frozenset(words.get("empty", ()))

    def terms(self, clause: str) -> list[str]:
        """The words that a clause wants every line of."""
        found: list[str] = []
        for text in self._named(clause):
            quoted = [one or other for one, other in _QUOTED.findall(text)]
            found += filter(None, (_term(one, self.empty) for one in quoted or self.also.split(text)))
        return found

    def _named(self, clause: str) -> list[str]:
        if self.glued:
            return [found[1] for one in self.glued for found in one.finditer(clause)]
        if (keep := self.keep.search(clause)) is not None:
            rest = clause[keep.end() :]
        elif (last := self.last.search(clause)) is not None:
            rest = clause[: last.start()]
        else:
            return []
        if (lines := self.lines_with.search(rest)) is not None:
            return [lines[1]]
        return [one if _term(one, self.empty) else noun for one, noun in self.every.findall(rest)]


_LANGUAGES = [Cues(cast("dict[str, Any]", words)) for words in _DATA.values() if isinstance(words, dict)]


def wanted_in(instructions: str) -> tuple[str, ...]:
    """Words whose every line is to be kept: `deadlock` of "keep every deadlock line", `lock wait` of "behalte alle
    Zeilen mit 'lock wait'" (languages: `text/languages/focus.toml`). Of several words a line has to have all."""
    found: dict[str, None] = {}
    for clause in _CLAUSE.split(instructions):
        found.update(dict.fromkeys(next(filter(None, (one.terms(clause) for one in _LANGUAGES)), ())))
    return tuple(found)[:_MOST_WANTED]


def _term(text: str, empty: Collection[str]) -> str:
    """The words that a line must have; empty where they would fit any line, or are too many to be in one."""
    words = [word.strip("().:-") for word in _TERM.findall(text)]
    words = [word for word in words if word and word.casefold() not in empty]
    words = [word[:-1] if _PLURAL.fullmatch(word) else word for word in words]
    return " ".join(words) if 0 < len(words) <= _MOST_WORDS and len("".join(words)) > 1 else ""


class Asked(NamedTuple):
    """What the digest of some results is asked for."""

    words: tuple[tuple[str, ...], ...]
    """Per result: names as they were typed, the latest first; words of its call, of the request then, of the task."""
    said: frozenset[str]
    """Names of theirs that messages show, and go on showing."""
    wanted: tuple[str, ...] = ()
    """Words whose every line is to be kept."""


class Focus:
    """What a session's messages and calls say of what will be needed. Secrets in it are masked: typed words are only
    given where the masked text of the result has them too."""

    def __init__(self, redactor: Redactor, instructions: str = "") -> None:
        """`instructions`: as they were given with the pass."""
        self._redactor = redactor
        self.asked_for = AskedFor(instructions=one_line(self._mask(instructions[:_MOST_TEXT]), _MOST_INSTRUCTIONS))
        self.wanted = wanted_in(self.asked_for.instructions)
        self.words = tuple(dict.fromkeys(word for word in self.asked_for.instructions.split() if len(word) > 2))
        """Of the instructions, then of everything else that is asked for."""
        self._typed: dict[str, int] = {}
        """Name -> the last row in which somebody typed or said it."""
        self._requests: list[tuple[int, str]] = []
        self._masked = cache(self._mask)
        self._stays: set[str] = set()
        """Names in messages and calls that no pass takes."""
        self._held: dict[str, list[str]] = {}
        """Masked text -> the names in it that somebody typed: a pass digests most texts several times."""

    def look_around(self, items: Iterable[ContextItem]) -> None:
        """Take in what was asked, said and typed."""
        self._held = {}
        present = [one.item for one in items if one.state != "gone"]
        for item in present:
            for text in _said(item):
                names = names_typed(text[:_MOST_TEXT])
                self._typed.update(dict.fromkeys(names, item.position[0]))
                if len(text) <= _MOST_ARGUMENT or item.kind != "tool_call":
                    self._stays.update(names)
        request = last_asked(present, self._mask) or intent_of(present, self._mask)
        todos = tuple(todo.text for todo in todos_of(calls_of(present), self._mask).open)
        self.asked_for = msgspec.structs.replace(self.asked_for, request=one_line(request, MAX_ASKED), todos=todos)
        more = (word for text in (request, *todos) for word in words_of(text))
        self.words = tuple(dict.fromkeys((*self.words, *more)))
        self._requests = [(item.position[0], text) for item, text in spoken(present, "user")]

    def _mask(self, text: str) -> str:
        return self._redactor.redact(text).text if text else ""

    def of(self, items: Sequence[Item], masked: Sequence[Redacted]) -> Asked:
        """What the digest of these results is asked for."""
        words, said = list[tuple[str, ...]](), set[str]()
        for item, text in zip(items, masked, strict=True):
            row = item.position[0]
            if (names := self._held.get(text.text)) is None:
                names = self._held[text.text] = [name for name in typed_in(text.text) if name in self._typed]
            said.update(self._stays.intersection(names))
            typed = sorted((name for name in names if self._typed[name] > row), key=lambda name: -self._typed[name])
            before = next((text for at, text in reversed(self._requests) if at < row), "")
            then = words_of(self._masked(ends_of(before)))[:_REQUESTED]
            asked = (*typed[:_TYPED], *_called_for(item), *then, *self.words)
            words.append(tuple(dict.fromkeys(asked))[:MOST])
        return Asked(tuple(words), frozenset(said), self.wanted)


def _called_for(item: Item) -> list[str]:
    """Words of what a call looked for, as it says itself."""
    action, args = item.action, item.args or {}
    looked = action.target if action is not None and action.verb in ("search", "run") else ""
    why = args.get("description")
    return words_of(f"{looked[:_MOST_ARGUMENT]} {why[:_MOST_ARGUMENT] if isinstance(why, str) else ''}")[:_CALLED_FOR]


def _said(item: Item) -> Iterator[str]:
    """Texts of a message or a call."""
    if item.kind == "tool_call":
        yield from strings(item.args)
    elif item.kind in ("message", "original_query", "clarify_verification"):
        yield content_text(item.content)
