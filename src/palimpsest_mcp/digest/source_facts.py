"""A source read by the standard library alone: specifics, lines, records and numbers, for `proof.py` to compare with.

It shares nothing with the readers of the digester, so that a mistake of theirs is not repeated here.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from html.parser import HTMLParser
from typing import Any, NamedTuple

from ..models.items import Span, Specific
from ..models.records import DigestSource
from ..ports.seams import Registry
from .records import plain
from .source_trees import Branch, Leaf, stretches, trees

LONG = 160
"""Characters of a cell from which it may be told apart from its row, as a text of its own."""
_FEW = 8
"""Members of an object that are looked at for what it is."""
_NEAREST = 12
"""Levels around an object in which is looked for what says whose it is."""
_RUN_ON, _CLAUSE = 600, 200
"""Characters without an end, to one side, from which there are no sentences, as in a transcript; and of what stands
around a place there."""
_NEAR = 5_000
"""Characters around a piece in which its sentence is looked for."""
_OFTEN = 64
"""Places of one line or piece that are looked at."""
_RULE = re.compile(r"[-+|:=\s\u2500-\u257f]+")
_HEAD = re.compile(r"(#{1,6}) |(diff --git )|(\S*/\S*:$|\.:$)")
_FIELD = re.compile(r"\S+(?: \S+)*")
_WORD = re.compile(r"\S+")
_NAMES = [re.compile(rf"[\w.$@/+~{more}-]+") for more in ("", ":", "#:%")] + [
    re.compile(r"[\w./-]+"),
    re.compile(r"[\w.@-]+"),
]
_ALONE = re.compile(r"[\"'`()\[\]{}<>,;=|!?*]*+(\w++)[.:]?[\"'`()\[\]{}<>,;=|!?*]*+")
"""A word with nothing at it but marks that part names."""
_MARKS = "\"'`()[]{}<>,;:.=|!?*"
_ENDS = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]*_`]{0,3}(?=\s)|[\u3002\uff01\uff1f][\"\u300d\u300f\uff09]{0,2}")
_BEGINS = re.compile(
    r"(?:(?:^|\n)[^\w\n]{0,10}(?:\d{1,3}[.)])?[^\w\n]{0,2}"
    r"|[.!?\u2026][\"'\u201d\u2019)\]*_`]{0,3}\s{1,4}|[\u3002\uff01\uff1f][\"\u300d\u300f\uff09]{0,2}\s{0,2})$"
)
_PART = re.compile("[ \u00a0\u202f\u2009'\u2019]")
_BEFORE = re.compile(r"(?:^|\n|\t|  |[^\W\d_]{2} )[-+]?$")
_SPACED = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:[ \u00a0\u202f\u2009'\u2019]\d{3})+(?![\w])(?:[.,]\d+)?")
_NUMBER = re.compile(r"(?<!\w)[^\W\d]*\d\w*(?:[.,]\d\w*)*")
"""Begins only where a word does: a word without a digit is gone over once, not once a letter."""
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"\w")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_SURE = re.compile(r"\s?(?:[$\u20ac\u00a3%]|[^\W\d_]{2}|[.;:]?(?:\n|$))")
_TAGS = re.findall(
    r"\w+",
    "a abbr b bdi bdo cite code data dfn em font i kbd mark q s samp small span strong sub sup u var wbr",
)
"""Of a page: inside a line of text."""
_NOTHING = frozenset(("null", "None", "true", "false", "True", "False"))
"""Values of which nobody misses the column."""
_BARS = str.maketrans("\u2502\u2503\u2551", "|||")
_DIVIDES = frozenset(",;|)]}>\u3001\u3002")


class Place(NamedTuple):
    """Where a record is."""

    at: int
    """Number of its line in `Facts.order`; -1: not known."""
    names: tuple[str, ...]
    """Its other columns that a reader would miss."""


class Grid(NamedTuple):
    """Rows that a text draws, and the names above them; none: empty."""

    header: tuple[str, ...]
    rows: list[tuple[int, list[str]]]
    """Number of the line in the text, cells."""


class Node(NamedTuple):
    """An object or a list of a tree."""

    branch: Branch
    at: int
    """Number of the line that its tree begins in, in `Facts.order`."""
    pairs: dict[str, Leaf | Branch]
    """Of an object."""

    bare: str
    """Its path without the numbers of list members."""
    around: str
    """That of what it is a member of."""
    place: str
    """Equal for all rows of a table: its own, or the path of the map whose members are rows."""


Projection = dict[tuple[str, ...], list[Place]]
"""Values under some columns -> the records that have them."""
_Uncut = dict[tuple[str, ...], list[tuple[str, ...]]]
"""The values of some of those columns -> all values of the records that have these."""


def cell(text: str) -> str:
    """A value as a digest prints it: one line."""
    text = plain(text)
    if "\n" not in text and "⏎" not in text:
        return text.strip()
    parts = text.replace("⏎", "\n").split("\n")
    return "⏎".join(stripped for part in parts if (stripped := part.strip()))


def squeezed(text: str) -> str:
    """With single blanks."""
    return " ".join(text.split())


def numbers(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each number, or word with a digit, as it stands whole; and what it is if it is several: empty if it is one.

    Knows digits and what joins them, and nothing of the registry's classes and patterns.
    """
    if _DIGIT.search(text) is None:
        return
    found: list[tuple[str, tuple[str, ...]]] = []

    def grouped(match: re.Match[str]) -> str:
        groups = _PART.split(match[0])
        before = _BEFORE.search(text, max(0, match.start() - 4), match.start())
        sure = " " not in match[0] or before and (len(groups) > 2 or _SURE.match(text, match.end()))
        found.append((match[0], () if sure else tuple(groups)))
        return " "

    for word in _NUMBER.findall(_SPACED.sub(grouped, text)):
        ordinal = _ORDINAL.fullmatch(word)
        whole = ordinal[1] if ordinal else word
        found.append((whole, () if "," not in whole or _GROUPED.fullmatch(whole) else tuple(whole.split(","))))
    yield from found


