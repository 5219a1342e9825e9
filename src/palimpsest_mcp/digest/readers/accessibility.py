"""What a browser shows an agent of a page: its accessibility tree, a role and a name a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Kind, Reading, Record

_NUMBERED = re.compile(
    r"""\s{0,200}\[\d{1,7}\]\s(?P<role>[a-z]\w{2,20}|StaticText|RootWebArea|InlineTextBox)"""
    r"""(?:\s(?P<quote>["'])(?P<name>.{0,4000})(?P=quote))?"""
    r"""(?:\s{1,3}(?:\[[^\]]{0,2000}\]|\w{1,30}: ?\S{1,200})){0,9}\s?$"""
)
"""`[132] link "About us" [url: …]`."""
_NAMED = re.compile(
    r"""\s{0,200}- (?P<role>/?[a-z]\w{2,20})(?:\s"(?P<name>.{0,4000})")?(?:\s\[[^\]]{0,200}\]){0,9}"""
    r"""(?::(?:\s(?P<said>.{1,4000}))?)?$"""
)
"""`- link "About us" [ref=e3]`."""
_MARKED = re.compile(r"\s{0,200}\[\d{1,7}\]\s|.{0,400}\[ref=\w{1,20}\]")
"""What a list in a text does not have: the number, or the reference, by which an agent names a node."""
_LEAST = 4
"""Nodes in a row that are such a tree."""
_ROLES = frozenset(
    ("link", "button", "textbox", "combobox", "checkbox", "radio", "searchbox", "menuitem", "tab", "option")
)
"""What can be used: an agent needs its number and its name."""
_WORDS = 5
"""Words of a text from which it is more than a label."""


def claims(lines: Sequence[str], start: int) -> int:
    """A tree with a number or a reference at its nodes; lines of text between two nodes belong to it."""
    if not _MARKED.match(lines[start]):
        return start
    end, nodes = start, 0
    for at in range(start, len(lines)):
        if lines[at].strip() and _node(lines[at]):
            end, nodes = at + 1, nodes + 1
        elif lines[at].strip() or at > end:
            break
    return end if nodes >= _LEAST else start


def read(lines: Sequence[str]) -> Reading:
    """One record a node with words: headings and texts by them, what can be used by its name. Boxes say nothing, and
    so do the texts inside what has just been named."""
    records: list[Record] = []
    said = ""
    for at, raw in enumerate(lines):
        role, name = _node(raw) or ("", "")
        if len(name) < 2:
            continue
        kind, worth = _worth(role, name) if name not in said or role in _ROLES else ("noise", 0.0)
        said = said if name in said else name
        records.append(Record(raw.strip(), kind, worth, at=at))
    return Reading(records)


def _node(line: str) -> tuple[str, str] | None:
    """The role and the words of a node, empty where it has none; nothing where a line is none."""
    if found := _NUMBERED.match(line):
        return found["role"].lower(), (found["name"] or "").strip()
    if found := _NAMED.match(line):
        return found["role"], (found["name"] or found["said"] or "").strip()
    return None


def _worth(role: str, name: str) -> tuple[Kind, float]:
    if role == "heading":
        return "line", 2.0
    if role in _ROLES:
        return "entry", 1.0
    if role[0] == "/":
        return "noise", 0.0
    return "line", 1.5 if name.count(" ") + 1 >= _WORDS else 0.7
