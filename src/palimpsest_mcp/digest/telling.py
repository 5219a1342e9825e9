"""Step 1 of a selection: the lines that say what a result was, the most told a token, at most ten an item."""

from __future__ import annotations

import heapq

from .loud import loudest_first
from .plans import Batch, Plan
from .units import FORCED, Unit

LINES = 10
"""Content lines an item, before only what adds a specific may follow; a table counts as one (design §9.1)."""
_TABLE_ROWS = 6
"""Rows of one table that are taken here."""
_SMOOTH = 12
"""Added to a line's tokens before dividing, so that a short line does not win by being short."""
_FRESH = 0.3
"""What a line's new specifics add to what it tells: here it is chosen for what it says, the ledger sees to the rest."""
_OUTCOME = 3.4
"""From here on a line says how it ended: an error, the totals of a test run; the one that tells the most of them."""
_WRONG = 3.0
"""From here on it says what went wrong, as the name of a test that failed."""
_LEAST = 0.3
"""A line that tells less says nothing: never padded (D11)."""


def tell(
    batch: Batch,
    plan: Plan,
    budget: float,
    credit: float,
    *,
    for_outcome: float = 0.0,
    for_loud: float = 0.0,
    for_wrong: float = 0.0,
    for_first: float = 0.0,
) -> None:
    """Pick lines of one item for about `budget` tokens.

    Args:
        credit: the share of its price that a specific would be worth in the ledger anyway, 0.0-1.0: a line that shows
            specifics costs that much less.
        for_outcome: so many tokens the first line that says how it ended may take where the budget is too small for it.
        for_loud: so many tokens lines that cry out may take together, before and beside the budget.
        for_wrong: so many tokens lines may take that say what went wrong, beside the budget.
        for_first: the budget is no less than so many tokens where nothing cried out.
    """
    units = plan.survey.reduced.units
    for index in [] if plan.no_lines else loudest_first(units):
        extra = _extra(batch, plan, units[index], credit)
        if extra <= for_loud and index not in plan.picked:
            for_loud -= extra
            batch.take(plan, index)
    if not plan.picked:
        budget = max(budget, for_first)
    heap = [(-_value(batch, plan, unit) / (len(unit.text) / 12 + _SMOOTH), index) for index, unit in enumerate(units)]
    heapq.heapify(heap)
    outcome = max((unit.gist for unit in units if unit.gist >= _OUTCOME), default=_OUTCOME)
    lines = 0
    rows: dict[int, int] = {}
    extras: dict[int, float] = {}  # of lines, as long as nothing more is taken
    while heap and lines < LINES:
        _, index = heapq.heappop(heap)
        unit = units[index]
        if index in plan.picked:
            continue
        value = _value(batch, plan, unit)
        if value < _LEAST or rows.get(unit.table, 0) >= _TABLE_ROWS:
            continue
        if index not in extras:
            extras[index] = _extra(batch, plan, unit, credit)
        extra = extras[index]
        gain = value / (extra + _SMOOTH)
        if heap and gain < -heap[0][0] - 1e-9:
            heapq.heappush(heap, (-gain, index))
            continue
        if unit.gist >= _WRONG and budget < extra <= for_wrong and not plan.no_lines:
            for_wrong -= extra
            budget += extra
        elif unit.gist >= outcome and extra <= for_outcome and not plan.no_lines:
            for_outcome = 0.0
        elif (plan.no_lines or extra > budget) and unit.gist < FORCED:
            continue
        budget -= extra
        if unit.kind == "quote" or unit.table not in rows:
            lines += 1
        if unit.kind == "row" and unit.table >= 0:
            rows[unit.table] = rows.get(unit.table, 0) + 1
        batch.take(plan, index)
        extras.clear()


def _value(batch: Batch, plan: Plan, unit: Unit) -> float:
    seen, shared, worth = batch.seen, plan.shared, plan.worth
    fresh = 0.0
    for spec in unit.specs:
        if shared[spec] not in seen:
            fresh += worth[spec]
    return unit.gist + unit.words + _FRESH * fresh


def _extra(batch: Batch, plan: Plan, unit: Unit, credit: float) -> float:
    """What a line costs over its specifics' share of the ledger."""
    seen, shared = batch.seen, plan.shared
    bare = 0
    for spec in unit.specs:
        if shared[spec] not in seen:
            bare += plan.bare[spec]
    return max(1.0, batch.cost(plan, unit) - credit * bare)


__all__ = ["LINES", "tell"]
