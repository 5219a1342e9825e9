"""Runs of tests: totals first, then each failure with what was expected and where; what passed is noise."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Kind, Reading, Record
from . import trace

REACH = 400
"""So many lines without a mark of a test run may lie inside one: the code and output of a failure."""
SHOWN_FACTS = 6
"""The first facts of a failure say what went wrong; a long diff of values after them is detail."""

_TOTALS = re.compile(
    r"^=+ .*\b(?:passed|failed|errors?|skipped|no tests ran|deselected|warnings?)\b.* in [\d.:]+|^\d+ (?:passed"
    r"|failed|skipped|errors?)\b.* in [\d.:]+ ?s|^Ran \d+ tests? in "
    r"|^(?:OK|FAILED)(?: \(.*\))?$|^(?:PASS|FAIL)$|^\d+ (?:tests?|doctests?|properties|features?"
    r"|examples?)\b.* \d+ failures?|^\d+ (?:passing|failing)(?: \(.*\))?$|^(?:Tests|Test Suites):? +\d+ "
    r"|^Test Files +\d|^FAIL\t\S|^FAIL\s+\S+\s+(?:[\d.]+s|\[.*\])$|^test result: "
    r"|^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+$|^(?:\[\w+\] )?BUILD (?:SUCCESS|FAIL)\w*"
    r"|^\d+ tests? completed, \d+ failed|^# (?:tests|pass|fail|ok|Looks like)\b|^Result: (?:PASS|FAIL|NOTESTS)"
    r"|^Failed \d+/\d+ |^tests finished: \d+|^!+ .+ !+$"
    r"|^(?:error: )?test failed, to rerun|^error: \d+ targets? failed|^\d+ (?:tests?|specs?|assertions?),? .*\d+ fail"
    r"|^(?:Passed|Failed)! +- Failed: |^\d+ tests?, \d+ assertions|^(?:\d+ \w+, )?in [\d.]+ seconds$"
)
_HEAD = re.compile(
    r"^_{2,} .+ _{2,}$|^_{2,} .+:test\w* _*$|^(?:FAIL|ERROR): \S.*|^\d+\) \S|^● \S|^--- FAIL: "
    r"|^---- \S.* stdout ----$|^not ok \d+(?!.*# (?:TODO|SKIP))|.*<<< (?:FAILURE|ERROR)!"
    r"|^\S.* > \S.* FAILED$|^FAIL +\S.* > \S|^FAIL +\S+\.[cm]?[jt]sx?\b"
)
"""Names a test that failed."""
_SUMMARY = re.compile(
    r"^(?:FAILED|ERROR) +\S+(?:::| - |\.py\b)|^test \S+ \.\.\. FAILED$|^\S.* \.\.\. (?:FAIL|ERROR)\b"
    r"|^\[ERROR\] +\S+:\d+ |^[✕×✗] "
)
"""Names it again, often with what it said."""
_PASSED = re.compile(
    r"^(?:PASSED|XPASS|PASS|SKIPPED|XFAIL)\b|^=== (?:RUN|PAUSE|CONT|NAME)|^--- (?:PASS|SKIP): |^ok(?: \d+"
    r"|\s+\S+\s+(?:[\d.]+s|\(cached\)))|^\? +\S+ +\[no test files\]|^[✓✔√] "
    r"|.* \.\.\. (?:ok|skipped.*|ignored|expected failure)$|^\S+ \.\.\. ?ok$|^test\w* (?:ok|OK|[swXf])$|^ok$"
    r"|^(?:\[INFO\] )?(?:Running \S+\.\w+$|Tests run: .*)|^\S.* PASSED(?: +\[ *\d+%\])?$|^# Subtest: "
    r"|^test_\w+ \([\w.]+\)$"
)
_DOTS = re.compile(r"^(?=[^\n]*[.FEsxX])[.FEsxXRu\s·-]+(?:\[ *\d+%\])?$|^\S+\.\w{1,4} [.FEsxXRu\s]+(?:\[ *\d+%\])?$")
_FACT = re.compile(
    r"^E {2,}\S|^(?:Expected|Received|expected|got|actual|left|right|code|wanted|found|message|operator|at|location"
    r"|but was|have|want|exp|act)\b[^:]{0,40}: |^[ +-]{0,2}(?:Expected|Received|expected|actual) "
    r"|^\S{1,300}\.\w{1,5} ?:\d+(?::\d+)?(?::? [^i]|$)|^# \./\S+:\d+|^Assertion with|^Failure/Error:|^thread '"
    r"|^assertion |^(?:at|❯) \S+:\d+:\d+$|^(?:\w+\.)*\w*(?:Error|Exception|Failure)\b(?: \[\w+\])?(?::|$| at )"
    r"|^\*\* \(|^[-+] ?\S"
)
"""What was expected, what came, and where."""
_PLACE = re.compile(r"^\S{1,300}\.\w{1,5} ?:\d+:(?: in \S+)?$")
"""Of pytest: a place on the way to the failure."""
_SECTION = re.compile(r"^(?:=+|-+|⎯+) ?(.*?) ?(?:=+|-+|⎯+)$|^(?:failures|successes|Failures|Pending):?$")
_OPENING = re.compile(
    r"^\W*=+ test (?:session|process) starts =+|^\W*=+ (?:FAILURES|ERRORS|short test summary info"
    r"|warnings summary) =+|^Running ExUnit with seed|^running \d+ tests?$|^TAP version \d+"
    r"|^=== RUN +\w|^(?:\[INFO\])? *T E S T S$|^ *RUN +v\d|^(?:PASS|FAIL) +\S+\.[cm]?[jt]sx?\b"
    r"|^\S.{0,200} \([\w.]+\) \.\.\. (?:ok|FAIL|ERROR|skip)|^test \S{1,300} \.\.\. (?:ok|FAILED|ignored)$"
    r"|^test_\w+ \([\w.]+\)$|^PASSED \S+::|^1\.\.\d+$|^Run options: "
)
_STRONG = (_OPENING, _TOTALS, _HEAD, _SUMMARY)
_INSIDE = re.compile(
    r"^\d+\) |^(?:OK|PASS|FAIL|FAILED)$|^(?:\d+ \w+, )?in |^(?:\[\w+\] )?BUILD |^!+|^# |^Finished|^_{2,} |^[✕×✗] "
    r"|^(?:ERROR|FAIL): |^● "
)
"""Marks that mean nothing outside a run: they never open one."""
_TOLD = re.compile(r"^collected \d|\bseed\b|[Ww]arning: |\b(?:WARN|ERROR|FAILED|FAILURE|error:|wrong:)")
"""Outside a failure: what was run, how long, with which seed, and what was complained of."""
_TAIL = re.compile(r"^(?:Snapshots|Time|Duration|Start at|Ran all|Finished in|Failed examples|rspec \.|exit |\[INFO\])")
"""Stands after the totals, and ends what a failure says."""
_REPEATED = re.compile(r"^[✕×✗] |^test |.* \.\.\. |^FAIL +(?!.* > )|.*Tests run: ")
"""Names that come again, with more, as the head of the failure; and heads of whole files."""
_SUMMED = re.compile(r"\s*(?:FAILED|ERROR) +\S+(?:::| - )")
_OK_PACKAGE = re.compile(r"ok\s+\S+\s+(?:[\d.]+s|\(cached\))")
_EXPECTED = ("passes", "xpasses", "xfailures", "successes")
"""Sections in which nothing failed."""


def begins(lines: Sequence[str], i: int) -> bool:
    """Whether a test run begins here: a mark that other texts do not have, or dots over a rule."""
    text = lines[i].strip()
    if not text or len(text) > 1000:
        return False
    if _OPENING.match(text) or not _INSIDE.match(text) and any(mark.match(text) for mark in _STRONG):
        return True
    if text.startswith(("Failures:", "FAIL: ", "ERROR: ")) or set(text) == {"="} or len(text) > 2 and _DOTS.match(text):
        near = (line.strip() for line in lines[i + 1 : i + 5])
        return any(x.startswith(("FAIL: ", "ERROR: ", "Traceback ", "1) ")) or _TOTALS.match(x) for x in near)
    return False


def _marked(line: str) -> bool:
    text = line.strip()[:1000]
    return any(mark.match(text) for mark in _STRONG) or bool(_PASSED.match(text) or _TAIL.match(text))


def claims(lines: Sequence[str], start: int) -> int:
    """The end of the run that begins here: its last mark, or the end of what the last failure says."""
    if not begins(lines, start):
        return start
    end = i = start + 1
    while i < len(lines) and i - end <= REACH:
        if _marked(lines[i]):
            end = i + 1
        i += 1
    last = lines[end - 1].strip()
    told = _TOTALS.match(last) or _TAIL.match(last)
    while not told and end < len(lines) and (lines[end].strip() or "".join(lines[end + 1 : end + 2])[:1].isspace()):
        end += 1
    return end


def _outside(text: str, section: str) -> tuple[Kind, float]:
    """Kind and worth of a line that belongs to no failure."""
    if _DOTS.match(text):
        return ("line", 0.5) if re.search(r"[FE](?![a-z])", text) else ("noise", 0.0)
    if _OK_PACKAGE.match(text):
        return "outcome", 1.0
    if _PASSED.match(text):
        return ("noise", 0.0) if text.startswith("===") else ("line", 0.3)
    if re.match(r"\w+_test\.go:\d+: ", text):  # Go prints it before it says which test that was
        return "error", 2.0
    told = _TOLD.search(text) or _TAIL.match(text) or "warning" in section or "durations" in section
    return "line", 1.0 if told else 0.3 if section == "test session starts" else 0.5


def _traceback(lines: Sequence[str], i: int, head: int, out: list[Record]) -> int:
    """Read a traceback inside a failure; what has no place of its own there stands under the head. Returns the end."""
    end, first = trace.claims(lines, i), len(out)
    for record in trace.read(lines[i:end]).records:
        record.at += i
        record.under = record.under + first if record.under >= 0 else head
        out.append(record)
    return end


def read(lines: Sequence[str]) -> Reading:
    """Totals, failures with their facts, and the rest in order."""
    out: list[Record] = []
    summed = any(_SUMMED.match(line) for line in lines)
    head, section, facts, end = -1, "", 0, 0
    for i, line in enumerate(lines):
        text = line.strip()
        if not text or i < end:
            continue
        kind: Kind = "line"
        worth, leaves = 0.3, True
        if _TOTALS.match(text[:1000]):
            kind, worth = "outcome", 4.0
        elif _SUMMARY.match(text):
            kind, worth = "error", 2.0 if _REPEATED.match(text) else 4.0
        elif _HEAD.match(text) and section not in _EXPECTED:
            # where the runner repeats its failures in a line each, those say it: a head only stands over its facts
            kind, worth = "heading", 2.0 if summed and text[0] == "_" or _REPEATED.match(text) else 4.0
        elif not re.search(r"[^\W_]", text):
            kind, worth, leaves = "noise", 0.0, False
        elif (title := _SECTION.match(text)) and not text.startswith("-- "):
            name = (title.group(1) or text).lower()
            leaves = not name.startswith("captured")
            section = name if leaves else section
        elif head >= 0 and (trace.PYTHON_HEAD.search(text) or trace.PYTHON_FRAME.match(text)):
            end = _traceback(lines, i, head, out)
            continue
        elif head < 0 or any(mark.match(text) for mark in (_TAIL, _DOTS, _PASSED)):
            kind, worth = _outside(text, section)
            if not _TAIL.match(text):
                out.append(Record(text, kind, worth, at=i))
                continue
        else:
            fact, leaves = bool(_FACT.match(text)), False
            facts += fact
            frame = trace.place_worth(text) if _PLACE.match(text) else trace.frame_worth(line)
            worth = frame or (3.0 if fact and facts <= SHOWN_FACTS else 2.0 if text.startswith("> ") else 0.5)
            kind = "frame" if frame else "error" if fact else "line"
        head = -1 if leaves else head
        out.append(Record(text, kind, worth, head if kind != "noise" else -1, at=i))
        if kind == "heading":
            head, facts = len(out) - 1, 0
    return Reading(out)
