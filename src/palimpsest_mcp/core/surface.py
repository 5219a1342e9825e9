"""What a face prints, masked: the one way by which names, ids, paths, policies and error texts go out.

Pages of long answers, with opaque cursors (I7).
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, Generic, TypeVar, cast

import msgspec

from ..errors import InvalidArgument
from ..models.text import plain_line, shown
from ..ports.seams import Redactor

Named = TypeVar("Named")
Viewed = TypeVar("Viewed")
_SHORTEST = 6
"""Characters below which nothing is a secret of its own."""
_KEPT = 8_000
"""Characters of the longest text whose masked form is kept."""
_MARK = "[redacted:"


class Surface:
    """Masks what is shown. Numbers and truth values are never touched."""

    def __init__(self, redactor: Redactor) -> None:
        def masked(text: str) -> str:
            return redactor.redact(text).text

        self._short = lru_cache(maxsize=4_096)(masked)
        self._long = lru_cache(maxsize=256)(masked)
        self._redactor = redactor

    def text(self, text: str) -> str:
        """One text with its secrets masked."""
        if len(text) < _SHORTEST:
            return text
        size = len(text)
        masked = (
            self._short(text)
            if size <= 200
            else self._long(text)  # digests, which are listed again and again
            if size <= _KEPT
            else self._redactor.redact(text).text
        )
        return text if masked == text else masked  # advice stays advice: each face words it

    def value(self, value: Any) -> Any:
        """The same for every text in a JSON value, a view or a tuple of these, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            fields = cast("dict[Any, Any]", value)
            return {self.value(key): self.value(one) for key, one in fields.items()}
        if isinstance(value, (list, tuple)):
            parts = [self.value(one) for one in cast("list[Any]", value)]
            return tuple(parts) if isinstance(value, tuple) else parts
        if isinstance(value, msgspec.Struct):
            fields: dict[str, Any] = {}
            for name in value.__struct_fields__:
                before = getattr(value, name)
                if isinstance(before, str):  # nearly all of them
                    after = self.text(before)
                elif before is None or isinstance(before, (int, float)):
                    continue
                else:
                    after = self.value(before)
                if after is not before:
                    fields[name] = after
            return msgspec.structs.replace(value, **fields) if fields else value
        return value

    def view(self, view: Viewed) -> Viewed:
        """A view of the library as a face may cut and lay it out: half a secret would not look like one any more."""
        return cast("Viewed", self.value(view))


@cache
def storeless() -> Surface:
    """For what is said where no store is open: the built-in rules, and marks that nobody can compare."""
    from ..text.redaction.redactor import open_redactor

    return Surface(open_redactor(secrets.token_bytes(32)))


def named_by_mark(name: str, things: Iterable[Named], id_of: Callable[[Named], str], redactor: Redactor) -> list[Named]:
    """The things whose id a face shows as `name`, since it holds a secret; none where the name holds no mark."""
    if _MARK not in name:
        return []
    return [one for one in things if name in (shown := redactor.redact(id_of(one)).text, plain_line(shown))]


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
