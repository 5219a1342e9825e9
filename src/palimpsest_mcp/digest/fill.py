"""What of a batch is shown: the most that is likely to be needed, a token of the budget at a time.

Greedy by gain a token. The gain of a unit is that of its records (`rank.py`) with what of their specifics nothing shows
yet, and falls with every one of its like that is shown; its cost is that of its line, with a share of what has to stand
above it. Deterministic: ties go to the earlier item, then to the earlier place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ..models.records import LineKind
from .blocks import Block, Unit, encoded, escaped
from .rank import COMMON, Need, tokens_of
from .records import Record, Table
from .source import Source

_SHARED = 8
"""Rows that a block, or a heading, is expected to have below it: each is charged its share of what stands above."""
_HEAD = 8
"""Tokens of the count before the columns of a block, about."""
_RUN = 3
"""Numbers that a run stands for where its rows are numbers, about."""
FEW = 10
"""Lines that are alike below which they may stand as they are, where few of them are shown."""
_NAMES = 4
"""Tokens of `[names]` with its line break."""
OUTCOMES = 2
"""Records of how a result went that are shown at every budget."""
_NO_TEMPLATES = frozenset({"code", "web_results"})
"""Forms in which lines that are alike are an accident, but for definitions."""
_DEEP = 6
"""Headings above a line, at most."""
_NESTED = frozenset({"definition", "heading"})
"""Kinds whose place is told by what stands around them: no heading is printed again for one more of them."""
_SAYS = re.compile(r"\w\w|[^\W\d_a-zA-Z]")
"""A line without a word of two letters, or one of another script, says nothing."""
_WORTH = 0.0005
"""Gain a token from which a line is worth its place where there is room."""


@dataclass(slots=True)
class Item:
    """One result while its digest is filled."""

    records: Sequence[Record]
    free: Sequence[int]
    """Records that may be shown: all but those that an earlier result of the batch has, too."""
    need: Need
    values: dict[int, float]
    """Specific (its number in the batch) -> what showing it is worth."""
    specs: Sequence[Sequence[Sequence[int]]]
    """Per record and cell, the specifics in it, by their numbers in the batch; a line is one cell."""
    names: dict[str, int] = field(default_factory=dict[str, int])
    """What may stand alone, best first, by its number in the batch, among those of the specifics."""
    outcome: int = 120
    """Characters that are left of a line that says how it went."""
    outcomes: frozenset[int] = frozenset()
    """Records that say how it went, and are shown at every budget (D17)."""
    twin: int = -1
    """The earlier result of the batch that this one nearly equals; -1: none."""
    parents: frozenset[int] = frozenset()
    """Records that others stand under."""
    tables: Sequence[Table] = ()
    units: list[Unit] = field(default_factory=list[Unit])
    blocks: list[Block] = field(default_factory=list[Block])
    forced: tuple[int, ...] = ()
    """Units that are shown whatever the budget."""
    rates: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    """Per unit its gain a token while nothing is shown, below zero, and its number."""
    banned: set[int] = field(default_factory=set[int])
    """Units that may not be shown: the checks refused them."""
    unfit: set[str] = field(default_factory=set[str])
    """Names that may not."""
    taken: set[int] = field(default_factory=set[int])
    """Units that are shown."""
    listed: list[str] = field(default_factory=list[str])
    """Names that are listed."""
    heads: set[int] = field(default_factory=set[int])
    """Records that are shown as a heading or by a unit."""
    open: set[int] = field(default_factory=set[int])
    """Blocks with a row that is shown."""
    alike: Counter[int] = field(default_factory=Counter[int])
    """Block -> its rows that are shown."""

    def encode(self, source: Source, narrow: dict[int, tuple[int, ...]] | None = None) -> None:
        """Make units of the records; of the tables in `narrow` with these columns only."""
        self.tables = source.reading.tables
        self.parents = frozenset(record.under for record in self.records)
        alike = [
            n
            for n in self.free
            if n not in self.outcomes and (source.forms[n] not in _NO_TEMPLATES or self.records[n].kind == "definition")
        ]
        self.units, self.blocks = encoded(source.reading, self.free, alike, narrow, outcome=self.outcome)
        self.forced = tuple(n for n, unit in enumerate(self.units) if not self.outcomes.isdisjoint(unit.records))
        said = set[str]()
        for number, unit in enumerate(self.units):
            if unit.block < 0 and unit.text in said and number not in self.forced:
                continue  # the same line again says nothing
            said.add(unit.text)
            size = len(unit.text) // len(unit.records)
            told = [self.need.told(self.records[n], size) for n in unit.records]
            says = any(_SAYS.search(self.records[n].text) for n in unit.records)
            unit.told, unit.asked = (sum(one) for one in zip(*told, strict=True)) if says else (0.0, 0.0)
            unit.specs = self._specs_of(unit) if says else ()
        self._add_names()
        self.rates = []
        self.clear()

    def name(
        self, names: Sequence[tuple[str, float]], numbers: dict[str, int], specs: Mapping[tuple[str, str], int]
    ) -> None:
        """Take names that may stand alone: a line that holds one shows it, too.

        Args:
            names: best first, each with its gain.
            numbers: of the names of the batch so far; those that are new get one.
            specs: (class, text) -> its number: one that is a name is worth what the name is.
        """
        for name, gain in names:
            number = self.names[name] = numbers.setdefault(name, -1 - len(numbers))
            self.values[number] = gain
        for (_, text), number in specs.items():
            if text in self.names:
                same = self.names[text]
                self.values[same] = max(self.values[same], self.values[number])
                self.values[number] = 0.0
        self._add_names()
        self.rates = []

    def _add_names(self) -> None:
        for unit in self.units if self.names else ():
            if not unit.cut and self.records[unit.records[0]].table < 0:
                held = (self.names.get(word) for n in unit.records for word in tokens_of(self.records[n].text))
                unit.specs = (*unit.specs, *dict.fromkeys(number for number in held if number is not None))

    def _specs_of(self, unit: Unit) -> tuple[int, ...]:
        """The specifics that a unit shows, each once."""
        if unit.cut:
            return ()
        shown = self.blocks[unit.block].shown if unit.block >= 0 and self.blocks[unit.block].table >= 0 else None
        cells = (
            cell for n in unit.records for column, cell in enumerate(self.specs[n]) if shown is None or column in shown
        )
        return tuple(dict.fromkeys(spec for cell in cells for spec in cell))

    def clear(self) -> None:
        """Nothing is shown."""
        self.taken, self.listed, self.heads, self.open, self.alike = set(), [], set(), set(), Counter()

    def text_of(self, unit: Unit) -> str:
        """What a unit shows, expanded."""
        if unit.cut or self.records[unit.records[0]].table >= 0:
            return unit.text
        return "\n".join(self.records[n].text for n in unit.records)

    def shown_text(self) -> str:
        """What all that is taken shows, expanded."""
        return "\n".join(self.text_of(self.units[number]) for number in sorted(self.taken))

    def chain(self, record: int) -> set[int]:
        """The headings that a record stands under."""
        found = set[int]()
        while record >= 0 and record not in found:
            record = self.records[record].under
            found.add(record)
        return found

    def above(self, unit: Unit) -> list[int]:
        """Headings of a unit that nothing shows yet, the nearest first."""
        found: list[int] = []
        at = self.records[unit.records[0]].under
        while at >= 0 and at not in self.heads and len(found) < _DEEP:
            found.append(at)
            at = self.records[at].under
        return found


class Filling:
    """One batch being filled."""

    def __init__(self, items: Sequence[Item], seen: frozenset[int], count: Callable[[str], int]) -> None:
        self._items = items
        self._in_view = seen
        self._count = count
        self.seen: set[int] = set(seen)
        self.spent = 0

    def fill(self, room: int) -> None:
        """Choose anew within about `room` tokens, what is forced first."""
        self.seen, self.spent = set(self._in_view), 0
        for item in self._items:
            item.clear()
            for number in item.forced:
                if number not in item.banned:
                    self._take(item, number)
        self.add(room)

    def add(self, room: int, wanted: frozenset[int] | None = None) -> None:
        """Choose more, up to `room` tokens in all.

        Args:
            wanted: only lines with one of these specifics; None: all, and names.
        """
        for item in self._items:
            if not item.rates:
                item.rates = [(-self._rate(item, number), number) for number in range(len(item.units))]
        heap = [
            (rate, n, number)
            for n, item in enumerate(self._items)
            for rate, number in item.rates
            if -rate > _WORTH
            and number not in item.taken
            and number not in item.banned
            and (wanted is None or not wanted.isdisjoint(item.units[number].specs))
        ]
        if wanted is None:
            heap += [
                (-item.values[number] / self._name_cost(item, name), n, len(item.units) + place)
                for n, item in enumerate(self._items)
                for place, (name, number) in enumerate(item.names.items())
                if number not in self.seen and name not in item.unfit
            ]
        names = [list(item.names) for item in self._items]
        heapify(heap)
        while heap:
            was, n, number = heappop(heap)
            item = self._items[n]
            if number >= len(item.units):
                name = names[n][number - len(item.units)]
                cost = self._name_cost(item, name)
                if self.spent + cost <= room and item.names[name] not in self.seen:
                    self.seen.add(item.names[name])
                    item.listed.append(name)
                    self.spent += cost
                continue
            if number in item.taken:
                continue
            now = -self._rate(item, number)
            if now > was + 1e-9:
                if -now > _WORTH:
                    heappush(heap, (now, n, number))
            elif self.spent + self._cost(item, number) <= room:
                self._take(item, number)

    def trim(self, tokens: int) -> bool:
        """Take back what tells least a token, about so many tokens; False where nothing is left but what is forced."""
        rates = sorted(
            (self._worth(item, item.units[number]), k, number)
            for k, item in enumerate(self._items)
            for number in item.taken
            if number not in item.forced
        )
        freed = 0
        for item in self._items:
            while item.listed and freed < tokens:
                freed += self._name_cost(item, item.listed.pop())
        for _, k, number in rates:
            if freed >= tokens:
                break
            self._items[k].taken.discard(number)
            freed += self._own(self._items[k], self._items[k].units[number])
        return freed > 0

    # -- what a unit gives, and what it costs ------------------------------------------------------------------------

    def _worth(self, item: Item, unit: Unit) -> float:
        """Gain a token where nothing else is shown."""
        return (unit.told + unit.asked + sum(item.values[spec] for spec in unit.specs)) / self._own(item, unit)

    def _rate(self, item: Item, number: int) -> float:
        """Gain a token, with a share of what stands above."""
        unit = item.units[number]
        cost = self._own(item, unit)
        if unit.block >= 0 and unit.block not in item.open:
            block = item.blocks[unit.block]
            cost += self._opening(block) / min(_SHARED, block.total)
        for n in item.above(unit):
            cost += (self._count(item.records[n].text) + 1) / (1 + _SHARED / 2)
        return self._gain(item, unit, _step(item.alike[unit.block]) if unit.block >= 0 else 0) / max(1, cost)

    def _gain(self, item: Item, unit: Unit, alike: int) -> float:
        """What a unit is worth beside what is shown, so many of its like among it."""
        fresh = 0.0
        for spec in unit.specs:
            if spec not in self.seen:
                fresh += item.values[spec]
        return unit.told / (1 + COMMON * alike) + unit.asked + fresh

    def gained(self) -> float:
        """What all that is shown is worth."""
        total = 0.0
        for item in self._items:
            alike = Counter[int]()
            for number in sorted(item.taken):
                unit = item.units[number]
                total += unit.told / (1 + COMMON * alike[unit.block]) + unit.asked
                alike[unit.block] += unit.block >= 0
            total += sum(item.values[item.names[name]] for name in item.listed)
        shown = {spec for item in self._items for number in item.taken for spec in item.units[number].specs}
        values = {spec: value for item in self._items for spec, value in item.values.items()}
        return total + sum(values[spec] for spec in shown - self._in_view)

    def _own(self, item: Item, unit: Unit) -> int:
        """Tokens of its line."""
        if not unit.cost:
            block = item.blocks[unit.block] if unit.block >= 0 else None
            if block is not None and not block.spread:
                unit.cost = max(1, self._count(f" {unit.text}") // (_RUN if block.run else 1))
            else:
                unit.cost = self._count(unit.text) + 1
        return unit.cost

    def _opening(self, block: Block) -> int:
        return _HEAD + self._count(block.head) + sum(self._count(line) + 1 for line in block.lines)

    def _cost(self, item: Item, number: int) -> int:
        unit = item.units[number]
        cost = self._own(item, unit)
        if unit.block >= 0 and unit.block not in item.open:
            cost += self._opening(item.blocks[unit.block])
            if item.blocks[unit.block].total < FEW:
                cost = min(cost, sum(self._count(item.records[n].text) + 1 for n in unit.records))
        return cost + sum(self._count(item.records[n].text) + 1 for n in item.above(unit))

    def _name_cost(self, item: Item, name: str) -> int:
        return self._count(f" {name}") + (0 if item.listed else _NAMES)

    def _take(self, item: Item, number: int) -> None:
        unit = item.units[number]
        self.spent += self._cost(item, number)
        above = item.above(unit)
        item.heads.update(above)
        item.heads.update(unit.records)
        item.taken.add(number)
        if unit.block >= 0:
            item.open.add(unit.block)
            item.alike[unit.block] += 1
        self.seen.update(unit.specs)
        self.seen.update(spec for n in above for cell in item.specs[n] for spec in cell)


# A filled item as lines, in source order.


class Printed(NamedTuple):
    """One line of a part."""

    kind: LineKind
    text: str
    units: tuple[int, ...] = ()
    """What it shows; of a line above others, what they show."""


def printed(item: Item) -> list[Printed]:
    """The lines of a part, without its note."""
    return _Print(item).lines


class _Print:
    """A filled item being printed, in source order; a block stands where its first row would."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self._shown: set[int] = set()
        self._current = -1
        self.lines: list[Printed] = []
        if item.twin >= 0:
            said = f"[item {item.twin + 1} but:]" if item.free else f"[= item {item.twin + 1}]"
            self.lines.append(Printed("note", said))
        done: set[int] = set()
        for number in sorted(item.taken, key=lambda one: item.units[one].records[0]):
            block = item.units[number].block
            if block < 0:
                self._quote(number)
            elif block not in done:
                done.add(block)
                self._block(block, [one for one in sorted(item.taken) if item.units[one].block == block])
        text = item.shown_text() if item.listed else ""
        names = [name for name in item.listed if name not in text]
        if names:
            self.lines.append(Printed("entry", f"[names] {' '.join(names)}"))

    def _quote(self, number: int) -> None:
        unit = self._item.units[number]
        record = unit.records[0]
        if record in self._shown:
            return
        self._headed(number, "")
        self.lines.append(Printed("quote", escaped(unit.text), (number,)))
        self._shown.add(record)
        if record in self._item.parents:
            self._current = record

    def _block(self, number: int, members: Sequence[int]) -> None:
        block = self._item.blocks[number]
        if block.total < FEW and block.table < 0 and self._longer_than_quotes(block, members):
            for one in members:
                for n in self._item.units[one].records:
                    self._headed(one, "")
                    self.lines.append(Printed("quote", escaped(self._item.records[n].text), (one,)))
                    self._shown.add(n)
            return
        all_of_it = tuple(members)
        head = f"[{len(members):,} of {block.total:,} {block.noun}]"
        self.lines.append(Printed("row", f"{head} {block.head}".rstrip(), all_of_it))
        self.lines += [Printed("row" if line.startswith("[all") else "note", line, all_of_it) for line in block.lines]
        if block.spread:
            for one in members:
                self._headed(one, " ")
                self.lines.append(Printed("row", f" {self._item.units[one].text}", (one,)))
        else:
            texts = [self._item.units[one].text for one in members]
            self.lines.append(Printed("row", " " + " ".join(_runs(texts) if block.run else texts), all_of_it))
        self._shown.update(n for one in members for n in self._item.units[one].records)

    def _longer_than_quotes(self, block: Block, members: Sequence[int]) -> bool:
        """Whether so few lines that are alike are shorter as they stand."""
        units = [self._item.units[one] for one in members]
        rows = sum(len(unit.text) + 2 for unit in units)
        quotes = sum(len(self._item.records[n].text) + 1 for unit in units for n in unit.records)
        return len(block.head) + 2 * _HEAD + rows > quotes

    def _headed(self, number: int, indent: str) -> None:
        """What says where a unit stands, unless it is the last thing of that sort that was printed."""
        records = self._item.records
        record = records[self._item.units[number].records[0]]
        under = record.under
        if under < 0 or under == self._current:
            return
        if record.kind in _NESTED and under in self._shown and under in self._item.chain(self._current):
            return  # one more of its children, after another with children of its own
        above: list[int] = []
        while under >= 0 and under not in self._shown and len(above) < _DEEP:
            above.append(under)
            under = records[under].under
        for n in reversed(above or [record.under]):
            text = records[n].text
            self.lines.append(Printed("quote", f"{indent}{text}" if indent else escaped(text), (number,)))
            self._shown.add(n)
        self._current = record.under


def _runs(texts: Sequence[str]) -> list[str]:
    """Numbers in order of equal width, each but one more than the one before, as `first–last`."""
    found: list[list[str]] = []
    for text in texts:
        last = found[-1][-1] if found else ""
        if (
            last
            and len(last) == len(text)
            and int(text) == int(last) + 1
            or last
            and len(last) < len(text)
            and last[0] != "0"
            and int(text) == int(last) + 1
        ):
            found[-1].append(text)
        else:
            found.append([text])
    return [one[0] if len(one) == 1 else " ".join(one) if len(one) == 2 else f"{one[0]}–{one[-1]}" for one in found]


def _step(alike: int) -> int:
    """The power of two below a count: each of many rows that are alike is looked at again only when twice as many are
    shown, so that a fill stays linear."""
    return 1 << alike.bit_length() >> 1
