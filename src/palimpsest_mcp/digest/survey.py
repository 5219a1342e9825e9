"""Read a source once: its pieces, the specifics in them, and the candidates that the reducers make of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..models.items import Span, Specific
from ..models.records import DigestSource
from ..ports.text import Registry
from ..text.specifics.cues import DENIED
from ..text.specifics.delimited import fields_apart
from .ledger_lines import shown_key
from .lines import FORCED, Line, Mark, Reduced, Route, Survey, Unit, mark_numbers, plain
from .reducers.code import unnumbered
from .reducers.html import Block, Piece, blocks_of, is_page, joined
from .reducers.json import Told, reduce_records
from .reducers.json_records import Cell, Record, parse_json, records_of
from .reducers.lines import fitted, placed_blocks, raise_loud, reduce_lines
from .reducers.routing import stretches

_NAMED_BINARY = re.compile(r"\[\w+ \S+, \d+ base64 characters, sha256 [0-9a-f]{64}\]$")
_PLAIN_KEY = re.compile(r"[A-Z]?[a-z]*")
_LONG_CELL = 300
"""Characters from which a JSON string is read as a text of its own."""
_BETWEEN = " | "
"""Stands between the cells of a record that are one place."""
_INNER, _OF_MANY = 0.5, 0.4
"""Of what a line tells, where it is one of a text inside a record: the record itself comes first, and the more so where
there are many; this much less then."""


class _Reader:
    """Numbers the specifics of one item as it meets them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._numbers: dict[tuple[str, str], int] = {}
        self.specs: list[Specific] = []
        self.home: list[int] = []
        self.lines: list[Line] = []
        self.pairs: set[tuple[str, str]] = set()
        self.keys: list[str] = []
        self.faint: set[int] = set()

    def read(
        self, texts: Sequence[str], keys: Sequence[str] | None = None, *, known: Sequence[Span] | None = None
    ) -> list[Line]:
        """Texts without newlines as lines with their marks, extracted in one go. `keys` name what has no key itself.

        `known`: what the registry finds in them, joined by newlines.
        """
        spans = self._registry.spans("\n".join(texts)) if known is None else known
        lines: list[Line] = []
        position = at = 0
        for home, text in enumerate(texts, len(self.lines)):
            end = position + len(text)
            marks: list[Mark] = []
            while at < len(spans) and spans[at].start < end:
                span = spans[at]
                at += 1
                if span.end <= end:
                    key = keys[len(lines)] if keys else ""
                    whole = span.end - span.start == len(text)
                    number = self._number(span, key, home, whole=whole)
                    marks.append(Mark(span.start - position, span.end - position, number))
            lines.append(Line(text.rstrip(), tuple(marks)))
            position = end + 1
        self.lines += lines
        return lines

    def look(self, texts: Sequence[str]) -> list[Line | None]:
        """Texts without newlines, made of what was read, as lines; None for one with a specific that was not there."""
        found: list[Line | None] = []
        spans = self._registry.spans("\n".join(texts))
        position = at = 0
        for text in texts:
            end = position + len(text)
            marks: list[Mark] = []
            known = True
            while at < len(spans) and spans[at].start < end:
                span = spans[at]
                number = self._numbers.get((span.cls, span.text))
                if number is None or span.end > end:
                    known = False
                else:
                    marks.append(Mark(span.start - position, span.end - position, number))
                at += 1
            found.append(Line(text, tuple(marks)) if known else None)
            position = end + 1
        return found

    def drop_strange_keys(self) -> None:
        """A key that is a specific where it stands alone, and none in its source, is no key: it is cut out of one."""
        maybe = [key for key in dict.fromkeys(self.keys) if not _PLAIN_KEY.fullmatch(key)]
        strange = {key for key, line in zip(maybe, self.look(maybe), strict=True) if line is None}
        if strange:
            self.keys = ["" if key in strange else key for key in self.keys]

    def hide(self, lines: Sequence[Line], shown: Sequence[Piece]) -> None:
        """Of lines just read, mark what stands outside all `shown` places as faint, unless it stands elsewhere too."""
        inside: set[int] = set()
        here: set[int] = set()
        places = sorted(shown)
        at = position = 0
        for line in lines:
            for mark in line.marks:
                start, end = position + mark.start, position + mark.end
                while at < len(places) and places[at].end <= start:
                    at += 1
                here.add(mark.spec)
                if at < len(places) and places[at].start <= start and end <= places[at].end:
                    inside.add(mark.spec)
            position += len(line.text) + 1
        self.faint |= here - inside

    def gather(self, lines: Sequence[Line], owners: Sequence[int]) -> None:
        """Make the cells of one record one place, so that its values can stand together: lines just read, and whose."""
        first = len(self.lines) - len(lines)
        place: list[int] = []
        records: list[tuple[list[str], list[Mark]]] = []
        last = width = -1
        for owner, line in zip(owners, lines, strict=True):  # those of one owner follow each other
            if owner != last:
                last, width = owner, 0
                records.append(([], []))
            texts, marks = records[-1]
            texts.append(line.text)
            marks += [Mark(m.start + width, m.end + width, m.spec) for m in line.marks]
            width += len(line.text) + len(_BETWEEN)
            place.append(len(self.lines) + len(records) - 1)
        self.home = [place[home - first] if home >= first else home for home in self.home]
        self.lines += [Line(_BETWEEN.join(texts), tuple(marks)) for texts, marks in records]

    def _number(self, span: Span, key: str, home: int, *, whole: bool) -> int:
        """`key` is of the leaf that the span stands in: the span's own only where it is the `whole` of it."""
        near = span.key or (key if whole else "")
        key = span.key or key
        if key:
            self.pairs.add((key, span.text))
        known = self._numbers.get((span.cls, span.text))
        if known is not None:
            return known
        number = self._numbers[span.cls, span.text] = len(self.specs)
        self.specs.append(Specific(span.cls, span.text, key))
        self.keys.append(shown_key(near))
        self.home.append(home)
        return number


