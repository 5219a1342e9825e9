"""Trees as a scanner left them, each leaf a token of the source, and what can be told of one by itself.

Items of trees: each object, tuple and long string, with the row that it is nested in.

An object is a row when it stands in an array, or in a map from names to objects of one shape. Objects in a row give it
columns, `host.ip`; arrays and maps in it become items of their own, which know the row that owns them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from ..records import plain

LONG = 300
"""Characters of a string that is a text: it gets lines of its own. Also of one record of fields."""
_SHORT = 120
"""Characters of an array that still fits in a cell."""


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}


class Tree(msgspec.Struct, gc=False):
    """An object or an array, as written."""

    keys: list[str] | None
    """None: an array."""
    values: list[Node]
    at: int = 0
    """Number of the line where it begins."""


Node: TypeAlias = "str | Tree"
"""A leaf is its token: quotes, escapes and digits as they stand in the source."""


def unescaped(token: str) -> str:
    """What a token says, in the plain view: strings without quotes and escapes, all else as written."""
    if token[0] in "\"'" and "\\" not in token:
        return token[1:-1].strip()
    body = token.lstrip("bu")
    if body[:1] not in ("'", '"'):
        return token[9:-2] if token.startswith(("Decimal('", 'Decimal("')) else token
    body = body[1:-1]
    if "\\" in body:
        body = _ESCAPE.sub(_meant, body).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return plain(body).strip()


def _meant(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        number = int(digits, 16)
        return chr(number) if number < 0x110000 else " "
    return _ESCAPED.get(match[4], match[4])


def one_line(text: str) -> str:
    return " ⏎ ".join(part for line in text.split("\n") if (part := line.strip())) if "\n" in text else text


def last(path: str) -> str:
    return path.rpartition(".")[2]


def compact(tree: Tree) -> str:
    """An array of scalars that fits in a cell, or what is empty."""
    if not tree.values:
        return "[]" if tree.keys is None else "{}"
    if tree.keys is not None or len(tree.values) > _SHORT or not all(isinstance(value, str) for value in tree.values):
        return ""
    tokens = [value for value in tree.values if isinstance(value, str)]
    quoted = [f'"{unescaped(token)}"' if token[-1:] in ("'", '"') else unescaped(token) for token in tokens]
    text = "[" + ",".join(quoted) + "]"
    return text if len(text) <= _SHORT and "\n" not in text else ""


def says(node: Node, key: str) -> bool:
    """Whether an object has its own name among its leaves."""
    return isinstance(node, Tree) and any(value[1:-1] == key for value in node.values if isinstance(value, str))


def is_map(tree: Tree) -> bool:
    """Whether an object names objects of one shape: three of them, or any number by numbered names."""
    first = tree.values[0] if tree.values else ""
    if not tree.keys or not isinstance(first, Tree) or first.keys is None:
        return False
    shape = set(first.keys)
    for value in tree.values:
        if (
            isinstance(value, str)
            or value.keys is None
            or 2 * len(shape.intersection(value.keys)) < max(len(shape), len(value.keys))
        ):
            return False
    return len(tree.keys) > 2 or all(any(map(str.isdigit, key)) for key in tree.keys)


def all_trees(tree: Tree) -> list[Tree]:
    found = [tree]
    for each in found:
        found += [value for value in each.values if isinstance(value, Tree)]
    return found


_SHAPES = 8
"""Tables that the objects at one path may make at most; what is like none of the last ones starts another."""


class Item(msgspec.Struct, gc=False):
    """An object, a tuple or a text: what gets a record."""

    path: str
    owner: int
    """The item of the row that it is nested in; -1: none."""
    at: int
    leaves: dict[str, str]
    bare: bool = False
    """A tuple: its columns have numbers, no names."""
    row: bool = False
    """Whether its path is that of others too."""
    text: str | None = None
    group: int = -1


class Walk:
    """Makes items of trees, in source order: a row before what is nested in it."""

    def __init__(self, parsed: Callable[[str], Tree | None]) -> None:
        self.items: list[Item] = []
        self.parsed = parsed
        self.inside = False

    def visit(self, node: Node, path: str, owner: int = -1, at: int = 0) -> None:
        """A node that is no cell."""
        if isinstance(node, str):
            self.text(unescaped(node), path, owner, at)
        elif node.keys is None:
            self.array(node, path, owner)
        elif is_map(node):
            told = all(says(value, key) for key, value in zip(node.keys, node.values, strict=True))
            name = last(path) or "key"
            if any(isinstance(value, Tree) and name in (value.keys or ()) for value in node.values):
                name = "key"
            for key, value in zip(node.keys, node.values, strict=True):
                self.object(value, path, owner, {} if told else {name: key})
        else:
            self.object(node, path, owner)

    def text(self, text: str, path: str, owner: int, at: int) -> None:
        """A long string; what it holds is a tree again, or lines."""
        tree = None if self.inside else self.parsed(text)
        if tree is None:
            self.items.append(Item(path, owner, at, {}, text=text))
            return
        self.inside = True
        for each in all_trees(tree):
            each.at = at
        self.visit(tree, path, owner)
        self.inside = False

    def array(self, tree: Tree, path: str, owner: int) -> None:
        """Rows: of objects, of tuples, or of single values."""
        name = last(path)
        for value in tree.values:
            if isinstance(value, str):
                self.leaf(value, path, owner, tree.at, name)
            elif value.keys is not None:
                if is_map(value):
                    self.visit(value, path, owner)
                else:
                    self.object(value, path, owner, row=True)
            elif all(isinstance(cell, str) for cell in value.values):
                leaves = {
                    str(number): unescaped(cell) for number, cell in enumerate(value.values) if isinstance(cell, str)
                }
                self.items.append(Item(path, owner, value.at, leaves, bare=True))
            else:
                first = len(self.items)
                head = Tree(None, value.values[:1], value.at)
                self.array(head, path, owner)
                self.array(
                    Tree(None, value.values[1:], value.at),
                    path,
                    first if any(item.leaves for item in self.items[first : first + 1]) else owner,
                )

    def leaf(self, value: str, path: str, owner: int, at: int, name: str) -> None:
        said = unescaped(value)
        if len(said) > LONG:
            self.text(said, path, owner, at)
        else:
            self.items.append(Item(path, owner, at, {name or "0": one_line(said)}, bare=not name))

    def object(
        self, node: Node, path: str, owner: int, leaves: dict[str, str] | None = None, row: bool = False
    ) -> None:
        """One object: an item of its leaves, and after it what is nested in it."""
        if isinstance(node, str):
            return
        row = row or leaves is not None
        item = Item(path, owner, node.at, leaves or {}, row=row)
        number = len(self.items)
        self.items.append(item)
        later: list[tuple[str, Node, int]] = []
        self.fill(item.leaves, node, "", row, later)
        for name, value, at in later:
            self.visit(value, f"{path}.{name}" if path else name, number if row and item.leaves else owner, at)

    def fill(
        self, leaves: dict[str, str], tree: Tree, prefix: str, row: bool, later: list[tuple[str, Node, int]]
    ) -> None:
        """The leaves of an object, those of the objects in it too where it is a row; the others are for later."""
        for key, value in zip(tree.keys or (), tree.values, strict=True):
            name = prefix + key
            if isinstance(value, str):
                said = unescaped(value)
                if len(said) > LONG or (len(said) > 1 and said[0] in "{[" and not self.inside and self.parsed(said)):
                    later.append((name, value, tree.at))
                elif name in leaves:
                    later.append((name, Tree(None, [value], tree.at), tree.at))
                else:
                    leaves[name] = one_line(said)
            elif (short := compact(value)) and name not in leaves:
                leaves[name] = short
            elif row and value.keys and not is_map(value):
                self.fill(leaves, value, name + ".", row, later)
            else:
                later.append((name, value, value.at))


class Group(msgspec.Struct, gc=False):
    """Items of one path and shape."""

    columns: dict[str, None]
    members: list[int] = []
    key: list[str] = []
    """The columns that tell its rows apart."""
    alone: bool = False
    """Whether the key needs no owner's key beside it."""
    table: int = -1
    hits: bool = False
    """Whether a search found them: each has a title and an address."""
    worth: dict[int, float] = {}


def gathered(items: list[Item]) -> list[Group]:
    """Items of one path belong together when they share half of their names; each item learns its group."""
    groups: list[Group] = []
    known: dict[tuple[str, int, bool], list[int]] = {}
    seen: dict[tuple[str, int, bool, tuple[str, ...]], int] = {}
    for number, item in enumerate(items):
        if not item.leaves:
            continue
        place = (item.path, items[item.owner].group if item.owner >= 0 else -1, item.bare)
        shape = (*place, tuple(item.leaves))
        if shape not in seen:
            near = known.setdefault(place, [])
            seen[shape] = next((each for each in near if _alike(groups[each], item)), len(groups))
            if seen[shape] == len(groups):
                known[place] = [*near[: _SHAPES - 1], len(groups)]
                groups.append(Group({}))
        item.group = seen[shape]
        groups[item.group].members.append(number)
        groups[item.group].columns.update(dict.fromkeys(item.leaves))
    return groups


def _alike(group: Group, item: Item) -> bool:
    common = sum(name in group.columns for name in item.leaves)
    return 2 * common >= min(len(group.columns), len(item.leaves))
