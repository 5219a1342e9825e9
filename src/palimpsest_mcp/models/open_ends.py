"""Texts that say nothing: placeholders and open ends, which neither a summary nor a handoff may hold."""

from __future__ import annotations

import re

_OPEN_END = re.compile(
    r"\[(?:tbd|todo|fill[^\]]*|insert[^\]]*|your[^\]]*|placeholder|\.\.\.|…)\]|\btbd\b|<(?:placeholder|insert[^>]*|tbd|todo)>"
    r"|\betc\.?\W*$|(?:\.\.\.|…)\s*$|^\W*(?:n/?a|none|unknown|todo|xxx+|\?+|\.+|-+)\W*$|lorem ipsum",
    re.IGNORECASE,
)


def open_end(text: str) -> str:
    """The placeholder or open end in a text; empty where there is none."""
    found = _OPEN_END.search(text)
    return found[0].strip() if found else ""
