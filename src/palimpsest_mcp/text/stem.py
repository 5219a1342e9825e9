"""English words without their endings: Porter 1980, as SQLite's FTS5 has it. Other words stay as they are. Beside it
the forms that share no stem: `went` for `go`."""

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


# Irregular words: a textbook's list, without what is common as another word (`ground`, `bore`) and without what a
# search leaves out (`did`).

_ROWS = """
become became, begin began begun, bend bent, bite bitten, bleed bled, blow blew blown, break broke broken,
bring brought, build built, buy bought, catch caught, choose chose chosen, come came, creep crept, deal dealt, dig dug,
draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed,
feel felt, fight fought, flee fled, fly flew flown, forget forgot forgotten, forgive forgave forgiven,
freeze froze frozen, get got gotten, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
keep kept, know knew known, lay laid, lead led, lean leant, leap leapt, learn learnt, leave left, lend lent, light lit,
lose lost, make made, mean meant, meet met, pay paid, ride rode ridden, ring rang rung, rise rose risen, run ran,
say said, see saw seen, seek sought, sell sold, send sent, shake shook shaken, shine shone, shoot shot,
shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spend spent,
spin spun, stand stood, steal stole stolen, stick stuck, strike struck, swear swore sworn, sweep swept, swim swam swum,
swing swung, take took taken, teach taught, tear tore torn, think thought, throw threw thrown, understand understood,
wake woke woken, wear wore worn, win won, write wrote written,
child children, man men, woman women, person people, foot feet, tooth teeth, mouse mice, goose geese, wife wives,
life lives, knife knives, half halves
"""


@functools.cache
def _by_stem() -> dict[str, tuple[str, ...]]:
    return {stem(word): tuple(row) for row in (row.split() for row in _ROWS.split(",")) for word in row}


def forms(word: str) -> tuple[str, ...]:
    """The other forms of a word in lower case that its stem does not find."""
    own = stem(word)
    return tuple(one for one in _by_stem().get(own, ()) if stem(one) != own)
