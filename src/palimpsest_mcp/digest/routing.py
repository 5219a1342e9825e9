"""What a text is, judged by its content: one route for the whole, or stretches of lines each with its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .units import Route

_SAMPLE = 120
"""Lines looked at to judge a stretch: spread over it, never only its head."""

_TRACE_HEAD = re.compile(
    r"\s*(?:Traceback \(most recent call last\):|Exception in thread \"|thread '.*' panicked at"
    r"|goroutine \d+ \[|panic: )"
)
_DIFF_LINE = re.compile(
    r"[-+ @\\]|diff |index |new file|deleted file|rename |similarity |Binary files|old mode|new mode|$"
)
_COMMIT = re.compile(r"commit [0-9a-f]{7,64}\b")
_ONELINE = re.compile(r"[0-9a-f]{7,40} \S")
_LISTING = re.compile(
    r"[-dlcbps][-rwxsStT]{9}[.+@]? +\d+ \S+|total \d+$|(?:ii|rc|un|hi) +\S+ +\S+ +(?:all|amd64|arm64|i386)\b"
)
_SEARCH = re.compile(r"(?:[A-Za-z]:)?[^\s:=\"'<>(){}]+[./][^\s:\"'<>(){}]*[:-]\d+(?:[:-]|$)")
_LOG = re.compile(
    r"\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]|\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|\d+ (?:verbose|silly|http|info|warn|error|timing) |import time:|level="
    r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b)",
)
_TEST = re.compile(
    r"\s*+(?:(?:ok|not ok) \d+|--- (?:PASS|FAIL)|test .* \.\.\. |Ran \d+ tests?"
    r"|=+ .*(?:passed|failed|error|FAILURES|test session).*=+|test result:|Tests?: +\d+|[✓✗✔✘×] )"
)
_TEST_INSIDE = re.compile(r"\.\.\. (?:ok|FAIL|ERROR|skipped|expected failure)|\b(?:PASSED|FAILED|XFAIL|SKIPPED)\b")
_RUN = re.compile(
    r"\s*+(?:={3,} (?:test session|test process) starts =|={3,} .*\b\d+ (?:passed|failed|error).* in [\d.:]+"
    r"|Ran \d+ tests? in |tests finished: \d|test result: (?:ok|FAILED)|Tests: +\d+ (?:passed|failed)|Test Suites: \d)"
)
_EDGE = 30
"""Lines at each end of a stretch that are looked at for it."""
_NUMBERED = re.compile(r"\s*+\d+(?:\t|→|\| )|\s++\d+$")
_CODE = re.compile(
    r"\s*+(?:\d+(?:\t|→))?\s*+"
    r"(?:def |class |import |from \S+ import|return\b|else[:{ ]|elif |try:|except |async |await |raise |assert |self\."
    r"|(?:if|for|while|with) .*[:{]$|func |fn |pub |impl |use |package |struct |enum |const |let |var |function "
    r"|export |interface |type \w+ =|public |private |static |void |#include|#define|@\w+|[}\])]+[;,)]*$"
    r"|[\w.\[\]]+ [-+]?= \S|.*[;{]$|#|//|/\*|\*/?( |$)|\"\"\"|\S+\(.*\)[;:]?$)"
)
_HTML = re.compile(r"<(?:!doctype|html|head|body|div|span|p|a|li|ul|td|tr|script|meta|link|h[1-6])\b|</", re.IGNORECASE)
_COLUMNS = re.compile(r"\S.*\S {3,}\S.* {3,}\S")
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
    step = max(1, (end - start) // _SAMPLE)
    sample = [line for line in (lines[k][:400] for k in range(start, end, step)) if line.strip()]
    if not sample:
        return "prose"
    for route, pattern, share in _TESTS:
        if fits(sample, pattern, share):
            return route
    return "prose"


def fits(sample: Sequence[str], pattern: Callable[[str], object], share: float) -> bool:
    """Whether a pattern fits so many of the lines; no longer looked at than until that is known."""
    left = share * len(sample)
    spare = len(sample) - left
    for line in sample:
        if pattern(line):
            left -= 1
            if left <= 0:
                return True
        else:
            spare -= 1
            if spare < 0:
                return False
    return False


def _is_row(line: str) -> object:
    """Between bars, or at least three commas, two tabs or two wide gaps."""
    if line.count(",") > 2 or line.count("\t") > 1:
        return True
    bare = line.strip()
    return (len(bare) > 1 and bare[0] == bare[-1] == "|") or ("   " in line and _COLUMNS.match(line))


def _is_test(line: str) -> object:
    """Two words are looked for before a pattern that may stand anywhere in the line."""
    return _TEST.match(line) or (("... " in line or "ED" in line or "XFAIL" in line) and _TEST_INSIDE.search(line))


_TESTS: tuple[tuple[Route, Callable[[str], object], float], ...] = (
    ("listing", _LISTING.match, 0.5),
    ("search", _SEARCH.match, 0.6),
    ("history", _COMMIT.match, 0.04),
    ("history", _ONELINE.match, 0.7),
    ("test", _is_test, 0.25),
    ("log", _LOG.match, 0.4),
    ("html", _HTML.search, 0.4),
    ("code", _NUMBERED.match, 0.8),
    ("code", _CODE.match, 0.5),
    ("table", _is_row, 0.5),
    ("log", _LOG.match, 0.25),
)
"""Asked in this order; the share of sampled lines that must fit. The more exact a form is, the earlier it is asked."""


__all__ = ["Stretch", "fits", "stretches"]
