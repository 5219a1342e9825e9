"""The forms in which what is still open of an item could be shown, each with its price."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ..models.records import DigestLine
from .coverage import Candidate
from .ledger_lines import SPEAKING, label_of
from .lines import Unit
from .plan import Batch, Plan, group_of, lacks_word, tells_much
from .reducers.code import IMPORT
from .verify import PartCheck
from .worth import BOUND

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


# Values that stand whole inside a longer one: `2.7.0` in `urllib3-2.7.0.tar.gz`.


_ANY_WORD = re.compile(r"\w+")
_NEAR = 40
"""Longer ones with the same rarest word that are looked at; so the time stays linear, whatever the values are."""


def inside_longer(texts: Mapping[int, str], words: dict[int, set[str]]) -> set[int]:
    """Which of these texts stand in a longer one of them, between characters of no word.

    Args:
        words: of each number, as far as it was asked for before; filled here.
    """
    for number in texts.keys() - words.keys():
        words[number] = _words_of(texts[number])
    return {number for number, _ in _pairs(texts, texts, words, words)}


def held_by(texts: Mapping[int, str]) -> dict[int, list[int]]:
    """Per text that others stand in, those others, between characters of no word."""
    words = {number: _words_of(text) for number, text in texts.items()}
    found: dict[int, list[int]] = {}
    for number, other in _pairs(texts, texts, words, words):
        found.setdefault(other, []).append(number)
    return found


def inside_of(texts: Mapping[int, str], holders: Mapping[int, str]) -> set[int]:
    """Which of these texts stand in a longer one of `holders`, between characters of no word."""
    words = {number: _words_of(text) for number, text in texts.items()}
    theirs = {number: _words_of(text) for number, text in holders.items()}
    return {number for number, _ in _pairs(texts, holders, words, theirs)}


def _words_of(text: str) -> set[str]:
    return set(_ANY_WORD.findall(text))


def _pairs(
    texts: Mapping[int, str],
    holders: Mapping[int, str],
    words: Mapping[int, set[str]],
    theirs: Mapping[int, set[str]],
) -> Iterator[tuple[int, int]]:
    by_word: dict[str, list[int]] = {}
    for number in holders:
        for word in theirs[number]:
            by_word.setdefault(word, []).append(number)
    for number, text in texts.items():
        if words[number]:
            # Of equally rare words always the same one: a set has another order in every process.
            rarest = min(words[number], key=lambda word: (len(by_word.get(word, ())), word))
            for other in by_word.get(rarest, ())[:_NEAR]:
                if text in holders[other] and len(holders[other]) > len(text) and _stands(holders[other], text):
                    yield number, other


def _stands(longer: str, text: str) -> bool:
    at = longer.find(text)
    while at >= 0:
        after = longer[at + len(text) : at + len(text) + 1]
        if not (at and _goes_on(longer[at - 1], text[0])) and not (after and _goes_on(after, text[-1])):
            return True
        at = longer.find(text, at + 1)
    return False


def _goes_on(outside: str, edge: str) -> bool:
    return (outside.isalnum() or outside == "_") and (edge.isalnum() or edge == "_")


# Candidates where values come before their words: every form of each value, and what is read inside of it.
#
# What stands inside a longer value (a path in an address, a name in a path) is read there too: the longer one is
# worth both, and an entry for the shorter one comes after all others. It counts as left out all the same, since
# nobody can say that the longer one names it.


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
