"""Encodings undone in place: each view has as many bytes as the text, so that places in one are places in the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .matching import Found, Pattern, compiled

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_COLOUR = compiled(r"(?:\x1b|\\(?:u001b|x1b|033|e))\[[0-9;]{0,20}[A-Za-z]")
_WRITTEN_OUT = compiled(r"\\u00(2[267]|3[aAcCdDeE])|\\x(2[267]|3[aAdD])|&(quot|amp|apos|lt|gt|#0?3[49]|#x2[27]|#0?61);")
_PERCENT = compiled(r"%(?:25){0,3}(0[9aAdD]|2[02367cC]|3[aAbBcCdDeE]|5[bBdD]|7[bBcCdD])")
_ENTITY = {b"quot": b'"', b"amp": b"&", b"apos": b"'", b"lt": b"<", b"gt": b">"}
_NEAR = 400


class View(NamedTuple):
    """A text as a detector sees it, and which part of it to look at."""

    text: bytes
    windows: tuple[tuple[int, int], ...]


def views(raw: bytes) -> list[View]:
    """The text with escapes undone, and, where it has some, the neighbourhood of percent escapes undone as well.

    Half surrogates become U+FFFD, terminal colours and written-out line breaks white space, written-out quotes and
    separators (JSON, HTML) the sign itself after spaces. Backslashes before quotes stay: they tell a string's depth.
    """
    text = _SURROGATE.sub(b"\xef\xbf\xbd", raw) if b"\xed" in raw else raw
    slashes = b"\\" in text
    if b"\x1b" in text or slashes:
        text = _rewritten(text, _COLOUR, lambda m: b" " * len(m.group()))
    if slashes:
        for letter, sign in ((b"n", b"\n"), (b"r", b"\r"), (b"t", b"\t")):
            text = text.replace(b"\\" + letter, b" " + sign)
    if slashes or b"&" in text:
        text = _rewritten(text, _WRITTEN_OUT, _sign)
    whole = View(text, ((0, len(text)),))
    windows = _around_percents(text) if b"%" in text else ()
    return [whole, View(_rewritten(text, _PERCENT, _decoded), windows)] if windows else [whole]


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


def _decoded(match: Found) -> bytes:
    return bytes([int(match.group(1), 16)]).rjust(len(match.group()))


def _around_percents(text: bytes) -> tuple[tuple[int, int], ...]:
    windows: list[tuple[int, int]] = []
    for match in _PERCENT.finditer(text):
        left, right = max(0, match.start() - _NEAR), min(len(text), match.end() + _NEAR)
        if windows and left <= windows[-1][1]:
            windows[-1] = (windows[-1][0], right)
        else:
            windows.append((left, right))
    return tuple(windows)
