"""The word that stands beside values: of their line the one that the result holds least often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from ..specifics.cues import DENIED
from .units import Line, Mark, Survey, WordCounts

_SHORTEST = 3
"""Letters or digits of what is counted."""
_NAMED = re.compile(rf"\w{{{_SHORTEST},}}")
_WORD = re.compile(r"(?<![^\W_])([^\W\d_]{3,40})\d{0,3}(?![^\W_])")
"""A word; letters inside a hash or an id are none, and `read_file` is two."""
_NAME_BEFORE, _NAME_AFTER = re.compile(r"[^\W\d]+\Z"), re.compile(r"[^\W\d]+")
_ASSIGNS = re.compile(r"[:=]\s*[\"'(<>=~!^]*$")
"""Ends every key: looked for first, since that is many times quicker."""
_KEY = re.compile(rf"([^\W\d][\w.-]*)[\"']?\s*{_ASSIGNS.pattern}")
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
        key = _KEY.search(text, *near) if _ASSIGNS.search(text, *near) else None
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


__all__ = ["label_of", "names_of", "runs_of", "sayings", "speaks", "word_counts"]
