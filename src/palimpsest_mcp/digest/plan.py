"""A batch while it is being selected: per item what is worth showing, what it costs, and what has been taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..models.items import Specific
from .ledger_lines import SPEAKING, label_of
from .lines import Survey, Unit
from .verify import Shared
from .worth import muted

_MANY, _SHORTEST_KEY = 3, 3
"""Values under one key from which it says what they are; letters of one that says something: `x` and `c0` do not."""
NOTE_COST = 8
"""Tokens of a remark of ours before a line, about."""
_KEY_EXTRA, _LABEL_EXTRA, _ROW = 2, 1, 1
"""Tokens beside a key, beside a word, and beside the values of a line: a mark, the break before it."""
_WORD = 3
"""Tokens of such a word with what is beside it, about."""


class _Bare(dict[int, int]):
    """Tokens of each specific with the space before it, counted when they are asked for: a third of them never is."""

    def __init__(self, specs: Sequence[Specific], count: Callable[[str], int]) -> None:
        super().__init__()
        self._specs, self._count = specs, count

    def __missing__(self, spec: int) -> int:
        cost = self[spec] = self._count(" " + self._specs[spec].text)
        return cost


@dataclass(slots=True)
class Plan:
    """One item while it is being selected; afterwards: what to print."""

    survey: Survey
    worth: list[float]
    """Per specific."""
    weight: list[float]
    """Per specific: how much it counts toward the least share that must be in view."""
    shared: list[int]
    """Per specific: its number in the batch; equal (class, text, key) share one."""
    bare: Mapping[int, int]
    """Per specific: tokens of its text in the ledger, the space before it included."""
    keys: list[str]
    """Per specific: the key that stands before it in the ledger, or empty."""
    tokens: int
    named: dict[str, int] = field(default_factory=dict[str, int])
    """Names of columns that are specifics -> their numbers."""
    offered: Sequence[int] | None = None
    """Specifics that are looked at, in source order: some of a source that is vast for its digest; None: all."""
    no_lines: bool = False
    """No lines but those that are forced: everything for the ledger."""
    picked: set[int] = field(default_factory=set[int])
    """Units shown."""
    tables: set[int] = field(default_factory=set[int])
    """Tables whose heading is shown."""
    entries: set[int] = field(default_factory=set[int])
    """Specifics in the ledger."""
    labels: dict[int, str] = field(default_factory=dict[int, str])
    """Home line -> the word of it that stands before its values; empty where none is needed."""
    groups: dict[str | int, int] = field(default_factory=dict[str | int, int])
    """Keys, and with `labelled` home lines, in the ledger: how many values each has there."""
    words: Counter[str] = field(default_factory=Counter[str])
    """Words in the ledger: how many lines have their values beside each."""
    labelled: bool = False
    """Every value without a key is charged with the word beside it."""
    flat: bool = False
    """The ledger is one line of values in source order, no key, no class: where every token counts."""
    within: Mapping[int, Sequence[int]] | None = None
    """Per specific, others that stand in it; filled by `bare_values.py`."""
    in_rows: bool = True
    """Values of one line stand together in a row of the ledger; else all are grouped by class, which is shorter."""

    def wants_word(self, spec: int) -> bool:
        """Whether a value says too little alone: it has no key, and its class does not say what it is."""
        return not self.keys[spec] and self.survey.specs[spec].cls not in SPEAKING


class Batch:
    """Plans of one batch with what is in view, what was spent, and the costs of everything."""

    def __init__(self, plans: Sequence[Plan], seen: set[int], count: Callable[[str], int]) -> None:
        self.plans = plans
        self.seen = seen
        self.count = count
        self.spent = 0
        """Tokens by the sum of single counts."""

    def need(self) -> tuple[int, int]:
        """Tokens of all specifics not in view, bare; and of a word for each line that holds some without a key."""
        bare = homes = 0
        for plan in self.plans:
            open_ones = [spec for spec, shared in enumerate(plan.shared) if shared not in self.seen]
            bare += sum(plan.bare[spec] for spec in open_ones)
            homes += len({plan.survey.home[spec] for spec in open_ones if plan.wants_word(spec)})
        return bare, _WORD * homes

    def drop_keys(self) -> None:
        """No key will stand in the ledger: equal values are one whatever they are called."""
        numbers: dict[tuple[str, str], int] = {}
        seen: set[int] = set()
        for plan in self.plans:
            specs = plan.survey.specs
            shared = [numbers.setdefault((spec.cls, spec.text), len(numbers)) for spec in specs]
            seen.update(new for new, old in zip(shared, plan.shared, strict=True) if old in self.seen)
            plan.shared = shared
            plan.keys = [""] * len(specs)
        self.seen = seen

    def mute(self) -> None:
        """Values that say little alone have a share of their worth (`ranking.muted`), but for those under one key that
        says what many of them are."""
        for plan in self.plans:
            times = Counter(plan.keys)
            plan.worth = [
                worth if tells_much(key, times[key]) else worth * muted(spec)
                for worth, spec, key in zip(plan.worth, plan.survey.specs, plan.keys, strict=True)
            ]

    def chain(self, plan: Plan, unit: Unit) -> list[int]:
        """The lines above it that say where it stands and are not shown yet, the nearest first."""
        units = plan.survey.reduced.units
        found: list[int] = []
        above = unit.under
        while above >= 0 and above not in plan.picked:
            found.append(above)
            above = units[above].under
        return found

    def cost(self, plan: Plan, unit: Unit) -> int:
        """Tokens of a line with its remark, and with what says where it stands as far as that is not shown yet."""
        if unit.under < 0:
            return self.bare_cost(unit) if unit.table < 0 else self._alone(plan, unit)
        alone = self._alone(plan, unit)
        units = plan.survey.reduced.units
        return alone + sum(self._alone(plan, units[above]) for above in self.chain(plan, unit))

    def _alone(self, plan: Plan, unit: Unit) -> int:
        heading = unit.table >= 0 and unit.table not in plan.tables
        return self.bare_cost(unit) + (self.heading_cost(plan, unit) if heading else 0)

    def bare_cost(self, unit: Unit) -> int:
        """Tokens of a line with its remark."""
        if not unit.cost:
            unit.cost = self.count(unit.text + "\n")
        return unit.cost + (NOTE_COST if unit.note else 0)

    def heading_cost(self, plan: Plan, unit: Unit) -> int:
        """Tokens of what stands above the rows of a line's table."""
        table = plan.survey.reduced.tables[unit.table]
        if not table.cost:
            table.cost = sum(self.count(line + "\n") for line in table.lines) + NOTE_COST
        return table.cost

    def take(self, plan: Plan, index: int) -> None:
        """Show a line, and above it what says where it stands: their specifics leave the ledger."""
        unit = plan.survey.reduced.units[index]
        for one in (*self.chain(plan, unit), index):
            self.show(plan, one)

    def show(self, plan: Plan, index: int) -> None:
        """Show a line for its specifics alone: they leave the ledger."""
        unit = plan.survey.reduced.units[index]
        self.spent += self._alone(plan, unit)
        plan.picked.add(index)
        specs = list(unit.specs)
        if unit.table >= 0 and unit.table not in plan.tables:
            plan.tables.add(unit.table)
            specs += plan.survey.reduced.tables[unit.table].specs
        for spec in specs:
            self.seen.add(plan.shared[spec])
            if spec in plan.entries:
                self.drop_entry(plan, spec)

    def add_entry(self, plan: Plan, spec: int) -> None:
        """Put a specific into the ledger."""
        if plan.shared[spec] in self.seen:
            return
        group = group_of(plan, spec)
        if group is not None:
            if group not in plan.groups:
                self.spent += self.group_cost(group)
                if isinstance(group, str):
                    self._show_name(plan, group)
                else:
                    self.add_word(plan, plan.labels.get(group, ""))
            plan.groups[group] = plan.groups.get(group, 0) + 1
        plan.entries.add(spec)
        self.seen.add(plan.shared[spec])
        self.spent += plan.bare[spec]

    def _show_name(self, plan: Plan, key: str) -> None:
        """A key in the ledger shows the name that it is: no entry of its own for that."""
        name = plan.named.get(key)
        if name is not None:
            self.seen.add(plan.shared[name])
            if name in plan.entries:
                self.drop_entry(plan, name)

    def drop_entry(self, plan: Plan, spec: int) -> None:
        """Take a specific out of the ledger; what is in view is the caller's."""
        plan.entries.remove(spec)
        self.spent -= plan.bare[spec]
        group = group_of(plan, spec)
        if group is not None:
            plan.groups[group] -= 1
            if not plan.groups[group]:
                del plan.groups[group]
                self.spent -= self.group_cost(group)
                if not isinstance(group, str):
                    self.drop_word(plan, plan.labels.get(group, ""))

    def group_cost(self, group: str | int) -> int:
        """Tokens of a key, or of what keeps the values of a line apart from those of others."""
        return self.count(group) + _KEY_EXTRA if isinstance(group, str) else _ROW

    def word_cost(self, plan: Plan, word: str) -> int:
        """Tokens of a word beside the values of one more line: none where it stands there already."""
        return self.count(word) + _LABEL_EXTRA if word and word not in plan.words else 0

    def add_word(self, plan: Plan, word: str) -> None:
        """Put the values of one more line beside a word; for those that need none it is empty."""
        self.spent += self.word_cost(plan, word)
        if word:
            plan.words[word] += 1

    def drop_word(self, plan: Plan, word: str) -> None:
        """Of the lines with their values beside a word, one less."""
        if word in plan.words:
            plan.words[word] -= 1
            if not plan.words[word]:
                del plan.words[word]
                self.spent -= self.word_cost(plan, word)


