"""Which specifics the ledger of a batch holds: the most worth a token, with a least share in view for every item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

_PRESSURES = (0.0, 0.5, 1.5, 5.0, 50.0)
"""Added to the worth of every specific of an item that would stay below its least share, in turn: with rising pressure
the cheap ones win over the dear ones, and many over few."""


class Candidate(NamedTuple):
    """A specific that no line shows."""

    item: int
    spec: int
    shared: int
    """Its number in the batch: one entry serves every item that holds the same."""
    worth: float
    cost: int
    key: str


def choose(
    candidates: Sequence[Candidate], room: int, wanted: Sequence[int], key_cost: Callable[[str], int]
) -> list[Candidate]:
    """The entries to print within about `room` tokens, in the order they were chosen.

    `wanted[item]` is how many of the item's candidates must at least be covered; where no pressure achieves that the
    item stays short, and its caller decides.
    """
    pressure = [0] * len(wanted)
    chosen: list[Candidate] = []
    for _ in range(3 * len(_PRESSURES)):
        chosen, covered = _greedy(candidates, room, [_PRESSURES[p] for p in pressure], key_cost)
        short = [n for n, need in enumerate(wanted) if covered[n] < need and pressure[n] + 1 < len(_PRESSURES)]
        if not short:
            break
        for item in short:
            pressure[item] += 1
    return chosen


def _greedy(
    candidates: Sequence[Candidate], room: int, extra: Sequence[float], key_cost: Callable[[str], int]
) -> tuple[list[Candidate], list[int]]:
    order = sorted(candidates, key=lambda c: (-(c.worth + extra[c.item]) / c.cost, c.item, c.spec))
    items_of: dict[int, list[int]] = {}
    for candidate in candidates:
        items_of.setdefault(candidate.shared, []).append(candidate.item)
    covered = [0] * len(extra)
    taken: set[int] = set()
    keys: set[tuple[int, str]] = set()
    chosen: list[Candidate] = []
    for candidate in order:
        if candidate.shared in taken:
            continue
        cost = candidate.cost
        named = (candidate.item, candidate.key)
        if candidate.key and named not in keys:
            cost += key_cost(candidate.key)
        if cost > room:
            continue
        room -= cost
        keys.add(named)
        taken.add(candidate.shared)
        chosen.append(candidate)
        for item in items_of[candidate.shared]:
            covered[item] += 1
    return chosen, covered


__all__ = ["Candidate", "choose"]
