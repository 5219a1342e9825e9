"""One result of a batch as what can be chosen of it: units with what they are worth, and what is shown of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from .blocks import (
    COLUMNS,
    LINE,
    MANY,
    ROW,
    SPOKEN,
    Block,
    Spot,
    Unit,
    encoded,
    fields_of,
    is_exception,
    of_fields,
    of_line,
    of_row,
    passage_places,
    passages,
)
from .cues import ended
from .notation import CUT
from .rank import WHOLE, Need, tokens_of
from .records import STATE, Record, Table
from .runs import (
    FULL_LINE,
    HALF_LINE,
    LISTS,
    PLACE,
    SAYS,
    SPOKEN_KINDS,
    followers,
    goes_on,
    lacks_its_start,
    points_back,
    signatures,
    told_together,
)
from .source import Source

_KEPT = 4
"""Ways that the records of one text are kept in as units."""
OUTCOMES = 2
"""Records of how a result went that are shown at every budget."""
_OUTER = 0.9
"""Worth from which a line of code is more than a step inside of a definition."""
_NO_TEMPLATES = frozenset({"code", "web_results"})
"""Forms in which lines that are alike are an accident, but for definitions."""
DEEP = 6
"""Headings above a line, at most."""
_EARLY = 20
"""Passages of a speech after which one tells half of what the first does."""
_LEADING = 1.5
"""Worth of a row from which it says what is below it."""
_SHORT_TABLE = 12
"""Rows of a table up to which each tells as much as its kind does, however short: one compares them all."""
_FEW_ROWS = 24
"""Rows that one chooses among, at most, with those that follow them."""
_PLACES = 8
"""Lines that are looked at for where a name stands."""


class _Valued(NamedTuple):
    """Units with what they tell, for one who asks so and numbers the specifics so. Nobody changes them."""

    asked: tuple[tuple[str, ...], ...]
    specs: Sequence[Sequence[Sequence[int]]]
    spots: Mapping[int, Sequence[Spot]]
    units: list[Unit]


@dataclass(slots=True)
class Coded:
    """Records as units and blocks, whatever they are worth: kept with their text, since a pass digests most texts
    several times."""

    units: list[Unit]
    blocks: list[Block]
    inner: frozenset[int]
    parents: frozenset[int]
    code: frozenset[int]
    unfinished: frozenset[int]
    follower: dict[int, int]
    forced: tuple[int, ...]
    says: list[int]
    """Units that say something which none before them said."""
    orphans: frozenset[int]
    places: dict[int, list[tuple[int, int]]] = field(default_factory=dict[int, list[tuple[int, int]]])
    """Of what was said, by the number of the record, where its passages stand."""
    known: _Valued | None = None
    """As they were last asked for."""
    tokens: dict[str, list[int]] | None = None
    """Token -> the first records of code that it stands in, in their order."""


@dataclass(slots=True)
class Item:
    """One result while its digest is filled."""

    records: Sequence[Record]
    free: Sequence[int]
    """Records that may be shown: all but those that an earlier result of the batch has, too."""
    need: Need
    values: dict[int, float]
    """Specific (its number in the batch) -> what showing it is worth."""
    specs: Sequence[Sequence[Sequence[int]]]
    """Per record and cell, the specifics in it, by their numbers in the batch; a line is one cell."""
    spots: Mapping[int, Sequence[Spot]] = field(default_factory=dict[int, Sequence[Spot]])
    """Of long lines, by the number of the record, where their specifics stand."""
    names: dict[str, int] = field(default_factory=dict[str, int])
    """What may stand alone, best first, by its number in the batch, among those of the specifics."""
    outcome: int = 120
    """Characters that are left of a line that says how it went."""
    outcomes: frozenset[int] = frozenset()
    """Records that say how it went, and are shown at every budget (D17)."""
    errors: frozenset[int] = frozenset()
    """Records that say what went wrong."""
    twin: int = -1
    """The earlier result of the batch that this one nearly equals; -1: none."""
    unfinished: frozenset[int] = frozenset()
    """Records whose sentence goes on in the next one."""
    follower: dict[int, int] = field(default_factory=dict[int, int])
    """Record of a list, or what leads to one -> the record that follows it there."""
    orphans: frozenset[int] = frozenset()
    """Records that begin a unit and point back to the one before it, which is too long to stand beside them."""
    object_of: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """Record of some fields of an object that is told by several -> all of these."""
    inner: frozenset[int] = frozenset()
    """Lines inside definitions: they are no place for the names in them, which say as much in a list."""
    parents: frozenset[int] = frozenset()
    """Records that others stand under."""
    coded: Coded | None = None
    """What its units were made of."""
    silent: bool = False
    """Nothing is shown of it but how it went; its note says what it held."""
    tables: Sequence[Table] = ()
    told: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict[tuple[int, int], tuple[float, float]])
    """Record and characters that are printed of it -> what it tells."""
    units: list[Unit] = field(default_factory=list[Unit])
    blocks: list[Block] = field(default_factory=list[Block])
    forced: tuple[int, ...] = ()
    """Units that are shown whatever the budget."""
    rates: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    """Of each unit its gain a token while nothing is shown, below zero, and its number: the best first."""
    rows: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """Block -> its units, the best first; made with `rates`."""
    least: list[int] = field(default_factory=list[int])
    """Per unit the fewest tokens that it can cost, beside whatever is shown."""
    banned: set[int] = field(default_factory=set[int])
    """Units that may not be shown: the checks refused them."""
    unfit: set[str] = field(default_factory=set[str])
    """Names that may not."""
    taken: set[int] = field(default_factory=set[int])
    """Units that are shown."""
    pieces: Counter[int] = field(default_factory=Counter[int])
    """Record -> its pieces that are shown."""
    whole: set[int] = field(default_factory=set[int])
    """Records that are shown whole."""
    listed: list[str] = field(default_factory=list[str])
    """Names that are listed."""
    heads: set[int] = field(default_factory=set[int])
    """Records that are shown as a heading or by a unit."""
    printed: frozenset[int] = frozenset()
    """Records that the part shows as it was last printed, headings among them (`lines.printed`)."""
    open: set[int] = field(default_factory=set[int])
    """Blocks with a row that is shown."""
    alike: Counter[int] = field(default_factory=Counter[int])
    """Block -> its rows that are shown."""
    cells: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])
    """Block and column -> pieces of it that are shown."""

    def encode(self, source: Source, narrow: dict[int, tuple[int, ...]] | None = None) -> None:
        """Make units of the records; of the tables in `narrow` with these columns only."""
        self.tables = source.reading.tables
        key = (tuple(self.free), self.outcomes, self.errors, self.outcome, tuple(sorted((narrow or {}).items())))
        coded: Coded | None = source.kept.get(key)
        if coded is None:
            coded = self._coded(source, narrow)
            if len(source.kept) >= _KEPT:
                source.kept.clear()
            source.kept[key] = coded
        self.coded = coded
        self.inner, self.parents, self.unfinished = coded.inner, coded.parents, coded.unfinished
        self.follower, self.orphans = coded.follower, coded.orphans
        told = [one.records for one in source.reading.objects if len(one.records) > 1]
        self.object_of = {n: own for own in told for n in own if self.records[n].kind == "field"}
        self.forced, self.blocks = coded.forced, coded.blocks
        known = coded.known
        if known is None or known.asked != self.need.asked or known.specs != self.specs or known.spots != self.spots:
            self.units = [copy(unit) for unit in coded.units]
            self._value(coded)
            self._add_pieces(source.forms, coded.places)
            known = coded.known = _Valued(self.need.asked, self.specs, self.spots, self.units)
        self.units = [copy(unit) for unit in known.units]
        self._add_names()
        self.rates = []
        self.banned = set()
        self.clear()

    def narrow(self, source: Source, columns: dict[int, tuple[int, ...]]) -> None:
        """`encode` with these columns of its tables; where they are what they were, its units stay, with what was found
        out about them."""
        if columns != {block.table: tuple(sorted(block.shown)) for block in self.blocks if block.table >= 0}:
            self.encode(source, columns)
            return
        self.rates = []  # what stands above rows is shared with other results, whose columns may change
        self.banned = set()
        self.clear()

    def _coded(self, source: Source, narrow: dict[int, tuple[int, ...]] | None) -> Coded:
        inner = frozenset(
            n
            for n, (record, form) in enumerate(zip(self.records, source.forms, strict=True))
            if form == "code" and record.kind in ("line", "noise") and record.worth < _OUTER
        )
        parents = frozenset(record.under for record in self.records)
        code = frozenset(n for n in self.free if source.forms[n] == "code")
        bodies = {n: PLACE.sub("", self.records[n].text) for n in self.free if self.records[n].kind == "definition"}
        often = Counter(bodies.values())
        told = {
            one
            for n, (line, following) in enumerate(pairwise(self.records))
            if source.forms[n + 1] in LISTS and points_back(line, following)
            for one in (n, n + 1)
        }
        alike = [
            n
            for n in self.free
            if n not in self.outcomes
            and n not in told
            and (source.forms[n] not in _NO_TEMPLATES or often.get(bodies.get(n, "")) == 1)
            and not (source.forms[n] == "search" and self.records[n].kind == "line")  # it would leave its hit
        ]
        units, blocks = encoded(source.reading, self.free, source.mined(alike), narrow, outcome=self.outcome)
        folded = [one for one in units if one.block >= 0 and blocks[one.block].table < 0]
        if bare := {n for one in folded if parents.issuperset(one.records) for n in one.records}:
            # Headings alone would stand away from what they are above.
            alike = [n for n in alike if n not in bare]
            units, blocks = encoded(source.reading, self.free, source.mined(alike), narrow, outcome=self.outcome)
        units = told_together(signatures(units, self.records, source.forms), self.records, source.forms)
        unfinished = frozenset(
            n
            for n, (record, following) in enumerate(pairwise(self.records))
            if source.forms[n] == source.forms[n + 1] == "prose"
            and goes_on(record, following, HALF_LINE if following.text[:1].islower() else FULL_LINE)
        )
        forced = tuple(n for n, unit in enumerate(units) if not self.outcomes.isdisjoint(unit.records))
        said = {_bare(units[number]) for number in forced}
        says: list[int] = []
        for number, unit in enumerate(units):
            text = _bare(unit)
            if unit.block < 0 and text in said and number not in forced:
                continue  # the same line again says nothing
            said.add(text)
            # A hit says at least where it is: `863:}` is the end of what begins above it.
            if any(self.records[n].kind == "hit" or SAYS.search(self.records[n].text) for n in unit.records):
                says.append(number)
        orphans = frozenset(
            n
            for n in (unit.records[0] for unit in units)
            if n
            and (
                (source.forms[n] in LISTS and lacks_its_start(self.records[n - 1], self.records[n]))
                or (source.forms[n] == "diff" and self.records[n - 1].kind == self.records[n].kind == "entry")
            )
        )
        follower = followers(units, self.records, source.forms)
        return Coded(units, blocks, inner, parents, code, unfinished, follower, forced, says, orphans)

    def _value(self, coded: Coded) -> None:
        """Say of each unit what it tells, and the specifics that it shows."""
        self.need.look_at(record.text for record in self.records)
        for number in coded.says:
            unit = self.units[number]
            size = len(unit.text) // len(unit.records)
            if unit.block >= 0 and self.blocks[unit.block].table >= 0 and self.blocks[unit.block].total <= _SHORT_TABLE:
                size = max(size, WHOLE)
            told = [self._told(n, len(self.records[n].text) if n in self.errors else size) for n in unit.records]
            unit.told, unit.asked = (sum(one) for one in zip(*told, strict=True))
            if any(self.records[n].kind != "noise" for n in unit.records):
                unit.specs = self._specs_of(unit)

    def _told(self, record: int, size: int) -> tuple[float, float]:
        """`Need.told`, asked once: with fewer columns most units are what they were."""
        known = self.told.get((record, size))
        if known is None:
            known = self.told[record, size] = self.need.told(self.records[record], size)
        return known

    def _add_pieces(self, forms: Sequence[str], places: dict[int, list[tuple[int, int]]]) -> None:
        """What can be shown of units that are long. `places`: of passages that were looked for before; gets others."""
        for unit in list(self.units):
            n = unit.records[0]
            record = self.records[n]
            if len(unit.records) > 1 or record.kind in ("definition", "entry") or forms[n] == "code":
                continue  # half a statement misleads, and the size of a file is nobody's without its name
            if len(record.text) >= SPOKEN and unit.block < 0 and record.kind in SPOKEN_KINDS and forms[n] in LISTS:
                if n not in places:
                    places[n] = list(passage_places(record.text))
                for place, piece in enumerate(passages(record, n, self.spots.get(n, ()), places[n])):
                    piece.told = self._told(n, len(piece.text))[0] / (1 + place / _EARLY)
                    self.units.append(piece)
                if unit.cut and self.units[-1].records == (n,):
                    unit.told = unit.asked = 0.0  # its beginning is a passage, too
            if unit.cut:
                continue
            if record.table >= 0:
                table = self.tables[record.table]
                if self.blocks[unit.block].total == 1 and table.noun != Table(()).noun:
                    continue  # a piece of the only row would not say what it lies in
                columns = [c for c in range(len(record.cells)) if c not in self.blocks[unit.block].same]
                if len(columns) < COLUMNS:
                    continue
                if len(record.text) < ROW or self.blocks[unit.block].total >= MANY:
                    # Hardly longer than a piece, but its columns may be left out; or one of many rows, which show more.
                    columns = [c for c in columns if is_exception(table, record, c)]
                for piece in of_row(record, n, columns, table, self.specs[n]):
                    piece.of = unit.block
                    if piece.span and is_exception(table, record, column := piece.span[0]):
                        kind = "error" if STATE.search(table.columns[column]) else record.kind
                        piece.told = self.need.told(Record(piece.text, kind, record.worth), len(piece.text))[0]
                    self.units.append(piece)
            elif unit.block < 0 and len(record.text) >= LINE and n in self.spots:
                made = list(of_fields(record, n, self.spots[n])) if record.kind == "field" else []
                self.units += made or list(of_line(record, n, self.spots[n]))

    def name(
        self, names: Sequence[tuple[str, float]], numbers: dict[str, int], specs: Mapping[tuple[str, str], int]
    ) -> None:
        """Take names that may stand alone: a line that holds one shows it, too.

        Args:
            names: best first, each with its gain.
            numbers: of the names of the batch so far; those that are new get one.
            specs: (class, text) -> its number: one that is a name is worth what the name is.
        """
        for name, gain in names:
            number = self.names[name] = numbers.setdefault(name, -1 - len(numbers))
            self.values[number] = gain
        for (_, text), number in specs.items():
            if text in self.names:
                same = self.names[text]
                self.values[same] = max(self.values[same], self.values[number])
                self.values[number] = 0.0
        self._add_names()
        self.rates = []

    def _add_names(self) -> None:
        for unit in self.units if self.names else ():
            first = self.records[unit.records[0]]
            if not unit.cut and first.table < 0 and unit.records[0] not in self.inner and first.kind != "noise":
                texts = [unit.text] if unit.span else [self.records[n].text for n in unit.records]
                held = (self.names.get(word) for text in texts for word in tokens_of(text))
                unit.specs = (*unit.specs, *dict.fromkeys(number for number in held if number is not None))

    def _specs_of(self, unit: Unit) -> tuple[int, ...]:
        """The specifics that a unit shows, each once."""
        if unit.cut:
            return ()
        shown = self.blocks[unit.block].shown if unit.block >= 0 and self.blocks[unit.block].table >= 0 else None
        cells = (
            cell for n in unit.records for column, cell in enumerate(self.specs[n]) if shown is None or column in shown
        )
        return tuple(dict.fromkeys(spec for cell in cells for spec in cell))

    def counted_up(self) -> set[int]:
        """Specifics that are numbers without a gap, one a line, of lines that differ in nothing else."""
        found = set[int]()
        for number, block in enumerate(self.blocks):
            rows = [unit for unit in self.units if unit.block == number and not unit.span] if block.run else []
            numbers = {int(unit.text) for unit in rows}
            if numbers and max(numbers) - min(numbers) + 1 == len(numbers) == len(rows):
                found.update(spec for unit in rows for spec in unit.specs)
        return found

    def worth_of(self, record: int, column: int) -> float:
        """What the specifics in one cell of a row are worth."""
        return sum(self.values[number] for number in self.specs[record][column])

    def places_of(self, name: str) -> Sequence[int]:
        """The first records of code that a name stands in."""
        if (coded := self.coded) is None:
            return ()
        if coded.tokens is None:
            coded.tokens = {}
            for n in sorted(coded.code):
                for token in set(tokens_of(self.records[n].text)):
                    if len(known := coded.tokens.setdefault(token, [])) < _PLACES:
                        known.append(n)
        return coded.tokens.get(name, ())

    def clear(self) -> None:
        """Nothing is shown."""
        self.taken, self.listed, self.heads, self.open, self.alike = set(), [], set(), set(), Counter()
        self.pieces, self.whole, self.cells = Counter(), set(), Counter()

    def text_of(self, unit: Unit) -> str:
        """What a unit shows, expanded."""
        if unit.cut or unit.span or self.records[unit.records[0]].table >= 0:
            return unit.text
        return "\n".join(self.records[n].text for n in unit.records)

    def is_whole(self, unit: Unit) -> bool:
        """Whether nothing of its lines is missing: no end that was cut off, no column that is left out."""
        if unit.cut or unit.span:
            return False
        shown = self.blocks[unit.block].shown if unit.block >= 0 else frozenset[int]()
        return all(shown.issuperset(range(len(self.records[n].cells))) for n in unit.records)

    def shown_text(self) -> str:
        """What all that is taken shows, expanded."""
        return "\n".join(self.text_of(self.units[number]) for number in sorted(self.taken))

    def own_row(self) -> int:
        """The unit of an object that is all of the result: its title, its address, its state; -1: there is none."""
        first = self.units[0] if self.units else None
        if first is None or first.span:
            return -1
        if first.block < 0:
            record = self.records[first.records[0]]
            return 0 if record.kind == "field" and not fields_of(record.text)[0] else -1
        block = self.blocks[first.block]
        return 0 if block.table >= 0 and block.total == 1 else -1

    def is_object(self) -> bool:
        """Whether it is one object, with more than fits in a line."""
        return self.own_row() >= 0 and len(self.units) > 1

    def is_choice(self) -> bool:
        """Whether it is a few rows and nothing else: who asked chooses among them."""
        rows = sum(record.table >= 0 for record in self.records)
        return 0 < rows <= _FEW_ROWS and rows == len(self.records)

    def leading_rows(self) -> list[int]:
        """The units of a table's rows that are worth more than others: titles of what a search found, for one."""
        rows = (n for n, unit in enumerate(self.units) if unit.block >= 0 and not unit.span)
        leading = (n for n in rows if self.records[self.units[n].records[0]].worth >= _LEADING)
        return [n for n in leading if self.records[self.units[n].records[0]].table >= 0]

    def rows_shown(self, block: int) -> int:
        """How many rows, or lines, of a block are shown."""
        units = (self.units[number] for number in self.taken)
        return sum(unit.block == block and not unit.span for unit in units)

    def leading_shown(self) -> int:
        """How many of these are shown, of tables of a few rows."""
        shown = self.taken.intersection(self.leading_rows())
        return sum(self.blocks[self.units[number].block].total <= _FEW_ROWS for number in shown)

    def obsolete(self, piece: Unit) -> bool:
        """Whether a unit is a piece of what is shown anyway."""
        if not piece.span or piece.records[0] not in self.whole:
            return False
        return piece.of < 0 or piece.span[0] in self.blocks[piece.of].shown

    def lead(self, unit: Unit) -> str:
        """What stands before the first piece of a record."""
        record = self.records[unit.records[0]]
        if record.table >= 0:
            table = self.tables[record.table]
            return f"{table.columns[table.key]}={record.cells[table.key]}|"
        path, separator, pairs = fields_of(record.text) if record.kind == "field" else ("", "", [])
        return path + pairs[0] + separator if pairs else f"{CUT} "

    def chain(self, record: int) -> set[int]:
        """The headings that a record stands under."""
        found = set[int]()
        while record >= 0 and (record := self.records[record].under) >= 0 and record not in found:
            found.add(record)
        return found

    def above(self, unit: Unit) -> list[int]:
        """Headings of a unit that nothing shows yet, the nearest first."""
        found: list[int] = []
        at = self.records[unit.records[0]].under
        while at >= 0 and at not in self.heads and len(found) < DEEP:
            found.append(at)
            at = self.records[at].under
        return found


def _bare(unit: Unit) -> str:
    """What a line says, wherever it stands: `exit 0` of all lines that say nothing else."""
    text = PLACE.sub("", unit.text).strip()
    return ended(text) or text
