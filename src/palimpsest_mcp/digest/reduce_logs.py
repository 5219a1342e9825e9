"""Logs by how loud a line is, histories by commits, search hits each with its own file and line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .units import Line

_LOUD = re.compile(
    r"\b(?:error|fatal|panic|fail(?:ed|ure)?|exception|critical|denied|refused|timed? ?out|abort(?:ed)?)\b",
    re.IGNORECASE,
)
_WARN = re.compile(r"\bwarn(?:ing)?\b", re.IGNORECASE)
_COMMIT = re.compile(r"commit [0-9a-f]{7,64}\b")
_ONE_LINE = re.compile(r"(?:[*|/\\ ]* )?[0-9a-f]{7,40} \S")
_WHO_WHEN = re.compile(r"(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): +\S")
_STAT = re.compile(r" \d+ files? changed")
_TRAILER = re.compile(r"\s*[A-Z][\w-]+-[Bb]y: |\s*[-.]{2,}$|\s*[a-z-]+: ")
_SUBJECT = re.compile(r"    \S")
_NEWEST, _OLDEST = 0.8, 0.6


def log_gist(text: str) -> float:
    """Every line may matter: loud ones a little more, so that they do not crowd out the ordinary ones."""
    return 1.4 if _LOUD.search(text) else 0.8 if _WARN.search(text) else 0.5


def history_gists(lines: Sequence[Line]) -> list[float]:
    """A commit's subject says most, of the newest and the oldest above all; then the commit itself and how much it
    changed; who and when say little without it, trailers nothing."""
    gists: list[float] = []
    subjects: list[int] = []
    subject_next = False
    for number, line in enumerate(lines):
        text = line.text
        if _COMMIT.match(text):
            gists.append(0.8)
            subject_next = True
        elif _ONE_LINE.match(text):
            gists.append(2.0)
            subjects.append(number)
        elif subject_next and _SUBJECT.match(text):
            gists.append(3.0)
            subjects.append(number)
            subject_next = False
        elif _STAT.match(text):
            gists.append(0.5)
        elif _WHO_WHEN.match(text):
            gists.append(-1.0)
        else:
            gists.append(0.1 if _SUBJECT.match(text) and not _TRAILER.match(text) else 0.0)
    if subjects:
        gists[subjects[0]] += _NEWEST
        gists[subjects[-1]] += _OLDEST
    return gists


def search_gists(lines: Sequence[Line]) -> list[float]:
    """The first hit in each file, then the others, which are equals."""
    seen: set[str] = set()
    gists: list[float] = []
    for line in lines:
        file = line.text.partition(":")[0]
        gists.append(0.5 if file in seen else 1.0)
        seen.add(file)
    return gists


__all__ = ["history_gists", "log_gist", "search_gists"]
