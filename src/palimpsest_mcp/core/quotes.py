"""Where the lines of a digest stand in their original: for a person who looks at both, never for a proof.

`digest/proof.py` has checked that nothing is invented; this only finds the place again. A line that is not found gets
no place, and a value that stands in several lines gets the first that follows what was found before it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from ..digest.notation import BREAK, CUT, ESCAPE, INSIDE, NAMES, SEPARATORS
from ..models.views import Quote

_LINES_A_ROW = 6
"""Lines of a source in which the values of one row are looked for."""
_TRIES = 60
"""Occurrences of a row's longest value that are looked at."""


def quotes(digest: str, original: str) -> tuple[Quote, ...]:
    """Places of a digest's lines, in their order; of a line of names, one for each name."""
    source = _Source(original)
    found: list[Quote] = []
    for number, text in enumerate(digest.split("\n")):
        if text.startswith(NAMES):
            names = (source.holds([name]) for name in text.removeprefix(NAMES).split(" ") if name)
            found += [Quote(number, line, False) for line in names if line is not None]
        elif inside := INSIDE.fullmatch(text):
            lines, whole = source.place(inside[1])
            found += [Quote(number, line, whole) for line in lines]
            within = (source.holds([name]) for name in inside[2].split(" "))
            found += [Quote(number, line, False) for line in within if line is not None]
        elif text and not text.startswith("["):
            lines, whole = source.place(text)
            found += [Quote(number, line, whole) for line in lines]
    return tuple(dict.fromkeys(found))


class _Source:
    """An original, ready to be asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._whole: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            self._whole.setdefault(line.strip(), []).append(number)
        self._last = 0
        """Line that was found last: digests mostly follow the order of their source."""

    def place(self, shown: str) -> tuple[tuple[int, ...], bool]:
        """The lines that a digest's line stands for, and whether it is the whole of one."""
        text = shown.strip().removeprefix(ESCAPE).strip()
        if same := self._whole.get(text):
            return (self._note(next((line for line in same if line >= self._last), same[0])),), True
        separator = next((one for one in SEPARATORS if one in text), None)
        pieces = [piece.strip() for part in text.split(BREAK.strip()) for piece in part.split(CUT) if piece.strip()]
        if separator is None:
            pieces = pieces if len(pieces) > 1 else text.split() if self._text.find(text) < 0 else [text]
            return self._spread(pieces), False
        line = self.holds([text])
        return (line,) if line is not None else self._spread([one for one in text.split(separator) if one]), False

    def _spread(self, values: list[str]) -> tuple[int, ...]:
        """The line with most of these values, and the next few where they have the rest: a row may be of several."""
        first = self.holds(values)
        if first is None:
            return ()
        rest = [value for value in values if value not in self._lines[first] and len(value) > 1]
        found = [first]
        for line in range(first + 1, min(first + _LINES_A_ROW, len(self._lines))):
            if here := [value for value in rest if value in self._lines[line]]:
                found.append(line)
                rest = [value for value in rest if value not in here]
        return tuple(found)

    def holds(self, values: list[str]) -> int | None:
        """The line with all of these, from the last place on before those above it; else the one with the longest of
        them and the most of the rest; None where the longest is nowhere."""
        longest = max(values, key=lambda value: (len(value), -values.index(value)), default="")
        if len(longest) < 2:
            return None
        best: tuple[int, int] | None = None
        at, tries, wrapped = self._starts[self._last], 0, False
        while tries < _TRIES:
            at = self._text.find(longest, at)
            if at < 0:
                if wrapped or self._last == 0:
                    break
                at, wrapped = 0, True
                continue
            line = bisect_right(self._starts, at) - 1
            score = sum(value in self._lines[line] for value in values)
            if score == len(values):
                return self._note(line)
            if best is None or score > best[0]:
                best = score, line
            at, tries = self._starts[line + 1], tries + 1
        return None if best is None else self._note(best[1])

    def _note(self, line: int) -> int:
        self._last = line
        return line
