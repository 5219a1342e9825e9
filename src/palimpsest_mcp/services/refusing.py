"""A pass that keeps next to nothing is refused, where the policy or the strategy says so (seed 003)."""

from __future__ import annotations

import msgspec

from ..models.plans import Plan, Slot
from ..policy.compression import Compressed, compression
from .batches import Batches
from .made import Made
from .pass_request import PassRequest

GROWTH = (0.0, 0.05, 0.15, 0.4)
"""By what shares of its budget, beyond what is missing, a digest is made again because all of them together came out
below the least size: where it holds long values only, one more may be a fifth of it. What is missing at first may be as
much as the last of them: beyond that the pass is too much, and not the rounding."""


async def refuse_too_much(batches: Batches, first: Plan, request: PassRequest, overhead: int) -> None:
    """Take all batches back where they are too small; not where digests only came out a little smaller than they might.

    Args:
        overhead: tokens that every result takes beside its text.
    """
    pressed = _compressed(batches, request, overhead)
    for more in GROWTH:
        room = [made for made in _digests(batches) if _may_grow(batches.slot_of(made.record.batch_id), request)]
        largest = max(room, key=lambda made: made.record.original_token_count, default=None)
        slot = batches.slot_of(largest.record.batch_id) if largest is not None else None
        if not pressed.missing or largest is None or slot is None:
            break
        budget = slot.budget_tokens + pressed.missing + int(more * slot.budget_tokens)
        budget = min(budget, request.rules.max_digest_tokens)
        if pressed.missing > GROWTH[-1] * slot.budget_tokens or not slot.budget_tokens < budget < slot.tokens:
            break
        roomier = msgspec.structs.replace(slot, budget_tokens=budget, ceiling_tokens=max(budget, slot.ceiling_tokens))
        await batches.drop({largest.record.batch_id}, taken=False)
        await batches.add(first, [roomier])
        pressed = _compressed(batches, request, overhead)
    if pressed.refused:
        batches.refuse(pressed.note)


def _digests(batches: Batches) -> list[Made]:
    return [made for made, _ in batches.made if made.record.mode == "digest" and made.record.level == 1]


def _may_grow(slot: Slot | None, request: PassRequest) -> bool:
    return slot is not None and slot.budget_tokens < request.rules.max_digest_tokens


def _compressed(batches: Batches, request: PassRequest, overhead: int) -> Compressed:
    sizes = [made.sizes(overhead) for made, _ in batches.made if made.record.level == 1]
    left_out = sum(made.record.specifics.left_out for made, _ in batches.made if made.record.mode == "digest")
    return compression(sizes, request.rules, strategy=request.how.name, left_out=left_out)


__all__ = ["refuse_too_much"]
