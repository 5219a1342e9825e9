"""What is kept in the rows of a table so that their values do not stand there alone: a key, or a word of their line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .cells import Needs, Shown, cells_of, shown_of, unsaid
from .skeletons import Span
from .units import Line

_SHORT = 20
"""Characters of a word that may stand beside values, at most."""
_BESIDE = 2
"""Columns that are kept for what they say of the values in others, at most."""
_SAYS = 7
"""Characters of a word that says something."""
_UNSAID = 0.1
"""Share of the values in the rows without key and rarest word that is let be."""
_WORD = re.compile(r"[A-Za-z]{3,}")


def wordless(columns: Sequence[Sequence[str]]) -> int:
    """How many rows of these columns hold no word."""
    return sum(not any(map(_WORD.search, row)) for row in zip(*columns, strict=True))


def mostly_wordless(lines: Sequence[Line], columns: Sequence[Sequence[Span]]) -> bool:
    """Whether more than half of the rows would hold no word."""
    return 2 * wordless([cells_of(lines, spans) for spans in columns]) > len(lines)


def word_beside(
    lines: Sequence[Line],
    places: Sequence[Sequence[Span]],
    differing: Sequence[Sequence[Span]],
    shared: Mapping[str, int],
) -> list[Sequence[Span]]:
    """For rows that would say too little alone: one of the words that all lines have, one that few other skeletons
    have, and of those the nearest to a value."""
    first = cells_of([lines[0]] * len(places), [spans[0] for spans in places])
    differs = [spans in differing for spans in places]
    words = [
        (shared[word], not any(differs[max(0, n - 1) : n + 2]), n)
        for n, word in enumerate(first)
        if word in shared and len(word) <= _SHORT and _WORD.search(word)
    ]
    return [places[min(words)[2]]] if words else []


def columns_that_say(
    lines: Sequence[Line],
    needs: Sequence[Needs],
    kept: Sequence[Sequence[Span]],
    places: Sequence[Sequence[Span]],
    rows: Sequence[Shown],
) -> list[Sequence[Span]]:
    """Columns to be kept too, so that the values in the rows have their key or a rarest word of their line beside
    them: the one that this is for most values of, as long as that is worth it. `rows`: what is kept shows already."""
    added: list[Sequence[Span]] = []
    while len(added) < _BESIDE:
        rows = shown_of(lines, [*kept, *added]) if added else rows
        below = range(1, len(lines))
        values = sum(mark.spec in rows[nth].specs for nth in below for mark, _ in needs[nth])
        open_ones = [(nth, words) for nth in below for words in unsaid(rows[nth], needs[nth])]
        if len(open_ones) <= _UNSAID * values:
            break
        gains: list[tuple[int, bool, int, int, int]] = []
        edges = {at for spans in kept for at in (spans[1][0] - 1, spans[1][1] + 1)}
        for number, spans in enumerate(places):
            if spans in added:
                continue
            cells = cells_of(lines, spans)
            gain = sum(any(word in cells[nth] for word in words) for nth, words in open_ones)
            size = sum(map(len, cells)) // len(cells)
            gains.append((-gain, edges.isdisjoint(spans[1]), -min(size, _SAYS), size, number))
        gain, *_, number = min(gains)
        if -gain <= _UNSAID * values:
            break
        added.append(places[number])
    return added


__all__ = ["columns_that_say", "mostly_wordless", "word_beside", "wordless"]