def survey(source: DigestSource, registry: Registry) -> Survey:
    """Read one source. Never raises, whatever the text; deterministic."""
    reader = _Reader(registry)
    text = plain(source.text)
    documents = parse_json(text)
    records = records_of(documents) if documents else None
    titles = 0
    if records:
        reduced, routes, titles = _records(records, reader)
    else:
        apart = fields_apart(text)
        known = source.spans if apart is source.text else None
        reduced, routes = _text(apart.split("\n"), reader, known)
        if apart is not text:
            _as_rows(reduced, text)
    raise_loud(reduced.units)
    reader.drop_strange_keys()
    if not records and DENIED.search(text):  # there the word that denies stands beside a value, not its key
        denied = {home for home in set(reader.home) if DENIED.search(reader.lines[home].text)}
        reader.keys = ["" if home in denied else key for key, home in zip(reader.keys, reader.home, strict=True)]
    if source.binary:
        for unit in reduced.units:
            if _NAMED_BINARY.match(unit.text):
                unit.gist = FORCED
    return Survey(
        reader.specs,
        reader.keys,
        reader.lines,
        reader.home,
        reader.pairs,
        reduced,
        routes,
        titles,
        faint=reader.faint,
        text=source.text,
    )


def spell(surveys: Sequence[Survey]) -> None:
    """Where values stand with their key or a word, those in the rows of records have the names of their columns."""
    for one in surveys:
        for unit in one.reduced.units:
            unit.text = unit.spelled or unit.text


def _text(
    texts: Sequence[str], reader: _Reader, known: Sequence[Span] | None = None
) -> tuple[Reduced, tuple[Route, ...]]:
    lines = reader.read(texts, known=known)
    bare = unnumbered([line.text for line in lines])
    parts = stretches(bare)
    pages = [part for part in parts if part.route == "html" and is_page(bare[part.start : part.end])]
    ready = {part: _page(lines[part.start : part.end], reader) for part in pages}
    return reduce_lines(lines, bare, parts, ready), tuple(dict.fromkeys(part.route for part in parts))