class Facts:
    """One source, read once. What costs time is read when it is first asked for.

    Attributes:
        specs: S: each (class, text) once, with the first key it stands under.
        order: lines without outer blanks, blank ones dropped; of a JSON text its leaves behind them.
        whole: line -> its numbers in `order`.
    """

    def __init__(self, source: DigestSource, registry: Registry) -> None:
        text = plain(source.text)
        raw = text.split("\n")
        roots = trees(text)
        here = {one.first: one for one in stretches(text, roots)}
        self.registry = registry
        self._nodes: list[Node] = []
        self.order: list[str] = []
        self.own: list[str] = [line.strip() for line in raw if line.strip()]
        self._raw = raw
        self._places: dict[int, int] = {}
        self._parted: list[int] = []
        """Lines in `order` with nothing right above them."""
        self._free: list[str] = list(raw)
        for start, end, *_ in here.values():
            self._free[start:end] = [""] * (end - start)
        self._grids, apart = _delimited(self._free)
        self._grids += _barred(self._free)
        views: list[tuple[str, str]] = []
        self.view: dict[str, str] = {}
        for at, line in enumerate(raw):
            if line.strip():
                self._places[at] = len(self.order)
                self._parted += [len(self.order)] if not at or not raw[at - 1].strip() else []
                self.order.append(line.strip())
            if at in apart:
                self.view[line.strip()] = apart[at]
            if at in here:
                _, _, own, before, behind = here[at]
                leaves = [pair for tree in own for pair in _walk(tree, self._nodes, len(self.order) - 1)]
                leaves = [*([(before, "")] if before else []), *leaves, *([(behind, "")] if behind else [])]
                views += leaves
                for n, (one, _) in enumerate(leaves):
                    if one.strip():
                        self._parted += [len(self.order)] if not n or not leaves[n - 1][0].strip() else []
                        self.order.append(one.strip())
            elif self._free[at] or not line.strip():
                views.append((apart.get(at, line), ""))
        begins = [0, *(one.end() for one in re.finditer("\n", text))]
        inside = {id(tree) for one in here.values() for tree in one.trees}
        for tree in roots:
            if id(tree) not in inside:
                at = self._places.get(bisect_right(begins, tree.start) - 1, -1)
                deque(_walk(tree, self._nodes, at), maxlen=0)
        self._views = [text for text, _ in views]
        self.whole: dict[str, list[int]] = {}
        for at, line in enumerate(self.order):
            self.whole.setdefault(line, []).append(at)
        self._specify(views)
        self._projections: dict[tuple[tuple[str, ...], str | None], Projection] = {}
        self._uncut: dict[tuple[int, tuple[int, ...]], tuple[Projection, _Uncut]] = {}
        self._anywhere: dict[tuple[tuple[str, ...], str], Projection] = {}
        self._strangers: dict[str, list[str]] = {}
        self._sentences: dict[str, bool] = {}
        self._specifics: dict[str, tuple[int, ...]] = {}
        self.lines_read: dict[tuple[Any, ...], Any] = {}
        """What `proof.py` has read already: a digest is checked several times while it is filled, line for line much
        the same."""
        self.parts_read: dict[tuple[Any, ...], tuple[Any, dict[tuple[int, str], str]]] = {}
        """Whole parts that were checked: what came of it, and the columns that the part says for later ones."""
        self._runs: dict[int, dict[tuple[str, ...], list[int]]] = {}

    @cached_property
    def indented(self) -> frozenset[str]:
        """Lines with blanks before them, and these."""
        return frozenset(line.rstrip() for line in self._raw if line[:1].isspace())

    def _specify(self, views: Sequence[tuple[str, str]]) -> None:
        joined = "\n".join(self._views)
        spans = self.registry.spans(joined)
        self.specs: list[Specific] = []
        self.numbers: dict[tuple[str, str], int] = {}
        self.by_text: dict[str, list[int]] = {}
        self._leaves = [leaf for _, leaf in views]
        at = place = 0
        for text, leaf in views:
            place += len(text) + 1
            while at < len(spans) and spans[at].start < place:
                span = spans[at]
                at += 1
                key = span.key or leaf
                if (span.cls, span.text) not in self.numbers:
                    self.numbers[span.cls, span.text] = len(self.specs)
                    self.by_text.setdefault(span.text, []).append(len(self.specs))
                    self.specs.append(Specific(span.cls, span.text, key))

    @cached_property
    def classes(self) -> Counter[str]:
        """How many of its specifics are of which class."""
        return Counter(spec.cls for spec in self.specs)

    @cached_property
    def pairs(self) -> set[tuple[str, str]]:
        """Each key with each specific under it."""
        found = zip(found_by_line(self._views, self.registry), self._leaves, strict=True)
        return {(span.key or leaf, span.text) for spans, leaf in found for span in spans}

    # -- numbers and names -------------------------------------------------------------------------------------------

    @cached_property
    def _known(self) -> set[str]:
        known: set[str] = set()
        for whole, parts in numbers("\n".join([*self._views, *self.page.texts])):
            known.add(whole)
            known.update(parts)
        return known

    def read_on(self) -> None:
        """Read what every check looks at."""
        _ = self._known, self.classes, self.names

    def strangers(self, text: str) -> list[str]:
        """Numbers of a text that do not stand whole here (D5)."""
        found = self._strangers.get(text)
        if found is None:
            known = self._known
            found = self._strangers[text] = [
                one for one, parts in numbers(text) if one not in known and not (parts and known.issuperset(parts))
            ]
        return found

    def specifics_in(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The numbers of the specifics that stand in each of these."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._specifics]
        for text, spans in zip(fresh, found_by_line(fresh, self.registry), strict=True):
            here = (self.numbers.get((span.cls, span.text)) for span in spans)
            self._specifics[text] = tuple(number for number in here if number is not None)
        return [self._specifics[text] for text in texts]

    @cached_property
    def names(self) -> set[str]:
        """What stands here as a whole token."""
        words = set("\n".join(self.order).split())
        names = set(words)
        for word in words:
            if (alone := _ALONE.fullmatch(word)) is not None:
                names.add(alone[1])  # what every form below would find in it, too
                continue
            names.add(word.strip(_MARKS))
            for form in _NAMES:
                for name in form.findall(word):
                    names.add(name.strip(".:-"))
                    names.add(name.rstrip(".:-"))
                    names.add(name.rstrip(".:-/"))
        return names

    def holds(self, names: Iterable[str], start: int, end: int) -> bool:
        """Whether each of these stands in its lines between two numbers of `order`, not as a part of a longer word."""
        text = "\n".join(["", *self.order[start:end], ""])
        return all(_stands(name, text) for name in names)

    # -- lines -------------------------------------------------------------------------------------------------------

    @cached_property
    def page(self) -> _Page:
        """The same as a web page; an empty one where it is none."""
        page = _Page()
        if any("</" in line for line in self._raw):
            page.read("\n".join(self._raw))
        return page

    def run(self, lines: tuple[str, ...]) -> list[int] | None:
        """The numbers of the first of these consecutive lines, blanks inside them taken as one."""
        width = len(lines)
        if width not in self._runs:
            order = list(map(squeezed, self.order))
            known = self._runs[width] = {}
            for at in range(len(order) - width + 1):
                known.setdefault(tuple(order[at : at + width]), []).append(at)
        return self._runs[width].get(lines)

    @cached_property
    def _text(self) -> str:
        return "\n".join([*self.order, *self.page.texts])

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        at = self._text.find(text) if text else -1
        for _ in range(_OFTEN):
            if at < 0:
                return
            yield at, at + len(text)
            at = self._text.find(text, at + 1)

    def sentence(self, text: str) -> bool:
        """Whether a text is one or several whole sentences here."""
        known = self._sentences.get(text)
        if known is None:
            places = self._found(text)
            known = any(_begins(self._text, start) and _ends(self._text, end) for start, end in places)
            self._sentences[text] = known
        return known

    def pieces(self, parts: Sequence[str]) -> str | None:
        """The sentences that pieces are cut out of which stand one after another in one line; None where they do not,
        or where one is cut inside of a token (D1)."""
        for start, end in self._found(parts[0]):
            line = self._text.find("\n", end)
            line = len(self._text) if line < 0 else line
            ends = [(start, end)]
            for part in parts[1:]:
                at = self._text.find(part, ends[-1][1], line)
                while at >= 0 and not (between(self._text, at) and between(self._text, at + len(part))):
                    at = self._text.find(part, at + 1, line)
                ends.append((at, at + len(part)))
                if at < 0:
                    break
            if ends[-1][0] >= 0 and between(self._text, start) and between(self._text, end):
                return "\n".join(cut_at(self._text, at) for pair in ends for at in pair)
        return None

    @cached_property
    def heads(self) -> dict[int, tuple[str, int]]:
        """Lines, by their numbers in `order`, that are headings for what follows, with their kind and level: sections,
        files of a diff, folders of `ls -R`. A `#` without another parts sections where `##` does, between blank lines.
        """
        found: dict[int, tuple[str, int]] = {}
        parted, fence = {*self._parted, len(self.order)}, False
        for at, line in enumerate(self.order):
            fence = fence != line.startswith(("```", "~~~"))
            match = _HEAD.match(line)
            if match is None:
                continue
            if match[1] and not fence and (len(match[1]) > 1 or {at, at + 1} <= parted):
                found[at] = "#", len(match[1])
            elif match[2] or (match[3] and at in parted):
                found[at] = "diff --git " if match[2] else "/", 1
        if not any(level > 1 for _, level in found.values()):
            return {at: one for at, one in found.items() if one[0] != "#"}
        return found

    @cached_property
    def size(self) -> int:
        """How many lines and sentences there are, at most."""
        return len(self.order) + len(self.page.texts) + sum(1 for _ in _ENDS.finditer(self._text))

    # -- records -----------------------------------------------------------------------------------------------------

    def project(self, columns: tuple[str, ...], path: str | None = None) -> Projection:
        """The records that have one of these columns, by their values under them; of a tree only those at a path."""
        if (columns, path) in self._projections:
            return self._projections[columns, path]
        found: Projection = {}
        for node in self._nodes:
            pairs = node.pairs
            if pairs and (path is None or _is_at(node, path, columns)):
                values = [_value(node.branch, pairs, column) for column in columns]
                if path is None and all(value is None for value in values):
                    continue
                for n, column in enumerate(columns):
                    if values[n] is None and column not in self._own_keys[node.place]:
                        values[n] = _owned(node, column)
                if path is None or None not in values:
                    key = tuple(cell(value or "") for value in values)
                    found.setdefault(key, []).append(Place(node.at, _missed(pairs)))
            elif path in (None, node.branch.path, node.bare) and node.branch.key in columns:
                own = columns.index(node.branch.key)
                above = [cell(_owned(node, column) or "") for n, column in enumerate(columns) if n != own]
                for one in node.branch.values:
                    if isinstance(one, Leaf):
                        key = (*above[:own], cell(one.text), *above[own:])
                        found.setdefault(key, []).append(Place(node.at, ()))
        if path is None:
            for grid in self._grids_of(columns):
                index = _index(grid.header, columns)
                for at, row in grid.rows if index is not None else ():
                    values = tuple(row[n] if n < len(row) else "" for n in index or ())
                    names = tuple(name for name, one in zip(grid.header, row, strict=False) if one)
                    found.setdefault(values, []).append(Place(self._places.get(at, -1), names))
        self._projections[columns, path] = found
        return found

    def anywhere(self, columns: tuple[str, ...], path: str) -> Projection:
        """Those at a path, and those at any other place."""
        known = self._anywhere.get((columns, path))
        if known is None:
            known = self._anywhere[columns, path] = self.project(columns, path) | self.project(columns)
        return known

    def like(self, values: tuple[str, ...], cut: tuple[int, ...], known: Projection) -> list[tuple[str, ...]]:
        """Of the records in a projection those with these values, but for the columns that are cut."""
        seen = self._uncut.get((id(known), cut))
        if seen is None:
            others: _Uncut = {}
            for whole in known:
                others.setdefault(tuple(one for n, one in enumerate(whole) if n not in cut), []).append(whole)
            seen = self._uncut[id(known), cut] = known, others  # kept, so that nothing else gets its id
        return seen[1].get(tuple(one for n, one in enumerate(values) if n not in cut), [])

    def has_path(self, path: str) -> bool:
        """Whether a tree has a value there."""
        return path in self._paths

    @cached_property
    def _paths(self) -> set[str]:
        keys = {f"{node.bare}.{key}".lstrip(".") for node in self._nodes for key in node.pairs}
        return keys.union(node.branch.path for node in self._nodes)

    @cached_property
    def _own_keys(self) -> dict[str, set[str]]:
        """The keys of all objects that are members at one place."""
        found: dict[str, set[str]] = {}
        for node in self._nodes:
            found.setdefault(node.place, set()).update(node.pairs)
        return found

    def _grids_of(self, columns: tuple[str, ...]) -> Iterator[Grid]:
        yield from self._grids
        yield from self.page.grids
        yield from self._fixed([column for column in columns if column], labelled="" in columns)
        for at, header, rows in self._lists:
            if _index(header, columns):
                yield Grid(tuple(header), [(at, _row(row)) for row in rows])

    @cached_property
    def _lists(self) -> list[tuple[int, list[str], list[Branch]]]:
        """Lists of nothing but lists, of which the first may hold names: its place and cells, and the others."""
        found: list[tuple[int, list[str], list[Branch]]] = []
        for branch, at, *_ in self._nodes:
            rows = [one for one in branch.values if isinstance(one, Branch) and one.keys is None]
            if 1 < len(rows) == len(branch.values):
                found.append((at, _row(rows[0]), rows[1:]))
        return found

    def _fixed(self, columns: Sequence[str], *, labelled: bool) -> Iterator[Grid]:
        """Tables whose columns are places: under every line that holds these names in order."""
        at, lines = 0, self._free
        if not columns or not all(column in self._free_text for column in columns):
            return
        while at < len(lines):
            at += 1
            if not all(column in lines[at - 1] for column in columns):
                continue
            heads = (list(form.finditer(lines[at - 1])) for form in (_FIELD, _WORD))
            head = next((one for one in heads if _index([name[0] for name in one], columns) is not None), None)
            if head is None:
                continue
            rows: list[tuple[int, list[str]]] = []
            gap = 0
            while at < len(lines) and gap < 3 and not all(column in lines[at] for column in columns):
                gap = gap + 1 if not lines[at].strip() else 0
                if lines[at].strip() and not _RULE.fullmatch(lines[at]):
                    rows.append((at, _placed(lines[at], head, labelled=labelled)))
                at += 1
            yield Grid(("", *(found[0] for found in head)), rows)

    @cached_property
    def _free_text(self) -> str:
        return "\n".join(self._free)

    @cached_property
    def _nameless(self) -> list[list[tuple[int, list[str]]]]:
        """Groups of rows by their cells alone."""
        groups = [
            [*([(0, list(grid.header))] if grid.header else []), *grid.rows]
            for grid in (*self._grids, *self.page.grids)
        ]
        lists = [(at, _row(branch)) for branch, at, *_ in self._nodes if branch.keys is None]
        lines = [
            (at, [found[0] for found in _FIELD.finditer(line)]) for at, line in enumerate(self._free) if line.strip()
        ]
        single = [
            [(at, [cell(one.text)]) for one in branch.values if isinstance(one, Leaf)]
            for branch, at, *_ in self._nodes
            if branch.keys is None and len(branch.values) > 1
        ]
        return [
            *groups,
            lists,
            *single,
            lines,
            [(at, line.split()) for at, line in enumerate(self._free) if line.strip()],
        ]

    def nameless(self, rows: Sequence[tuple[str, ...]]) -> Projection:
        """Records whose cells have no names: by the columns in which the first of these rows stands."""
        best: Projection = {}
        for group in self._nameless:
            maps: dict[tuple[int, tuple[int, ...]], None] = {}
            wanted = set(rows[:3])
            for _, cells in group:
                for row in wanted:
                    if len(row) <= len(cells) and row[0] in cells and (places := _inside(row, cells)):
                        maps[len(cells), places] = None
                if len(maps) > 8:
                    break
            for width, places in maps:
                found: Projection = {}
                for at, cells in group:
                    if len(cells) == width:
                        values = tuple(cells[n] for n in places)
                        found.setdefault(values, []).append(Place(self._places.get(at, -1), ()))
                if sum(row in found for row in rows) > sum(row in best for row in rows):
                    best = found
        return best


def found_by_line(texts: Sequence[str], registry: Registry) -> list[list[Span]]:
    """The specifics of each text, found in one go."""
    spans = registry.spans("\n".join(texts))
    found: list[list[Span]] = []
    at = end = 0
    for text in texts:
        end += len(text) + 1
        first = at
        while at < len(spans) and spans[at].start < end:
            at += 1
        found.append(spans[first:at])
    return found


def _stands(name: str, text: str) -> bool:
    """`text`: with a break at both ends."""
    at = text.find(name)
    while at >= 0 and (_LETTER.match(text, at - 1) or _LETTER.match(text, at + len(name))):
        at = text.find(name, at + 1)
    return at >= 0


def _begins(text: str, at: int) -> bool:
    """Whether a sentence, or a line, begins here."""
    return at == 0 or _BEGINS.search(text[max(0, at - 16) : at]) is not None


def _ends(text: str, at: int) -> bool:
    if at == len(text) or text[at] == "\n":
        return True
    low = max(0, at - 4)
    return any(found.end() == at - low for found in _ENDS.finditer(text[low : at + 1]))


def between(text: str, at: int) -> bool:
    """Whether a text may be cut here: at a blank, behind what divides, or in a script without blanks."""
    left, right, after = text[max(0, at - 1) : at], text[at : at + 1], text[at + 1 : at + 2]
    if not left or not right or left.isspace() or right.isspace():
        return True
    if min(left, right) >= "\u3040":
        return left.isalpha() == right.isalpha()
    if right in ".:!?" and not after.strip():
        return True
    return (left in _DIVIDES and not right.isdigit()) or (right in _DIVIDES and not after.isdigit())


def cut_at(text: str, at: int) -> str:
    """The sentence that is cut at a place, or of a speech without full stops what stands around it; empty where nothing
    is cut, between two of them."""
    if _begins(text, at) or _ends(text, at):
        return ""
    low = max(text.rfind("\n", 0, at) + 1, at - _NEAR)
    high = text.find("\n", at)
    high = min(len(text) if high < 0 else high, at + _NEAR)
    ends = [found.end() for found in _ENDS.finditer(text, low, high)]
    first = max((one for one in ends if one <= at), default=low if at - low <= _RUN_ON else at - _CLAUSE)
    last = min((one for one in ends if one > at), default=high if high - at <= _RUN_ON else at + _CLAUSE)
    first, last = max(0, first), min(len(text), last)
    while first and text[first - 1].isalnum():  # half a word may say what the whole does not: `no` of `now`
        first -= 1
    while last < len(text) and text[last].isalnum():
        last += 1
    return text[first:last]


def is_cut(piece: str, text: str) -> bool:
    """Whether a text begins with a piece that ends between two of its tokens."""
    return bool(piece) and text.startswith(piece) and between(text, len(piece))


def _inside(row: Sequence[str], cells: Sequence[str]) -> tuple[int, ...]:
    """The places where the values of a row stand in order; empty where they do not."""
    places: list[int] = []
    for value in row:
        try:
            places.append(cells.index(value, places[-1] + 1 if places else 0))
        except ValueError:
            return ()
    return tuple(places)


def _index(header: Sequence[str], columns: Sequence[str]) -> list[int] | None:
    """The number of each column; of equal names one after another."""
    free: dict[str, list[int]] = {}
    for n in range(len(header) - 1, -1, -1):
        free.setdefault(header[n], []).append(n)
    found = [free[column].pop() if free.get(column) else -1 for column in columns]
    return None if -1 in found or not found else found


def _placed(line: str, head: Sequence[re.Match[str]], *, labelled: bool) -> list[str]:
    """The cells of a row under names, before them what stands left of all names."""
    fields = [found[0] for found in _FIELD.finditer(line)]
    if len(fields) == len(head) and not labelled:
        return ["", *fields]
    if len(fields) == len(head) + 1:
        return fields
    cells = [""] * (len(head) + 1)
    last = end = 0
    for word in _WORD.finditer(line):
        over = [n for n, name in enumerate(head, 1) if word.start() < name.end() and word.end() > name.start()]
        near = min(range(len(head)), key=lambda n: max(head[n].start() - word.end(), word.start() - head[n].end())) + 1
        joined = word.start() == end + 1 and cells[last]
        left = 0 if not any(cells) and word.end() < head[0].start() else near
        last = over[0] if over else last if joined else left
        cells[last] += f" {word[0]}" if cells[last] else word[0]
        end = word.end()
    return cells


def _row(branch: Branch) -> list[str]:
    """The values of a list; what is no leaf is empty."""
    return [cell(_told(one) or "") for one in branch.values]


def _told(value: Leaf | Branch) -> str | None:
    """A leaf, or a list of nothing but leaves, as a digest prints it."""
    if isinstance(value, Leaf):
        return value.text
    if not value.values:
        return "[]" if value.keys is None else "{}"
    leaves = [one for one in value.values if isinstance(one, Leaf)]
    if value.keys is not None or len(leaves) < len(value.values):
        return None
    return "[" + ",".join(f'"{one.text.strip()}"' if one.quoted else one.text for one in leaves) + "]"


def _value(branch: Branch, pairs: dict[str, Leaf | Branch], column: str) -> str | None:
    """The leaf under a path of keys, `host.ip`; a key may hold dots itself."""
    rest = column
    while True:
        if rest in pairs:
            return _told(pairs[rest])
        head, dot, rest = rest.partition(".")
        if branch.keys is not None:
            one = pairs.get(head)
        else:
            number = int(head) if head.isdecimal() and len(head) < 7 else len(branch.values)
            one = branch.values[number] if number < len(branch.values) else None
        if one is None or not dot:
            return None if one is None else _told(one)
        inner = one.inner if isinstance(one, Leaf) else one
        if inner is None:
            return None
        branch, pairs = inner, inner.pairs()


def _owned(node: Node, column: str) -> str | None:
    """A value that says whose a row is: of the nearest object around it, of the head of its list, or its key."""
    head = column[:1] == "(" and column[-1:] == ")"
    bare = column[1:-1] if head else column
    first, dot, rest = column.partition(".")
    if dot and node.branch.key == first and rest in node.pairs:
        return _told(node.pairs[rest])
    above = node.branch.above
    for _ in range(_NEAREST):
        if above is None:
            break
        around = above
        if around.keys is None and head and above.values and isinstance(above.values[0], Branch):
            around = above.values[0]
        value = _value(around, around.pairs(), bare) if around is not node.branch and around.keys else None
        if value is not None:
            return value
        above = above.above
    above = node.branch.above
    named = above is not None and above.keys is not None and column in ("key", above.path.split(".")[-1])
    return node.branch.key if named else None


def _is_at(node: Node, path: str, columns: Sequence[str]) -> bool:
    """Whether an object, or one of its members, has a path, with the numbers of list members or without them.

    A member of a map may go without its name where that is among the values under these columns.
    """
    head, _, key = path.rpartition(".")
    own = (node.branch.path, node.bare)
    if path in own or (key in node.pairs and head in own):
        return True
    above, name = node.branch.above, node.branch.key
    if above is None or above.keys is None or path not in (above.path, node.around):
        return False
    values = [node.pairs[column] for column in columns if column in node.pairs]
    return any(isinstance(one, Leaf) and one.text == name for one in values)


def _missed(pairs: dict[str, Leaf | Branch]) -> tuple[str, ...]:
    return tuple(
        key
        for key, one in pairs.items()
        if isinstance(one, Leaf) and 0 < len(one.text) <= LONG and "\n" not in one.text and one.text not in _NOTHING
    )


def _bare(path: str) -> str:
    """A path without the numbers of list members."""
    return ".".join(part for part in path.split(".") if not part.isdecimal())


# Reading: trees, rows, pages.


def _walk(tree: Branch, nodes: list[Node], at: int) -> Iterator[tuple[str, str]]:
    """Keys and leaves of a tree in order, each line with its key; adds its objects and lists."""
    named: set[str] = set()
    bare: dict[int, str] = {}
    for one in tree.walk():
        if isinstance(one, Branch):
            above = one.above
            around = bare.get(id(above), "")
            own = around if above and above.keys is None else _bare(one.path) if not above else f"{around}.{one.key}"
            bare[id(one)] = own = own.removeprefix(".") if one.path else ""
            is_map = above and above.keys and all(isinstance(value, Branch) for value in above.values[:_FEW])
            nodes.append(Node(one, at, one.pairs(), own, around, f"{around}.*" if is_map else own))
            fresh = [key for key in one.keys or () if key not in named]
            named.update(fresh)
            yield from ((cell(key), "") for key in fresh)
        else:
            yield from ((line, one[1]) for line in plain(one[0].text).split("\n"))


def _delimited(lines: Sequence[str]) -> tuple[list[Grid], dict[int, str]]:
    """Runs of lines with as many fields each; and those lines in which a comma between digits parts two fields."""
    grids: list[Grid] = []
    apart: dict[int, str] = {}
    for mark in "\t,;":
        if sum(mark in line for line in lines) < 2:
            continue
        run: list[tuple[int, list[str]]] = []
        for at, cells in [*_fields(lines, mark), (len(lines), [])]:
            if run and len(cells) != len(run[0][1]):
                if len(run) > 1 and len(run[0][1]) > 1 and (mark == "\t" or _is_delimited(run)):
                    stripped = [(n, [one.strip() for one in row]) for n, row in run]
                    grids.append(Grid(tuple(stripped[0][1]), stripped[1:]))
                    if mark == ",":
                        apart |= {n: "\t".join(row) for n, row in run if re.search(r"\d,\d", lines[n])}
                run = []
            run.append((at, cells))
    return grids, apart


def _is_delimited(run: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether names stand above the fields, or each row has a comma that no number holds."""
    if any(one[:1] == " " for _, row in run for one in row[1:]):
        return False
    if all(one.strip()[:1].isalpha() or one[:1] in ("_", '"') for one in run[0][1]):
        return True
    return all(
        any(not (a[-1:].isdigit() and b[:1].isdigit()) for a, b in zip(row, row[1:], strict=False)) for _, row in run
    )


def _fields(lines: Sequence[str], mark: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of each record, and the line it begins in; where quotes do not close, of each line."""
    try:
        reader, at = csv.reader((f"{line}\n" for line in lines), delimiter=mark), 0
        rows: list[tuple[int, list[str]]] = []
        for row in reader:
            rows.append((at, row))
            at = reader.line_num
        broken = any("\n" in one and one.count("\n") > 40 for _, row in rows for one in row)
    except csv.Error:
        rows, broken = [], True
    return iter([(n, line.split(mark)) for n, line in enumerate(lines)] if broken else rows)


def _barred(lines: Sequence[str]) -> list[Grid]:
    """Tables between bars: Markdown, psql, mysql."""
    grids: list[Grid] = []
    run: list[tuple[int, list[str]]] = []
    for at, line in enumerate([*lines, ""]):
        text = line.strip() if line.isascii() else line.translate(_BARS).strip()
        if "|" in text and not _RULE.fullmatch(text):
            text = text[1:] if text.startswith("|") else text
            text = text[:-1] if text.endswith("|") and line.strip()[0] in "|\u2502\u2503\u2551" else text
            run.append((at, [one.strip() for one in re.split(r"(?<!\\)\|", text)]))
        elif run and not (text and _RULE.fullmatch(text)):
            grids.append(Grid(tuple(run[0][1]), run[1:]))
            run = []
    return grids


class _Page(HTMLParser):
    """Texts and tables of a page."""

    _INLINE = frozenset(_TAGS)

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: dict[str, None] = {}
        self.grids: list[Grid] = []
        self._block: list[str] = []
        self._rows: list[list[str]] = []
        self._cell: list[str] | None = None

    def read(self, text: str) -> None:
        """Takes what is never closed for text: the parser would look for its end once more at each."""
        comment, tag = text.rfind("-->") + 1, text.rfind(">") + 1
        text = text[:comment] + text[comment:tag].replace("<!--", "&lt;!--") + text[tag:].replace("<", "&lt;")
        with suppress(AssertionError, ValueError):  # broken declarations
            self.feed(text.replace("<![", "&lt;!["))
            self.close()
        self._end("table")

    def handle_starttag(self, tag: str, attrs: Iterable[Any]) -> None:
        self._end(tag)
        if tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        self._end(tag)

    def _end(self, tag: str) -> None:
        if tag in self._INLINE:
            return
        if block := squeezed(plain("".join(self._block))):
            self.texts[block] = None
        self._block = []
        if tag in ("td", "th", "tr", "table"):
            if self._cell is not None and self._rows:
                self._rows[-1].append(squeezed(plain("".join(self._cell))))
            self._cell = None
        if tag == "table" and self._rows:
            self.grids.append(Grid(tuple(self._rows[0]), [(-1, row) for row in self._rows[1:]]))
            self._rows = []

    def handle_data(self, data: str) -> None:
        self._block.append(data)
        if self._cell is not None:
            self._cell.append(data)
        if node := squeezed(plain(data)):
            self.texts[node] = None
