"""Web pages by what a reader sees: blocks of text between tags, without scripts, styles and drawings.

A block is the text of a paragraph, a heading, a list item or a row of a table. Tags inside it (links, emphasis) go, its
pieces stand as they are in the source, entities included, with a space between them where they would touch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal["text", "heading", "item", "row", "head", "code", "quiet"]

_TAG = re.compile(r"<(?:!--|(/?)([A-Za-z][\w:-]*)(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*(/?)>|[!?][^<>]*>)")
_HIDDEN = frozenset(("script", "style", "svg", "template", "iframe", "object", "canvas", "math"))
_QUIET = frozenset(("nav", "footer", "aside", "button", "select", "option", "label", "form", "menu", "noscript"))
_INLINE = frozenset(
    (
        *(
            "a",
            "abbr",
            "acronym",
            "b",
            "bdi",
            "bdo",
            "big",
            "cite",
            "code",
            "data",
            "del",
            "dfn",
            "em",
            "font",
            "i",
            "img",
        ),
        *("input", "ins", "kbd", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike"),
        *("strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
_HEADING = re.compile(r"h([1-6])$")
_DESCRIPTION = re.compile(
    r"\b(?:name|property)=[\"']?(?:og:)?description\b[^<>]*\bcontent=(?:\"([^\"<>]+)\"|'([^'<>]+)')"
)
_HREF = re.compile(r"\b(?:href|cite)\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s<>\"']+)")
_PAGE = re.compile(r"<(?:!doctype html|html|head|body|div|span|p|a|li|ul|td|tr|h[1-6]|br|table)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_CELL = " | "


class Piece(NamedTuple):
    """Characters `start` up to `end` of the page."""

    start: int
    end: int


@dataclass(slots=True)
class Block:
    """What stands between two tags that break the flow of text."""

    role: Role
    level: int = 0
    """Of a heading, 1 to 6; the title of the page is 1."""
    pieces: list[Piece] = field(default_factory=list[Piece])
    cells: list[int] = field(default_factory=list[int])
    """Numbers of the pieces that begin a cell."""


def is_page(lines: Sequence[str]) -> bool:
    """Whether the tags are a web page's; else they are names of data."""
    return any(_PAGE.search(line) for line in lines)


def blocks_of(text: str) -> tuple[list[Block], list[Piece]]:
    """The blocks of a page in order, and the places where the addresses stand that it links to. Linear in the text."""
    return _Page(text).read()


def joined(text: str, block: Block, *, apart: bool) -> str:
    """A block as one line: as a browser shows it, or with a space wherever a tag stood."""
    cells = set(block.cells)
    line = ""
    for number, piece in enumerate(block.pieces):
        before = _CELL if number in cells and line else " " if apart else ""
        line += before + text[piece.start : piece.end]
    if block.role == "code":
        return line.rstrip()
    return _SPACE.sub(" ", line).strip()


class _Page:
    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks: list[Block] = []
        self._links: list[Piece] = []
        self._open: list[str] = []
        self._quiet = 0
        self._in_link = False
        self._cell = False
        self._now = Block("text")
        self._said = self._linked = 0

    def read(self) -> tuple[list[Block], list[Piece]]:
        text = self._text
        at = 0
        while found := _TAG.search(text, at):
            self._say(at, found.start())
            at = found.end()
            name = (found.group(2) or "").lower()
            if text.startswith("<!--", found.start()):
                end = text.find("-->", at)
                at = len(text) if end < 0 else end + 3
            elif name in _HIDDEN and not found.group(1) and not found.group(3):
                closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, at)
                at = len(text) if closing is None else closing.end()
                if name not in ("svg", "math"):
                    self._break()
            elif name:
                self._tag(name, found.group(), found.start(), closing=bool(found.group(1)))
        self._say(at, len(text))
        self._break()
        return self._blocks, self._links

    def _say(self, start: int, end: int) -> None:
        text = self._text
        if start >= end:
            return
        if self._now.role == "code":
            while (newline := text.find("\n", start, end)) >= 0:
                self._add(start, newline)
                self._break()
                start = newline + 1
        self._add(start, end)

    def _add(self, start: int, end: int) -> None:
        worded = bool(self._text[start:end].strip())
        if not worded and not (self._now.pieces and start < end):
            return
        self._said += worded
        if self._cell and worded:
            self._now.cells.append(len(self._now.pieces))
            self._cell = False
        self._now.pieces.append(Piece(start, end))
        self._linked += worded and self._in_link

    def _tag(self, name: str, tag: str, start: int, *, closing: bool) -> None:
        if name == "a":
            self._in_link = not closing
        if not closing:
            self._links += [Piece(start + m.start(), start + m.end()) for m in _HREF.finditer(tag)]
        if name in _INLINE:
            return
        in_row = self._now.role in ("row", "head")
        if in_row and name in ("td", "th"):
            self._cell = not closing or self._cell
            if name == "th" and not closing and not self._now.pieces:
                self._now.role = "head"
        elif in_row and name in ("p", "div", "br", "ul", "li"):
            return
        else:
            self._break(name, closing=closing)
            if name == "meta" and (said := _DESCRIPTION.search(tag)):
                group = 1 if said.group(1) else 2
                self._now.pieces.append(Piece(start + said.start(group), start + said.end(group)))
                self._break()
            if name in _QUIET:
                self._quiet = max(0, self._quiet + (-1 if closing else 1))

    def _break(self, name: str = "", *, closing: bool = False) -> None:
        now = self._now
        if now.pieces:
            if self._quiet or (0 < self._linked == self._said and now.role in ("text", "item")):
                now.role = "quiet"
            self._blocks.append(now)
        heading = _HEADING.match(name)
        role: Role = "text"
        level = 0
        if closing:
            role = "code" if now.role == "code" and name != "pre" else "text"
        elif heading or name == "title":
            role, level = "heading", int(heading.group(1)) if heading else 1
        elif name in ("li", "dd", "dt"):
            role = "item"
        elif name == "tr":
            role = "row"
        elif name == "pre" or not name and now.role == "code":
            role = "code"
        self._now = Block(role, level)
        self._said = self._linked = 0
        self._cell = False