def _as_rows(reduced: Reduced, text: str) -> None:
    """Lines that do not stand in the source as they are shown, since tabs part their fields, are rows."""
    own = set(text.split("\n"))
    for unit in reduced.units:
        if unit.kind == "quote" and "\t" in unit.text and unit.text not in own:
            unit.kind = "row"


def _page(lines: Sequence[Line], reader: _Reader) -> Reduced:
    """A web page: each block as it is shown, as long as that says nothing which the source does not (D5)."""
    text = "\n".join(line.text for line in lines)
    blocks, links = blocks_of(text)
    reader.hide(lines, [*links, *(piece for block in blocks for piece in block.pieces)])
    shown: list[tuple[Block, Line]] = []
    for block, line in zip(blocks, reader.look([joined(text, block, apart=False) for block in blocks]), strict=True):
        if line is None:
            line = reader.look([joined(text, block, apart=True)])[0]
        if line is not None:
            shown += [(block, short) for short in fitted(line)]
            continue
        pieces = [text[piece.start : piece.end].strip() for piece in block.pieces]
        shown += [(block, short) for one in reader.look(pieces) if one is not None for short in fitted(one)]
    return placed_blocks(shown)


def _records(records: list[Record], reader: _Reader) -> tuple[Reduced, tuple[Route, ...], int]:
    """JSON: names once, leaves as cells, long strings as texts of their own below."""
    columns = (cell.column for record in records for cell in record.cells)
    names = list(dict.fromkeys(name for name in (*columns, *(record.path for record in records)) if name))
    titles = dict(zip(names, reader.read(names), strict=True))
    cells: list[Cell] = []
    owners: list[int] = []
    long_texts: dict[int, list[tuple[str, str]]] = {}
    for number, record in enumerate(records):
        if record.label:
            owners.append(number)
            cells.append(Cell("", record.label_key, record.label))
        for cell in record.cells:
            if len(cell.text) > _LONG_CELL or "\n" in cell.text:
                long_texts.setdefault(number, []).append((cell.column or record.path, cell.text))
            else:
                owners.append(number)
                cells.append(cell)
    lines = reader.read([cell.text for cell in cells], [cell.key for cell in cells])
    reader.gather(lines, owners)
    reduced, told = reduce_records(records, titles, lines, _LONG_CELL)
    routes: list[Route] = ["json"]
    inner: dict[int, Reduced] = {}
    fields = {column for texts in long_texts.values() for column, _ in texts}
    for number, texts in long_texts.items():
        one = told[number]
        below = inner[number] = Reduced()
        for column, text in texts:
            found, route = _text(fields_apart(text).split("\n"), reader)
            title = titles.get(column, Line(column))
            alone = one.unit is not None and one.among > 1 and len(fields) == 1 and not title.marks
            below.add(_headed(None if alone else title, found, one.among))
            routes += route
    return _with_texts(reduced, told, inner), tuple(dict.fromkeys(routes)), len(names)


def _headed(title: Line | None, below: Reduced, among: int) -> Reduced:
    """A long text below the name of its field. Of many records each first says which it is."""
    for unit in below.units:
        unit.gist = _INNER * unit.gist - (_OF_MANY if among > 1 else 0.0)
    if title is None:
        return below
    headed = Reduced([Unit(f"{title.text}:", "row", mark_numbers(title))], [])
    headed.add(below)
    for unit in headed.units[1:]:
        unit.under = max(unit.under, 0)
    return headed


def _with_texts(reduced: Reduced, told: Sequence[Told], inner: Mapping[int, Reduced]) -> Reduced:
    """The records, the long texts of each behind what tells which it is."""
    texts = {id(told[number].unit): (number, below) for number, below in inner.items() if told[number].unit}
    found = Reduced(tables=reduced.tables)
    for unit in reduced.units:
        found.units.append(unit)
        if id(unit) in texts:
            number, below = texts[id(unit)]
            place = len(found.units) - 1
            found.add(below)
            for one in found.units[place + 1 :]:
                one.table = unit.table if one.table < 0 else one.table
                if one.under < 0 and told[number].among > 1:
                    one.under = place
    for number, below in inner.items():
        if told[number].unit is None:
            found.add(below)
    return found
