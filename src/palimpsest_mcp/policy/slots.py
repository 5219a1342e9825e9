"""Batches: which units leave together, and how many tokens their digest may take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..models.plans import ContextItem, Slot, Verdict

MIN_BUDGET_TOKENS, MIN_ITEM_TOKENS = 42, 10
"""The shortest header with a value or two takes about the first, and each further item with one the second; a smaller
budget would only ever give a pointer."""
POINTER_TOKENS, POINTER_NOTE = 50, 10
"""A pointer with its manifest, and what stands in the place of each of its items."""
GROWTH = 2
"""How often its budget a digest may grow to, before it leaves out a specific of the first rank (design §9.1)."""


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

    @property
    def kind(self) -> tuple[bool, bool]:
        """Only units of one kind share a batch."""
        return self.copy, self.forget


class Sizing(msgspec.Struct, frozen=True, kw_only=True):
    """How large digests may be in one plan."""

    share: float
    grows: bool
    """Whether a budget may grow; an explicit target forbids it."""
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
    """The free units: what may be forgotten first, then the others, each by score (the least first) or oldest first.

    A unit is as old as its first item that would leave, and as important as its most important one.

    Args:
        taken: ids of items that are no longer to be had: digested already in this pass, or refused.
        result_overhead: tokens a tool result takes beside its text.
    """
    copies = {entry.item.id for entry in items if entry.copy_of}
    results = {entry.item.id for entry in items if entry.item.role == "tool"}
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.verdict == "free" and verdict.item_id not in taken:
            groups.setdefault(verdict.unit, []).append(verdict)
    units = [
        Unit(
            item_ids=tuple(verdict.item_id for verdict in group),
            tokens=sum(verdict.tokens for verdict in group),
            overhead=result_overhead * sum(verdict.item_id in results for verdict in group),
            copy=any(verdict.item_id in copies for verdict in group),
            forget=all(verdict.reason == "forget" for verdict in group),
        )
        for group in groups.values()
    ]
    if scores is None:
        return sorted(units, key=lambda unit: not unit.forget)
    best = {unit: max(scores.get(item_id, 0.0) for item_id in unit.item_ids) for unit in units}
    return sorted(units, key=lambda unit: (not unit.forget, best[unit]))


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
        grows = slot.ceiling_tokens > slot.budget_tokens
        ceiling = min(GROWTH * budget, tokens - 1) if grows else budget
        found.append(Slot(item_ids=tuple(ids), tokens=tokens, budget_tokens=budget, ceiling_tokens=ceiling))
    return found


def _slot(units: Sequence[Unit], sizing: Sizing) -> Slot:
    ids = tuple(item_id for unit in units for item_id in unit.item_ids)
    tokens = sum(unit.tokens for unit in units)
    overhead = sum(unit.overhead for unit in units)
    pointers = sizing.pointers or units[0].copy or units[0].forget
    budget = min(budget_of(tokens, len(ids), pointers=pointers, share=sizing.share), sizing.most_tokens)
    ceiling = (
        min(GROWTH * budget, sizing.most_tokens, max(budget, tokens - 1)) if sizing.grows and not pointers else budget
    )
    return Slot(
        item_ids=ids,
        tokens=tokens,
        budget_tokens=budget,
        ceiling_tokens=ceiling,
        overhead_tokens=overhead,
        pointer=units[0].forget,
        copies=units[0].copy,
    )


def _gain(units: Sequence[Unit], sizing: Sizing) -> int:
    return gain_of(_slot(units, sizing))


def _is_full(units: Sequence[Unit], sizing: Sizing) -> bool:
    return _count(units) >= sizing.batch_items and sum(unit.tokens for unit in units) >= sizing.batch_tokens


def _too_long(units: Sequence[Unit], more: Unit, sizing: Sizing) -> bool:
    """Whether one digest for all of them would be cut short by the most that a digest may have."""
    if sizing.pointers or more.copy or more.forget:
        return False
    return sizing.share * (more.tokens + sum(unit.tokens for unit in units)) > sizing.most_tokens


def _count(units: Sequence[Unit]) -> int:
    return sum(len(unit.item_ids) for unit in units)
