"""Words as PostgreSQL's tsvector has them: those of an entry, those of a query, and the pieces that words have.

A lexeme is `w` and a stem, `c` and a pair of characters of a script without spaces, or `t` and three letters that stand
side by side in a word, a blank at its ends among them; besides, whose an entry is and where it belongs. One GIN index
has them all, so that a piece of a word is looked for among the rows of its principal only, in any script and locale.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...ports.store import Entry
from ...text.stem import stem
from ..bm25 import Need, Text
from ..search_text import WORD, Term, cjk, fold, keys, parts, words

_MOST_KEYS_BYTES = 600_000
"""A tsvector takes a megabyte; the rarest of so large a text are as good as found by what comes first."""
_LONGEST_KEY = 500
_MOST_TIMES = 8
"""A word that stands oftener counts no more where candidates are chosen."""
_MOST_PIECES = 10_000
"""Of one entry."""
_SHORTEST_INSIDE = 4
"""Letters of what is looked for inside of words."""
_SHORTEST_MISSPELT = 6
"""Letters of what may differ from a word by one of them."""
_LONGEST_IN_PIECES = 64
"""Longer words have no pieces: they are nothing that somebody types."""
_FREQUENT = "etaoinshrdlcumwfgypbvkjxqz"
"""Letters of English, the most frequent first; what is none of them counts as the most frequent, whatever it is."""
_MOST_WRONG = 4
"""Pieces of a word that one wrong letter is in."""
_MOST_GAPS = 3
"""Ways to leave them out."""
_MOST_ASKED = 3
"""Pieces of what is looked for inside of words."""
_MOST_NEAR = 16
"""Words that stand for one that nothing has."""


def lexeme(text: str) -> str:
    """A lexeme in the quotes that both types take."""
    return f"'{_QUOTED.sub(lambda one: one.group() * 2, text)}'"


_QUOTED = re.compile(r"['\\]")


def vector(entry: Entry, scope: Sequence[str]) -> str:
    """The entry's words with as many places as they stand at, since these count where candidates are chosen."""
    both = f"{entry.named}\n{entry.text}"
    whole = words(both)
    counts = Counter(f"w{stem(fold(word))}" for word in WORD.findall(whole))
    counts.update(f"w{key}" for word in WORD.findall(parts(both)) for key in keys(word))
    counts.update(f"c{fold(pair)}" for pair in cjk(both).split())
    named = {f"w{stem(fold(word))}" for word in WORD.findall(words(entry.named))}
    found = [lexeme(one) for one in scope]
    size = 0
    for word, times in counts.items():
        size += len(word.encode("utf-8", "replace")) + 8
        if len(word) > _LONGEST_KEY or size > _MOST_KEYS_BYTES:
            continue
        weight = "A" if word in named else ""
        found.append(f"{lexeme(word)}:{','.join(f'{at}{weight}' for at in range(1, min(times, _MOST_TIMES) + 1))}")
    return " ".join([*found, *map(lexeme, _pieces_of(whole))])


def _pieces_of(text: str) -> list[str]:
    several = {fold(word) for word in dict.fromkeys(WORD.findall(text)) if _has_pieces(word)}
    pieces: dict[str, None] = {}
    for word in sorted(several):
        pieces.update(dict.fromkeys(_pieces(f" {word} ")))
        if len(pieces) > _MOST_PIECES:
            break
    return list(pieces)[:_MOST_PIECES]


def _has_pieces(word: str) -> bool:
    """Whether something shorter may be looked for in it. A code with digits is found by itself and its beginning: its
    pieces would be a third of all."""
    return _SHORTEST_INSIDE < len(word) <= _LONGEST_IN_PIECES and not _has_digits(word)


