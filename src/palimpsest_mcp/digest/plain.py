"""Text fit to be shown: no control, invisible or direction-changing characters.

Each run of such characters (terminal colours included) becomes one space, and specifics are taken from that view, so
that what is shown and what is counted are the same text. A lone carriage return ends a line. Nothing else is changed.
"""

from __future__ import annotations

import re

_UNFIT = re.compile(
    "(?:\x1b\\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\\\)"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff])+"
)


_ANY = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""One of them: told ten times as fast as the run."""


def plain(text: str) -> str:
    """The text as it may be shown. Linear in the text; the same object when nothing had to change."""
    if text.isascii() and text.isprintable():
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNFIT.sub(" ", text) if _ANY.search(text) else text


__all__ = ["plain"]
