"""What a text holds whatever its digest is asked for: read once, though a pass digests it several times.

Nothing of it depends on a budget, on what is asked for or on what else is in view. It is a cache and nothing more: with
an empty one every digest has the same bytes.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import msgspec

from ..models.records import DigestSource
from ..ports.seams import Registry
from .blocks import LINE, Spot
from .cues import mark
from .item import Coded
from .notation import lines_of
from .proof import facts_of
from .records import Shape
from .source import Known, Source
from .source_facts import Facts

_ALIKE, _WIDE = 2, 4
"""Texts with an object of one shape, and columns of it, from which these are said once: the names of a few take no more
room than a row without them."""
_ON = ("/", "{", "?", "#")
"""What an address goes on with."""
MOST_CHARS = 2_000_000
"""Characters of text whose studies are kept; each takes about forty bytes."""
_PAGES = frozenset({"page", "prose"})
_POINT = re.compile(r"[-*+•‣◦–·▪●>|\[]|\d{1,3}[.)]\s")
"""How a link in a list begins, `[its name](…)` too."""
_LINK = re.compile(r"[<(\[]{0,3}https?://[^\s<>\])]+[>)\]]{0,3}")
_NAME = 60
"""Characters of what stands beside a link, at most, where that is only its name."""
_MANY_LINKS = 8
"""Such links from which they are what to read next: who goes on follows hardly any of them."""
_NEXT = 0.2
"""Times their worth."""


class Marked(NamedTuple):
    """A text that has been read, with what says how it went. Nobody changes it."""

    source: Source
    outcomes: list[int]
    """Records that say how it went, the best first."""
    errors: frozenset[int]
    """Records that say what went wrong."""
    cells: list[tuple[tuple[int, ...], ...]]
    """Per record and cell, the numbers in `Facts.specs` of the specifics in it."""
    spots: dict[int, list[Spot]]
    """Of long lines, by the number of the record, where their specifics stand."""
    derived: frozenset[int]
    """Addresses that only go on from another one of the same row or object."""


_Coding = tuple[tuple[int, ...], frozenset[int], frozenset[int], int, tuple[tuple[int, tuple[int, ...]], ...]]
"""What units depend on (`Item.encode`)."""


class _Kept(msgspec.Struct, array_like=True):
    """A study as bytes say it: all that takes longer to find than to read back, but nothing that digests are checked
    by, which is found in the text itself every time."""

    is_error: bool
    verb: str
    specs: int
    """How many specifics there are, whose numbers stand here."""
    known: Known
    outcomes: list[int]
    errors: frozenset[int]
    cells: list[tuple[tuple[int, ...], ...]]
    spots: dict[int, list[Spot]]
    derived: frozenset[int]
    coded: list[tuple[_Coding, Coded]]
    part: bool = False

    def fits(self, facts: Facts) -> bool:
        """Whether every number is one of something that is there."""
        records = len(self.known.reading.records)
        one = chain(self.outcomes, self.errors, self.spots)
        number = chain(self.derived, chain.from_iterable(map(chain.from_iterable, self.cells)))
        return (
            self.specs == len(facts.specs)
            and records == len(self.known.forms) == len(self.cells)
            and max(one, default=-1) < records
            and max(number, default=-1) < self.specs
        )


_DECODER = msgspec.msgpack.Decoder(_Kept)


class Study:
    """One text.

    Args:
        kept: what `kept` gave for the same text, with the same registry and by the same program; whatever else it is,
            the text is read.
    """

    def __init__(self, source: DigestSource, registry: Registry, kept: bytes = b"") -> None:
        self._registry = registry
        self.text = source.text
        self.facts: Facts = facts_of(source, registry)
        self._marked: dict[tuple[frozenset[Shape], bool, str, bool], Marked] = {}
        self._read = (self._known(kept) if kept else None) or Source(source.text)

    @cached_property
    def lines(self) -> Counter[str]:
        """Its lines that are not blank, and how often each stands there."""
        return Counter(line for line in map(str.strip, self._read.lines) if line)

    @cached_property
    def line_count(self) -> int:
        """How many lines that are not blank."""
        return self.lines.total()

    @cached_property
    def size(self) -> str:
        """How big it is, in words."""
        return lines_of(self.text)

    @property
    def shapes(self) -> set[Shape]:
        """Of the objects that stand alone in it."""
        return {one.shape for one in self._read.reading.objects}

    def marked(self, shared: frozenset[Shape], source: DigestSource) -> Marked:
        """As it is read beside others.

        Args:
            shared: shapes of objects that others of its batch have, too.
            source: the same text, with what is known of its call.
        """
        own = shared & self.shapes
        verb = _verb(source)
        key = (own, source.is_error, verb, source.part)
        if key not in self._marked:
            read = Source(source.text) if self._marked else self._read  # records are marked in place
            read.make_rows(own)
            self._marked[key] = self._mark(read, source, verb)
        return self._marked[key]

    def read_on(self, source: DigestSource) -> None:
        """Read what most digests of it look at."""
        self.marked(frozenset(), source)
        self.facts.read_on()
        _ = self.line_count, self.size

    def kept(self, source: DigestSource) -> bytes:
        """What `read_on` found, to be handed in for the same text by another process."""
        own = self.marked(frozenset(), source)
        coded = [(key, replace(one, known=None)) for key, one in own.source.kept.items()]
        kept = _Kept(
            is_error=source.is_error,
            verb=_verb(source),
            specs=len(self.facts.specs),
            known=own.source.known,
            outcomes=own.outcomes,
            errors=own.errors,
            cells=own.cells,
            spots=own.spots,
            derived=own.derived,
            coded=coded,
            part=source.part,
        )
        return zlib.compress(msgspec.msgpack.encode(kept), 1)

    def _known(self, kept: bytes) -> Source | None:
        try:
            found = _DECODER.decode(zlib.decompress(kept))
        except (zlib.error, msgspec.DecodeError):
            return None
        if not found.fits(self.facts):
            return None
        source = Source(self.text, found.known)
        source.kept.update(found.coded)
        self._marked[frozenset(), found.is_error, found.verb, found.part] = Marked(
            source, found.outcomes, found.errors, found.cells, found.spots, found.derived
        )
        return source

    def _mark(self, read: Source, source: DigestSource, verb: str) -> Marked:
        records = read.reading.records
        errors = {n for n, record in enumerate(records) if record.kind == "error"}
        outcomes = mark(read.reading, is_error=source.is_error, verb=verb, part=source.part)
        errors |= {n for n, record in enumerate(records) if record.kind == "error"}
        cells, spots = self._specs_in([record.cells or (record.text,) for record in records])
        told = [one.records for one in read.reading.objects]
        told += [(n,) for n, record in enumerate(records) if record.table >= 0]
        derived = {n for own in told for n in self._going_on({n for one in own for cell in cells[one] for n in cell})}
        for record in _links(read):
            derived.update(n for cell in cells[record] for n in cell)
            records[record].worth *= _NEXT
        return Marked(read, outcomes, frozenset(errors), cells, spots, frozenset(derived))

    def _going_on(self, specs: set[int]) -> Iterator[int]:
        """Of these, addresses that are another of them with something behind it: what a program makes of its own
        address, and a reader can make, too."""
        addresses = {self.facts.specs[n].text: n for n in specs if self.facts.specs[n].cls == "url"}
        for text, number in addresses.items() if len(addresses) > 1 else ():
            if any(text.startswith(one) and text[len(one) :][:1] in _ON for one in addresses if len(one) < len(text)):
                yield number

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


def _verb(source: DigestSource) -> str:
    return f"{source.action.verb} {source.action.target}" if source.action else ""


def _links(source: Source) -> list[int]:
    """Records that are nothing but a link with its name, where a page has many of them."""
    found = [
        n
        for n, record in enumerate(source.reading.records)
        if source.forms[n] in _PAGES
        and _POINT.match(record.text)
        and _LINK.search(record.text)
        and len(_LINK.sub("", record.text)) <= _NAME
    ]
    return found if len(found) >= _MANY_LINKS else []


class Studies:
    """Those of texts that were digested, at most `MOST_CHARS` characters of them.

    A study belongs to one digest at a time, since it goes on reading while that is checked: another thread that wants
    the same text reads it for itself.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, Study] = {}
        self._lent: Mapping[bytes, bytes] = {}

    def lend(self, kept: Mapping[bytes, bytes]) -> None:
        """Take studies that were kept elsewhere, by `name_of` their texts, in the place of what was lent before."""
        self._lent = kept

    @contextmanager
    def of(self, sources: Sequence[DigestSource], *, keep: bool = True) -> Generator[list[Study]]:
        """Those of these texts, in order, for as long as one digest is made; equal texts share one.

        Args:
            keep: False lets go of them afterwards: nobody is likely to ask again.
        """
        # Threads share this: each step is one call of a dict.
        texts = dict.fromkeys(source.text for source in sources)
        found = {text: known for text in texts if (known := self._known.pop(text, None)) is not None}
        try:
            for source in sources:
                if source.text not in found:
                    kept = self._lent.get(name_of(source.text), b"") if self._lent else b""
                    found[source.text] = Study(source, self._registry, kept)
            yield [found[source.text] for source in sources]
        finally:
            if keep:
                self._known.update(found)
                self._give_up()

    def _give_up(self) -> None:
        kept = list(self._known)
        chars = sum(map(len, kept))
        while chars > MOST_CHARS:
            # Any of them: a pass goes over its results in order, again and again, and with the oldest given up each
            # would be gone just before it is wanted.
            away = kept.pop(chars % len(kept))
            self._known.pop(away, None)
            chars -= len(away)

    @property
    def chars(self) -> int:
        """Of the texts whose studies are kept."""
        return sum(map(len, self._known))


def name_of(text: str) -> bytes:
    """What a text is kept under."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def shapes_of(studies: Sequence[Study]) -> frozenset[Shape]:
    """Shapes of objects that several of these have: their columns are said once for all of them."""
    shapes = Counter(shape for one in studies for shape in one.shapes)
    return frozenset(one for one, times in shapes.items() if times >= _ALIKE and len(one[1]) >= _WIDE)
