"""Probes over the whole plan, before anything is written: what fails them stays raw or is made again (seed 003)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..models.plans import ContextItem, Plan, Slot
from ..models.probes import ProbeReport
from .batches import Batches
from .dependencies import Dependencies
from .pass_request import PassRequest
from .probing import Probing, Round

RETRIES = 2
"""How often batches with failed probes are made again: with more room, then one unit a batch."""
LEAST_GROWTH = 1.25
"""A batch is made again only with at least so many times its budget: less would hardly show more."""
REFILLS = 3
"""How often others leave in the place of what had to stay raw."""
MARGIN = 0.9
"""Of the room that the target leaves, so much is given to digests: each may exceed its budget by a little (D11)."""


async def prove(
    given: Dependencies, items: Sequence[ContextItem], batches: Batches, first: Plan, request: PassRequest
) -> ProbeReport:
    """Ask the probes, and do what they say until nothing is left to do; at most `RETRIES` and `REFILLS` times.

    A critical failure, or less than 70 %: the batches concerned are not used, and others leave instead. 70 to 90 %:
    weak batches are made again as far as the target leaves room; a round that shows no more, or costs the target, is
    taken back, and the pass is accepted with a warning.
    """
    probing = Probing(
        given,
        items,
        forgotten=_wanted_pointers(first, items, request),
        parts=batches.parts,
    )
    retries = kept_raw = refills = 0
    found = await probing.ask(batches.leaving())
    while True:
        if bad := found.untrusted:
            kept_raw += len(bad)
            await batches.drop(bad)
            if refills < REFILLS:
                await batches.refill(first)
            refills += 1
            found = await probing.ask(batches.leaving())
        elif retries < RETRIES and (slots := _roomier(batches, first, found, singly=retries > 0)):
            retries += 1
            found = await _again(probing, batches, first, found, slots)
        else:
            return probing.told(found, retries=retries, kept_raw=kept_raw)


def _wanted_pointers(first: Plan, items: Sequence[ContextItem], request: PassRequest) -> frozenset[str]:
    """Items that leave as pointers by choice: by the forget gate, or all (`opaque`)."""
    if not request.rules.prefer_compact_over_drop:
        return frozenset(one.item.id for one in items)
    return frozenset(one.item_id for one in first.verdicts if one.reason == "forget")


def _roomier(batches: Batches, first: Plan, found: Round, *, singly: bool) -> dict[str, list[Slot]]:
    """Weak batch -> the slots that it is to be made again from; empty where there is nothing to gain, or no room."""
    if found.graded.state != "passed with a warning":
        return {}
    room = round(MARGIN * batches.room(first))
    slots: dict[str, list[Slot]] = {}
    for batch in sorted(found.weak):
        slot = batches.slot_of(batch)
        if slot is None or slot.pointer:
            continue
        budget = min(slot.budget_tokens + min(slot.budget_tokens, room), slot.tokens - 1)
        if budget >= LEAST_GROWTH * slot.budget_tokens:
            room -= budget - slot.budget_tokens
            ceiling = max(budget, slot.ceiling_tokens)
            roomier = msgspec.structs.replace(slot, budget_tokens=budget, ceiling_tokens=ceiling)
            slots[batch] = batches.units(roomier) if singly else [roomier]
    return slots


async def _again(probing: Probing, batches: Batches, first: Plan, found: Round, slots: dict[str, list[Slot]]) -> Round:
    """The round after weak batches were made again; the one before where that shows no more, or costs the target."""
    before, met = batches.kept(), batches.meets(first)
    await batches.drop(set(slots), taken=False)
    await batches.add(first, [slot for group in slots.values() for slot in group])
    after = await probing.ask(batches.leaving())
    worse = (after.graded.score or 0.0) <= (found.graded.score or 0.0) or bool(after.untrusted)
    if worse or (met and not batches.meets(first)):
        batches.put_back(before)
        return found
    return after


__all__ = ["prove"]
