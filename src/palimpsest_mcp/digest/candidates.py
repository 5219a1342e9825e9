"""The forms in which what is still open of an item could be shown, each with its price."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from .coverage import Candidate
from .plans import Batch, Plan, group_of, lacks_word
from .words import label_of

_LABEL = 3
"""Tokens of a word beside values with its break, about."""
_CHARS = 6
"""Characters a token that no line exceeds by much: longer ones cannot be cheap, and are not counted."""
_WORTH_SAYING = 0.3
"""Of the worth of the best specific in a line: what is worth less is no reason to show the line."""


def open_specs(batch: Batch, plan: Plan, classes: frozenset[str] | None = None) -> list[int]:
    """Specifics of an item that nothing in view shows, in source order; of some classes only, where these are given."""
    specs = plan.survey.specs
    shared = plan.shared
    return [
        spec
        for spec in (range(len(shared)) if plan.offered is None else plan.offered)
        if shared[spec] not in batch.seen and (classes is None or specs[spec].cls in classes)
    ]


def entries(batch: Batch, number: int, specs: Sequence[int]) -> Iterator[Candidate]:
    """Each specific as an entry of the ledger."""
    plan = batch.plans[number]
    for spec in specs:
        group = group_of(plan, spec)
        cost = 0 if group is None or group in plan.groups else batch.group_cost(group)
        word = plan.labels.get(group, "") if isinstance(group, int) else ""
        yield Candidate(
            number,
            (spec,),
            (plan.shared[spec],),
            plan.worth[spec],
            plan.weight[spec],
            plan.bare[spec],
            group,
            cost,
            word=word,
            word_cost=batch.word_cost(plan, word),
        )


def label(plan: Plan, specs: Sequence[int]) -> None:
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


def lines(batch: Batch, number: int, specs: Sequence[int]) -> list[Candidate]:
    """Lines and rows of an item that cost about what their open specifics would take in the ledger, or less; of a
    sampled source each of them, whatever it costs.

    A specific stands in one of them only. A table is among them where its rows save more than its heading costs.
    """
    plan = batch.plans[number]
    wanted = set(specs)
    found: list[Candidate] = []
    saved: dict[int, int] = defaultdict(int)
    for index, unit in enumerate(plan.survey.reduced.units):
        here = tuple(spec for spec in unit.specs if spec in wanted)
        if not here or index in plan.picked:
            continue
        price = _price(plan, here)
        if plan.offered is None:
            if len(unit.text) > _CHARS * price:
                continue
            cost = batch.bare_cost(unit)
            if cost > price or (plan.labelled and lacks_word(plan, unit, here)):
                continue
        else:  # whole records of a sample
            cost = batch.bare_cost(unit)
        wanted.difference_update(here)
        in_table = unit.table >= 0 and unit.table not in plan.tables
        if in_table:
            saved[unit.table] += price - cost
        found.append(
            Candidate(
                number,
                here,
                tuple(plan.shared[spec] for spec in here),
                sum(plan.worth[spec] for spec in here),
                sum(plan.weight[spec] for spec in here),
                cost,
                (unit.table,) if in_table else None,
                batch.heading_cost(plan, unit) if in_table else 0,
                index,
            )
        )
    return [one for one in found if one.group is None or _pays(saved, one)]


def _pays(saved: Mapping[int, int], one: Candidate) -> bool:
    return isinstance(one.group, tuple) and saved[one.group[0]] >= one.group_cost


def _price(plan: Plan, specs: Sequence[int]) -> int:
    """Tokens for which the ledger would show them."""
    worth, bare_cost = plan.worth, plan.bare
    best = max([worth[spec] for spec in specs])
    bare = sum([bare_cost[spec] for spec in specs if worth[spec] >= _WORTH_SAYING * best])
    return bare + _LABEL if plan.labelled else bare


__all__ = ["entries", "label", "lines", "open_specs"]
