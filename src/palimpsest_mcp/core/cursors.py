"""Pages of long answers, with opaque cursors (I7)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from ..errors import InvalidArgument
from ..models.text import shown

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Some rows of a list."""

    items: tuple[T, ...]
    total: int
    next_cursor: str = ""
    """Hand it back for the rows that follow; empty at the end."""


def page_of(rows: Sequence[T], cursor: str, size: int) -> Page[T]:
    """The page that a cursor names; the first one for an empty cursor.

    Raises:
        InvalidArgument: the cursor is none of ours.
    """
    start = start_of(cursor)
    return page_from(tuple(rows[start : start + max(1, size)]), start, len(rows))


def start_of(cursor: str) -> int:
    """How many rows stand before the page that a cursor names.

    Raises:
        InvalidArgument: the cursor is none of ours.
    """
    return place_of("row", cursor, "Leave it out to begin, or pass next_cursor unchanged.")


def page_from(rows: tuple[T, ...], start: int, total: int) -> Page[T]:
    """The page of these rows, which begin after so many others."""
    end = start + len(rows)
    return Page(items=rows, total=total, next_cursor=cursor_at("row", end) if rows and end < total else "")


def cursor_at(word: str, place: int) -> str:
    """An opaque cursor for a place in a list; the word says in what sort of list."""
    return base64.urlsafe_b64encode(f"{word}:{place}".encode()).decode().rstrip("=")


def place_of(word: str, cursor: str, next: str) -> int:
    """The place that `cursor_at` meant; 0 for no cursor.

    Raises:
        InvalidArgument: it is none of ours; `next` says what to do.
    """
    if not cursor:
        return 0
    try:
        said, _, number = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).partition(b":")
        if said == word.encode() and number.isdigit() and len(number) < 16:
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise InvalidArgument(f"The cursor {shown(cursor)} was not given by us.", next=next)
