"""What of a batch is shown: greedy weighted coverage under a token budget, in three steps.

1. *Lines* that say what each result was (`telling.py`).
2. *Coverage* of every specific that no line shows: by a line or a row where that costs no more than the ledger would,
   else by an entry of the ledger, the most worth a token first (`candidates.py`, `coverage.py`). An entry stands under
   its key, beside a word of its line, or bare.
3. With what is left, entries get back their surroundings: first a word of their line, then the whole line
   (`surroundings.py`).

Deterministic: ties go to the earlier item, then to the earlier candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .candidates import (
    drop_inside,
    drop_lone_keys,
    entries,
    forms,
    inside_chosen,
    inside_longer,
    label,
    lines,
    open_specs,
    rekey,
    says_little,
)
from .coverage import Candidate, choose
from .ledger_lines import SPEAKING
from .plan import Batch, Plan
from .surroundings import Allowances, add_imports, add_places, add_words, give_back_lines, name_again, take_out, tell
from .worth import BOUND

_LEAST_LINES, _MORE_LINES, _MOST_LINES = 0.08, 0.07, 0.5
"""Of the budget, for lines that say what the result was, over what their specifics would cost in the ledger: the least,
what comes on top the nearer the budget is to holding all specifics, and the most."""
_VALUES_LINES = 0.05
"""Where values come first: the least, and what comes on top."""
_LIST = 0.7
"""Where values come first: below this share of what they cost bare they are one list in source order."""
_WRONG, _LEAST_LOUD = 0.1, 32
"""Of the budget, for lines above such a list that say what went wrong; tokens for those that cry out, at least."""
_LIST_LINES, _LEAST_LIST_LINES = 0.03, 16
"""Of the budget, for lines above such a list; and in tokens, at least, where no other line stands above it, and what a
title keeps when lines yield to values."""
_SAMPLE, _MOST_SAMPLE = 0.2, 40
"""Of the budget, for a line that says what the values of such a list are, where most of them say nothing alone; and in
tokens, at most."""
_AGAIN = 2
"""Times that what a choice left over is spent: a key that is a name needs no entry of its own."""
_ITEM_LINES = 50
"""Tokens of lines that every item gets where its part of the budget is three times that."""
_IN_ROWS = 0.8
"""Below this share of what they cost bare the ledger is grouped by class alone."""
_OUTCOME = 0.5
"""Of an item's share of the budget, at most, for the line that says how it ended."""
_LOUD = 0.15
"""Of an item's share, at most, for the few lines that cry out among many."""
_KEY_PER_VALUE, _KEY_IN_LIST = 2.0, 0.5
"""Tokens that a key may cost for each of its values where not all can stay; in a list."""


class _Kept(NamedTuple):
    """A plan after step 1."""

    picked: set[int]
    tables: set[int]


class _Offers(NamedTuple):
    """What step 2 chooses from."""

    candidates: list[Candidate]
    wanted: list[float]
    """Per item: the weight of its open specifics that must at least be covered."""
    items_of: dict[int, list[tuple[int, float]]]
    """Number in the batch -> (item, weight there) of every open specific."""
    labels: list[dict[int, str]]
    """Per item: the words that stand beside values."""


