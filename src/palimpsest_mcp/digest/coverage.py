"""Which specifics the ledger of a batch holds: the most worth a token, with a least share in view for every item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_PRESSURES = (0.3, 1.0, 4.0, 100.0)
"""Added to the worth of each specific that an item needs to reach its least share, in turn: with rising pressure cheap
ones win over dear ones, and many over few."""


class Candidate(NamedTuple):
    """A specific that no line shows."""

    item: int
    spec: int
    shared: int
    """Its number in the batch: one entry serves every item that holds the same."""
    worth: float
    weight: float
    """How much it counts toward its item's least share: 1, or its worth."""
    cost: int
    group: str | int | None
    """What it shares a cost with: a key, a line."""
    group_cost: int
    """Paid once by the first of its group."""


class _Choice:
    """Entries being taken within a number of tokens."""

    def __init__(self, items_of: dict[int, list[tuple[int, float]]], items: int, room: int) -> None:
        self._items_of = items_of
        self._groups: set[tuple[int, str | int]] = set()
        self.taken: set[int] = set()
        self.room = room
        self.covered = [0.0] * items
        self.chosen: list[Candidate] = []

    def take(self, candidate: Candidate, *, even_over: bool = False) -> None:
        """Take an entry where there is room for it, or even where there is none."""
        if candidate.shared in self.taken:
            return
        group = None if candidate.group is None else (candidate.item, candidate.group)
        cost = candidate.cost + (candidate.group_cost if group not in self._groups else 0)
        if cost > self.room and not even_over:
            return
        self.room -= cost
        if group is not None:
            self._groups.add(group)
        self.taken.add(candidate.shared)
        self.chosen.append(candidate)
        for item, weight in self._items_of[candidate.shared]:
            self.covered[item] += weight


def choose(candidates: Sequence[Candidate], room: int, wanted: Sequence[float]) -> list[Candidate]:
    """The entries to print within about `room` tokens.

    `wanted[item]` is the weight of the item's candidates that must at least be covered. Where not all can have that,
    the dearest stay short, and the caller decides what becomes of them.
    """
    items_of: dict[int, list[tuple[int, float]]] = {}
    for candidate in candidates:
        items_of.setdefault(candidate.shared, []).append((candidate.item, candidate.weight))
    order = sorted(candidates, key=lambda c: (-c.worth / c.cost, c.item, c.spec))
    by_item = [[c for c in order if c.item == n] for n in range(len(wanted))]

    def run(needy: Iterable[int], pressure: float) -> _Choice:
        choice = _Choice(items_of, len(wanted), room)
        for item in needy:
            for candidate in sorted(by_item[item], key=lambda c: (-(c.worth + pressure * c.weight) / c.cost, c.spec)):
                if choice.covered[item] >= wanted[item]:
                    break
                choice.take(candidate, even_over=True)
        if choice.room >= 0:
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


__all__ = ["Candidate", "choose"]
