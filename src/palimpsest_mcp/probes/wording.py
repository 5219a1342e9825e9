"""What of a sentence or a line must be found again: its names and numbers, else the words themselves."""

from __future__ import annotations

import re
from typing import Final

from .answering import stands_whole

MAX_VALUES: Final = 3
MAX_WORDS: Final = 120
"""Characters of a sentence that has no names: so much of it is expected word for word."""
LEAST: Final = 4
"""Shorter values stand anywhere by chance."""

_NAME = re.compile(
    r"`([^`\n]{2,60})`"
    r"|(https?://[^\s\"'<>()\[\]{}|\\^`]*[\w/])"
    r"|(?<![\w/.-])((?:[\w.-]+/)+[\w.-]*\w)"  # a path
    r"|\b([A-Za-z]\w*(?:[._]\w+)+)\b"  # a dotted or snake_case name
    r"|\b([a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}-?\d+|[A-Z]{3,})\b"  # camelCase, tickets, constants
    r"|(?<![\w.])(\d[\d,.]*\d(?:%|\w+)?)(?![\w])"  # numbers with their unit
)


MARK: Final = re.compile(r"\[redacted:[^\[\]\n]{1,80}\]")
"""What stands for a secret: nothing of it is a value of the text."""


def values_of(sentence: str) -> tuple[str, ...]:
    """The names and numbers of a sentence, at most three; without any, its words as they stand; empty for none."""
    found = dict.fromkeys(
        value for match in _NAME.finditer(MARK.sub(" ", sentence)) for value in match.groups() if value
    )
    values = tuple(value for value in found if len(value) >= LEAST and stands_whole(sentence, value))[:MAX_VALUES]
    if values:
        return values
    words = clipped(sentence)
    return (words,) if len(words) >= LEAST else ()


def clipped(text: str) -> str:
    """As much of a text as can be asked for, in whole words."""
    words = text.strip()
    return words if len(words) <= MAX_WORDS else words[:MAX_WORDS].rpartition(" ")[0]


def first_line(text: str, least: int = 12) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.split("\n") if len(line.strip()) >= least), "")