class Selector:
    """Selects for one batch."""

    def __init__(
        self, batch: Batch, least: float, *, brief: bool = False, sparing: bool = False, values_first: bool = False
    ) -> None:
        """Start with nothing selected.

        Args:
            least: share of an item's weight that must be in view for it to be worth a digest.
            brief: the budget is so small that values come before everything else while not all are in view.
            sparing: the budget may not grow.
            values_first: not all fit with their words: show more of them, rather than fewer beside a word each.
        """
        self._values_first = values_first
        self._sparing = sparing
        self._brief = brief
        self._batch = batch
        self._least = least
        self._kept: list[_Kept] = []
        self._base = 0
        self._base_seen: set[int] = set()
        self._offers: _Offers | None = None
        """What there is to choose from after step 1, whatever the room; None until it was looked for."""
        self._words: dict[int, set[str]] = {}
        """Of specifics, by their numbers in the batch."""
        self._keys: list[list[str]] = []
        if values_first:
            for plan in batch.plans:
                plan.named = {spec.text: n for n, spec in enumerate(plan.survey.specs) if spec.cls in SPEAKING}

    @property
    def spent(self) -> int:
        """Tokens by the sum of single counts."""
        return self._batch.spent

    @property
    def said(self) -> int:
        """Tokens of the lines of step 1."""
        return self._base

    def lines(self, available: int, yielded: int = 0) -> None:
        """Step 1, within the part of `available` tokens that lines may take; `yielded` of them are for values."""
        batch = self._batch
        need, words = batch.need()
        need += yielded
        labelled = not self._values_first or available >= need + words
        credit = min(1.0, available / max(1, need))
        few, more = (_VALUES_LINES, _VALUES_LINES) if self._values_first else (_LEAST_LINES, _MORE_LINES)
        least = (few + more * credit) * available - yielded
        extra = max(least, min(_MOST_LINES * available, available - need - words))
        total = max(1, sum(plan.tokens for plan in batch.plans))
        listed = self._values_first and credit < _LIST
        flat = not labelled and credit < 1.0 and (self._brief or listed)
        if flat and self._brief:
            batch.drop_keys()
        if not labelled and credit < 1.0:
            batch.mute()
        for plan in batch.plans:
            plan.labelled = labelled
            plan.flat = flat
            plan.in_rows = not flat and (labelled or credit >= _IN_ROWS)
            if not plan.in_rows:
                drop_lone_keys(batch, plan, _KEY_IN_LIST if flat else _KEY_PER_VALUE)
            share = plan.tokens / total
            outcome = _OUTCOME * available * share
            loud = _LOUD * available * share
            wrong = 0.0
            if flat and not self._brief:
                loud = max(loud, min(_LEAST_LOUD * share, 2 * loud))
                wrong = max(_WRONG * available, _LEAST_LOUD) * share
            third = available * share / 3
            room = max(extra * share, min(_ITEM_LINES, third) - yielded * share, min(_LEAST_LIST_LINES, third))
            title = sample = 0.0
            if flat:
                room = 0.0 if self._brief else _LIST_LINES * available * share
                title = 0.0 if self._brief else _LEAST_LIST_LINES
                mute = not self._brief and says_little(plan)
                sample = min(_MOST_SAMPLE, _SAMPLE * available) * share if mute else 0.0
            allowances = Allowances(outcome, loud, wrong, title, sample)
            tell(batch, plan, room, credit, allowances)
        self._kept = [_Kept(set(plan.picked), set(plan.tables)) for plan in batch.plans]
        self._keys = [plan.keys for plan in batch.plans]
        self._base = batch.spent
        self._base_seen = set(batch.seen)

    def fill(self, available: int) -> None:
        """Steps 2 and 3, from where step 1 ended."""
        self._reset()
        self._cover(available)
        while poor := [plan for plan in self._poor() if plan.labelled]:
            for plan in poor:
                plan.labelled, plan.in_rows = False, self._values_first
            self._offers = None
            self._reset()
            self._cover(available)
        if self._values_first:
            self._spend_left(available)
        names = add_words(self._batch, available)
        add_places(self._batch, available)
        if self._values_first:
            add_imports(self._batch, available)
        give_back_lines(self._batch, available)
        name_again(self._batch, names)

    def _spend_left(self, available: int) -> None:
        """A key that is a name needs no entry of its own, nor what a longer value holds: others have the room."""
        for _ in range(_AGAIN):
            for plan in self._batch.plans:
                if not plan.labelled:
                    drop_inside(self._batch, plan)
            before = self._batch.spent
            self._choose(self._looked_for(None), available)
            if self._batch.spent == before:
                break

    def add(self, available: int, classes: frozenset[str]) -> None:
        """More entries of some classes, on top of what is there."""
        self._cover(available, classes)

    def trim(self, tokens: int) -> bool:
        """Take out about `tokens` tokens where it came out too large. False when nothing is left."""
        return take_out(self._batch, tokens)

    def _short(self) -> list[Plan]:
        """Items that have less than their least share in view."""
        seen = self._batch.seen
        return [
            plan
            for plan in self._batch.plans
            if sum(w for w, shared in zip(plan.weight, plan.shared, strict=True) if shared in seen)
            < self._least * sum(plan.weight)
        ]

    def _poor(self) -> list[Plan]:
        """Items that have less than their least share in view; where values come first, all if some are left out: the
        words beside others have their room."""
        plans = self._batch.plans
        lacking = self._values_first and any(open_specs(self._batch, plan) for plan in plans)
        return list(plans) if lacking else self._short()

    def _reset(self) -> None:
        batch = self._batch
        for plan, kept, keys in zip(batch.plans, self._kept, self._keys, strict=True):
            plan.keys = keys
            plan.picked, plan.tables = set(kept.picked), set(kept.tables)
            plan.entries.clear()
            plan.groups.clear()
            plan.labels.clear()
            plan.words.clear()
        batch.spent = self._base
        batch.seen = set(self._base_seen)

    # -- step 2 ------------------------------------------------------------------------------------------------------

    def _cover(self, available: int, classes: frozenset[str] | None = None) -> None:
        self._choose(self._offered() if classes is None else self._looked_for(classes), available)

    def _choose(self, offers: _Offers, available: int) -> None:
        batch = self._batch
        candidates, wanted, items_of, _ = offers
        chosen = choose(candidates, available - batch.spent, wanted, items_of)
        if self._sparing and sum(len(one.specs) for one in candidates) > sum(len(one.specs) for one in chosen):
            inside = self._inside(chosen)
            covered = [0.0] * len(wanted)
            for one in chosen:
                if inside.issuperset(one.shared):
                    covered[one.item] += one.weight
            wanted = [need - weight for need, weight in zip(wanted, covered, strict=True)]
            rest = [one for one in candidates if one.unit >= 0 or not inside.issuperset(one.shared)]
            chosen = choose(rest, available - batch.spent, wanted, items_of)
        for one in chosen:
            if one.unit >= 0:
                batch.show(batch.plans[one.item], one.unit)
        for n, plan in enumerate(batch.plans):
            if self._values_first and not plan.labelled:
                rekey(batch, plan, [one.specs[0] for one in chosen if one.item == n and one.unit < 0])
        for one in chosen:
            if one.unit < 0:
                batch.add_entry(batch.plans[one.item], one.specs[0])

    def _offered(self) -> _Offers:
        """What there is to choose from where step 1 ended: the same for every number of tokens."""
        if self._offers is None:
            self._offers = self._looked_for(None)
        for plan, labels in zip(self._batch.plans, self._offers.labels, strict=True):
            plan.labels = dict(labels)
        return self._offers

    def _looked_for(self, classes: frozenset[str] | None) -> _Offers:
        batch = self._batch
        candidates: list[Candidate] = []
        wanted: list[float] = []
        items_of: dict[int, list[tuple[int, float]]] = {}
        for n, plan in enumerate(batch.plans):
            specs = open_specs(batch, plan, classes)
            if plan.labelled and not classes:
                label(plan, specs)
            if classes:
                candidates += entries(batch, n, specs)
            elif self._values_first and not plan.labelled:
                candidates += forms(batch, n, specs, only_entries=plan.no_lines or (plan.flat and self._brief))
            else:
                whole = [] if plan.no_lines else lines(batch, n, specs)
                covered = {spec for one in whole for spec in one.specs}
                candidates += whole
                candidates += entries(batch, n, [spec for spec in specs if spec not in covered])
            for spec in specs:
                items_of.setdefault(plan.shared[spec], []).append((n, plan.weight[spec]))
            seen = sum(w for w, shared in zip(plan.weight, plan.shared, strict=True) if shared in batch.seen)
            wanted.append(0.0 if classes else self._least * sum(plan.weight) - seen)
        return _Offers(candidates, wanted, items_of, [dict(plan.labels) for plan in batch.plans])

    def _inside(self, chosen: Sequence[Candidate]) -> set[int]:
        """Of the entries chosen, what stands whole inside a longer one: read there too, so others go first, unless it
        must be shown.

        It counts as left out all the same, since nobody can say that the longer one names it.
        """
        bound = {one.shared[0] for one in chosen if one.unit < 0 and one.worth >= BOUND}
        if any(one.each for one in chosen):
            return inside_chosen(self._batch, chosen) - bound
        texts = {o.shared[0]: self._batch.plans[o.item].survey.specs[o.specs[0]].text for o in chosen if o.unit < 0}
        return inside_longer(texts, self._words) - bound
