"""Draws texts that a rule's pattern matches, so that a test can go over all rules, and over those to come."""

from __future__ import annotations

import importlib
import random
import re
import string
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_ALNUM = string.ascii_letters + string.digits
_CATEGORIES = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_WORD": _ALNUM,
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_SPACE": _ALNUM,
    "CATEGORY_NOT_WORD": " ",
    "CATEGORY_NOT_DIGIT": string.ascii_letters,
}


def drawn(source: str, seed: int) -> str:
    """A text that the RE2 pattern matches, letters and digits where it leaves that open; the same for the same seed."""
    python = re.sub(r"\(\?[im]+\)", "", source).replace(r"\z", r"\Z")
    return _drawn(_parser.parse(python), random.Random(f"{seed}{source}"))


def _drawn(parts: Any, by: random.Random) -> str:
    return "".join(_one(str(op), value, by) for op, value in parts)


def _one(op: str, value: Any, by: random.Random) -> str:
    if op == "LITERAL":
        return chr(value)
    if op in ("ANY", "NOT_LITERAL"):
        return by.choice(_ALNUM)
    if op == "IN":
        return by.choice(sorted(_set(value)))
    if op in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = value
        size = min(least + (14 if int(most) > 40 and least < 40 else 0), int(most)) if least else min(int(most), 1)
        return "".join(_drawn(inner, by) for _ in range(size))
    if op == "SUBPATTERN":
        return _drawn(value[3], by)
    if op == "BRANCH":
        return _drawn(by.choice(value[1]), by)
    return ""


def _set(items: Any) -> set[str]:
    signs: set[str] = set()
    negated = False
    for op, value in items:
        if str(op) == "NEGATE":
            negated = True
        elif str(op) == "LITERAL":
            signs.add(chr(value))
        elif str(op) == "RANGE":
            signs |= {chr(code) for code in range(value[0], min(value[1], 126) + 1)}
        else:
            signs |= set(_CATEGORIES[str(value)])
    return set(_ALNUM) - signs or {" "} if negated else signs & set(_ALNUM) or signs
