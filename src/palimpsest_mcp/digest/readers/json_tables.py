"""Rows and fields of trees: which items are rows of one table, what names them, and which are exceptions.

Rows that are nested in a row begin with the key of the row that they belong to, so that each says whose it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from ..notation import CUT
from ..records import MASKED, STATE, Kind, Object, Reading, Record, Table
from .json_tree import LONG, Group, Item, Node, Tree, Walk, gathered, last
from .listing import is_armour
from .prose import LONG_LINE, is_noise, sentences, sponsors
from .web_results import BEST, BEST_ONES, OTHERS

BEHIND = "rows listed after the one in brackets"
"""What the later rows of lists in a list are called: each begins with the name of its list's first."""
_ROWS = 2
"""Rows from which the names of their columns are worth a line of their own."""
_SPARSE = 4
"""A table with more cells for each value is none: its rows have too little in common."""
_REGULAR = 0.8
"""Share of the rows with one and the same value, from which the others are exceptions."""

_NAMES = re.compile(
    r"(?:^|[^a-z])(?:id|key|name|title|sha|path|file|login|slug|uuid|code|number|url|email)$", re.IGNORECASE
)
_ANYTHINGS = frozenset({"id", "key", "name", "number", "title", "type", "value"})
"""Names that do not say whose they are: of the object that another one lies in, they stand with what that is called."""
_TITLE = re.compile(r"(?:^|\.)(?:title|headline)$", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:^|\.)(?:url|link|href)$", re.IGNORECASE)
"""Rows with both are hits of a search."""
_ERROR = re.compile(r"(?:^|\.)(?:error|errors|error_message|errorMessage|exception|fault)$")
_FINE = frozenset(("", "null", "None", "false", "False", "0", "[]", "{}"))
"""What an error field says when there was none."""
_FIELDS = 120
"""Characters of one record of fields: an object with more leaves is told in parts, so that some of them can be had."""
_REST = 0.7
"""Worth of the parts after the first: ids and names come first nearly everywhere."""
_TEXT_OF_ROW = 0.5
"""Worth of a line of a long text that a row has: first the rows, then what they say at length."""
_OPENS, _OPENING = 1.0, 2
"""The same of the first sentences of what a search found, and how many: they say what it is about."""
_DATE = re.compile(r"\d{1,2} [A-Z][a-z]{2,8} \d{4}|[A-Z][a-z]{2,8} \d{1,2}, \d{4}|\d{4}-\d\d-\d\d")
_DATED = 2.0
"""Worth of a line of what a search found that is its day and nothing else."""
_LINK = re.compile(r"\W*[^\n:]{1,120}: ?https?://\S+|\W*\[[^\]\n]{0,80}\]\(\S+\)\W*")
_LINKS = 3
"""So many lines that are a name and an address are what somebody else refers to: the channels of a podcast, its guests'
pages, the menu of the page. They are not what the search found."""
_TITLED = 0.3
"""Share of that for a title in it: what it says stands below it."""
_FEW = 12
"""Leaves. A larger object with a leaf called `error` is a palette or a schema, not the report of one."""


def tell(roots: Sequence[tuple[str, Node]], parsed: Callable[[str], Tree | None]) -> Reading:
    """Records and tables of trees that follow one another, each with the words before it."""
    walk = Walk(parsed)
    for label, node in roots:
        alone = len(roots) == 1 or not isinstance(node, Tree) or node.keys is None
        if alone:
            walk.visit(node, label)
        else:
            walk.object(node, label, -1, row=True)
    return _Told(walk.items).reading()


