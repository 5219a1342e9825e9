"""Cuts long originals into pages that hosts take whole, and marks stored text as data."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence

import msgspec

from ..errors import InvalidArgument
from ..models.text import shown

PAGE_UNITS = 40_000
"""Characters of a page as JavaScript hosts count them (UTF-16 units); Claude Code spills above 50,000."""
PAGE_TOKENS = 15_000
"""o200k tokens of a page: with the largest family factor (1.55) still under the 25,000 at which hosts cut."""
_HEADROOM_TOKENS = 400
"""For our own lines around the text."""


class Piece(msgspec.Struct, frozen=True):
    """A stretch of one text: characters `start` to `end`."""

    index: int
    start: int
    end: int


class TextPage(msgspec.Struct, frozen=True):
    """One page over several texts read as one."""

    pieces: tuple[Piece, ...]
    total: int
    """Characters of all texts."""
    next_offset: int | None


def page_of(texts: Sequence[str], offset: int, count: Callable[[str], int]) -> TextPage:
    """The page that starts at character `offset` of all texts together. It always goes on by at least one character.

    Raises:
        InvalidArgument: the offset lies beyond the end.
    """
    total = sum(map(len, texts))
    if offset and offset >= total:
        raise InvalidArgument(
            f"The offset {offset} lies beyond the end: there are {total} characters.",
            next="Take next_offset of the answer before, or leave offset out to read from the start.",
        )
    pieces: list[Piece] = []
    units, tokens, reached, end_of_text = PAGE_UNITS, PAGE_TOKENS - _HEADROOM_TOKENS, offset, 0
    for index, text in enumerate(texts):
        begin, end_of_text = end_of_text, end_of_text + len(text)
        start = max(0, offset - begin)
        if start > len(text) or (text and start == len(text)):
            continue
        end = _fitting_end(text, start, units, tokens, count)
        if text and end == start:
            break
        pieces.append(Piece(index, start, end))
        reached = begin + end
        if reached < end_of_text:
            break
        units, tokens = units - utf16_units(text[start:end]), tokens - _tokens(text[start:end], count)
    return TextPage(tuple(pieces), total, reached if reached < total else None)


def _fitting_end(text: str, start: int, units: int, tokens: int, count: Callable[[str], int]) -> int:
    end = min(len(text), start + max(0, units))
    while end > start:
        part = text[start:end]
        over = max(utf16_units(part) / max(1, units), _tokens(part, count) / max(1, tokens))
        if over <= 1:
            break
        end = start + min(len(part) - 1, int(len(part) / over * 0.98))
    return _not_inside_a_pair(text, start, end)


def _not_inside_a_pair(text: str, start: int, end: int) -> int:
    """Halves that stand side by side are one character for the host: a page never ends between them."""
    if start < end < len(text) and "\ud800" <= text[end - 1] <= "\udbff" and "\udc00" <= text[end] <= "\udfff":
        return end - 1 if end - 1 > start else end + 1
    return end


def _tokens(text: str, count: Callable[[str], int]) -> int:
    """At most this many tokens: bytes where they already say enough, since no token is shorter than one byte."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return size if size <= 2_000 else count(text)


def utf16_units(text: str) -> int:
    """Length as JavaScript sees it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fenced(text: str, mark: str) -> str:
    """Text between two lines that it cannot forge; half a surrogate pair, which no UTF-8 has, as `\\udXXX`."""
    return f"<<{mark}\n{text.encode('utf-8', 'backslashreplace').decode()}\n{mark}>>"


def fence_mark(texts: Sequence[str], random_hex: Callable[[int], str]) -> str:
    """A fresh marker that none of the texts contains."""
    while any((mark := random_hex(8)) in text for text in texts):
        pass
    return mark if texts else random_hex(8)


def cursor_at(offset: int) -> str:
    """An opaque cursor for a place in a list."""
    return base64.urlsafe_b64encode(b"at:%d" % offset).decode().rstrip("=")


def offset_of(cursor: str) -> int:
    """The place that `cursor_at` meant; 0 for no cursor.

    Raises:
        InvalidArgument: it is none of ours.
    """
    if not cursor:
        return 0
    try:
        word, _, number = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).partition(b":")
        if word == b"at" and number.isdigit() and len(number) < 16:
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise InvalidArgument(
        f"The cursor {shown(cursor)} is none of ours.", next="Call again without cursor to start at the first page."
    )
