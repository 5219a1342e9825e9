"""Candidates where values come before their words: every form of each value, and what is read inside of it.

What stands inside a longer value (a path in an address, a name in a path) is read there too: the longer one is worth
both, and an entry for the shorter one comes after all others. It counts as left out all the same, since nobody can say
that the longer one names it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..models.digests import DigestLine
from .coverage import Candidate
from .entries import SPEAKING
from .inside import held_by, inside_of
from .plans import Batch, Plan, tells_much
from .ranking import BOUND
from .reduce_code import IMPORT
from .units import Unit
from .verify import PartCheck

_SAYS = 0.3
"""Of what a line tells: what it is worth beside its values."""
_IMPORT_WORDS = 6
"""Tokens of the words around the values of an import, at most: then it stands whole, never its values alone."""
_IMPORT = 1.6
"""What an import is worth that names a module and no specific, as `#include <vector>`."""
_WORD = 0.3
"""What each of those is worth."""
_ID_AROUND = 0.5
"""Of its worth: an id made of others, as a package with its version, adds only what it names."""
_TELLING = SPEAKING | {"command", "email", "error", "path", "url"}
"""Classes whose members say something about a result where nothing stands beside them."""
_TELLING_SHARE = 0.4
_MEASURES = frozenset({"date", "integer", "money", "number", "quantity", "score"})
"""Classes whose members are no more for holding another: a date with its zone is one moment."""


def forms(batch: Batch, number: int, specs: Sequence[int], *, only_entries: bool) -> Iterator[Candidate]:
    """Every form in which open specifics of an item could be shown: lines that hold some, and entries."""
    plan = batch.plans[number]
    yielding = {spec: plan.survey.specs[spec].text for spec in specs if plan.worth[spec] < BOUND}
    held = inside_of(yielding, _shown(plan))
    wanted = {spec for spec in specs if spec not in held}
    within = _within(plan)
    whole: set[int] = set()
    for index, unit in enumerate(() if only_entries else plan.survey.reduced.units):
        here = tuple(spec for spec in unit.specs if spec in wanted)
        if index in plan.picked or (unit.table >= 0 and unit.table not in plan.tables):
            continue
        if not here:
            if is_bare_import(unit):
                yield Candidate(number, (), (), _IMPORT, 0.0, batch.bare_cost(unit), unit=index)
            continue
        around = batch.bare_cost(unit) - sum(plan.bare[spec] for spec in here)
        says = _SAYS * max(0.0, unit.gist + unit.words)
        if _is_import(unit) and around <= _IMPORT_WORDS and whole.isdisjoint(here):
            whole.update(here)
            says += _WORD * around
        inside = {
            one: None
            for spec in here
            for one in within.get(spec, ())
            if one in wanted and one in yielding and one not in here
        }
        each = (*(plan.worth[spec] for spec in (*here, *inside)), says)
        yield _candidate(plan, number, here, tuple(inside), each, batch.bare_cost(unit))._replace(unit=index)
    for spec in specs:
        if spec in wanted and spec not in whole:
            inside = {one: None for one in within.get(spec, ()) if one in wanted and one in yielding}
            share = _ID_AROUND if inside and plan.survey.specs[spec].cls == "id" else 1.0
            each = (share * plan.worth[spec], *(plan.worth[one] for one in inside), 0.0)
            found = _candidate(plan, number, (spec,), tuple(inside), each, plan.bare[spec])
            key = plan.keys[spec]
            cost = batch.group_cost(key) if key and key not in plan.groups else 0
            yield found._replace(group=key or None, group_cost=cost)


def _candidate(
    plan: Plan, number: int, specs: tuple[int, ...], inside: tuple[int, ...], each: tuple[float, ...], cost: int
) -> Candidate:
    shared = tuple(plan.shared[spec] for spec in specs)
    within = tuple(plan.shared[spec] for spec in inside)
    weight = sum(plan.weight[spec] for spec in specs)
    return Candidate(number, specs, shared, sum(each), weight, cost, each=each, within=within)


def _is_import(unit: Unit) -> bool:
    return unit.kind == "quote" and unit.gist == IMPORT


def is_bare_import(unit: Unit) -> bool:
    """Whether a line names a module or a directive in words alone: `#include <vector>`, `import json`."""
    return _is_import(unit) and not unit.specs


def _within(plan: Plan) -> Mapping[int, Sequence[int]]:
    """Per specific what else stands in it."""
    if plan.within is None:
        specs = plan.survey.specs
        held = held_by({number: spec.text for number, spec in enumerate(specs)})
        plan.within = {spec: inside for spec, inside in held.items() if specs[spec].cls not in _MEASURES}
    return plan.within


def _shown(plan: Plan) -> dict[int, str]:
    """Texts of an item that are shown already: of its entries, and of its lines."""
    texts = {spec: plan.survey.specs[spec].text for spec in plan.entries}
    return texts | {-1 - n: plan.survey.reduced.units[index].text for n, index in enumerate(sorted(plan.picked))}


def inside_chosen(batch: Batch, chosen: Sequence[Candidate]) -> set[int]:
    """Numbers of what was chosen as an entry and stands whole inside a longer value, or a line, that was chosen too."""
    entries = {o.shared[0]: batch.plans[o.item].survey.specs[o.specs[0]].text for o in chosen if o.unit < 0}
    lines = [batch.plans[o.item].survey.reduced.units[o.unit].text for o in chosen if o.unit >= 0]
    return inside_of(entries, entries | {-1 - n: text for n, text in enumerate(lines)})


def drop_inside(batch: Batch, plan: Plan) -> None:
    """Take entries out that stand inside longer ones taken after them, or in a line."""
    entries = {n: plan.survey.specs[n].text for n in sorted(plan.entries) if plan.worth[n] < BOUND}
    for spec in sorted(inside_of(entries, _shown(plan))):
        batch.drop_entry(plan, spec)


def left_out(plan: Plan, check: PartCheck, body: Sequence[DigestLine]) -> int:
    """Tokens of what stands in nothing that is shown of an item."""
    texts = {n: spec.text for n, spec in enumerate(plan.survey.specs) if n not in check.shown}
    still = {n: text for n, text in texts.items() if n not in check.elsewhere}
    inside = inside_of(still, {-1 - n: line.text for n, line in enumerate(body)})
    return sum(plan.bare[n] for n in still.keys() - inside)


def drop_lone_keys(batch: Batch, plan: Plan, tokens: float) -> None:
    """Where not all can stay, a key stands only before many values, and costs at most so many `tokens` for each."""
    open_keys = zip(plan.keys, plan.shared, strict=True)
    values = Counter(key for key, shared in open_keys if key and shared not in batch.seen)
    kept = {key for key, times in values.items() if tells_much(key, times) and batch.count(key) <= tokens * times}
    plan.keys = [key if key in kept else "" for key in plan.keys]


def says_little(plan: Plan) -> bool:
    """Whether most of an item's values say nothing about it alone, as numbers, dates and ids."""
    telling = sum(spec.cls in _TELLING for spec in plan.survey.specs)
    return telling < _TELLING_SHARE * len(plan.survey.specs)


def rekey(batch: Batch, plan: Plan, chosen: Sequence[int]) -> None:
    """Of the keys of what was chosen those stay that cost nothing, being names that are shown anyway, or that stand
    before many values. Entries taken before get the name that was chosen now."""
    specs, own = plan.survey.specs, plan.survey.keys
    keys = list(plan.keys)
    every = (*chosen, *plan.entries)
    times = Counter(keys[spec] for spec in every)
    names = set[str]() if plan.flat else {specs[spec].text for spec in every if specs[spec].cls in SPEAKING}
    named = [spec for spec in sorted(plan.entries) if own[spec] in names and not keys[spec]]
    for spec in named:
        batch.drop_entry(plan, spec)
        batch.seen.discard(plan.shared[spec])
    for spec in (*named, *chosen):
        if own[spec] in names:
            keys[spec] = own[spec]
        elif not tells_much(keys[spec], times[keys[spec]]):
            keys[spec] = ""
    plan.keys = keys
    for spec in named:
        batch.add_entry(plan, spec)


__all__ = [
    "drop_inside",
    "drop_lone_keys",
    "forms",
    "inside_chosen",
    "is_bare_import",
    "left_out",
    "rekey",
    "says_little",
]
