"""What of a batch is shown: the most that is likely to be needed, a token of the budget at a time.

Greedy by gain a token. The gain of a unit is that of its records (`rank.py`) with what of their specifics nothing shows
yet, and falls with every one of its like that is shown; its cost is that of its line, with a share of what has to stand
above it. Deterministic: ties go to the earlier item, then to the earlier place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from .blocks import Block, Unit, encoded, escaped
from .rank import Need
from .records import Record, Table
from .source import Source

_SHARED = 8
"""Rows that a block, or a heading, is expected to have below it: each is charged its share of what stands above."""
_HEAD = 8
"""Tokens of the count before the columns of a block, about."""
_NAMES = 4
"""Tokens of `[names]` with its line break."""
OUTCOMES = 2
"""Records of how a result went that are shown at every budget."""
_NO_TEMPLATES = frozenset({"code"})
"""Forms in which lines that are alike are an accident, but for definitions."""
_NESTED = frozenset({"definition", "heading"})
"""Kinds whose place is told by what stands around them: no heading is printed again for one more of them."""
_SAYS = re.compile(r"\w\w|[^\W\d_a-zA-Z]")
"""A line without a word of two letters, or one of another script, says nothing."""
_WORTH = 0.004
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
    names: Sequence[tuple[str, float]] = ()
    """What may stand alone, best first, with its gain."""
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
        alike = [n for n in self.free if source.forms[n] not in _NO_TEMPLATES or self.records[n].kind == "definition"]
        self.units, self.blocks = encoded(source.reading, self.free, alike, narrow)
        self.forced = tuple(n for n, unit in enumerate(self.units) if not self.outcomes.isdisjoint(unit.records))
        self.clear()

    def specs_of(self, unit: Unit) -> set[int]:
        """The specifics that a unit shows."""
        if unit.cut:
            return set()
        shown = self.blocks[unit.block].shown if unit.block >= 0 and self.blocks[unit.block].table >= 0 else None
        return {
            spec
            for n in unit.records
            for column, cell in enumerate(self.specs[n])
            if shown is None or column in shown
            for spec in cell
        }

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
        while at >= 0 and at not in self.heads and len(found) < 6:
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

    def fill(self, room: int, wanted: frozenset[int] | None = None) -> None:
        """Choose anew within about `room` tokens, what is forced first.

        Args:
            wanted: only units with one of these specifics, or one that is forced; None: all.
        """
        self.seen, self.spent = set(self._in_view), 0
        for item in self._items:
            item.clear()
            for number in item.forced:
                self._take(item, number)
        self.add(room, wanted)

    def add(self, room: int, wanted: frozenset[int] | None = None) -> None:
        """Choose more, up to `room` tokens in all."""
        heap = [
            (-rate, n, number)
            for n, item in enumerate(self._items)
            for number, unit in enumerate(item.units)
            if number not in item.taken
            and (wanted is None or not wanted.isdisjoint(item.specs_of(unit)))
            and (rate := self._rate(item, number)) > _WORTH
        ]
        if wanted is None:
            heap += [
                (-gain / self._name_cost(item, name), n, -1 - number)
                for n, item in enumerate(self._items)
                for number, (name, gain) in enumerate(item.names)
                if name not in item.listed
            ]
        heapify(heap)
        listed = {name for item in self._items for name in item.listed}
        shown = [item.shown_text() for item in self._items]
        while heap:
            was, n, number = heappop(heap)
            item = self._items[n]
            if number < 0:
                name = item.names[-1 - number][0]
                cost = self._name_cost(item, name)
                if self.spent + cost <= room and name not in listed and name not in shown[n]:
                    listed.add(name)
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
                shown[n] = f"{shown[n]}\n{item.text_of(item.units[number])}"

    def trim(self, tokens: int) -> bool:
        """Take back what tells least a token, about so many tokens; False where nothing is left but what is forced."""
        rates = sorted(
            (self._alone(item, item.units[number]) / max(1, self._own(item, number)), k, number)
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
            freed += self._own(self._items[k], number)
        return freed > 0

    # -- what a unit gives, and what it costs ------------------------------------------------------------------------

    def _rate(self, item: Item, number: int) -> float:
        """Gain a token, with a share of what stands above."""
        unit = item.units[number]
        if not any(_SAYS.search(item.records[n].text) for n in unit.records):
            return 0.0
        fresh = sum(item.values[spec] for spec in item.specs_of(unit) if spec not in self.seen)
        times = 1 + (item.alike[unit.block] if unit.block >= 0 else 0)
        gain = self._gain(item, unit, fresh, times)
        cost = self._own(item, number)
        if unit.block >= 0 and unit.block not in item.open:
            block = item.blocks[unit.block]
            cost += self._opening(block) / min(_SHARED, block.total)
        cost += sum(self._count(item.records[n].text) + 1 for n in item.above(unit)) / (1 + _SHARED / 2)
        return gain / max(1, cost)

    @staticmethod
    def _gain(item: Item, unit: Unit, fresh: float, times: int) -> float:
        size = len(unit.text) // len(unit.records)
        first, *rest = (item.records[n] for n in unit.records)
        return item.need.gain(first, fresh, times, size) + sum(item.need.gain(one, 0.0, times, size) for one in rest)

    def gained(self) -> float:
        """What all that is shown is worth."""
        total = 0.0
        for item in self._items:
            alike = Counter[int]()
            for number in sorted(item.taken):
                unit = item.units[number]
                total += self._gain(item, unit, 0.0, 1 + alike[unit.block] if unit.block >= 0 else 1)
                alike[unit.block] += 1
            total += sum(gain for name, gain in item.names if name in item.listed)
        shown = {spec for item in self._items for number in item.taken for spec in item.specs_of(item.units[number])}
        values = {spec: value for item in self._items for spec, value in item.values.items()}
        return total + sum(values[spec] for spec in shown - self._in_view)

    def _alone(self, item: Item, unit: Unit) -> float:
        return self._gain(item, unit, sum(item.values[spec] for spec in item.specs_of(unit)), 0)

    def _own(self, item: Item, number: int) -> int:
        unit = item.units[number]
        block = item.blocks[unit.block] if unit.block >= 0 else None
        if block is not None and not block.spread:
            return max(1, self._count(f" {unit.text}") // (3 if block.run else 1))
        return self._count(unit.text) + 1

    def _opening(self, block: Block) -> int:
        return _HEAD + self._count(block.head) + sum(self._count(line) + 1 for line in block.lines)

    def _cost(self, item: Item, number: int) -> int:
        unit = item.units[number]
        cost = self._own(item, number)
        if unit.block >= 0 and unit.block not in item.open:
            cost += self._opening(item.blocks[unit.block])
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
        self.seen.update(item.specs_of(unit))
        self.seen.update(spec for n in above for cell in item.specs[n] for spec in cell)


# A filled item as lines, in source order.


def printed(item: Item) -> list[tuple[str, str]]:
    """The lines of a part, without its note: (kind of line, text)."""
    lines: list[tuple[str, str]] = []
    if item.twin >= 0:
        lines.append(("note", f"[item {item.twin + 1} but:]" if item.free else f"[= item {item.twin + 1}]"))
    done: set[int] = set()
    shown: set[int] = set()
    current = -1

    def headed(record: Record, indent: str) -> None:
        nonlocal current
        under = record.under
        if under < 0 or under == current:
            return
        if record.kind in _NESTED and under in shown and under in item.chain(current):
            return  # one more of its children, after another with children of its own
        chain: list[int] = []
        at = under
        while at >= 0 and at not in shown and len(chain) < 6:
            chain.append(at)
            at = item.records[at].under
        for n in reversed(chain or [under]):
            lines.append(("quote", f"{indent}{item.records[n].text}" if indent else escaped(item.records[n].text)))
            shown.add(n)
        current = under

    for number in sorted(item.taken, key=lambda one: item.units[one].records[0]):
        unit = item.units[number]
        if unit.block < 0:
            record = item.records[unit.records[0]]
            if unit.records[0] in shown:
                continue
            headed(record, "")
            lines.append(("quote", escaped(unit.text)))
            shown.add(unit.records[0])
            if unit.records[0] in item.parents:
                current = unit.records[0]
        elif unit.block not in done:
            done.add(unit.block)
            block = item.blocks[unit.block]
            members = sorted(one for one in item.taken if item.units[one].block == unit.block)
            head = f"[{len(members):,} of {block.total:,} {block.noun}]"
            lines.append(("row", f"{head} {block.head}".rstrip()))
            lines += [("row" if line.startswith("[all") else "note", line) for line in block.lines]
            if block.spread:
                for one in members:
                    headed(item.records[item.units[one].records[0]], " ")
                    lines.append(("row", f" {item.units[one].text}"))
            else:
                texts = [item.units[one].text for one in members]
                lines.append(("row", " " + " ".join(_runs(texts) if block.run else texts)))
            shown.update(n for one in members for n in item.units[one].records)
    text = item.shown_text() if item.listed else ""
    names = [name for name in item.listed if name not in text]
    if names:
        lines.append(("entry", f"[names] {' '.join(names)}"))
    return lines


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
