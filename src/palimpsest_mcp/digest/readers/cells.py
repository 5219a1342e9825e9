"""The cells of an HTML table while it is read, with those that reach over several rows or columns."""

from __future__ import annotations

import re

_WIDEST_SPAN = 50
"""Columns or rows that a cell is believed to reach over."""
_WIDEST_ROW = 500
"""Cells in a row from which spans are no longer believed."""
_SPARSEST = 4
"""Places for each cell, at most: a table with more is none, and would only fill memory."""


class Grid:
    """A table being read."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, list[str]]] = []
        self.headed = True
        """The first row has nothing but heads."""
        self.down: dict[int, tuple[int, str]] = {}
        """Column -> rows that a cell still reaches down, and its text."""
        self.spans = (1, 1)
        self.in_cell = False
        self.layout = False
        """It holds a table or a heading: a frame for the page, not rows."""

    def begin_row(self, at: int) -> None:
        self.end_row()
        if not self.rows or self.rows[-1][1]:
            self.rows.append((at, []))

    def end_row(self) -> None:
        """Add the cells that reach down into this row from above, as far as they join."""
        row = self.rows[-1][1] if self.rows else []
        while self.down.get(len(row), (0, ""))[0]:
            left, above = self.down[len(row)]
            self.down[len(row)] = (left - 1, above)
            row.append(above)

    def begin_cell(self, at: int, tag: str, attributes: dict[str, str | None]) -> None:
        if not self.rows:
            self.rows.append((at, []))
        self.headed = self.headed and (len(self.rows) > 1 or tag == "th")
        self.spans = (_span(attributes.get("colspan")), _span(attributes.get("rowspan")))
        self.in_cell = True

    def end_cell(self, text: str) -> None:
        self.end_row()
        row = self.rows[-1][1]
        wide, deep = self.spans if len(row) < _WIDEST_ROW else (1, 1)
        for n in range(wide):
            if deep > 1:
                self.down[len(row)] = (deep - 1, "" if n else text)
            row.append("" if n else text)
        self.in_cell = False

    def take(self) -> tuple[list[tuple[int, list[str]]], bool]:
        """The rows that hold anything, and whether they are a table."""
        self.end_row()
        rows = [(at, cells) for at, cells in self.rows if any(cells)]
        self.rows = []
        places = max((len(cells) for _, cells in rows), default=0) * len(rows)
        dense = places <= _SPARSEST * sum(len(cells) for _, cells in rows)
        return rows, dense and not self.layout and sum(len(cells) > 1 for _, cells in rows) > 1


def _span(text: str | None) -> int:
    return max(1, min(_WIDEST_SPAN, int(text))) if text and re.fullmatch("[0-9]{1,4}", text) else 1