def tells_much(key: str, times: int) -> bool:
    """Whether a key before so many values says what they are, and is worth its place in a list."""
    return len(key) >= _SHORTEST_KEY and times >= _MANY


def group_of(plan: Plan, spec: int) -> str | int | None:
    """What a ledger value shares the cost of: its key, its home line, or nothing."""
    return plan.survey.home[spec] if plan.labelled and plan.wants_word(spec) else plan.keys[spec] or None


def lacks_word(plan: Plan, unit: Unit, specs: Sequence[int]) -> bool:
    """Whether a row shows these specifics without the word of their line that says most: its heading alone has it."""
    if unit.kind == "quote" or unit.says is not None:
        return unit.says is False
    homes: dict[int, list[int]] = {}
    for spec in specs:
        if plan.wants_word(spec):
            homes.setdefault(plan.survey.home[spec], []).append(spec)
    return any(label_of(plan.survey, home, here) not in unit.text for home, here in homes.items())


def batch_of(
    surveys: Sequence[tuple[Survey, int]],
    rated: Sequence[list[float]],
    weights: Sequence[list[float]],
    shared: Shared,
    count: Callable[[str], int],
) -> Batch:
    """Plans of items, in order; what is in view already is `seen`."""
    plans: list[Plan] = []
    for (survey, tokens), worth, weight, numbers in zip(surveys, rated, weights, shared.numbers, strict=True):
        plan = Plan(survey, worth, weight, numbers, _Bare(survey.specs, count), survey.keys, tokens)
        plan.named = {
            spec.text: n
            for n, (spec, home) in enumerate(zip(survey.specs, survey.home, strict=True))
            if home < survey.titles and spec.cls in SPEAKING
        }
        plans.append(plan)
    return Batch(plans, set(shared.holders), count)
