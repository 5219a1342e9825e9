"""Step 3 of a selection: what is left of a budget gives entries back the words around them; and what goes again."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from .candidates import is_bare_import
from .ledger_lines import SPEAKING, label_of
from .lines import FORCED, Unit
from .plan import Batch, Plan, lacks_word
from .reducers.lines import loudest_first

_MOST_OF_ITEM = 0.2
"""Of an item's own tokens, for giving its entries back their lines: a digest that is nearly the item is none."""
_SMOOTH = 12


def add_words(batch: Batch, available: int) -> list[tuple[Plan, int]]:
    """A word of its line for each entry without a key, the most worth first; one that is not needed goes.

    Returns the names that stand beside other values now, and so need no place of their own.
    """
    wanted: list[tuple[float, int, int]] = []
    rows = [_rows(plan) if plan.in_rows else {} for plan in batch.plans]
    for number, (plan, here) in enumerate(zip(batch.plans, rows, strict=True)):
        labelled = [home for home in plan.labels if home in here]
        for word in list(plan.words.elements()):
            batch.drop_word(plan, word)
        plan.labels = {home: label_of(plan.survey, home, here[home]) for home in labelled}
        for word in plan.labels.values():
            batch.add_word(plan, word)
        wanted += [(-sum(plan.worth[spec] for spec in specs), number, home) for home, specs in here.items()]
    wanted.sort()
    for _, number, home in wanted:
        plan = batch.plans[number]
        if plan.labels.get(home):
            continue
        label = label_of(plan.survey, home, rows[number][home])
        if batch.spent + batch.word_cost(plan, label) + 1 <= available:
            plan.labels[home] = label
            batch.add_word(plan, label)
            batch.spent += 1
    names: list[tuple[Plan, int]] = []
    for plan in batch.plans:
        beside = set(plan.labels.values())
        for spec in sorted(plan.entries):
            if plan.survey.specs[spec].cls in SPEAKING and plan.survey.specs[spec].text in beside:
                batch.drop_entry(plan, spec)
                names.append((plan, spec))
    return names


def name_again(batch: Batch, names: Iterable[tuple[Plan, int]]) -> None:
    """Names that stood beside values which lines show by now get a place of their own again."""
    of_plan: dict[int, list[int]] = {}
    plans = {id(plan): plan for plan, _ in names}
    for plan, spec in names:
        of_plan.setdefault(id(plan), []).append(spec)
    for number, specs in of_plan.items():
        plan = plans[number]
        beside = {plan.labels.get(home) for home in _rows(plan)}
        shown = {spec for index in plan.picked for spec in plan.survey.reduced.units[index].specs}
        for spec in specs:
            if spec not in shown and plan.survey.specs[spec].text not in beside:
                batch.seen.discard(plan.shared[spec])
                batch.add_entry(plan, spec)


def _rows(plan: Plan) -> dict[int, list[int]]:
    """Lines that have values without a key in the ledger -> those values."""
    rows: dict[int, list[int]] = {}
    for spec in plan.entries:
        if plan.wants_word(spec):
            rows.setdefault(plan.survey.home[spec], []).append(spec)
    return rows


def add_places(batch: Batch, available: int) -> None:
    """What says where lines stand that were shown for their specifics: what most of them stand under first."""
    borne: dict[tuple[int, int], int] = {}
    for number, plan in enumerate(batch.plans):
        units = plan.survey.reduced.units
        for index in plan.picked:
            if (above := units[index].under) >= 0 and above not in plan.picked:
                borne[number, above] = borne.get((number, above), 0) + 1
    for number, above in sorted(borne, key=lambda place: (-borne[place], place)):
        plan = batch.plans[number]
        if batch.spent + batch.cost(plan, plan.survey.reduced.units[above]) <= available:
            batch.take(plan, above)


def add_imports(batch: Batch, available: int) -> None:
    """Imports and directives that hold no specific, in order."""
    for plan in batch.plans:
        for index, unit in enumerate(() if plan.no_lines else plan.survey.reduced.units):
            if is_bare_import(unit) and index not in plan.picked and batch.spent + batch.bare_cost(unit) <= available:
                batch.show(plan, index)


def give_back_lines(batch: Batch, available: int) -> None:
    """Whole lines in place of entries: the most worth for the fewest extra tokens first."""
    heap: list[tuple[float, int, int]] = []
    for number, plan in enumerate(batch.plans):
        for index, unit in enumerate(plan.survey.reduced.units if plan.entries else ()):
            held = () if index in plan.picked else [spec for spec in unit.specs if spec in plan.entries]
            if held and not lacks_word(plan, unit, held):
                heap.append((-_benefit(batch, plan, unit)[0], number, index))
    heapq.heapify(heap)
    room = [_MOST_OF_ITEM * plan.tokens for plan in batch.plans]
    while heap and batch.spent < available:
        _, number, index = heapq.heappop(heap)
        plan = batch.plans[number]
        ratio, extra = _benefit(batch, plan, plan.survey.reduced.units[index])
        if ratio <= 0 or batch.spent + extra > available or extra > room[number]:
            continue
        if heap and ratio < -heap[0][0] - 1e-9:
            heapq.heappush(heap, (-ratio, number, index))
            continue
        room[number] -= extra
        batch.take(plan, index)


def _benefit(batch: Batch, plan: Plan, unit: Unit) -> tuple[float, int]:
    """Worth a token, and tokens, of showing a line instead of the entries in it."""
    entries, bare, worth = plan.entries, plan.bare, plan.worth
    saved = 0
    value = unit.gist
    for spec in unit.specs:
        if spec in entries:
            saved += bare[spec]
            value += worth[spec]
    if not saved:
        return 0.0, 0
    extra = batch.cost(plan, unit) - saved
    return value / max(1, extra), extra


def take_out(batch: Batch, tokens: int) -> bool:
    """Take out about `tokens` tokens, least worth first: words, entries, lines. False when nothing is left."""
    before, target = batch.spent, batch.spent - tokens
    for plan in reversed(batch.plans):
        while plan.labels and batch.spent > target:
            batch.drop_word(plan, plan.labels.popitem()[1])
    entries = sorted(
        (plan.worth[spec] / plan.bare[spec], n, spec) for n, plan in enumerate(batch.plans) for spec in plan.entries
    )
    for _, number, spec in entries:
        if batch.spent <= target:
            break
        batch.drop_entry(batch.plans[number], spec)
    lines = sorted(
        (_kept_worth(plan, index), -n, -index)
        for n, plan in enumerate(batch.plans)
        for index in plan.picked - {plan.survey.reduced.units[above].under for above in plan.picked}
    )
    for _, number, index in lines:
        if batch.spent <= target:
            break
        plan = batch.plans[-number]
        plan.picked.remove(-index)
        batch.spent -= batch.bare_cost(plan.survey.reduced.units[-index])
    return batch.spent < before


def _kept_worth(plan: Plan, index: int) -> float:
    unit = plan.survey.reduced.units[index]
    return (unit.gist + sum(plan.worth[spec] for spec in unit.specs)) / (unit.cost + _SMOOTH)


# Step 1 of a selection: the lines that say what a result was, the most told a token, at most ten an item.


LINES = 10
"""Content lines an item, before only what adds a specific may follow; a table counts as one (design §9.1)."""
_TABLE_ROWS = 6
"""Rows of one table that are taken here."""

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
