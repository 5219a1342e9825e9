"""Private key blocks, whole or cut: from BEGIN to END, else to the end of what looks like their body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .patterns import Find, compiled
from .scan import Ranges

_BEGIN = compiled(r"-----BEGIN[ +]{1,3}[A-Z0-9 +]{0,40}PRIVATE[ +]{1,3}KEY(?:[ +]{1,3}BLOCK)?[ +]{0,3}-----")
_END = re.compile(rb"-----END[ +]{1,3}[A-Z0-9 +]{0,40}PRIVATE[ +]{1,3}KEY(?:[ +]{1,3}BLOCK)?[ +]{0,3}-----")
_LONGEST = 64 << 10
# What stands before the body in a line: indentation, a diff's sign, a quotation mark, a line number, a string's quote.
_LINE = re.compile(
    rb"(?:[ \t\\\"'+>|#*-]|\d{1,6}[:|\t])*"
    rb"(?:[A-Za-z0-9+/=%_-]{1,4096}|[A-Za-z-]{3,24}: [^\n]{0,200})?[ \t\\\"'+;,]*(?:\r?\n|$)"
)
_BODY = re.compile(rb"[A-Za-z0-9+/=%_-]{16}")
_DIGIT = re.compile(rb"\d")
_RANK = 0


class PrivateKeys:
    """Finds PEM and OpenPGP private keys. Public keys and certificates are not secret."""

    gates = ("-----BEGIN[ +]",)

    def find(self, gate: int, text: bytes, ranges: Ranges) -> Iterator[Find]:
        """Blocks that begin in these ranges."""
        done = 0
        for start, end in ranges:
            for begin in _BEGIN.finditer(text, max(start, done), max(end, done)):
                done = block_end(text, begin.end())
                body = text[begin.end() : done]
                if (piece := _BODY.search(body)) and _DIGIT.search(body, piece.start(), piece.start() + 80):
                    yield Find(begin.start(), done, "private-key", _RANK)


def block_end(text: bytes, place: int) -> int:
    """Where the body that begins at `place` ends: behind END, else behind its last line of base64."""
    next_block = text.find(b"-----BEGIN", place, place + _LONGEST)
    if end := _END.search(text, place, next_block if next_block >= 0 else place + _LONGEST):
        return end.end()
    last = place
    while (line := _LINE.match(text, place)) and line.end() > place:
        if line.group().strip():
            last = line.start() + len(line.group().rstrip())
        place = line.end()
    return last
