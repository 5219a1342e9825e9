"""What a text is, judged by its content: one route for the whole, or stretches of lines each with its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .samples import sample_of
from .text_forms import form_of
from .units import Route

_TRACE_HEAD = re.compile(
    r"\s*(?:Traceback \(most recent call last\):|Exception in thread \"|thread '.*' panicked at"
    r"|goroutine \d+ \[|panic: )"
)
_DIFF_LINE = re.compile(
    r"[-+ @\\]|diff |index |new file|deleted file|rename |similarity |Binary files|old mode|new mode|$"
)
_COMMIT = re.compile(r"commit [0-9a-f]{7,64}\b")
_RUN = re.compile(
    r"\s*+(?:={3,} (?:test session|test process) starts =|={3,} .*\b\d+ (?:passed|failed|error).* in [\d.:]+"
    r"|Ran \d+ tests? in |tests finished: \d|test result: (?:ok|FAILED)|Tests: +\d+ (?:passed|failed)|Test Suites: \d)"
)
_EDGE = 30
"""Lines at each end of a stretch that are looked at for it."""
_TRACE_WORDS = ("Traceback", "Exception", "panic", "goroutine")
"""One of them stands in every head of a traceback: looked for first, since that is many times quicker."""
_DIFF_HEADS = ("--- ", "diff --git ", "Index: ")


class Stretch(NamedTuple):
    """Lines `start` up to `end` that are one kind of thing."""

    route: Route
    start: int
    end: int


def stretches(lines: Sequence[str]) -> list[Stretch]:
    """Cut a text into stretches: tracebacks and diffs stand for themselves, the rest is judged by a sample.

    They cover all lines, in order, without gaps.
    """
    found: list[Stretch] = []
    plain_from = 0
    whole = "\n".join(lines)
    words = [word for word in _TRACE_WORDS if word in whole]
    maybe = (i for i, line in enumerate(lines) if line.startswith(_DIFF_HEADS) or any(word in line for word in words))
    for i in maybe if words or any(head in whole for head in _DIFF_HEADS) else ():
        block = _block(lines, i) if i >= plain_from else None
        if block is None:
            continue
        if plain_from < i:
            found.append(Stretch(_judge(lines, plain_from, i), plain_from, i))
        found.append(block)
        plain_from = block.end
    if plain_from < len(lines):
        found.append(Stretch(_judge(lines, plain_from, len(lines)), plain_from, len(lines)))
    return found


def _block(lines: Sequence[str], i: int) -> Stretch | None:
    line = lines[i]
    if _TRACE_HEAD.match(line):
        return Stretch("traceback", i, _trace_end(lines, i))
    bare = line.startswith("--- ") and i + 1 < len(lines) and lines[i + 1].startswith("+++ ")
    if bare or line.startswith(("diff --git ", "Index: ")):
        return Stretch("diff", i, _diff_end(lines, i))
    return None


def _trace_end(lines: Sequence[str], i: int) -> int:
    """After the exception's own line: the first line at the head's depth that is no part of a frame."""
    depth = len(lines[i]) - len(lines[i].lstrip())
    for j in range(i + 1, len(lines)):
        line = lines[j]
        at_depth = line.strip() and len(line) - len(line.lstrip()) <= depth
        if at_depth and not any(_TRACE_HEAD.match(near) for near in lines[j : j + 5]):
            return j + 1
    return len(lines)


def _diff_end(lines: Sequence[str], i: int) -> int:
    j = i + 1
    while j < len(lines) and _DIFF_LINE.match(lines[j]) and not _COMMIT.match(lines[j]):
        j += 1
    return j


def _is_a_test_run(lines: Sequence[str], start: int, end: int) -> bool:
    """Whether it begins or ends as one, whatever its stories of failures look like."""
    edges = range(start, end) if end - start <= 2 * _EDGE else (*range(start, start + _EDGE), *range(end - _EDGE, end))
    return any(_RUN.match(lines[n]) for n in edges)


def _judge(lines: Sequence[str], start: int, end: int) -> Route:
    if _is_a_test_run(lines, start, end):
        return "test"
    return form_of(sample_of(lines, start, end))


__all__ = ["Stretch", "stretches"]
