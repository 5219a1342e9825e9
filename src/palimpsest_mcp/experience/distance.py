"""How far two wordings are from one another, and which of them are one pattern. No model; figures: docs/experience.md.

A wording is a set of meaningful stems, each with its role: wanted, not wanted (`not X`, `instead of X`), before, after.
Two wordings are near where one holds nearly all of the other. A word that each has and the other lacks (`sort by date`,
`sort by price`) makes two rules of them, however much else they share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..models.pattern import late
from .forms import CJK, NUMBERS, folded, form_of, stem_of, written_out

NEAR = 0.7
"""Least share of all stems of two wordings that both have, where one of them holds the other."""
LEAST_SHARED = 2
"""Stems that two wordings must share; of one word nearly everything may be said."""
_MOST_BENT = 2
"""Words of two wordings that may be one word, written or bent in another way."""
_NEAR_CJK = 0.7
"""The same for scripts without spaces, in characters."""
_MOST_CANDIDATES = 64
"""Patterns that a wording is compared with: those that share its rarest stems."""

_TOKEN = late(rf"(?<!\S)--?[a-z][\w-]*|(?:(?![{CJK}])[^\W\d_])(?:(?![{CJK}])\w)*(?:\+\+|#)?")
_SILENT = frozenset(
    """
    a an the this that these those it its they them their you your we our i my me he she one ones some any is are was
    were be been being am do does did done have has had can could would will may might shall should must need needs
    needed want wants try tries make makes made making sure let lets please just simply always usually generally often
    really very also too then so thus and or but as by for from in into of on onto at to with using via through within
    per there here where when while whenever if once each every both which who what how than such use uses used prefer
    prefers preferred choose take takes taken apply applies applied employ utilize utilise pick put puts give gives get
    gets go goes come comes work works necessary required
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Words that tell no rule from another."""
_TWO_WORDS = late(r"\b(?:instead of|rather than|in place of)\b|\bleave[sn]? out\b|\bleaving out\b")
_PREFERRED_OVER = late(r"\bprefer(s|red)?\b(?P<what>[^,.;]*?)\bover\b")
_FROM_TO = late(r"\bfrom\b([^,.;]{1,40}?)\bto\b")
_NEGATORS = late(r"not|never|no|nor|without|except|(?:avoid|skip|omit|ignor|exclud|disabl)(?:e|s|es|p?ing)?")
_NOT = "¬"
_ROLES = {"before": "<", "after": ">", "until": "<", "unless": "?", "fromhere": "from ", "tohere": "to "}
_SAME = {
    "option": "flag", "switch": "flag", "argu": "flag", "folder": "directory", "dir": "directory", "env": "environ",
    "config": "configur", "repo": "repository", "db": "databas", "docs": "docu", "doc": "docu",
    "lockfil": "lock", "remov": "strip", "delet": "strip", "drop": "strip", "verify": "check",
    "valid": "check", "rais": "increas", "enlarg": "increas", "reduc": "decreas",
    "lower": "decreas", "locat": "find", "execut": "run", "fetch": "download",
    "written": "writ", "wrot": "writ", "built": "build", "sent": "send", "found": "find", "ran": "run", "kept": "keep",
    "broken": "break", "brok": "break", "chosen": "choos", "chos": "choos", "held": "hold", "shown": "show",
    "began": "begin", "begun": "begin", "bought": "buy", "taught": "teach", "spent": "spend",
}  # fmt: skip
"""Stem -> the one that stands for it."""


class Wording(NamedTuple):
    """What two wordings are compared by."""

    sign: str
    """`-` where it forbids."""
    stems: frozenset[str]
    """With their roles; empty for scripts without spaces."""
    signs: str
    """Of scripts without spaces: the text without white space and punctuation; else empty."""


@lru_cache(maxsize=20_000)
def wording_of(text: str) -> Wording:
    """The stems of a text."""
    said = written_out(folded(text))
    form = form_of(text)
    cjk = re.findall(f"[{CJK}]", said)
    if len(cjk) >= 4:
        return Wording(form.key[:1], frozenset(), re.sub(r"[\W_]+", "", said))
    said = _PREFERRED_OVER.sub(r"\g<what> not ", said)
    found: dict[str, None] = {}
    role = ""
    for match in _TOKEN.finditer(_TWO_WORDS.sub(" not ", _FROM_TO.sub(r" fromhere \1 tohere ", said))):
        word = match[0]
        if _NEGATORS.fullmatch(word):
            role = _NOT
        elif word in _ROLES:
            role = _ROLES[word]
        elif word not in _SILENT and word not in NUMBERS:
            found[role + _stem(word)] = None
            role = ""
    if role == _NOT and found:  # a negation that stands last means all of it
        first = next(iter(found))
        return Wording(form.key[:1], frozenset((*found, _NOT + first)) - {first}, "")
    return Wording(form.key[:1], frozenset(found), "")


def is_near(one: Wording, other: Wording) -> bool:
    """Whether two wordings say the same."""
    if one.signs or other.signs:
        return bool(one.signs and other.signs) and one.sign == other.sign and _holds(one.signs, other.signs)
    if one.sign != other.sign and not (_both_sides(one) and one.stems == other.stems):
        return False
    shared = one.stems & other.stems
    left, right = one.stems - shared, other.stems - shared
    if left and right and (min(len(left), len(right)) > _MOST_BENT or len(shared) < LEAST_SHARED):
        return False  # no word of both sides can be one
    alike = {(a, b) for a in left for b in right if _one_word(a, b)}
    left, right = left - {a for a, _ in alike}, right - {b for _, b in alike}
    both = len(shared) + len(alike)
    if left and right or both < LEAST_SHARED:
        return False
    return both >= NEAR * (both + len(left) + len(right))


def _both_sides(one: Wording) -> bool:
    """Whether it names what is wanted and what is not: then a negation says no more than `instead of`."""
    return len({stem.startswith(_NOT) for stem in one.stems}) == 2


def _one_word(one: str, other: str) -> bool:
    """Whether two stems are one word, written or bent in another way: a letter more or two in turn, never another."""
    short, long = sorted((one, other), key=len)
    if len(short) < 6 or short[0] != long[0] or len(long) - len(short) > 1:
        return False
    if len(short) < len(long):
        at = next((i for i, sign in enumerate(short) if sign != long[i]), len(short))
        return short[at:] == long[at + 1 :]
    differ = [i for i, sign in enumerate(short) if sign != long[i]]
    return (
        len(differ) == 2
        and differ[1] == differ[0] + 1
        and short[differ[0]] == long[differ[1]]
        and (short[differ[1]] == long[differ[0]])
    )


def _holds(one: str, other: str) -> bool:
    """Whether the longer text is the shorter one with signs put in."""
    short, long = sorted((one, other), key=len)
    rest = iter(long)
    return len(short) >= _NEAR_CJK * len(long) and all(sign in rest for sign in short)


def _stem(word: str) -> str:
    stem = stem_of(word)
    if stem.isascii() and stem.isalpha() and len(stem) >= 6:
        stem = re.sub(r"(?:ation|e?ment|at|ion)$", "", stem)
        stem = re.sub(r"([bdglmnprt])\1$", r"\1", stem)
    return _SAME.get(stem, stem)


def near_groups(patterns: Iterable[tuple[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Patterns that are one: each name under the first one that it is near to, never by way of a third.

    Args:
        patterns: name and wordings of each, the most telling first.
    """
    leaders: list[tuple[str, list[Wording]]] = []
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    groups: dict[str, list[str]] = {}
    for name, texts in patterns:
        wordings = list(dict.fromkeys(map(wording_of, texts)))
        keys = {key for one in wordings for key in _keys(one)}
        found = next((at for at in _candidates(keys, by_key) if _any_near(wordings, leaders[at][1])), None)
        if found is not None:
            groups[leaders[found][0]].append(name)
            continue
        for key in keys:
            by_key[key].append(len(leaders))
        leaders.append((name, wordings))
        groups[name] = [name]
    return groups


def _any_near(some: Sequence[Wording], others: Sequence[Wording]) -> bool:
    return any(is_near(one, other) for one in some for other in others)


def _candidates(keys: Iterable[str], by_key: Mapping[str, list[int]]) -> list[int]:
    """Leaders that share something, in their order: a bounded number, of what is rarest first."""
    found: dict[int, None] = {}
    for key in sorted(keys, key=lambda key: (len(by_key.get(key, ())), key)):
        found.update(dict.fromkeys(by_key.get(key, ())[:_MOST_CANDIDATES]))
        if len(found) >= _MOST_CANDIDATES:
            break
    return sorted(found)


def _keys(one: Wording) -> Iterable[str]:
    return one.stems or {one.signs[at : at + 2] for at in range(len(one.signs) - 1)}
