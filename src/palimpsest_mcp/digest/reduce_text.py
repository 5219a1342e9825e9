"""Prose by headings and sentences, listings and tables by their heads, web pages by the text between the tags."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .commands import is_command
from .units import Line, Mark

_HEADING = re.compile(r"#{1,6} \S|[A-Z][^.!?]{2,70}:$|[=*-]{2,} \S.* [=*-]{2,}$|(?:title|h[1-6])\b", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*•]|\d+[.)]) \S")
_KEYED = re.compile(r"\s*\"?[A-Za-z_][\w .-]{0,40}\"?\s*[:=]\s*\S")
_FOLDER = re.compile(r"\S+:$|total \d+$")
_RULE = re.compile(r"[\s|:+=-]+$")
_TAG = re.compile(r"<!--.*?-->|<(script|style)\b[^>]*>.*?</\1>|<[^<>]*>", re.IGNORECASE)


def prose_gist(text: str) -> float:
    """Headings and commands, then keyed lines and list items, then sentences."""
    if _HEADING.match(text) or is_command(text):
        return 2.0
    if _KEYED.match(text):
        return 1.0
    if _ITEM.match(text):
        return 0.8
    return 0.9 if len(text) > 60 else 0.3


def listing_gist(text: str) -> float:
    """Folders before the entries in them."""
    return 0.9 if _FOLDER.match(text) else 0.3


def table_gist(text: str) -> float:
    """Rows are equals; a ruled line says nothing."""
    return 0.0 if _RULE.match(text) else 0.5


def html_lines(lines: Sequence[Line]) -> list[Line]:
    """The text between tags, as it stands there (entities stay as written); lines of nothing but tags go."""
    found: list[Line] = []
    for line in lines:
        start = 0
        for tag in _TAG.finditer(line.text):
            found += _piece(line, start, tag.start())
            start = tag.end()
        found += _piece(line, start, len(line.text))
    return found


def _piece(line: Line, start: int, end: int) -> list[Line]:
    text = line.text[start:end]
    if not text.strip():
        return []
    start += len(text) - len(text.lstrip())
    marks = tuple(Mark(m.start - start, m.end - start, m.spec) for m in line.marks if start <= m.start and m.end <= end)
    return [Line(text.strip(), marks)]


__all__ = ["html_lines", "listing_gist", "prose_gist", "table_gist"]
