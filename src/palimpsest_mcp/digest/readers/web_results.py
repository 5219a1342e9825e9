"""Pages of a web search: snippets stand under the title of their result, and so does its address."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Reading, Record

_TITLE = re.compile(r"(?:#{1,4} )?(?:\[?\d{1,3}[\].):]+ |Title: |- (?:Title: |\[)|\*\*|\[)\s*\S", re.IGNORECASE)
_URL = re.compile(r"[-*]?\s?(?:\**(?:URL|Link|Source|Href)\**:\**\s?)?<?https?://\S{1,2000}$", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_LONG = 300
"""Characters of a snippet that are shown as one; a longer one is read by its sentences."""
_AHEAD = 30
"""Lines that a snippet may have, before the next title is given up."""
BEST_ONES = 3
"""Results that a search holds for the best: of the others the title says enough."""
BEST, OTHERS = 3.0, 1.5
"""Worth of the titles of these, and of the others."""


def _titles(lines: Sequence[str], at: int) -> bool:
    """Whether a line is the title of a web result: its address is the next line, or the one after."""
    line = lines[at].strip()
    return (
        _TITLE.match(line) is not None
        and not _URL.match(line)
        and any(_URL.match(each.strip()) for each in lines[at + 1 : at + 3])
    )


def claims(lines: Sequence[str], start: int) -> int:
    """Two results and more, or one that is labelled."""
    if not _titles(lines, start):
        return start
    end, last, results = start, start, 0
    for at in range(start, len(lines)):
        if _titles(lines, at):
            last, results, end = at, results + 1, at + 3
        elif at - last > _AHEAD:
            break
        elif not lines[at].strip() and at >= end:
            # A blank line ends a snippet, unless another title follows; it is looked for once a result.
            if not any(_titles(lines, n) for n in range(at + 1, min(last + _AHEAD, len(lines)))):
                return at if results > 1 or _labelled(lines[start]) else start
            end = last + _AHEAD
    at = min(last + _AHEAD + 1, len(lines))
    return at if results > 1 or _labelled(lines[start]) else start


def _labelled(line: str) -> bool:
    return line.lstrip("-#* ").lower().startswith("title:")


def read(lines: Sequence[str]) -> Reading:
    """Titles as headings; a long snippet by its sentences."""
    records: list[Record] = []
    title, results = -1, 0
    for at, raw in enumerate(lines):
        text = raw.strip()
        if not text:
            continue
        if _titles(lines, at):
            title, results = len(records), results + 1
            records.append(Record(text, "heading", BEST if results <= BEST_ONES else OTHERS, at=at))
        elif _URL.match(text):
            records.append(Record(text, "line", 2.5 if results <= BEST_ONES else 1.0, under=title, at=at))
        else:
            sentences = _SENTENCE.split(text) if len(text) > _LONG else (text,)
            worth = 3.0 if results <= BEST_ONES else 1.0
            records.extend(Record(sentence, "line", worth, under=title, at=at) for sentence in sentences)
    return Reading(records)
