"""Settings and markup of data (YAML, TOML, INI, XML): each line below the names that lead to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..lines import Place, fits
from .commands import LEGAL, legal, legal_head

_SECTION = re.compile(r"\s*+\[{1,2}[^\[\]]+\]{1,2}\s*(?:[#;].*)?$")
_COMMENTS = ("#", ";", "//", "<!--")
_CLOSING = re.compile(r"\s*+(?:</[^<>]+>|[\]})]+[,;]?|-->)\s*$")
_OPENING = re.compile(r"\s*+(?:- +)?(?:[\w.$/@\"' -]+[:=]\s*(?:[|>\[{][-+]?)?|<\w[^<>]*>|- *)\s*(?:#.*)?$")
"""A name whose value stands below it."""
_TELLING = re.compile(
    r"\W*(?:name|kind|id|title|version|image|type|host|url|artifactId|description|label|service|command|run|uses|on|path"
    r"|summary|status|error|message|result|packaging|groupId)\b",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\s*+(?:- +)?[\w.$/@\"'-]+(?: [\w.-]+)?\s*[:=](?:\s|$|[\w\"'\[{/-])")
_SENTENCE = re.compile(r"[A-Za-z]{2,} (?:[a-z]+ ){3,}|[.!?] [A-Z]")
_MOST = 0.85
_MEMBER = re.compile(r"\s+(?:\"[^\"]*\"|'[^']*'|[\d.]+),?\s*(?:#.*)?$")
_DASH = re.compile(r"\s*+- ")


def is_tree(texts: Sequence[str]) -> bool:
    """Whether nearly all lines are names with values, items and sections: settings rather than sentences or code."""
    lines = [text for text in texts if (bare := text.lstrip()) and not bare.startswith(_COMMENTS)]
    if len(lines) < 5:
        return False
    if lines[0].lstrip().startswith("<?xml"):
        return True
    step = max(1, len(lines) // 200)
    sample = [line[:300] for line in lines[::step]]
    if not fits(sample, _is_pair, 0.3):
        return False
    named = sum(map(_is_pair, sample))
    others = sum(any(form.match(line) for form in (_SECTION, _DASH, _CLOSING, _MEMBER)) for line in sample)
    if named + others < _MOST * len(sample):
        return False
    return sum(bool(_SENTENCE.search(line)) for line in sample) <= 0.15 * len(sample)


def _is_pair(line: str) -> bool:
    return _PAIR.match(line) is not None and not line.rstrip().endswith((";", "("))


def tree_places(texts: Sequence[str]) -> list[Place]:
    """The settings nearest to the root first, what names a thing before the rest; comments and closings say little."""
    found: list[Place] = []
    opened: list[tuple[int, int]] = []
    section = -1
    head = legal_head(texts)
    for n, text in enumerate(texts):
        bare = text.lstrip()
        if not bare:
            found.append(Place(0.0))
            continue
        depth = len(text) - len(bare)
        while opened and opened[-1][0] >= depth:
            opened.pop()
        under = opened[-1][1] if opened else section
        if _SECTION.match(text):
            opened.clear()
            section = n
            found.append(Place(0.6))
        elif n < head or legal(text):
            found.append(Place(LEGAL, under))
        elif _CLOSING.match(text):
            found.append(Place(0.0, under))
        elif bare.startswith(_COMMENTS):
            found.append(Place(1.0 if n == 0 else 0.2, under))
        elif _OPENING.match(text):
            opened.append((depth, n))
            found.append(Place(0.5 / (1 + len(opened)), under))
        else:
            found.append(Place((1.6 if _TELLING.match(text) else 0.8) / (1 + 0.5 * len(opened)), under))
            if _DASH.match(text):
                opened.append((depth, n))
    return found
