"""What can be chosen of a batch: each result read, with what every part of it is worth for this request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from operator import eq

import msgspec

from ..models.records import DigestRequest, DigestSource
from ..text.specifics.registry import CLASSES, SpecificClass
from .blocks import Spot, escaped
from .item import OUTCOMES, Item
from .notation import BRIEF_ITEM
from .rank import EXAMPLE, Need, called, names_in
from .records import STATE, Record, Table
from .study import Marked, Study, shapes_of
from .verdict import shared

_CARRIED = 20.0
"""Gain of a specific that other digests left to what this one replaces (D9): before anything else."""
_OUTCOME, _BRIEF_OUTCOME = 140, 72
"""Characters of a line that says how it went that are shown at every budget, and at a tight one: 15 to 25 tokens."""
_PLAINLY = 4.0
"""Worth of a line that says in so many words how it went."""
_FEW_RECORDS = 3
"""Records of a result of which any one says what it was."""
_FIELD_NAME = re.compile(r"(?:^|[|¦‖])(?:[\w.]+: )?[^=|¦‖]*=")
_SAME, _LEAST_SAME = 0.8, 5
"""Share of a result's lines that an earlier one of its batch has, and how many, from which only the others are said."""
_WORD_CELL = 0.2
"""Worth of a cell that is told in words: a status, a city, a kind says more of its row than one more number."""
_STATE = 6.0
"""Times that for a column that says how each row went."""
_DERIVED = 0.1
"""Share of its worth that an address keeps which only goes on from another one of its row or object, or a number that
only counts up."""
ADDRESS = re.compile(r"https?://\S+")
"""The first column of these is how each row is opened, and stays."""
FEW_SHARE = 0.08
"""Share of a result's records below which it had better be an outline, if few tokens of it are shown, too."""
FULL, WIDE, _SAMPLED = 0.6, 3, 50
"""Share of a table's rows that are shown, below which columns may be left out; columns of which one
may be; and rows that are looked at for which."""


