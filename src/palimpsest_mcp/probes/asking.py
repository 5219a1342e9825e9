"""What a probe is, and what originals it is made from."""

from __future__ import annotations

from typing import Final

import msgspec

from ..models.items import Item
from ..models.probes import ProbeType

CRITICAL: Final[frozenset[ProbeType]] = frozenset(
    {"file_path", "file_changes", "decision", "error", "progress", "next_steps", "intent"}
)
"""Of these types, a failed probe about the conversation itself fails the pass (seed 003's template)."""

TYPES: Final[tuple[ProbeType, ...]] = (
    "intent", "file_path", "file_changes", "decision", "rationale", "error", "resolution", "blocker", "progress",
    "next_steps", "recall",
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
    """Must stand in one passage, all of them, whole and in this case."""
    item_id: str
    """The original that it was made from."""
    critical: bool = False


def probe(kind: ProbeType, question: str, expected: tuple[str, ...], item: Item, *, critical: bool = False) -> Probe:
    """A probe; critical only where its type may be."""
    return Probe(
        type=kind, question=question, expected=expected, item_id=item.id, critical=critical and kind in CRITICAL
    )


__all__ = ["CRITICAL", "TYPES", "Original", "Probe", "probe"]
