"""The ledger of specifics: what no shown line holds, under its key, beside a word of its line, or bare by class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..models.specifics import Specific
from .units import Survey

BETWEEN = " | "
_APART = "  "
_JOINING = frozenset({"date", "error", "integer", "money", "number", "quantity", "score", "status"})
"""Classes whose values may go on over one space (a day and a time, 12 and its unit): two spaces keep two values two."""
_SAME_JOINS = frozenset({"date", "error", "money", "status"})
"""Those of them whose values may go on with one of their own class."""
_GROUP = re.compile(r"[0-9]{3}(?![0-9])")
_OWN_LINE = 3
"""Values from which a class has a line of its own in the ledger."""
NEAR = " … "
KEY = re.compile(r"[A-Za-z_$@][\w.$@/:-]*(?: [\w.$@/:-]+){0,3}")
"""What may stand as a key in the ledger; anything else is shown without one."""
_KEY = re.compile(rf"({KEY.pattern})=")
_LONGEST_KEY = 40
SPEAKING = frozenset({"constant", "name"})
"""Classes whose members say themselves what they are: no word need stand beside them."""
_COMMAND = "command"
"""A command is one only at the start of its line: it gets a line of its own."""
ALSO = "also"
LED = re.compile(r"[a-z][\w-]*: ")


def flat_lines(survey: Survey, entries: Collection[int], keys: Sequence[str]) -> list[str]:
    """The ledger of one item in the fewest tokens: values under a key, the others in source order on one line, then
    commands."""
    values = [n for n in sorted(entries) if survey.specs[n].cls != _COMMAND]
    keyed: dict[tuple[str, str], list[str]] = {}
    for n in values:
        if keys[n]:
            keyed.setdefault((keys[n], survey.specs[n].cls), []).append(survey.specs[n].text)
    lines = [f"{ALSO}: {BETWEEN.join(_group(cls, key, texts) for (key, cls), texts in keyed.items())}"] if keyed else []
    row = [survey.specs[n] for n in values if not keys[n]]
    lines += [_joined(row)] if row else []
    return [*lines, *(survey.specs[n].text for n in sorted(entries) if survey.specs[n].cls == _COMMAND)]


def entry_lines(
    survey: Survey, entries: Collection[int], labels: Mapping[int, str], keys: Sequence[str], *, in_rows: bool = True
) -> list[str]:
    """The ledger of one item, values in source order.

    `number: size=4200 5100 | 17` for each class with several values, `also: HAT069 | price=1.10` for the rest; then
    ` libfoo … 1.2.3-4  08:15:47`, whose values stand in one line of the source, beside its rarest word; lines with the
    same word are one row, ` libfoo … 1.2.3-4 … 1.2.3-5`; then commands, each on its own line. Without `in_rows` the
    rows are left to their classes, which takes fewer tokens.
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
            lines.append(f"{cls}: {BETWEEN.join(shown)}")
        else:
            rest += shown
    if rest:
        lines.append(f"{ALSO}: {BETWEEN.join(rest)}")
    return lines + _rows(beside, labels) + commands


def _lonely(survey: Survey, entries: Collection[int], labels: Mapping[int, str], keys: Sequence[str]) -> set[int]:
    """Lines with a single value in the ledger and no word beside it: such values are grouped by class."""
    counts = Counter(survey.home[n] for n in entries if not keys[n] and survey.specs[n].cls not in SPEAKING)
    return {home for home, times in counts.items() if times == 1 and not labels.get(home)}


def _rows(beside: Mapping[int, Sequence[Specific]], labels: Mapping[int, str]) -> list[str]:
    """The values of each line of the source, and before them its word; lines with the same word in one row."""
    rows: dict[str | int, list[str]] = {}
    for home, specs in beside.items():
        label = labels.get(home, "")
        rows.setdefault(label or home, [label] if label else []).append(_joined(specs))
    return [f" {NEAR.join(row)}" for row in rows.values()]


def _joined(specs: Sequence[Specific]) -> str:
    joined = specs[0].text
    for before, spec in pairwise(specs):
        joined += (_APART if before.cls in _JOINING else " ") + spec.text
    return joined


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
    groups: list[Group] = []
    if line.startswith(" "):
        word, mark, _ = line.partition(NEAR)
        if not mark:
            return [Group(0, len(line), "", True)]
        at = len(word)
        for values in line[at:].split(NEAR)[1:]:
            groups.append(Group(at, at + len(NEAR) + len(values), word[1:], True))
            at = groups[-1].end
        return groups
    at = line.find(": ") + 2 if LED.match(line) else 0
    for piece in line[at:].split(BETWEEN):
        found = _KEY.match(piece)
        start = at + (found.end() if found else 0)
        groups.append(Group(start, at + len(piece), found.group(1) if found else "", False))
        at += len(piece) + len(BETWEEN)
    return groups


def _group(cls: str, key: str, values: list[str]) -> str:
    joined = _APART.join(values) if cls in _SAME_JOINS else _parted(values)
    return f"{key}={joined}" if key else joined


def _parted(values: Sequence[str]) -> str:
    """Values with a space between them, and two where they would look like one number in groups, or one has a space."""
    joined = values[0]
    for before, value in pairwise(values):
        close = " " in before or " " in value or (before[-1].isdigit() and _GROUP.match(value))
        joined += (_APART if close else " ") + value
    return joined


__all__ = [
    "ALSO",
    "BETWEEN",
    "KEY",
    "LED",
    "NEAR",
    "SPEAKING",
    "Group",
    "entry_groups",
    "entry_lines",
    "flat_lines",
    "shown_key",
]
