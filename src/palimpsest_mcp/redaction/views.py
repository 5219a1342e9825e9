"""Encodings undone, with the way back: what a text says when it is read as JSON, HTML, a terminal's output, a URL."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from typing import NamedTuple

from .matching import Found, Pattern, compiled

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_COLOUR = compiled(r"(?:\x1b|\\(?:u001b|x1b|033|e))\[[0-9;]{0,20}[A-Za-z]")
_WRITTEN_OUT = compiled(r"\\u00(2[267]|3[aAcCdDeE])|\\x(2[267]|3[aAdD])|&(quot|amp|apos|lt|gt|#0?3[49]|#x2[27]|#0?61);")
_DEEP_BREAK = compiled(r"\\{2,32}[nrt]")
_BREAKS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_ENTITY = {b"quot": b'"', b"amp": b"&", b"apos": b"'", b"lt": b"<", b"gt": b">"}
_PERCENT = re.compile(rb"%(?:25){0,3}([0-9A-Fa-f]{2})|\+")
_ENCODED = compiled(r"%(?:25)?(?:[2-7][0-9A-Fa-f]|0[aAdD9])")
_NEAR = 400  # bytes around a percent escape that are read as encoded with it


class View(NamedTuple):
    """A reading of a text, or of a part of it."""

    text: bytes
    places: array[int] | None
    """For each byte of the reading its place in the text, and the place behind the last; None: byte for byte."""

    def place(self, start: int, end: int) -> tuple[int, int]:
        """The part of the text that a part of the reading stands for."""
        return (start, end) if self.places is None else (self.places[start], self.places[end])


def views(raw: bytes) -> list[View]:
    """The readings of a text. The first is as long as the text: what is written out gives way to the sign and spaces.

    Half surrogates become U+FFFD, terminal colours and written-out line breaks white space, quotes and separators of
    JSON and HTML themselves. Backslashes before quotes stay: they tell a string's depth. Wherever there are percent
    escapes, a further reading has them decoded.
    """
    text = _SURROGATE.sub(b"\xef\xbf\xbd", raw) if b"\xed" in raw else raw
    slashes = b"\\" in text
    if b"\x1b" in text or slashes:
        text = _rewritten(text, _COLOUR, lambda m: b" " * len(m.group()))
    if slashes:
        text = _with_line_breaks(text)
    if slashes or b"&" in text:
        text = _rewritten(text, _WRITTEN_OUT, _sign)
    encoded = _encoded_parts(text) if b"%" in text else []
    return [View(text, None), *(_decoded(text, left, right) for left, right in encoded)]


def _with_line_breaks(text: bytes) -> bytes:
    if b"\\\\" in text:  # strings in strings
        text = _rewritten(text, _DEEP_BREAK, lambda m: _BREAKS[m.group()[-1:]].rjust(len(m.group())))
    for letter, sign in _BREAKS.items():
        text = text.replace(b"\\" + letter, b" " + sign)
    return text


def _rewritten(text: bytes, pattern: Pattern, sign: Callable[[Found], bytes]) -> bytes:
    """The text with every match replaced by as many bytes."""
    out: bytearray | None = None
    for match in pattern.finditer(text):
        out = bytearray(text) if out is None else out
        out[match.start() : match.end()] = sign(match)
    return text if out is None else bytes(out)


def _sign(match: Found) -> bytes:
    code = next((match.group(n) for n in (1, 2) if match.start(n) >= 0), b"")
    if code:
        sign = bytes([int(code, 16)])
    else:
        name = match.group(3)
        sign = _ENTITY.get(name) or bytes([int(name[2:], 16) if name[1:2] == b"x" else int(name[1:])])
    return sign.rjust(len(match.group()))


def _encoded_parts(text: bytes) -> list[tuple[int, int]]:
    """Where percent escapes are, with what is around them; apart from one another, within one line."""
    parts: list[tuple[int, int]] = []
    for match in _ENCODED.finditer(text):
        if parts and match.end() <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], _line_end(text, match.end())))
            continue
        left = max(parts[-1][1] if parts else 0, match.start() - _NEAR)
        left = max(left, text.rfind(b"\n", left, match.start()) + 1)
        parts.append((left, _line_end(text, match.end())))
    return parts


def _line_end(text: bytes, place: int) -> int:
    line_end = text.find(b"\n", place, place + _NEAR)
    return min(len(text), place + _NEAR) if line_end < 0 else line_end


def _decoded(text: bytes, left: int, right: int) -> View:
    """A part with its percent escapes decoded; a plus sign is a space where no space is written otherwise."""
    plus_is_space = text.find(b"%20", left, right) < 0 and text.find(b" ", left, right) < 0
    out, places = bytearray(), array("q")
    done = left
    for match in _PERCENT.finditer(text, left, right):
        if match.group(1) is None and not plus_is_space:
            continue
        out += text[done : match.start()]
        places.extend(range(done, match.start()))
        out.append(int(match.group(1), 16) if match.group(1) else 0x20)
        places.append(match.start())
        done = match.end()
    out += text[done:right]
    places.extend(range(done, right + 1))
    return View(bytes(out), places)
