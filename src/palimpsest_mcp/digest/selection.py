"""What of a batch is shown: greedy weighted coverage under a token budget, in three steps.

1. *Lines* that say what each result was (`telling.py`).
2. *Entries*: every specific that no line shows, as a bare value, under its key, or beside a word of its line, the most
   worth a token first (`coverage.py`).
3. With what is left, entries get back their surroundings: first a word of their line, then the whole line.

Deterministic: ties go to the earlier item, then to the earlier candidate.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .coverage import Candidate, choose
from .entries import SPEAKING, label_of
from .inside import inside_longer
from .plans import Batch, Plan, group_of
from .telling import tell
from .units import Unit

_LEAST_LINES, _MORE_LINES, _MOST_LINES = 0.08, 0.07, 0.5
"""Of the budget, for lines that say what the result was, over what their specifics would cost in the ledger: the least,
what comes on top the nearer the budget is to holding all specifics, and the most."""
_ITEM_LINES = 50
"""Tokens of lines that every item gets where its part of the budget is three times that."""
_LABELLED = 0.6
"""From this share of what all specifics cost beside a word each, every value gets its word, and the least worth go;
below it, values go bare so that more of them stay."""
_IN_ROWS = 0.7
"""Below this share the ledger is grouped by class alone."""
_KEY_PER_VALUE = 2
"""Tokens of a key that each of its values may cost then."""
_LABEL = 3
"""Tokens of such a word, about."""
_MOST_OF_ITEM = 0.2
"""Of an item's own tokens, for giving its entries back their lines: a digest that is nearly the item is none."""
_SMOOTH = 12


class _Kept(NamedTuple):
    """A plan after step 1."""

    picked: set[int]
    tables: set[int]


