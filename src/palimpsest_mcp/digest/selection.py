"""What of a batch is shown: greedy weighted coverage under a token budget, in three steps.

1. *Lines* that say what each result was: the highest gain a token, at most ten an item.
2. *Entries*: every specific that no line shows, as a bare value or under its key, the most worth a token first.
3. With what is left, entries get back their surroundings: first a word of their line, then the whole line.

Deterministic: ties go to the earlier item, then to the earlier candidate.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..models.specifics import Specific
from .coverage import Candidate, choose
from .entries import label_of, shown_key
from .units import FORCED, Survey, Unit

LINES = 10
"""Content lines an item, at most, before only what adds a specific may follow; a table counts as one (design §9.1)."""
_LEAST_LINES, _MORE_LINES, _MOST_LINES = 0.04, 0.08, 0.5
"""Of the budget, for lines that say what the result was, over what their specifics would cost in the ledger: the least,
what comes on top the nearer the budget is to holding all specifics, and the most."""
_TABLE_ROWS = 4
"""Rows of one table that step 1 takes."""
_SMOOTH = 12
"""Added to a line's tokens before dividing, so that a short line does not win by being short."""
_FRESH = 0.3
"""What a line's new specifics add to what it tells: in step 1 it is chosen for what it says, step 2 sees to the rest."""
_LEAST = 0.3
"""A line whose whole gain is below this says nothing: never padded (D11)."""
_MOST_OF_ITEM = 0.2
"""Of an item's own tokens, for giving its entries back their lines: a digest that is nearly the item is none."""
_NOTE_COST = 8


@dataclass(slots=True)
class Plan:
    """One item while it is being selected; afterwards: what to print."""

    survey: Survey
    worth: list[float]
    """Per specific; 0 where it is in view already."""
    weight: list[float]
    """Per specific: how much it counts toward the least share that must be in view."""
    shared: list[int]
    """Per specific: its number in the batch; equal (class, text, key) share one."""
    tokens: int
    bare: bool = False
    """No lines but those that are forced: everything for the ledger."""
    picked: set[int] = field(default_factory=set[int])
    """Units shown."""
    tables: set[int] = field(default_factory=set[int])
    """Tables whose heading is shown."""
    entries: set[int] = field(default_factory=set[int])
    """Specifics in the ledger."""
    keys: dict[str, int] = field(default_factory=dict[str, int])
    """Keys in the ledger with how many values each has there."""
    labels: dict[int, str] = field(default_factory=dict[int, str])
    """Home line -> the word of it that stands before its values."""


class _Kept(NamedTuple):
    """A plan after step 1."""

    picked: set[int]
    tables: set[int]


