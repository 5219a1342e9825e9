"""What a stored digest part shows, read back from its text: for what later digests may leave to it (D8)."""

from __future__ import annotations

from collections.abc import Iterator

from ..models.specifics import Specific
from ..ports.text import Registry
from .manifest import is_note, prose_lines


def shown_in(part: str, registry: Registry) -> Iterator[Specific]:
    """Specifics of the part's shown lines, each with the key that its own line gives it.

    Our notes and somebody else's wording show nothing (D3, D10).

    A cell of a factored table has its column's name in another line and comes without a key here: a later digest then
    shows the specific once more instead of pointing here, which is the safe side.
    """
    for line in without_prose(part).split("\n"):
        if not is_note(line):
            for span in registry.spans(line):
                yield Specific(span.cls, span.text, span.key)


def without_prose(part: str) -> str:
    """A part as code made it, without summaries and their labels; the same object where it has none."""
    if "[summary by " not in part:
        return part
    kept: list[str] = []
    prose = 0
    for line in part.split("\n"):
        if prose:
            prose -= 1
        elif not (prose := prose_lines(line)):
            kept.append(line)
    return "\n".join(kept)


__all__ = ["shown_in", "without_prose"]
