"""One batch on its way to a digest: read, encoded, filled under its budget, printed, and checked before it is used.

The ladder: a digest within the budget; where it may grow, up to its ceiling for what must not be missing; where an item
can show nothing but how it went, a pointer with its outcome and its shape; refusal where even that is not smaller.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import count
from operator import eq
from typing import Any, NamedTuple

import msgspec

from ..errors import DigestRefused
from ..models.records import (
    EXTRACTIVE,
    Digest,
    DigestLine,
    DigestPart,
    DigestRequest,
    DigestSource,
    Mode,
    RecordCount,
    SpecificCounts,
    Verification,
)
from ..models.text import counted as counted_in
from ..ports.text import Registry, TokenCounter
from ..text.specifics.registry import CLASSES, SpecificClass
from .blocks import Unit, escaped
from .fill import Filling
from .item import OUTCOMES, Item
from .lines import Printed, printed
from .manifest import BRIEF_ITEM, header, item_note
from .notation import NAMES, Heads
from .object_outline import Ask
from .outline import hidden_sections, outline, unshown
from .pieces import Spot
from .proof import OF_NAMES, PartCheck, check_part
from .rank import Need, called, holds, names_in
from .records import STATE, Record, Table
from .source import Told
from .study import Marked, Studies, Study, shapes_of
from .verdict import CHECKS, counted, settle, shared, shown_specifics, violations

_PARTS = 32
"""Parts that are kept, with what their checks found, of one text."""
_CHECKS = 4
"""Times that a part is printed again without what broke a rule; then nothing of it is shown."""
_ROUNDS = 5
"""Times that a selection is corrected until the tokens counted meet the budget."""
_NEAR = 0.97
"""A digest this close to its budget is not filled further."""
_CARRIED = 20.0
"""Gain of a specific that other digests left to what this one replaces (D9): before anything else."""
_LONG_TABLE, _SOME_ROWS = 50, 12
"""Rows of a table from which what is shown of it is said to be picked, and rows shown: shares counted among those that
stand out were taken for those of the whole."""
_PICKED = "rows that stand out, no fair sample"
_OUTCOME, _BRIEF_OUTCOME = 140, 72
"""Characters of a line that says how it went that are shown at every budget, and at a tight one: 15 to 25 tokens."""
_PLAINLY = 4.0
"""Worth of a line that says in so many words how it went."""
_FEW_RECORDS = 3
"""Records of a result of which any one says what it was."""
_SHAPE, _BRIEF_SHAPE = 200, 120
"""Characters of what is said of a result of which nothing is shown but its outcome; where little fits."""
_OBJECT = 1.6
"""Times that room for an object: who goes on with it types what its fields and lists say."""
_LARGE, _LARGEST = 0.05, 2.5
"""Share of its characters that a list to choose from has at least, and times the usual room, at most."""
_WIDER = (2, 3, 4)
"""Times that room where there is no better use for the budget."""
_FEW_TOKENS, _FEW_SHARE = 20, 0.08
"""Tokens that are shown of a result, and share of its records, below both of which it had better be an outline. With 30
and 0.15 of what is needed later 88.8 instead of 88.3 % stays in view, and a tenth more results are outlines only, which
readers called bad more often than others."""
_ROOMY = 0.25
"""Share of its sources' tokens that a batch has from which the rows of a short list are named that are not shown: with
0.15 or none 6 or 12 % less of what is needed later in web searches stays in view."""
_MOSTLY = 0.5
"""Share of its records from which a table is worth the names of its columns, however short its rows are."""
_WORTHWHILE = 0.4
"""Of what was shown before, so much must still be shown beside the outlines."""
_SILENCINGS = 4
"""Times that half of such results are left to their outlines, so that the others get what that frees."""
_FIELD_NAME = re.compile(r"(?:^|[|¦‖])(?:[\w.]+: )?[^=|¦‖]*=")
_NOUNS = {"heading": "line", "claim": "line", "frame": "line"}
"""Kinds of records that are counted as others."""
_SAME, _LEAST_SAME = 0.8, 5
"""Share of a result's lines that an earlier one of its batch has, and how many, from which only the others are said."""
_LONG_LEFT = 3
"""Times that the share of lines which are shown is more than their share of the text, from which both are said."""
_FEW_LINES = 8
"""Times that there are more lines than are shown, from which that alone says that most is left out."""
_BETTER = 1.15
"""Times as much of a table must be shown as with all columns: a row that is whole tells more than its values."""
_WORD_CELL = 0.2
"""Worth of a cell that is told in words: a status, a city, a kind says more of its row than one more number."""
_STATE = 6.0
"""Times that for a column that says how each row went."""
_DERIVED = 0.1
"""Share of its worth that an address keeps which only goes on from another one of its row or object, or a number that
only counts up."""
_ADDRESS = re.compile(r"https?://\S+")
"""The first column of these is how each row is opened, and stays."""
_FULL, _COLUMNS, _SAMPLED = 0.6, 3, 50
"""Share of a table's rows that are shown, below which columns may be left out; columns of which one
may be; and rows that are looked at for which."""


