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
        words[number] = _words_of(texts[number])
    return {number for number, _ in _pairs(texts, texts, words, words)}


def held_by(texts: Mapping[int, str]) -> dict[int, list[int]]:
    """Per text that others stand in, those others, between characters of no word."""
    words = {number: _words_of(text) for number, text in texts.items()}
    found: dict[int, list[int]] = {}
    for number, other in _pairs(texts, texts, words, words):
        found.setdefault(other, []).append(number)
    return found


def inside_of(texts: Mapping[int, str], holders: Mapping[int, str]) -> set[int]:
    """Which of these texts stand in a longer one of `holders`, between characters of no word."""
    words = {number: _words_of(text) for number, text in texts.items()}
    theirs = {number: _words_of(text) for number, text in holders.items()}
    return {number for number, _ in _pairs(texts, holders, words, theirs)}


def _words_of(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _pairs(
    texts: Mapping[int, str],
    holders: Mapping[int, str],
    words: Mapping[int, set[str]],
    theirs: Mapping[int, set[str]],
) -> Iterator[tuple[int, int]]:
    by_word: dict[str, list[int]] = {}
    for number in holders:
        for word in theirs[number]:
            by_word.setdefault(word, []).append(number)
    for number, text in texts.items():
        if words[number]:
            # Of equally rare words always the same one: a set has another order in every process.
            rarest = min(words[number], key=lambda word: (len(by_word.get(word, ())), word))
            for other in by_word.get(rarest, ())[:_NEAR]:
                if text in holders[other] and len(holders[other]) > len(text) and _stands(holders[other], text):
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
