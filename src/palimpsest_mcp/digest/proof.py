"""Code checks a digest against the redacted sources before it is used (D3 to D8, D10, D11, D15, D16, D18, D19).

It reads the printed text of a part and the source (`source_facts.py`), nothing that the digester made: every line is
decoded by the notation alone, expanded, and looked up. A line shows what it expands to; what cannot be found in the
source may not stand.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ..models import text as nouns
from ..models.records import DigestLine, DigestSource
from ..ports.seams import Registry
from .notation import (
    ALL,
    AS,
    BETWEEN,
    BREAK,
    CUT,
    ESCAPE,
    HEAD,
    INSIDE,
    LEFT,
    NAMES,
    NOTE,
    SEPARATORS,
    SLOT,
    Heads,
    number_of,
    spelled_out,
)
from .source_facts import LONG, Facts, Place, Projection, cell, cut_at, found_by_line, is_cut, numbers, squeezed

_UNKNOWN = "invented: neither a line, a sentence nor the fields of an object of its source"
OF_NAMES = "names:", "invented: a name"
"""What rules begin with that the names of a line break, and not the line."""
_ON = f" {CUT}"
_ASIDE = re.compile(r"(?i)[\[(<.… ]{1,6}(?:[0-9,]+ (?:more )?lines? |(?:\w+ )?(?:(?:was|is) )?truncated|showing )")
_COMMITTED = re.compile(r"\[[\w./-]+(?: \(root-commit\))? [0-9a-f]{7,40}\] ")
"""A pager's last word and what git says of a commit: they stand behind the sections of a text, in none of them."""
_EQUAL = re.compile(r"\[(?:= item ([0-9]{1,6})|(?:like )?item ([0-9]{1,6}),? but:)\]")
_NO_NAME = frozenset(("number", "integer", "quantity", "money", "score", "date", "version", "hash", "uuid", "status"))
_PLAIN_NUMBER = re.compile(r"[\W\d_]*(?:\d[A-Za-z%]{1,2})?")
_OFTEN = 64
"""Places of one line that are looked at; what stands more often says nothing of its heading."""

# Words that turn what a sentence says: cut off, they would leave the opposite (D16).
_DENIES = (
    r"\b(?:never|not|no|none|nor|neither|cannot|\w+n['’]t|without|except\w*|unless|excluding|instead|rather than"
    r"|only if|reject\w*|revert\w*|abandon\w*|obsolete|no longer|root cause|conclusion|however"
    r"|nicht|keine?[mnrs]?|niemals|nie|ohne|außer|statt|sondern|ne|pas|jamais|sauf|aucune?|sans|nunca|excepto|salvo|sin"
    r"|ningún|não|nunca|exceto|sem|non|mai|tranne|senza|niet|geen|behalve|inte|utom|не|нет|кроме|никогда|без)\b|\bn['’]"
)
_TURNS = re.compile(
    _DENIES + "|ない|ません|なし|ただし|除く|以外|不|没|沒|未|无|無|非|除了|않|없|아니|제외", re.IGNORECASE
)
_ASCII_TURNS = re.compile(_DENIES)
"""The same for ASCII in lower case: most texts are that, and it takes a fourth of the time."""


@dataclass(slots=True)
class PartCheck:
    """What became of one item's specifics."""

    shown: set[int] = field(default_factory=set[int])
    """Numbers of S that stand in its own part."""
    elsewhere: dict[int, str] = field(default_factory=dict[int, str])
    """Numbers of S in view elsewhere -> holder."""
    bad_lines: dict[int, str] = field(default_factory=dict[int, str])
    """Lines of the part that may not stand, with the rule they break."""
    total: int = 0
    rows: dict[str, int] = field(default_factory=dict[str, int])
    """By the noun of their block, the records that are really shown (D18)."""


def facts_of(source: DigestSource, registry: Registry) -> Facts:
    """Read a source for its checks. Never raises, whatever the text; deterministic."""
    return Facts(source, registry)


