"""Thinking in a list of which something earlier changed: newer models refuse it (`binds_thinking` says which).

Such a model binds a thinking block to all that stood before it when it was written. A change makes every one behind it
invalid that was there already; those before it, and those that are written from then on, stay valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from .pieces import as_fields, text_of

Place: TypeAlias = tuple[int, int]
"""Index of a message, and of a block in it."""

ASK_TO_DROP: Mapping[str, Any] = {
    "betas": ["thinking-binding-controls-2026-08-01"],
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
}
"""Fields of a request that have the API leave out what is invalid, where it would refuse the request."""
_TYPES = ("thinking", "redacted_thinking")


def thinking_in(messages: Sequence[Any]) -> Iterator[Place]:
    """Where thinking stands, in order."""
    for row, message in enumerate(messages):
        for at, block in enumerate(blocks_of(message)):
            if text_of(as_fields(block) or {}, "type") in _TYPES:
                yield row, at


def first_change(before: Sequence[Any], after: Sequence[Any]) -> Place | None:
    """The first block in which two lists of one length differ; None where they are equal."""
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        if old is new or old == new:
            continue
        pairs = zip(blocks_of(old), blocks_of(new), strict=False)
        return row, next((at for at, (one, other) in enumerate(pairs) if one != other), 0)
    return None


def without(messages: Sequence[Any], places: Sequence[Place]) -> list[Any]:
    """The list without the blocks at these places, and without messages that held nothing else."""
    gone = set(places)
    rows = {row for row, _ in gone}
    kept: list[Any] = []
    for row, message in enumerate(messages):
        if row not in rows:
            kept.append(message)
        elif left := [block for at, block in enumerate(blocks_of(message)) if (row, at) not in gone]:
            kept.append({**(as_fields(message) or {}), "content": left})
    return kept


def rows_without(rows: Sequence[dict[str, Any]], first: int) -> Iterator[dict[str, Any]]:
    """A transcript's rows without the thinking of answers behind row `first`: a row that held
    nothing else goes, and what followed it follows the row before it."""
    before: dict[str, Any] = {}
    for number, row in enumerate(rows):
        parent = text_of(row, "parentUuid")
        kept = {**row, "parentUuid": before[parent]} if parent in before else row
        message = row.get("message")
        if number > first and (places := list(thinking_in([message]))):
            left = without([message], places)
            if not left:
                before[text_of(row, "uuid")] = kept.get("parentUuid")
                continue
            kept = {**kept, "message": left[0]}
        yield kept


def blocks_of(message: Any) -> list[Any]:
    """The content blocks of a message; none where it is one text."""
    content = (as_fields(message) or {}).get("content")
    return cast("list[Any]", content) if isinstance(content, list) else []
