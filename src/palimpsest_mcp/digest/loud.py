"""The few lines that cry out among many that do not, whatever the text is: an ERROR in a listing, a FIXME in code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .units import Unit

_LOUD = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL|PANIC|FAILED|FAILURE|FIXME|XXX)\b|\b(?:[Ee]rror|[Ff]ailed|[Ff]atal|[Pp]anic): "
)
_FEW, _SHARE = 2, 0.03
"""Loud lines up to which they are few: so many, or this share of all."""
_TELLS = 1.8


def raise_loud(units: Sequence[Unit]) -> None:
    """Let loud lines tell more where they are few; where every line is loud none of them stands out."""
    loud = [unit for unit in units if _LOUD.search(unit.text)]
    if len(loud) <= max(_FEW, _SHARE * len(units)):
        for unit in loud:
            unit.gist = max(unit.gist, _TELLS)


__all__ = ["raise_loud"]