def check_part(
    facts: Facts,
    lines: Sequence[DigestLine],
    others: Sequence[Sequence[str]] = (),
    heads: Heads | None = None,
    number: int = 0,
) -> PartCheck:
    """What one part shows of its own item, and which of its lines say what the source does not.

    Args:
        others: of each item of the batch, by its number, the lines of its plain text; for `[= item n]`.
        heads: columns that the parts before say; gets those of this one, which is the part with this number.
    """
    proof = _Proof(facts, others, {} if heads is None else heads, number)
    at = 0
    while at < len(lines):
        at = proof.line(lines, at)
    return proof.checked()


class _Proof:
    """One part while it is read."""

    def __init__(self, facts: Facts, others: Sequence[Sequence[str]], heads: Heads, number: int) -> None:
        self._heads = heads
        self._number = number
        self._facts = facts
        self._others = others
        self._check = PartCheck(total=len(facts.specs))
        self._texts: dict[str, bool] = {}
        """What is shown -> whether it is a value by itself."""
        self._above: dict[str, list[tuple[int, str]]] = {}
        """Kind of heading -> those that a reader takes the next line to stand under, with their level."""
        self._headings: dict[str, list[tuple[int, int, str, int]]] = {}
        self._but: tuple[int, set[str]] | None = None
        self._named = False

    def checked(self) -> PartCheck:
        """The result: S members that stand whole in what was shown."""
        if self._but is not None and self._but[1]:
            self._bad(self._but[0], "equal: lines that differ are not shown")
        facts, check = self._facts, self._check
        for found in facts.specifics_in(list(self._texts)):
            check.shown.update(found)
        for text, alone in self._texts.items():
            if alone:
                check.shown.update(n for one in (text, *text.split()) for n in facts.by_text.get(one, ()))
        return check

    def line(self, lines: Sequence[DigestLine], at: int) -> int:
        """Read the line at a place, with the rows below it; gives the place of the next."""
        kind, text = lines[at].kind, lines[at].text
        if kind == "prose":
            rule = prose_violation([self._facts], [text], self._facts.registry)
        elif kind == "note" and NOTE.fullmatch(text):
            rule = ""
        elif head := HEAD.fullmatch(text):
            return self._block(lines, at, head)
        elif equal := _EQUAL.fullmatch(text):
            rule = self._equal(at, equal)
        elif text.startswith(NAMES):
            rule = self._names(text.removeprefix(NAMES).removesuffix(f" {CUT}"))
        elif kind == "note" or ALL.fullmatch(text) or LEFT.fullmatch(text) or NOTE.fullmatch(text):
            rule = "note: not one of ours where it stands"
        elif kind == "quote" and text[: len(ESCAPE)] != ESCAPE and (inside := INSIDE.fullmatch(text)):
            rule = self._quote(inside[1]) or self._inside(inside, lines[at + 1 :])
            if rule and not self._quote(text):
                rule = ""  # it stands there just so
        else:
            rule = self._quote(text)
            if rule and not self._fields(text):
                rule = ""
        if rule:
            self._bad(at, rule)
        return at + 1

    def _bad(self, at: int, rule: str) -> None:
        self._check.bad_lines.setdefault(at, rule)

    def _show(self, text: str, *, alone: bool = False) -> None:
        self._texts[text] = self._texts.get(text, False) or alone

    # -- lines -------------------------------------------------------------------------------------------------------

    def _quote(self, text: str) -> str:
        """The rule that a line breaks which is no row; empty where it is a whole line, sentence or piece."""
        facts = self._facts
        bare = text.removeprefix(ESCAPE).strip()
        places = facts.whole.get(bare)
        if places is None and bare.endswith(_ON) and bare[: -len(_ON)] in facts.whole:
            bare = bare[: -len(_ON)]  # a whole line, behind which there are others
            places = facts.whole[bare]
        if places is None and (bare in facts.page.texts or (bare[:1] != CUT != bare[-1:] and facts.sentence(bare))):
            places = []
        if places is not None and (not text[:1].isspace() or text[: text.index(bare)] + bare in facts.indented):
            self._show(facts.view.get(bare, bare))
            if self._but is not None:
                self._but[1].discard(bare)
            return self._heading(bare, places)
        if bare and (CUT in (bare[0], bare[-1]) or BETWEEN in bare) and not text[:1].isspace():
            return self._pieces(bare.strip(f"{CUT} ").split(BETWEEN))
        return _UNKNOWN

    def _pieces(self, pieces: Sequence[str]) -> str:
        cut = self._facts.pieces(pieces)
        if cut is None or any(map(self._invents, pieces)):
            return "invented: a piece that its source does not have between two gaps"
        if turns(cut):
            return "clause: cut out of a sentence that denies or excepts"
        for piece in pieces:
            self._show(piece)
        return ""

    def _invents(self, text: str) -> bool:
        """Whether the registry, or the second reading, finds in a text what the source does not have (D5)."""
        known = self._facts.numbers
        spans = self._facts.registry.spans(text)
        return any((span.cls, span.text) not in known for span in spans) or bool(self._facts.strangers(text))

    def _names(self, text: str) -> str:
        names = text.split(" ")
        if self._named:
            return "names: a second list of them"
        self._named = True
        return self._listed(names)

    def _inside(self, found: re.Match[str], following: Sequence[DigestLine]) -> str:
        """The rule that names behind a line of code break: each stands in a line before the next one that is shown."""
        names = found[2].split(" ")
        if rule := self._listed(names):
            return rule
        below = (self._places(one.text) for one in following if one.kind == "quote")
        nexts = next((places for places in below if places), list[int]())
        for place in self._places(found[1])[:_OFTEN]:
            end = next((one for one in nexts if one > place), len(self._facts.order))
            if self._facts.holds(names, place + 1, end):
                return ""
        return "names: not in the lines behind this one"

    def _places(self, text: str) -> list[int]:
        """Where the whole line stands that a line of a digest shows."""
        inside = INSIDE.fullmatch(text)
        bare = (inside[1] if inside else text).removeprefix(ESCAPE).strip()
        whole = self._facts.whole
        return whole.get(bare) or whole.get(bare.removesuffix(_ON)) or []

    def _listed(self, names: Sequence[str]) -> str:
        """The rule that names without a line of theirs break."""
        text = " ".join(names)
        if not self._facts.names.issuperset(names) or self._facts.strangers(text):
            return "invented: a name that is no whole token of its source"
        for name, spans in zip(names, found_by_line(names, self._facts.registry), strict=True):
            if _PLAIN_NUMBER.fullmatch(name) or any(one.cls in _NO_NAME and one.text == name for one in spans):
                return "names: a number, date or hash alone"
            self._show(name, alone=True)
        return ""

    def _equal(self, at: int, found: re.Match[str]) -> str:
        number = int(found[1] or found[2]) - 1
        if not 0 <= number < len(self._others):
            return "equal: no such item"
        other = [line.strip() for line in self._others[number] if line.strip()]
        own = self._facts.own
        if found[1]:
            return "" if own == other else "equal: it is not"
        fresh = Counter(own) - Counter(other)
        if (Counter(other) - Counter(own)).total() > fresh.total():
            return "equal: lines are missing that the other has"
        self._but = at, set(fresh)
        return ""

    def _fields(self, text: str) -> str:
        """`path: leaf=value|leaf=value|…`: all of them leaves of one object (D7); at its end `…` where it has more."""
        text = text[: -len(CUT) - 1] if text.endswith(tuple(f"{one}{CUT}" for one in SEPARATORS)) else text
        key = ("fields", text)
        known: list[tuple[str, bool]] | None = self._facts.lines_read.get(key, [])
        if known == []:
            known = self._facts.lines_read[key] = self._fields_of(text)
        for one, alone in known or ():
            self._show(one, alone=alone)
        return _UNKNOWN if known is None else ""

    def _fields_of(self, text: str) -> list[tuple[str, bool]] | None:
        """What it shows, and whether that is a value by itself; None where it is no such line."""
        if text.endswith(":") and self._facts.has_path(text[:-1]):
            return [(text[:-1], False)]
        starts = [0, *(found.end() for found in re.finditer(": ", text))][:4]
        for start in starts:
            path = text[: max(0, start - 2)]
            for separator in SEPARATORS:
                pairs = [part.partition("=") for part in text[start:].split(separator)]
                if not all(sign for _, sign, _ in pairs):
                    continue
                names = tuple(name for name, _, _ in pairs)
                # Of a record at any place, or a row of a table; a lone field would not say whose it is.
                anywhere = not path and len(pairs) > 1 and all(value for _, _, value in pairs)
                found = self._facts.anywhere(names, path) if anywhere else self._facts.project(names, path)
                values = tuple(cell(value) for _, _, value in pairs)
                if values in found or self._cut_row(values, found):
                    return [
                        one
                        for (name, _, _), value in zip(pairs, values, strict=True)
                        for one in ((name, False), (value, True))
                    ]
        return None

    # -- headings (D15) ----------------------------------------------------------------------------------------------

    def _heading(self, text: str, places: Sequence[int]) -> str:
        """Whether a line stands below its own headings here, as far as headings are shown; it may be one itself."""
        heads = self._facts.heads
        kind, level = next((heads[place] for place in places[:_OFTEN] if place in heads), ("", 0))
        if kind:
            shown = self._above.setdefault(kind, [])
            while shown and shown[-1][0] >= level:
                shown.pop()
        last = len(self._facts.order) - 1
        aside = _COMMITTED.match(text) or (last in places and _ASIDE.match(text))
        stands = aside or self._stands(places, level if kind == "#" else 0)
        rule = "" if stands else "heading: under one that is not its own"
        if kind:
            self._above[kind].append((level, text))
        return rule

    def _stands(
        self, places: Sequence[int], level: int = 0, among: frozenset[str] = frozenset(), own: str = ""
    ) -> bool:
        """Whether one of these lines has the headings above it that are shown above it.

        Args:
            level: of a section that is looked at itself.
            among: headings of its block, and `own`, the one that it stands below.
        """
        if not places or len(places) > _OFTEN or min(places) < 0:
            return True
        return any(
            all(not shown or shown[-1][1] in self._chain(kind, place) for kind, shown in self._above.items())
            and (not own or own == self._last(place, among))
            for place in places
        )

    def _chain(self, kind: str, place: int) -> Iterator[str]:
        """The headings of a kind that a line stands under, the nearest first."""
        heads = self._headings.get(kind)
        if heads is None:
            heads = self._headings[kind] = []
            for at, (own, level) in self._facts.heads.items():
                if own == kind:
                    above = len(heads) - 1
                    while above >= 0 and heads[above][1] >= level:
                        above = heads[above][3]
                    heads.append((at, level, self._facts.order[at], above))
        at = bisect_left(heads, (place, 0, "", 0)) - 1
        while at >= 0:
            yield heads[at][2]
            at = heads[at][3]

    def _last(self, place: int, among: frozenset[str]) -> str:
        """The nearest of these lines above a place."""
        best = ""
        at = -1
        for one in among:
            places = self._facts.whole.get(one, [])
            n = bisect_left(places, place) - 1
            if n >= 0 and places[n] > at:
                best, at = one, places[n]
        return best

    # -- blocks ------------------------------------------------------------------------------------------------------

    def _block(self, lines: Sequence[DigestLine], at: int, head: re.Match[str]) -> int:
        """A header and what stands below it: `[5 of 2,100 like] …` and its like."""
        end = at + 1
        while (
            end < len(lines)
            and lines[end].kind != "prose"
            and (lines[end].text[:1] == " " or ALL.fullmatch(lines[end].text) or LEFT.fullmatch(lines[end].text))
        ):
            end += 1
        said, total = number_of(head[1]), number_of(head[2])
        rows = [(n, lines[n].text[1:]) for n in range(at + 1, end) if lines[n].text[:1] == " "]
        noun, rest = head[3], head[4] or ""
        if named := AS.fullmatch(noun):
            noun, rest = named[1], self._heads.get((int(named[2]) - 1, named[1]), "")
            if not rest or head[4] or int(named[2]) > self._number:
                self._bad(at, "columns: no earlier item says them")
        elif rest and head[3] != "like":
            self._heads.setdefault((self._number, noun), rest)
        if head[3] == "like":
            found = self._template(at, rest, rows, total)
        else:
            notes = [(n, lines[n].text) for n in range(at + 1, end) if lines[n].text[:1] != " "]
            found = self._table(at, rest, notes, rows, total)
        if found != said or total < said or not found:
            self._bad(at, "count: not so many rows as it says")
        noun = "lines" if head[3] == "like" else noun
        self._check.rows[noun] = (
            self._check.rows.get(noun, 0) + found - sum(n in self._check.bad_lines for n, _ in rows)
        )
        return end

    def _placed(self, decoded: Sequence[_Decoded]) -> int:
        """Rows and headings of a block, in order: (line, heading or empty, places). How many rows there are."""
        among = frozenset(heading for _, heading, _ in decoded if heading)
        own = ""
        rows = 0
        for n, heading, places in decoded:
            if heading:
                own = heading
                self._show(heading)
                if broken := self._heading(heading, places):
                    self._bad(n, broken)
            else:
                rows += 1
                if n not in self._check.bad_lines and not self._stands(places, 0, among, own):
                    self._bad(n, "heading: under one that is not its own")
        return rows

    def _template(self, at: int, text: str, rows: Sequence[tuple[int, str]], total: int) -> int:
        slots = [int(slot) for slot in SLOT.findall(text)]
        if not slots or min(slots) < 1:
            self._bad(at, "template: without slots")
            return 0
        width = max(slots)
        if total > self._facts.size:
            self._bad(at, "count: more lines than its source has")
        decoded: list[_Decoded] = []
        listed = 0
        for n, row in rows:
            splits = [row.split(one) for one in SEPARATORS] if width > 1 else [[row]]
            places = next((one for values in splits if (one := self._expanded(text, values, width)) is not None), None)
            if places is None and (above := self._facts.whole.get(row.strip())) is not None:
                decoded.append((n, row.strip(), above))
                continue
            if places is None and width == 1 and (" " in row or "–" in row):
                for value in spelled_out(row):
                    if self._expanded(text, [value], 1) is None:
                        self._bad(n, "rows: one that expands to no line of its source")
                        break
                    listed += 1
                continue
            if places is None:
                self._bad(n, "rows: one that expands to no line of its source")
            decoded.append((n, "", places or ()))
        return self._placed(decoded) + listed

    def _expanded(self, text: str, values: Sequence[str], width: int) -> Sequence[int] | None:
        """Where the lines stand that a template and its values make; None: nowhere."""
        facts = self._facts
        if len(values) != width:
            return None
        lines = tuple(squeezed(SLOT.sub(lambda slot: values[int(slot[1]) - 1], one)) for one in text.split(BREAK))
        places = facts.run(lines)
        if places is None:
            joined = " ".join(lines)
            if len(lines) == 1 and not self._fields(joined):
                return ()
            if not facts.sentence(joined) and not all(line in facts.page.texts for line in lines):
                return None
        for n, line in enumerate(lines):
            whole = facts.order[places[0] + n] if places else line
            self._show(facts.view.get(whole, whole))
        return places or ()

    def _table(
        self, at: int, head: str, notes: Sequence[tuple[int, str]], rows: Sequence[tuple[int, str]], total: int
    ) -> int:
        """Rows of cells: each stands in one record, under these columns (D7)."""
        readings: list[_Table] = []
        for one in SEPARATORS:
            readings.append(self._rows_under(one, head, notes, rows, total))
            if not readings[-1].bad:
                break
        best = min(readings, key=lambda one: len(one.bad))
        for n, rule in best.bad.items():
            self._bad(n, rule)
        if total > best.records:
            self._bad(at, "count: more rows than its source has")
        for text in best.shown:
            for part in text.removesuffix(CUT).split("⏎"):
                self._show(part.strip(), alone=not text.endswith(CUT))
        return self._placed(best.decoded)

    def _rows_under(
        self,
        separator: str,
        head: str,
        notes: Sequence[tuple[int, str]],
        rows: Sequence[tuple[int, str]],
        total: int,
    ) -> _Table:
        made = _Table({}, [], [])
        above = self._read_above(separator, head, [text for _, text in notes], [row for _, row in rows])
        for n, text in notes:
            if (every := ALL.fullmatch(text)) and number_of(every[1]) != total:
                made.bad[n] = "count: not so many rows as it says"
        times = Counter[tuple[str, ...]]()
        made.records = above.records
        for n, row in rows:
            one = above.rows.get(row)
            if one is None:
                one = above.rows[row] = self._row_under(row, above)
            times[one.values] += 1
            if one.heading is not None:
                made.decoded.append((n, row.strip(), one.heading))
                continue
            made.decoded.append((n, "", one.places))
            if times[one.values] > len(one.places):
                made.bad[n] = "rows: no record of its source has these values under these columns"
            elif one.rule:
                made.bad[n] = one.rule
            else:
                made.shown += one.cells
        if above.fixed and above.agreeing < total:
            made.bad |= {n: "rows: a value that not all of them have" for n, text in notes if ALL.fullmatch(text)}
        elif above.columns:
            made.shown += (*above.columns, *above.constants, *above.fixed)
        return made

    def _read_above(self, separator: str, head: str, notes: Sequence[str], rows: Sequence[str]) -> _Above:
        """What rows below these lines are looked up in. Of rows without names it depends on the rows themselves."""
        key = ("rows", separator, head, tuple(notes), () if head else tuple(rows))
        known: _Above | None = self._facts.lines_read.get(key)
        if known is None:
            known = self._facts.lines_read[key] = _above(self._facts, separator, head, notes, rows)
        return known

    def _row_under(self, row: str, above: _Above) -> _Row:
        facts = self._facts
        cells = tuple(map(cell, row.split(above.separator)))
        values = (*cells, *above.fixed)
        found = above.known.get(values) or self._cut_row(values, above.known)
        heading = facts.whole.get(row.strip()) if found is None else None
        rule = ""
        if any(map(facts.strangers, cells)):
            rule = "invented: a number that a second reading does not find"
        elif above.columns and not any(
            len({name.partition(".")[0] for name in place.names} - above.mentioned) <= above.more
            for place in found or ()
        ):
            rule = "columns: one is left out and not named"
        return _Row(cells, values, [place.at for place in found or ()], heading, rule)

    def _cut_row(self, values: tuple[str, ...], known: Projection) -> list[Place] | None:
        """The records of a row with cells that are marked as cut: by the others, and by how those begin (D16)."""
        cut = tuple(n for n, value in enumerate(values) if not value or value.endswith(CUT))
        if not cut:
            return None
        for whole in self._facts.like(values, cut, known)[:_OFTEN]:
            heads = [(values[n].removesuffix(CUT).rstrip(), whole[n].replace("⏎", "\n")) for n in cut]
            if all(_may_be_cut(one.replace("⏎", "\n"), text) for one, text in heads):
                return known[whole]
        return None


