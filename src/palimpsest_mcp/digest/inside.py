"""Values that stand whole inside a longer one: `2.7.0` in `urllib3-2.7.0.tar.gz`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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


def held_by(texts: Mapping[int, str]) -> dict[int, list[int]]:
    """Per text that others stand in, those others, between characters of no word."""
    found: dict[int, list[int]] = {}
    for number, other in _pairs(texts, texts):
        found.setdefault(other, []).append(number)
    return found


def inside_of(texts: Mapping[int, str], holders: Mapping[int, str]) -> set[int]:
    """Which of these texts stand in a longer one of `holders`, between characters of no word."""
    return {number for number, _ in _pairs(texts, holders)}


def _pairs(texts: Mapping[int, str], holders: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    by_word: dict[str, list[int]] = {}
    for number, text in holders.items():
        for word in set(_WORD.findall(text)):
            by_word.setdefault(word, []).append(number)
    for number, text in texts.items():
        words = set(_WORD.findall(text))
        if words:
            for other in min((by_word.get(word, []) for word in words), key=len)[:_NEAR]:
                if len(holders[other]) > len(text) and _stands(holders[other], text):
                    yield number, other


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


__all__ = ["held_by", "inside_longer", "inside_of"]
