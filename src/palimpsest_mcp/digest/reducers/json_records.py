"""JSON as records of cells: number literals as written, strings decoded, every leaf kept, source order."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import msgspec

from ..lines import plain

_DEPTH = 48
"""Deeper documents are read as text: nothing a reader would call a record lies that deep."""
_INLINE = 8
"""An object of at most this many plain values inside another is written into its columns: `name first`."""
_PACKED = 20
"""Characters from which a string may be a document of its own."""
_MAP = 10
"""From this many members on, an object whose names look like data is a table of name and value."""
_NAME = re.compile(r"[A-Za-z_$][A-Za-z_$-]*$")


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One leaf: its column (`prices economy`), its own key (`economy`), its text without surroundings."""

    column: str
    key: str
    text: str


@dataclass(slots=True)
class Record:
    """The plain values of one object (or one element of a list), and where in the document it stands."""

    path: str
    """The names that lead to it, spaced; `[]` for an index, `{}` for a name that is data: like records share it."""
    label: str = ""
    """The name under which it stands, where that name is data."""
    label_key: str = ""
    """What the label is a name of: the key of the object that holds it."""
    cells: list[Cell] = field(default_factory=list[Cell])


class _Object(list[tuple[str, Any]]):
    """Members in order, repeated names included."""


class _Number(str):
    """A literal as it is written: `1.10` stays `1.10`."""

    __slots__ = ()


Value: TypeAlias = Any


def parse_json(text: str) -> list[Value] | None:
    """The documents of a text: one, or one a line. None where it is not JSON, a bare value, or too deep."""
    head = text.lstrip()[:1]
    if head not in ("{", "["):
        return None
    whole = _load(text)
    if whole is not None:
        return [whole]
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not all(line.lstrip()[:1] in ("{", "[") for line in lines):
        return None
    documents = [_load(line) for line in lines]
    return None if any(document is None for document in documents) else [documents]


def _load(text: str) -> Value | None:
    try:
        value = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=_Object
        )
    except (ValueError, RecursionError):
        return None
    return cast("list[Value]", value) if isinstance(value, list) else None


def records_of(documents: list[Value]) -> list[Record] | None:
    """Every leaf of the documents as cells of records, in source order; None when they lie too deep."""
    out: list[Record] = []
    try:
        for document in documents:
            _walk(document, "", "", "", out, 0)
    except _TooDeepError:
        return None
    return out


class _TooDeepError(Exception):
    pass


def _walk(value: Value, path: str, label: str, label_key: str, out: list[Record], depth: int) -> None:
    if depth > _DEPTH:
        raise _TooDeepError
    value = _opened(value)
    if isinstance(value, _Object):
        _walk_object(value, path, label, label_key, out, depth)
    elif isinstance(value, list):
        _walk_list(cast("list[Value]", value), path, label, label_key, out, depth)
    else:
        key = label or _last(path)
        out.append(Record(path, label, label_key, [Cell("", key, leaf_text(value))]))


def _walk_list(value: list[Value], path: str, label: str, label_key: str, out: list[Record], depth: int) -> None:
    path = f"{path} []".lstrip()
    for element in value:
        _walk(element, path, label, label_key, out, depth + 1)


def _walk_object(value: _Object, path: str, label: str, label_key: str, out: list[Record], depth: int) -> None:
    if _is_map(value):
        key = _last(path)
        path = f"{path} {{}}".lstrip()
        for name, member in value:
            _walk(member, path, _one_line(name), key, out, depth + 1)
        return
    record = Record(path, label, label_key)
    below: list[tuple[str, Value]] = []
    for name, member in value:
        name = _one_line(name)
        member = _opened(member)
        if not isinstance(member, list):
            record.cells.append(Cell(name, name, leaf_text(member)))
        elif isinstance(member, _Object) and _is_small(member):
            record.cells += [Cell(f"{name} {_one_line(k)}", _one_line(k), leaf_text(v)) for k, v in member]
        elif _is_row_of_leaves(cast("list[Value]", member)):
            leaves = "  ".join(leaf_text(leaf) for leaf in cast("list[Value]", member))
            record.cells.append(Cell(name, name, leaves))
        else:
            below.append((name, cast("Value", member)))
    if record.cells or label:
        out.append(record)
    for name, member in below:
        _walk(member, f"{path} {name}" if path else name, label, label_key, out, depth + 1)


def _opened(value: Value) -> Value:
    """What a string holds, where it is a JSON document of its own, as APIs pack one answer into another."""
    if isinstance(value, _Number) or not isinstance(value, str) or len(value) < _PACKED:
        return value
    ends = value[0] + value.rstrip()[-1:]
    inner = _load(value) if ends in ("{}", "[]") else None
    return value if inner is None else inner


def _is_small(value: _Object) -> bool:
    return len(value) <= _INLINE and not any(isinstance(member, list) for _, member in value) and not _is_map(value)


def _is_row_of_leaves(value: list[Value]) -> bool:
    """Short single words: sentences in a list are pieces of their own."""
    if isinstance(value, _Object) or len(value) > 40:
        return False
    return all(not isinstance(leaf, list) and " " not in str(leaf) for leaf in value) and len(str(value)) < 400


def _is_map(value: _Object) -> bool:
    """Whether the names are data: many plain members, or objects alike, under names that are no identifiers."""
    odd = sum(1 for name, _ in value if not _NAME.match(name))
    if len(value) >= _MAP and odd * 2 > len(value):
        return True
    inner = [member for _, member in value if isinstance(member, _Object)]
    if len(inner) < 2 or len(inner) < len(value):
        return odd > 0 and len(value) > 0 and odd == len(value) and len(inner) == len(value)
    if odd * 2 > len(value):
        return True
    first = {name for name, _ in inner[0]}
    alike = sum(1 for member in inner[1:] if len(first & {name for name, _ in member}) * 2 > len(first))
    return len(inner) >= 3 and alike * 2 > len(inner)


def _one_line(name: str) -> str:
    return plain(name).replace("\n", " ")


def _last(path: str) -> str:
    """The last name of a path. Names with spaces give their last word: a key is there to be recognised."""
    return next((name for name in reversed(path.split(" ")) if name not in ("[]", "{}")), "")


def leaf_text(value: Value) -> str:
    """A leaf as it is written, strings decoded and fit to be shown."""
    if isinstance(value, str):
        return plain(value)
    if value is True:
        return "true"
    if value is False:
        return "false"
    return "null" if value is None else ""
