"""Numbers in groups, and lists of numbers, made plain for the lexer: a view of the same length (D2).

What parts the groups of a number (a space, a no-break or thin space, an apostrophe) becomes `_`, its decimal comma a
point, the bracket before a negative amount a minus; the commas of a tuple become tabs. All is decided inside one
line. Where a plain space may be either, two numbers or one, it is one: as it stands, it says what the source says.
"""

from __future__ import annotations

import re
from typing import Final

_NO_BREAK: Final = "\u00a0\u202f\u2009"
_SIGNS: Final = "$\u20ac\u00a3\u00a5\u20b9"
_JOINED = re.compile(
    rf"(?<![\w.'\u2019])(?:[0-9]{{1,3}}(?:[{_NO_BREAK}'\u2019][0-9]{{3}})+)"
    r"(?:\.[0-9]+|,[0-9]{1,2})?(?![0-9_]|[.,'\u2019][0-9])"
)
_SPACED = re.compile(
    r"(?<![\w.#/])(?<![0-9][ :,])(?<![0-9]-)(?<![\])\"] )[0-9]{1,3}"
    rf"(?:(?: [0-9]{{3}}){{2,}}|(?: [0-9]{{3}})(?=,[0-9]{{1,2}}(?![0-9])|\.[0-9]| ?[{_SIGNS}%]| [^\W\d_]"
    r"|[.,:;!?)]?(?:\n|$)|\t|  |[.,;!?] | ?[|;]))"
    r"(?:\.[0-9]+|,[0-9]{1,2}(?![0-9]))?(?![0-9A-Za-z_]|[.,][0-9]| [0-9])"
)
"""A single group only where something says that it is one: a unit, a word or the end of a field behind it."""
_NEAR: Final = 80
_BEFORE = re.compile(
    rf"(?:^|[\s,;|(\[\"]|(?:^|[\s,;|(\[\"])[A-Za-z_][\w.-]*[=:]|[^\x00-\x7f])[('\"\[]*[-+~{_SIGNS}]{{0,2}}$"
)
"""What may stand before a number that begins there: a field's edge, a key, a sign, a script without spaces."""
_MAYBE_SPACED = re.compile(r"[0-9] [0-9]{3}(?![0-9])")
_BRACKETS = re.compile(r"[(\[{]([^()\[\]{}\n]{3,400})[)\]}]")
_AMOUNT = re.compile(
    rf"(?:[{_SIGNS}]|[A-Z]{{3}} )? ?"
    rf"(?:[0-9]{{1,3}}(?:[,'\u2019 {_NO_BREAK}][0-9]{{3}})+(?:\.[0-9]+)?|[0-9]+\.[0-9][0-9]"
    rf"|(?<=[{_SIGNS}])[0-9]+(?:\.[0-9]+)?)(?: ?[{_SIGNS}]| [A-Z]{{3}})?"
)
_ATOM = re.compile(r"[-+]?[0-9][0-9.eE+_-]*|[A-Za-z_][\w.-]*|'[^']*'|\"[^\"]*\"|")
_COMMA_OF_LIST = re.compile(r"[0-9],[0-9]")


def view(text: str) -> str:
    """The text as the lexer is to read it, character for character in the same places."""
    if "(" in text or "[" in text or "{" in text:
        text = _BRACKETS.sub(_bracketed, text)
    if not text.isascii():
        text = _without_no_break(text)
    if "'" in text or "\u2019" in text:
        text = _JOINED.sub(_plainly, text)
    if _MAYBE_SPACED.search(text):
        text = _SPACED.sub(_plainly, text)
    return text


def _without_no_break(text: str) -> str:
    if any(space in text for space in _NO_BREAK):
        text = _JOINED.sub(_plainly, text)
        for space in _NO_BREAK:
            text = text.replace(space, " ")
    return re.sub("\u2212(?=[0-9$\u20ac\u00a3])", "-", text) if "\u2212" in text else text


def _plainly(found: re.Match[str]) -> str:
    number, start = found[0], found.start()
    near = found.string[max(0, start - _NEAR) : start]
    if near and _BEFORE.search(near) is None:
        return number  # the end of something longer: `node-1 250 ms`, `/a?b=1 100 %`
    whole, mark, rest = number.rpartition(",") if "," in number else number.rpartition(".")
    if not mark:
        whole, rest = rest, ""
    return re.sub(r"[^0-9]", "_", whole) + ("." if mark else "") + rest


def _bracketed(found: re.Match[str]) -> str:
    inner, text, start, end = found[1], found.string, found.start(), found.end()
    before = text[start - 1 : start]
    if text[start] == "(" and text[end - 1] == ")" and _AMOUNT.fullmatch(inner):
        listed = text[max(0, start - 2) : start] == ")," or text[end : end + 2] == ",("
        if not listed and not (before and (before.isalnum() or before in "_)]([{")):
            return f"-{inner})"
    elif text[start] == "(" and _AMOUNT.fullmatch(inner) is None and "," not in inner:
        return found[0]
    if not _COMMA_OF_LIST.search(inner) or any(_ATOM.fullmatch(one) is None for one in inner.split(",")):
        return found[0]
    return text[start] + inner.replace(",", "\t") + text[end - 1]


__all__ = ["view"]
