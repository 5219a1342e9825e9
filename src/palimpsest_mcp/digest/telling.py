"""Step 1 of a selection: the lines that say what a result was, the most told a token, at most ten an item."""

from __future__ import annotations

import heapq
from typing import NamedTuple

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


class Allowances(NamedTuple):
    """Tokens that some lines may take beside the budget."""

    outcome: float = 0.0
    """The first line that says how it ended, where the budget is too small for it."""
    loud: float = 0.0
    """Lines that cry out together, before all others."""
    wrong: float = 0.0
    """Lines that say what went wrong, together."""
    title: float = 0.0
    """The budget is no less than this where nothing cried out."""
    sample: float = 0.0
    """The first line with specifics, over what these cost, where nothing cried out: it says what such values are."""


_NONE = Allowances()


def tell(batch: Batch, plan: Plan, budget: float, credit: float, allowed: Allowances = _NONE) -> None:
    """Pick lines of one item for about `budget` tokens.

    Args:
        credit: the share of its price that a specific would be worth in the ledger anyway, 0.0-1.0: a line that shows
            specifics costs that much less.
    """
    units = plan.survey.reduced.units
    for_outcome, for_loud, for_wrong, for_title, for_sample = allowed
    for index in [] if plan.no_lines else loudest_first(units):
        extra = _extra(batch, plan, units[index], credit)
        if extra <= for_loud and index not in plan.picked:
            for_loud -= extra
            batch.take(plan, index)
    if plan.picked:
        for_sample = 0.0
    else:
        budget = max(budget, for_title)
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
        elif unit.specs and _extra(batch, plan, unit, 1.0) <= for_sample and not plan.no_lines:
            for_sample = 0.0
            budget += extra
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


__all__ = ["LINES", "Allowances", "tell"]
