"""Counted nouns: `1 batch`, `2,400 batches`. Every number that is printed before its noun goes through here."""

from __future__ import annotations

import re

_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
_ENDING_Y = re.compile(r"(?<=[^aeiou])y$")


def counted(number: int, noun: str) -> str:
    """`1 session`, `2,400 sessions`, `0 batches`, `3 fetched copies`.

    Args:
        noun: in the singular; its last word is what is counted.
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """`batches` of `batch`, `retries` of `retry`."""
    if _HISSING.search(noun):
        return f"{noun}es"
    named, count = _ENDING_Y.subn("ies", noun)
    return named if count else f"{noun}s"


def verb(number: int, one: str, more: str) -> str:
    """`was` for one, else `were`; whatever the two forms are."""
    return one if number == 1 else more
