"""Test runs by failures and totals, tracebacks by the exception and the frames nearest to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .units import Line

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
    """The exception's line says most, then the frame it was raised in, then those before it, ever less."""
    gists = [0.2] * len(lines)
    nearest = 2.4
    for index in range(len(lines) - 1, -1, -1):
        text = lines[index].text
        if text and not text[0].isspace() and _EXCEPTION.match(text):
            gists[index] = 4.0
            nearest = 2.4
        elif _FRAME.match(text):
            gists[index] = nearest
            if index + 1 < len(lines) and not _FRAME.match(lines[index + 1].text):
                gists[index + 1] = max(gists[index + 1], nearest * 0.8)
            nearest *= 0.6
    return gists


def without_errors(lines: Sequence[Line]) -> list[Line]:
    """Frames and code of a traceback, blank in place of the errors' own lines: those are no rows, each stays whole."""
    return [Line("") if _EXCEPTION.match(line.text) else line for line in lines]


__all__ = ["test_gist", "trace_gists", "without_errors"]
