"""The word that stands beside values: of their line the one that the result holds least often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from ..specifics.cues import DENIED
from .units import Line, Mark, Survey, WordCounts

_NAMED = re.compile(r"\w{3,}")
_RUN = re.compile(r"[^\W_]{3,}")
_WORD = re.compile(r"(?<![^\W_])([^\W\d_]{3,40})\d{0,3}(?![^\W_])")
"""A word; letters inside a hash or an id are none, and `read_file` is two."""
_NAME_BEFORE, _NAME_AFTER = re.compile(r"[^\W\d]+\Z"), re.compile(r"[^\W\d]+")
_KEY = re.compile(r"([^\W\d][\w.-]*)[\"']?\s*[:=]\s*[\"'(<>=~!^]*$")
_SPEAKS = re.compile(r"[^\W\d_A-Z]{3}")
_POINTS = re.compile(r"://|:\d|^[0-9a-f-]+$")
"""A name says itself what it is; an address, a line of a file or a hash does not."""
_ORDINARY = re.compile(r"[A-Z]?[a-z]{0,11}")
"""What takes a single token as a rule: of equally rare words such a one stands beside values."""
_NUMBERED = 2
"""Times its count, for a word with a number behind it: whether `libnsl2` is a word is a matter of taste."""
_TELLING = 7
"""Letters of a word that says something: `This` and `for` do not."""
_NAMING = frozenset({"constant", "error", "handle", "id", "name"})
"""Classes whose members name what a line is about, and so may stand whole beside its other values."""
_LONGEST_NAME = 30
"""Characters of a name that stands whole: of a longer one it is the word alone."""


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
    if denial and not any(m.spec in inside and m.start < denial.end() and denial.start() < m.end for m in marks):
        return denial.group()
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
        label = word[1]
        if mark is None:
            label = _name_around(line, word.start(), word.end(1))
        elif survey.specs[mark.spec].cls in _NAMING and len(survey.specs[mark.spec].text) <= _LONGEST_NAME:
            label = survey.specs[mark.spec].text
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
        runs = count_words(survey.lines)
        folded = Counter[str]()
        for run, times in runs.items():
            folded[run.lower()] += times
        names = Counter(_NAMED.findall("\n".join([line.text for line in survey.lines])))
        survey.word_counts = WordCounts(runs, names, folded)
    return survey.word_counts


def count_words(lines: Iterable[Line]) -> Counter[str]:
    """How often each word, and each other run of letters and digits, stands in lines."""
    return Counter(_RUN.findall("\n".join([line.text for line in lines])))


def sayings(line: Line, count_of: Mapping[str, int]) -> list[tuple[Mark, list[str]]]:
    """What says of each value of a line what it is: its key, or one of the rarest words outside of it. Empty where
    nothing need: for a name, and for what stands alone."""
    text = line.text
    silent = {mark for mark in line.marks if not speaks(text[mark.start : mark.end])}
    found_words = _WORD.finditer(text) if silent else ()
    words = [(word.start(), word.end(), word[1], _times(word, count_of)) for word in found_words]
    found: list[tuple[Mark, list[str]]] = []
    for mark in line.marks:
        if mark not in silent:
            found.append((mark, []))
            continue
        key = _KEY.search(text, max(0, mark.start - 60), mark.start)
        outside = {word: times for start, end, word, times in words if end <= mark.start or start >= mark.end}
        least = min(outside.values(), default=0)
        rarest = [word for word, times in outside.items() if times == least]
        found.append((mark, [key[1], *rarest] if key else rarest))
    return found


__all__ = ["count_words", "label_of", "sayings", "speaks", "word_counts"]
