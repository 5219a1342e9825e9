"""YAML, and what else is written as keys with their values by depth: a leaf stands under its key."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Reading, Record

_BLANKS = 2
"""Blank lines in a row that settings may have."""
_FIRST = 12
"""Lines that are looked at before a claim: a head of comments and three leaves."""
_KEY = re.compile(
    r"((?:- ){0,4}(?:\"[^\"]{1,120}\"|'[^']{1,120}'|[A-Za-z_/.@$][\w.\-/@$+]{0,120}"
    r"|[A-Z][\w-]{0,30}(?: [A-Z][\w-]{0,30}){1,3}(?=:\s{2})))\s{0,30}:(?:\s+(\S.*))?$"  # `Service Account:  web`
)
TELLING = re.compile(
    r"(?:name|kind|image|version|status|state|reason|message|error|(?:exit|restart)[ _]?(?:code|count))[\"']?$", re.I
)
"""A key whose value says what it is that is described, or how it is."""
_NUMBER_KEY = re.compile(r"\d{1,12}\s{0,30}:(?:\s+(\S.*))?$")
_ITEM = re.compile(r"-(?: {1,8}\S|$)")
_MARK = re.compile(r"---(?:\s|$)|\.\.\.$|%YAML")
_BLOCK = re.compile(r"[|>][+-]?\d?(?:\s*#.*)?$")
_CODE = re.compile(
    r".*(?:[;{(\\]|=>|\)\s*:)$"
    r"|(?:str|int|float|bool|bytes|string|number|boolean|any|void|None|Any)\b[\w\[\]| ,.]*(?:=.*)?$"
    r"|[\w.\[\]]{1,60} = "
)
"""A value that no settings have: an annotation, an open bracket of code, a statement's end."""
_SPOKEN = re.compile(
    "else|try|finally|default|return|error|warning|warn|info|debug|fatal|note|hint|traceback|raises|todo|fixme|user"
    "|assistant|human|https?"
)
"""Words before a colon in code, in logs and in talk."""
_SENTENCE = re.compile(r"[.!?]\s+[A-Z]|\w\.$")


def _comment(line: str) -> bool:
    return line.lstrip()[:1] == "#"


def _key(line: str) -> str:
    """The key of a YAML line; empty where it is none."""
    text = line.strip()
    found = _KEY.match(text)
    if not found:
        return text.split(":")[0] if line[:1] == " " and _NUMBER_KEY.match(text) else ""
    key, value = found[1].removeprefix("- ").lower(), found[2] or ""
    spoken = _SPOKEN.fullmatch(key) and not line[:1].isspace()
    return "" if spoken or _CODE.match(value) or "\t" in line[: _indent(line)] else found[1]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _begins(lines: Sequence[str], start: int) -> bool:
    """Whether YAML begins at a line, by it and the first few leaves."""
    near = lines[start : start + _FIRST]
    body = next((n for n, each in enumerate(near) if not _comment(each)), len(near) - 1)
    first = near[body]
    # Inside a text `---` is a rule of Markdown as well.
    marked = start == 0 and _MARK.match(first) is not None
    if first[:1].isspace() or near[0][:1].isspace() or not (marked or _key(first) or _MARK.match(first)):
        return False
    leaves: list[str] = []
    for each in near[body + (_MARK.match(first) is not None) :]:
        if each.strip() and not _comment(each):
            leaves.append(each)
            if len(leaves) == 4:
                break
    return bool(leaves) and _is_yaml(leaves, marked)


def _is_yaml(leaves: Sequence[str], marked: bool) -> bool:
    """Whether the first lines are keys, their values and their items, as no prose and no code has them."""
    seen: set[tuple[int, str]] = set()
    # A list of maps shows its second key; `- name: value` alone is a list of Markdown.
    if leaves[0].startswith("-") and not (
        len(leaves) > 1 and _indent(leaves[1]) and _key(leaves[1]) and not _ITEM.match(leaves[1].strip())
    ):
        return False
    above, keys = "", 0
    for line in leaves:
        key, indent = _key(line), _indent(line)
        found = _KEY.match(above.strip())
        if found and not found[2] and indent <= _indent(above) and not _ITEM.match(line.strip()):
            return False  # A word and a colon with nothing under it is a caption.
        if not key:
            deeper = indent > _indent(above) and (
                marked or (found is not None and _BLOCK.match(found[2] or "") is not None)
            )
            if not (deeper or (above and _ITEM.match(line.strip()))):
                return marked and bool(_MARK.match(line))
        elif (indent, key) in seen and key[0] != "-" or not marked and key[0].isupper() and _SENTENCE.search(line):
            return False
        seen = {each for each in seen if each[0] <= indent}
        seen.add((indent, key))
        keys += bool(key)
        above = line
    return keys >= (1 if marked else 2) and len(leaves) >= (1 if marked else 3)


def claims(lines: Sequence[str], start: int) -> int:
    """Keys with their values, in a row."""
    if not _begins(lines, start):
        return start
    end, marked = start, _MARK.match(lines[start]) is not None
    for at in range(start, len(lines)):
        line = lines[at]
        if not line.strip():
            if at - end >= _BLANKS:
                break
            continue
        if _MARK.match(line) and at > start:
            # The second mark closes what the first opened: the text below is something else.
            return at + 1 if marked and at == end else end
        known = _key(line) or _comment(line) or _ITEM.match(line.strip()) or line[:1].isspace()
        if not (known or (at == start and marked)):
            break
        end = end if _comment(line) and not line[:1].isspace() else at + 1
    return end


def read(lines: Sequence[str]) -> Reading:
    """One record a line; a line with deeper ones below it is their heading."""
    records: list[Record] = []
    above: list[tuple[int, bool, int]] = []
    block = -1
    for at, raw in enumerate(lines):
        text, indent = raw.strip(), _indent(raw)
        if not text:
            continue
        if _MARK.match(raw):
            above.clear()
            records.append(Record(text, "noise", 0.0, at=at))
            continue
        block = block if 0 <= block < indent else -1
        item = block < 0 and _ITEM.match(text) is not None
        # An item stands under its key, also where it begins in the same column.
        while above and (above[-1][0] > indent or (above[-1][0] == indent and (above[-1][1] or not item))):
            above.pop()
        under = above[-1][2] if above else -1
        if _comment(raw) and block < 0:
            records.append(Record(text, "line", 0.3, under=under, at=at))
            continue
        if under >= 0:
            records[under].kind = "heading"
        if block < 0:
            above.append((indent, item, len(records)))
            found = _KEY.match(text)
            opens = _BLOCK.match((found[2] or "") if found else text.removeprefix("- "))
            block = indent if opens else -1
            if found and found[2]:
                worth = 2.0 if TELLING.search(found[1]) else 1.0
                records.append(Record(text, "field", worth, under, at=at))
                continue
        records.append(Record(text, at=at, under=under))
    return Reading(records)
