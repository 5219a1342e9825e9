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

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .candidates import entries, lines, open_specs
from .coverage import Candidate, choose
from .inside import inside_longer
from .plans import Batch, Plan
from .ranking import CARRIED
from .surroundings import add_places, add_words, give_back_lines, take_out
from .telling import tell
from .words import label_of

_LEAST_LINES, _MORE_LINES, _MOST_LINES = 0.08, 0.07, 0.5
"""Of the budget, for lines that say what the result was, over what their specifics would cost in the ledger: the least,
what comes on top the nearer the budget is to holding all specifics, and the most."""
_VALUES_LINES = 0.05
"""Where values come first: the least, and what comes on top."""
_ITEM_LINES = 50
"""Tokens of lines that every item gets where its part of the budget is three times that."""
_BOUND = CARRIED / 10
"""From here on a value must be shown."""
_IN_ROWS = 0.7
"""Below this share of what they cost bare the ledger is grouped by class alone."""
_OUTCOME = 0.5
"""Of an item's share of the budget, at most, for the line that says how it ended."""
_LOUD = 0.15
"""Of an item's share, at most, for the few lines that cry out among many."""
_MUTE = frozenset({"integer", "quantity", "score", "money"})
_MUTE_WORTH = 0.5
"""What is left of the worth of such a value where nothing can stand beside it: it says nothing alone."""
_KEY_PER_VALUE = 2
"""Tokens of a key that each of its values may cost then."""


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

    @property
    def spent(self) -> int:
        """Tokens by the sum of single counts."""
        return self._batch.spent

    def lines(self, available: int) -> None:
        """Step 1, within the part of `available` tokens that lines may take."""
        batch = self._batch
        need, words = batch.need()
        labelled = not self._values_first or available >= need + words
        credit = min(1.0, available / max(1, need))
        few, more = (_VALUES_LINES, _VALUES_LINES) if self._values_first else (_LEAST_LINES, _MORE_LINES)
        least = (few + more * credit) * available
        extra = max(least, min(_MOST_LINES * available, available - need - words))
        total = max(1, sum(plan.tokens for plan in batch.plans))
        flat = self._brief and credit < 1.0 and not labelled
        if flat:
            batch.drop_keys()
        if not labelled and credit < 1.0:
            batch.mute(_MUTE | {"number"} if flat else _MUTE, _MUTE_WORTH)
        for plan in batch.plans:
            plan.labelled = labelled
            plan.flat = flat
            plan.in_rows = not flat and (labelled or credit >= _IN_ROWS)
            share = plan.tokens / total
            outcome = _OUTCOME * available * share
            loud = _LOUD * available * share
            if flat:
                tell(batch, plan, 0, credit, for_outcome=outcome, for_loud=loud)
                continue
            if not plan.in_rows:
                self._drop_dear_keys(plan)
            room = max(extra * share, min(_ITEM_LINES, available * share / 3))
            tell(batch, plan, room, credit, for_outcome=outcome, for_loud=loud)
        self._kept = [_Kept(set(plan.picked), set(plan.tables)) for plan in batch.plans]
        self._base = batch.spent
        self._base_seen = set(batch.seen)

    def _drop_dear_keys(self, plan: Plan) -> None:
        """Where not all can stay, a long key before few values costs more than it tells."""
        values = Counter(
            key for key, shared in zip(plan.keys, plan.shared, strict=True) if shared not in self._batch.seen
        )
        plan.keys = [key if self._batch.count(key) <= _KEY_PER_VALUE * values[key] else "" for key in plan.keys]

    def fill(self, available: int) -> None:
        """Steps 2 and 3, from where step 1 ended."""
        self._reset()
        self._cover(available)
        while poor := [plan for plan in self._short() if plan.labelled]:
            for plan in poor:
                plan.labelled = plan.in_rows = False
            self._offers = None
            self._reset()
            self._cover(available)
        add_words(self._batch, available)
        add_places(self._batch, available)
        give_back_lines(self._batch, available)

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

    def _reset(self) -> None:
        batch = self._batch
        for plan, kept in zip(batch.plans, self._kept, strict=True):
            plan.picked, plan.tables = set(kept.picked), set(kept.tables)
            plan.entries.clear()
            plan.groups.clear()
            plan.labels.clear()
            plan.words.clear()
        batch.spent = self._base
        batch.seen = set(self._base_seen)

    # -- step 2 ------------------------------------------------------------------------------------------------------

    def _cover(self, available: int, classes: frozenset[str] | None = None) -> None:
        batch = self._batch
        candidates, wanted, items_of, _ = self._offered() if classes is None else self._looked_for(classes)
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
                self._label(plan, specs)
            whole = [] if plan.no_lines or classes else lines(batch, n, specs)
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
        texts = {o.shared[0]: self._batch.plans[o.item].survey.specs[o.specs[0]].text for o in chosen if o.unit < 0}
        bound = {one.shared[0] for one in chosen if one.unit < 0 and one.worth >= _BOUND}
        return inside_longer(texts, self._words) - bound

    def _label(self, plan: Plan, specs: Sequence[int]) -> None:
        """A word for each line that holds open specifics without a key, before they are chosen: what the best of them
        needs alone, since nobody knows yet which others will stand beside it."""
        best: dict[int, int] = {}

        def rate(spec: int) -> float:
            return plan.worth[spec] / plan.bare[spec]

        for spec in specs:
            home = plan.survey.home[spec]
            if plan.wants_word(spec) and (home not in best or rate(spec) > rate(best[home])):
                best[home] = spec
        for home, spec in best.items():
            plan.labels[home] = label_of(plan.survey, home, {spec})


__all__ = ["Selector"]
