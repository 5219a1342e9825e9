"""Quotes for a summary: masked first, whole words, marked where something was cut off."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from .naming import tidy

Mask: TypeAlias = Callable[[str], str]
"""A text with its secrets masked. It sees whole texts: half a secret may not look like one."""

CUT = " […]"
"""Ends what was cut off between words."""
MAX_MASKED = 40_000
"""Characters of one text that are masked to quote from it: of a longer one, both ends in whole lines."""
_SPACE = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def ends_of(text: str) -> str:
    """The text, or where it is too long whole lines from both its ends."""
    if len(text) <= MAX_MASKED:
        return text
    half = MAX_MASKED // 2
    return text[: text.rfind("\n", 0, half) + 1 or half] + "\n" + text[text.find("\n", len(text) - half) + 1 :]


def one_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut between words and marked."""
    line = _SPACE.sub(" ", tidy(text)).strip()
    if len(line) <= limit:
        return line
    end = line.rfind(" ", limit // 2, limit - len(CUT) + 1)
    return line[: end if end > 0 else limit - len(CUT)].rstrip() + CUT


def paragraph(text: str, limit: int) -> str:
    """The text with its lines, cut between words after `limit` characters and marked."""
    text = tidy(text)
    if len(text) <= limit:
        return text
    end = max(text.rfind(" ", limit // 2, limit), text.rfind("\n", limit // 2, limit))
    return text[: end if end > 0 else limit].rstrip() + CUT


def sentences(text: str) -> list[str]:
    """Sentences and lines, without white space around them."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]
