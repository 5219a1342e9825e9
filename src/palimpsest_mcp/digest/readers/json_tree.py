"""Trees as a scanner left them, each leaf a token of the source, and what can be told of one by itself."""

from __future__ import annotations

import re
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
