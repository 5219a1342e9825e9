"""Pages of long answers, with opaque cursors (I7)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from ..errors import InvalidArgument
from ..models.plain_text import shown

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
    start = _read(cursor) if cursor else 0
    end = start + max(1, size)
    return Page(items=tuple(rows[start:end]), total=len(rows), next_cursor=_write(end) if end < len(rows) else "")


def _write(start: int) -> str:
    return base64.urlsafe_b64encode(b"row:%d" % start).decode().rstrip("=")


def _read(cursor: str) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        word, _, number = text.partition(":")
        if word == "row" and number.isascii() and number.isdigit():
            return int(number)
    except (ValueError, binascii.Error):
        pass
    raise InvalidArgument(
        f"The cursor {shown(cursor)} is none of ours.", next="Leave it out to begin, or pass next_cursor unchanged."
    )
