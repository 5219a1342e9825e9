"""What was observed of items and windows: the newest sighting counts, a host's placeholder never (L1, L4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from ..models.events import (
    Applied,
    Envelope,
    Event,
    Gone,
    Seen,
    UsageSeen,
)
from ..models.items import Content, Item, content_text

# Texts that hosts put in the place of a result they cleared or cut: never a fuller version of it (L4).


MARKERS = (
    "[Old tool result content cleared]",
    "[cleared]",
    "[cleared to save context]",
    "<persisted-output>",
    "[Tool result omitted]",
    "[tool output truncated]",
)
"""First words of known placeholders (Claude Code, Anthropic context editing, LangChain), compared without case."""
MAX_CHARACTERS = 4_000
"""A longer text is a result that happens to begin like one. Claude Code's preview of a spilled result has 2 KB."""

_TOO_LONG = ("error: result (", "exceeds maximum allowed tokens", 200)
"""Claude Code's words in the place of an MCP result that it put into a file: how they begin, and what soon follows."""
_LOWERED = tuple(marker.lower() for marker in MARKERS)


def is_placeholder(content: Content | None) -> bool:
    """Whether a host's text only stands for a result."""
    if content is None:
        return True
    if isinstance(content, str) and (len(content) > MAX_CHARACTERS or content[:1] not in "[<E \n"):
        return False
    text = content_text(content)
    if len(text) > MAX_CHARACTERS:
        return False
    text = text.lstrip().lower()
    begins, follows, within = _TOO_LONG
    return text.startswith(_LOWERED) or (text.startswith(begins) and follows in text[:within])


Position: TypeAlias = tuple[int, int]
Stamp: TypeAlias = tuple[int, str, int]
"""(clock, writer, n): a total order in which a later import stands after all that it had read."""


def stamp(event: Event) -> Stamp:
    """Where an observation stands among the others, whatever the wall clock said."""
    return event.clock, event.w, event.n


class ItemState(msgspec.Struct, gc=False):
    """Everything observed of one item."""

    seen: Seen | dict[str, Seen] | None = None
    """The one sighting of nearly every item; by hash the newest of each where its bytes were others once."""
    moved: Seen | Applied | Gone | None = None
    """The newest that says whether it is in the host's list."""
    applied: Applied | None = None
    fetched_at: int | None = None
    """Assistant messages in the context when it was last handed out."""

    @property
    def versions(self) -> Mapping[str, Seen]:
        """Hash -> newest sighting of those bytes."""
        seen = self.seen
        return {seen.item.sha256: seen} if isinstance(seen, Seen) else seen or {}

    def see(self, event: Seen) -> None:
        """Take in a sighting, and let go of an older one of the same bytes."""
        versions = self.versions
        known = versions.get(event.item.sha256)
        if known is None or stamp(known) < stamp(event):
            self._put(event, alone=len(versions) == (known is not None))

    def replace(self, known: Seen, event: Seen) -> None:
        """Put another sighting of the same bytes in the place of one, and keep nothing of that."""
        self._put(event, alone=len(self.versions) == 1)
        self.moved = event if self.moved is known else self.moved

    def _put(self, event: Seen, *, alone: bool) -> None:
        self.seen = event if alone else {**self.versions, event.item.sha256: event}

    @property
    def present(self) -> bool:
        """Whether it is in the host's list."""
        return self.moved is not None and not isinstance(self.moved, Gone)

    def move(self, event: Seen | Applied | Gone) -> None:
        """Take in what says whether it is in the host's list."""
        if _place(event) > _place(self.moved):
            self.moved = event

    @property
    def current(self) -> Item:
        """The bytes that count: the newest fuller version; a placeholder only when there is nothing else (L4)."""
        if isinstance(self.seen, Seen):
            return self.seen.item
        versions = self.versions.values()
        full = [seen for seen in versions if not is_placeholder(seen.item.content)]
        return max(full or versions, key=stamp).item


def _place(event: Seen | Applied | Gone | None) -> tuple[Stamp, bool, str]:
    if event is None:
        return (-1, "", 0), False, ""
    return stamp(event), not isinstance(event, Gone), event.why if isinstance(event, Gone) else ""


class UsageFields(msgspec.Struct):
    """The newest known value of each number that was reported, each on its own."""

    used: UsageSeen | None = None
    window: UsageSeen | None = None
    model: UsageSeen | None = None
    host: UsageSeen | None = None
    beside: UsageSeen | None = None
    notice: UsageSeen | None = None


class Rows(msgspec.Struct):
    """The newest known messages around the items of one agent."""

    newest: Envelope
    by_row: dict[int, tuple[Stamp, str]] = {}

    def messages(self) -> list[str] | None:
        """JSON text of every message in order; None when one is missing."""
        rows = [self.by_row.get(row) for row in range(self.newest.total_rows)]
        return None if None in rows else [row[1] for row in rows if row is not None]
