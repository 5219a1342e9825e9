"""A second reading of source and digest: every number that a digest shows stands whole in its source (D5).

It shares no pattern and no reader with the registry or the reducers, so that a mistake of theirs is not repeated here.
It knows digits and what joins them, records of JSON and of comma-separated values (by the standard library's readers),
and nothing of classes, units or keys. A number is the longest run of digits joined by single marks: `958.18`,
`1,250,000`, `1'234`, `10.0.0.7`. What a comma or a space between digits means is decided by what stands around it;
where that cannot be told, both readings are true of the source, and either may be shown.
"""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

_HARD = "\u00a0\u202f\u2009'\u2019"
_RUN = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_JOINED_RUN = re.compile(rf"[0-9]+(?:\.[0-9]+)*(?:[,_{_HARD}][0-9]+(?:\.[0-9]+)*)+")
_PART = re.compile(rf"[,_{_HARD}]")
_HARD_GROUPS = re.compile(rf"[0-9]{{1,3}}(?:[{_HARD}][0-9]{{3}})+(?:\.[0-9]+|,[0-9][0-9]?)?")
_COMMA_GROUPS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_SPACE_HINT = re.compile(r"[0-9] [0-9][0-9][0-9](?![0-9])")
_SPACE_RUN = re.compile(r"[0-9]+(?:[.,][0-9]+)*(?: [0-9]+(?:[.,][0-9]+)*)+")
_SPACE_GROUPS = re.compile(r"[1-9][0-9]{0,2}(?: [0-9]{3})+(?:\.[0-9]+|,[0-9][0-9]?)?")
_BEHIND = re.compile(r" ?[$\u20ac\u00a3%]| [^\W\d_]{2}|[ .]*(?:\n|$)")
_BEFORE = re.compile(r"(?:^|\n|\t|  |[^\W\d_]{2} )[-+]?$")
_UNSEEN = re.compile("\x1b\\[[0-9;]*m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_ENTITY = re.compile(r"&#?\w+;")
_SUSPECT = re.compile(r"[0-9],[0-9]")
_AROUND_FREE: Final = frozenset(" \t\n$\u20ac\u00a3=-+")
_NO_FIELD: Final = frozenset("(){}[]=:;<>")
_DEEPEST: Final = 40


class _Number(NamedTuple):
    """One number as it stands, and what its digits would be if they were several."""

    text: str
    parts: tuple[str, ...]
    """Empty where it can only be one."""


class Witness:
    """What numbers a source holds. Linear in the text; nothing is read before the first question."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: set[str] | None = None

    def strangers(self, line: str) -> list[str]:
        """Numbers of a shown line that do not stand whole in the source."""
        if not any(map(str.isdigit, line)):
            return []
        if self._known is None:
            self._known = set(_held(self._text))
        known = self._known
        return [
            one.text
            for one in _numbers(line)
            if one.text not in known and not (one.parts and known.issuperset(one.parts))
        ]


def _held(text: str) -> Iterator[str]:
    """Every number of a source, and where two readings are possible both."""
    text = _UNSEEN.sub(" ", text.replace("\r\n", "\n")) if _UNSEEN.search(text) else text
    leaves = _leaves(text)
    if leaves is not None:
        yield from _held_in("\n".join(leaves))
        return
    yield from _held_in(text)
    if _ENTITY.search(text):
        yield from _held_in(html.unescape(text))


def _held_in(text: str) -> Iterator[str]:
    if _SUSPECT.search(text):
        rows, text, doubtful = _rows(text)
        for field in rows:
            yield from (one.text for one in _numbers(field))
        for line in doubtful:
            for one in _numbers(line, loose=True):
                yield one.text
                yield from one.parts
    for one in _numbers(text):
        yield one.text
        yield from one.parts


def _numbers(text: str, *, loose: bool = False) -> list[_Number]:
    """The numbers of a text, in no order.

    Args:
        loose: commas may part fields here.
    """
    found: list[_Number] = []

    def spaced(match: re.Match[str]) -> str:
        if _SPACE_GROUPS.fullmatch(match[0]) is None:
            return match[0]
        start, end = match.span()
        three = match[0].count(" ") > 1
        sure = _BEFORE.search(text, max(0, start - 4), start) and (three or _BEHIND.match(text, end))
        found.append(_Number(match[0], () if sure else tuple(match[0].split(" "))))
        return " " * len(match[0])

    def joined(match: re.Match[str]) -> str:
        one = match[0]
        start, end = match.span()
        before, after = whole[start - 1 : start], whole[end : end + 1]
        if _HARD_GROUPS.fullmatch(one):
            sure = not (before.isalnum() or (before and before in "_.'\u2019")) and after not in ("_", "'", "\u2019")
        elif _COMMA_GROUPS.fullmatch(one):
            sure = not loose and (not before or before in _AROUND_FREE) and after not in (",", "_", "'")
        else:
            sure = False
        found.append(_Number(one, () if sure else tuple(_PART.split(one))))
        return " " * len(one)

    whole = _SPACE_RUN.sub(spaced, text) if _SPACE_HINT.search(text) else text
    rest = _JOINED_RUN.sub(joined, whole)
    found += [_Number(one, ()) for one in set(_RUN.findall(rest))]
    return found


def _rows(text: str) -> tuple[list[str], str, list[str]]:
    """Fields of comma-separated records, the text without them, and lines of which nobody can say what they are."""
    lines = text.split("\n")
    fields: list[str] = []
    plain: list[str] = []
    doubtful: list[str] = []
    at = 0
    while at < len(lines):
        commas = lines[at].count(",")
        end = at + 1
        if commas:
            while end < len(lines) and (lines[end].count(",") == commas or '"' in lines[end]):
                end += 1
        block = lines[at:end]
        if len(block) > 1 and any(map(_SUSPECT.search, block)):
            records = _records(block)
            if records is None:
                doubtful += block
            else:
                fields += [field for record in records for field in record]
        else:
            plain += block
        at = end
    return fields, "\n".join(plain), doubtful


def _records(block: list[str]) -> list[list[str]] | None:
    """The records of lines below the names of their columns; None where that is not what they are."""
    try:
        records = list(csv.reader([f"{line}\n" for line in block], strict=True))
    except csv.Error:
        return None
    names = records[0]
    if any(len(record) != len(names) for record in records) or len(names) < 2:
        return None
    for name in names:
        if not name or not (name[0].isalpha() or name[0] == "_") or not _NO_FIELD.isdisjoint(name):
            return None
    return None if any(field[:1] == " " for record in records for field in record) else records


def _leaves(text: str) -> list[str] | None:
    """Keys, texts and literals of a JSON text or of lines of it; None for any other."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    found: list[str] = []
    try:
        documents = [_parsed(text)]
    except (ValueError, RecursionError):
        try:
            documents = [_parsed(line) for line in text.split("\n") if line.strip()]
        except (ValueError, RecursionError):
            return None
    waiting: list[tuple[Any, int]] = [(one, 0) for one in documents]
    while waiting:
        one, depth = waiting.pop()
        if isinstance(one, dict):
            for key, value in cast("dict[str, Any]", one).items():
                found.append(key)
                waiting.append((value, depth))
        elif isinstance(one, list):
            waiting += [(value, depth) for value in cast("list[Any]", one)]
        else:
            found.append(str(one))
            if depth < _DEEPEST and found[-1][:1] in ("{", "["):
                inner = _leaves(found[-1])
                found += inner or ()
    return found


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=str, parse_int=str, strict=False)
