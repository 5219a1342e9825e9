"""The form in which stored text may be shown: nothing in it can move a cursor, hide, or turn a line around."""

from __future__ import annotations

import re

# Whole escape sequences first (CSI, then OSC and its kin up to their end), so that no tail of one stays behind as text.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# C0 and C1 controls but for tab and newline; bidi marks, embeddings and isolates; zero-width spaces and the invisible
# operators; tag characters, which carry text that nobody sees. The two joiners stay: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_CUT = re.compile(r"(?<=\S{8})\S{8,}…$")
_HALVES = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """The text without control, ANSI, bidi and invisible characters; line breaks become newlines, tabs stay.

    Half a surrogate pair becomes U+FFFD, so the answer can always be written as UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _ESCAPES.sub("", text))
    return _HALVES.sub("\ufffd", _UNSEEN.sub("", text))


def shown(value: object, limit: int = 80) -> str:
    """What a caller gave, as an error names it: one line between quotation marks, cut where it is long.

    Of a long word that is cut only the beginning stays: half a secret does not look like one any more.
    """
    line = plain_line(str(value), limit)
    return f'"{_CUT.sub("…", line)}"'


def plain_line(text: str, limit: int = 0) -> str:
    """The same as one line, white space folded; longer than `limit` characters (0: no limit) it ends in an ellipsis."""
    line = " ".join(plain(text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"
