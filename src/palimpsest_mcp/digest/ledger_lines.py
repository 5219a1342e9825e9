"""The ledger of specifics: what no shown line holds, under its key, beside a word of its line, or bare by class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ..models.items import Specific
from ..text.specifics.cues import DENIED
from .lines import Line, Mark, Survey, WordCounts

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


# The word that stands beside values: of their line the one that the result holds least often.


_SHORTEST = 3
"""Letters or digits of what is counted."""
_NAMED = re.compile(rf"\w{{{_SHORTEST},}}")
_WORD = re.compile(r"(?<![^\W_])([^\W\d_]{3,40})\d{0,3}(?![^\W_])")
"""A word; letters inside a hash or an id are none, and `read_file` is two."""
_NAME_BEFORE, _NAME_AFTER = re.compile(r"[^\W\d]+\Z"), re.compile(r"[^\W\d]+")
_ASSIGNS = re.compile(r"[:=]\s*[\"'(<>=~!^]*$")
"""Ends every key: looked for first, since that is many times quicker."""
_BARE_KEY = re.compile(rf"([^\W\d][\w.-]*)[\"']?\s*{_ASSIGNS.pattern}")
_SPEAKS = re.compile(r"[^\W\d_A-Z]{3}")
_POINTS = re.compile(r"://|:\d|^[0-9a-f-]+$")
"""A name says itself what it is; an address, a line of a file or a hash does not."""
_ORDINARY = re.compile(r"[A-Z]?[a-z]{0,11}")
"""What takes a single token as a rule: of equally rare words such a one stands beside values."""
_PLAIN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
"""Of a value only such a word may be taken out: another may be a value itself where it stands alone."""
_NUMBERED = 2
"""Times its count, for a word with a number behind it: whether `libnsl2` is a word is a matter of taste."""
_TELLING = 7
"""Letters of a word that says something: `This` and `for` do not."""
_NAMING = frozenset({"constant", "error", "handle", "id", "name"})
"""Classes whose members name what a line is about, and so may stand whole beside its other values."""
_LONGEST_NAME = 30
"""Characters of a name that stands whole: of a longer one it is the word alone."""
_Word: TypeAlias = tuple[int, int, str, int]
"""A word of a line: from where to where, without a number behind it, and how often it stands in the source."""


def label_of(survey: Survey, home: int, beside: Collection[int]) -> str:
    """What stands beside these values of a line: the rarest word around them, or the name that word is part of.
    Where the line says that its values do not hold, the word that says so.

    Of equals the one that costs least, then a longer one, then the first. Empty where each of the values that say
    nothing alone has a word as rare in another of them, or there is none. Looked for once for the same values.
    """
    asked = home, tuple(sorted(beside))
    label = survey.labels.get(asked)
    if label is None:
        label = survey.labels[asked] = _label_of(survey, home, frozenset(beside))
    return label


def _label_of(survey: Survey, home: int, beside: Collection[int]) -> str:
    line = survey.lines[home]
    marks = line.marks
    counts = word_counts(survey)
    runs = counts.runs
    inside = dict.fromkeys(beside, 0)
    denial = DENIED.search(line.text)
    if denial and not any(m.spec in inside and m.start < denial.end() and denial.start(1) < m.end for m in marks):
        return denial[1]
    best, least, at = "", (0, 0, 0, False, 0), 0
    for word in _WORD.finditer(line.text):
        while at < len(marks) and marks[at].end <= word.start():
            at += 1
        mark = marks[at] if at < len(marks) and marks[at].start < word.end() else None
        count = _times(word, runs)
        if mark and mark.spec in inside:
            inside[mark.spec] = min(inside[mark.spec] or count, count)
            continue
        if least[0] and count > least[0]:
            continue
        label = word[1] if mark else _name_around(line, word.start(), word.end(1))
        if mark:
            plain, text = _PLAIN.fullmatch(label), survey.specs[mark.spec].text
            if survey.specs[mark.spec].cls in _NAMING and (len(text) <= _LONGEST_NAME or not plain):
                label = text
            elif not plain:
                continue
        as_name, folded = counts.names[label] or count, counts.folded[word.group().lower()]
        rank = count, as_name, folded, not _ORDINARY.fullmatch(label), -min(len(label), _TELLING)
        if not least[0] or rank < least:
            best, least = label, rank
    said = sorted((count, spec) for spec, count in inside.items() if count and count <= least[0])[:2]
    silent = [spec for spec in inside if not (said and (said[0][1] != spec or len(said) > 1))]
    return best if len(inside) == 1 or not all(speaks(survey.specs[spec].text) for spec in silent) else ""


def _times(word: re.Match[str], count_of: Mapping[str, int]) -> int:
    return count_of[word.group()] * (_NUMBERED if word.end() > word.end(1) else 1)


def speaks(value: str) -> bool:
    """Whether a value names something itself: no word need stand beside it where others do."""
    return _SPEAKS.search(value) is not None and not _POINTS.search(value)


def _name_around(line: Line, start: int, end: int) -> str:
    """A word with what it is joined to by underscores, as far as that is not long."""
    text = line.text
    first, last = max(0, start - _LONGEST_NAME), end + _LONGEST_NAME
    before, after = _NAME_BEFORE.search(text, first, start), _NAME_AFTER.match(text, end, last)
    name = text[before.start() if before else start : after.end() if after else end].strip("_")
    return name if len(name) <= _LONGEST_NAME else text[start:end]


def word_counts(survey: Survey) -> WordCounts:
    """How often each word stands in the source; counted once, on first use."""
    if survey.word_counts is None:
        names = survey.reduced.names or names_of(survey.lines)
        runs = runs_of(names)
        folded = Counter[str]()
        for run, times in runs.items():
            folded[run.lower()] += times
        survey.word_counts = WordCounts(runs, names, folded)
    return survey.word_counts


def names_of(lines: Iterable[Line]) -> Counter[str]:
    """How often each name, and each other run of letters, digits and underscores, stands in lines."""
    return Counter(_NAMED.findall("\n".join([line.text for line in lines])))


def runs_of(names: Mapping[str, int]) -> Counter[str]:
    """The same of words: names taken apart at their underscores: far fewer than the places where they stand."""
    runs = Counter({name: times for name, times in names.items() if "_" not in name})
    for name, times in names.items():
        if "_" in name:
            for run in name.split("_"):
                if len(run) >= _SHORTEST:
                    runs[run] += times
    return runs


def sayings(line: Line, count_of: Mapping[str, int]) -> list[tuple[Mark, list[str]]]:
    """What says of each value of a line what it is: its key, or one of the rarest words outside of it. Empty where
    nothing need: for a name, and for what stands alone."""
    text, marks = line.text, line.marks
    silent = [not speaks(text[mark.start : mark.end]) for mark in marks]
    if not any(silent):
        return [(mark, []) for mark in marks]
    words = [(word.start(), word.end(), word[1], _times(word, count_of)) for word in _WORD.finditer(text)]
    rarest = _rarest(words)
    with_words = _holding(marks, words)
    found: list[tuple[Mark, list[str]]] = []
    for number, mark in enumerate(marks):
        if not silent[number]:
            found.append((mark, []))
            continue
        said = rarest
        if number in with_words:
            said = _rarest([word for word in words if word[1] <= mark.start or word[0] >= mark.end])
        near = max(0, mark.start - 60), mark.start
        key = _BARE_KEY.search(text, *near) if _ASSIGNS.search(text, *near) else None
        found.append((mark, [key[1], *said] if key else said))
    return found


def _rarest(words: Iterable[_Word]) -> list[str]:
    times_of = {word: times for _, _, word, times in words}
    least = min(times_of.values(), default=0)
    return [word for word, times in times_of.items() if times == least]


def _holding(marks: Sequence[Mark], words: Iterable[_Word]) -> set[int]:
    """Which of the values of a line have a word, or a part of one, in them; both in order."""
    found: set[int] = set()
    first = 0
    for start, end, _, _ in words:
        while first < len(marks) and marks[first].end <= start:
            first += 1
        at = first
        while at < len(marks) and marks[at].start < end:
            found.add(at)
            at += 1
    return found
