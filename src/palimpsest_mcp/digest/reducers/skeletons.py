"""Which lines are of one skeleton: as many words, most of them the same in each place, whatever the values are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import Literal, TypeAlias

from ..lines import Line

LEAST = 3
"""Lines of one skeleton from which they are a table."""
_ALIKE = 0.5
"""Share of its words, at least, that a line has in common, place by place, with those it belongs to; what holds a digit
is alike."""
_NEAR = 12
"""Skeletons of as many words that a line is compared with, those of most lines; so the time stays linear, whatever the
lines are."""
_WORDS, _CHARACTERS = 60, 1000
"""A line of more is no row."""
_SPREAD = 1.3
"""Times their number: lines that reach further have others between them."""
_COLUMNS = 0.6
"""From this share of lines with as many columns (two spaces or a tab apart) on, columns are what a row is made of."""
_UNIFORM = 0.8
"""From this share of lines with as many words on, words are."""
_VALUE = re.compile(r"(?<!\S)[^\s0-9]*[0-9]\S*")
_HEADING = re.compile(r"\s*+#+ ")
_COLUMN = re.compile(r"\S+(?: \S+)*")
_BEHIND_PLACE = (":", "-")
_WIDE_GAP = re.compile(r"\S(?: {2,}| *\t\s*)\S")


Form: TypeAlias = Literal["words", "columns", "hits"]
"""What the parts of a line are: its words; columns, which may hold any number of words; or its file and line, which it
begins with, and then words."""
Span: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class Skeleton:
    """Lines that are alike, and what they have in common."""

    words: list[str]
    """Place by place, with `0` for what holds a digit; empty where they differ."""
    lines: list[Line]
    places: list[int]
    """Where they stand among all lines."""
    form: Form
    _columns: list[list[Span]] = field(default_factory=list[list[Span]])
    _cells: list[list[str]] = field(default_factory=list[list[str]])

    @property
    def apart(self) -> bool:
        """Whether other lines stand between them; the order of hits says nothing."""
        return self.form != "hits" and self.places[-1] - self.places[0] >= _SPREAD * len(self.places)

    def of(self, chosen: Sequence[int]) -> Skeleton:
        """The same with some of its lines."""
        lines, places = self.lines, self.places
        return Skeleton(
            self.words,
            [lines[n] for n in chosen],
            [places[n] for n in chosen],
            self.form,
            [[spans[n] for n in chosen] for spans in self.columns()],
            [[cells[n] for n in chosen] for cells in self.cells()],
        )

    def columns(self) -> list[list[Span]]:
        """Place by place, where the parts stand in each line that the skeleton is made of; looked for on first use."""
        if not self._columns:
            parts = [_parts(line, self.form) for line in self.lines]
            self._columns = [list(spans) for spans in zip(*parts, strict=True)]
        return self._columns

    def cells(self) -> list[list[str]]:
        """What stands there; looked up on first use."""
        if not self._cells:
            texts = [line.text for line in self.lines]
            self._cells = [
                [text[start:end] for text, (start, end) in zip(texts, spans, strict=True)] for spans in self.columns()
            ]
        return self._cells


def skeletons(blocks: Iterable[tuple[Sequence[Line], bool]]) -> list[Skeleton]:
    """Each line belongs to the skeleton it is most like, of those of as many words; those of few lines are left out.

    `blocks` are stretches of one text, and whether they are what a search found; of equal lines the first counts.
    Linear in the number of lines. In order.
    """
    near: dict[tuple[Form, int], list[Skeleton]] = {}
    every: list[Skeleton] = []
    known: set[str] = set()
    place = 0
    for block, are_hits in blocks:
        form: Form = "hits" if are_hits else "columns" if _are_columns(block) else "words"
        for line in block:
            place += line.text not in known or not line.text
            if line.text in known or len(line.text) > _CHARACTERS or _HEADING.match(line.text):
                continue
            known.add(line.text)
            words = _words(line, form)
            if 1 < len(words) <= _WORDS:
                _place(line, place, words, form, near.setdefault((form, len(words)), []), every)
    return [one for one in every if len(one.lines) >= LEAST]


def _words(line: Line, form: Form) -> list[str]:
    text = line.text
    if form == "hits":
        place = _place_of(line)
        return ["0", *_VALUE.sub("0", text[place:]).split()] if place else []
    text = _VALUE.sub("0", text)
    return _COLUMN.findall(text) if form == "columns" else text.split()


def _place_of(line: Line) -> int:
    """Where the file and line that a hit begins with end; 0 where it does not."""
    mark = line.marks[0] if line.marks else None
    return mark.end if mark and not mark.start and line.text[mark.end : mark.end + 1] in _BEHIND_PLACE else 0


def _parts(line: Line, form: Form) -> list[Span]:
    """Where the parts of a line stand that its skeleton is made of."""
    if form == "columns":
        return [found.span() for found in _COLUMN.finditer(line.text)]
    end = _place_of(line) if form == "hits" else 0
    parts = [(0, end)] if end else []
    for word in line.text[end:].split():
        start = line.text.index(word, end)
        end = start + len(word)
        parts.append((start, end))
    return parts


def _place(line: Line, place: int, words: list[str], form: Form, near: list[Skeleton], every: list[Skeleton]) -> None:
    best: Skeleton | None = None
    most = 0
    for skeleton in near:
        alike = sum(map(eq, words, skeleton.words))
        if alike > most and (form == "columns" or 2 * alike > len(words) or _share_a_word(words, skeleton.words)):
            best, most = skeleton, alike
            if most == len(words):
                break
    if best is None or (form != "columns" and most < _ALIKE * len(words)):
        best = Skeleton(words, [line], [place], form)
        every.append(best)
        near.append(best)
        if len(near) > _NEAR:
            near.remove(min(near, key=lambda one: len(one.lines)))
        return
    best.lines.append(line)
    best.places.append(place)
    if most < len(words):
        best.words = [a if a == b else "" for a, b in zip(best.words, words, strict=True)]


def _share_a_word(words: Sequence[str], others: Sequence[str]) -> bool:
    return any(one == other != "0" for one, other in zip(words, others, strict=True))


def _are_columns(lines: Sequence[Line]) -> bool:
    """Whether rows are better told by columns, whose cells may hold any number of words, than by words."""
    filled = [line.text for line in lines if line.text.strip()]
    wide = (text for text in filled if "  " in text or "\t" in text)  # the pattern needs one of them, and is slower
    if sum(_WIDE_GAP.search(text) is not None for text in wide) < max(_COLUMNS * len(filled), LEAST):
        return False
    if Counter(len(text.split()) for text in filled).most_common(1)[0][1] >= _UNIFORM * len(filled):
        return False
    columns, times = Counter(len(_COLUMN.findall(text)) for text in filled).most_common(1)[0]
    return columns > 2 and times >= _COLUMNS * len(filled)
