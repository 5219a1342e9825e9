"""Texts that say nothing: placeholders and open ends, which neither a summary nor a handoff may hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

_OPEN_END = re.compile(
    r"\[(?:tbd|todo|fill[^\]]*|insert[^\]]*|your[^\]]*|placeholder|\.\.\.|…)\]|\btbd\b|<(?:placeholder|insert[^>]*|tbd|todo)>"
    r"|\betc\.?\W*$|(?:\.\.\.|…)\s*$|^\W*(?:n/?a|none|unknown|todo|xxx+|\?+|\.+|-+)\W*$|lorem ipsum",
    re.IGNORECASE,
)


def open_end(text: str) -> str:
    """The placeholder or open end in a text; empty where there is none."""
    found = _OPEN_END.search(text)
    return found[0].strip() if found else ""


def open_end_in(value: Any, *, except_in: str) -> str:
    """The first one in any text of a value: a text, an entry, or several.

    Args:
        except_in: a field of entries that quotes, and may hold anything.
    """
    return _first(msgspec.to_builtins(value), except_in)


def _first(value: Any, except_in: str) -> str:
    if isinstance(value, str):
        return open_end(value)
    if isinstance(value, dict):
        value = [part for name, part in cast("dict[str, Any]", value).items() if name != except_in]
    parts = cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()
    return next((found for part in parts if (found := _first(part, except_in))), "")
