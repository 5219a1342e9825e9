"""The few lines that cry out among many that do not, whatever the text is: an ERROR in a listing, a FIXME in code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .units import Unit

LOUD = (
    re.compile(
        r"\b(?:ERROR|FATAL|CRITICAL|PANIC|FAILED|FAILURE|FIXME|XXX)\b"
        r"|(?:\b|\w)(?:[Ee]rror|[Ff]ailed|[Ff]atal|[Pp]anic|Exception): "
    ),
    re.compile(
        r"\b(?:Exited|Restarting) \([1-9]"
        r"|\b(?:unhealthy|CrashLoopBackOff|ImagePullBackOff|OOMKilled|Evicted|Killed|WARN|WARNING)\b"
        r"|\b(?:[Nn]ot found|denied|refused|[Tt]imed out|[Cc]annot|[Aa]borted)\b"
    ),
)
"""The loudest words, and those that stand out where none of the former does."""
STEMS = (
    ("ERROR", "FATAL", "CRITICAL", "PANIC", "FAIL", "FIXME", "XXX", "rror: ", "ailed: ", "atal: ", "anic: ", "ption: "),
    ("Exited (", "Restarting (", "unhealthy", "BackOff", "Killed", "Evicted", "WARN", "ot found", "denied", "refused")
    + ("imed out", "annot", "borted"),
)
"""One of these stands in whatever such a pattern finds: looked for first, since that is many times quicker."""
_OF_DOCUMENT = re.compile(r"\s*+(?:[-*+>|] |#+ )|.{160}")
"""Headings, items, cells and paragraphs speak of errors that did not happen."""
_FEW, _SHARE = 3, 0.03
"""Loud lines up to which they are few: so many, or this share of all."""
_TELLS = 1.8
_CAUSE = "Caused by: "
"""Begins the line of a stack trace that tells the most: the last one names the root of the trouble."""


def raise_loud(units: Sequence[Unit]) -> None:
    """Mark loud lines, and let them tell more, where they are few; where every line is loud none of them stands out."""
    whole = "\n".join([unit.text for unit in units])
    for words, stems in zip(LOUD, STEMS, strict=True):
        maybe = {id(unit): unit for stem in stems if stem in whole for unit in units if stem in unit.text}
        loud = [
            unit
            for unit in maybe.values()
            if words.search(unit.text) and not (words is LOUD[1] and _OF_DOCUMENT.match(unit.text))
        ]
        if loud:
            if len(loud) <= max(_FEW, _SHARE * len(units)):
                for unit in loud:
                    unit.loud = True
                    unit.gist = max(unit.gist, _TELLS + unit.text.startswith(_CAUSE) / 10)
            return


def loudest_first(units: Sequence[Unit]) -> list[int]:
    """Places of the loud units: those that tell the most, of equals the first, then the last, then those between."""
    loud = [index for index, unit in enumerate(units) if unit.loud]
    ordered = loud[:1] + loud[:0:-1][:1] + loud[1:-1]
    return sorted(ordered, key=lambda index: -units[index].gist)


__all__ = ["LOUD", "STEMS", "loudest_first", "raise_loud"]
