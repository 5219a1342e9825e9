"""Trees: JSON, lines of JSON, and the lists, tuples and dictionaries that Python prints; alone or within other text.

One scanner for all of them, since the parsers of the standard library say neither where a value stood, nor how its
number was written, nor what stood before the place where a text was cut. It goes token by token and never calls
itself, so depth costs nothing; what it finds becomes records in `json_tables`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Reading, Record
from .json_tables import tell
from .json_tree import LONG, Node, Tree, unescaped

_STRING = r"""[bu]?"[^"\\]*+(?:\\.[^"\\]*+)*+"|[bu]?'[^'\\]*+(?:\\.[^'\\]*+)*+'"""
_ATOM = (
    r"-?\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+(?![\w.])"
    r"|-?(?:true|false|null|True|False|None|NaN|nan|Infinity|inf)\b"
    r"|[A-Za-z_][\w.]{0,60}\([^()\n]{0,200}\)"  # Decimal('34.50'), datetime.date(2024, 5, 20)
)
_TOKEN = re.compile(rf"[ \t]*+(?:({_STRING}|{_ATOM})|([{{\[(])|([}}\])])|([bu]?[\"'].*))[ \t]*+([:,]?)")
"""A leaf or key, an opening, a closing, or a string that does not end in its line; then the mark behind it."""
_HEAD = re.compile(r"([A-Za-z][\w .,'-]{0,58}:? ?)?(?=[{\[])")
"""How a line begins whose rest may be a tree: with the tree, or with a few words before it."""
_ELEMENT = re.compile(r"\s*+(?={)")
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_DEEP = 64
"""Levels. Nobody writes deeper ones by hand, and what walks the tree calls itself."""
_SMALL = 60
"""Characters. What is shorter says as much as a line of text."""
_CUT = 500
"""Characters that must have been read before a tree that breaks off is taken as a cut one."""

_GAP = 60
"""Lines after a cut in which the next element of the list must begin."""


class _Found(Tree):
    """A tree at the root of the text, and how it ended."""

    start: int = 0
    end: int = 0
    """The line after it."""
    broken: bool = False
    rest: str = ""
    """What stands behind the place where it broke off, in its last line."""
    label: str = ""
    """The words before it."""


def _parse(lines: Sequence[str], row: int, column: int, element: bool = False) -> _Found | None:
    """The tree that begins here and ends with a line, or that is cut after at least `_CUT` characters.

    An element of a list may have a comma behind it.
    """
    root = _Found(None, [], row, row)
    stack: list[tuple[Tree, str]] = [(root, "")]
    key: str | None = None
    ready, read, start = True, 0, row
    while row < len(lines):
        line = lines[row]
        while match := _TOKEN.match(line, column):
            value, opens, closes, torn, mark = match.groups()
            top, close = stack[-1]
            if closes:
                if closes != close or key is not None or mark == ":":
                    return _cut(root, lines, start, row, column, read)
                stack.pop()
                ready = mark == ","
                if len(stack) == 1:
                    root.end = row + 1
                    return None if (mark and not element) or line[match.end() :].strip() else root
            elif torn:
                if ready and (top.keys is None) == (key is None) and len(torn) > LONG and row == len(lines) - 1:
                    top.values.append(torn.rstrip() + torn.lstrip("bu")[0])
                    if top.keys is not None:
                        top.keys.append(key or "")
                    read, column = read + len(torn), len(line)
                return _cut(root, lines, start, row, column, read)
            elif not ready or (top.keys is not None and (mark == ":") == (key is not None)):
                return _cut(root, lines, start, row, column, read)
            elif mark == ":":
                if opens or top.keys is None:
                    return _cut(root, lines, start, row, column, read)
                key = unescaped(value)
            else:
                if opens and len(stack) > _DEEP:
                    return None
                node: Node = Tree([] if opens == "{" else None, [], row) if opens else value
                top.values.append(node)
                if top.keys is not None:
                    top.keys.append(key or "")
                key, ready = None, bool(opens) or mark == ","
                if isinstance(node, Tree):
                    if mark:
                        return _cut(root, lines, start, row, column, read)
                    stack.append((node, _PAIRS[opens]))
            read += match.end() - column
            column = match.end()
        if line[column:].strip():
            return _cut(root, lines, start, row, column, read)
        row, column, read = row + 1, 0, read + 1
    return _cut(root, lines, start, row - 1, len(lines[-1]), read)


def _cut(root: _Found, lines: Sequence[str], start: int, row: int, column: int, read: int) -> _Found | None:
    """What was read of a tree that breaks off here; with the rest of the line, unless that is much of it."""
    rest = lines[row][column:].strip()
    if read < _CUT or (len(rest) > read // 4 and row == start):
        return None
    root.broken = True
    if len(rest) <= read // 4:
        root.end, root.rest = row + 1, rest
    else:
        root.end = row
    return root


def _trees(lines: Sequence[str], start: int) -> list[_Found]:
    """The trees that follow one another from here on, each at the beginning of a line.

    Where the middle of a list was cut out, its elements behind the gap are read as well.
    """
    found: list[_Found] = []
    at, within = start, False
    while at < len(lines):
        if found and not lines[at].strip():
            at += 1
            continue
        head = _ELEMENT.match(lines[at]) if within else _HEAD.match(lines[at])
        tree = _parse(lines, at, head.end(), within) if head else None
        if head is None or tree is None:
            break
        tree.label = "" if within else (head[1] or "").strip().rstrip(":")
        if tree.label and (tree.broken or not _has_rows(tree)):
            break
        found.append(tree)
        at = tree.end
        if tree.broken:
            gap = range(at, min(at + _GAP, len(lines)))
            again = next(
                (row for row in gap if _ELEMENT.match(lines[row]) and lines[row - 1].rstrip().endswith("},")), -1
            )
            if again < 0:
                break
            at, within = again, True
    return found


def _has_rows(root: Tree) -> bool:
    """Whether it is more than a list of words in a sentence."""
    tree = root.values[0]
    return isinstance(tree, Tree) and (tree.keys is not None or any(isinstance(value, Tree) for value in tree.values))


def parsed(text: str) -> Tree | None:
    """The tree that a string leaf holds, if it holds one."""
    found = _trees(text.split("\n"), 0) if text[:1] in ("{", "[") else []
    first = found[0].values[0] if len(found) == 1 and found[0].end > text.count("\n") else None
    return first if isinstance(first, Tree) else None


def claims(lines: Sequence[str], start: int) -> int:
    """The trees from this line on, unless they are shorter than a sentence."""
    if start and lines[start - 1].rstrip().endswith(("[", "{", "(", ",")):
        return start  # in the middle of what could not be read from its beginning
    found = _trees(lines, start)
    end = found[-1].end if found else start
    return end if sum(map(len, lines[start:end])) >= _SMALL else start


def read(lines: Sequence[str]) -> Reading:
    """Rows, fields and texts of all trees here; what stands at a cut and behind it is lines."""
    found = _trees(lines, 0)
    reading = tell([(tree.label, tree.values[0]) for tree in found], parsed)
    at = 0
    for tree in found:
        reading.records += [
            Record(line.strip(), at=n) for n, line in enumerate(lines[at : tree.start], at) if line.strip()
        ]
        if tree.rest:
            reading.records.append(Record(tree.rest, at=tree.end - 1))
        at = tree.end
    order = sorted(range(len(reading.records)), key=lambda number: reading.records[number].at)
    place = {old: new for new, old in enumerate(order)}
    reading.records = [reading.records[old] for old in order]
    for record in reading.records:
        record.under = place.get(record.under, -1)
    for one in reading.objects:
        one.records = tuple(place[n] for n in one.records)
    return reading
