"""What of a batch is shown, and in which form: the most worth a token, and a least share of every item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

_PRESSURES = (0.3, 1.0, 4.0, 100.0)
"""Added to the worth of each specific that an item needs to reach its least share, in turn: with rising pressure cheap
ones win over dear ones, and many over few."""


class Candidate(NamedTuple):
    """An entry of the ledger, or a line that shows its specifics for about what they take in the ledger."""

    item: int
    specs: tuple[int, ...]
    """What it shows of its item: one specific, or those of the line that nothing shows yet."""
    shared: tuple[int, ...]
    """Their numbers in the batch: one entry serves every item that holds the same."""
    worth: float
    weight: float
    """How much it counts toward its item's least share: 1 for each specific, or their worth."""
    cost: int
    group: str | int | tuple[int] | None = None
    """What it shares a cost with: a key, a line whose word stands beside it, a table (as a tuple)."""
    group_cost: int = 0
    """Paid once by the first of its group."""
    unit: int = -1
    """The line that it is; -1 for an entry."""
    word: str = ""
    """What stands beside it, and beside the values of other lines."""
    word_cost: int = 0
    """Paid once by the first beside that word."""
    each: tuple[float, ...] = ()
    """Where several candidates show the same: what each of `shared` and `within` is worth, then what the line says
    besides."""
    within: tuple[int, ...] = ()
    """Numbers in the batch of what stands inside a longer value that it shows: read there too, though not counted."""

    @property
    def every(self) -> tuple[int, ...]:
        """All that is read in it."""
        return (*self.shared, *self.within)


class _Choice:
    """Candidates being taken within a number of tokens."""

    def __init__(self, items_of: dict[int, list[tuple[int, float]]], items: int, room: int) -> None:
        self._items_of = items_of
        self._groups: set[tuple[int, str | int | tuple[int]]] = set()
        self._words: set[tuple[int, str]] = set()
        self.taken: set[int] = set()
        self.room = room
        self.covered = [0.0] * items
        self.chosen: list[Candidate] = []

    def take(self, candidate: Candidate, *, even_over: bool = False) -> None:
        """Take one where there is room for it, or even where there is none."""
        if candidate.shared and self.taken.issuperset(candidate.shared):
            return
        group = None if candidate.group is None else (candidate.item, candidate.group)
        cost = candidate.cost + (candidate.group_cost if group not in self._groups else 0)
        if candidate.word and (candidate.item, candidate.word) not in self._words:
            cost += candidate.word_cost
        if cost > self.room and not even_over:
            return
        if candidate.word:
            self._words.add((candidate.item, candidate.word))
        self.room -= cost
        if group is not None:
            self._groups.add(group)
        self.chosen.append(candidate)
        for shared in candidate.shared:
            if shared not in self.taken:
                for item, weight in self._items_of[shared]:
                    self.covered[item] += weight
        self.taken.update(candidate.every)

    def worth(self, candidate: Candidate) -> float:
        """What it is worth still: without what others show."""
        if not candidate.each:
            return candidate.worth
        return candidate.each[-1] + sum(
            worth for worth, shared in zip(candidate.each, candidate.every, strict=False) if shared not in self.taken
        )

    def take_best(self, order: Sequence[Candidate]) -> None:
        """The most worth a token first, looked at anew where others show a part of it."""
        heap = [(-one.worth / one.cost, n) for n, one in enumerate(order)]
        heapify(heap)
        while heap:
            was, n = heappop(heap)
            one = order[n]
            if one.shared and self.taken.issuperset(one.shared):
                continue
            now = -self.worth(one) / one.cost
            if now > was + 1e-12:
                heappush(heap, (now, n))
            else:
                self.take(one)


def choose(
    candidates: Sequence[Candidate], room: int, wanted: Sequence[float], items_of: dict[int, list[tuple[int, float]]]
) -> list[Candidate]:
    """The candidates to print within about `room` tokens.

    Where not every item can have its least share, the dearest stay short, and the caller decides what becomes of them.

    Args:
        wanted: per item, the weight of its open specifics that must at least be covered.
        items_of: number in the batch -> (item, weight there) of every open specific.
    """
    order = sorted(candidates, key=lambda c: (-c.worth / c.cost, c.item, c.specs))
    overlapping = any(c.each for c in order)
    by_item: dict[int, list[Candidate]] = {}

    def run(needy: Iterable[int], pressure: float) -> _Choice:
        choice = _Choice(items_of, len(wanted), room)
        for item in needy:
            if item not in by_item:
                by_item[item] = [c for c in order if c.item == item]
            for candidate in sorted(by_item[item], key=lambda c: (-(c.worth + pressure * c.weight) / c.cost, c.specs)):
                if choice.covered[item] >= wanted[item]:
                    break
                choice.take(candidate, even_over=True)
        if choice.room >= 0:
            if overlapping:
                choice.take_best(order)
            else:
                for candidate in order:
                    choice.take(candidate)
        return choice

    choice = run((), 0.0)
    needy = {n for n, need in enumerate(wanted) if choice.covered[n] < need}
    hopeless: set[int] = set()
    while needy - hopeless:
        before = len(needy)
        for pressure in _PRESSURES:
            choice = run(sorted(needy - hopeless), pressure)
            short = {n for n, need in enumerate(wanted) if choice.covered[n] < need} - hopeless
            if choice.room >= 0 and not short:
                return choice.chosen
            if choice.room >= 0:
                needy |= short
        if choice.room < 0 or len(needy) == before:  # no progress: the dearest one stays short
            hopeless.add(max(needy - hopeless, key=lambda n: (wanted[n], n)))
    return run((), 0.0).chosen if choice.room < 0 else choice.chosen
