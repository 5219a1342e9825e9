"""What of a batch is shown: the most that is likely to be needed, a token of the budget at a time.

Greedy by gain a token. The gain of a unit is that of its records (`rank.py`) with what of their specifics nothing shows
yet, and falls with every one of its like that is shown; its cost is that of its line, with a share of what has to stand
above it. Deterministic: ties go to the earlier item, then to the earlier place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from operator import is_
from typing import NamedTuple

from .blocks import Block, Unit
from .item import Item
from .lines import FEW, SHORT
from .rank import COMMON, FADE, FIRST, WANTED

_SHARED = 8
"""Rows that a block, or a heading, is expected to have below it: each is charged its share of what stands above."""
_HEAD = 8
"""Tokens of the count before the columns of a block, about."""
_RUN = 3
"""Numbers that a run stands for where its rows are numbers, about."""
_AS = 4
"""Tokens of `as item 2`, about."""
_FEW_ROWS = 12
"""Rows of a table up to which each tells as much as the first: a reader wants all of them, by fewer columns if need
be."""
_NEIGHBOURS = 100
"""Rows of a block that are looked at anew when its first is shown, at most."""
_NAMES = 5
"""Tokens of `[names]` with its line break and the mark that there are more."""
_NAMES_SHARE, _NAMES_LEAST = 0.25, 20
"""Of the room, at most, for bare names, and the tokens that they may take for each result where that is less: a line
says what they are for. With 0.12 alone a twelfth of what is needed later goes out of view, with 0.25 nothing."""
_OWN = 0.6
"""Of a result's part of the room, so much may go to the row that says what it is."""
_WORTH = 0.0005
"""Gain a token from which a line is worth its place where there is room."""


_Entry = tuple[float, int, int]
"""Gain a token, below zero; item; and unit, or behind all units of the item its name."""


_LeftOut = tuple[bool, set[int], set[str]]
"""Whether nothing is shown of an item, and its units and names that may not be shown."""
_Step = tuple[float, int, bool]
"""What one look at a unit or a name came to: its gain a token, below zero; its cost, 0 where it waits; and whether it
was within the room."""


class _Ranking(NamedTuple):
    """What could be chosen of a batch of which nothing is shown."""

    encodings: list[list[int]]
    """`Item.least` of each item."""
    names: list[list[str]]
    """Of each item."""
    entries: list[_Entry]
    """The best first."""
    cheapest: list[tuple[float, tuple[int, int]]]
    """The least that each can cost, the cheapest first."""


_NOTHING = math.inf, (-1, -1)
"""Behind the last of them."""