_Decoded: TypeAlias = tuple[int, str, Sequence[int]]
"""A line below a header: its number, the heading that it is, else empty, and where it stands in the source."""


@dataclass(slots=True)
class _Table:
    """Rows as read with one separator."""

    bad: dict[int, str]
    decoded: list[_Decoded]
    shown: list[str]
    records: int = 0


class _Row(NamedTuple):
    """A row as read under what stands above it."""

    cells: tuple[str, ...]
    values: tuple[str, ...]
    """With those that all rows have."""
    places: list[int]
    """Where the records are that have these; none: it has no record."""
    heading: Sequence[int] | None
    """It is no row, but a heading that stands there."""
    rule: str
    """What it breaks although there is such a record."""


@dataclass(slots=True)
class _Above:
    """What stands above rows, read with one separator."""

    separator: str
    columns: tuple[str, ...]
    constants: tuple[str, ...]
    """Columns that are said once; `fixed` are their values."""
    fixed: tuple[str, ...]
    mentioned: set[str]
    more: int
    """Columns that are left out and only counted."""
    known: Projection
    records: int
    """How many the source has."""
    agreeing: int
    """How many of them have the fixed values."""
    rows: dict[str, _Row] = field(default_factory=dict[str, _Row])


def _above(facts: Facts, separator: str, head: str, notes: Sequence[str], rows: Sequence[str]) -> _Above:
    columns = tuple(head.split(separator)) if head else ()
    constants: dict[str, str] = {}
    mentioned, more = set(columns), 0
    for text in notes:
        if every := ALL.fullmatch(text):
            pairs = (one.partition("=") for one in every[2].split(separator))
            constants |= {name: cell(value) for name, _, value in pairs}
        elif (left := LEFT.fullmatch(text)) is not None:
            mentioned.update(left[1].split(", "))
            more = int(left[2] or 0)
    if columns:
        known = facts.project((*columns, *constants))
    else:
        split = [tuple(map(cell, row.split(separator))) for row in rows]
        bare = [one for one in split if len(one) > 1 or "".join(one) not in facts.whole]
        known = facts.nameless(bare or split)
    fixed = tuple(constants.values()) if columns else ()
    return _Above(
        separator,
        columns,
        tuple(constants),
        fixed,
        {one.partition(".")[0] for one in mentioned.union(constants)},
        more,
        known,
        sum(map(len, known.values())),
        sum(len(found) for values, found in known.items() if values[len(columns) :] == fixed) if fixed else 0,
    )


