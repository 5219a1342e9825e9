"""What the digests of a pass are asked for: the newest request, open todos, and what was typed after each result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...digest.rank import names_typed, typed_in, words_of
from ...memory.summary.calls import calls_of, strings
from ...memory.summary.talk import intent_of, last_asked
from ...memory.summary.todos import todos_of
from ...models.items import Item, content_text
from ...models.plans import ContextItem
from ...ports.text import Redacted, Redactor

MOST = 64
"""Words that one result is asked for."""
_TYPED = 32
"""Of them at most, what was typed after it: the latest first."""
_MOST_ARGUMENT = 1_600
"""Characters of an argument beyond which it may give way to its first line, so that it is not sure to stay in view."""
_MOST_TEXT = 20_000
"""Characters of one message, or argument, that are looked at."""


class Asked(NamedTuple):
    """What the digest of some results is asked for."""

    words: tuple[tuple[str, ...], ...]
    """Per result, most of all first: names as they were typed, words of the task."""
    said: frozenset[str]
    """Names of theirs that messages show, and go on showing."""


class Focus:
    """What a session's messages and calls say of what will be needed. Secrets in it are masked: typed words are only
    given where the masked text of the result has them too."""

    def __init__(self, redactor: Redactor, words: Sequence[str] = ()) -> None:
        """`words`: of the task, as they were given with the pass."""
        self._redactor = redactor
        self._words = tuple(words)
        self._typed: dict[str, int] = {}
        """Name -> the last row in which somebody typed or said it."""
        self._stays: set[str] = set()
        """Names in messages and calls that no pass takes."""

    def look_around(self, items: Iterable[ContextItem]) -> None:
        """Take in what was asked, said and typed."""
        present = [one.item for one in items if one.state != "gone"]
        for item in present:
            for text in _said(item):
                names = names_typed(text[:_MOST_TEXT])
                self._typed.update(dict.fromkeys(names, item.position[0]))
                if len(text) <= _MOST_ARGUMENT or item.kind != "tool_call":
                    self._stays.update(names)
        asked = [last_asked(present, self._mask) or intent_of(present, self._mask)]
        asked += [todo.text for todo in todos_of(calls_of(present), self._mask).open]
        self._words = tuple(dict.fromkeys((*self._words, *(word for text in asked for word in words_of(text)))))

    def _mask(self, text: str) -> str:
        return self._redactor.redact(text).text if text else ""

    def of(self, items: Sequence[Item], masked: Sequence[Redacted]) -> Asked:
        """What the digest of these results is asked for."""
        words: list[tuple[str, ...]] = []
        said: set[str] = set()
        for item, text in zip(items, masked, strict=True):
            row = item.position[0]
            names = [name for name in typed_in(text.text) if name in self._typed]
            said.update(self._stays.intersection(names))
            typed = sorted((name for name in names if self._typed[name] > row), key=lambda name: -self._typed[name])
            words.append(tuple(dict.fromkeys((*typed[:_TYPED], *self._words)))[:MOST])
        return Asked(tuple(words), frozenset(said))


def _said(item: Item) -> Iterator[str]:
    """Texts of a message or a call."""
    if item.kind == "tool_call":
        yield from strings(item.args)
    elif item.kind in ("message", "original_query", "clarify_verification"):
        yield content_text(item.content)
