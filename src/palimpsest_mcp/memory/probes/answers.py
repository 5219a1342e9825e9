"""Whether what stays in the context answers a probe: by code, case-exact, whole values only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count, islice
from typing import Final

import msgspec

from ...models.items import Item
from ...models.probes import ProbeType

# What a probe is, and what originals it is made from.


CRITICAL: Final[frozenset[ProbeType]] = frozenset(
    {"file_path", "file_changes", "decision", "error", "progress", "next_steps", "intent", "standing_order"}
)
"""Of these types, a failed probe about the conversation itself fails the pass (seed 003's template)."""

TYPES: Final[tuple[ProbeType, ...]] = (
    "intent", "file_path", "file_changes", "decision", "rationale", "error", "resolution", "blocker", "progress",
    "next_steps", "recall", "outcome", "owner", "standing_order",
)  # fmt: skip


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """One item as it was before the pass."""

    item: Item
    text: str
    """What a reader sees of it. Redacted where it leaves, since its digest was made from the redacted text; of a call
    the strings of its arguments, one a line."""
    leaves: bool = False
    """A digest is to stand for it."""
    forgotten: bool = False
    """It leaves as a pointer because that was wanted: nothing of it is asked for."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One question with its answer."""

    type: ProbeType
    question: str
    expected: tuple[str, ...]
    """Must stand in one passage, all of them, whole and in this case; of an `owner` in one line, the value first.
    Empty: what the original said cannot be known any more, so nothing answers."""
    item_id: str
    """The original that it was made from."""
    critical: bool = False
    or_owner: tuple[str, ...] = ()
    """What else originals say whose the value is; one of all is enough."""


def probe(
    kind: ProbeType,
    question: str,
    expected: tuple[str, ...],
    item: Item,
    *,
    critical: bool = False,
    or_owner: tuple[str, ...] = (),
) -> Probe:
    """A probe; critical only where its type may be."""
    return Probe(
        type=kind,
        question=question,
        expected=expected,
        item_id=item.id,
        critical=critical and kind in CRITICAL,
        or_owner=or_owner,
    )


_JOINS = "./\\-"
"""Characters that go on with a name, a path or a number when a letter or digit stands behind them."""


class Searched:
    """Texts by name, and which of them hold a value whole: looked for once, as far as somebody asks."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._found: dict[str, tuple[list[str], Iterator[str]]] = {}
        """Value -> names found so far, and the search for more."""

    def holding(self, value: str) -> Iterator[str]:
        """Names of the texts that hold a value, each once."""
        if value not in self._found:
            self._found[value] = [], self._search(value)
        found, more = self._found[value]
        for at in count():
            if at == len(found):
                found += islice(more, 1)
            if at == len(found):
                return
            yield found[at]

    def _search(self, value: str) -> Iterator[str]:
        # Most texts do not hold it at all, and that is seen much sooner. Joined, they would take four times the room.
        return (name for name, text in self.texts.items() if value in text and stands_whole(text, value))


class Stays:
    """Every passage of the context after a pass: kept items, digest parts, the summary."""

    def __init__(
        self,
        passages: Mapping[str, str],
        known: dict[tuple[str, str], bool] | None = None,
        originals: Searched | None = None,
    ) -> None:
        """Take passages by name: item id -> what stands there now; a summary under a name of its own.

        Args:
            known: passage and value -> whether it stands there: of an earlier round, in which most were the same.
            originals: texts under the same names, with what was found in them: most passages are these very texts.
        """
        self._known = {} if known is None else known
        self._passages = passages
        self._originals = originals or Searched({})
        own = self._originals.texts
        self._rest = Searched({name: text for name, text in passages.items() if own.get(name) is not text})

    def answers(self, probe: Probe) -> bool:
        """Whether one passage holds every expected value; the one that took the original's place is asked first."""
        if probe.type == "owner":
            value, *owners = (*probe.expected, *probe.or_owner)
            return any(names_owner(line, owner) for line in self._lines_with(value) for owner in owners)
        own = self._passages.get(probe.item_id)
        if own is not None and probe.expected and self._in(own, probe.expected):
            return True
        return self.holds(probe.expected)

    def scattered(self, expected: tuple[str, ...]) -> bool:
        """Whether each of the values stands somewhere, in whatever passage."""
        return bool(expected) and all(next(self._with(value), None) is not None for value in expected)

    def _with(self, value: str) -> Iterator[str]:
        """Names of the passages that hold a value whole."""
        yield from self._rest.holding(value)
        for name in self._originals.holding(value):
            if name in self._passages and name not in self._rest.texts:
                yield name

    def _lines_with(self, value: str) -> Iterator[str]:
        for name in self._with(value):
            text = self._passages[name]
            for place in whole_places(text, value):
                end = text.find("\n", place)
                yield text[text.rfind("\n", 0, place) + 1 : end if end >= 0 else len(text)]

    def _in(self, text: str, expected: tuple[str, ...]) -> bool:
        return all(stood_whole(text, value, self._known) for value in expected)

    def holds(self, expected: tuple[str, ...]) -> bool:
        """Whether any passage holds all of the values."""
        if not expected:
            return False
        return any(self._in(self._passages[name], expected) for name in self._with(max(expected, key=len)))


def names_owner(line: str, owner: str) -> bool:
    """Whether a line has the words that say whose value it is; as a part of a dotted key, too."""
    return re.search(rf"(?<!\w){re.escape(owner)}(?!\w)", line) is not None


def stands_whole(text: str, value: str) -> bool:
    """Whether a value stands in a text, and not as a part of something longer."""
    return next(whole_places(text, value), None) is not None


def stood_whole(text: str, value: str, known: dict[tuple[str, str], bool]) -> bool:
    """`stands_whole`, looked for once for all that share what is known."""
    key = text, value
    found = known.get(key)
    if found is None:
        found = known[key] = stands_whole(text, value)
    return found


def whole_places(text: str, value: str) -> Iterator[int]:
    """Where a value stands whole: `127` does not hold `12`, and `src/a.pyc` does not hold `src/a.py`."""
    place = text.find(value) if value else -1
    while place >= 0:
        if _ends_free(text, place + len(value), value[-1]) and _begins_free(text, place, value[0]):
            yield place
        place = text.find(value, place + 1)


def _begins_free(text: str, start: int, first: str) -> bool:
    if not start or not _is_word(first):
        return True
    before = text[start - 1]
    if _is_word(before):
        return False
    return before not in _JOINS or start < 2 or not _is_word(text[start - 2])


def _ends_free(text: str, end: int, last: str) -> bool:
    if end >= len(text) or not _is_word(last):
        return True
    after = text[end]
    if _is_word(after):
        return False
    joined = _JOINS + ":" if last.isdigit() else _JOINS
    return after not in joined or end + 1 >= len(text) or not _is_word(text[end + 1])


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
