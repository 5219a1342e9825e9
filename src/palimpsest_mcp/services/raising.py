"""One digest in the place of several (L16), made from the archived originals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..errors import DigestRefused
from ..models.plans import ContextItem, Slot
from ..models.records import OffloadRecord
from ..policy.levels import Group
from .batch_numbers import Numbers
from .carrying import left_to
from .dependencies import Dependencies
from .digesting import Digesting
from .made import Above, Made

ROOMIER = 0.8
"""Of the digests it stands for, for one of a higher level that must carry much."""


async def raised(
    given: Dependencies,
    group: Group,
    items: Sequence[ContextItem],
    digesting: Digesting,
    standing: Sequence[OffloadRecord],
    fresh: Sequence[Made],
    numbers: Numbers,
    *,
    least: float,
) -> Made | None:
    """None where the digests that stand are kept: one that shows all that others left to them is not smaller (D9).

    Args:
        standing: records whose digests are in the context.
        fresh: batches of this pass so far.
        least: share of an item's specifics in view.
    """
    before = digesting.held()
    carried = await asyncio.to_thread(left_to, given, group.batch_ids, before, standing, fresh)
    most = int(ROOMIER * group.tokens)
    room = min(most, group.budget_tokens + digesting.price_of(text for _, text in carried))
    tries = [(room, least), (room, 0.0), (most, 0.0)] if carried else [(room, least)]
    for budget, min_shown in tries:
        slot = Slot(item_ids=group.item_ids, tokens=group.tokens, budget_tokens=budget, ceiling_tokens=budget)
        above = Above(level=group.level, replaces=group.batch_ids, carried=carried, min_shown=min_shown)
        try:
            made = await digesting.make(slot, items, await numbers.next(), {}, above=above)
        except DigestRefused:
            break
        smaller = made.record.digest_token_count < group.tokens
        if smaller and carried <= {(one.cls, one.text) for part in made.shown for one in part}:
            return made
        digesting.hold_again(before)
    digesting.hold_again(before)
    return None


__all__ = ["raised"]