class _Told:
    """Items, gathered in groups and written as records."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.groups = gathered(items)
        self.records: list[Record] = []
        self.tables: list[Table] = []
        self.objects: list[Object] = []

    def reading(self) -> Reading:
        """All items in source order."""
        for group in self.groups:
            self.judge(group)
        told = self.told_below()
        for number, item in enumerate(self.items):
            group = self.groups[item.group] if item.group >= 0 else None
            if item.text is not None:
                self.lines(item)
            elif group is not None and group.table >= 0:
                cells = (
                    *(value for _, value in self.owner(item)),
                    *(item.leaves.get(name, CUT if name in told.get(number, ()) else "") for name in group.columns),
                )
                worth = group.worth.get(number, 1.0)
                self.records.append(Record("|".join(cells), "row", worth, table=group.table, cells=cells, at=item.at))
            elif item.leaves:
                self.fields(item)
        return Reading(self.records, self.tables, self.objects)

    def told_below(self) -> dict[int, list[str]]:
        """Number of a row -> its columns that hold a text which is told by itself: their cells are not empty."""
        found: dict[int, list[str]] = {}
        for item in self.items:
            if item.text is not None and item.owner >= 0:
                row = self.items[item.owner]
                columns = self.groups[row.group].columns if row.group >= 0 else ()
                own = [name for name in columns if f".{item.path}".endswith(f".{name}") and name not in row.leaves]
                found.setdefault(item.owner, []).extend(own)
        return found

    def judge(self, group: Group) -> None:
        """Whether a group is a table, what names its rows, and which of them are exceptions."""
        rows = [self.items[number].leaves for number in group.members]
        if len(rows) < (2 if self.items[group.members[0]].bare else _ROWS):
            names = [name for name in rows[0] if len({row[name] for row in rows if name in row}) == len(rows)]
            called = sorted((name for name in names if _NAMES.search(name)), key=lambda name: name.count("."))
            group.key = (called or names or list(rows[0]))[:1]
            group.alone = bool(names)
            return
        if len(group.columns) * len(rows) > _SPARSE * sum(map(len, rows)) + LONG:
            group.key = [min(rows[0], key=lambda name: _rank(name, Counter(row.get(name, "") for row in rows)))]
            return
        counts = {name: Counter(row.get(name, "") for row in rows) for name in group.columns}
        order = sorted(group.columns, key=lambda name: (_rank(name, counts[name]), len(counts[name]) < len(rows)))
        unique = [name for name in order if len(counts[name]) == len(rows) and "" not in counts[name]]
        best = unique[0] if unique and _rank(unique[0], counts[unique[0]]) < 9 else None
        group.key, group.alone = self.told_apart(rows, [best] if best else order)
        usual: dict[str, str] = {}
        for name, count in counts.items():
            value, often = count.most_common(1)[0]
            if _REGULAR * len(rows) <= often < len(rows):
                usual[name] = value
                worth = 3.0 if STATE.search(name) else 2.0
                for number, row in zip(group.members, rows, strict=True):
                    if row.get(name, "") not in (value, ""):
                        group.worth[number] = max(worth, group.worth.get(number, 1.0))
        group.table = len(self.tables)
        item = self.items[group.members[0]]
        if _ERROR.search(item.path):
            group.worth = dict.fromkeys(group.members, 3.0)
        elif any(_TITLE.search(name) for name in counts) and any(_ADDRESS.search(name) for name in counts):
            group.key = [name for name in counts if _TITLE.search(name)][:1]
            group.hits = True
            for place, number in enumerate(group.members):
                group.worth[number] = BEST if place < BEST_ONES else OTHERS
        owner = self.owner(item)
        columns = () if item.bare and not owner else (*(name for name, _ in owner), *self.labels(item, group.columns))
        # Columns without names keep their order.
        places = {name: place for place, name in enumerate(group.columns, len(owner))}
        key = places[group.key[0]] if group.key and columns else 0
        noun = BEHIND if any(name[:1] == "(" for name, _ in owner) else _noun(item.path)
        self.tables.append(Table(columns, noun, key, {places[name]: value for name, value in usual.items()}))

    def told_apart(self, rows: list[dict[str, str]], order: list[str]) -> tuple[list[str], bool]:
        """The fewest columns, three at most, that no two rows have in common."""
        key: list[str] = []
        for name in order[:3]:
            key.append(name)
            if len({tuple(row.get(each, "") for each in key) for row in rows}) == len(rows):
                return key, True
        return key[:1], False

    def owner(self, item: Item, *, whose: bool = False) -> list[tuple[str, str]]:
        """Names and values that say which row an item is nested in; with `whose` a name that could be anything's stands
        with what its row is called."""
        if item.owner < 0:
            return []
        row = self.items[item.owner]
        group = self.groups[row.group] if row.group >= 0 else None
        key = group.key if group else list(row.leaves)[:1]
        mine = [(name, row.leaves.get(name, "")) for name in key]
        above = [] if group and group.alone and mine else self.owner(row, whose=whose)
        called = last(row.path) if whose and row.path != item.path else ""
        mine = [(f"{called}.{name}" if called and name in _ANYTHINGS else name, value) for name, value in mine]
        # In a list of lists the first of an inner list stands for it; brackets say that it is no parent.
        return above + [(f"({name})" if row.path == item.path else name, value) for name, value in mine]

    def labels(self, item: Item, names: Collection[str]) -> list[str]:
        """Names of an item's own columns, with their parent where its owner has such a one too."""
        taken = {name for name, _ in self.owner(item)}
        own = set(names) | taken
        labels: list[str] = []
        for name in names:
            label = name
            while label in taken or (label != name and label in own):
                label = f"{last(item.path)}.{label}"
            labels.append(label)
        return labels

    def lines(self, item: Item) -> None:
        """A text under the record that says where it stood."""
        head = len(self.records)
        owner = "|".join(f"{name}={value}" for name, value in self.owner(item))
        worth = _TEXT_OF_ROW if owner else 1.0
        self.records.append(Record(f"{item.path}: {owner}".strip(), "heading", 0.0, at=item.at))
        before = ""
        row = self.items[item.owner].group if item.owner >= 0 else -1
        opening = _OPENING if row >= 0 and self.groups[row].hits else 0
        lines = [line.strip() for line in (item.text or "").split("\n")]
        promoted = sponsors(lines)
        parts = [[*filter(None, sentences(line))] if len(line) > LONG_LINE else [line] * bool(line) for line in lines]
        menu = opening > 0 and sum(_LINK.fullmatch(one) is not None for part in parts for one in part) >= _LINKS
        for place, (line, part) in enumerate(zip(lines, parts, strict=True)):
            nothing = is_armour(line, before) or place in promoted or is_noise(line)
            for one in part:
                noise = nothing or is_noise(one) or (menu and _LINK.fullmatch(one) is not None)
                first = opening > 0 and not noise and one[0] != "#"
                opening -= first
                told = 0.0 if noise else _OPENS if first else worth * _TITLED if one[0] == "#" else worth
                told = _DATED if row >= 0 and self.groups[row].hits and _DATE.fullmatch(one) else told
                self.records.append(Record(one, "noise" if noise else "line", told, under=head, at=item.at))
            before = line

    def fields(self, item: Item) -> None:
        """An object that stands alone: its leaves, in as many records as they need; each names the object."""
        group = self.groups[item.group]
        names = list(item.leaves)
        labels = self.labels(item, names)
        pieces = [
            value if item.bare else f"{name}={value}" for name, value in zip(labels, item.leaves.values(), strict=True)
        ]
        named = [f"{name}={value}" for name, value in self.owner(item, whose=True)]
        line = list(named)
        first = group.key[0] if group.key and not item.bare else ""
        if first in names and (item.row or (item.path and _NAMES.search(first))):
            named.append(pieces[names.index(first)])
        head = f"{item.path}: " if item.path else ""
        # How it went stands with the first, what is masked behind what says something, and in no record with it.
        went = {piece for name, piece in zip(labels[1:], pieces[1:], strict=True) if STATE.search(name)}
        pieces[1:] = sorted(pieces[1:], key=lambda piece: piece not in went)
        pieces.sort(key=lambda piece: 2 if _is_masked(piece) else piece[:1] == "$")  # `$schema` tells of any such file
        if sum(map(len, (*line, *pieces))) > _FIELDS - len(head) or any("|" in piece for piece in pieces):
            line = list(named)
        failed = (
            any(_ERROR.search(name) and value not in _FINE for name, value in item.leaves.items())
            and len(pieces) <= _FEW
        )
        worth = 1.0 if any(item.leaves.values()) else 0.5
        begin = len(self.records)
        for number, piece in enumerate(pieces):
            if piece not in line:
                line.append(piece)
            after = pieces[number + 1 : number + 2]
            # A bar inside a value would read as the end of it: such a leaf is the last one of its record.
            masked = _is_masked(piece)
            full = "|" in piece or sum(map(len, line)) + len("".join(after)) > _FIELDS - len(head)
            if not after or full or _is_masked(after[0]) != masked:
                kind: Kind = "noise" if masked else "error" if failed else "field"
                self.records.append(Record(head + "|".join(line), kind, 0.0 if masked else worth, at=item.at))
                worth = min(worth, _REST)
                line = list(named)
        if not item.bare and not failed:
            owner = self.owner(item)
            columns = (*(name for name, _ in owner), *labels)
            cells = (*(value for _, value in owner), *item.leaves.values())
            self.objects.append(Object(columns, cells, _noun(item.path), tuple(range(begin, len(self.records)))))


def _is_masked(piece: str) -> bool:
    """Whether a leaf says nothing but that something is hidden."""
    return MASKED.fullmatch(piece) is not None


def _noun(path: str) -> str:
    return path if re.fullmatch(r"[\w./ -]{1,50}", path) else "rows"


def _rank(name: str, count: Counter[str]) -> int:
    """How well a column names a row; the least is the best."""
    if _NAMES.search(name):
        return name.count(".")
    numbers = sum(value.replace(".", "").replace("-", "").isdigit() for value in count)
    return 4 + name.count(".") + (5 if numbers == len(count) else 0)
