"""A digest as data: typed lines in parts, one part an item (D3, L8)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from .items import Action
from .records import ClassCount, SpecificCounts, Verification
from .specifics import Span, Specific

LineKind: TypeAlias = Literal["quote", "row", "entry", "note", "prose"]
"""`quote`, `row` and `entry` are shown and checked; `note` is ours (closed grammar); `prose` is a model's (D3, D10)."""


class DigestLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a digest, without its newline."""

    kind: LineKind
    text: str


class DigestPart(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the place of one item."""

    item_id: str
    lines: tuple[DigestLine, ...]

    @property
    def text(self) -> str:
        """The part as it enters the context."""
        return "\n".join(line.text for line in self.lines)


class DigestSource(msgspec.Struct, frozen=True, kw_only=True):
    """One item as the digest may see it: its text already redacted."""

    item_id: str
    kind: str
    text: str
    """Redacted text of the item (D1). Everything in a digest is a piece of it."""
    tokens: int
    """Of the original content, by the same counter as the budget."""
    tool_name: str = ""
    action: Action | None = None
    title: str = ""
    url: str = ""
    is_error: bool = False
    redacted: int = 0
    """How many spans were masked in it."""
    binary: bool = False
    """The content holds images or raw bytes; `text` names them by kind, size and hash (D14)."""
    spans: list[Span] | None = None
    """What the registry finds in `text`, where somebody looked already; None: nobody did."""


class Visible(msgspec.Struct, frozen=True):
    """What the context already shows elsewhere for good (D8): specific (class, text, key) -> holder."""

    holders: dict[Specific, str] = {}
    """Holder: a batch id, or the id of an item that can never leave."""


class Prose(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that a model or the calling agent wrote (D10): not checked yet, redacted already."""

    author: str
    """As its label names it: `claude-haiku-5-5`, `the calling agent`."""
    digester: str
    """As the record names it: `anthropic/claude-haiku-5-5`, `host/1`."""
    item_ids: tuple[str, ...]
    """The items of the batch that it is about."""
    text: str = ""
    failure: str = ""
    """Why there is no text, where one was asked for."""


class DigestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One batch to digest."""

    sources: tuple[DigestSource, ...]
    budget_tokens: int
    """A ceiling for the whole digest, header and manifest included: at most 1.05 of it is used, never padded (D11)."""
    ceiling_tokens: int
    """Up to this the budget may grow before a specific of the first rank is left out (design §9.1); equal to the budget
    where an explicit target forbids growth."""
    most_tokens: int = 2_000
    """Of the whole digest, whatever budget and ceiling say (D20)."""
    handle: str
    batch_id: str
    level: int = 1
    replaces: tuple[str, ...] = ()
    """Batch ids this one takes the place of, for level 2."""
    carried: frozenset[tuple[str, str]] = frozenset()
    """(class, text) that digests elsewhere left to what this one replaces: shown before anything else (D9)."""
    visible: Visible = Visible()
    focus: tuple[str, ...] = ()
    """Task words: a bonus for selection, never a need."""
    values_first: bool = True
    """Where not all values fit with their key or a word of their line: show more of them bare (True), or fewer of them,
    each with its word (False, as a pass over several results does: it chooses among them)."""
    min_shown: float = 0.5
    """Least share of an item's specifics that must be in view; below it the item becomes a pointer."""
    pointer_only: bool = False
    """Leave a pointer with its manifest, no content lines (`prefer_compact_over_drop = false`)."""
    prose: tuple[Prose, ...] = ()
    """Summaries to stand above what is shown, each only if it passes every check."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """A finished digest with what code found when it checked it."""

    batch_id: str
    parts: tuple[DigestPart, ...]
    tokens: int
    """Of all parts together, by the counter handed in."""
    mode: Literal["digest", "pointer"]
    specifics: SpecificCounts
    shown: tuple[tuple[Specific, ...], ...]
    """Per part, what it shows: for `Visible` of later batches."""
    verification: Verification
    digester: str
    registry: str
    notes: tuple[str, ...] = ()
    """What happened on the way, for the report: `budget grew`, `item became a pointer: …`."""


__all__ = [
    "ClassCount",
    "Digest",
    "DigestLine",
    "DigestPart",
    "DigestRequest",
    "DigestSource",
    "LineKind",
    "Prose",
    "SpecificCounts",
    "Verification",
    "Visible",
]
