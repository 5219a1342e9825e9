"""A source read by the standard library alone: specifics, lines, records and numbers, for `proof.py` to compare with.

It shares nothing with the readers of the digester, so that a mistake of theirs is not repeated here.
"""

from __future__ import annotations

import ast
import csv
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from html.parser import HTMLParser
from typing import Any, NamedTuple, cast

from ..models.items import Specific
from ..models.records import DigestSource
from ..ports.text import Registry
from .records import plain

_TRIES = 64
"""Failed readings of a tree over several lines before only single lines are tried: each may take the whole text."""
_DEEP = 24
"""Levels of a tree that have a path."""
_LITERAL = 1_000_000
"""Characters of a Python literal, at most: its parser takes a hundred times the memory."""
LONG = 160
"""Characters of a cell from which it may be told apart from its row, as a text of its own."""
_NEAR = 5_000
"""Characters around a piece in which its sentence is looked for."""
_OFTEN = 64
"""Places of one line or piece that are looked at."""
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)
_MARK = re.compile(r'"(?:[^"\\]|\\.)*+"|["{}\[\],]')
_HALF = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?$")
_RULE = re.compile(r"[-+|:=\s\u2500-\u257f]+")
_FIELD = re.compile(r"\S+(?: \S+)*")
_WORD = re.compile(r"\S+")
_NAMES = [re.compile(rf"[\w.$@/+~{more}-]+") for more in ("", ":", "#:%")] + [
    re.compile(r"[\w./-]+"),
    re.compile(r"[\w.@-]+"),
]
_MARKS = "\"'`()[]{}<>,;:.=|!?*"
_ENDS = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]*_`]{0,3}(?=\s)|[\u3002\uff01\uff1f][\"\u300d\u300f\uff09]{0,2}")
_BEGINS = re.compile(
    r"(?:(?:^|\n)[^\w\n]{0,10}(?:\d{1,3}[.)])?[^\w\n]{0,2}"
    r"|[.!?\u2026][\"'\u201d\u2019)\]*_`]{0,3}\s{1,4}|[\u3002\uff01\uff1f][\"\u300d\u300f\uff09]{0,2}\s{0,2})$"
)
_PART = re.compile("[ \u00a0\u202f\u2009'\u2019]")
_BEFORE = re.compile(r"(?:^|\n|\t|  |[^\W\d_]{2} )[-+]?$")
_SPACED = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:[ \u00a0\u202f\u2009'\u2019]\d{3})+(?![\w])(?:[.,]\d+)?")
_NUMBER = re.compile(r"\w*\d\w*(?:[.,]\d\w*)*")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_SURE = re.compile(r"\s?(?:[$\u20ac\u00a3%]|[^\W\d_]{2}|[.;:]?(?:\n|$))")
_TAGS = re.findall(
    r"\w+",
    "a abbr b bdi bdo cite code data dfn em font i kbd mark q s samp small span strong sub sup u var wbr",
)
"""Of a page: inside a line of text."""
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

    value: Any
    path: str
    at: int
    """Number of the line before it, in `Facts.order`."""
    above: Node | None
    key: str

    @property
    def pairs(self) -> dict[str, Any] | None:
        """Of an object."""
        value: Any = self.value
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None

    @property
    def place(self) -> str:
        """The path of what it is a member of, equal for all rows of a table."""
        return _bare(self.above.path) if self.above else ""


Projection = dict[tuple[str, ...], list[Place]]
"""Values under some columns -> the records that have them."""


def cell(text: str) -> str:
    """A value as a digest prints it: one line."""
    return "⏎".join(part.strip() for part in plain(text).replace("⏎", "\n").strip().split("\n"))


def squeezed(text: str) -> str:
    """With single blanks."""
    return " ".join(text.split())


def numbers(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each number, or word with a digit, as it stands whole; and what it is if it is several: empty if it is one.

    Knows digits and what joins them, and nothing of the registry's classes and patterns.
    """
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
        trees = _trees(text, raw)
        self.registry = registry
        self._nodes: list[Node] = []
        self.order: list[str] = []
        self.own: list[str] = [line.strip() for line in raw if line.strip()]
        self._raw = raw
        self._places: dict[int, int] = {}
        self._free: list[str] = list(raw)
        for start, end, _ in trees.values():
            self._free[start:end] = [""] * (end - start)
        self._grids, apart = _delimited(self._free)
        self._grids += _barred(self._free)
        views: list[tuple[str, str]] = []
        self.view: dict[str, str] = {}
        for at, line in enumerate(raw):
            if line.strip():
                self._places[at] = len(self.order)
                self.order.append(line.strip())
            if at in apart:
                self.view[line.strip()] = apart[at]
            if at in trees:
                leaves = list(_walk(trees[at][2], self._nodes, len(self.order) - 1))
                views += leaves
                self.order += [text.strip() for text, _ in leaves if text.strip()]
            elif self._free[at] or not line.strip():
                views.append((apart.get(at, line), ""))
        self._views = [text for text, _ in views]
        self.whole: dict[str, list[int]] = {}
        for at, line in enumerate(self.order):
            self.whole.setdefault(line, []).append(at)
        self._specify(views)
        self._projections: dict[tuple[tuple[str, ...], str | None], Projection] = {}
        self._runs: dict[int, dict[tuple[str, ...], list[int]]] = {}

    def _specify(self, views: Sequence[tuple[str, str]]) -> None:
        joined = "\n".join(self._views)
        spans = self.registry.spans(joined)
        self.specs: list[Specific] = []
        self.numbers: dict[tuple[str, str], int] = {}
        self.by_text: dict[str, list[int]] = {}
        self.pairs: set[tuple[str, str]] = set()
        at = place = 0
        for text, leaf in views:
            place += len(text) + 1
            while at < len(spans) and spans[at].start < place:
                span = spans[at]
                at += 1
                key = span.key or leaf
                self.pairs.add((key, span.text))
                if (span.cls, span.text) not in self.numbers:
                    self.numbers[span.cls, span.text] = len(self.specs)
                    self.by_text.setdefault(span.text, []).append(len(self.specs))
                    self.specs.append(Specific(span.cls, span.text, key))

    # -- numbers and names -------------------------------------------------------------------------------------------

    @cached_property
    def _known(self) -> set[str]:
        known: set[str] = set()
        for whole, parts in numbers("\n".join([*self._views, *self.page.texts])):
            known.add(whole)
            known.update(parts)
        return known

    def strangers(self, text: str) -> list[str]:
        """Numbers of a text that do not stand whole here (D5)."""
        known = self._known
        return [one for one, parts in numbers(text) if one not in known and not (parts and known.issuperset(parts))]

    @cached_property
    def names(self) -> set[str]:
        """What stands here as a whole token."""
        words = {word for line in self.order for word in line.split()}
        return words.union(word.strip(_MARKS) for word in words).union(
            name.strip(".:-") for word in words for form in _NAMES for name in form.findall(word)
        )

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
        return any(_begins(self._text, start) and _ends(self._text, end) for start, end in self._found(text))

    def piece(self, text: str) -> str | None:
        """The sentences that a piece is cut out of; None where it is none, or is cut inside of a token (D1)."""
        for start, end in self._found(text):
            if _between(self._text, start) and _between(self._text, end):
                return f"{cut_at(self._text, start)}\n{cut_at(self._text, end)}"
        return None

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
            if pairs is not None and (path is None or _is_at(node, path)):
                values = [_value(pairs, column) for column in columns]
                if path is None and all(value is None for value in values):
                    continue
                for n, column in enumerate(columns):
                    if values[n] is None and column not in self._own_keys[node.place]:
                        values[n] = _owned(node, pairs, column)
                if path is None or None not in values:
                    key = tuple(cell(value or "") for value in values)
                    found.setdefault(key, []).append(Place(node.at, _missed(pairs)))
        if path is None:
            for grid in self._grids_of(columns):
                index = _index(grid.header, columns)
                for at, row in grid.rows if index is not None else ():
                    values = tuple(row[n] if n < len(row) else "" for n in index or ())
                    names = tuple(name for name, one in zip(grid.header, row, strict=False) if one)
                    found.setdefault(values, []).append(Place(self._places.get(at, -1), names))
        self._projections[columns, path] = found
        return found

    def has_path(self, path: str) -> bool:
        """Whether a tree has a value there."""
        return path in self._paths

    @cached_property
    def _paths(self) -> set[str]:
        keys = {f"{_bare(node.path)}.{key}".lstrip(".") for node in self._nodes for key in node.pairs or ()}
        return keys.union(node.path for node in self._nodes)

    @cached_property
    def _own_keys(self) -> dict[str, set[str]]:
        """The keys of all objects that are members at one place."""
        found: dict[str, set[str]] = {}
        for node in self._nodes:
            found.setdefault(node.place, set()).update(node.pairs or ())
        return found

    def _grids_of(self, columns: tuple[str, ...]) -> Iterator[Grid]:
        yield from self._grids
        yield from self.page.grids
        yield from self._fixed([column for column in columns if column], labelled="" in columns)
        for node, _, at, _, _ in self._nodes:
            rows = cast("list[Any]", node) if isinstance(node, list) else []
            if len(rows) > 1 and all(isinstance(row, list) for row in rows) and _index(_row(rows[0]), columns):
                yield Grid(tuple(_row(rows[0])), [(at, _row(row)) for row in rows[1:]])

    def _fixed(self, columns: Sequence[str], *, labelled: bool) -> Iterator[Grid]:
        """Tables whose columns are places: under every line that holds these names in order."""
        at, lines = 0, self._free
        while columns and at < len(lines):
            at += 1
            if not all(column in lines[at - 1] for column in columns):
                continue
            head = list(_FIELD.finditer(lines[at - 1]))
            if _index([found[0] for found in head], columns) is None:
                head = list(_WORD.finditer(lines[at - 1]))
            rows: list[tuple[int, list[str]]] = []
            gap = 0
            while at < len(lines) and gap < 3:
                gap = gap + 1 if not lines[at].strip() else 0
                if lines[at].strip() and not _RULE.fullmatch(lines[at]):
                    rows.append((at, _placed(lines[at], head, labelled=labelled)))
                at += 1
            yield Grid(("", *(found[0] for found in head)), rows)

    @cached_property
    def _nameless(self) -> list[list[tuple[int, list[str]]]]:
        """Groups of rows by their cells alone."""
        groups = [
            [*([(0, list(grid.header))] if grid.header else []), *grid.rows]
            for grid in (*self._grids, *self.page.grids)
        ]
        lists = [(at, _row(node)) for node, _, at, _, _ in self._nodes if isinstance(node, list)]
        lines = [
            (at, [found[0] for found in _FIELD.finditer(line)]) for at, line in enumerate(self._free) if line.strip()
        ]
        return [*groups, lists, lines, [(at, line.split()) for at, line in enumerate(self._free) if line.strip()]]

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


def _begins(text: str, at: int) -> bool:
    """Whether a sentence, or a line, begins here."""
    return at == 0 or _BEGINS.search(text[max(0, at - 16) : at]) is not None


def _ends(text: str, at: int) -> bool:
    if at == len(text) or text[at] == "\n":
        return True
    low = max(0, at - 4)
    return any(found.end() == at - low for found in _ENDS.finditer(text[low : at + 1]))


def _between(text: str, at: int) -> bool:
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
    """The sentence that is cut at a place; empty where nothing is, between two of them."""
    if _begins(text, at) or _ends(text, at):
        return ""
    low = max(text.rfind("\n", 0, at) + 1, at - _NEAR)
    high = text.find("\n", at)
    high = min(len(text) if high < 0 else high, at + _NEAR)
    ends = [found.end() for found in _ENDS.finditer(text, low, high)]
    return text[
        max((one for one in ends if one <= at), default=low) : min((one for one in ends if one > at), default=high)
    ]


def is_cut(piece: str, text: str) -> bool:
    """Whether a text begins with a piece that ends between two of its tokens."""
    return bool(piece) and text.startswith(piece) and _between(text, len(piece))


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


def _row(node: Any) -> list[str]:
    """The values of a list; what is no leaf is empty."""
    return [cell(_leaf(one) or "") for one in cast("list[Any]", node)] if isinstance(node, list) else []


def _leaf(value: Any) -> str | None:
    """A leaf as it is written."""
    if isinstance(value, str):
        return value
    if value in ([], {}):
        return "[]" if isinstance(value, list) else "{}"
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in cast("list[Any]", value)):
        return ", ".join(_leaf(one) or "" for one in cast("list[Any]", value))
    return None if isinstance(value, dict | list) else {True: "true", False: "false"}.get(value, "null")


def _value(node: dict[str, Any], column: str) -> str | None:
    """The leaf under a path of keys, `host.ip`; a key may hold dots itself."""
    one: Any = node
    rest = column
    for _ in range(_DEEP):
        if isinstance(one, dict) and rest in one:
            return _leaf(cast("dict[str, Any]", one)[rest])
        head, dot, rest = rest.partition(".")
        if isinstance(one, dict) and head in one:
            one = cast("dict[str, Any]", one)[head]
        elif isinstance(one, list) and head.isdecimal() and len(head) < 7 and int(head) < len(cast("list[Any]", one)):
            one = cast("list[Any]", one)[int(head)]
        else:
            return None
        if not dot:
            return _leaf(one)
    return None


def _owned(node: Node, pairs: dict[str, Any], column: str) -> str | None:
    """A value that says whose a row is: of the nearest object around it, of the head of its list, or its key."""
    head = column[:1] == "(" and column[-1:] == ")"
    bare = column[1:-1] if head else column
    first, dot, rest = column.partition(".")
    if dot and node.path.split(".")[-1] == first and rest in pairs:
        return _leaf(pairs[rest])
    above = node.above
    while above is not None:
        around = above.pairs
        heads: list[Any] = cast("list[Any]", above.value)[:1] if around is None and head else []
        if heads and isinstance(heads[0], dict):
            around = cast("dict[str, Any]", heads[0])
        if around is not None and around is not pairs and bare in around:
            return _leaf(around[bare])
        above = above.above
    named = (
        node.above is not None and node.above.pairs is not None and column in ("key", node.above.path.split(".")[-1])
    )
    return node.key if named else None


def _is_at(node: Node, path: str) -> bool:
    """Whether an object, or one of its members, has a path, with the numbers of list members or without them."""
    head, _, key = path.rpartition(".")
    own = (node.path, _bare(node.path))
    return path in own or (key in (node.pairs or ()) and head in own)


def _missed(pairs: dict[str, Any]) -> tuple[str, ...]:
    return tuple(key for key, one in pairs.items() if isinstance(one, str) and 0 < len(one) <= LONG and "\n" not in one)


def _bare(path: str) -> str:
    """A path without the numbers of list members."""
    return ".".join(part for part in path.split(".") if not part.isdecimal())


# Reading: trees, rows, pages.


def _trees(text: str, lines: Sequence[str]) -> dict[int, tuple[int, int, Any]]:
    """JSON and Python literals that begin with a line and end with one: first line -> first, end, tree."""
    found: dict[int, tuple[int, int, Any]] = {}
    at = offset = failures = 0
    while at < len(lines):
        line, end = lines[at], at + 1
        if line.lstrip()[:1] in ("{", "["):
            begin = len(line) - len(line.lstrip())
            whole = failures < _TRIES
            try:
                tree, stop = _DECODER.raw_decode(text, offset + begin) if whole else _DECODER.raw_decode(line, begin)
                last = text.find("\n", stop) if whole else -1
                behind = (text[stop:] if last < 0 else text[stop:last]) if whole else line[stop:]
                if not behind.strip() and isinstance(tree, dict | list):
                    end = at + 1 + (text.count("\n", offset, stop) if whole else 0)
                    found[at] = (at, end, tree)
            except (ValueError, RecursionError):
                failures += 1
                if failures == 1 and (tree := _decoded(text[offset + begin :])) is not None:
                    end = len(lines)
                    found[at] = (at, end, tree)
                    break
                for literal, stop in ((text, len(lines)), (line, at + 1)) if whole else ():
                    if (not at or stop == at + 1) and (tree := _literal(literal)) is not None:
                        end = stop
                        found[at] = (at, end, tree)
                        break
        offset += sum(len(one) + 1 for one in lines[at:end])
        at = end
    return found


def _decoded(text: str) -> Any:
    """The tree that a text is, cut or not; None for any other."""
    for one in (text, *_mended(text)):
        try:
            tree, stop = _DECODER.raw_decode(one)
            if not one[stop:].strip() and isinstance(tree, dict | list):
                return cast("Any", tree)
        except (ValueError, RecursionError):
            continue
    return None


def _mended(text: str) -> Iterator[str]:
    """What a JSON text that was cut may be: its last string closed, or up to the last comma that parts two values."""
    waiting: list[str] = []
    good = ""
    at = 0
    for found in _MARK.finditer(text):
        if found[0] in "{[":
            waiting.append("}" if found[0] == "{" else "]")
        elif found[0] in "}]" and (not waiting or waiting.pop() != found[0]):
            return
        elif found[0] == '"':
            yield _HALF.sub("", text) + '"' + "".join(reversed(waiting))
            break
        elif found[0] == "," and 0 < len(waiting) < _DEEP:
            good, at = "".join(reversed(waiting)), found.start()
    yield text[:at] + good


def _literal(text: str) -> Any:
    """A Python literal, its numbers as written; None where it is none."""
    if len(text) > _LITERAL or text.strip()[-1:] not in ("}", "]"):
        return None
    rows = text.strip().encode("utf-8", "replace").split(b"\n")

    def told(node: ast.AST) -> Any:
        if isinstance(node, ast.Dict):
            return {str(told(key)): told(value) for key, value in zip(node.keys, node.values, strict=True) if key}
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [told(one) for one in node.elts]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Constant | ast.UnaryOp | ast.Call) and node.lineno == node.end_lineno:
            return rows[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
        raise ValueError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return told(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _walk(tree: Any, nodes: list[Node], at: int) -> Iterator[tuple[str, str]]:
    """Keys and leaves of a tree in order, each line with its key; adds its objects and lists, with their paths."""
    waiting: list[tuple[Any, str, str, int, Node | None]] = [(tree, "", "", 0, None)]
    named: set[str] = set()
    while waiting:
        one, path, key, deep, above = waiting.pop()
        if isinstance(one, str) and one[:1] in ("{", "[") and deep < _DEEP:
            inner = _decoded(one)
            one = one if inner is None else inner
        if isinstance(one, dict | list):
            pairs = list(
                cast("dict[str, Any]", one).items() if isinstance(one, dict) else enumerate(cast("list[Any]", one))
            )
            node = Node(cast("Any", one), path, at, above, key)
            nodes.append(node)
            below = [
                (
                    value,
                    f"{path}.{name}" if path else str(name),
                    str(name) if isinstance(one, dict) else key,
                    deep + 1,
                    node,
                )
                for name, value in pairs
            ]
            if isinstance(one, dict):
                fresh = [str(name) for name, _ in pairs if name not in named]
                named.update(fresh)
                yield from ((cell(name), "") for name in fresh)
            if deep >= _DEEP:
                below = [(value, "", name, deep, node) for value, _, name, _, _ in below]
            waiting += reversed(below)
        else:
            yield from ((line, key) for line in plain(_leaf(one) or "").split("\n"))


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
        text = line.translate({0x2502: "|", 0x2503: "|", 0x2551: "|"}).strip()
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
