"""Batches: which units leave together, and how many tokens their digest may take."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from ..models.plans import ContextItem, Policy, Slot, Verdict
from .arguments import left_tokens

MIN_BUDGET_TOKENS, MIN_ITEM_TOKENS = 100, 60
"""A header takes about 40 tokens; the note of an item 10, its outcome 20, and a line or two that say what was in it 30.
With less there would be little but notes, or a pointer that takes as much and shows nothing."""
POINTER_TOKENS, POINTER_NOTE, NAMED_NOTE = 50, 30, 75
"""A pointer with its manifest; the note and the outcome of each of its items; the same where that names another call.
Measured on real sessions: 149 pointers had 45 tokens an item beside the manifest, repeats among them, and repeats alone
64 to 88. A pass counts again what was really made."""
GROWTH = 2
"""How often the policy's share a digest may have where the target leaves room (design §9.1)."""


ROOMY, ROOMIEST = 0.03, 6_000
"""Of the window, and tokens, that a digest may have where that is more than D20 says. A target leaves this room anyway,
and with 2,000 tokens for a long result what is needed later is lost (docs/quality.md); but in a small window that goes
on being used, longer digests would crowd each other out."""


_USUAL_TOKENS = Policy().max_digest_tokens


def for_window(policy: Policy, window_tokens: int | None) -> Policy:
    """The policy with as long digests as there is room for; one with a length of its own as it is.

    Args:
        window_tokens: None where none is named and a list is only to become shorter.
    """
    if policy.max_digest_tokens != _USUAL_TOKENS:
        return policy
    # In steps: a batch that was prepared is known by its policy, too (L10).
    most = ROOMIEST if window_tokens is None else min(ROOMIEST, int(ROOMY * window_tokens) // 1_000 * 1_000)
    return msgspec.structs.replace(policy, max_digest_tokens=max(policy.max_digest_tokens, most))


class Unit(msgspec.Struct, frozen=True):
    """The items of one unit that would leave, and they leave together."""

    item_ids: tuple[str, ...]
    tokens: int
    overhead: int
    """Of `tokens`, what stays whatever stands in the items' place: each result's own."""
    copy: bool
    """A fetched copy of what the archive has: it becomes a pointer and is never mixed with originals."""
    forget: bool = False
    """All of it may be forgotten: it goes first, and leaves a pointer."""
    repeated: bool = False
    """A later call says all of it again: as with `forget`, under a pointer that names that call."""
    brief: bool = False
    """All of it is small: it goes only where a pass would leave too much otherwise, and leaves a pointer."""
    left: int | None = None
    """About what a call has left without its long arguments; None for results. They go last: nothing of them is shown
    but how they begin."""

    @property
    def kind(self) -> tuple[bool, ...]:
        """Only units of one kind share a batch."""
        return self.copy, self.forget, self.repeated, self.brief, self.left is not None

    @property
    def digested(self) -> bool:
        """Whether a digest stands for it, where the policy makes any."""
        return not any(self.kind)


class Sizing(msgspec.Struct, frozen=True, kw_only=True):
    """How large digests may be in one plan."""

    share: float
    pointers: bool
    """The policy leaves pointers in the place of digests."""
    batch_items: int
    most_tokens: int = 2_000
    """Of a digest, whatever its share."""
    batch_tokens: int = 0
    """A batch may have more items while it has fewer tokens than this."""


def units_of(
    items: Sequence[ContextItem],
    verdicts: Iterable[Verdict],
    taken: frozenset[str],
    scores: Mapping[str, float] | None = None,
    *,
    result_overhead: int = 0,
) -> list[Unit]:
    """The free units: what may be forgotten first, then other results, then arguments of calls, then small results;
    each by score (the least first) or oldest first.

    A unit is as old as its first item that would leave, and as important as its most important one.

    Args:
        taken: ids of items that are no longer to be had: digested already in this pass, or refused.
        result_overhead: tokens a tool result takes beside its text.
    """
    copies = {entry.item.id for entry in items if entry.copy_of}
    results = {entry.item.id for entry in items if entry.item.role == "tool"}
    calls = {entry.item.id: entry for entry in items if entry.item.kind == "tool_call"}
    groups: dict[tuple[str, bool], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.verdict == "free" and verdict.item_id not in taken:
            groups.setdefault((verdict.unit, verdict.item_id in calls), []).append(verdict)
    units = [
        Unit(
            item_ids=tuple(verdict.item_id for verdict in group),
            tokens=sum(verdict.tokens for verdict in group),
            overhead=result_overhead * sum(verdict.item_id in results for verdict in group),
            copy=any(verdict.item_id in copies for verdict in group),
            forget=not is_call and all(verdict.reason in ("forget", "repeated") for verdict in group),
            repeated=not is_call and all(verdict.reason == "repeated" for verdict in group),
            brief=not is_call and all(verdict.reason == "brief" for verdict in group),
            left=sum(left_tokens(calls[one.item_id].item, one.tokens) for one in group) if is_call else None,
        )
        for (_, is_call), group in groups.items()
    ]
    if scores is None:
        return sorted(units, key=_turn)
    best = {unit: max(scores.get(item_id, 0.0) for item_id in unit.item_ids) for unit in units}
    return sorted(units, key=lambda unit: (*_turn(unit), best[unit]))


def _turn(unit: Unit) -> tuple[bool, ...]:
    return not unit.forget, not unit.repeated, unit.brief, unit.left is not None


def batches(units: Iterable[Unit], *, excess: int | None, sizing: Sizing) -> list[Slot]:
    """Put units into slots, in the order given, and stop as soon as the slots' gains cover the excess.

    Args:
        excess: tokens above the target; 0 or less takes nothing, None takes all.
    """
    done: list[Slot] = []
    gained = 0
    waiting: list[Unit] = []
    for unit in units:
        if excess is not None and gained + (_gain(waiting, sizing) if waiting else 0) >= excess:
            break
        if waiting and (waiting[0].kind != unit.kind or _is_full(waiting, sizing) or _too_long(waiting, unit, sizing)):
            gained += _gain(waiting, sizing)
            done.append(_slot(waiting, sizing))
            waiting = []
        waiting.append(unit)
    return [*done, _slot(waiting, sizing)] if waiting else done


def least_budget(items: int) -> int:
    """Tokens below which the digest of so many items is none."""
    return MIN_BUDGET_TOKENS + MIN_ITEM_TOKENS * (items - 1)


def budget_of(tokens: int, items: int, *, pointers: bool, share: float) -> int:
    """Tokens of the digest of a batch; always smaller than the batch."""
    wanted = POINTER_TOKENS + POINTER_NOTE * items if pointers else max(least_budget(items), math.ceil(tokens * share))
    return max(0, min(wanted, tokens - 1))


def gain_of(slot: Slot) -> int:
    """Tokens that a slot is expected to save."""
    return slot.tokens - slot.overhead_tokens - slot.budget_tokens


def split(slot: Slot, items: Mapping[str, ContextItem]) -> list[Slot]:
    """One slot a unit, each with its share of the budget."""
    names: dict[str, list[str]] = {}
    for name in slot.item_ids:
        names.setdefault(items[name].item.unit or name, []).append(name)
    found: list[Slot] = []
    for ids in names.values():
        tokens = sum(items[name].tokens for name in ids)
        budget = min(tokens - 1, max(1, round(slot.budget_tokens * tokens / max(1, slot.tokens))))
        found.append(Slot(item_ids=tuple(ids), tokens=tokens, budget_tokens=budget, ceiling_tokens=budget))
    return found


def _slot(units: Sequence[Unit], sizing: Sizing) -> Slot:
    ids = tuple(item_id for unit in units for item_id in unit.item_ids)
    tokens = sum(unit.tokens for unit in units)
    overhead = sum(unit.overhead for unit in units)
    if units[0].left is not None:
        left = sum(unit.left or 0 for unit in units)
        return Slot(item_ids=ids, tokens=tokens, budget_tokens=left, ceiling_tokens=left, pointer=True, arguments=True)
    if units[0].repeated:
        size = max(0, min(POINTER_TOKENS + NAMED_NOTE * len(ids), tokens - overhead - 1))
        return Slot(
            item_ids=ids,
            tokens=tokens,
            budget_tokens=size,
            ceiling_tokens=size,
            overhead_tokens=overhead,
            pointer=True,
            repeated=True,
        )
    pointers = sizing.pointers or units[0].copy or units[0].forget or units[0].brief
    budget = min(budget_of(tokens, len(ids), pointers=pointers, share=sizing.share), sizing.most_tokens)
    return Slot(
        item_ids=ids,
        tokens=tokens,
        budget_tokens=budget,
        ceiling_tokens=budget,
        overhead_tokens=overhead,
        pointer=units[0].forget or units[0].brief,
        copies=units[0].copy,
    )


def _gain(units: Sequence[Unit], sizing: Sizing) -> int:
    return gain_of(_slot(units, sizing))


def _is_full(units: Sequence[Unit], sizing: Sizing) -> bool:
    return _count(units) >= sizing.batch_items and sum(unit.tokens for unit in units) >= sizing.batch_tokens


def _too_long(units: Sequence[Unit], more: Unit, sizing: Sizing) -> bool:
    """Whether one digest for all of them would be cut short by the most that a digest may have."""
    if sizing.pointers or not more.digested:
        return False
    return sizing.share * (more.tokens + sum(unit.tokens for unit in units)) > sizing.most_tokens


def _count(units: Sequence[Unit]) -> int:
    return sum(len(unit.item_ids) for unit in units)


# A target met by need: the oldest units whose digests can have all they need, or all with what there is.


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
        sized = [
            _within([slot], [most_tokens], most_tokens)[0] if at_most else next(left)
            for slot, at_most in zip(slots, full, strict=True)
        ]
        return _trimmed(sized, room)
    sized = _within(slots, share(slots, room), most_tokens)
    for _ in range(_ROUNDS):
        over = sum(slot.budget_tokens for slot in sized) - room
        if over <= 0:
            return sized
        sized = _within(slots, share(slots, max(0, room - over)), most_tokens)
    return _trimmed(sized, room)


def _trimmed(sized: list[Slot], room: int) -> list[Slot]:
    """The same with what is over the room taken from the largest budgets, none below the least."""
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


# Levels (L16): when digests themselves fill the window, the oldest of them become one, made from their originals.
#
# A digest is never digested at its own level: level 2 stands for digests of level 1, and where those do not suffice
# any more, level 3 for digests of level 2, and so on, so that a session can go on for ever.


BATCHES_A_GROUP = 4
"""Digests that become one: enough to pay for its header, few enough that one restore still names a stretch of work."""
SHARE = 0.4
"""Tokens of a level-2 digest, as a share of the digests it stands for."""


def under_pressure(digester: str) -> str:
    """Whose failed attempts those are at one digest that need not show all that others left to what it replaces."""
    return f"{digester} under pressure"


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Digests that would become one."""

    level: int
    """Of the digest to be made."""
    batch_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    """Of all their items, in the host's order."""
    tokens: int
    """What their parts take now, without what every result takes beside its text."""
    budget_tokens: int


def level2_groups(
    items: Sequence[ContextItem],
    policy: Policy,
    *,
    window_tokens: int | None,
    excess: int,
    result_overhead: int = 0,
    stuck: Collection[str] = (),
    all_of_them: bool = False,
    worth: int | None = None,
) -> tuple[Group, ...]:
    """Which digests of earlier passes may go up one level: the lowest level first, in each the oldest; none unless the
    rule allows it. No more of them need to than the excess takes.

    Never while the target is met: a digest keeps its bytes. Above the target they may, when digests take more than
    `level2_share` of the window, or when this meets the target, or frees what is `worth` it where no pass meets that; a
    prefix is not rewritten in vain.

    Args:
        excess: tokens above the target after everything else was tried; 0 or less when it is met.
        stuck: batches of which one digest was tried before and was not smaller (D14).
        all_of_them: the strategy remakes digests (`regenerative`): whoever chose it wants them rewritten, whatever the
            rule.
        worth: tokens that have to go up together; None where only the target counts.
    """
    if excess <= 0 and not all_of_them:
        return ()
    groups: list[Group] = []
    for level, by_batch in sorted(_by_level(items, policy).items()):
        names = [name for name in by_batch if name not in stuck]
        for start in range(0, len(names) - 1, BATCHES_A_GROUP):
            chosen = {name: by_batch[name] for name in names[start : start + BATCHES_A_GROUP]}
            groups.append(_group(level + 1, chosen, policy, result_overhead))
    gained = sum(group.tokens - group.budget_tokens for group in groups)
    least = excess if worth is None else min(excess, worth)
    return tuple(groups) if all_of_them or gained >= least or crowded(items, policy, window_tokens) else ()


def halved(
    group: Group, items: Sequence[ContextItem], policy: Policy, *, result_overhead: int = 0, singly: bool = False
) -> list[Group]:
    """Two groups of a group's digests, where one for all of them would have to show too much.

    Args:
        singly: a half may be a single digest, which goes up by itself; else there are none then.
    """
    half = len(group.batch_ids) // 2
    by_batch = _by_level(items, policy).get(group.level - 1, {})
    if half < (1 if singly else 2) or not by_batch.keys() >= {*group.batch_ids}:
        return []
    return [
        _group(group.level, {name: by_batch[name] for name in names}, policy, result_overhead)
        for names in (group.batch_ids[:half], group.batch_ids[half:])
    ]


def _group(level: int, by_batch: Mapping[str, list[ContextItem]], policy: Policy, result_overhead: int) -> Group:
    members = [one for each in by_batch.values() for one in each]
    tokens = sum(one.tokens - (result_overhead if one.item.role == "tool" else 0) for one in members)
    return Group(
        level=level,
        batch_ids=tuple(by_batch),
        item_ids=tuple(one.item.id for one in members),
        tokens=tokens,
        budget_tokens=min(math.ceil(SHARE * tokens), policy.max_digest_tokens),
    )


def crowded(items: Sequence[ContextItem], policy: Policy, window_tokens: int | None) -> bool:
    """Whether digests take more than `level2_share` of the window."""
    total = sum(one.tokens for one in items if one.state == "replaced" and one.item.kind != "tool_call")
    return window_tokens is not None and total > policy.level2_share * window_tokens


def _by_level(items: Sequence[ContextItem], policy: Policy) -> dict[int, dict[str, list[ContextItem]]]:
    """Level -> batches that stand whole and unprotected, oldest first."""
    by_level: dict[int, dict[str, list[ContextItem]]] = {}
    held: set[str] = set()
    for one in items:
        if one.state != "replaced" or one.copy_of or one.item.kind == "tool_call":
            continue
        by_level.setdefault(one.level, {}).setdefault(one.batch_id, []).append(one)
        restored = one.restored_ago is not None and one.restored_ago < policy.restored_protection
        if one.pinned or restored or one.call_open:
            held.add(one.batch_id)
    return {
        level: {name: members for name, members in by_batch.items() if name not in held}
        for level, by_batch in by_level.items()
    }
