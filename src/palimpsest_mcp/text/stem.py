"""English words without their endings: Porter 1980, as SQLite's FTS5 has it. Other words stay as they are."""

from __future__ import annotations

import functools
import itertools

_ENDINGS_2 = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("logi", "log")),
    *(("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize")),
    *(("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
    *(("aliti", "al"), ("iviti", "ive"), ("biliti", "ble")),
)
_ENDINGS_3 = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")),
)
_ENDINGS_4 = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize"),
    *("al", "er", "ic", "ou"),
)
_LONGEST = 64
"""A longer token is no word."""


@functools.lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """The stem of a word in lower case."""
    if not 3 <= len(word) <= _LONGEST or not (word.isascii() and word.isalpha()):
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for endings in (_ENDINGS_2, _ENDINGS_3):
        for ending, instead in endings:
            if word.endswith(ending) and _measure(word[: -len(ending)]) > 0:
                word = word[: -len(ending)] + instead
                break
    for ending in _ENDINGS_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if _measure(rest) > 1 and (ending != "ion" or rest[-1] in "st"):
                word = rest
            break
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _plural(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and _has_vowel(rest):
            if rest.endswith(("at", "bl", "iz")):
                return rest + "e"
            if len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "aeioulsz":
                return rest[:-1]
            return rest + "e" if _measure(rest) == 1 and _ends_short(rest) else rest
    return word


def _vowels(word: str) -> list[bool]:
    found: list[bool] = []
    for sign in word:
        found.append(sign in "aeiou" or (sign == "y" and bool(found) and not found[-1]))
    return found


def _has_vowel(word: str) -> bool:
    return any(_vowels(word))


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    return sum(1 for one, other in itertools.pairwise(_vowels(word)) if one and not other)


def _ends_short(word: str) -> bool:
    """Consonant, vowel, consonant, and the last is no w, x or y."""
    return len(word) > 2 and _vowels(word)[-3:] == [False, True, False] and word[-1] not in "wxy"
