"""TOML, ini, `.env` and properties: a leaf stands under its `[section]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Kind, Reading, Record
from .yaml import TELLING

_BLANKS = 2
"""Blank lines in a row that settings may have."""
_FIRST = 12
"""Lines that are looked at before a claim: a head of comments and three leaves."""
_SECTION = re.compile(r"\[{1,2}[\w.\"' :/@*+-]{1,200}\]{1,2}(?:\s*[#;].*)?$")
_PAIR = re.compile(r"(?:export )?([A-Za-z_\"'][\w.\-/\"'@]{0,120})(\s{0,30})=(.*)")
_INI = re.compile(r"\s{0,80}(?:export )?([^\s=:][^=:]{0,60}?)(\s{0,30})[=:](.*)")
_FLAG = re.compile(r"[a-z][a-z\d_-]{2,40}$")
"""A setting that is on because it is there: `skip-networking` in a section."""
_LITERAL = re.compile(r"[\"'\[{\d+-]|true\b|false\b|null\b|True$|False$")
_OPEN = re.compile(r"[\[{](?:[^\]}]*,)?\s*(?:#.*)?$|(?:\"\"\"|''')(?!.*(?:\"\"\"|'''))")
_SHELL = re.compile(r".* \w{1,40}=\S|[(&|`$]")


def _comment(line: str) -> bool:
    return line.lstrip()[:1] in ("#", ";", "!") and not line.lstrip().startswith("#!")


def _key(line: str, *, sectioned: bool) -> str:
    """The key of `key = value`; without a section above, the value or the key must look like no code."""
    found = (_INI if sectioned else _PAIR).match(line)
    if not found or found[3][:1] == "=":
        return ""
    if sectioned:
        return found[1]
    value = found[3].strip()
    if found[2] or found[3][:1] == " ":
        plain = _LITERAL.match(value) or "." in found[1]
    else:
        plain = found[1].isupper() or "." in found[1] or _LITERAL.match(value)
    return found[1] if plain and not _SHELL.match(value) and not value.endswith((";", "(")) else ""


def _begins(lines: Sequence[str], start: int) -> bool:
    """Whether a section with a pair, or three pairs, begin at a line."""
    if not (_comment(lines[start]) or _SECTION.match(lines[start]) or _PAIR.match(lines[start])):
        return False
    near = lines[start : start + _FIRST]
    body = next((n for n, each in enumerate(near) if not _comment(each)), len(near) - 1)
    leaves = [each for each in near[body:] if each.strip() and not _comment(each)]
    if _SECTION.match(near[body]):
        # The first thing in a section, or in the one below an empty one, has a sign; what stands below prose in
        # brackets has none.
        first = next((each for each in leaves[1:3] if not _SECTION.match(each)), "")
        return (found := _INI.match(first)) is not None and "=" in first and found[1].count(" ") < 2
    return bool(near[body].strip()) and len(leaves) > 2 and all(_key(each, sectioned=False) for each in leaves[:3])


def _closes(value: str) -> str:
    """What ends a value that goes on in the lines below; empty where it does not."""
    if not _OPEN.match(value):
        return ""
    return value[:3] if value[:3] in ('"""', "'''") else "]" if value[0] == "[" else "}"


def _inside(line: str, closing: str) -> bool:
    """Whether a line belongs to the open value above: one that is never closed ends at the next key or section."""
    return bool(closing) and (
        closing in ('"""', "'''") or not (_SECTION.match(line) or (_PAIR.match(line) and line[0] != '"'))
    )


def claims(lines: Sequence[str], start: int) -> int:
    """Sections and pairs, in a row."""
    if not _begins(lines, start):
        return start
    end, section, closing = start, False, ""
    for at in range(start, len(lines)):
        line = lines[at]
        if not line.strip():
            if at - end >= _BLANKS:
                break
            continue
        if _inside(line, closing):
            closing = "" if closing in line else closing
        elif _SECTION.match(line):
            section, closing = True, ""
        elif _key(line, sectioned=section) and ("=" in line or at == end):
            closing = _closes(line.partition("=")[2].strip())
        elif not (_comment(line) or (section and (line[:1].isspace() or _FLAG.match(line)) and at == end)):
            break
        end = end if _comment(line) and not closing else at + 1
    return end


def read(lines: Sequence[str]) -> Reading:
    """One record a line; a value over several lines stands under its key."""
    records: list[Record] = []
    section, opened, closing = -1, -1, ""
    for at, raw in enumerate(lines):
        text = raw.strip()
        if not text:
            continue
        if _inside(raw, closing):
            closed = text.strip("],}\"'") == ""
            records.append(Record(text, "noise" if closed else "line", 0.0 if closed else 1.0, under=opened, at=at))
            closing = "" if closing in raw else closing
        elif _SECTION.match(raw):
            section, closing = len(records), ""
            records.append(Record(text, "heading", 1.0, at=at))
        else:
            closing = "" if _comment(raw) else _closes(raw.partition("=")[2].strip())
            opened = len(records)
            kind: Kind = "heading" if closing else "line" if _comment(raw) else "field"
            worth = 0.3 if _comment(raw) else 2.0 if TELLING.search(raw.partition("=")[0].strip()) else 1.0
            records.append(Record(text, kind, worth, under=section, at=at))
    return Reading(records)
