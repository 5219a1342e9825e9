"""Probes over the whole plan, before anything is written: what fails them stays raw or is made again (seed 003)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ...context.budgets import MIN_BUDGET_TOKENS
from ...context.policies import Compressed, compression
from ...memory.probes.grade import LEAST_ASKED
from ...models.plans import ContextItem, Plan, Slot
from ...models.probes import ProbeReport
from ..batch import Made
from ..dependencies import Dependencies
from .batches import Batches, Kept
from .plan import PassRequest
from .probes import Prober, Round

RETRIES = ("answers first", "more budget", "more raw", "smaller batches")
"""What is tried for weak batches, in order; each at most once a pass."""
MILD = RETRIES[:2]
"""Those that cost next to nothing: tried for a single question too."""
LEAST_GROWTH = 1.25
"""A batch is made again only with at least so many times its budget: less would hardly show more."""
REFILLS = 3
"""How often others leave in the place of what had to stay raw."""
SAYS_IT = 320
"""Tokens of a digest that can say the line a critical probe asks for, beside header and note."""
MARGIN = 0.9
"""Of the room that the target leaves, so much is given to digests: each may exceed its budget by a little (D11)."""


async def prove(
    deps: Dependencies, items: Sequence[ContextItem], batches: Batches, first: Plan, request: PassRequest
) -> ProbeReport:
    """Ask the probes, and do what they say until nothing is left to do: at most every one of `RETRIES`, and `REFILLS`.

    A critical failure: the unit concerned gets a batch of its own, once, with room to say it. Less than 70 %: weak
    batches are made again, once, as large as before, with what the probes missed put first. Where either fails still:
    the batches concerned are not used; their units that failed stay raw, and others leave instead. 70 to 90 %: weak
    batches are made again in the same way, get more room, then stay raw while others can leave for them, then each unit
    that failed gets a batch of its own; each as far as the target allows. With fewer than ten only the first two are
    tried. A round that shows no more, or costs the target, is taken back; in the end the pass is accepted with a
    warning.
    """
    probing = Prober(
        deps,
        items,
        forgotten=_wanted_pointers(first, items, request),
        parts=batches.parts,
    )
    retries = kept_raw = refills = 0
    steps = list(RETRIES)
    told = False
    found = await probing.ask(batches.leaving())
    while True:
        if alone := _alone(batches, found):
            retries += 1
            await batches.drop(set(alone), taken=False)
            await batches.add(first, [slot for group in alone.values() for slot in group])
            found = await probing.ask(batches.leaving())
        elif found.graded.red and not told:
            told = True
            if (again := await _with_answers(probing, batches, first, found)) is not None:
                retries += 1
                if again is found:  # the same try once more would end the same
                    steps = [step for step in steps if step != RETRIES[0]]
                found = again
        elif bad := _unfit(batches, found):
            kept_raw += len(bad)
            sound = _sound(batches, found, bad) if refills < REFILLS else []
            await batches.drop(bad, spared=[name for slot in sound for name in slot.item_ids])
            if refills < REFILLS:
                await batches.add(first, sound)
            refills += 1
            found = await probing.ask(batches.leaving())
        elif found.graded.weak and (steps := _worth_it(steps, found)):
            step = steps.pop(0)
            again = await _again(probing, batches, first, found, step)
            if again is not None:
                retries += 1
                kept_raw += len(found.worst) if step == "more raw" and again is not found else 0
                found = again
        else:
            return await probing.judged(probing.told(found, retries=retries, kept_raw=kept_raw))


def _worth_it(steps: Sequence[str], found: Round) -> list[str]:
    """What is still to be tried: fewer than ten questions are no reason to keep anything raw or take batches apart."""
    return [one for one in steps if one in MILD or found.graded.asked >= LEAST_ASKED]


def _wanted_pointers(first: Plan, items: Sequence[ContextItem], request: PassRequest) -> frozenset[str]:
    """Items that leave as pointers by choice: the forget gate, arguments of calls, or all (`opaque`). Those that only
    give way to others are known once they are made."""
    if not request.rules.prefer_compact_over_drop:
        return frozenset(one.item.id for one in items)
    calls = {one.item.id for one in items if one.item.kind == "tool_call"}
    return frozenset(
        one.item_id for one in first.verdicts if one.reason in ("forget", "repeated", "brief") or one.item_id in calls
    )


def _unfit(batches: Batches, found: Round) -> set[str]:
    """Batches that must not be used. Of those of a higher level only critical failures count: they stand for digests
    that showed little more, and without them a long session could not go on (L16)."""
    grave = {found.batch_of[one.item_id] for one in found.graded.critical if one.item_id in found.batch_of}
    higher = {own.record.batch_id for own, _ in batches.made if own.record.level > 1}
    return found.untrusted - (higher - grave)


def _sound(batches: Batches, found: Round, bad: set[str]) -> list[Slot]:
    """Of batches that must not be used, the units that failed nothing, with the room that they had: a batch may hold
    many, and one of them would keep all of them raw."""
    failed = {one.item_id for one in found.graded.failed}
    slots: list[Slot] = []
    for batch in sorted(bad):
        slot = batches.slot_of(batch)
        units = batches.units(slot) if slot is not None and not slot.pointer else []
        rest = [unit for unit in units if failed.isdisjoint(unit.item_ids)]
        if rest and len(rest) < len(units):
            slots.append(_sized(_joined(rest), max(MIN_BUDGET_TOKENS, sum(unit.budget_tokens for unit in rest))))
    return slots


def _alone(batches: Batches, found: Round) -> dict[str, list[Slot]]:
    """Batch of several units, one of which failed critically -> a slot for each such unit, and one for the rest."""
    failed = {one.item_id: one.expected for one in found.graded.critical}
    slots: dict[str, list[Slot]] = {}
    for batch in sorted({found.batch_of[name] for name in failed if name in found.batch_of}):
        slot = batches.slot_of(batch)
        units = batches.units(slot) if slot is not None and not slot.pointer else []
        weak = [unit for unit in units if not failed.keys().isdisjoint(unit.item_ids)]
        rest = [unit for unit in units if failed.keys().isdisjoint(unit.item_ids)]
        if slot is not None and weak and rest:
            weak = [_sized(unit, max(unit.budget_tokens, SAYS_IT)) for unit in weak]
            left = slot.budget_tokens - sum(unit.budget_tokens for unit in weak)
            for name in [name for unit in weak for name in unit.item_ids if name in failed]:
                batches.ask_for(name, failed[name])
            slots[batch] = [*weak, _sized(_joined(rest), max(left, MIN_BUDGET_TOKENS))]
    return slots


def _joined(units: Sequence[Slot]) -> Slot:
    ids = tuple(name for unit in units for name in unit.item_ids)
    return Slot(item_ids=ids, tokens=sum(unit.tokens for unit in units), budget_tokens=0, ceiling_tokens=0)


def _sized(slot: Slot, budget: int) -> Slot:
    budget = min(budget, slot.tokens - 1)
    return msgspec.structs.replace(slot, budget_tokens=budget, ceiling_tokens=budget)


async def _with_answers(probing: Prober, batches: Batches, first: Plan, found: Round) -> Round | None:
    """The round after weak batches were made again, as large as before, with what the probes missed put first."""
    weak = {
        name: [slot] for name in sorted(found.weak) if (slot := batches.slot_of(name)) is not None and not slot.pointer
    }
    return await _remade(probing, batches, first, found, weak)


async def _again(probing: Prober, batches: Batches, first: Plan, found: Round, step: str) -> Round | None:
    """The round after one more try; None where there is nothing to try."""
    if step == "answers first":
        return await _with_answers(probing, batches, first, found)
    if step != "more raw":
        slots = _roomier(batches, first, found, singly=step == "smaller batches")
        return await _remade(probing, batches, first, found, slots)
    before, met = batches.kept(), batches.meets(first)
    if not met or not found.worst or batches.state.saved_by(found.worst) > batches.room(first):
        return None  # nobody else could leave for them
    await batches.drop(found.worst)
    await batches.refill(first)
    return await _better(probing, batches, first, found, before, met)


async def _remade(
    probing: Prober, batches: Batches, first: Plan, found: Round, slots: Mapping[str, Sequence[Slot]]
) -> Round | None:
    """The round after batches were made again from other slots, what the probes missed put first; None where there are
    none."""
    if not slots:
        return None
    for one in found.graded.failed:
        if found.batch_of.get(one.item_id) in slots:
            batches.ask_for(one.item_id, one.expected)
    tried = await probing.ask(await batches.tried(slots))
    if tried.graded.missed >= found.graded.missed:
        return found  # seen before all that left specifics to them are made again too
    before, met = batches.kept(), batches.meets(first)
    await batches.drop(set(slots), taken=False)
    await batches.add(first, [slot for group in slots.values() for slot in group])
    return await _better(probing, batches, first, found, before, met)


async def _better(probing: Prober, batches: Batches, first: Plan, found: Round, before: Kept, met: bool) -> Round:
    """The round after a try; the one before, and what stood then, where it shows no more, or costs the target."""
    after = await probing.ask(batches.leaving())
    # Failures are counted, not shares: others that leave meanwhile bring probes of their own.
    worse = after.graded.missed >= found.graded.missed or (after.untrusted and not found.untrusted)
    if worse or (met and not batches.meets(first)):
        batches.put_back(before)
        return found
    return after


def _roomier(batches: Batches, first: Plan, found: Round, *, singly: bool) -> dict[str, list[Slot]]:
    """Weak batch -> the slots that it is to be made again from; empty where there is nothing to gain, or no room."""
    room = round(MARGIN * batches.room(first))
    slots: dict[str, list[Slot]] = {}
    for batch in sorted(found.weak):
        slot = batches.slot_of(batch)
        if slot is None or slot.pointer:
            continue
        budget = min(slot.budget_tokens + min(slot.budget_tokens, room), slot.tokens - 1, batches.most_tokens)
        units = batches.units(slot) if singly else []
        if budget >= LEAST_GROWTH * slot.budget_tokens:
            room -= budget - slot.budget_tokens
            roomier = msgspec.structs.replace(
                slot, budget_tokens=budget, ceiling_tokens=max(budget, slot.ceiling_tokens)
            )
            slots[batch] = _apart(batches.units(roomier), found) if singly else [roomier]
        elif len(units) > 1 and min(unit.ceiling_tokens for unit in units) >= MIN_BUDGET_TOKENS:
            slots[batch] = _apart(units, found)
    return slots


def _apart(units: Sequence[Slot], found: Round) -> list[Slot]:
    """A slot for each unit that failed a probe, and one for the rest: a header more for each, and no more than that."""
    failed = {one.item_id for one in found.graded.failed}
    weak = [unit for unit in units if not failed.isdisjoint(unit.item_ids)]
    rest = [unit for unit in units if failed.isdisjoint(unit.item_ids)]
    if not rest:
        return weak
    together = msgspec.structs.replace(
        _joined(rest),
        budget_tokens=sum(unit.budget_tokens for unit in rest),
        ceiling_tokens=sum(unit.ceiling_tokens for unit in rest),
    )
    return [*weak, together]


# A pass that keeps next to nothing is refused, where the policy or the strategy says so (seed 003).


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
        batches.refuse(f"{pressed.note}; strategy opaque is never refused: it leaves pointers")


def _digests(batches: Batches) -> list[Made]:
    return [made for made, _ in batches.made if made.record.mode == "digest" and made.record.level == 1]


def _may_grow(slot: Slot | None, request: PassRequest) -> bool:
    return slot is not None and slot.budget_tokens < request.rules.max_digest_tokens


def _compressed(batches: Batches, request: PassRequest, overhead: int) -> Compressed:
    sizes = [made.sizes(overhead) for made, _ in batches.made if made.record.level == 1]
    left_out = sum(made.record.specifics.left_out for made, _ in batches.made if made.record.mode == "digest")
    return compression(sizes, request.rules, strategy=request.how.name, left_out=left_out)
