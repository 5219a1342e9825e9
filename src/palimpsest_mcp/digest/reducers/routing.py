"""The forms that a text may have: how each is known, and what its lines tell. A new form is an entry in `_FORMS`.

Three are known before single lines are judged: tracebacks, diffs and runs of tests (`routing.py`). Two are read by more
than their lines: JSON by `json.py`, a whole web page by `html.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ..lines import Line, Place, Route, fits, sample_of
from .code import code_places, diff_places, is_code
from .config import is_tree, tree_places
from .prose import RULE, is_document, prose_gist, prose_places
from .runs import frames_of, history_gists, log_gist, search_gists, test_gist, trace_gists

Pattern: TypeAlias = Callable[[str], object]
Shape: TypeAlias = Callable[[Sequence[str]], list[Place]]
"""What the lines of a stretch tell, and which line each stands under."""

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
_FOLDER = re.compile(r"\S+:$|total \d+$")
_FEW_LINES = 3
"""Up to so many lines are no document only because they hold sentences: a row may hold one."""


def whole(lines: Sequence[Line]) -> Sequence[Line]:
    """All lines of a stretch can be rows."""
    return lines


class TextForm(NamedTuple):
    """One form of text."""

    name: Route
    known_by: tuple[tuple[Pattern, float], ...] = ()
    """Patterns, and the share of sampled lines that must fit one of them."""
    gist: Callable[[str], float] = prose_gist
    """What a line tells, 0 to 4."""
    gists: Callable[[Sequence[Line]], list[float]] | None = None
    """The same where it depends on the lines around."""
    shapes: tuple[tuple[Callable[[Sequence[str]], bool], Shape], ...] = ()
    """How its lines stand under each other: the first whose question is answered by yes, on a closer look."""
    rows: Callable[[Sequence[Line]], Sequence[Line]] | None = None
    """Which of its lines can be rows of a table; None where lines of one skeleton are an accident."""
    searched: bool = False
    """Each line begins with the file and the line that a search found."""
    headed: bool = False
    """Rows stand below the names of their columns."""

    def fits(self, sample: Sequence[str]) -> bool:
        """Whether a stretch with these lines is of this form."""
        return any(fits(sample, pattern, share) for pattern, share in self.known_by)

    def shape_of(self, texts: Sequence[str]) -> Shape | None:
        """How lines stand under each other; None where they do not."""
        return next((shape for asks, shape in self.shapes if asks(texts)), None)


def _is_row(line: str) -> object:
    """Between bars, or at least three commas, two tabs or two wide gaps."""
    if line.count(",") > 2 or line.count("\t") > 1:
        return True
    bare = line.strip()
    return (len(bare) > 1 and bare[0] == bare[-1] == "|") or ("   " in line and _COLUMNS.match(line))


def _table_gist(text: str) -> float:
    """Rows are equals; a ruled line says nothing."""
    return 0.0 if RULE.match(text) else 0.5


def _listing_gist(text: str) -> float:
    """Folders before the entries in them."""
    return 0.9 if _FOLDER.match(text) else 0.3


def _is_test(line: str) -> object:
    """Two words are looked for before a pattern that may stand anywhere in the line."""
    return _TEST.match(line) or (("... " in line or "ED" in line or "XFAIL" in line) and _TEST_INSIDE.search(line))


def _always(_: Sequence[str]) -> bool:
    return True


def _is_long_document(texts: Sequence[str]) -> bool:
    return len(texts) > _FEW_LINES and is_document(texts)


_LOGS = TextForm("log", ((_LOG.match, 0.4),), log_gist, rows=whole)
_PROSE = TextForm(
    "prose", shapes=((is_tree, tree_places), (is_document, prose_places), (is_code, code_places)), rows=whole
)
_FORMS = (
    TextForm("listing", ((_LISTING.match, 0.5),), _listing_gist, rows=whole),
    TextForm("search", ((_SEARCH.match, 0.6),), gists=search_gists, rows=whole, searched=True),
    TextForm("history", ((_COMMIT.match, 0.04), (_ONELINE.match, 0.7)), gists=history_gists),
    TextForm("test", ((_is_test, 0.25),), test_gist, rows=whole),
    _LOGS,
    TextForm("html", ((_HTML.search, 0.4),), shapes=((_always, tree_places),)),
    TextForm(
        "code",
        ((_NUMBERED.match, 0.8), (_CODE.match, 0.5)),
        shapes=((is_tree, tree_places), (_is_long_document, prose_places), (_always, code_places)),
    ),
    TextForm(
        "table", ((_is_row, 0.5),), _table_gist, shapes=((_is_long_document, prose_places),), rows=whole, headed=True
    ),
    _LOGS._replace(known_by=((_LOG.match, 0.25),)),
    TextForm("traceback", gists=trace_gists, rows=frames_of),
    TextForm("diff", shapes=((_always, diff_places),)),
    _PROSE,
)
"""Asked in this order: the more exact a form is, the earlier."""
FORMS: Mapping[Route, TextForm] = {form.name: form for form in _FORMS}


def form_of(sample: Sequence[str]) -> Route:
    """The form of a stretch with these lines, none of them blank; prose where no other fits."""
    return next((form for form in _FORMS if form.fits(sample)), _PROSE).name if sample else _PROSE.name


# What a text is, judged by its content: one route for the whole, or stretches of lines each with its own.


_TRACE_HEAD = re.compile(
    r"\s*(?:Traceback \(most recent call last\):|Exception in thread \"|thread '.*' panicked at"
    r"|goroutine \d+ \[|panic: )"
)
_DIFF_LINE = re.compile(
    r"[-+ @\\]|diff |index |new file|deleted file|rename |similarity |Binary files|old mode|new mode|$"
)

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
