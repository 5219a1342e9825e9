"""The ledger of specifics: what no shown line holds, under its key, beside a word of its line, or bare by class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from ..models.specifics import Specific
from .units import Survey

_WORD = re.compile(r"[A-Za-z_][A-Za-z_-]{2,30}")
_BETWEEN = " | "
_SAME = "  "
"""Between values of one key: two spaces, so that two values are never read as one."""
_NEAR = " … "
KEY = re.compile(r"[A-Za-z_$@][\w.$@/:-]*(?: [\w.$@/:-]+){0,3}")
"""What may stand as a key in the ledger; anything else is shown without one."""
_KEY = re.compile(rf"({KEY.pattern})=")
_LONGEST_KEY = 40
_COMMAND = "command"
"""A command is one only at the start of its line: it gets a line of its own."""
ALSO = "also "


def label_of(survey: Survey, home: int, entries: Collection[int]) -> str:
    """The rarest word of a line that is no part of a specific; the first of equals. Empty where there is none."""
    line = survey.lines[home]
    frequency = word_frequency(survey)
    best, rarest = "", 0
    for word in _words(line.text, [(m.start, m.end) for m in line.marks if m.spec in entries]):
        times = frequency[word]
        if not best or times < rarest:
            best, rarest = word, times
    return best


def _words(text: str, taken: list[tuple[int, int]]) -> Iterator[str]:
    for match in _WORD.finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in taken):
            yield match.group()


def word_frequency(survey: Survey) -> Counter[str]:
    """How often each word stands in the source; counted once, on first use."""
    if survey.frequency is None:
        survey.frequency = Counter(word for line in survey.lines for word in _WORD.findall(line.text))
    return survey.frequency


def entry_lines(survey: Survey, entries: Collection[int], labels: Mapping[int, str]) -> list[str]:
    """The ledger of one item: a line a class (`also number: size=4200  5100 | 17`), then values beside their word."""
    by_class: dict[str, dict[str, list[str]]] = {}
    beside: dict[int, list[str]] = {}
    commands: list[str] = []
    for number in sorted(entries):
        spec = survey.specs[number]
        home = survey.home[number]
        key = shown_key(spec)
        if spec.cls == _COMMAND:
            commands.append(spec.text)
        elif not key and home in labels:
            beside.setdefault(home, []).append(spec.text)
        else:
            by_class.setdefault(spec.cls, {}).setdefault(key, []).append(spec.text)
    lines = [
        f"{ALSO}{cls}: {_BETWEEN.join(_group(key, values) for key, values in groups.items())}"
        for cls, groups in by_class.items()
    ]
    if beside:
        lines.append(f"{ALSO}near: " + _BETWEEN.join(f"{labels[h]}{_NEAR}{_SAME.join(v)}" for h, v in beside.items()))
    return lines + commands


def shown_key(spec: Specific) -> str:
    """The key that stands before the value in the ledger: none where it could not be told from a value."""
    return spec.key if len(spec.key) <= _LONGEST_KEY and KEY.fullmatch(spec.key) else ""


def entry_pairs(line: str) -> Iterator[tuple[str, str]]:
    """The pairs that a ledger line claims, read back from its text: (key or word, value); bare values have none."""
    if not line.startswith(ALSO):
        return
    _, _, rest = line.partition(": ")
    for group in rest.split(_BETWEEN):
        key, values = _head(group)
        for value in values.split(_SAME):
            yield key, value


def _head(group: str) -> tuple[str, str]:
    word, mark, values = group.partition(_NEAR)
    if mark:
        return word, values
    found = _KEY.match(group)
    return (found.group(1), group[found.end() :]) if found else ("", group)


def _group(key: str, values: list[str]) -> str:
    joined = _SAME.join(values)
    return f"{key}={joined}" if key else joined


__all__ = ["ALSO", "KEY", "entry_lines", "entry_pairs", "label_of", "shown_key", "word_frequency"]
