"""A text as records: each stretch of it read by the reader that knows its form, and all of them joined in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from .readers import PROSE, READERS
from .readers.prose import BANNER, FIRST_TO_TYPE, TO_TYPE
from .records import Reader, Reading, Record, Shape, Table, plain
from .templates import Template, mined

_COUNTED = {kind: kind for kind in ("definition", "field", "hit", "entry", "change")}
"""Kinds that the note of an item counts by their own name; all others are lines there."""
_SECTION = re.compile(r"(#{1,6}) ")
_COUNTED_FIRST = frozenset(("definition", "hit"))
"""Kinds that are counted where there are any, though other lines are more."""


class Told(NamedTuple):
    """What notes say of a text beside its rows."""

    nouns: dict[int, str]
    """Record -> what it is counted as."""
    most: tuple[str, int]
    """What it is told as, and how many of these there are."""
    size: int
    """Characters of them all."""
    rows: bool
    """Whether it has rows, too."""


class Known(NamedTuple):
    """What was read of a text before."""

    reading: Reading
    forms: list[str]
    templates: list[tuple[tuple[int, ...], list[Template]]]
    """Of lines that are alike, by these."""


class Source:
    """A text that has been read.

    Args:
        known: all of it, where it was read before.

    Attributes:
        lines: of its plain view.
        reading: all its records and tables.
        forms: per record, the name of the reader that made it.
    """

    def __init__(self, text: str, known: Known | None = None) -> None:
        self.lines: list[str] = plain(text).split("\n")
        self.reading, self.forms, templates = known or Known(Reading([], [], []), [], [])
        self._heading = -1
        self._sections: list[tuple[int, int]] = []
        """Levels and records of the sections that the text is in."""
        self._has_command = False
        """A stretch of prose was read that has the first command of a manual."""
        self._templates = dict(templates)
        self.kept: dict[tuple[Any, ...], Any] = {}
        """What others made of the records, by what it depends on (`item.py`)."""
        self.named: tuple[tuple[int, ...], dict[str, int]] = (), {}
        """Records whose names were last looked for, and these (`rank.names_in`)."""
        if known is None:
            self._read(self.lines)

    @cached_property
    def told(self) -> Told:
        """Its text beside rows, as notes count it."""
        records = self.reading.records
        nouns = {n: _COUNTED.get(one.kind, "line") for n, one in enumerate(records) if one.table < 0 and one.text}
        total = Counter(nouns.values())
        most = max(total.items(), key=lambda one: (one[0] in _COUNTED_FIRST, one[1]), default=("", 0))
        rows = any(one.table >= 0 for one in records)
        return Told(nouns, most, sum(len(records[n].text) for n in nouns), rows)

    @property
    def known(self) -> Known:
        """All that the text alone says."""
        return Known(self.reading, self.forms, list(self._templates.items()))

    @cached_property
    def form(self) -> str:
        """The form of most of its records."""
        return max(sorted(set(self.forms)), key=self.forms.count) if self.forms else PROSE.name

    def mined(self, alike: Iterable[int]) -> list[Template]:
        """The templates of these records, mined once."""
        records = self.reading.records
        lines = tuple(n for n in alike if records[n].table < 0 and records[n].text)
        if lines not in self._templates:
            self._templates[lines] = mined(records, lines)
        return self._templates[lines]

    def make_rows(self, shapes: Collection[Shape]) -> None:
        """Make rows of its objects of these shapes."""
        records, tables = self.reading.records, self.reading.tables
        made: dict[Shape, int] = {}
        for one in self.reading.objects:
            if one.shape not in shapes:
                continue
            if one.shape not in made:
                made[one.shape] = len(tables)
                tables.append(Table(one.columns, one.noun))
            first, *rest = one.records
            old = records[first]
            worth = max(records[n].worth for n in one.records)
            text = "|".join(one.cells)
            records[first] = Record(text, "row", worth, old.under, made[one.shape], one.cells, old.at)
            for n in rest:
                records[n] = Record("", "noise", 0.0, records[n].under, at=records[n].at)

    def _read(self, lines: Sequence[str]) -> None:
        waiting = at = 0
        while at < len(lines):
            reader, end = self._claimed(lines, at) if lines[at].strip() else (PROSE, at)
            if end > at:
                self._add(PROSE, lines[waiting:at], waiting)
                self._add(reader, lines[at:end], at)
                waiting = at = end
            else:
                at += 1
        self._add(PROSE, lines[waiting:], waiting)

    @staticmethod
    def _claimed(lines: Sequence[str], at: int) -> tuple[Reader, int]:
        for reader in READERS:
            end = reader.claims(lines, at)
            if end > at:
                return reader, end
        return PROSE, at

    def _add(self, reader: Reader, lines: Sequence[str], at: int) -> None:
        """The records of a stretch; those that stand under nothing in it stand under the last heading of the prose
        above it, and prose that goes on behind a block of code under the section that it was in."""
        if not any(line.strip() for line in lines):
            return
        found = reader.read(lines)
        records, tables = self.reading.records, self.reading.tables
        first, table = len(records), len(tables)
        for n, record in enumerate(found.records, first):
            if self._has_command and record.worth == FIRST_TO_TYPE:
                record.worth = TO_TYPE  # the first one behind an example is not the manual's
            section = _section(record) if reader is PROSE else 0
            while section and self._sections and self._sections[-1][0] >= section:
                self._sections.pop()
            if record.under >= 0:
                record.under += first
            elif reader is not PROSE:
                record.under = self._heading
            elif self._sections and (section or record.kind != "heading" or not record.worth):
                record.under = self._sections[-1][1]
            if section:
                self._sections.append((section, n))
            record.table = record.table + table if record.table >= 0 else -1
            record.at += at
            records.append(record)
            self.forms.append(reader.name)
        self._has_command |= any(one.worth == FIRST_TO_TYPE for one in found.records)
        tables += found.tables
        for one in found.objects:
            one.records = tuple(n + first for n in one.records)
        self.reading.objects += found.objects
        if reader is PROSE:
            headings = [n for n in range(first, len(records)) if records[n].kind == "heading"]
            self._heading = headings[-1] if headings else self._heading


def _section(record: Record) -> int:
    """The level of a section that goes on behind what interrupts it; 0: this line begins none."""
    if record.kind != "heading":
        return 0
    if marked := _SECTION.match(record.text):
        return len(marked[1])
    banner = BANNER.match(record.text)
    return 1 + (banner[1][0] == "-") if banner else 0
