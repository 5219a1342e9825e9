"""The words that say what a value is: the nearest key to its left, in the same line."""

from __future__ import annotations

import re

from .vocabulary import KEY_WORDS

LONGEST_KEY = 40
"""Characters; a longer run is prose, not a key."""

_LOOK = LONGEST_KEY + 40
# All three read the text before the value backwards. A type between name and value (`timeout: float = 5.0`) is no key.
_OPENERS, _SIGNS = " \t\"'`([{$<\\*", frozenset("=:>")  # of a pair: what may stand between its sign and the value
_OPEN = r"[\"'`(\[{$<\\]{0,4}[ \t]{0,16}\*{0,2}"
_CLOSE = r"[ \t]{0,16}[\"'`)\]*\\]{0,4}"
_PAIR = re.compile(rf"{_OPEN}(?:=[ \t]{{0,4}}[0-9A-Za-z_.\]\[|]{{1,24}} ?:|>=|[=:]){_CLOSE}([0-9A-Za-z_.$@/-]+)")
_FLAG = re.compile(r"[\"']?[ =]([0-9A-Za-z_-]*[0-9A-Za-z])--?(?:[\s\"'(\[]|$)")
_NAMED = re.compile(
    r" (?::|=)?((?:"
    + "|".join(
        word[::-1]
        for word in sorted(
            KEY_WORDS,
            key=lambda w: (-len(w), w),
        )
    )
    + r"))(?![0-9A-Za-z_])"
)
_NAMED_ENDS = frozenset(":=") | {word[-1] for word in KEY_WORDS}


def key_before(text: str, start: int) -> str:
    """Key of the value at `start`, without quotes, empty where none stands right before it."""
    before = text[start - 1 : start]
    if before not in " \t=:\"'`([{$<" or not before:
        return ""
    left = text[max(0, start - _LOOK) : start]
    left = left[left.rfind("\n") + 1 :]
    if left.rstrip(_OPENERS)[-1:] in _SIGNS:
        found = _PAIR.match(left[::-1])
        if found:
            return _clean(found[1][::-1])
    if before == " ":
        back = left[::-1]
        found = _FLAG.match(back) if "-" in left else None
        if found is None and left[-2:-1] in _NAMED_ENDS:
            found = _NAMED.match(back)
        if found:
            return _clean(found[1][::-1])
    return ""


def _clean(key: str) -> str:
    key = key.lstrip("-./$").rstrip("-./$@")
    return key if len(key) <= LONGEST_KEY and any(c.isalpha() for c in key) else ""