class Selector:
    """Selects for one batch."""

    def __init__(self, batch: Batch, least: float, *, brief: bool = False, sparing: bool = False) -> None:
        """Start with nothing selected.

        Args:
            least: share of an item's weight that must be in view for it to be worth a digest.
            brief: the budget is so small that values come before everything else while not all are in view.
            sparing: the budget may not grow.
        """
        self._sparing = sparing
        self._brief = brief
        self._batch = batch
        self._least = least
        self._kept: list[_Kept] = []
        self._base = 0
        self._base_seen: set[int] = set()

    @property
    def spent(self) -> int:
        """Tokens by the sum of single counts."""
        return self._batch.spent

    def lines(self, available: int) -> None:
        """Step 1, within the part of `available` tokens that lines may take."""
        batch = self._batch
        need, homes = self._need()
        labelled = available >= _LABELLED * (need + _LABEL * homes)
        credit = min(1.0, available / max(1, need))
        least = (_LEAST_LINES + _MORE_LINES * credit) * available
        extra = max(least, min(_MOST_LINES * available, available - need - _LABEL * homes))
        total = max(1, sum(plan.tokens for plan in batch.plans))
        flat = self._brief and credit < 1.0
        for plan in batch.plans:
            plan.labelled = labelled and not flat
            plan.flat = flat
            plan.in_rows = not flat and (labelled or credit >= _IN_ROWS)
            if flat:
                plan.keys = [""] * len(plan.keys)
                tell(batch, plan, 0, credit)
                continue
            if not plan.in_rows:
                self._drop_dear_keys(plan)
            share = plan.tokens / total
            tell(batch, plan, max(extra * share, min(_ITEM_LINES, available * share / 3)), credit)
        self._kept = [_Kept(set(plan.picked), set(plan.tables)) for plan in batch.plans]
        self._base = batch.spent
        self._base_seen = set(batch.seen)

    def _drop_dear_keys(self, plan: Plan) -> None:
        """Where not all can stay, a long key before few values costs more than it tells."""
        values = Counter(
            key for key, shared in zip(plan.keys, plan.shared, strict=True) if shared not in self._batch.seen
        )
        plan.keys = [key if self._batch.count(key) <= _KEY_PER_VALUE * values[key] else "" for key in plan.keys]

    def _need(self) -> tuple[int, int]:
        """Tokens of all specifics not in view, bare; and how many lines hold those without a key."""
        need = homes = 0
        for plan in self._batch.plans:
            open_ones = [spec for spec, shared in enumerate(plan.shared) if shared not in self._batch.seen]
            need += sum(plan.bare[spec] for spec in open_ones)
            homes += len({plan.survey.home[spec] for spec in open_ones if plan.wants_word(spec)})
        return need, homes

    def fill(self, available: int) -> None:
        """Steps 2 and 3, from where step 1 ended."""
        self._reset()
        self._label_open()
        self._entries(available)
        if self._short() and any(plan.labelled for plan in self._batch.plans):
            for plan in self._batch.plans:
                plan.labelled = plan.in_rows = False
            self._reset()
            self._entries(available)
        if all(plan.in_rows for plan in self._batch.plans):
            self._labels(available)
        self._upgrade(available)

    def add(self, available: int, classes: frozenset[str]) -> None:
        """More entries of some classes, on top of what is there."""
        self._entries(available, classes)

    def _short(self) -> bool:
        """Whether an item has less than its least share in view."""
        seen = self._batch.seen
        return any(
            sum(w for w, shared in zip(plan.weight, plan.shared, strict=True) if shared in seen)
            < self._least * sum(plan.weight)
            for plan in self._batch.plans
        )

    def _reset(self) -> None:
        batch = self._batch
        for plan, kept in zip(batch.plans, self._kept, strict=True):
            plan.picked, plan.tables = set(kept.picked), set(kept.tables)
            plan.entries.clear()
            plan.groups.clear()
            plan.labels.clear()
        batch.spent = self._base
        batch.seen = set(self._base_seen)

    # -- step 2 ------------------------------------------------------------------------------------------------------

    def _entries(self, available: int, classes: frozenset[str] | None = None) -> None:
        batch = self._batch
        candidates: list[Candidate] = []
        wanted: list[float] = []
        for n, plan in enumerate(batch.plans):
            need = self._least * sum(plan.weight)
            for spec, shared in enumerate(plan.shared):
                if shared in batch.seen:
                    need -= plan.weight[spec]
                elif classes is None or plan.survey.specs[spec].cls in classes:
                    group = group_of(plan, spec)
                    cost = 0 if group is None or group in plan.groups else batch.group_cost(plan, group)
                    candidates.append(
                        Candidate(n, spec, shared, plan.worth[spec], plan.weight[spec], plan.bare[spec], group, cost)
                    )
            wanted.append(0.0 if classes else need)
        chosen = choose(candidates, available - batch.spent, wanted)
        if self._sparing and len({one.shared for one in candidates}) > len(chosen):
            inside = self._inside(chosen)
            wanted = [
                need - sum(one.weight for one in chosen if one.item == n and one.shared in inside)
                for n, need in enumerate(wanted)
            ]
            rest = [one for one in candidates if one.shared not in inside]
            chosen = choose(rest, available - batch.spent, wanted)
        for one in chosen:
            batch.add_entry(batch.plans[one.item], one.spec)

    def _inside(self, chosen: Sequence[Candidate]) -> set[int]:
        """Of those chosen, what stands whole inside a longer one: read there too, so others go first.

        It counts as left out all the same, since nobody can say that the longer one names it.
        """
        return inside_longer({o.shared: self._batch.plans[o.item].survey.specs[o.spec].text for o in chosen})

    def _label_open(self) -> None:
        """With `labelled`: a word for each line that holds open specifics without a key, before they are chosen."""
        for plan in self._batch.plans:
            if plan.labelled:
                open_ones = {
                    spec
                    for spec, shared in enumerate(plan.shared)
                    if shared not in self._batch.seen and plan.wants_word(spec)
                }
                for home in sorted({plan.survey.home[spec] for spec in open_ones}):
                    plan.labels[home] = label_of(plan.survey, home, open_ones)

    # -- step 3 ------------------------------------------------------------------------------------------------------

    def _labels(self, available: int) -> None:
        """A word of its line for each entry without a key, the most worth first; one that is not needed goes."""
        batch = self._batch
        wanted: list[tuple[float, int, int]] = []
        for number, plan in enumerate(batch.plans):
            value: dict[int, float] = {}
            for spec in plan.entries:
                if plan.wants_word(spec):
                    home = plan.survey.home[spec]
                    value[home] = value.get(home, 0.0) + plan.worth[spec]
            plan.labels = {home: plan.labels[home] for home in value if home in plan.labels}
            wanted += [(-worth, number, home) for home, worth in value.items()]
        wanted.sort()
        for _, number, home in wanted:
            plan = batch.plans[number]
            if plan.labels.get(home):
                continue
            label = label_of(plan.survey, home, plan.entries)
            cost = batch.label_cost(label)
            if batch.spent + cost <= available:
                plan.labels[home] = label
                batch.spent += cost
        for plan in batch.plans:  # a name that stands beside other values needs no place of its own
            beside = set(plan.labels.values())
            for spec in sorted(plan.entries):
                if plan.survey.specs[spec].cls in SPEAKING and plan.survey.specs[spec].text in beside:
                    batch.drop_entry(plan, spec)

    def _upgrade(self, available: int) -> None:
        """Whole lines in place of entries: the most worth for the fewest extra tokens first."""
        batch = self._batch
        heap: list[tuple[float, int, int]] = []
        for number, plan in enumerate(batch.plans):
            for index, unit in enumerate(plan.survey.reduced.units):
                if index not in plan.picked and not plan.entries.isdisjoint(unit.specs):
                    heap.append((-self._benefit(plan, unit)[0], number, index))
        heapq.heapify(heap)
        room = [_MOST_OF_ITEM * plan.tokens for plan in batch.plans]
        while heap and batch.spent < available:
            _, number, index = heapq.heappop(heap)
            plan = batch.plans[number]
            ratio, extra = self._benefit(plan, plan.survey.reduced.units[index])
            if ratio <= 0 or batch.spent + extra > available or extra > room[number]:
                continue
            if heap and ratio < -heap[0][0] - 1e-9:
                heapq.heappush(heap, (-ratio, number, index))
                continue
            room[number] -= extra
            batch.take(plan, index)

    def _benefit(self, plan: Plan, unit: Unit) -> tuple[float, int]:
        entries, bare, worth = plan.entries, plan.bare, plan.worth
        saved = 0
        value = unit.gist
        for spec in unit.specs:
            if spec in entries:
                saved += bare[spec]
                value += worth[spec]
        if not saved:
            return 0.0, 0
        extra = self._batch.cost(plan, unit) - saved
        return value / max(1, extra), extra

    # -- when it came out too large ----------------------------------------------------------------------------------

    def trim(self, tokens: int) -> bool:
        """Take out about `tokens` tokens, least worth first: words, entries, lines. False when nothing is left."""
        batch = self._batch
        before, target = batch.spent, batch.spent - tokens
        for plan in reversed(batch.plans):
            while plan.labels and batch.spent > target:
                batch.spent -= batch.label_cost(plan.labels.popitem()[1])
        entries = sorted(
            (plan.worth[spec] / plan.bare[spec], n, spec) for n, plan in enumerate(batch.plans) for spec in plan.entries
        )
        for _, number, spec in entries:
            if batch.spent <= target:
                break
            batch.drop_entry(batch.plans[number], spec)
        lines = sorted(
            (_kept_worth(plan, index), -n, -index) for n, plan in enumerate(batch.plans) for index in plan.picked
        )
        for _, number, index in lines:
            if batch.spent <= target:
                break
            plan = batch.plans[-number]
            plan.picked.remove(-index)
            batch.spent -= batch.cost(plan, plan.survey.reduced.units[-index])
        return batch.spent < before


def _kept_worth(plan: Plan, index: int) -> float:
    unit = plan.survey.reduced.units[index]
    return (unit.gist + sum(plan.worth[spec] for spec in unit.specs)) / (unit.cost + _SMOOTH)


__all__ = ["Selector"]
