"""What showing a specific is worth: its class, and how rare its like is in the same source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..models.items import Specific
from ..text.specifics.classes import CLASSES, SpecificClass
from .lines import Survey

CARRIED = 1_000.0
"""Added to the worth of what must be shown (D9)."""
BOUND = CARRIED / 10
"""Of such a value the worth is above this, muted or not: it must be shown itself, whatever holds it."""
_CROWD = 0.3
"""Each of n like specifics (same class behind the same key or word of one source) is worth n to the minus this: two
hundred time stamps tell less apiece than the one ticket number among them."""
_CROWD_OF_NAMES = 0.7
"""The same for names: they can be found again by looking for them, and every source has plenty."""
_NAMES = frozenset({"constant", "integer", "name"})
_CROWD_OF_RARE = 0.2
"""And of each of n kinds of one class that are rare."""
_ALONE = 2.0
"""More for what is the only one of its like in the source, a half of that for one of two: the one date in a listing of
packages is why somebody looked."""
_FEW = 3
"""Of a kind, up to which they are rare."""
_COMMON = frozenset({"constant", "integer", "name", "number"})
"""Classes of which every source has some."""
_FLAT = 0.7
"""Where values come first, worth is by class alone, to this power: recall counts each of a crowd as one."""
_ALONE_WORTH = {
    "error": 3.5,
    "status": 3.5,
    "url": 4.0,
    "path": 3.0,
    "command": 2.6,
    "version": 2.6,
    "name": 2.2,
    "constant": 1.0,
}
"""Where values come first, for classes whose members say themselves what they are and must be typed exactly."""
_MUTED = {"number": 0.55, "integer": 0.3, "quantity": 0.75, "score": 0.75, "money": 0.75}
"""What is left of the worth of such a value where nothing stands beside it."""
_ABOUT = 0.4
"""And of that, where a value says itself that it is not exact: `~300`."""
_ROUNDED = frozenset({"quantity", "score", "money"})
_ROUND = 0.2
"""And of that, where one of these has a figure or two: 20 % and 8K stand for many things, 25.7 % for one."""
_FIGURES = re.compile(r"\d\.\d|\d{3}")
_HASH_INSIDE = 2.0
_WITHOUT_LINE = 0.7
_IN_TITLE = 0.2
"""For what stands in the name of a column, and for a name in a record: it is one of few that the records share."""
_FAINT = 0.1
"""For what stands in scripts and drawings of a web page."""
_HEX = re.compile(r"(?<![0-9A-Za-z])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,}(?![0-9A-Za-z])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_ -]*")
"""A key that is a name; one with digits in it is data itself, and says nothing about what is alike."""
_BEFORE = re.compile(r"([^\W\d]{2,})\W{1,3}\Z")
_KEYED = re.compile(r"([^\W\d]{2,})[\"']?\s?[:=]\s?[\"']?\Z")
_NEAR = 30
"""Characters before a value in which its word stands."""
_DAY = re.compile(r"\d{4}|[A-Z][a-z]{2}|\d[/.]\d")
_TIME_OF_DAY = 0.5
_PLACE = re.compile(r":\d+$|:\d+:")


class Rank(NamedTuple):
    """Worth of a class and whether the budget grows before one of it is left out."""

    weight: float
    first: bool


_UNKNOWN = Rank(3.0, False)


def ranks_of(classes: Iterable[SpecificClass] = CLASSES) -> dict[str, Rank]:
    """Ranks by class name."""
    return {c.name: Rank(c.weight, c.first_rank) for c in classes}


def worth(survey: Survey, ranks: Mapping[str, Rank], *, values_first: bool = False) -> list[float]:
    """What showing each specific of one source is worth: by class, less for one of a crowd.

    Args:
        values_first: as in `DigestRequest`; every one of a crowd counts, and classes differ less.
    """
    titles = survey.titles
    found = [
        (_bare(spec, ranks) if values_first else _alone(spec, ranks))
        * (_IN_TITLE if titles and (home < titles or spec.cls == "name") else 1.0)
        * (_FAINT if number in survey.faint else 1.0)
        for number, (spec, home) in enumerate(zip(survey.specs, survey.home, strict=True))
    ]
    if values_first:  # once more: the title stands above the list of values anyway
        return [one * (_IN_TITLE if home < titles else 1.0) for one, home in zip(found, survey.home, strict=True)]
    return [one * share for one, share in zip(found, _of_crowd(survey), strict=True)]


def _of_crowd(survey: Survey) -> list[float]:
    """What is left of the worth of each where it has many like it: the same class behind the same key or word. What
    has few like it is worth more, unless most of its class are so."""
    alike = [_like(survey, spec, home) for spec, home in zip(survey.specs, survey.home, strict=True)]
    crowd = Counter(alike)
    rare = Counter(cls for (cls, _), times in crowd.items() if times <= _FEW)
    found: list[float] = []
    for cls, word in alike:
        times = crowd[cls, word]
        fall, of_rare = (_CROWD_OF_NAMES,) * 2 if cls in _NAMES else (_CROWD, _CROWD_OF_RARE)
        share = times**-fall * (1.0 if cls in _COMMON and not (word and cls in _NAMES) else 1.0 + _ALONE / times)
        found.append(share * rare[cls] ** -of_rare if times <= _FEW else share)
    return found


def _like(survey: Survey, spec: Specific, home: int) -> tuple[str, str]:
    """Class, and the key or else the word before it; of a name only one that is a key to it."""
    if spec.key:
        return spec.cls, spec.key if _NAME.fullmatch(spec.key) else ""
    text = survey.lines[home].text
    at = text.find(spec.text)
    before = (_KEYED if spec.cls in _NAMES else _BEFORE).search(text, max(0, at - _NEAR), at)
    return spec.cls, before[1] if before else ""


def _bare(spec: Specific, ranks: Mapping[str, Rank]) -> float:
    """By class, which differ less: recall counts each value as one."""
    return _ALONE_WORTH.get(spec.cls) or _alone(spec, ranks) ** _FLAT


def muted(spec: Specific) -> float:
    """What is left of the worth of a value where nothing stands beside it: a bare count says little, a name all."""
    share = _MUTED.get(spec.cls, 1.0) * (_ABOUT if spec.text.startswith("~") else 1.0)
    return share * _ROUND if spec.cls in _ROUNDED and not _FIGURES.search(spec.text) else share


def _alone(spec: Specific, ranks: Mapping[str, Rank]) -> float:
    """By class; an address that carries a hash is both, and a path with its line says where to look."""
    weight = ranks.get(spec.cls, _UNKNOWN).weight
    if spec.cls == "url":
        return weight + _HASH_INSIDE if _HEX.search(spec.text) else weight
    if spec.cls == "path":
        return weight if _PLACE.search(spec.text) else weight * _WITHOUT_LINE
    if spec.cls == "date" and not _DAY.search(spec.text):
        return weight * _TIME_OF_DAY
    return weight
