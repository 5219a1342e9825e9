"""Values that stand whole inside a longer one: `2.7.0` in `urllib3-2.7.0.tar.gz`."""

from __future__ import annotations

import re
from collections.abc import Mapping

_WORD = re.compile(r"\w+")
_NEAR = 40
"""Longer ones with the same rarest word that are looked at; so the time stays linear, whatever the values are."""


def inside_longer(texts: Mapping[int, str], words: dict[int, set[str]]) -> set[int]:
    """Which of these texts stand in a longer one of them, between characters of no word.

    Args:
        words: of each number, as far as it was asked for before; filled here.
    """
    for number in texts.keys() - words.keys():
        words[number] = set(_WORD.findall(texts[number]))
    holders: dict[str, list[str]] = {}
    for number, text in texts.items():
        for word in words[number]:
            holders.setdefault(word, []).append(text)
    found: set[int] = set()
    for number, text in texts.items():
        if words[number]:
            near = min((holders[word] for word in words[number]), key=len)[:_NEAR]
            longer = [other for other in near if text in other and len(other) > len(text)]
            if any(_stands(other, text) for other in longer):
                found.add(number)
    return found


def _stands(longer: str, text: str) -> bool:
    at = longer.find(text)
    while at >= 0:
        after = longer[at + len(text) : at + len(text) + 1]
        if not (at and _goes_on(longer[at - 1], text[0])) and not (after and _goes_on(after, text[-1])):
            return True
        at = longer.find(text, at + 1)
    return False


def _goes_on(outside: str, edge: str) -> bool:
    return (outside.isalnum() or outside == "_") and (edge.isalnum() or edge == "_")


__all__ = ["inside_longer"]
