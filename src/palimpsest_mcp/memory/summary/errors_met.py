"""Errors that calls met, and whether a later result of the same call shows that they are gone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...models.summaries import ErrorMet
from .calls import BY_USER, Call
from .talk import Mask, ends_of, one_line

MAX_ERROR = 160
MAX_WHERE = 90
MAX_LOOKED_AT = 20_000
"""Characters of a quoted error line, and of the command beside it."""
MAX_LINE = 600
"""A longer line is data or minified code, and says nothing where there are others."""
_TYPED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Failure|Exit)(?::.*|\s*$)", re.MULTILINE)
_LOUD = re.compile(
    r"\b(?:error|errors|failed|failure|fatal|exception|panic|cannot|could not|not found|no such|denied|unable|refused|"
    r"invalid|undefined|unexpected|missing|conflict|timed out|timeout)\b|✗|×|\bE\d{3,}\b",
    re.IGNORECASE,
)
_CALM = re.compile(r"\b(?:0|no) (?:errors?|failures?|failed)\b|error handling", re.IGNORECASE)
_EXIT_LINE = re.compile(
    r"^\W*(?:command |the command |process )*(?:exited|finished|completed)?.{0,12}\bexit(?:ed)?\b", re.IGNORECASE
)
_LOOKS = re.compile(r"^(?:cd \S+ && )?(?:grep|rg|egrep|fgrep|ag|test|\[|diff|cmp|find|which|pgrep|git (?:grep|diff))\b")
_VIEWED = re.compile(
    r"(?:2>&1 {0,3})?\|\s{0,3}(?:head|tail|grep|egrep|rg|sed|awk|less|cat|wc|tee|sort|uniq)\b.*", re.DOTALL
)
EDITS = ("edit", "write")
GONE = {
    "run": "a later run of the same command shows no error",
    "read": "a later read of it worked",
    "write": "a later write to it worked",
    "edit": "a later edit of it worked",
}
OTHERWISE = "a later call of the same kind worked"
RESOLUTIONS = frozenset((*GONE.values(), OTHERWISE))
"""What code says of a resolved error; everything else is somebody's word."""


def errors_met(calls: Sequence[Call], mask: Mask) -> tuple[ErrorMet, ...]:
    """Every error in the order in which it came up; equal ones at one place count as one."""
    met: dict[tuple[str, str], ErrorMet] = {}
    good: dict[tuple[str, str, str], list[tuple[int, Call]]] = {}
    for number, call in enumerate(calls):
        if call.answered and not call.failed:
            good.setdefault(_subject(call), []).append((number, call))
    for number, call in enumerate(calls):
        if not call.failed or _nothing_found(call) or _stopped(call):
            continue
        text = mask(ends_of(call.text))
        line = error_line(text)
        where = one_line(mask(_viewless(call)), MAX_WHERE)
        where = f"{call.action.verb} refused: {where}" if call.action.verb in EDITS else where
        later = [other for at, other in good.get(_subject(call), ()) if at > number]
        resolution = _resolution(call, line, later)
        known = met.pop((line, where), None)
        met[line, where] = ErrorMet(
            error=line, where=where, resolution=resolution, times=known.times + 1 if known else 1
        )
    return tuple(one for one in met.values() if one.error)


def error_line(text: str) -> str:
    """The line that says what went wrong, verbatim: a typed error, else the first loud line, else the first one."""
    typed = _TYPED.findall(text)
    if typed:
        return one_line(typed[-1], MAX_ERROR)
    lines = [line for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if len(line) <= MAX_LINE] or lines
    loud = next((line for line in lines if _LOUD.search(line) and not _CALM.search(line)), None)
    plain = next((line for line in lines if not _EXIT_LINE.match(line) and "(no output)" not in line), None)
    return one_line(loud or plain or (lines[0] if lines else ""), MAX_ERROR)


def _viewless(call: Call) -> str:
    """Where a call looked or what it ran, without the pipes through which its output was viewed; else its tool."""
    target = call.action.target[:MAX_LOOKED_AT]
    return (_VIEWED.sub("", target).rstrip() if call.action.verb == "run" else target) or call.tool


def _subject(call: Call) -> tuple[str, str, str]:
    """What makes two calls the same: of a command all words but its options, of an edit its file."""
    verb = "edit" if call.action.verb == "write" else call.action.verb
    words = _viewless(call).split()
    if verb == "run":
        words = [word for word in words if not word.startswith("-") and not word.isdigit()]
    return call.agent, verb if verb != "other" else call.tool, " ".join(words)


def _stopped(call: Call) -> bool:
    """Whether a person stopped a call: no error. An edit that somebody rejected is told all the same: what it was to
    change is not changed."""
    return call.action.verb not in EDITS and BY_USER.search(call.text[-400:]) is not None


def _nothing_found(call: Call) -> bool:
    """A search that exits with 1 has found nothing: no error."""
    if call.action.verb != "run" or not _LOOKS.match(call.action.target.strip()):
        return False
    rest = [line for line in call.text.splitlines() if line.strip() and not _EXIT_LINE.match(line)]
    return not any(_LOUD.search(line) for line in rest)


def _resolution(call: Call, line: str, later: Sequence[Call]) -> str:
    for other in later:
        viewed = call.action.verb == "run" and _VIEWED.search(other.action.target) is not None
        shows_error = any(_LOUD.search(row) and not _CALM.search(row) for row in other.text.splitlines()[-200:])
        if line not in other.text and not (viewed and shows_error):
            return GONE.get(call.action.verb, OTHERWISE)
    return ""
