"""Step 3 of a selection: what is left of a budget gives entries back the words around them; and what goes again."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from .bare_values import is_bare_import
from .entries import SPEAKING
from .plans import Batch, Plan, lacks_word
from .units import Unit
from .words import label_of

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


__all__ = ["add_imports", "add_places", "add_words", "give_back_lines", "name_again", "take_out"]
