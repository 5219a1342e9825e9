"""Test runs by failures and totals, tracebacks by the exception and the frames nearest to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..lines import Line

_TOTAL = re.compile(
    r"\s*(?:=+ .*\b(?:passed|failed|errors?|skipped|no tests ran)\b|Ran \d+ tests?|FAILED \(|OK\b|test result:"
    r"|Tests?:? +\d+|Test (?:Files|Suites):?|Result: |Total tests|\d+ (?:passing|failing|pending)"
    r"|# (?:pass|fail|tests) |tests finished:|\d+ (?:passed|failed|errors?)\b.* in \d)"
)
_FAILED = re.compile(r"\s*(?:(?:FAIL|ERROR|FAILED)(?:ED)?:? \S|--- FAIL|not ok \d|✗|✘|×|● \S)")
"""A test that failed, by its name, in the list at the end or at the head of its own story."""
_FAILED_HERE = re.compile(r".*\.\.\. (?:FAIL|ERROR)\b|.*\b(?:FAILED|ERROR)\b|\S+ [EFf]$")
_STORY = re.compile(r"_{3,} \S.* _{3,}$")
_WHY = re.compile(r"E +(?:[A-Za-z_][\w.]*(?:Error|Exception|Exit|Failed|Warning)\b|assert )|AssertionError")
_WHERE = re.compile(r"\S+:\d+: [A-Z]\w*$")
_WHY_MORE = re.compile(r"E  +\S|>  +\S")
_RULED = re.compile(
    r"\s*(?:[=*_-]{5,}.*\b(?:session starts|process starts|FAILURES|ERRORS|warnings summary|short test summary info"
    r"|Captured|slowest)\b.*|[=*_-]{5,})$"
)
_FRAME = re.compile(r"\s*(?:File \".*\", line \d+|at \S+|\S+\.\w+:\d+)")
_BEFORE_ERROR = re.compile(r"\s*File \"")
"""Frames of a trace whose error stands last: elsewhere it stands first, and the nearest frame follows it."""
_NOT_OWN = re.compile(
    r"site-packages|dist-packages|node_modules|[/\\][Ll]ib[/\\]|<frozen |\bnode:|\binternal/|/rustc/|/go/(?:src|pkg)/"
    r"|\bat (?:java|javax|sun|jdk|org\.junit|org\.springframework)\."
)
_NAMED = re.compile(r"[A-Za-z_][\w.]*(?::|$)")
_NEAREST, _FARTHER, _CODE = 2.4, 0.6, 0.5
_OF_OTHERS = 0.5
_EXCEPTION = re.compile(
    r"(?:[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning|Iteration)\b|Caused by:|panic:|thread ')"
)


def test_gist(text: str) -> float:
    """Totals, then what failed, then why; a passing test says little, a ruled line nothing."""
    if _RULED.match(text):
        return -1.0
    if _TOTAL.match(text):
        return 3.5
    if _FAILED.match(text):
        return 3.0
    if _WHY.match(text) or _EXCEPTION.match(text.lstrip()):
        return 2.4
    if _FAILED_HERE.match(text):
        return 2.0
    if _STORY.match(text) or _WHERE.match(text):
        return 1.6
    return 0.7 if _WHY_MORE.match(text) else 0.15


def trace_gists(lines: Sequence[Line]) -> list[float]:
    """The error's line says most, then the frame of one's own code nearest to it, then those farther from it, ever
    less; a frame in somebody else's code half as much."""
    gists = [0.2] * len(lines)
    frames: list[int] = []
    for index, line in enumerate(lines):
        text = line.text
        if _FRAME.match(text):
            frames.append(index)
        elif text and not text[0].isspace() and (_EXCEPTION.match(text) or _ends_frames(lines, frames, text)):
            gists[index] = 4.0
            _weigh(lines, frames, gists)
            frames = []
    _weigh(lines, frames, gists)
    return gists


def _ends_frames(lines: Sequence[Line], frames: Sequence[int], text: str) -> bool:
    """Whether a line is the error below the frames of a trace, whatever the error is called."""
    return bool(frames) and _BEFORE_ERROR.match(lines[frames[-1]].text) is not None and _NAMED.match(text) is not None


def _weigh(lines: Sequence[Line], frames: Sequence[int], gists: list[float]) -> None:
    nearest = _NEAREST
    reverse = bool(frames) and _BEFORE_ERROR.match(lines[frames[0]].text) is not None
    for index in reversed(frames) if reverse else frames:
        own = not _NOT_OWN.search(lines[index].text)
        gists[index] = nearest if own else nearest * _OF_OTHERS
        if reverse and index + 1 < len(lines) and not _FRAME.match(lines[index + 1].text):
            gists[index + 1] = max(gists[index + 1], gists[index] * _CODE)
        nearest *= _FARTHER if own else 1.0


def frames_of(lines: Sequence[Line]) -> list[Line]:
    """A traceback with blanks in place of the errors' own lines and of code: those are no rows, each stays whole."""
    blank = Line("")
    return [
        line if _FRAME.match(line.text) or not (line.text[:1].isspace() or _EXCEPTION.match(line.text)) else blank
        for line in lines
    ]


# Logs by how loud a line is, histories by commits, search hits each with its own file and line.


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
