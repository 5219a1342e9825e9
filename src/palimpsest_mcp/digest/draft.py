"""A selection printed, checked, and printed again without what breaks a rule; with its header and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from ..models.records import DigestLine, DigestPart, RecordCount, SpecificCounts
from ..models.text import counted as counted_in
from ..ports.seams import TokenCounter
from .blocks import Unit
from .choice import ADDRESS, FEW_SHARE, Choice
from .item import Item
from .lines import Printed, printed
from .notation import NAMES, Heads, header, item_note
from .object_outline import Ask
from .outline import hidden_sections, outline, unshown
from .proof import OF_NAMES, PartCheck, check_part
from .rank import holds
from .source import Told
from .verdict import counted, settle

_PARTS = 32
"""Parts that are kept, with what their checks found, of one text."""
_CHECKS = 4
"""Times that a part is printed again without what broke a rule; then nothing of it is shown."""
_LONG_TABLE, _SOME_ROWS = 50, 12
"""Rows of a table from which what is shown of it is said to be picked, and rows shown: shares counted among those that
stand out were taken for those of the whole."""
_PICKED = "rows that stand out, no fair sample"
_SHAPE, _BRIEF_SHAPE = 200, 120
"""Characters of what is said of a result of which nothing is shown but its outcome; where little fits."""
_OBJECT = 1.6
"""Times that room for an object: who goes on with it types what its fields and lists say."""
_LARGE, _LARGEST = 0.05, 2.5
"""Share of its characters that a list to choose from has at least, and times the usual room, at most."""
_ROOMY = 0.25
"""Share of its sources' tokens that a batch has from which the rows of a short list are named that are not shown: with
0.15 or none 6 or 12 % less of what is needed later in web searches stays in view."""
_NOUNS = {"heading": "line", "claim": "line", "frame": "line"}
"""Kinds of records that are counted as others."""
_LONG_LEFT = 3
"""Times that the share of lines which are shown is more than their share of the text, from which both are said."""
_FEW_LINES = 8
"""Times that there are more lines than are shown, from which that alone says that most is left out."""


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


class Drafts:
    """Makes drafts of one choice, as it is selected when they are asked for."""

    shapes = True
    """Whether notes say what is not shown; not while it is counted what a digest takes beside that."""
    wide = 1
    """Times the usual room that they have for it."""

    def __init__(self, choice: Choice, count: Callable[[str], int], counter: TokenCounter) -> None:
        self._choice = choice
        self._request = choice.request
        self._items = choice.items
        self._facts = choice.facts
        self._redacted = sum(source.redacted for source in choice.request.sources)
        self._count = count
        """Remembers what it counted."""
        self._counter = counter
        self.above: dict[int, list[DigestLine]] = {}
        """Somebody else's wording above what code shows, by the number of its part."""
        self._sound: dict[tuple[Any, ...], _Sound] = {}
        """Selections that were printed and checked already: of most items a fill changes nothing."""
        self._notes: dict[tuple[Any, ...], tuple[list[DigestLine], list[Unit]]] = {}
        """What was said of them, each with the units that it numbers."""

    def drafted(self) -> Draft:
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
        settle(self._choice.shared, checks, self._request.batch_id)
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
        rest = [[*self._noted(n), *self.above.get(n, ()), *body] for n, body in enumerate(bodies)]
        others = sum(self._count("\n".join(line.text for line in lines)) for lines in rest[1:])
        said = 0
        shows = any(line.kind != "note" for lines in rest for line in lines)
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
        key = (*key, len(item.whole), self.shapes, self.wide)
        if (known := self._notes.get(key)) is None:
            known = self._notes[key] = self._note(number), item.units  # kept, so that nothing else gets its id
        return known[0]

    def _note(self, number: int) -> list[DigestLine]:
        item, source = self._items[number], self._request.sources[number]
        bare = item.taken <= set(item.forced) and item.twin < 0
        shapes = self.shapes or self._choice.scarce or item.is_object()  # what an object is, is said first
        missing = "" if bare or item.silent or item.twin >= 0 else self._unshown(number, example_only=not shapes)
        told = self._choice.sources[number].told
        share = "" if bare or item.silent or item.twin >= 0 else _share_of(item, told)
        picked = not (bare or item.silent) and _is_picked(item)
        if len(self._items) == 1 and not (missing or share or picked) and not (bare and (shapes or not item.listed)):
            return []
        brief = self._choice.brief or (len(self._items) == 1 and not bare)
        lines = self._choice.studies[number].size
        if not (bare or item.silent or item.twin >= 0):
            lines = ", ".join(filter(None, (_shown_of(item, told, lines), share)))
        shape = ""
        if (bare and shapes) or item.silent:
            known = item.is_object() or item.is_choice()
            width = (_BRIEF_SHAPE if brief else _SHAPE) * (_OBJECT if known else 1)
            if item.is_choice():
                width = max(width, min(_LARGEST * width, _LARGE * len(source.text)))
            width = int(self.wide * width)
            reading, failed = self._choice.sources[number].reading, not item.errors.isdisjoint(item.printed)
            shape = outline(reading, item.blocks, width, self._ask(number), one_shown=failed)
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
        return Ask(item.worth_of, item.need.asks_for, self._request.sources[number].arguments, self._choice.named)

    def _unshown(self, number: int, *, example_only: bool) -> str:
        """What is in a result beside what is shown of it; or of an example in a text for people how it is built."""
        item, data = self._items[number], self._choice.sources[number].form != "prose"
        if data and example_only:
            return ""
        shown = {n for one in item.taken for n in item.units[one].records} | item.printed
        whole = len(item.whole) / max(1, len(item.free))
        reading = self._choice.sources[number].reading
        width = int(_SHAPE * (_OBJECT if self._items[number].is_object() else 1))
        width = min(width, self._request.budget_tokens // len(self._items))  # characters: a quarter of its room
        source = self._request.sources[number]
        page = ADDRESS.match(source.action.target if source.action else source.url) is not None
        if example_only:
            return hidden_sections(reading.records, reading.tables, shown, width, page=page)
        return unshown(
            reading,
            item.blocks,
            shown,
            self.wide * width,
            self._ask(number),
            rows=self._request.budget_tokens >= _ROOMY * self._choice.source_tokens,
            data=data,
            page=page,
            few=self._choice.scarce and whole < FEW_SHARE and not self._request.sources[number].wanted,
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
