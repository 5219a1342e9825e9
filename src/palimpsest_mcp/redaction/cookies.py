"""Cookie headers: the names stay, values that a machine drew go."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .literals import is_stand_in, looks_random
from .matching import Find, compiled
from .names import secret_name
from .scan import Ranges

_HEADER_SOURCE = (
    r"(?i)\b(?:set-)?cookies?[\"'\]\\]{0,6}\s{0,4}[:=,]\s{0,4}[\[(]?[bf]?[\"'\\]{0,6}|"
    r"\bcurl\b.{0,300}?\s(?:-b|--cookie)[ =][\"']?"
)
_HEADER = compiled(_HEADER_SOURCE)
_PAIR = re.compile(rb"([\w.!#$%^|~+-]{1,80})=([^;\s\"'\\,<>]{4,4096})")
_LONGEST = 8192
_RANK = 4900


class Cookies:
    """Finds the values of `Cookie` and `Set-Cookie`, each pair by itself."""

    gates = (_HEADER_SOURCE,)

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Secret cookie values of the headers in these ranges."""
        done = 0
        for start, end in ranges:
            for header in _HEADER.finditer(text, start, end):
                place = max(done, header.end())
                line_end = text.find(b"\n", place, place + _LONGEST)
                done = min(len(text), place + _LONGEST) if line_end < 0 else line_end
                yield from _values(text, place, done)


def _values(text: bytes, place: int, limit: int) -> Iterator[Find]:
    for pair in _PAIR.finditer(text, place, limit):
        value = pair.group(2).decode("utf-8", "replace")
        known = secret_name(pair.group(1).decode("utf-8", "replace"))
        if not is_stand_in(value) and (looks_random(value) or (known and len(value) >= 8)):
            yield Find(pair.start(2), pair.end(2), "cookie", _RANK)