def _has_digits(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


def _pieces(text: str) -> list[str]:
    return [f"t{text[at : at + 3]}" for at in range(len(text) - 2)]


def expression(need: Need) -> str:
    """A need as a tsquery; a phrase is all of its words, which the scorer then looks for side by side."""
    term = need.term
    if term.cjk:
        return " & ".join(_pair(pair) for pair in term.words)
    if need.near and not need.prefix:
        return " | ".join(dict.fromkeys(_word(word, prefix=False) for word in (*term.words, *need.near)))
    lexemes = [_word(word, prefix=need.prefix) for word in term.words]
    return " & ".join(lexemes)


def _word(word: str, *, prefix: bool) -> str:
    key = fold(word)
    if prefix:
        return lexeme(f"w{key[:_LONGEST_KEY]}") + ":*"
    whole = lexeme(f"w{stem(key)}"[: _LONGEST_KEY + 1])
    return whole


def _pair(pair: str) -> str:
    folded = fold(pair)
    return lexeme(f"c{folded}") + (":*" if len(pair) == 1 else "")


# Where nothing has a word, whole or as a beginning, words stand for it that have it inside, or differ by one letter.


def may_be_near(term: Term) -> bool:
    """Whether a term may stand for words that only resemble it: a number is itself or nothing."""
    word = term.words[0]
    return not term.cjk and not term.several and len(word) >= _SHORTEST_INSIDE and not _has_digits(word)


class Near(NamedTuple):
    """What finds entries that may have words which stand for a term."""

    inside: str
    """With it inside."""
    halves: tuple[str, ...]
    """Ways to find what differs by a letter, with other endings too: of few entries, since half a word is in many."""
    gaps: tuple[str, ...]
    """The same of many entries: all of the word but a gap, wherever that is; at its end `s` may stand or not."""
    ranking: str
    """What says how likely each is."""


def near_expressions(term: Term) -> Near:
    """Ways to find what resembles a term.

    One letter too many, too few or wrong, or two that changed places, leave a word's beginning or its end as it was,
    and are in four of its pieces at most, which stand side by side.
    """
    word = fold(term.words[0])
    halves: list[Sequence[str]] = []
    gaps: list[str] = []
    if len(word) >= _SHORTEST_MISSPELT:
        rest = (len(word) - 2) // 2
        halves = [_pieces(f" {word[:rest]}"), _pieces(f"{word[-rest:]} ")]
        gaps = _with_gaps(word)
    inside = _joined(" & ", _rarest(_pieces(word)))
    return Near(
        inside, tuple(_joined(" & ", half) for half in halves), tuple(gaps), _joined(" | ", _pieces(f" {word} "))
    )


class Way(NamedTuple):
    """One way to find what resembles a need."""

    number: int
    finds: str
    ranking: str
    kind: int


_HALF, _GAP, INSIDE = range(3)
"""Kinds: the first is for few entries, the second for many, the last where the other two find nothing."""


def ways_to(number: int, need: Need) -> list[Way]:
    """By letters that are wrong, and inside of words."""
    inside, halves, gaps, ranking = near_expressions(need.term)
    ways = [(_HALF, one) for one in halves] + [(_GAP, one) for one in gaps] + [(INSIDE, inside)]
    return [Way(number, one, ranking, kind) for kind, one in ways]


def _with_gaps(word: str) -> list[str]:
    base = word[:-1] if word.endswith("s") and len(word) > _SHORTEST_MISSPELT else word
    *pieces, end = _pieces(f" {base} ")
    said = [*map(lexeme, pieces), f"({lexeme(end)} | {lexeme(f't{base[-2:]}s')})"]
    step = -(-(len(said) - _MOST_WRONG + 1) // _MOST_GAPS)
    starts = range(0, len(said) - _MOST_WRONG + 1, step)
    return [" & ".join(dict.fromkeys(said[:start] + said[start + step + _MOST_WRONG - 1 :])) for start in starts]


def _rarest(pieces: Sequence[str]) -> list[str]:
    """Those of the rarest letters: each piece that is asked for costs a look at all that have it."""
    return sorted(dict.fromkeys(pieces), key=lambda one: (-sum(map(_FREQUENT.find, one[1:])), one))[:_MOST_ASKED]


def _joined(sign: str, pieces: Iterable[str]) -> str:
    return sign.join(map(lexeme, dict.fromkeys(pieces)))


def near(term: Term, texts: Iterable[Text]) -> tuple[str, ...]:
    """The words of some texts that stand for a term: those that have it inside, shortest first; else those that differ
    by one letter."""
    word = fold(term.words[0])
    known = set(WORD.findall(fold(words("\n".join([f"{text.named}\n{text.body}" for text in texts])))))
    found = [one for one in known if word in one and len(one) <= _LONGEST_IN_PIECES]
    if not found and len(word) >= _SHORTEST_MISSPELT:
        begun = stem(word)
        found = [one for one in known if one_letter_off(word, one) or one_letter_off(begun, stem(one))]
    return tuple(sorted(found, key=lambda one: (len(one), one))[:_MOST_NEAR])


def one_letter_off(one: str, other: str) -> bool:
    """Whether a letter too many, too few or wrong, or two neighbours that changed places, make one word of another."""
    if not -2 < len(one) - len(other) < 2 or (one[:1] != other[:1] and one[-1:] != other[-1:]):
        return False  # one letter is not both the first and the last
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if short == long or len(short) < _SHORTEST_INSIDE:
        return False
    at = next((n for n, sign in enumerate(short) if sign != long[n]), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[:at] + short[at : at + 2][::-1] + short[at + 2 :]
    return short[at + 1 :] == long[at + 1 :] or swapped == long
