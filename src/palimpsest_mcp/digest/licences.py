"""Licence and copyright lines: they say nothing about what a text is."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LEGAL = re.compile(
    r"\W*(?:SPDX-|copyright\b|\(c\) |©|licensed (?:under|to)\b|all rights reserved|permission is hereby granted"
    r"|under the .{0,20}licen[cs]e)",
    re.IGNORECASE,
)
_LICENCE = re.compile(
    r"\b(?:licen[cs]ed? (?:under|to|file)|(?:apache|mit|gnu|bsd) .{0,30}licen[cs]e|copyright)\b", re.IGNORECASE
)
_IN_COMMENT = re.compile(r"\s*+(?:[#*|;]|//|/\*|--|<!--|-->|$)|\s+\S")
LEGAL = -2.0
"""What a licence or copyright line tells: its values may stand in the ledger."""


def legal(text: str) -> bool:
    """A licence or copyright line: it says nothing about what the text is."""
    return _LEGAL.match(text) is not None


def legal_head(texts: Sequence[str]) -> int:
    """How many lines at the beginning are a licence text in a comment; 0 where there is none."""
    end = next((n for n, text in enumerate(texts) if n > 3 and not _IN_COMMENT.match(text)), 0)
    found = [n for n in range(min(end, 60)) if _LICENCE.search(texts[n])]
    if not found:
        return 0
    return next((n for n in range(found[-1], end) if "*/" in texts[n] or "-->" in texts[n]), found[-1]) + 1


__all__ = ["LEGAL", "legal", "legal_head"]
