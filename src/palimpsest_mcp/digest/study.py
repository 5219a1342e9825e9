"""What a text holds whatever its digest is asked for: read once, though a pass digests it several times.

Nothing of it depends on a budget, on what is asked for or on what else is in view. It is a cache and nothing more: with
an empty one every digest has the same bytes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

from ..models.records import DigestSource
from ..ports.text import Registry
from .cues import mark
from .pieces import LINE, Spot
from .proof import facts_of
from .records import Shape
from .source import Source, shapes_in_common
from .source_facts import Facts

MOST_CHARS = 2_000_000
"""Characters of text whose studies are kept: about what leaves a context of a million tokens."""


class Marked(NamedTuple):
    """A text that has been read, with what says how it went. Nobody changes it."""

    source: Source
    outcomes: list[int]
    """Records that say how it went, the best first."""
    errors: frozenset[int]
    """Records that say what went wrong."""
    cells: Sequence[Sequence[Sequence[int]]]
    """Per record and cell, the numbers in `Facts.specs` of the specifics in it."""
    spots: dict[int, list[Spot]]
    """Of long lines, by the number of the record, where their specifics stand."""


class Study:
    """One text."""

    def __init__(self, source: DigestSource, registry: Registry) -> None:
        self._registry = registry
        self.facts: Facts = facts_of(source, registry)
        self.read = Source(source.text)
        """Nobody changes it: it is copied before its records are marked."""
        self._marked: dict[tuple[frozenset[Shape], bool, str], Marked] = {}

    @cached_property
    def lines(self) -> Counter[str]:
        """Its lines that are not blank, and how often each stands there."""
        return Counter(line for line in map(str.strip, self.read.lines) if line)

    def marked(self, shared: frozenset[Shape], source: DigestSource) -> Marked:
        """As it is read beside others.

        Args:
            shared: shapes of objects that others of its batch have, too.
            source: the same text, with what is known of its call.
        """
        own = shared.intersection(one.shape for one in self.read.reading.objects)
        verb = f"{source.action.verb} {source.action.target}" if source.action else ""
        key = own, source.is_error, verb
        if key not in self._marked:
            self._marked[key] = self._mark(own, is_error=source.is_error, verb=verb)
        return self._marked[key]

    def _mark(self, shared: frozenset[Shape], *, is_error: bool, verb: str) -> Marked:
        source = self.read.with_rows(shared)
        records = source.reading.records
        errors = {n for n, record in enumerate(records) if record.kind == "error"}
        outcomes = mark(source.reading, is_error=is_error, verb=verb)
        errors |= {n for n, record in enumerate(records) if record.kind == "error"}
        cells, spots = self._specs_in([record.cells or (record.text,) for record in records])
        return Marked(source, outcomes, frozenset(errors), cells, spots)

    def _specs_in(
        self, records: Sequence[Sequence[str]]
    ) -> tuple[list[tuple[tuple[int, ...], ...]], dict[int, list[Spot]]]:
        """Per record and cell its specifics, found in one go; of long lines where."""
        spans = self._registry.spans("\n".join(piece.replace("\n", " ") for record in records for piece in record))
        known = self.facts.numbers
        found: list[tuple[tuple[int, ...], ...]] = []
        spots: dict[int, list[Spot]] = {}
        at = place = 0
        for n, record in enumerate(records):
            cells: list[tuple[int, ...]] = []
            for piece in record:
                end = place + len(piece)
                here: dict[int, None] = {}
                while at < len(spans) and spans[at].start < end:
                    number = known.get((spans[at].cls, spans[at].text))
                    if number is not None:
                        here[number] = None
                        if len(record) == 1 and len(piece) >= LINE:
                            spots.setdefault(n, []).append(Spot(spans[at].start - place, spans[at].end - place, number))
                    at += 1
                cells.append(tuple(here))
                place = end + 1
            found.append(tuple(cells))
        return found, spots


class Studies:
    """Those of the texts that were digested last, at most `MOST_CHARS` characters of them.

    A study belongs to one digest at a time, since it goes on reading while that is checked: another thread that wants
    the same text reads it for itself.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, Study] = {}
        self._chars = 0
        self._lock = threading.Lock()

    @contextmanager
    def of(self, sources: Sequence[DigestSource]) -> Iterator[list[Study]]:
        """Those of these texts, in order, for as long as one digest is made; equal texts share one."""
        texts = dict.fromkeys(source.text for source in sources)
        with self._lock:
            found = {text: known for text in texts if (known := self._known.pop(text, None)) is not None}
            self._chars -= sum(map(len, found))
        try:
            for source in sources:
                if source.text not in found:
                    found[source.text] = Study(source, self._registry)
            yield [found[source.text] for source in sources]
        finally:
            with self._lock:
                self._chars += sum(len(text) for text in found if text not in self._known)
                self._known |= found
                while self._chars > MOST_CHARS:
                    oldest = next(iter(self._known))
                    self._chars -= len(oldest)
                    del self._known[oldest]

    def clear(self) -> None:
        """Let all of them go."""
        with self._lock:
            self._known, self._chars = {}, 0


def shapes_of(studies: Sequence[Study]) -> frozenset[Shape]:
    """Shapes of objects that several of these have."""
    return shapes_in_common([one.read for one in studies])