class Choice:
    """One request, and its results as items of which something can be taken."""

    def __init__(
        self,
        request: DigestRequest,
        count: Callable[[str], int],
        classes: Sequence[SpecificClass],
        studies: Sequence[Study],
    ) -> None:
        self.request = _limited(request)
        self._count = count
        self.studies = studies
        self.facts = [one.facts for one in studies]
        self.shared = shared(self.facts, request.visible.holders)
        self.brief = self.request.budget_tokens < BRIEF_ITEM * len(request.sources)
        """Little fits of each."""
        self._name_numbers: dict[str, int] = {}
        self.named = {spec.text for spec in request.visible.holders} | request.said
        self._user = {one.name: one.weight for one in classes if one not in CLASSES}
        first = {one.name for one in classes if one.first_rank}
        self.source_tokens = sum(source.tokens for source in request.sources)
        self.scarce = not self.brief and self.request.budget_tokens < FEW_SHARE * self.source_tokens
        """Little of anything will be shown, so notes say what else there is."""
        alike = shapes_of(studies)
        self._marked = [one.marked(alike, source) for one, source in zip(studies, request.sources, strict=True)]
        self.sources = [one.source for one in self._marked]
        self._twins = [self._twin(n) for n in range(len(request.sources))]
        self.items = [self._item(n) for n in range(len(request.sources))]
        self.first = frozenset(
            number
            for facts, numbers, marked in zip(self.facts, self.shared.numbers, self._marked, strict=True)
            for n, (spec, number) in enumerate(zip(facts.specs, numbers, strict=True))
            if spec.cls in first and n not in marked.derived
        )
        """Specifics of the first rank, by their numbers."""

    def forget_worths(self) -> None:
        """Keep of the texts only what does not depend on the request."""
        for source in self.sources:
            for coded in source.kept.values():
                coded.known = None

    def _twin(self, number: int) -> int:
        """The earlier result of the batch that has nearly all lines of this one; -1: none."""
        own = self.studies[number].lines
        size = self.studies[number].line_count
        if size < _LEAST_SAME:
            return -1
        for other in range(number):
            if not 0 <= size - self.studies[other].line_count <= (1 - _SAME) * size:
                continue  # more lines than that are missing in one of them
            lines = self.studies[other].lines
            if (lines - own).total() <= (own - lines).total() <= (1 - _SAME) * size:
                return other
        return -1

    def _item(self, number: int) -> Item:
        """One result as what can be chosen of it."""
        source, request = self.sources[number], self.request
        one = request.sources[number]
        records = source.reading.records
        outcomes = self._marked[number].outcomes
        facts, numbers = self.facts[number], self.shared.numbers[number]
        need = Need(source.form, one.focus, self._user, in_view=self.named, wanted=one.wanted)
        values = {
            shared_number: need.value(spec.cls, spec.text) + _CARRIED * ((spec.cls, spec.text) in request.carried)
            for spec, shared_number in zip(facts.specs, numbers, strict=True)
        }
        for n in self._marked[number].derived:
            values[numbers[n]] *= _DERIVED
        if source.form == "prose":
            for n in _in_examples(self._marked[number], records):
                values[numbers[n]] *= EXAMPLE
        known = {(spec.cls, spec.text): n for spec, n in zip(facts.specs, numbers, strict=True)}
        twin = self._twins[number]
        fresh = self.studies[number].lines - self.studies[twin].lines if twin >= 0 else Counter[str]()
        free: list[int] = []
        for n, record in enumerate(records):
            if twin < 0 or fresh[record.text] > 0:
                free.append(n)
                fresh[record.text] -= 1
        if request.pointer_only:  # nothing failed: a line that would tell of it is no outcome without what is around it
            outcomes = [n for n in outcomes if source.forms[n] != "code" or records[n].kind == "outcome"]
        if self.brief and len(records) > _FEW_RECORDS:
            # A last line that only may mean something has no place where little fits; what a program says when it fails
            # has: with it the result is found again.
            said = ("outcome", "error", "claim")
            outcomes = [n for n in outcomes if records[n].kind in said or one.is_error or source.forms[n] == "code"]
            outcomes = [n for n in outcomes if records[n].kind != "outcome" or records[n].worth >= _PLAINLY]
        own = next((one.records for one in source.reading.objects if one.noun == Table(()).noun), ())
        outcomes = [n for n in outcomes if n not in own]  # its outline says how it went, and right behind what it is
        most = OUTCOMES + any(source.forms[n] == "code" for n in outcomes)  # one says that the file goes on
        specs, spots = _renumbered(self._marked[number], numbers)
        item = Item(
            records=records,
            free=free,
            need=need,
            values=values,
            specs=specs,
            spots=spots,
            twin=twin,
            outcome=_OUTCOME if not self.brief or one.binary else _BRIEF_OUTCOME,
            outcomes=frozenset(free if twin >= 0 else outcomes[:most]),
            errors=self._marked[number].errors,
        )
        item.encode(source)
        for n in item.counted_up().intersection(n for (cls, _), n in known.items() if cls == "integer"):
            values[n] *= _DERIVED  # an id stays one, even the tenth in a row
        if twin < 0 and not item.is_object():  # whose note says the names of what is not shown
            # What stands in a row has its owner beside it there, as long as there is room for rows.
            chosen = tuple(
                dict.fromkeys(n for unit in item.units if unit.block < 0 or self.brief for n in unit.records)
            )
            if source.named[0] != chosen:
                source.named = chosen, names_in((_values(records[n]) for n in chosen), source.form)
            entries = called(records[n] for n in free if source.forms[n] == "listing")  # not of commits, told by words
            item.name(need.best_of(source.named[1], facts.specs, entries), self._name_numbers, known)
        return item

    def narrowed(self, item: Item) -> dict[int, tuple[int, ...]]:
        """Of tables of which so few rows are shown that a column had better go: the better half, by worth a
        token, of those that are shown now."""
        found: dict[int, tuple[int, ...]] = {}
        for number, block in enumerate(item.blocks):
            if block.table < 0:
                continue
            if len(block.columns) < WIDE or item.rows_shown(number) >= FULL * block.total:
                found[block.table] = tuple(sorted(block.shown))
                continue
            rows = [n for n in item.free if item.records[n].table == block.table][:_SAMPLED]
            worth: list[tuple[float, int]] = []
            opened = False
            for column in block.columns:
                table = item.tables[block.table]
                cells = [n for n in rows if column < len(item.specs[n])]
                texts = [item.records[n].cells[column] for n in cells]
                cost = sum(self._count(text) + 1 for text in texts)
                gain = sum(item.values[spec] for n in cells for spec in item.specs[n][column])
                words = [n for n, text in zip(cells, texts, strict=True) if text and not item.specs[n][column]]
                gain += _WORD_CELL * len(words)
                blank = 2 * texts.count("") > len(cells)
                address = all(map(ADDRESS.fullmatch, texts))
                if column == table.key or (address and not opened):
                    opened |= address
                    continue
                gain *= _STATE if STATE.search("".join(table.columns[column : column + 1])) else 1.0
                worth.append((-1.0 if blank else gain / max(1, cost), column))
            gone = {column for _, column in sorted(worth)[: max(1, len(block.columns) // 2)]}
            found[block.table] = tuple(sorted(block.shown - gone))
        return found


def _in_examples(marked: Marked, records: Sequence[Record]) -> set[int]:
    """Specifics that nothing but fields of an example has, by their numbers in `Facts.specs`."""
    inside, outside = set[int](), set[int]()
    for record, cells in zip(records, marked.cells, strict=True):
        (inside if record.kind == "field" else outside).update(n for cell in cells for n in cell)
    return inside - outside


def _renumbered(
    marked: Marked, numbers: Sequence[int]
) -> tuple[Sequence[Sequence[Sequence[int]]], dict[int, list[Spot]]]:
    """Where its specifics stand, by the numbers that they have in the batch."""
    if all(map(eq, numbers, count())):
        return marked.cells, marked.spots
    cells = [
        tuple([tuple([numbers[n] for n in cell]) for cell in record]) if any(record) else record
        for record in marked.cells
    ]
    return cells, {n: [Spot(at, end, numbers[k]) for at, end, k in own] for n, own in marked.spots.items()}


def _values(record: Record) -> str:
    """What may stand alone of a record: of fields the values, never the names of them."""
    return _FIELD_NAME.sub(" ", record.text) if record.kind == "field" else record.text


def _limited(request: DigestRequest) -> DigestRequest:
    """The request with no more tokens than any digest may have (D20)."""
    asked = (request.budget_tokens, request.ceiling_tokens, request.wanted_tokens)
    budget, ceiling, wanted = (min(one, request.most_tokens) for one in asked)
    return msgspec.structs.replace(request, budget_tokens=budget, ceiling_tokens=ceiling, wanted_tokens=wanted)


def outcome_lines(source: DigestSource, study: Study) -> list[str]:
    """The lines that say how a result went, as a pointer shows them (D17): three at most, none that is long."""
    marked = study.marked(frozenset(), source)
    records = [marked.source.reading.records[number] for number in sorted(marked.outcomes[: OUTCOMES + 1])]
    return [escaped(one.text) for one in records if one.text and len(one.text) <= _OUTCOME and one.table < 0]
