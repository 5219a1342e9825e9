"""Logs and the output of builds: a line is a record, worth what its level says; what is indented stands under it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..records import Reading, Record
from . import tests, trace

LEVEL_CHARS = 160
"""The level stands at the beginning of a line; further on the same word is part of a message."""
FOREIGN_LINES = 3
"""So many lines without a mark between two log lines still belong to the log."""

_STAMP = re.compile(
    r"^\W{0,3}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,_]?\d\d[:.]?\d\d|\d\d:\d\d:\d\d\b"
    r"|[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d|\d\d/[A-Z][a-z]{2}/\d{4}"
    r"|[IWEF]\d{4} \d\d:\d\d:|\d\d[-/.]\d\d[-/.]\d{2,4} \d\d:\d\d)"
    r"|^\S{1,60} \S{1,60} \S{1,60} \[\d\d/[A-Z][a-z]{2}/\d{4}:"
)
_MARK = re.compile(
    r"^[^\w*]{0,3}(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)\b(?:\W|$)|^\s*(?:debug|info"
    r"|warn(?:ing)?|error|fatal|note|trace)(?:\[\w+\])?: "
    r"|^npm (?:ERR!|[Ww][Aa][Rr][Nn]|error|notice|verb|info) "
    r"|^\S.{0,300}?[:(]\d+[:,)]+(?:\d+[:)]*)?:? *(?:- )?(?:fatal )?(?:error|warning|note|info)\b"
    r"|^make(?:\[\d+\])?: |^(?:time|ts|level)=\S|^#\d+ (?:\[|DONE|CACHED|ERROR|\d)|^Step \d+/\d+ :|^> Task :"
)
_STEP = re.compile(
    r"^\s*(?:Compil|Build|Download|Install|Check|Collect|Fetch|Unpack|Preparing|Remov|Generat|Add|Updat|Link|Resolv"
    r"|Extract|Pull|Clon|Copy|Bundl|Transform"
    r"|Analyz|Running|Using|Creating|Applying)(?:ing|ed|ing:|e|es|s)?\b \S|^=+> |^> (?:@[\w-]+/)?[\w.-]+@\d\S* \w"
    r"|^(?:Get|Hit|Ign):\d+ |^Requirement already |^Setting up \S|^\[\s*\d+(?:/\d+|%)\]"
    r"|^\s*(?:gcc|g\+\+|cc|clang|ld|rustc|javac|tsc|vite|webpack|asset|modules|chunk|yarn|pnpm|remote:|Successfully"
    r"|Finished|Selecting|Processing|Reading|added)\b"
)
"""A step of a build; also how a sentence may begin, so that it wants a neighbour of its kind."""
_PROGRESS = re.compile(
    r"^\s*(?:Download(?:ing|ed)?|Fetching|Unpacking|Preparing to|Selecting prev|Reading (?:package|state|database)"
    r"|\(Reading|(?:Get|Hit|Ign):\d+|remote: (?:Count|Compress|Enum)"
    r"|Receiving|Resolving deltas|Unpacking objects|Extracting|Requirement already|\w{12}: (?:Pull|Wait|Down|Verif"
    r"|Extr|Already|Prep|Push|Layer)|Using cached"
    r"|transforming|rendering chunks)|[━█▓▒░▏▎▍▌▋▊▉⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]{2}|[=#]{4,}>|\d{1,3}%.*(?:\d[kKMG]i?B|ETA|it/s)"
    r"|\d{1,3}%\||^\s*\d{1,3}(?:\.\d+)?%\s*$"
)
VERDICT = re.compile(
    r"^\W{0,4}(?:(?:\[\w+\] )?BUILD (?:SUCCESS|FAIL)\w*|[Bb]uild (?:succeeded|failed|completed)|Successfully (?:built"
    r"|installed|created|updated|applied|wrote|written|edited|replaced"
    r"|uninstalled|copied|moved|deleted|tagged|rebased|removed|added)|Finished (?:`|dev|release|in )|(?:webpack|vite"
    r"|Next\S*) .{0,60}compiled|[Cc]ompiled (?:success|with)|Failed to \w"
    r"|[Cc]ompilation (?:failed|error)|make(?:\[\d+\])?: \*\*\*|Found \d+ (?:error|warning)|\d+ (?:error|warning"
    r"|problem)s?\b|added \d+ package|up to date|(?:Command |Process )?[Ee]xit(?:ed)? (?:code|status|with)"
    r"|Command (?:failed|exited|timed)|Error: (?:Process completed|Command)|fatal: "
    r"|(?:/?\S+: )?.{0,80}?(?:command not found|[Nn]o such file or directory|[Pp]ermission denied)$"
    r"|error: (?:could not|aborting|failed)|npm (?:ERR!|error) (?:code|errno)"
    r"|ELIFECYCLE|Done in [\d.]+|No (?:matches|files|results|changes|issues|errors)\b.{0,40}$|nothing to commit"
    r"|Everything up-to-date|All (?:checks|tests|files) (?:passed|pass)|(?:The )?[Ff]ile .{0,200}(?:has been|created"
    r"|updated|written|edited) ?\w*"
    r"|Text replaced|Your proposed edit has|\[?(?:The command|Process|Command) .{0,60}(?:exit|timed out|completed)"
    r"|Already (?:up.to.date|on|exists)|Segmentation fault|Killed|Aborted)"
)
"""How a command, an edit or a build went."""
_ERROR = re.compile(
    r"^Error\b.{0,60}: |\b(?:ERROR|FATAL|CRITICAL|SEVERE|EMERG|PANIC|FAILED)\b|\b(?:[Ee]rror"
    r"|[Ff]atal)(?:\[\w+\])?(?:: | TS\d| C\d)|\[(?:error|fatal|crit)\]|\blevel=\"?(?:error|fatal)|^E\d{4} "
    r"|npm (?:ERR!|error)"
    r"|\"level\": ?\"(?:error|fatal)"
)
_DETAIL = re.compile(r"npm (?:ERR!|error) (?:path|workspace|location|command|cwd|node|npm|A complete log|    |$)")
"""Of npm: where it failed, in the same words as what failed."""
_WARN = re.compile(
    r"\bWARN(?:ING)?\b|\b[Ww]arning(?:\[\w+\])?: |\[warn\w*\]|\blevel=\"?warn|^W\d{4} |npm warn|\" 5\d\d "
)
ADVICE = re.compile(
    r"\((?:use|commit or discard) \"?git .*\)$|no changes added to commit\b|nothing added to commit but\b"
    r"|run `npm fund`|\d+ packages? (?:is|are) looking for funding|npm notice\b"
    r"|\[notice\] (?:A new release of pip|To update, run)|WARNING: Running pip as"
    r"|Use `mix credo explain`|Please report incorrect results:"
    r"|Debugger (?:attached|listening)\b|Waiting for the debugger\b|For help,? see: https?://nodejs"
)
"""What programs say each time, whatever happened."""
_DEBUG = re.compile(r"\b(?:DEBUG|TRACE|VERBOSE)\b|^\W*(?:debug|trace)\b|\blevel=\"?(?:debug|trace)")
_WORD = re.compile(r"[^\W_]")
_BELOW = re.compile(r"^(?:\s+\S|\s*\d* ?[|│])")


def _is_line(line: str) -> bool:
    head = line[: LEVEL_CHARS * 2]
    return bool(_STAMP.match(head) or _MARK.match(head))


def _is_step(line: str) -> bool:
    head = line[:LEVEL_CHARS]
    return bool(_STEP.match(head) or _PROGRESS.search(head)) and len(line) <= LEVEL_CHARS * 2


def _others(lines: Sequence[str], i: int) -> bool:
    return trace.begins(lines, i) or tests.begins(lines, i)


def claims(lines: Sequence[str], start: int) -> int:
    """The end of the log that begins here: up to a traceback, a test run, or lines of another kind."""
    after = lines[start + 1] if start + 1 < len(lines) else ""
    if not lines[start].strip() or not (
        _is_line(lines[start]) or (_is_step(lines[start]) and (_is_step(after) or _is_line(after)))
    ):
        return start
    end = i = start + 1
    foreign = 0
    while i < len(lines) and foreign <= FOREIGN_LINES:
        line = lines[i]
        if (end == i and _BELOW.match(line)) or _is_line(line) or _is_step(line):
            if _others(lines, i) and not (end == i and trace.frame_worth(line)):
                break
            end, foreign = i + 1, 0
        elif _others(lines, i):
            break
        elif line.strip():
            foreign += 1
        i += 1
    return end


def verdict(text: str) -> Record:
    """A line that says how something went, or an error, or a plain one."""
    head = text[:LEVEL_CHARS]
    if _DETAIL.match(head):
        return Record(text, worth=1.5)
    if VERDICT.match(head):
        return Record(text, "outcome", 3.0)
    return Record(text, "error", 3.0) if _ERROR.search(head) else Record(text)


def judge(text: str) -> Record:
    """A line by itself: its kind and worth, told by verdict, level or progress."""
    head = text[:LEVEL_CHARS]
    if ADVICE.match(head):
        return Record(text, "noise", 0.0)
    if (record := verdict(text)).kind != "line":
        return record
    if _WARN.search(head):
        return Record(text, worth=1.5)
    if _PROGRESS.search(head) or not _WORD.search(head):
        return Record(text, "noise", 0.0)
    return Record(text, worth=0.5 if _DEBUG.search(head) or _STEP.match(head) else 1.0)


def read(lines: Sequence[str]) -> Reading:
    """A record a line; what is indented below a line stands under it and is worth less than it."""
    out: list[Record] = []
    head, margin = -1, 0
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if not (text := line.strip()):
            head = -1
            continue
        record = judge(text)
        record.at = i
        below = _BELOW.match(line) and (indent > margin or not _STEP.match(line))
        if head >= 0 and below and not _is_line(line) and record.kind != "outcome":
            record.under = head
            if frame := trace.frame_worth(line):
                record.kind, record.worth = "frame", min(frame, 1.0)
            else:
                record.worth = min(record.worth, max(0.5, out[head].worth - 1.0))
            if out[head].kind == "line":
                out[head].kind = "heading"
        else:
            head, margin = len(out), indent
        out.append(record)
    return Reading(out)