@dataclass(slots=True)
class Draft:
    """A selection printed and checked."""

    bodies: list[list[DigestLine]]
    checks: list[PartCheck]
    counts: SpecificCounts
    parts: tuple[DigestPart, ...]
    tokens: int
    notes: list[str] = field(default_factory=list[str])


class _Sound(NamedTuple):
    """A part that breaks no rule, as one selection of its item is printed."""

    lines: list[DigestLine]
    check: PartCheck
    heads: Heads
    """Columns that it says for later parts."""
    printed: frozenset[int]
    """Records that it shows."""
    units: list[Unit]
    """What the selection numbers; kept, so that nothing else gets its id."""


class Attempt:
    """Everything about one request; `run` gives the digest."""

    _shapes = True
    """Whether notes say what is not shown; not while it is counted what a digest takes beside that."""
    _wide = 1
    """Times the usual room that they have for it."""
    _prose_tokens = 0
    """Taken by somebody else's wording (`prose.py`)."""

    def __init__(
        self,
        request: DigestRequest,
        registry: Registry,
        counter: TokenCounter,
        classes: Sequence[SpecificClass],
        name: str,
        studies: Sequence[Study],
    ) -> None:
        self._request = _limited(request)
        self._registry = registry
        self._counter = counter
        self._count: Callable[[str], int] = cache(counter.count)
        self._sound: dict[tuple[Any, ...], _Sound] = {}
        """Selections that were printed and checked already: of most items a fill changes nothing."""
        self._notes: dict[tuple[Any, ...], tuple[list[DigestLine], list[Unit]]] = {}
        """What was said of them, each with the units that it numbers."""
        self._name = name
        self._studies = studies
        self._facts = [one.facts for one in studies]
        self._shared = shared(self._facts, request.visible.holders)
        self._brief = self._request.budget_tokens < BRIEF_ITEM * len(request.sources)
        self._name_numbers: dict[str, int] = {}
        self._named = {spec.text for spec in request.visible.holders} | request.said
        self._user = {one.name: one.weight for one in classes if one not in CLASSES}
        first = {one.name for one in classes if one.first_rank}
        self._source_tokens = sum(source.tokens for source in request.sources)
        self._scarce = not self._brief and self._request.budget_tokens < _FEW_SHARE * self._source_tokens
        """Little of anything will be shown, so notes say what else there is."""
        self._redacted = sum(source.redacted for source in request.sources)
        alike = shapes_of(studies)
        self._marked = [one.marked(alike, source) for one, source in zip(studies, request.sources, strict=True)]
        self._sources = [one.source for one in self._marked]
        self._twins = [self._twin(n) for n in range(len(request.sources))]
        self._items = [self._item(n) for n in range(len(request.sources))]
        self._first = frozenset(
            number
            for facts, numbers, marked in zip(self._facts, self._shared.numbers, self._marked, strict=True)
            for n, (spec, number) in enumerate(zip(facts.specs, numbers, strict=True))
            if spec.cls in first and n not in marked.derived
        )

    def forget_worths(self) -> None:
        """Keep of the texts only what does not depend on the request."""
        for source in self._sources:
            for coded in source.kept.values():
                coded.known = None

    def run(self) -> Digest:
        """The first form on the ladder that passes every check."""
        request = self._request
        if not request.pointer_only:
            draft = self._filled()
            if draft is not None and not self._violations(draft):
                return self._finished(draft, "digest", ())
        for item in self._items:
            item.clear()
            item.taken.update(item.forced)
        draft = self._drafted()
        if draft.tokens > request.most_tokens:  # so many results that not even how they went fits (D20 before D17)
            for item in self._items:
                item.clear()
            draft = self._drafted()
        if draft.tokens > request.most_tokens:
            raise DigestRefused(
                f"Even a pointer for so many items is longer than the {request.most_tokens:,} tokens that a digest may "
                "have.",
                next="Leave these items as they are, or raise max_digest_tokens in the policy.",
            )
        if draft.tokens >= self._source_tokens:
            raise DigestRefused(
                "Even a pointer is not smaller than what it would stand for.", next="Leave these items as they are."
            )
        if not request.pointer_only:
            draft.notes.append("the batch became a pointer")
        # What must stand in a pointer may be more than the budget (D17); every other rule holds for it, too.
        return self._finished(draft, "pointer", self._violations(draft, ceiling=draft.tokens))

    # -- what can be chosen ------------------------------------------------------------------------------------------

    def _twin(self, number: int) -> int:
        """The earlier result of the batch that has nearly all lines of this one; -1: none."""
        own = self._studies[number].lines
        size = self._studies[number].line_count
        if size < _LEAST_SAME:
            return -1
        for other in range(number):
            if not 0 <= size - self._studies[other].line_count <= (1 - _SAME) * size:
                continue  # more lines than that are missing in one of them
            lines = self._studies[other].lines
            if (lines - own).total() <= (own - lines).total() <= (1 - _SAME) * size:
                return other
        return -1

    def _item(self, number: int) -> Item:
        """One result as what can be chosen of it."""
        source, request = self._sources[number], self._request
        one = request.sources[number]
        records = source.reading.records
        outcomes = self._marked[number].outcomes
        facts, numbers = self._facts[number], self._shared.numbers[number]
        need = Need(source.form, one.focus, self._user, in_view=self._named, wanted=one.wanted)
        values = {
            shared_number: need.value(spec.cls, spec.text) + _CARRIED * ((spec.cls, spec.text) in request.carried)
            for spec, shared_number in zip(facts.specs, numbers, strict=True)
        }
        for n in self._marked[number].derived:
            values[numbers[n]] *= _DERIVED
        known = {(spec.cls, spec.text): n for spec, n in zip(facts.specs, numbers, strict=True)}
        twin = self._twins[number]
        fresh = self._studies[number].lines - self._studies[twin].lines if twin >= 0 else Counter[str]()
        free: list[int] = []
        for n, record in enumerate(records):
            if twin < 0 or fresh[record.text] > 0:
                free.append(n)
                fresh[record.text] -= 1
        if request.pointer_only:  # nothing failed: a line that would tell of it is no outcome without what is around it
            outcomes = [n for n in outcomes if source.forms[n] != "code" or records[n].kind == "outcome"]
        if self._brief and len(records) > _FEW_RECORDS:
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
            outcome=_OUTCOME if not self._brief or one.binary else _BRIEF_OUTCOME,
            outcomes=frozenset(free if twin >= 0 else outcomes[:most]),
            errors=self._marked[number].errors,
        )
        item.encode(source)
        for n in item.counted_up().intersection(n for (cls, _), n in known.items() if cls == "integer"):
            values[n] *= _DERIVED  # an id stays one, even the tenth in a row
        if twin < 0 and not item.is_object():  # whose note says the names of what is not shown
            # What stands in a row has its owner beside it there, as long as there is room for rows.
            chosen = tuple(
                dict.fromkeys(n for unit in item.units if unit.block < 0 or self._brief for n in unit.records)
            )
            if source.named[0] != chosen:
                source.named = chosen, names_in((_values(records[n]) for n in chosen), source.form)
            entries = called(records[n] for n in free if source.forms[n] == "listing")  # not of commits, told by words
            item.name(need.best_of(source.named[1], facts.specs, entries), self._name_numbers, known)
        return item

    def _narrowed(self, item: Item) -> dict[int, tuple[int, ...]]:
        """Of tables of which so few rows are shown that a column had better go: the better half, by worth a
        token, of those that are shown now."""
        found: dict[int, tuple[int, ...]] = {}
        for number, block in enumerate(item.blocks):
            if block.table < 0:
                continue
            if len(block.columns) < _COLUMNS or item.rows_shown(number) >= _FULL * block.total:
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
                address = all(map(_ADDRESS.fullmatch, texts))
                if column == table.key or (address and not opened):
                    opened |= address
                    continue
                gain *= _STATE if STATE.search("".join(table.columns[column : column + 1])) else 1.0
                worth.append((-1.0 if blank else gain / max(1, cost), column))
            gone = {column for _, column in sorted(worth)[: max(1, len(block.columns) // 2)]}
            found[block.table] = tuple(sorted(block.shown - gone))
        return found

    # -- selection ---------------------------------------------------------------------------------------------------

    def _filled(self) -> Draft | None:
        """The budget filled; then, up to the ceiling, what is of the first rank and still left out. None where nothing
        but outcomes fits."""
        request = self._request
        filling = Filling(self._items, frozenset(self._shared.holders), self._count)
        fixed = self._fixed(filling)
        if request.budget_tokens - fixed <= filling.spent and request.carried:  # what others rely on comes first (D9)
            for item in self._items:
                item.forced = ()
            fixed = self._fixed(filling)
        if request.budget_tokens - fixed <= filling.spent:
            return None
        draft = self._fitted(filling, request.budget_tokens, fixed)
        draft = self._with_fewer_columns(filling, draft, fixed)
        draft, fixed = self._with_fewer_results(filling, draft, fixed)
        missing = self._first - filling.seen
        poor = self._in_view(draft) < request.min_shown
        if request.ceiling_tokens > request.budget_tokens and (missing or poor):
            grown = self._fitted(filling, request.ceiling_tokens, fixed, None if poor else missing)
            if grown.tokens > draft.tokens:
                grown.notes.append(f"budget grew from {request.budget_tokens} to {grown.tokens} tokens")
            draft = grown
        if any(one.shown < one.total for one in draft.counts.wanted.values()) and draft.tokens < request.wanted_tokens:
            draft = self._fitted(filling, request.wanted_tokens, fixed, frozenset(), base=draft.tokens)
            draft.notes.append(f"with the lines that were to be kept it has {draft.tokens} tokens")
        if all(item.taken <= set(item.forced) and not item.listed for item in self._items):
            return None
        return self._with_more_said(draft)

    def _with_more_said(self, draft: Draft) -> Draft:
        """The same with longer notes of what is not shown, as far as the budget goes that no line could use."""
        for self._wide in _WIDER:
            other = self._drafted()
            if other.tokens > max(self._request.budget_tokens, draft.tokens):
                self._wide -= 1
                break
            other.notes, draft = draft.notes, other
        return draft

    def _fixed(self, filling: Filling) -> int:
        """Tokens of a digest that shows only what is forced, without that; `filling.spent` are those of it."""
        filling.fill(0)
        self._shapes = False
        empty = self._drafted()
        self._shapes = True
        return empty.tokens - filling.spent

    def _in_view(self, draft: Draft) -> float:
        """Share of the batch's specifics in view, each by what showing it is worth."""
        values = [item.values for item in self._items]
        every = sum(sum(one.values()) for one in values)
        seen = sum(
            value[numbers[n]]
            for value, numbers, check in zip(values, self._shared.numbers, draft.checks, strict=True)
            for n in (*check.shown, *check.elsewhere)
        )
        return seen / every if every else 1.0

    def _with_fewer_columns(self, filling: Filling, draft: Draft, fixed: int) -> Draft:
        """The same with fewer columns of wide tables, as long as that shows more of what is likely to be needed, or
        more titles of what a search found: one of five with all that it says tells less than four by their names."""
        titles = sum(map(Item.leading_shown, self._items))
        best = filling.gained() + (_BETTER - 1) * sum(map(self._in_rows, self._items))
        chosen, seen = [copy(item) for item in self._items], filling.seen
        while any(
            block.table >= 0 and len(block.columns) >= _COLUMNS and item.rows_shown(n) < _FULL * block.total
            for item in self._items
            for n, block in enumerate(item.blocks)
        ):
            before = [len(block.columns) for item in self._items for block in item.blocks]
            for item, source in zip(self._items, self._sources, strict=True):
                if columns := self._narrowed(item):
                    item.encode(source, columns)
            other = self._fitted(filling, self._request.budget_tokens, fixed)
            gained, named = filling.gained(), sum(map(Item.leading_shown, self._items))
            better = named > titles or (named == titles and gained >= best)
            if better and other.tokens <= self._request.budget_tokens:
                best, titles, draft = gained, named, other
                chosen, seen = [copy(item) for item in self._items], filling.seen
            if before == [len(block.columns) for item in self._items for block in item.blocks]:
                break
        self._items[:], filling.seen = chosen, seen
        return draft

    def _with_fewer_results(self, filling: Filling, draft: Draft, fixed: int) -> tuple[Draft, int]:
        """The same with outlines in the place of results of which only scraps would be shown: few results well. Not of
        those with a line that is to be kept."""
        asked = [
            any(holds(item.records[n].text, words) for n in item.free for words in source.wanted)
            for item, source in zip(self._items, self._request.sources, strict=True)
        ]
        for _ in range(_SILENCINGS):
            live = [n for n, item in enumerate(self._items) if not item.silent and item.twin < 0 and not asked[n]]
            poor = sorted((share, n) for n in live if (share := self._little(self._items[n], filling)) < 1)
            if not poor or len(live) < 2:
                break
            kept, seen = [copy(item) for item in self._items], filling.seen
            shown = sum(map(filling.shown_tokens, self._items))
            for _, n in poor[: (len(poor) + 1) // 2]:
                self._items[n].silent = True
            room = self._fixed(filling)
            other = self._fitted(filling, self._request.budget_tokens, room)
            if sum(map(filling.shown_tokens, self._items)) < _WORTHWHILE * shown:  # the outlines take what they free
                self._items[:], filling.seen = kept, seen
                break
            draft, fixed = other, room
        return draft, fixed

    def _little(self, item: Item, filling: Filling) -> float:
        """What is shown of a result, as a share of what is more than scraps; 1 and more is enough."""
        if item.own_row() >= 0 and item.own_row() not in item.taken:
            return 0.0  # its outline says first which object it is
        tokens = filling.shown_tokens(item)
        whole = len(item.whole) / max(1, len(item.free))
        if whole < _MOSTLY and tokens < (above := filling.above_tokens(item)):
            return tokens / above  # of a table hardly more than the names of its columns
        return max(tokens / _FEW_TOKENS, whole / _FEW_SHARE)

    def _in_rows(self, item: Item) -> float:
        """What the rows of tables that could have fewer columns are worth as they are shown."""
        wide = {n for n, block in enumerate(item.blocks) if block.table >= 0 and len(block.columns) >= _COLUMNS}
        rows = [unit for unit in (item.units[number] for number in item.taken) if unit.block in wide]
        return sum(unit.told + unit.asked + sum(item.values[spec] for spec in unit.specs) for unit in rows)

    def _fitted(
        self, filling: Filling, budget: int, fixed: int, wanted: frozenset[int] | None = None, *, base: int = 0
    ) -> Draft:
        """Fill until what is counted, not what was estimated, comes near the budget and stays within it.

        Args:
            wanted: as in `Filling.add`, of what goes beyond the base.
            base: tokens that are filled with anything; 0: the batch's own budget.
        """
        available = budget - fixed
        least, most = -1, 10 * budget  # rooms that were seen to be within the budget, and over it
        best: Draft | None = None
        kept: list[tuple[set[int], list[str]]] = []
        for _ in range(_ROUNDS):
            draft = self._refilled(filling, available, wanted, (base or self._request.budget_tokens) - fixed)
            left = budget - draft.tokens
            if left < 0:
                most = min(most, available)
            else:
                least = max(least, available)
                if best is None or draft.tokens > best.tokens:
                    best, kept = draft, [(set(item.taken), list(item.listed)) for item in self._items]
                if left < (1 - _NEAR) * budget:
                    break
            wish = max(filling.spent, available if left > 0 else 0) + left
            available = wish if least < wish < most else (least + most) // 2
            if not least < available < most:
                break
        if best is None:
            draft = self._drafted()
            while draft.tokens > budget and filling.trim(draft.tokens - budget):
                draft = self._drafted()
            return draft
        for item, (taken, listed) in zip(self._items, kept, strict=True):
            item.taken, item.listed = taken, listed
        return best

    def _refilled(self, filling: Filling, room: int, wanted: frozenset[int] | None, base: int) -> Draft:
        if wanted is None:
            filling.fill(room)
        else:
            filling.fill(base)
            filling.add(room, wanted)
        return self._drafted()

    # -- printed and checked -----------------------------------------------------------------------------------------

    def _drafted(self) -> Draft:
        """The selection as parts, without what breaks a rule."""
        bodies: list[list[DigestLine]] = []
        checks: list[PartCheck] = []
        notes: list[str] = []
        heads: Heads = {}
        for number in range(len(self._items)):
            lines, check, rules = self._checked(number, heads)
            bodies.append(lines)
            checks.append(check)
            notes += [f"item {number + 1}: a line was taken out ({rule})" for rule in sorted(rules)]
        settle(self._shared, checks, self._request.batch_id)
        counts = counted(self._facts, checks, self._redacted)
        counts = msgspec.structs.replace(counts, records=self._records(), wanted=self._wanted())
        parts, tokens = self._headed(bodies, counts)
        return Draft(bodies, checks, counts, parts, tokens, notes)

    def _checked(self, number: int, heads: Heads) -> tuple[list[DigestLine], PartCheck, set[str]]:
        """A part that breaks no rule: what does is taken out, and the rest printed again, since lines count others."""
        item, facts = self._items[number], self._facts[number]
        others = [facts.own for facts in self._facts]
        rules = set[str]()
        for _ in range(_CHECKS):
            for own in [key for key in heads if key[0] == number]:
                del heads[own]
            state = number, id(item.units), frozenset(item.taken), tuple(item.listed), tuple(heads.items())
            if (known := self._sound.get(state)) is not None:
                heads.update(known.heads)
                item.printed = known.printed
                return known.lines, replace(known.check, elsewhere={}), rules
            shown = printed(item, number, dict(heads))
            lines = [DigestLine(one.kind, one.text) for one in shown]
            check = self._read(number, lines, heads, others)
            rules.update(check.bad_lines.values())
            if not check.bad_lines:
                own = {key: heads[key] for key in heads if key[0] == number}
                self._sound[state] = _Sound(lines, check, own, item.printed, item.units)
                return lines, replace(check, elsewhere={}), rules
            for bad, rule in check.bad_lines.items():
                if rule.startswith(OF_NAMES):
                    alone = [(name, [DigestLine("entry", f"{NAMES}{name}")]) for name in shown[bad].names]
                    unfit = {name for name, line in alone if check_part(facts, line, others).bad_lines}
                    item.unfit.update(unfit or shown[bad].names)
                else:
                    item.banned.update(_in_the_way(item, shown, bad) or shown[bad].units)
            item.taken -= item.banned
            item.listed = [name for name in item.listed if name not in item.unfit]
        item.taken, item.listed, item.printed = set(), [], frozenset()
        for own in [key for key in heads if key[0] == number]:
            del heads[own]  # nothing of it is shown, so nobody may refer to its columns
        return [], check_part(facts, [], others), rules

    def _read(
        self, number: int, lines: Sequence[DigestLine], heads: Heads, others: Sequence[Sequence[str]]
    ) -> PartCheck:
        """`check_part`, asked once for the same lines: a batch that is made again has most of them again."""
        facts = self._facts[number]
        if self._items[number].twin >= 0:
            return check_part(facts, lines, others, heads, number)  # what it says depends on another text
        key = number, tuple((line.kind, line.text) for line in lines), tuple(heads.items())
        if (known := facts.parts_read.get(key)) is None:
            check = check_part(facts, lines, others, heads, number)
            if len(facts.parts_read) >= _PARTS:
                facts.parts_read.clear()
            known = facts.parts_read[key] = check, {at: names for at, names in heads.items() if at[0] == number}
        check, own = known
        heads.update(own)
        return check

    def _headed(self, bodies: list[list[DigestLine]], counts: SpecificCounts) -> tuple[tuple[DigestPart, ...], int]:
        """Header and notes around bodies. The header says how many tokens the digest has, itself included: found by
        trying, else not said."""
        request = self._request
        rest = [[*self._noted(n), *body] for n, body in enumerate(bodies)]
        others = sum(self._count("\n".join(line.text for line in lines)) for lines in rest[1:])
        said = 0
        shows = any(line.kind != "note" for body in bodies for line in body)
        head, tokens = self._head(counts, 0, rest[0], others, shows)
        for _ in range(3):
            if tokens == said:
                break
            said = tokens
            head, tokens = self._head(counts, said, rest[0], others, shows)
        else:
            head, tokens = self._head(counts, 0, rest[0], others, shows)
        parts = [[head, *rest[0]], *rest[1:]]
        made = tuple(
            DigestPart(item_id=source.item_id, lines=tuple(lines))
            for source, lines in zip(request.sources, parts, strict=True)
        )
        return made, tokens

    def _head(
        self, counts: SpecificCounts, said: int, below: Sequence[DigestLine], others: int, shows: bool
    ) -> tuple[DigestLine, int]:
        """The header that says so many tokens, and how many there are with it."""
        head = DigestLine("note", header(self._request, counts, said, shows=shows))
        return head, others + self._counter.count("\n".join(line.text for line in (head, *below)))

    def _records(self) -> dict[str, RecordCount]:
        """Records of the batch by kind: how many are shown, of how many."""
        nouns, total = self._nouns
        shown = Counter[str]()
        for item, own in zip(self._items, nouns, strict=True):
            shown.update(own[n] for n in item.printed)
        return {noun: RecordCount(shown=shown[noun], total=n) for noun, n in sorted(total.items()) if noun != "noise"}

    @cached_property
    def _nouns(self) -> tuple[list[list[str]], Counter[str]]:
        """Of each item what its records are counted as, and how many of each there are."""
        nouns = [
            [_NOUNS.get(one.kind, one.kind) if one.text else "noise" for one in item.records] for item in self._items
        ]
        return nouns, Counter(noun for own in nouns for noun in own)

    def _wanted(self) -> dict[str, RecordCount]:
        """By words whose every line is to be kept: how many lines with them are shown whole, of how many."""
        shown, total = Counter[str](), Counter[str]()
        for item, source in zip(self._items, self._request.sources, strict=True):
            units = [item.units[number] for number in item.taken] if source.wanted else []
            whole = {n for unit in units if item.is_whole(unit) for n in unit.records}
            for words in source.wanted:
                lines = [n for n in item.free if holds(item.records[n].text, words)]
                total[words] += len(lines)
                shown[words] += len(whole.intersection(lines))
        return {words: RecordCount(shown=shown[words], total=n) for words, n in sorted(total.items())}

    def _noted(self, number: int) -> list[DigestLine]:
        """`_note`, asked once for all that it depends on."""
        item = self._items[number]
        key = (number, id(item.units), frozenset(item.taken), item.forced, bool(item.listed), item.silent, item.printed)
        key = (*key, len(item.whole), self._shapes, self._wide)
        if (known := self._notes.get(key)) is None:
            known = self._notes[key] = self._note(number), item.units  # kept, so that nothing else gets its id
        return known[0]

    def _note(self, number: int) -> list[DigestLine]:
        item, source = self._items[number], self._request.sources[number]
        bare = item.taken <= set(item.forced) and item.twin < 0
        shapes = self._shapes or self._scarce or item.is_object()  # what an object is, is said first
        missing = "" if bare or item.silent or item.twin >= 0 else self._unshown(number, example_only=not shapes)
        told = self._sources[number].told
        share = "" if bare or item.silent or item.twin >= 0 else _share_of(item, told)
        picked = not (bare or item.silent) and _is_picked(item)
        if len(self._items) == 1 and not (missing or share or picked) and not (bare and (shapes or not item.listed)):
            return []
        brief = self._brief or (len(self._items) == 1 and not bare)
        lines = self._studies[number].size
        if not (bare or item.silent or item.twin >= 0):
            lines = ", ".join(filter(None, (_shown_of(item, told, lines), share)))
        shape = ""
        if (bare and shapes) or item.silent:
            known = item.is_object() or item.is_choice()
            width = (_BRIEF_SHAPE if brief else _SHAPE) * (_OBJECT if known else 1)
            if item.is_choice():
                width = max(width, min(_LARGEST * width, _LARGE * len(source.text)))
            width = int(self._wide * width)
            shape = outline(self._sources[number].reading, item.blocks, width, self._ask(number))
        elif missing:
            shape = f"also holds: {missing}"
        if picked:
            shape = "; ".join(filter(None, (shape, _PICKED)))
        hidden = not item.errors.issubset(n for one in item.taken for n in item.units[one].records)
        errors = RecordCount(shown=len(item.errors & item.printed), total=len(item.errors) if hidden else 0)
        note = item_note(source, number + 1, lines, brief=brief, shape=shape, errors=errors)
        return [DigestLine("note", note)]

    def _ask(self, number: int) -> Ask:
        item = self._items[number]
        return Ask(item.worth_of, item.need.asks_for, self._request.sources[number].arguments, self._named)

    def _unshown(self, number: int, *, example_only: bool) -> str:
        """What is in a result beside what is shown of it; or of an example in a text for people how it is built."""
        item, data = self._items[number], self._sources[number].form != "prose"
        if data and example_only:
            return ""
        shown = {n for one in item.taken for n in item.units[one].records} | item.printed
        whole = len(item.whole) / max(1, len(item.free))
        reading = self._sources[number].reading
        width = int(_SHAPE * (_OBJECT if self._items[number].is_object() else 1))
        width = min(width, self._request.budget_tokens // len(self._items))  # characters: a quarter of its room
        source = self._request.sources[number]
        page = _ADDRESS.match(source.action.target if source.action else source.url) is not None
        if example_only:
            return hidden_sections(reading.records, shown, width, page=page)
        return unshown(
            reading,
            item.blocks,
            shown,
            self._wide * width,
            self._ask(number),
            rows=self._request.budget_tokens >= _ROOMY * self._source_tokens,
            data=data,
            page=page,
            few=self._scarce and whole < _FEW_SHARE and not self._request.sources[number].wanted,
        )

    def _violations(self, draft: Draft, *, ceiling: int = 0) -> tuple[str, ...]:
        request = self._request
        return violations(
            draft.parts,
            draft.checks,
            draft.counts,
            tokens=draft.tokens,
            ceiling=max(request.budget_tokens, request.ceiling_tokens, request.wanted_tokens, ceiling),
            most=request.most_tokens,
            source_tokens=self._source_tokens,
            prose_tokens=self._prose_tokens,
            budget=request.budget_tokens,
        )

    def _finished(self, draft: Draft, mode: Mode, found: tuple[str, ...]) -> Digest:
        return Digest(
            batch_id=self._request.batch_id,
            parts=draft.parts,
            tokens=draft.tokens,
            mode=mode,
            specifics=draft.counts,
            shown=tuple(shown_specifics(f, c) for f, c in zip(self._facts, draft.checks, strict=True)),
            verification=Verification(passed=not found, checks=CHECKS, violations=found),
            digester=self._name,
            registry=self._registry.version,
            notes=tuple(draft.notes),
        )


def _in_the_way(item: Item, shown: Sequence[Printed], bad: int) -> set[int]:
    """What must go so that a line which says how it went may stand: the section above it that it does not belong to.
    Empty for all other lines."""
    if item.outcomes.isdisjoint(n for one in shown[bad].units for n in item.units[one].records):
        return set()
    found = set[int]()
    for line in reversed(shown[:bad]):
        records = [item.records[n] for one in line.units for n in item.units[one].records]
        if not records or not item.outcomes.isdisjoint(n for one in line.units for n in item.units[one].records):
            break
        found.update(line.units)
        if any(record.kind == "heading" for record in records) or all(record.under < 0 for record in records):
            break
    return found - item.banned


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


def _shown_of(item: Item, told: Told, lines: str) -> str:
    """How many of its lines, hits or definitions a part shows, so that nobody takes it for all of them; rows are
    counted where they stand. `lines`: what is said of an item whose parts are not counted."""
    noun, n = told.most
    if noun in ("", "field") or item.printed.issuperset(told.nouns):
        return lines
    shown = sum(told.nouns.get(one) == noun for one in item.printed)
    partly = any(told.nouns.get(record) == noun for one in item.taken for record in item.units[one].records)
    said = f"{shown:,} of {counted_in(n, noun)}" if shown or not partly else f"parts of {counted_in(n, noun)}"
    if noun == "line" and told.rows:  # these are not its rows
        said = f"{said} of text"
    return f"{lines}, {said}" if noun == "definition" and lines else said


def _share_of(item: Item, told: Told) -> str:
    """How much of its text a part shows, where the count of lines says far more: those that are left out are long."""
    lines, size = told.nouns, told.size
    shown = item.printed.intersection(lines)
    if _FEW_LINES * len(shown) < len(lines):
        return ""
    some = sum(len(item.records[n].text) for n in shown)
    pieces = (item.units[number] for number in item.taken if item.units[number].span and item.units[number].block < 0)
    some += sum(len(one.text) for one in pieces if one.records[0] not in shown)
    if some * _LONG_LEFT * len(lines) >= size * len(shown):
        return ""
    return f"{100 * some // size or 'less than 1'} % of the text"


def _is_picked(item: Item) -> bool:
    """Whether so many rows of a long table are shown that a reader may take them for what it is like as a whole."""
    tables = [
        (n, block.total) for n, block in enumerate(item.blocks) if block.table >= 0 and block.total >= _LONG_TABLE
    ]
    return any(_SOME_ROWS <= item.rows_shown(n) <= total / 2 for n, total in tables)


def outcome_lines(source: DigestSource, study: Study) -> list[str]:
    """The lines that say how a result went, as a pointer shows them (D17): three at most, none that is long."""
    marked = study.marked(frozenset(), source)
    records = [marked.source.reading.records[number] for number in sorted(marked.outcomes[: OUTCOMES + 1])]
    return [escaped(one.text) for one in records if one.text and len(one.text) <= _OUTCOME and one.table < 0]


def _values(record: Record) -> str:
    """What may stand alone of a record: of fields the values, never the names of them."""
    return _FIELD_NAME.sub(" ", record.text) if record.kind == "field" else record.text


def _limited(request: DigestRequest) -> DigestRequest:
    """The request with no more tokens than any digest may have (D20)."""
    asked = (request.budget_tokens, request.ceiling_tokens, request.wanted_tokens)
    budget, ceiling, wanted = (min(one, request.most_tokens) for one in asked)
    return msgspec.structs.replace(request, budget_tokens=budget, ceiling_tokens=ceiling, wanted_tokens=wanted)


class ExtractiveDigester:
    """Implements `ports.text.Digester`. Pure: the same request gives the same bytes in every process.

    It computes for as long as the batch is big; callers put it in a thread.
    """

    def __init__(
        self,
        registry: Registry,
        counter: TokenCounter,
        classes: Iterable[SpecificClass] = CLASSES,
        studies: Studies | None = None,
    ) -> None:
        """Take what every digest is made with.

        Args:
            classes: ranks of what the registry finds; pass the registry's own where users added some.
            studies: by the same registry, shared with others; None: its own.
        """
        self._registry = registry
        self._counter = counter
        self._classes = tuple(classes)
        self._studies = studies or Studies(registry)

    @property
    def name(self) -> str:
        """`extractive/2`."""
        return EXTRACTIVE

    async def digest(self, request: DigestRequest) -> Digest:
        """Digest a batch (`ports.text.Digester`)."""
        return self.compute(request)

    def compute(self, request: DigestRequest) -> Digest:
        """The same for callers that are in a thread of their own.

        Raises:
            DigestRefused: no form of it is smaller than its source.
        """
        with self._studies.of(request.sources) as studies:
            return Attempt(request, self._registry, self._counter, self._classes, self.name, studies).run()


def read_ahead(source: DigestSource, studies: Studies, registry: Registry, counter: TokenCounter) -> bytes:
    """Read a text of which a digest may be asked for, and put its records into units as most digests of it do. What is
    asked for is not known yet, so nothing is weighed. Gives what was read, to be kept (`Study.kept`)."""
    with studies.of([source]) as found:
        found[0].read_on(source)
        room = source.tokens  # so that it is read as one with room for whole lines
        request = DigestRequest(sources=(source,), budget_tokens=room, ceiling_tokens=room, handle="", batch_id="")
        Attempt(request, registry, counter, CLASSES, EXTRACTIVE, found).forget_worths()
        return found[0].kept(source)