class Selector:
    """Selects for one batch. `count` counts tokens of one text and may cache."""

    def __init__(self, plans: Sequence[Plan], seen: set[int], count: Callable[[str], int], least: float) -> None:
        """`least`: share of an item's weight that must be in view for it to be worth a digest."""
        self.plans = plans
        self._least = least
        self._seen = seen
        self._count = count
        self.spent = 0
        self._credit = 1.0
        self._kept: list[_Kept] = []
        self._base = 0
        self._base_seen: set[int] = set()

    def lines(self, available: int) -> None:
        """Step 1, within the part of `available` tokens that lines may take."""
        total = max(1, sum(plan.tokens for plan in self.plans))
        need = sum(
            self._bare(plan, spec)
            for plan in self.plans
            for spec in range(len(plan.worth))
            if plan.shared[spec] not in self._seen
        )
        self._credit = min(1.0, available / max(1, need))
        least = _LEAST_LINES + _MORE_LINES * self._credit
        extra = max(least * available, min(_MOST_LINES * available, available - need))
        for plan in self.plans:
            self._lines(plan, extra * plan.tokens / total)
        self._kept = [_Kept(set(plan.picked), set(plan.tables)) for plan in self.plans]
        self._base = self.spent
        self._base_seen = set(self._seen)

    def fill(self, available: int, classes: frozenset[str] | None = None) -> None:
        """Steps 2 and 3 from anew; `spent` says what it came to by the sum of single counts.

        With `classes`, entries of those are added to what is there, and nothing else changes.
        """
        if classes is None:
            self._reset()
        self._entries(available, classes)
        if classes is None:
            self._labels(available)
            self._upgrade(available)

    def _reset(self) -> None:
        for plan, kept in zip(self.plans, self._kept, strict=True):
            plan.picked, plan.tables = set(kept.picked), set(kept.tables)
            plan.entries.clear()
            plan.keys.clear()
            plan.labels.clear()
        self.spent = self._base
        self._seen = set(self._base_seen)

    def trim(self, tokens: int) -> bool:
        """Take out about `tokens` tokens, least worth first: words, entries, lines. False when nothing is left."""
        target = self.spent - tokens
        before = self.spent
        labels = [(n, home) for n, plan in enumerate(self.plans) for home in plan.labels]
        for number, home in reversed(labels):
            if self.spent <= target:
                break
            self.spent -= self._count(self.plans[number].labels.pop(home)) + 2
        entries = sorted(
            (plan.worth[spec] / (self._count(plan.survey.specs[spec].text) + 1), n, spec)
            for n, plan in enumerate(self.plans)
            for spec in plan.entries
        )
        for _, number, spec in entries:
            if self.spent <= target:
                break
            self._drop_entry(self.plans[number], spec)
        lines = sorted(
            ((self._gain_kept(plan, index), n, index) for n, plan in enumerate(self.plans) for index in plan.picked),
            key=lambda x: (x[0], -x[1], -x[2]),
        )
        for _, number, index in lines:
            if self.spent <= target:
                break
            plan = self.plans[number]
            plan.picked.remove(index)
            self.spent -= self._cost(plan, plan.survey.reduced.units[index])
        return self.spent < before

    def _gain_kept(self, plan: Plan, index: int) -> float:
        unit = plan.survey.reduced.units[index]
        return (unit.gist + sum(plan.worth[spec] for spec in unit.specs)) / (unit.cost + _SMOOTH)

    # -- step 1 ------------------------------------------------------------------------------------------------------

    def _lines(self, plan: Plan, budget: float) -> None:
        units = plan.survey.reduced.units
        heap = [(-self._gain(plan, unit, rough=True), index) for index, unit in enumerate(units)]
        heapq.heapify(heap)
        spent, lines = 0, 0
        rows: dict[int, int] = {}
        while heap and lines < LINES:
            _, index = heapq.heappop(heap)
            unit = units[index]
            gain = self._gain(plan, unit)
            if gain <= 0 or rows.get(unit.table, 0) >= _TABLE_ROWS:
                continue
            if heap and gain < -heap[0][0] - 1e-9:
                heapq.heappush(heap, (-gain, index))
                continue
            cost = self._cost(plan, unit)
            extra = self._extra(plan, unit, cost)
            if (plan.bare or spent + extra > budget) and unit.gist < FORCED:
                continue
            spent += extra
            if unit.kind == "quote" or unit.table < 0 or unit.table not in rows:
                lines += 1
            if unit.table >= 0 and unit.kind == "row":
                rows[unit.table] = rows.get(unit.table, 0) + 1
            self._take(plan, index, cost)

    def _gain(self, plan: Plan, unit: Unit, *, rough: bool = False) -> float:
        fresh = sum(plan.worth[spec] for spec in unit.specs if plan.shared[spec] not in self._seen)
        value = unit.gist + unit.words + _FRESH * fresh
        if value < _LEAST:
            return 0.0
        cost = len(unit.text) / 12 if rough else self._extra(plan, unit, self._cost(plan, unit))
        return value / (cost + _SMOOTH)

    def _extra(self, plan: Plan, unit: Unit, cost: int) -> float:
        """What a line costs over its specifics' share of the ledger."""
        bare = sum(self._bare(plan, spec) for spec in unit.specs if plan.shared[spec] not in self._seen)
        return max(1.0, cost - self._credit * bare)

    def _cost(self, plan: Plan, unit: Unit) -> int:
        if not unit.cost:
            unit.cost = self._count(unit.text) + 1
        cost = unit.cost + (_NOTE_COST if unit.note else 0)
        if unit.table >= 0 and unit.table not in plan.tables:
            table = plan.survey.reduced.tables[unit.table]
            if not table.cost:
                table.cost = sum(self._count(line) + 1 for line in table.lines) + _NOTE_COST
            cost += table.cost
        return cost

    def _take(self, plan: Plan, index: int, cost: int) -> None:
        unit = plan.survey.reduced.units[index]
        plan.picked.add(index)
        self.spent += cost
        specs = list(unit.specs)
        if unit.table >= 0 and unit.table not in plan.tables:
            plan.tables.add(unit.table)
            specs += plan.survey.reduced.tables[unit.table].specs
        for spec in specs:
            self._seen.add(plan.shared[spec])
            if spec in plan.entries:
                self._drop_entry(plan, spec)

    # -- step 2 ------------------------------------------------------------------------------------------------------

    def _entries(self, available: int, classes: frozenset[str] | None) -> None:
        candidates = [
            Candidate(
                n, spec, plan.shared[spec], plan.worth[spec], plan.weight[spec], self._bare(plan, spec), shown_key(one)
            )
            for n, plan in enumerate(self.plans)
            for spec, one in enumerate(plan.survey.specs)
            if plan.shared[spec] not in self._seen and (classes is None or one.cls in classes)
        ]
        wanted: list[float] = []
        for plan in self.plans:
            covered = sum(w for shared, w in zip(plan.shared, plan.weight, strict=True) if shared in self._seen)
            wanted.append(0.0 if classes else self._least * sum(plan.weight) - covered)
        for one in choose(candidates, available - self.spent, wanted, self._key_cost):
            plan = self.plans[one.item]
            self._add_entry(plan, one.spec, one.cost + (self._key_cost(one.key) if one.key not in plan.keys else 0))

    def _bare(self, plan: Plan, spec: int) -> int:
        return self._count(plan.survey.specs[spec].text) + 1

    def _key_cost(self, key: str) -> int:
        return self._count(key) + 2 if key else 0

    def _add_entry(self, plan: Plan, spec: int, cost: int) -> None:
        self.spent += cost
        plan.entries.add(spec)
        self._seen.add(plan.shared[spec])
        key = shown_key(plan.survey.specs[spec])
        if key:
            plan.keys[key] = plan.keys.get(key, 0) + 1

    def _drop_entry(self, plan: Plan, spec: int) -> None:
        specific = plan.survey.specs[spec]
        plan.entries.remove(spec)
        self.spent -= self._count(specific.text) + 1
        key = shown_key(specific)
        if key:
            plan.keys[key] -= 1
            if not plan.keys[key]:
                del plan.keys[key]
                self.spent -= self._key_cost(key)

    # -- step 3 ------------------------------------------------------------------------------------------------------

    def _labels(self, available: int) -> None:
        """A word of its line for each entry without a key."""
        wanted: list[tuple[float, int, int]] = []
        for number, plan in enumerate(self.plans):
            value: dict[int, float] = {}
            for spec in plan.entries:
                home = plan.survey.home[spec]
                if home not in plan.labels and not shown_key(plan.survey.specs[spec]):
                    value[home] = value.get(home, 0.0) + plan.worth[spec]
            wanted += [(-worth, number, home) for home, worth in value.items()]
        wanted.sort()
        for _, number, home in wanted:
            plan = self.plans[number]
            label = label_of(plan.survey, home, plan.entries)
            cost = self._count(label) + 2 if label else 0
            if self.spent + cost <= available:
                plan.labels[home] = label
                self.spent += cost

    def _upgrade(self, available: int) -> None:
        """Whole lines in place of entries: the most worth for the fewest extra tokens first."""
        heap: list[tuple[float, int, int]] = []
        for number, plan in enumerate(self.plans):
            for index, unit in enumerate(plan.survey.reduced.units):
                if index not in plan.picked and any(spec in plan.entries for spec in unit.specs):
                    heap.append((-self._benefit(plan, unit)[0], number, index))
        heapq.heapify(heap)
        room = [_MOST_OF_ITEM * plan.tokens for plan in self.plans]
        while heap and self.spent < available:
            _, number, index = heapq.heappop(heap)
            plan = self.plans[number]
            unit = plan.survey.reduced.units[index]
            ratio, extra = self._benefit(plan, unit)
            if ratio <= 0 or self.spent + extra > available or extra > room[number]:
                continue
            if heap and ratio < -heap[0][0] - 1e-9:
                heapq.heappush(heap, (-ratio, number, index))
                continue
            room[number] -= extra
            self._take(plan, index, self._cost(plan, unit))

    def _benefit(self, plan: Plan, unit: Unit) -> tuple[float, int]:
        moved = [spec for spec in unit.specs if spec in plan.entries]
        if not moved:
            return 0.0, 0
        freed = sum(self._count(plan.survey.specs[spec].text) + 1 for spec in moved)
        extra = self._cost(plan, unit) - freed
        return (sum(plan.worth[spec] for spec in moved) + unit.gist) / max(1, extra), extra


def plans_for(
    surveys: Sequence[tuple[Survey, int]],
    worth: Sequence[list[float]],
    weight: Sequence[list[float]],
    visible: Mapping[Specific, str],
) -> tuple[list[Plan], set[int]]:
    """Plans with batch-wide numbers, and the numbers that are in view already."""
    numbers: dict[Specific, int] = {}
    seen: set[int] = set()
    plans: list[Plan] = []
    for (survey, tokens), worths, weights in zip(surveys, worth, weight, strict=True):
        shared = [numbers.setdefault(spec, len(numbers)) for spec in survey.specs]
        seen.update(number for spec, number in zip(survey.specs, shared, strict=True) if spec in visible)
        plans.append(Plan(survey, worths, weights, shared, tokens))
    return plans, seen


__all__ = ["LINES", "Plan", "Selector", "plans_for"]
