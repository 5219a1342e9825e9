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
_COMMIT = re.compile(r"commit [0-9a-f]{7,64}|[0-9a-f]{7,40} \S")
_STAT = re.compile(r" \d+ files? changed")
_TRAILER = re.compile(r"\s*[A-Z][\w-]+-[Bb]y: |\s*[-.]{2,}$|\s*[a-z-]+: ")
_SUBJECT = re.compile(r"    \S")


def log_gist(text: str) -> float:
    """Every line may matter: loud ones a little more, so that they do not crowd out the ordinary ones."""
    return 1.4 if _LOUD.search(text) else 0.8 if _WARN.search(text) else 0.5


def history_gists(lines: Sequence[Line]) -> list[float]:
    """A commit's subject says most, then the commit itself and how much it changed; trailers say nothing."""
    gists: list[float] = []
    subject_next = False
    for line in lines:
        text = line.text
        if _COMMIT.match(text):
            gists.append(0.8)
            subject_next = True
        elif subject_next and _SUBJECT.match(text):
            gists.append(3.0)
            subject_next = False
        elif _STAT.match(text):
            gists.append(0.5)
        else:
            gists.append(0.1 if _SUBJECT.match(text) and not _TRAILER.match(text) else 0.0)
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
