"""Search hits: each with its file, or under it; totals as outcomes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Reading, Record
from .code_lines import defines
from .listing import PATH, is_dull, is_path, is_test

_AT = re.compile(rf"({PATH})(?:[:](\d{{1,7}})(?::\d{{1,5}})?[:]|-(\d{{1,7}})-)")
"""`src/a.py:12:text`, and its context `src/a.py-12-text`."""
_COUNT = re.compile(rf"({PATH})(?::\d{{1,7}}| \(\d{{1,7}} match(?:es)?\))$")
"""`grep -c`, and the files of a `search_dir`."""
_IN = re.compile(rf"({PATH}):(?!//|:|\s?$| \S)")
"""`src/a.py:text`. A message about a file has one blank after the colon, a source line seldom."""
_LOOSE = re.compile(rf"({PATH}):(?!//|:)")
_NUMBER = re.compile(r"\s{0,8}(?:Line |line |L)?(\d{1,7})(?::\d{1,5})?([:-])(?!\d\d\b)")
_FILE = re.compile(rf"(?:File: |## )?({PATH}):?$")
_TOTAL = re.compile(
    r"(?:Found|Showing|Displaying|Total|About)(?: about| at least)? [\d,]{1,12}(?:\+| of [\d,]{1,12})? "
    r"(?:total )?(?:unique )?(?:match|file|result|line|occurrence|hit|reference|document)(?:e?s)?\b"
    r"|No (?:matches|files|results|references|occurrences)(?: were)? found|[\d,]{1,9} match(?:es)?(?: across| in|$)"
    r"|\(?Results? (?:are|is|were) truncated|\[?Showing (?:first|results)|End of matches|Binary file \S{1,300} matches",
    re.IGNORECASE,
)
_COMPILER = re.compile(
    r" ?(?:fatal |internal )?(?:error|warning|note|info|hint)\b|\s?[A-Z]{1,4}\d{3,4}\b| \w{1,60}(?:Error|Warning)\b"
)
_BETWEEN = ("--", "---")
_DEFINES = re.compile(
    r"\s*(?:(?:export|default|declare|public|private|protected|static|async|abstract|final|override|pub|pub\(crate\))\s+)*"
    r"(?:(?:def|defp|defmodule|defmacro|class|function|func|fn|interface|struct|enum|trait|impl|type|module|namespace)\s+[\w(]"
    r"|(?<!\s)(?:const|let|var|val)\s+\w|(?<=[a-z]\s)[\w<>\[\]]{1,60}\()"
)
_COMMENT = re.compile(r"\s*(?://|/\*|\*\s|\*$|<!--|--\s|;;|\"\"\"|#(?!include|define|if|\[|!))")
_DEFINED = 8.0
"""Worth of a hit that defines something: who searches for a name looks for what it is."""
_NEIGHBOUR = 0.25
"""Worth of a line that is shown because a hit is near it: it is none."""


def _text_worth(path: str, text: str) -> float:
    if is_dull(path) or is_test(path) or len(text) > 1000 or _COMMENT.match(text):
        return 0.3
    bare = text.strip()
    return _DEFINED if _DEFINES.match(text) or (bare and defines(bare)) else 1.0


def _hit(line: str, *, loose: bool) -> float | None:
    """What a hit that names its file is worth; None where the line is none."""
    if (found := _AT.match(line)) and is_path(found[1]):
        return min(_NEIGHBOUR, _text_worth(found[1], "")) if found[3] else _text_worth(found[1], line[found.end() :])
    if (found := _COUNT.match(line)) and is_path(found[1]):
        return 0.3 if line.endswith(":0") or is_dull(found[1]) else 1.5
    if (found := (_LOOSE if loose else _IN).match(line)) and is_path(found[1]):
        return _text_worth(found[1], line[found.end() :])
    return None


def _heads(lines: Sequence[str], at: int) -> bool:
    """Whether a line names the file of the numbered hits that follow."""
    return (
        at + 1 < len(lines)
        and bool(_NUMBER.match(lines[at + 1]))
        and (found := _FILE.match(lines[at])) is not None
        and is_path(found[1])
    )


def _numbered(lines: Sequence[str], start: int) -> bool:
    """Whether hits of one file begin: numbers rise, and not one by one, as those of a shown file do."""
    rows = [_NUMBER.match(each) for each in lines[start : start + 6] if each.strip() != "--"]
    found = [(int(row[1]), row[2]) for row in rows if row][:3]
    if (
        len(found) < min(3, len(rows))
        or len(found) < 2
        or any(a[0] >= b[0] for a, b in zip(found, found[1:], strict=False))
    ):
        return False
    return any(b[0] - a[0] > 1 or {a[1], b[1]} == {":", "-"} for a, b in zip(found, found[1:], strict=False))


def claims(lines: Sequence[str], start: int) -> int:
    """Hits with their file on the line or above, numbered hits, and totals."""
    line = lines[start]
    found = _AT.match(line)
    if found and _COMPILER.match(line, found.end()):
        return start
    if not (_TOTAL.match(line.strip()) or _heads(lines, start)):
        if _hit(line, loose=False) is not None:
            several = len(lines) <= 2 or any(
                each == "--" or _hit(each, loose=True) is not None for each in lines[start + 1 : start + 2]
            )
        else:
            several = _NUMBER.match(line) is not None and _numbered(lines, start)
        if not several:
            return start
    grouped, end = True, start
    for at in range(start, len(lines)):
        line = lines[at]
        if _heads(lines, at) or _TOTAL.match(line.strip()) or _hit(line, loose=True) is not None:
            grouped = True
        elif not (line.strip() in ("", *_BETWEEN) or (grouped and _NUMBER.match(line))):
            break
        end = at + 1 if line.strip() else end
        grouped = grouped and (bool(line.strip()) or at + 1 < len(lines) and bool(_NUMBER.match(lines[at + 1])))
    return end


def read(lines: Sequence[str]) -> Reading:
    """One record a line; numbered hits stand under the file named above them."""
    records: list[Record] = []
    file, path = -1, ""
    block: list[tuple[int, int]] = []
    """Indentation and record of each line that the next ones of its hit stand in."""
    for at, raw in enumerate(lines):
        text = raw.strip()
        number = _NUMBER.match(raw)
        if not text:
            continue
        if text in _BETWEEN or (not number and not _AT.match(raw)):
            block = []
        if _heads(lines, at):
            found = _FILE.match(raw)
            file, path = len(records), found[1] if found else ""
            records.append(Record(text, "heading", 1.0, at=at))
        elif _TOTAL.match(text):
            # `Found 12 matches for "x" in a.py:` is the only line that names the file of the hits below it.
            file, path = len(records) if text.endswith(":") else -1, ""
            records.append(Record(text, "outcome", 3.0, at=at))
        elif text in _BETWEEN:
            records.append(Record(text, "noise", 0.0, under=file, at=at))
        elif number:
            said = raw[number.end() :]
            worth = _NEIGHBOUR if number[2] == "-" else _text_worth(path, said)
            kind = "hit" if worth > _NEIGHBOUR else "line" if any(map(str.isalnum, said)) else "noise"
            under = _within(block, said, len(records))
            records.append(Record(text, kind, worth, under=file if kind == "hit" or under < 0 else under, at=at))
        else:
            worth = _hit(raw, loose=True)
            kind = "line" if worth is not None and worth <= _NEIGHBOUR else "hit"
            place = _AT.match(raw)
            under = _within(block, raw[place.end() :], len(records)) if place else -1
            records.append(Record(text, kind, 1.0 if worth is None else worth, -1 if kind == "hit" else under, at=at))
    return Reading(records)


def _within(block: list[tuple[int, int]], said: str, number: int) -> int:
    """The record that a line near a hit stands in, by its indentation: a property is not that of the selector above the
    one which is left out. -1: none. The line is noted for those below it."""
    depth = len(said) - len(said.lstrip())
    while block and block[-1][0] >= depth:
        block.pop()
    under = block[-1][1] if block else -1
    if any(each.isalnum() for each in said):
        block.append((depth, number))
    return under
