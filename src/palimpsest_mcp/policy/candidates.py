"""What a pass would take and free, named before it is time for one (seed 004: "identify summarization candidates")."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..models.plans import ContextItem
from ..models.policies import Policy
from .planning import plan

NAMED = 5
"""The largest are named, the rest counted."""
PREPARE = "prepare"
"""Zones whose action begins with this word ask for candidates: 30-40 % of `phased`, 60-70 % of `anchored`."""


class Candidates(msgspec.Struct, frozen=True):
    """What would leave first."""

    items: tuple[ContextItem, ...] = ()
    """The largest of them, largest first."""
    total: int = 0
    frees_tokens: int = 0
    """If every digest takes its whole budget, in the unit of the items' tokens."""


def candidates(
    items: Sequence[ContextItem], policy: Policy, *, used_tokens: int | None, window_tokens: int | None
) -> Candidates:
    """What a pass to the policy's target would take now."""
    found = plan(items, policy, used_tokens=used_tokens, window_tokens=window_tokens, force=True)
    by_id = {entry.item.id: entry for entry in items}
    leaving = [by_id[item_id] for slot in found.slots for item_id in slot.item_ids]
    largest = sorted(leaving, key=lambda entry: -entry.tokens)[:NAMED]
    return Candidates(tuple(largest), len(leaving), found.before_tokens - found.predicted_tokens)


__all__ = ["PREPARE", "Candidates", "candidates"]
