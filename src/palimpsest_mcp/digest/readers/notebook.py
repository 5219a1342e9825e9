"""Jupyter notebooks: sections, the code of each cell as an outline, what it printed below it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import cast

from ..records import Kind, Reading, Record, plain
from . import code

_FAR = 200_000
"""Characters in which the next line of a notebook is looked for; a picture between them is seldom longer."""


def claims(lines: Sequence[str], start: int) -> int:
    """The whole text, where it is a notebook."""
    if start or not lines[0].lstrip().startswith("{") or not any('"nbformat"' in line for line in lines):
        return start
    return len(lines) if _cells(lines) is not None else start


def _cells(lines: Sequence[str]) -> list[dict[str, object]] | None:
    """The cells of a notebook as it is written since 2014 (format 4); none of anything else."""
    try:
        book: object = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return None
    cells = cast("dict[str, object]", book).get("cells") if isinstance(book, dict) and "nbformat" in book else None
    if not isinstance(cells, list):
        return None
    return [cast("dict[str, object]", cell) for cell in cast("list[object]", cells) if isinstance(cell, dict)]


def _text(value: object) -> list[str]:
    """Lines of a text that a notebook keeps as one string or as a list of them."""
    parts = cast("list[object]", value) if isinstance(value, list) else [value]
    return plain("".join(part for part in parts if isinstance(part, str))).split("\n")


def _printed(cell: dict[str, object]) -> Iterator[tuple[str, Kind, float]]:
    """Lines of a cell's outputs; of what it printed the last says most, an error more."""
    outputs = cell.get("outputs")
    for entry in cast("list[object]", outputs) if isinstance(outputs, list) else []:
        if not isinstance(entry, dict):
            continue
        output = cast("dict[str, object]", entry)
        if output.get("output_type") == "error":
            trace = [line for line in _text(output.get("traceback")) if line.strip()]
            for line in trace[:-1]:  # the last one is the error, in colours
                yield line, "frame", 0.5
            for line in _text(output.get("ename")) + _text(output.get("evalue")):
                yield line, "error", 4.0
            continue
        data = output.get("data")
        kinds = cast("dict[str, object]", data) if isinstance(data, dict) else {}
        shown = _text(output.get("text") or kinds.get("text/plain") or kinds.get("text/markdown"))
        last = max((i for i, line in enumerate(shown) if line.strip()), default=-1)
        for i, line in enumerate(shown):
            yield line, "line", 1.5 if i == last else 1.0


def read(lines: Sequence[str]) -> Reading:
    """Headings of the text, definitions of the code and lines of the outputs, in the order of the cells."""
    records: list[Record] = []
    sections: list[tuple[int, int]] = []
    place = _Place("\n".join(lines))

    def add(text: str, kind: Kind, worth: float, under: int) -> None:
        if text.strip():
            records.append(Record(text.strip(), kind, worth, under, at=place.line_of(text)))

    for cell in _cells(lines) or []:
        source, kind = _text(cell.get("source")), cell.get("cell_type")
        if kind != "code":
            for line in source:
                mark = re.match(r"(#{1,6}) \S", line)
                while mark and sections and sections[-1][0] >= len(mark[1]):
                    sections.pop()
                add(line, "heading" if mark else "line", 2.0 if mark else 1.0, sections[-1][1] if sections else -1)
                if mark:
                    sections.append((len(mark[1]), len(records) - 1))
            continue
        first, above = len(records), sections[-1][1] if sections else -1
        for record in code.read(source).records:
            add(
                source[record.at],
                record.kind,
                max(record.worth, 0.4),
                record.under + first if record.under >= 0 else above,
            )
        head = first if len(records) > first else above
        for line, kind, worth in _printed(cell):
            add(line, kind, worth, head)
    return Reading(records)


class _Place:
    """Finds the lines of a notebook again in its JSON, in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._line = 0

    def line_of(self, text: str) -> int:
        """The number of the line of JSON that holds this text, at or behind the one before; else that one."""
        for written in (json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]):
            found = self._text.find(written, self._at, self._at + _FAR)
            if found >= 0:
                self._line += self._text.count("\n", self._at, found)
                self._at = found
                break
        return self._line
