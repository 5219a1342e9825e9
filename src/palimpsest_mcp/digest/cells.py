"""Cells of lines: a column is one stretch in each, a row what some columns have of a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from .skeletons import Span
from .units import Line, Mark

_SEPARATOR = "\t"
"""A bar would take a token more before every number."""
Needs: TypeAlias = "Sequence[tuple[Mark, Sequence[str]]]"
"""Values of a line, and what says of each what it is: one of those should stand in its row."""


class Shown(NamedTuple):
    """What some columns show of a line."""

    text: str
    specs: tuple[int, ...]


class Row(NamedTuple):
    """What one line adds to its table."""

    line: str
    """What it stands for, whole."""
    text: str
    specs: tuple[int, ...]
    says: bool
    """Whether each value in it has its key there, or a rarest word of its line."""


def cells_of(lines: Sequence[Line], spans: Sequence[Span]) -> list[str]:
    return [line.text[start:end] for line, (start, end) in zip(lines, spans, strict=True)]


def whole(line: Line, span: Span) -> Span:
    """The span, grown to hold every specific that it cuts."""
    start, end = span
    for mark in line.marks:
        if mark.start >= end:
            break
        if mark.end > start:
            start, end = min(start, mark.start), max(end, mark.end)
    return start, end


def wholes(lines: Sequence[Line], columns: Iterable[Sequence[Span]]) -> list[list[Span]]:
    """Columns whose cells cut no specific."""
    return [list(map(whole, lines, spans)) for spans in columns]


def shown_of(lines: Sequence[Line], columns: Sequence[Sequence[Span]]) -> list[Shown]:
    """Row by row what some columns show of the lines."""
    return [_shown(line, [spans[n] for spans in columns]) for n, line in enumerate(lines)]


def _shown(line: Line, spans: Sequence[Span]) -> Shown:
    """The cells of one line, in order: as one where they touch, overlap, or only a single space parts them."""
    text = line.text
    cells: list[Span] = []
    for start, end in sorted(spans):
        if cells and (start <= cells[-1][1] or (text[cells[-1][1] : start] == " " and not _joins(text, start))):
            cells[-1] = (cells[-1][0], max(end, cells[-1][1]))
        else:
            cells.append((start, end))
    specs: dict[int, None] = {}
    at = 0
    for mark in line.marks:  # both in order, neither overlapping
        while at < len(cells) and cells[at][1] <= mark.start:
            at += 1
        if at < len(cells) and cells[at][0] <= mark.start and mark.end <= cells[at][1]:
            specs[mark.spec] = None
    return Shown(_SEPARATOR.join([text[start:end] for start, end in cells]), tuple(specs))


def _joins(text: str, start: int) -> bool:
    """Whether a cell could be taken for another group of the number before it: without what stood before both."""
    return text[start : start + 1].isdigit() and text[start - 2 : start - 1].isdigit()


def unsaid(shown: Shown, needs: Needs) -> list[Sequence[str]]:
    """For each value in a row that nothing beside it says what it is of: what could have."""
    return [
        words
        for mark, words in needs
        if words and mark.spec in shown.specs and not any(word in shown.text for word in words)
    ]


__all__ = ["Needs", "Row", "Shown", "cells_of", "shown_of", "unsaid", "whole", "wholes"]
