"""A filled item as the lines of its part, in source order."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from ..models.records import LineKind
from .blocks import Block, escaped, joined
from .cues import PARTIAL
from .item import DEEP, Item
from .notation import CUT, Heads
from .rank import tokens_of
from .readers.diff import COMMITTED
from .runs import BORDER, PLACE

FEW = 10
"""Lines that are alike below which they may stand as they are, where few of them are shown."""
SHORT = 10
"""Characters of the names of columns up to which they are said again rather than looked up."""
_NESTED = frozenset({"definition", "heading"})
"""Kinds whose place is told by what stands around them: no heading is printed again for one more of them."""
_TOLD = frozenset({"outcome", "error"})
"""Kinds that say at their beginning what they say."""
_HEAD = 16
"""Characters of the count before a template, about."""
_BRANCH = re.compile(r"^(?:\} ?)?(?:case|default|else|elif|elsif|when|catch|except|rescue|finally)\b|->$")
"""One of several of which one is taken."""


class Printed(NamedTuple):
    """One line of a part."""

    kind: LineKind
    text: str
    units: tuple[int, ...] = ()
    """What it shows; of a line above others, what they show."""
    names: tuple[str, ...] = ()
    """That it lists: what stands in lines that are left out behind it."""


def printed(item: Item, number: int = 0, heads: Heads | None = None) -> list[Printed]:
    """The lines of a part, without its note. The item knows then which of its records they show.

    Args:
        number: of the item in its batch.
        heads: columns that earlier items say; gets those of this one.
    """
    done = _Print(item, number, {} if heads is None else heads)
    item.printed = done.shown
    return done.lines


class _Print:
    """A filled item being printed, in source order; a block stands where its first row would."""

    def __init__(self, item: Item, number: int, heads: Heads) -> None:
        self._item = item
        self._number = number
        self._heads = heads
        self._shown: set[int] = set()
        self._pieced: set[int] = set()
        self._places: dict[int, int] = {}
        """Record with a line of its own -> which line that is."""
        self._leads = set[int]()
        """Points with points of their own that are shown, behind which the next one is not."""
        self._current = -1
        units = (item.units[one] for one in item.taken)
        self._whole = item.heads.union(*(unit.records for unit in units if not unit.span))
        """Records that are shown here, or further down."""
        self.lines: list[Printed] = []
        if item.twin >= 0:
            said = f"[like item {item.twin + 1}, but:]" if item.free else f"[= item {item.twin + 1}]"
            self.lines.append(Printed("note", said))
        members: dict[int, list[int]] = {}
        for number in sorted(item.taken):
            if item.units[number].block >= 0 and not item.units[number].span:
                members.setdefault(item.units[number].block, []).append(number)
        plain = {block for block, units in members.items() if self._better_as_they_stand(item.blocks[block], units)}
        for number in sorted(item.taken, key=lambda one: item.units[one].records[0]):
            block = item.units[number].block
            if item.units[number].span:
                self._pieces(number)
            elif block < 0:
                self._quote(number)
            elif block in plain:
                self._lines_of(number)
            elif block in members:
                self._block(block, members.pop(block))
        self._mark_leads()
        text = item.shown_text() if item.listed else ""
        if names := self._inside([name for name in item.listed if name not in text]):
            left = item.names.keys() - item.listed
            # What does not stand there at all is no token of it, which is seen much sooner.
            more = [CUT] if any(name not in text for name in left) or not left <= set(tokens_of(text)) else []
            self.lines.append(Printed("entry", f"[names] {' '.join([*names, *more])}", (), tuple(names)))

    def _inside(self, names: Sequence[str]) -> list[str]:
        """Put names of code behind the line below which they stand, up to the next one that is shown; the others. A
        name of a function, or a case, that is not shown would be taken for one of that before it."""
        item, rows, rest = self._item, sorted(self._places), list[str]()
        behind: dict[int, list[str]] = {}
        for name in names:
            for n in item.places_of(name):
                if n in self._places or not rows or n < rows[0]:
                    continue
                above = rows[bisect_left(rows, n) - 1]
                if all(above in item.chain(one) for one in self._branches_of(n, above)):
                    behind.setdefault(self._places[above], []).append(name)
                    break
            else:
                rest.append(name)
        for at, own in behind.items():
            line = self.lines[at]
            text = f"{line.text.removesuffix(f' {CUT}')} {CUT} [{' '.join(own)}]"
            self.lines[at] = line._replace(text=text, names=tuple(own))
        return rest

    def _branches_of(self, n: int, above: int) -> list[int]:
        """The functions and cases that begin between a line that is shown and one that is not, and that hold that."""
        records = self._item.records
        held = {*self._item.chain(n), n} if records[n].kind == "definition" else self._item.chain(n)
        return [
            one
            for one in held
            if one > above and (records[one].kind == "definition" or _BRANCH.search(records[one].text))
        ]

    @property
    def shown(self) -> frozenset[int]:
        """Records that its lines show; not a line of which only the beginning is left, unless that says it all."""
        units = (self._item.units[one] for one in self._item.taken)
        cut = {n for unit in units if unit.cut and unit.block < 0 for n in unit.records}
        return frozenset(n for n in self._shown if n not in cut or self._item.records[n].kind in _TOLD)

    def _quote(self, number: int) -> None:
        unit = self._item.units[number]
        record = unit.records[0]
        if record in self._shown:
            return
        self._headed(number, "")
        self._apart(record)
        lines = [escaped(line) for line in unit.text.split("\n")]
        lines[0] = self._before(record) + lines[0]
        if len(lines) == len(unit.records):
            lines[1:] = [
                f"{self._item.records[n].indent}{line}" for n, line in zip(unit.records[1:], lines[1:], strict=True)
            ]
        if self._goes_on(unit.records[-1]):
            lines[-1] += f" {CUT}"
        elif self._has_more(record):
            lines[-1] += f"|{CUT}"
        self.lines += [Printed("quote", line, (number,)) for line in lines]
        for n, at in zip(reversed(unit.records), range(len(self.lines) - 1, -1, -1), strict=False):
            self._places[n] = at
        self._shown.update(unit.records)
        self._current = next((n for n in reversed(unit.records) if n in self._item.parents), self._current)

    def _apart(self, record: int) -> None:
        """Mark the line above where what lies between it and this record is left out: lines of the same section of a
        text for people, or the border between two places of code."""
        item, above = self._item, max(self._places, default=-1)
        if not self.lines or self._places.get(above) != len(self.lines) - 1 or above > record:
            return
        following = item.said_next.get(above, record)
        left_out = following != record and following not in self._whole
        if left_out and item.records[above].under == item.records[record].under:
            last = self.lines[-1]
            self.lines[-1] = last if last.text.endswith(CUT) else last._replace(text=f"{last.text} {CUT}")
        elif any(above < one < record for one in item.borders):
            self.lines.append(Printed("quote", BORDER))

    def _before(self, record: int) -> str:
        """What stands in its line before it: a mark, where it points back to a sentence that is not shown, or is taken
        for the newest commit of a log, which is not shown."""
        item = self._item
        missing = record in item.orphans and record - 1 not in self._shown
        if missing and item.records[record].kind == "entry" and self.lines:
            missing = False  # the line above says that there is more
        return f"{CUT} " if missing else self._indent(record)

    def _indent(self, record: int) -> str:
        """The blanks before it, unless rows, which begin with a blank, stand right above."""
        return "" if self.lines and self.lines[-1].kind == "row" else self._item.records[record].indent

    def _goes_on(self, record: int) -> bool:
        """Whether its sentence goes on in a line that is not shown, or its list with one (D19)."""
        item = self._item
        if record in item.unfinished and record + 1 not in self._whole:
            return True
        following = item.follower.get(record, record)
        if following == record or following in self._whole:
            return False
        beside = item.records[following].under == item.records[record].under
        if beside and record in item.parents and any(record in item.chain(n) for n in self._whole - {record}):
            self._leads.add(record)
            return False
        return True

    def _mark_leads(self) -> None:
        """Where the point behind one with points of its own is left out, the mark stands behind those."""
        for record in self._leads:
            below = [at for n, at in self._places.items() if record in self._item.chain(n)]
            at = max(below, default=self._places.get(record, -1))
            if at >= 0 and not self.lines[at].text.endswith(CUT):
                self.lines[at] = self.lines[at]._replace(text=f"{self.lines[at].text} {CUT}")

    def _has_more(self, record: int) -> bool:
        """Whether it is the last that is shown of an object which has other fields (D19)."""
        own = self._item.object_of.get(record, ())
        text = self._item.records[record].text
        if not own or text.count("|") >= text.count("="):  # a bar in a value would be taken for the end of it
            return False
        return not self._whole.issuperset(own) and record == max(self._whole.intersection(own), default=-1)

    def _pieces(self, number: int) -> None:
        """Those of one record in a line; the first of them prints all."""
        item = self._item
        n = item.units[number].records[0]
        if n in self._pieced or n in item.heads - item.whole:  # it is printed whole above what stands under it
            return
        self._pieced.add(n)
        members = [one for one in item.taken if item.units[one].span and item.units[one].records[0] == n]
        members = [
            one for one in members if not item.obsolete(item.units[one])
        ]  # left: columns that its row is without
        if not members:
            return
        members.sort(key=lambda one: item.units[one].span or ())
        table = item.tables[item.records[n].table] if item.records[n].table >= 0 else None
        names, key = (table.columns, table.key) if table else ((), 0)
        text = joined(item.records[n], names, key, [item.units[one] for one in members])
        self._headed(number, "")
        self.lines.append(Printed("quote", text if text[0] == CUT else escaped(text), tuple(members)))

    def _block(self, number: int, members: Sequence[int]) -> None:
        block = self._item.blocks[number]
        all_of_it = tuple(members)
        noun, names = block.noun, block.head
        if block.table >= 0 and len(names) > SHORT:
            said = (n for (n, of), one in self._heads.items() if n < self._number and (of, one) == (noun, names))
            if (other := next(said, -1)) >= 0:
                noun, names = f"{noun} as item {other + 1}", ""
            else:
                self._heads.setdefault((self._number, noun), names)
        above = {self._item.records[self._item.units[one].records[0]].under for one in members}
        if len(above) == 1:
            self._headed(members[0], "")  # before the names of columns, not between them and the rows
        head = f"[{len(members):,} of {block.total:,} {noun}]"
        self.lines.append(Printed("row", f"{head} {names}".rstrip(), all_of_it))
        self.lines += [Printed("row" if line.startswith("[all") else "note", line, all_of_it) for line in block.lines]
        if block.spread:
            for one in members:
                self._headed(one, " ")
                self.lines.append(Printed("row", f" {self._item.units[one].text}", (one,)))
        else:
            texts = [self._item.units[one].text for one in members]
            self.lines.append(Printed("row", " " + " ".join(_runs(texts) if block.run else texts), all_of_it))
        self._shown.update(n for one in members for n in self._item.units[one].records)

    def _lines_of(self, number: int) -> None:
        """The lines of one row of a template, as they stand."""
        for n in self._item.units[number].records:
            self._headed(number, "")
            text = self._before(n) + escaped(self._item.records[n].text)
            self.lines.append(Printed("quote", f"{text} {CUT}" if self._goes_on(n) else text, (number,)))
            self._shown.add(n)
            self._places[n] = len(self.lines) - 1
            if n in self._item.parents:
                self._current = n

    def _better_as_they_stand(self, block: Block, members: Sequence[int]) -> bool:
        """Whether so few lines that are alike are shorter as they stand."""
        if block.total >= FEW or block.table >= 0:
            return False
        units = [self._item.units[one] for one in members]
        rows = sum(len(unit.text) + 2 for unit in units)
        quotes = sum(len(self._item.records[n].text) + 1 for unit in units for n in unit.records)
        return len(block.head) + _HEAD + rows > quotes

    def _headed(self, number: int, indent: str) -> None:
        """What says where a unit stands, unless it is the last thing of that sort that was printed."""
        records = self._item.records
        record = records[self._item.units[number].records[0]]
        under = record.under
        if under < 0 or under == self._current or PARTIAL.match(record.text) or COMMITTED.match(record.text):
            return
        if record.kind in _NESTED and under in self._shown and under in self._item.chain(self._current):
            return  # one more of its children, after another with children of its own
        if self._only_leads(under):
            self._current = under
            return
        above: list[int] = []
        while under >= 0 and under not in self._shown and len(above) < DEEP:
            above.append(under)
            under = records[under].under
        if not above and PLACE.match(records[under].text) and PLACE.match(record.text):
            return  # their line numbers say where they stand
        for n in reversed(above or [record.under]):
            text = records[n].text
            own = f"{self._before(n)}{escaped(text)}"
            text = f"{indent}{text}" if indent else f"{own} {CUT}" if self._goes_on(n) else own
            self.lines.append(Printed("quote", text, (number,)))
            self._shown.add(n)
            self._places[n] = len(self.lines) - 1
        self._current = record.under

    def _only_leads(self, heading: int) -> bool:
        """Whether what was printed last stands under a heading, with no other but words that lead to a list: a line
        after such a list cannot be taken for one of it."""
        records, at = self._item.records, self._current
        if heading not in self._shown or heading not in self._item.chain(at):
            return False
        while at != heading:
            if records[at].kind == "heading" and records[at].worth > 0:
                return False
            at = records[at].under
        return True


def _runs(texts: Sequence[str]) -> list[str]:
    """Numbers in order of equal width, each but one more than the one before, as `first–last`."""
    found: list[list[str]] = []
    for text in texts:
        last = found[-1][-1] if found else ""
        if (
            last
            and len(last) == len(text)
            and int(text) == int(last) + 1
            or last
            and len(last) < len(text)
            and last[0] != "0"
            and int(text) == int(last) + 1
        ):
            found[-1].append(text)
        else:
            found.append([text])
    return [one[0] if len(one) == 1 else " ".join(one) if len(one) == 2 else f"{one[0]}–{one[-1]}" for one in found]
