"""The ledger of specifics: what no shown line holds, under its key, beside a word of its line, or bare by class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..models.specifics import Specific
from .units import Survey

_WORD = re.compile(r"[A-Za-z_]{3,40}")
_ORDINARY = re.compile(r"[A-Z]?[a-z]{0,11}")
"""What takes a single token as a rule: of equally rare words such a one stands beside values."""
_TELLING = 7
"""Letters of a word that says something: `This` and `for` do not."""
_BETWEEN = " | "
_APART = "  "
_JOINING = frozenset({"date", "error", "integer", "money", "number", "quantity", "score", "status"})
"""Classes whose values may go on over one space (a day and a time, 12 and its unit): two spaces keep two values two."""
_SAME_JOINS = frozenset({"date", "error", "money", "status"})
"""Those of them whose values may go on with one of their own class."""
_OWN_LINE = 3
"""Values from which a class has a line of its own in the ledger."""
_NEAR = " … "
KEY = re.compile(r"[A-Za-z_$@][\w.$@/:-]*(?: [\w.$@/:-]+){0,3}")
"""What may stand as a key in the ledger; anything else is shown without one."""
_KEY = re.compile(rf"({KEY.pattern})=")
_LONGEST_KEY = 40
_NAMING = frozenset({"constant", "error", "handle", "host", "id", "name", "path"})
"""Classes whose members name what a line is about, and so may stand whole beside its other values."""
SPEAKING = frozenset({"constant", "name"})
"""Classes whose members say themselves what they are: no word need stand beside them."""
_COMMAND = "command"
"""A command is one only at the start of its line: it gets a line of its own."""
ALSO = "also"
_LED = re.compile(r"[a-z][\w-]*: ")


def label_of(survey: Survey, home: int, entries: Collection[int]) -> str:
    """What stands beside the values of a line: its rarest word, or the name that word is part of.

    Of equals the one that costs least, then a longer one, then the first. Empty where that word stands in another value
    of the row, or there is none. Looked for once, while the same of the line's values are in the ledger.
    """
    asked = home, tuple(mark.spec for mark in survey.lines[home].marks if mark.spec in entries)
    label = survey.labels.get(asked)
    if label is None:
        label = survey.labels[asked] = _label_of(survey, home, frozenset(asked[1]))
    return label


def _label_of(survey: Survey, home: int, entries: Collection[int]) -> str:
    line = survey.lines[home]
    marks = line.marks
    frequency = word_frequency(survey)
    here = {spec for spec in entries if survey.home[spec] == home}
    alone = sum(survey.specs[spec].cls not in SPEAKING for spec in here) < 2
    best, least, at = "", (0, 0, 0), 0
    for word in _WORD.finditer(line.text):
        label = word.group()
        often = frequency[label]
        if least[0] and often > least[0]:
            continue
        start = word.start()
        while at < len(marks) and marks[at].end <= start:
            at += 1
        if at < len(marks) and marks[at].start < word.end():
            inside = marks[at].spec
            spec = survey.specs[inside]
            if inside in here and spec.cls not in SPEAKING:
                if alone:
                    continue
                label = ""
            elif spec.cls not in _NAMING or len(spec.text) > _LONGEST_KEY or (inside in entries and inside not in here):
                continue
            else:
                label = spec.text
        kind = 2 if not _ORDINARY.fullmatch(label) else 1 if label else 0
        rank = often, kind, -min(len(label), _TELLING)
        if not least[0] or rank < least:
            best, least = label, rank
    return best


def word_frequency(survey: Survey) -> Counter[str]:
    """How often each word stands in the source; counted once, on first use."""
    if survey.frequency is None:
        survey.frequency = Counter(_WORD.findall("\n".join([line.text for line in survey.lines])))
    return survey.frequency


def flat_lines(survey: Survey, entries: Collection[int]) -> list[str]:
    """The ledger of one item in the fewest tokens: its values in source order on one line, then commands."""
    values = [survey.specs[n] for n in sorted(entries)]
    row = [spec for spec in values if spec.cls != _COMMAND]
    return [*([_row("", row)] if row else []), *(spec.text for spec in values if spec.cls == _COMMAND)]


def entry_lines(
    survey: Survey, entries: Collection[int], labels: Mapping[int, str], keys: Sequence[str], *, in_rows: bool = True
) -> list[str]:
    """The ledger of one item, values in source order.

    `number: size=4200 5100 | 17` for each class with several values, `also: HAT069 | price=1.10` for the rest; then
    ` libfoo … 1.2.3-4  08:15:47`, whose values stand in one line of the source, beside its rarest word; then commands,
    each on its own line. Without `in_rows` the rows are left to their classes, which takes fewer tokens.
    """
    by_class: dict[str, dict[str, list[str]]] = {}
    beside: dict[int, list[Specific]] = {}
    commands: list[str] = []
    lonely = _lonely(survey, entries, labels, keys)
    for number in sorted(entries):
        spec = survey.specs[number]
        home = survey.home[number]
        key = keys[number]
        if spec.cls == _COMMAND:
            commands.append(spec.text)
        elif in_rows and not key and home not in lonely and spec.cls not in SPEAKING:
            beside.setdefault(home, []).append(spec)
        else:
            by_class.setdefault(spec.cls, {}).setdefault(key, []).append(spec.text)
    lines: list[str] = []
    rest: list[str] = []
    for cls, groups in by_class.items():
        shown = [_group(cls, key, values) for key, values in groups.items()]
        if sum(map(len, groups.values())) >= _OWN_LINE:
            lines.append(f"{cls}: {_BETWEEN.join(shown)}")
        else:
            rest += shown
    if rest:
        lines.append(f"{ALSO}: {_BETWEEN.join(rest)}")
    rows = [f" {_row(labels.get(home, ''), specs)}" for home, specs in beside.items()]
    return lines + rows + commands


def _lonely(survey: Survey, entries: Collection[int], labels: Mapping[int, str], keys: Sequence[str]) -> set[int]:
    """Lines with a single value in the ledger and no word beside it: such values are grouped by class."""
    counts = Counter(survey.home[n] for n in entries if not keys[n] and survey.specs[n].cls not in SPEAKING)
    return {home for home, times in counts.items() if times == 1 and not labels.get(home)}


def _row(label: str, specs: Sequence[Specific]) -> str:
    joined = specs[0].text
    for before, spec in pairwise(specs):
        joined += (_APART if before.cls in _JOINING else " ") + spec.text
    return f"{label}{_NEAR}{joined}" if label else joined


def shown_key(key: str) -> str:
    """The key as it may stand before a value in the ledger: empty where it could not be told from a value."""
    return key if len(key) <= _LONGEST_KEY and KEY.fullmatch(key) else ""


class Group(NamedTuple):
    """A stretch of a ledger line whose values all stand under one key or beside one word."""

    start: int
    end: int
    key: str
    """Empty for bare values."""
    together: bool
    """Its values claim to stand in one line of the source."""


def entry_groups(line: str) -> list[Group]:
    """The groups of a ledger line, read back from its text."""
    if line.startswith(" "):
        word, mark, _ = line.partition(_NEAR)
        return [Group(len(word) if mark else 0, len(line), word[1:] if mark else "", True)]
    groups: list[Group] = []
    at = line.find(": ") + 2 if _LED.match(line) else 0
    for piece in line[at:].split(_BETWEEN):
        found = _KEY.match(piece)
        start = at + (found.end() if found else 0)
        groups.append(Group(start, at + len(piece), found.group(1) if found else "", False))
        at += len(piece) + len(_BETWEEN)
    return groups


def _group(cls: str, key: str, values: list[str]) -> str:
    joined = (_APART if cls in _SAME_JOINS else " ").join(values)
    return f"{key}={joined}" if key else joined


__all__ = [
    "ALSO",
    "KEY",
    "SPEAKING",
    "Group",
    "entry_groups",
    "entry_lines",
    "flat_lines",
    "label_of",
    "shown_key",
    "word_frequency",
]
