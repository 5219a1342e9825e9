"""What showing a specific is worth: its class, and how rare its like is in the same source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..models.specifics import Specific
from ..specifics.classes import CLASSES, SpecificClass

_CROWD = 0.5
"""Each of n like specifics (same class, same key, same source) is worth n to the minus this: two hundred time stamps
tell less apiece than the one ticket number among them."""
_UNKNOWN_WEIGHT = 3.0


class Rank(NamedTuple):
    """Worth of a class and whether the budget grows before one of it is left out."""

    weight: float
    first: bool


def ranks_of(classes: Iterable[SpecificClass] = CLASSES) -> dict[str, Rank]:
    """Ranks by class name."""
    return {c.name: Rank(c.weight, c.first_rank) for c in classes}


def worth(specs: Iterable[Specific], ranks: Mapping[str, Rank]) -> list[float]:
    """Per specific of one source, more is better."""
    listed = list(specs)
    crowd = Counter((spec.cls, spec.key) for spec in listed)
    unknown = Rank(_UNKNOWN_WEIGHT, False)
    return [ranks.get(spec.cls, unknown).weight / crowd[spec.cls, spec.key] ** _CROWD for spec in listed]


__all__ = ["Rank", "ranks_of", "worth"]
