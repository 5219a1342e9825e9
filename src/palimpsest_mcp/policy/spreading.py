"""An explicit target met by need: the oldest units whose digests can have all they need, or all with what there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

from ..models.plans import Slot
from .slots import gain_of, least_budget

_ROUNDS = 3


class Share(Protocol):
    """Says how many tokens the digest of each slot should have."""

    def __call__(self, slots: Sequence[Slot], total: int | None) -> Sequence[int]:
        """Budgets in the order of the slots, together at most about `total`; None: what each needs."""
        ...


def spread(
    slots: Sequence[Slot], share: Share, *, excess: int, least_share: float, most_tokens: int, takes_all: bool
) -> list[Slot]:
    """The first of these slots that cover the excess, with budgets by need; no budget may grow.

    Where all of them with what they need cover it not, all leave, and share what the target leaves them: at least
    `least_share` of their tokens, even where that misses the target.

    Args:
        slots: of everything that may leave, in the order in which it would.
        excess: tokens above the target.
        most_tokens: of one digest, whatever it needs.
    """
    digests = _digests(slots)
    wanted = dict(zip(digests, _within(digests, share(digests, None), most_tokens), strict=True))
    chosen: list[Slot] = []
    gained = 0
    for slot in slots:
        if gained >= excess and not takes_all:
            break
        chosen.append(slot)
        gained += gain_of(wanted.get(slot, slot))
    sharing = [slot for slot in chosen if slot in wanted]
    room = room_of(chosen, excess=excess)
    if gained < excess:
        room = max(room, _least_of(chosen, least_share, most_tokens))
    sized = dict(zip(sharing, _shared(sharing, share, room, most_tokens), strict=True))
    return [sized.get(slot, slot) for slot in chosen]


def suffices(slots: Sequence[Slot], share: Share, *, excess: int, most_tokens: int) -> bool:
    """Whether the digests of all these slots, with what they need, cover the excess."""
    digests = _digests(slots)
    wanted = dict(zip(digests, _within(digests, share(digests, None), most_tokens), strict=True))
    return sum(gain_of(wanted.get(slot, slot)) for slot in slots) >= excess


def room_of(slots: Sequence[Slot], *, excess: int) -> int:
    """Tokens that the target leaves to the digests among these slots."""
    return sum(gain_of(one) + (0 if one.pointer or one.copies else one.budget_tokens) for one in slots) - excess


def _least_of(slots: Sequence[Slot], least_share: float, most_tokens: int) -> int:
    """Tokens that the digests must have to be more than a count of what is gone."""
    return sum(
        max(least_budget(len(slot.item_ids)), min(most_tokens, math.ceil(least_share * slot.tokens)))
        for slot in _digests(slots)
    )


def _digests(slots: Sequence[Slot]) -> list[Slot]:
    return [slot for slot in slots if not (slot.pointer or slot.copies)]


def _shared(slots: Sequence[Slot], share: Share, room: int, most_tokens: int) -> list[Slot]:
    """The slots with budgets of so many tokens together; those that get more than was said take it from the others, and
    what a digest may not have (D20) is left to them."""
    full = [budget > most_tokens for budget in share(slots, room)]
    if any(full) and not all(full):
        rest = [slot for slot, at_most in zip(slots, full, strict=True) if not at_most]
        left = iter(_shared(rest, share, max(0, room - most_tokens * sum(full)), most_tokens))
        return [
            _within([slot], [most_tokens], most_tokens)[0] if at_most else next(left)
            for slot, at_most in zip(slots, full, strict=True)
        ]
    sized = _within(slots, share(slots, room), most_tokens)
    for _ in range(_ROUNDS):
        over = sum(slot.budget_tokens for slot in sized) - room
        if over <= 0:
            return sized
        sized = _within(slots, share(slots, max(0, room - over)), most_tokens)
    over = sum(slot.budget_tokens for slot in sized) - room
    for at in sorted(range(len(sized)), key=lambda at: -sized[at].budget_tokens):
        less = max(0, min(over, sized[at].budget_tokens - least_budget(len(sized[at].item_ids))))
        over -= less
        sized[at] = _with_budget(sized[at], sized[at].budget_tokens - less)
    return sized


def _within(slots: Sequence[Slot], budgets: Sequence[int], most_tokens: int) -> list[Slot]:
    """The slots with these budgets, none so small that it only gives a pointer, none as large as its batch, or larger
    than a digest may be."""
    sized: list[Slot] = []
    for slot, budget in zip(slots, budgets, strict=True):
        budget = min(max(budget, least_budget(len(slot.item_ids))), slot.tokens - slot.overhead_tokens - 1, most_tokens)
        budget = max(0, budget)
        sized.append(_with_budget(slot, budget))
    return sized


def _with_budget(slot: Slot, budget: int) -> Slot:
    return msgspec.structs.replace(slot, budget_tokens=budget, ceiling_tokens=budget)


__all__ = ["Share", "room_of", "spread", "suffices"]