def turns(text: str) -> bool:
    """Whether a sentence denies or excepts: a piece of it could say the opposite (D16)."""
    found = _ASCII_TURNS.search(text.lower()) if text.isascii() else _TURNS.search(text)
    return found is not None


def _may_be_cut(piece: str, text: str) -> bool:
    """Whether a cell may be cut so: no sentence that denies, and between tokens; or told apart, since it is long."""
    if not piece:
        return not text or len(text) > LONG or "\n" in text
    return is_cut(piece, text) and not turns(cut_at(text, len(piece)))


# What a model, or the calling agent, wrote.


def prose_violation(facts: Sequence[Facts], lines: Sequence[str], registry: Registry) -> str:
    """The rule that a summary of these items breaks, empty where none: it holds no specific and no number, however
    short, that they do not hold (D5, D10), and gives no value, behind `=`, a key that it does not have (D7)."""
    strangers = Counter[str]()
    mispaired = begins = 0
    for text, spans in zip(lines, found_by_line(lines, registry), strict=True):
        for span in spans:
            if not any((span.cls, span.text) in one.numbers for one in facts):
                strangers[span.cls] += 1
            elif text[: span.start - begins].rstrip("\"' `").endswith("="):
                mispaired += not any((span.key, span.text) in one.pairs for one in facts)
        begins += len(text) + 1
    if strangers:
        said = ", ".join(f"{count} {name}" for name, count in sorted(strangers.items()))
        return f"invented: {nouns.counted(strangers.total(), 'specific')} that its source does not hold ({said})"
    said_numbers = "\n".join(lines)
    unknown = set(said_numbers and (one for one, _ in numbers(said_numbers)))
    for one in facts:
        unknown &= set(one.strangers(said_numbers))
    if unknown:
        return f"invented: {nouns.counted(len(unknown), 'number')} that its source does not hold"
    words = nouns.verb(mispaired, "it does", "they do")
    return f"pairs: {nouns.counted(mispaired, 'value')} under a key {words} not have" if mispaired else ""
