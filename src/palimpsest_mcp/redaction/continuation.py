"""Where a secret goes on in the next line: wrapped by a terminal, a mail, a string in code."""

from __future__ import annotations

import re

from .literals import is_hex, looks_random
from .matching import Find

_GAP = re.compile(
    rb"(?P<joint>[ \t]*\\{0,15}[\"'`]?[ \t]*[+.\\]?[ \t\\]{0,16})(?:\r?[ ]*\n|\r)"
    rb"(?:[ \t]*\d{1,6}[\t:|])?[ \t]*(?:[>|#*+]{1,2}[ \t]+)?(?:[bfru]{0,2}\\{0,15}[\"'`])?"
)
_RUN = re.compile(rb"[A-Za-z0-9_+/=.~-]{4,4096}")
_SHORTEST = 12  # what is shorter ends by itself
_LAST_RANK = 6000  # personal data does not wrap


def end_of(text: bytes, find: Find) -> int:
    """The end of a find, behind those next lines that go on with it.

    A line goes on with a secret that fills the line before to its end when it begins with what no word begins with, and
    is not the name of a next value. Hexadecimal goes on with hexadecimal only: behind a key may stand a commit's id.
    """
    end = find.end
    first = text[max(find.start, end - 2 * _SHORTEST) : end].decode("utf-8", "replace")
    while find.rank < _LAST_RANK and (gap := _GAP.match(text, end)) and (run := _RUN.match(text, gap.end())):
        more = run.group().decode()
        joined_in_code = bool(gap.group("joint").strip())
        if (
            len(first) < _SHORTEST
            or text[run.end() : run.end() + 1] in (b":", b"(", b"[", b"@")
            or "=" in more.rstrip("=")
        ):
            break
        if not looks_random(more) and not (joined_in_code and any(c.isdigit() for c in more)):
            break
        if is_hex(more) and not is_hex(first[-8:]):
            break
        end = run.end()
    return end