class Filling:
    """One batch being filled."""

    def __init__(self, items: Sequence[Item], seen: frozenset[int], count: Callable[[str], int]) -> None:
        self._items = items
        self._in_view = seen
        self._count = count
        self.seen: set[int] = set(seen)
        self.spent = self._names_spent = 0
        self._rows: Counter[tuple[str, str]] = Counter()
        """Noun and columns -> rows of the batch below them."""
        self._said: Counter[tuple[str, str]] = Counter()
        """Noun and columns -> blocks with a row that is shown."""
        self._ranked: _Ranking | None = None
        self._taken: list[tuple[int, int, int]] = []
        """What this fill took: item, unit, and what that cost."""
        self._last: tuple[_Ranking, list[tuple[int, int, int]], list[_LeftOut], list[_Step]] | None = None
        """What the last fill chose from, what it began with, what it left out, and its steps."""

    def fill(self, room: int) -> None:
        """Choose anew within about `room` tokens, what is forced first."""
        self.seen, self.spent, self._names_spent = set(self._in_view), 0, 0
        self._rows, self._said = Counter(), Counter()
        self._taken = []
        for item in self._items:
            item.clear()
            for block in item.blocks:
                self._rows[_shape(block)] += block.total
        for n, item in enumerate(self._items):
            for number in item.forced:
                if number not in item.banned:
                    self._take(n, number, self._cost(item, number))
        self.add(room)

    def add(self, room: int, wanted: frozenset[int] | None = None) -> None:
        """Choose more, up to `room` tokens in all.

        Args:
            wanted: only lines with one of these specifics, and those that are to be kept; None: all, and names.
        """
        for item in self._items:
            if item.units and not item.rates:
                item.rates = sorted((-self._rate(item, number), number) for number in range(len(item.units)))
                item.rows = {}
                for _, number in item.rates:
                    item.rows.setdefault(item.units[number].block, []).append(number)
                item.least = [self._least(item, unit) for unit in item.units]
        if wanted is None:
            self._begin(room)
        ranked = self._ranking()
        most_names = max(_NAMES_SHARE * room, _NAMES_LEAST * len(self._items))
        steps = self._steps(ranked) if wanted is None else []
        heap: list[_Entry] = []
        gone = {(n, one) for n, item in enumerate(self._items) for out in (item.taken, item.banned) for one in out}
        silent = {n for n, item in enumerate(self._items) if item.silent}
        for n, item in enumerate(self._items):
            for block in item.open if wanted is None else ():
                self._look_anew(heap, n, block)
        cheapest = iter(ranked.cheapest)
        least, cheap = next(cheapest, _NOTHING)
        at, end, step = 0, len(ranked.entries), -1
        while at < end or heap:
            while cheap in gone or cheap[0] in silent:
                least, cheap = next(cheapest, _NOTHING)
            if self.spent + least > room:
                break  # nothing that is left can fit
            if heap and (at == end or heap[0] < ranked.entries[at]):
                was, n, number = heappop(heap)
            else:
                was, n, number = ranked.entries[at]
                at += 1
            item, key = self._items[n], (n, number)
            if key in gone or n in silent:
                continue
            gone.add(key)
            unit = item.units[number] if number < len(item.units) else None
            name = "" if unit else ranked.names[n][number - len(item.units)]
            if not unit:
                if wanted is not None or name in item.unfit or item.names[name] in self.seen:
                    continue
            elif (unit.span and item.obsolete(unit)) or (
                wanted is not None and unit.asked < WANTED and wanted.isdisjoint(unit.specs)
            ):
                continue
            step += 1
            if step < len(steps):
                now, cost, fits = steps[step]
            elif name:
                now, cost = was, self._name_cost(item, name)
                steps.append((now, cost, self.spent + cost <= room))
            else:
                now = -self._rate(item, number)
                cost = self._cost(item, number) if now <= was + 1e-9 else 0
                steps.append((now, cost, self.spent + cost <= room))
            if now > was + 1e-9:
                if -now > _WORTH:
                    heappush(heap, (now, n, number))
                    gone.discard(key)
                continue
            fits = self.spent + cost <= room and not (name and self._names_spent + cost > most_names)
            if fits != steps[step][2]:  # from here on it goes another way than before
                del steps[step:]
                steps.append((now, cost, fits))
            if fits and name:
                self.seen.add(item.names[name])
                item.listed.append(name)
                self.spent += cost
                self._names_spent += cost
            elif fits:
                opens = unit is not None and unit.block >= 0 and unit.block not in item.open
                self._take(n, number, cost)
                if opens and unit is not None:
                    self._look_anew(heap, n, unit.block)

    def _look_anew(self, heap: list[_Entry], n: int, block: int) -> None:
        """Rows of a block cost less once what stands above them is paid for."""
        item = self._items[n]
        for number in item.rows[block][:_NEIGHBOURS]:
            if number not in item.taken:
                heappush(heap, (-self._rate(item, number), n, number))

    def _steps(self, ranked: _Ranking) -> list[_Step]:
        """What the last fill came to where it began as this one does; else nothing, to be filled: a digest is filled
        several times with room that is only a little different, and most of what is weighed is the same."""
        begun = list(self._taken)
        left_out = [(item.silent, set(item.banned), set(item.unfit)) for item in self._items]
        if self._last is None or self._last[0] is not ranked or self._last[1:3] != (begun, left_out):
            self._last = ranked, begun, left_out, []
        return self._last[3]

    def _ranking(self) -> _Ranking:
        """Everything that could be chosen. Sorted once for as long as no item is encoded anew."""
        encodings = [item.least for item in self._items]
        if self._ranked is None or not all(map(is_, encodings, self._ranked.encodings)):
            names = [list(item.names) for item in self._items]
            entries = [
                (rate, n, number) for n, item in enumerate(self._items) for rate, number in item.rates if -rate > _WORTH
            ]
            costs = [(encodings[n][number], (n, number)) for _, n, number in entries]
            for n, (item, own) in enumerate(zip(self._items, names, strict=True)):
                for number, name in enumerate(own, len(item.units)):
                    cost = self._count(f" {name}")
                    entries.append((-item.values[item.names[name]] / (cost + _NAMES), n, number))
                    costs.append((cost, (n, number)))
            self._ranked = _Ranking(encodings, names, sorted(entries), sorted(costs))
        return self._ranked

    def _begin(self, room: int) -> None:
        """Of each result the row that says what it is, or those that say what is in it; of each of several of which
        nothing is shown yet the best that its part of the room holds."""
        places = [n for n, item in enumerate(self._items) if item.twin < 0 and not item.silent]
        waiting = [self._items[n] for n in places]
        shapes = Counter(shape for one in waiting for shape in set(map(_shape, one.blocks)))
        for n, item in zip(places, waiting, strict=True):
            left = _OWN * room / len(waiting)
            for first in [item.own_row()] if item.own_row() >= 0 else item.leading_rows():
                cost = self._cost(item, first)
                block = item.blocks[item.units[first].block] if item.units[first].block >= 0 else None
                alike = shapes[_shape(block)] if block else 0
                shared = self._opening(block) * (alike - 1) // alike if block and alike > 1 else 0
                if cost - shared <= left and self.spent + cost <= room and first not in item.taken | item.banned:
                    self._take(n, first, cost)
                    left -= cost
        part = (room - self.spent) // max(1, len(waiting))
        for n, item in zip(places, waiting, strict=True):
            if item.taken or len(self._items) < 2:
                continue
            fit = (
                number
                for rate, number in item.rates
                if -rate > _WORTH and number not in item.banned and self._cost(item, number) <= part
            )
            if (best := next(fit, None)) is not None:
                self._take(n, best, self._cost(item, best))

    def shown_tokens(self, item: Item) -> int:
        """Of what is shown of a result beside what is forced, without what stands above."""
        units = (item.units[number] for number in item.taken if number not in item.forced)
        return sum(self._own(item, unit) for unit in units) + sum(self._count(f" {name}") for name in item.listed)

    def above_tokens(self, item: Item) -> int:
        """Of what stands above the rows of its tables."""
        return sum(self._opening(item.blocks[n]) for n in item.open if item.blocks[n].table >= 0)

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
                freed += (cost := self._name_cost(item, item.listed.pop()))
                self._names_spent -= cost
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
        # Most of a fill is spent here: no calls where none is needed.
        unit = item.units[number]
        cost: float = unit.cost or self._own(item, unit)
        record, block, span, alike = unit.records[0], unit.block, unit.span, 0
        if span:
            if not item.pieces.get(record):
                cost += self._lead(item, unit)
            alike = item.cells.get((unit.of, span[0]), 0)
        if block >= 0:
            one = item.blocks[block]
            if block not in item.open:
                cost += self._opening(one) / min(_SHARED, self._rows[_shape(one)])
            if not span and (one.table < 0 or one.total > _FEW_ROWS):
                alike = item.alike.get(block, 0)
        if item.records[record].under >= 0:
            for n in item.above(unit):
                cost += (self._count(item.records[n].text) + 1) / (1 + _SHARED / 2)
        fresh, seen, values = 0.0, self.seen, item.values
        for spec in unit.specs:
            if spec not in seen:
                fresh += values[spec]
        told = unit.told * (1 + FIRST / (1 + _step(len(item.taken))))
        if alike:
            alike = _step(alike)
            return (told / (1 + COMMON * alike) + unit.asked + fresh / (1 + FADE * alike)) / max(1, cost)
        return (told + unit.asked + fresh) / max(1, cost)

    def _least(self, item: Item, unit: Unit) -> int:
        """No more than `_cost` whatever is shown."""
        own = self._own(item, unit)
        if unit.block >= 0 and item.blocks[unit.block].total < FEW:
            return min(own, sum(self._count(item.records[n].text) + 1 for n in unit.records))
        return own

    def gained(self) -> float:
        """What all that is shown is worth, each thing as the fill weighs it: less with every one of its like."""
        total = 0.0
        said: set[int] = set(self._in_view)
        for item in self._items:
            alike = Counter[int]()
            for place, number in enumerate(sorted(item.taken)):
                unit = item.units[number]
                step = _step(alike[unit.block]) if unit.block >= 0 else 0
                fresh = [spec for spec in unit.specs if spec not in said]
                said.update(fresh)
                total += (1 + FIRST / (1 + place)) * unit.told / (1 + COMMON * step) + unit.asked
                total += sum(item.values[spec] for spec in fresh) / (1 + FADE * step)
                if unit.block >= 0 and (item.blocks[unit.block].table < 0 or item.blocks[unit.block].total > _FEW_ROWS):
                    alike[unit.block] += 1
            total += sum(item.values[item.names[name]] for name in item.listed)
        return total

    def _own(self, item: Item, unit: Unit) -> int:
        """Tokens of its line."""
        if not unit.cost:
            block = item.blocks[unit.block] if unit.block >= 0 else None
            if block is not None and not block.spread:
                unit.cost = max(1, self._count(f" {unit.text}") // (_RUN if block.run else 1))
            else:
                unit.cost = self._count(unit.text) + 1
        return unit.cost

    def _lead(self, item: Item, unit: Unit) -> int:
        return self._count(item.lead(unit)) + 1

    def _opening(self, block: Block) -> int:
        names = _AS if self._said[_shape(block)] and len(block.head) > SHORT else self._count(block.head)
        return _HEAD + names + sum(self._count(line) + 1 for line in block.lines)

    def _cost(self, item: Item, number: int) -> int:
        unit = item.units[number]
        cost = self._own(item, unit)
        if unit.span and not item.pieces[unit.records[0]]:
            cost += self._lead(item, unit)
        if unit.block >= 0 and unit.block not in item.open:
            cost += self._opening(item.blocks[unit.block])
            if item.blocks[unit.block].total < FEW:
                cost = min(cost, sum(self._count(item.records[n].text) + 1 for n in unit.records))
        return cost + sum(self._count(item.records[n].text) + 1 for n in item.above(unit))

    def _name_cost(self, item: Item, name: str) -> int:
        return self._count(f" {name}") + (0 if item.listed else _NAMES)

    def _take(self, n: int, number: int, cost: int) -> None:
        """Show a unit of an item; `cost`: what `_cost` says of it now."""
        item = self._items[n]
        unit = item.units[number]
        self.spent += cost
        self._taken.append((n, number, cost))
        above = item.above(unit)
        item.heads.update(above)
        item.taken.add(number)
        if unit.span:
            item.pieces[unit.records[0]] += 1
            item.cells[unit.of, unit.span[0]] += unit.of >= 0
        else:
            item.heads.update(unit.records)
            self._replace_pieces(item, unit)
        if unit.block >= 0:
            self._said[_shape(item.blocks[unit.block])] += unit.block not in item.open
            item.open.add(unit.block)
            item.alike[unit.block] += 1
        self.seen.update(unit.specs)
        self.seen.update(spec for n in above for cell in item.specs[n] for spec in cell)

    def _replace_pieces(self, item: Item, unit: Unit) -> None:
        """A record that is shown whole needs no pieces."""
        item.whole.update(unit.records)
        if any(item.pieces[n] for n in unit.records):
            gone = {n for n in item.taken if item.units[n].records[0] in unit.records and item.obsolete(item.units[n])}
            item.taken -= gone
            self.spent -= sum(self._own(item, item.units[n]) for n in gone)


def _shape(block: Block) -> tuple[str, str]:
    """What two tables have in common of which one can say the columns of the other."""
    return block.noun, block.head


def _step(alike: int) -> int:
    """The power of two below a count: each of many rows that are alike is looked at again only when twice as many are
    shown, so that a fill stays linear."""
    return 1 << alike.bit_length() >> 1
