"""What a reader of a web page sees, from its marks: headings, lines and tables.

The cells of an HTML table while it is read, with those that reach over several rows or columns.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from ..records import Record, Table
from .grid import tabulate

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


_BLANKS = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|(?<=[\u3002\uff01\uff1f])")
_HEADINGS = {"title": 0, "h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6, "caption": 7}
_CELLS = ("td", "th")
_CELL_END = re.compile("t[dhr]|table|thead|tbody|tfoot|caption|h[1-6]")
"""Where a cell ends; other blocks inside it are only its lines."""
_BREAK = re.compile(
    "address|article|aside|blockquote|body|br|dd|details|div|dl|dt|fieldset|figure|figcaption|footer|form|header|hr|html"
    "|head|legend|li|main|ol|p|pre|section|summary|ul|title|" + _CELL_END.pattern
)
"""Tags between which a text ends."""
_SENTENCES_FROM = 240
"""Characters from which a paragraph is shown sentence by sentence."""


class Page(HTMLParser):
    """Collects records while it reads."""

    def __init__(self, dropped: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.dropped = dropped
        self.records: list[Record] = []
        self.tables: list[Table] = []
        self.grids: list[Grid] = []
        self.skipped: list[str] = []
        self.text: list[str] = []
        self.at = 0
        self.level: int | None = None
        """Of the heading that is open."""
        self.path: list[tuple[int, int]] = []
        """Level and number of each heading that the next record stands under."""
        self.link: tuple[str, int] = ("", 0)
        """Address of the open link, and where its text begins."""
        self.pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.skipped:
            if tag == self.skipped[-1]:
                self.skipped.append(tag)
        elif tag in self.dropped:
            self.skipped.append(tag)
        elif tag == "a":
            self._end_link()
            href = (dict(attrs).get("href") or "").strip()
            self.link = (
                href if href.startswith(("http://", "https://")) and not _BLANKS.search(href) else "",
                len(self.text),
            )
        elif _BREAK.fullmatch(tag):
            self._break(tag)
            grid = self.grids[-1] if self.grids else None
            at = self.getpos()[0] - 1
            if tag == "table":
                self._unframe()
                self.grids.append(Grid())
            elif grid and tag == "tr":
                grid.begin_row(at)
            elif grid and tag in _CELLS:
                grid.begin_cell(at, tag, dict(attrs))
            elif tag in _HEADINGS:
                if tag != "caption":
                    self._unframe()
                self.level = _HEADINGS[tag]
            self.pre = self.pre or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if self.skipped:
            if tag == self.skipped[-1]:
                self.skipped.pop()
        elif tag == "a":
            self._end_link()
        elif _BREAK.fullmatch(tag):
            self._break(tag)
            self.pre = self.pre and tag != "pre"
            if tag == "table" and self.grids:
                self._end_table(self.grids.pop())

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            if not self.text:
                lead = len(data) - len(data.lstrip())
                self.at = self.getpos()[0] - 1 + data.count("\n", 0, lead)
            if self.text or data.strip():
                self.text.append(data)

    def finish(self) -> None:
        """End what the page left open."""
        self.close()
        self._break("table")
        while self.grids:
            self._end_table(self.grids.pop())

    def _above(self) -> int:
        return self.path[-1][1] if self.path else -1

    def _end_link(self) -> None:
        href, since = self.link
        if href and any(map(str.strip, self.text[since:])) and href not in self.text[since:]:
            self.text.append(f" {href} ")
        self.link = ("", 0)

    def _unframe(self) -> None:
        """What the open tables hold so far are lines: they only frame the page."""
        for grid in reversed(self.grids):
            if grid.layout:
                break  # and so are those around it
            for at, cells in grid.take()[0]:
                for cell in cells:
                    self._lines(cell, at)
            grid.layout = True

    def _break(self, tag: str) -> None:
        """The text so far is a cell, a heading, or lines."""
        grid = self.grids[-1] if self.grids else None
        if grid and grid.in_cell and not grid.layout and self.level is None and not _CELL_END.fullmatch(tag):
            if self.text:
                self.text.append(" ")
            return
        if self.level is not None and not self.text and tag not in _HEADINGS:
            return  # a block inside the heading
        self._end_link()
        raw, self.text = "".join(self.text), []
        text = _BLANKS.sub(" ", raw).strip()
        if self.level is not None:
            level, self.level = self.level, None
            while self.path and self.path[-1][0] >= level:
                self.path.pop()
            if text and not (self.path and self.records[self._above()].text == text):  # the title, said again
                self.records.append(Record(text, "heading", under=self._above(), at=self.at))
                self.path.append((level, len(self.records) - 1))
        elif grid and grid.in_cell and not grid.layout:
            grid.end_cell(text)
        elif self.pre:
            for n, line in enumerate(raw.split("\n")):
                self._lines(_BLANKS.sub(" ", line).strip(), self.at + n)
        else:
            self._lines(text, self.at)

    def _lines(self, text: str, at: int) -> None:
        sentences = _SENTENCE.split(text) if len(text) > _SENTENCES_FROM else [text]
        self.records += [Record(sentence, under=self._above(), at=at) for sentence in sentences if sentence]

    def _end_table(self, grid: Grid) -> None:
        rows, tabular = grid.take()
        if not tabular:
            for at, cells in rows:
                for cell in cells:
                    self._lines(cell, at)
        else:
            headed = grid.headed and len(rows) > 1
            table, records = tabulate(
                rows[0][1] if headed else (), rows[headed:], table=len(self.tables), under=self._above()
            )
            self.tables.append(table)
            self.records += records
        if self.path and self.path[-1][0] == _HEADINGS["caption"]:
            self.path.pop()
