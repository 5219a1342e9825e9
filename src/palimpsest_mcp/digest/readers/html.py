"""HTML pages and fragments: tables as rows, headings and what stands under them; no scripts, styles or menus."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Reading
from .page import Page

_PAGE = re.compile(r"\s*(?:<!doctype\s+html|<html[\s>]|<head>|<body[\s>])", re.I)
_TABLE = re.compile(r"\s*<table[\s>]", re.I)
_PART = re.compile(r"\s*<(?:div|section|article|main|h[1-6]|p|ul|ol|dl)[\s>]", re.I)
_SOURCE = re.compile(r"className=|\{\{|\{%|<\?php|<%|v-(?:if|for)=|\son[A-Z]\w+=\{|\bimport .{1,80} from ")
"""A template or a component: source, and read as such."""
_END = re.compile(r"</html\s*>", re.I)
_COMMENT = re.compile(r"\s*<!--(?:(?!-->).){0,2000}-->\s*")
"""Servers pad their error pages with them."""
_OPENS = re.compile(r"<table[\s>]", re.I)
_CLOSES = re.compile(r"</table\s*>", re.I)
_QUOTES = ('"', "'", "`", "\\", "(", "=")
"""Before a page that is a string in a program."""
_SAMPLE = 50
"""Lines by which a fragment is told from a template."""
_HOSTILE = re.compile(r"<(?!/?[A-Za-z][^<>]{0,4000}>)")
"""A mark that opens no tag: as text, so that the parser never looks for its end again and again."""
_DECLARED = re.compile(r"<[!?][^<>]{0,4000}>")
_NEVER_TEXT = frozenset(("script", "style", "template", "svg"))
_DROPPED = _NEVER_TEXT | {"noscript", "nav", "footer", "select", "button", "iframe", "object", "canvas", "math"}


def _end(lines: Sequence[str], start: int) -> int:
    """The end of the table that opens on a line; of one that never ends, the end of the text."""
    depth = 0
    for n in range(start, len(lines)):
        if "<" in lines[n]:
            depth += len(_OPENS.findall(lines[n])) - len(_CLOSES.findall(lines[n]))
            if depth <= 0:
                return n + 1
    return len(lines)


def claims(lines: Sequence[str], start: int) -> int:
    """The end of the page or of the table; a fragment of a page is one only if it is the whole text."""
    line = lines[start][:400]
    if "<" not in line[:80]:
        return start
    if _PAGE.match(line) and start < _SAMPLE and not (start and lines[start - 1].endswith(_QUOTES)):
        end = next((n + 1 for n in range(start, len(lines)) if _END.search(lines[n])), len(lines))
        while end < len(lines) and (not lines[end].strip() or _COMMENT.fullmatch(lines[end])):
            end += 1
        return end
    part = start == 0 and _PART.match(line) is not None
    outside = start == 0 or not (line[0].isspace() or lines[start - 1].lstrip().startswith("<"))
    table = outside and _TABLE.match(line) is not None
    if not (part or table):
        return start
    first = "\n".join(text[:2000] for text in lines[start : start + _SAMPLE])
    if _SOURCE.search(first):
        return start
    if table:
        return _end(lines, start)
    return len(lines) if first.count("</") > 2 and _last(lines).endswith(">") else start


def _last(lines: Sequence[str]) -> str:
    return next((line.rstrip() for line in reversed(lines) if line.strip()), "")


def _collect(text: str, dropped: frozenset[str]) -> Page:
    page = Page(dropped)
    page.feed(text)
    page.finish()
    return page


def read(lines: Sequence[str]) -> Reading:
    """Its text in source order. Where a menu that never ends would leave nothing, menus are read too."""
    text = _DECLARED.sub(lambda mark: "\n" * mark.group().count("\n"), _uncommented("\n".join(lines)))
    text = _HOSTILE.sub("&lt;", text)
    page = _collect(text, _DROPPED)
    if not page.records:
        page = _collect(text, _NEVER_TEXT)
    return Reading(page.records, page.tables)


def _uncommented(text: str) -> str:
    """Without comments, and as many lines as before."""
    kept: list[str] = []
    at = 0
    while (begin := text.find("<!--", at)) >= 0:
        end = text.find("-->", begin + 4)
        end = len(text) if end < 0 else end + 3
        kept += (text[at:begin], "\n" * text.count("\n", begin, end))
        at = end
    return "".join([*kept, text[at:]])
