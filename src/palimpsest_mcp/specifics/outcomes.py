"""Whether the output of a call says that it failed, that it went well, or neither; and in which line."""

from __future__ import annotations

import re
from typing import Final

import msgspec

READ_CHARS: Final = 200_000
"""Of a longer output, the first and the last half of this are read: programs say what came of them at their end."""

_CODE = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: exit)?(?: (?:code|status))?|return(?:ed)?(?: with)?(?: exit)? (?:code|status)"
    r"|returncode|exit_code)[:=\"' ]{1,4}(\d{1,5})\b",
    re.IGNORECASE,
)
_FAILURES = re.compile(r"\b(\d{1,7}) (?:tests? |specs? |examples? )?(?:failed|failures?|failing)\b", re.IGNORECASE)
_ERRORS = re.compile(r"(?:^[ \t]*|[(,;:=] *|\bfound +|\bwith +)(\d{1,7}) (?:errors?|problems?)\b", re.IGNORECASE | re.M)
_WELL = re.compile(
    r"\b[1-9]\d{0,6} (?:tests? |specs? |examples? )?(?:passed|passing|ok)\b|\bBUILD SUCCESSFUL\b|\ball checks passed\b",
    re.IGNORECASE,
)
_RAISED = re.compile(
    r"^(?:E +)?(?:[A-Za-z_][\w.]{0,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit)(?::.*)?$", re.M
)
_BEGINS = re.compile(
    r"^[ \t>]{0,8}(?:(?:fatal|error|ERROR|FATAL|Error|panic|FAILED)\b[^\n:]{0,40}:"
    r"|npm (?:error|ERR!)|error\[E\d+\]|thread '[^'\n]{0,80}' panicked at)",
    re.M,
)
_INSIDE = re.compile(
    r"\berror TS\d+:|: (?:command not found|No such file or directory|[Pp]ermission denied|syntax error\b"
    r"|cannot (?:open|access|find)\b)"
)
_SUMMARY = re.compile(r"\b\d{1,7} (?:[a-z]+ )?(?:tests?|passed|failed|failures?|examples?|specs?)\b")


class Outcome(msgspec.Struct, frozen=True):
    """What an output says of itself."""

    failed: bool | None
    """None: it does not say."""
    line: str
    """The line that says so, without the blanks around it; empty where there is none."""


def outcome_of(text: str, *, is_error: bool = False) -> Outcome:
    """Read the output of a command.

    Structure comes before words: what the host marked as an error failed; then exit codes, counts of tests, raised
    exceptions, and lines that begin as errors do. `0 errors` is none. Linear in time.
    """
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
    codes = [int(found[1]) for found in _CODE.finditer(text)]
    counts = [one for pattern in (_FAILURES, _ERRORS) for one in pattern.finditer(text)]
    line = _raised(text) or _said(text)
    if is_error or line or any(codes) or any(int(one[1]) for one in counts):
        counted = next((_line_at(text, one.start(1)) for one in counts if int(one[1])), "")
        return Outcome(True, line or counted or _first_line(text))
    well = _WELL.search(text) or next(iter(counts), None) or _CODE.search(text)
    return Outcome(False, _line_at(text, well.end() - 1)) if well else Outcome(None, "")


def conclusion(text: str) -> str:
    """The line in which a run of tests says how it ended; empty where there is none."""
    text = text[-READ_CHARS // 2 :]
    last = None
    for last in _SUMMARY.finditer(text):
        pass
    return _line_at(text, last.start()) if last else ""


def _raised(text: str) -> str:
    """The last exception that was printed: of a chain, the one that came up."""
    line = ""
    for found in _RAISED.finditer(text):
        line = found[0]
    return line.strip()


def _said(text: str) -> str:
    """The first line that begins, or ends, as errors of programs do."""
    places = [found.end() - 1 for found in (_BEGINS.search(text), _INSIDE.search(text)) if found]
    return _line_at(text, min(places)) if places else ""


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[start : end if end >= 0 else len(text)].strip()


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


__all__ = ["READ_CHARS", "Outcome", "conclusion", "outcome_of"]
