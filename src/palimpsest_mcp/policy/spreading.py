"""An explicit target met by need: the oldest units whose digests can have all they need, or all with what there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

from ..models.plans import Slot
from .slots import MIN_BUDGET_TOKENS, gain_of


class Share(Protocol):
    """Says how many tokens the digest of each slot should have."""

    def __call__(self, slots: Sequence[Slot], total: int | None) -> Sequence[int]:
        """Budgets in the order of the slots, together at most about `total`; None: what each needs."""
        ...


def spread(slots: Sequence[Slot], share: Share, *, excess: int, least_share: float, takes_all: bool) -> list[Slot]:
    """The first of these slots that cover the excess, with budgets by need; no budget may grow.

    Where all of them with what they need cover it not, all leave, and share what the target leaves them: at least
    `least_share` of their tokens, even where that misses the target.

    Args:
        slots: of everything that may leave, in the order in which it would.
        excess: tokens above the target.
    """
    digests = [slot for slot in slots if not (slot.pointer or slot.copies)]
    wanted = dict(zip(digests, _within(digests, share(digests, None)), strict=True))
    chosen: list[Slot] = []
    gained = 0
    for slot in slots:
        if gained >= excess and not takes_all:
            break
        chosen.append(slot)
        gained += gain_of(wanted.get(slot, slot))
    sharing = [slot for slot in chosen if slot in wanted]
    leaving = sum(slot.tokens for slot in sharing)
    total = sum(slot.tokens - slot.overhead_tokens for slot in sharing) - excess
    total += sum(gain_of(slot) for slot in chosen if slot not in wanted)
    budgets = share(sharing, max(total, math.ceil(least_share * leaving)))
    sized = dict(zip(sharing, _within(sharing, budgets), strict=True))
    return [sized.get(slot, slot) for slot in chosen]


def _within(slots: Sequence[Slot], budgets: Sequence[int]) -> list[Slot]:
    """The slots with these budgets, none so small that it only gives a pointer, none as large as its batch."""
    sized: list[Slot] = []
    for slot, budget in zip(slots, budgets, strict=True):
        budget = max(0, min(max(budget, MIN_BUDGET_TOKENS), slot.tokens - slot.overhead_tokens - 1))
        sized.append(msgspec.structs.replace(slot, budget_tokens=budget, ceiling_tokens=budget))
    return sized


__all__ = ["Share", "spread"]
