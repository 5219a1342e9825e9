"""Files shown with line numbers, as `cat -n` and the tools of agents do, and what is said around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from ..records import Record
from .code_lines import sort_lines

_SAMPLE = 24
"""Lines that decide whether a text is code: a screenful tells, and a refusal stays cheap."""
_FOLLOWING = 6
"""Numbers one after another that make a listing, where a search may have hit neighbours too."""
_NUMBERED = re.compile(r"[ \t]{0,8}(\d{1,6})(?:(\t|→)|([|:│])| ([|:│]))(?: (?=\S)|)")
"""`cat -n`, the viewers of agents: a number and a separator before each line."""
_TALK = re.compile(
    r"\(\d+ more lines (?:above|below)\)|\[File: |-{5,}$|={5,}$|\.{3}$|⋮|ERRORS?:|- [EFW]\d+|"
    r"/[\w./-]+:\d+$|\[?(?:Your|This is|DO NOT|Please|Review|The file|"
    r"I've|Here's|File |Successfully|Edit|\(Open|\(Current|bash-\$)",
)
"""What a viewer says before, between and after the lines of a file."""
_VERDICT = re.compile(
    r"(?i)syntax error|introduced|not been applied|has been (?:updated|edited|created)|successful|do not re-?run|"
    r"refused|failed|is unchanged|^- [EFW]\d+|^\(?edit"
)


def body_of(line: str) -> tuple[int, str]:
    """The number before a line, or -1, and the line behind it, with its indentation."""
    found = _NUMBERED.match(line)
    if not found:
        return -1, line
    end = found.end()
    if line[end - 1] == " " and (found[2] or found[3]):
        end -= 1  # that blank is indentation; only ` 12 | x` has one of its own
    return int(found[1]), line[end:]


def _numbers(lines: Sequence[str], start: int, at_most: int) -> int:
    """The end of the lines from here on whose numbers go up by one."""
    first, end = body_of(lines[start])[0], min(len(lines), start + at_most)
    return next((i for i in range(start, end) if body_of(lines[i])[0] != first + i - start), end)


def _runs(lines: Sequence[str], start: int) -> bool:
    """Whether lines from here on are numbered one by one, as a viewer does it."""
    first = _NUMBERED.match(lines[start])
    if not first or (start and body_of(lines[start - 1])[0] == int(first[1]) - 1):
        return False  # the second: lines that were refused from their first one on
    bodies = [body_of(line)[1] for line in islice(lines, start, _numbers(lines, start, _SAMPLE))]
    if first[2] == "→" or (first[2] and lines[start].startswith("    ")):
        return True
    told = [line.sort for line in sort_lines(bodies, 0) if line.sort]
    return len(bodies) >= (3 if first[1] == "1" else _FOLLOWING) and 2 * sum(s > 0 for s in told) >= len(told) > 0


def viewed(lines: Sequence[str], start: int) -> int:
    """The end of a file shown with line numbers, and of what its viewer says around it."""
    at = start
    while at < min(len(lines), start + 12) and not _NUMBERED.match(lines[at]):
        if at == start and not _TALK.match(lines[at].lstrip()):
            return start
        at += 1
    shown = any("cat -n" in line or line.startswith("[File: ") for line in lines[start:at])
    if at == min(len(lines), start + 12) or not (shown or _runs(lines, at)):
        return start
    end = at
    while at < len(lines):
        text = lines[at].strip()
        if _NUMBERED.match(lines[at]):
            if end == at and at > start and _NUMBERED.match(lines[at - 1]):
                break  # numbers with gaps are hits of a search
            at = end = _numbers(lines, at, len(lines))
        elif not text and at < end + 3:
            at += 1
        elif text and _TALK.match(text):
            at = end = at + 1
        else:
            break
    return end


def said(text: str, at: int) -> Record:
    """A line of the viewer: how an edit went, which file this is, or nothing that anybody asks for."""
    if _VERDICT.search(text):
        return Record(text, "outcome", 4.0, at=at)
    if text.startswith(("[File: ", "File ")) or re.match(r"/\S+:\d+$|Here's ", text):
        return Record(text, "heading", 1.5, at=at)
    return Record(text, "line", 0.5, at=at)
