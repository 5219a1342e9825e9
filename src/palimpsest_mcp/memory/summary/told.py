"""How calls are told: what was called, with what, what came of it, and what edits and commands changed."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, cast

from ...models.text import counted
from ...text.specifics.vocabulary import outcome_of
from .calls import Call, is_act, is_check, strings
from .errors_met import (
    EDITS,
    error_line,
    found_nothing,
    is_look,
    is_stopped,
    names_error,
)
from .places import MAX_TEXT
from .quotes import CUT, MAX_MASKED, Mask, ends_of, one_line
from .todos import is_todo_tool
from .trail import changed_paths, edits_of, shell_acts, trail

MAX_COMMAND = 120
NOISE = re.compile(r"[ \t]*(?:Waiting for the debugger|Debugger (?:attached|listening)).*")
"""What runtimes print beside the output of a program."""
MAX_LINE = 160
KEPT_ACTIVITY = 8
_ANSWERED = re.compile(r"\s*User has answered your questions?\b")
_CHOSEN = re.compile(r'"="([^"\n]{1,300})"')
"""What a person chose of what a tool put before them: `"question"="answer"`."""
MOST_GIVEN = 16
"""Values of a call that names no target: all of what it was given, before the line is cut."""
MAX_NEWEST = 360
"""Characters of what came of the newest call: it is what the next step builds on."""
MOST_ROWS = 12
MAX_FIELDS = 230
_OUTCOME_FIELD = re.compile(
    r'"(?:status|state|outcome|success|amount|total(?:_(?:price|cost|amount|paid))?|refund(?:ed)?|balance)": '
    r'(?:"[^"\n]{1,60}"|-?\d[\d.]*|true|false)'
)
_FIELD = re.compile(r'"([A-Za-z][\w ]{0,40})": ?("(?:[^"\\]|\\.){0,60}"|-?\d+(?:\.\d+)?(?![\d.eE])|true|false|null)')
_NESTED = frozenset(("date", "amount", "status", "price"))
"""Fields of records inside a record that say something of it."""
_MADE_FILE = re.compile(
    r"\b(?:generated|created|saved|written|wrote|exported|rendered|downloaded|stored)\b[^\n]{0,80}?"
    r"\b(?:to|at|as|in|into)\b:?\s+['\"`]?((?:/|\./|~/|[A-Za-z]:\\)[^\s'\"`,;]+\.\w{1,8})\b",
    re.IGNORECASE,
)
"""How a program says where it put what it made."""
MAX_SAYS = 2_000
"""Characters at either end of a result in which a program says so."""
MOST_CHANGES = 3
_REMARK = re.compile(r"(?://|/\*|\*/?(?: |$)|<!--)")
MAX_ROW = 100
"""Characters of a line that an edit took out or brought in."""
EDIT = "edit of "
"""Begins the line that says what an edit changed."""
READ, NOT_FOUND = "files read: ", "looked for and not found: "
"""Begin what is told of a request for which nothing was changed."""
MOST_READ = 10
_NO_FILE = re.compile(r"\bdoes not exist\b|\bno such file\b|\bnot found\b|\bENOENT\b", re.IGNORECASE)
_NO_HIT = re.compile(r"\s*(?:no (?:files|matches|results) (?:were )?found|found 0 files)\W*$", re.IGNORECASE)
_FILE_NAME = re.compile(r"[\w-][\w.-]*\.\w{1,6}")
BY_COMMAND = "by a command (message "
"""Begins the line that says which files a command moved, deleted, wrote or edited."""
MOST_ACTS = 4
_PROSE = re.compile(r"\.(?:md|txt|rst|log|out)$", re.IGNORECASE)
"""Files that say something themselves; of others a place says more."""
FEW_ROWS = 3
"""So short a result is told whole."""
FOLDER = re.compile(r"^\s*cd (\S+)\s*(?:&&|;|\n)\s*")
_THINKS = re.compile(r"think|reason|reflect|^plan$", re.IGNORECASE)
"""Tools with which an agent only talks to itself."""
_PLACES = ("path", "file_path", "directory", "dir", "folder")
"""Arguments of a search that say where it looks."""


def is_thought(call: Call) -> bool:
    """Whether a call does nothing but note a thought."""
    return call.action.verb == "other" and _THINKS.search(call.tool) is not None


def since_said(message: int, calls: Sequence[Call]) -> str:
    """How many calls a message of the agent announced or was followed by, and how the newest came out; empty: none."""
    acts = (call for call in calls if not (call.agent or is_thought(call) or is_todo_tool(call.tool)))
    since = [call for call in acts if call.place[0] >= message - 1]
    if not since:
        return ""
    last = since[-1]
    good = last.answered and (not last.failed or found_nothing(last))
    shown = "names an error" if last.action.verb not in EDITS and names_error(last) else "went well"
    shown = (
        "only looked" if shown == "went well" and (is_look(last) or last.action.verb in ("read", "search")) else shown
    )
    shown = "found nothing" if found_nothing(last) else shown
    came = shown if good else "failed" if last.failed else "has no result yet"
    return f"before {counted(len(since), 'call')} ({'the newest' if len(since) > 1 else 'it'} {came})"


def made_files(call: Call) -> list[str]:
    """Files that a command says it made."""
    return _MADE_FILE.findall(_ends(call.text)) if call.action.verb == "run" and not call.failed else []


def _ends(text: str) -> str:
    return text if len(text) <= 2 * MAX_SAYS else f"{text[:MAX_SAYS]}\n{text[-MAX_SAYS:]}"


def changes_made(calls: Sequence[Call], mask: Mask) -> list[str]:
    """The last edits, each with the first line that it took out and that it brought in, and the last commands that
    moved, deleted or wrote files; what the newest call of all did is told with it."""
    last = next((call for call in reversed(calls) if is_told(call)), None)
    own = [call for call in calls if is_told(call) and call is not last]
    edits = [call for call in own if is_good_edit(call)][-MOST_CHANGES:]
    acts = [call for call in own if shell_acts(call)][-MOST_ACTS:]
    told: list[str] = []
    for call in sorted((*edits, *acts), key=lambda call: call.place):
        if call.action.verb == "run":
            told.append(f"{BY_COMMAND}{call.place[0] + 1}): {one_line(mask(shell_acts(call)), MAX_LINE)}")
        elif words := _changed_rows(call, mask):
            told.append(f"{EDIT}{mask(posixpath.basename(call.action.target))} (message {call.place[0] + 1}): {words}")
    return told


def _changed_rows(call: Call, mask: Mask) -> str:
    """The first line that an edit took out and the first that it brought in, and of how many: all lines that only one
    of both texts has, or has more often; what was only moved is none."""
    out: list[str] = []
    into: list[str] = []
    changed = 0
    for old, new in edits_of(call.args):
        lines, others = (Counter(map(str.strip, text.splitlines())) for text in (old, new))
        changed += (lines - others).total() + (others - lines).total()
        before, after = (
            [row.strip() for row in mask(ends_of(text)).splitlines() if _tells(row)] for text in (old, new)
        )
        known, brought = set(before), set(after)
        out += [row for row in before if row not in brought]
        into += [row for row in after if row not in known]
    first = (
        (sign, next((row for row in rows if not _REMARK.match(row)), *rows[:1]))
        for sign, rows in (("-", out), ("+", into))
        if rows
    )
    told = [f"{sign} {one_line(row, MAX_ROW)}" for sign, row in first]
    more = f" (of {counted(changed, 'changed line')})" if changed > len(told) else ""
    return " / ".join(told) + more


def files_read(calls: Sequence[Call]) -> list[str]:
    """Names of the files that calls read, each once, in order."""
    reads = (call for call in calls if call.action.verb == "read" and call.answered and not call.failed)
    paths = (call.action.target for call in reads if call.action.target and "://" not in call.action.target)
    return list(dict.fromkeys(map(posixpath.basename, paths)))


def files_missed(calls: Sequence[Call]) -> list[str]:
    """Names of files that calls looked for and did not find, and that no other call read or made."""
    found: dict[str, None] = {}
    for call in calls:
        if not call.answered or call.agent:
            continue
        missing = _NO_FILE.search(call.text[:MAX_LINE]) is not None
        if call.action.verb == "read" and call.failed and missing:
            found[posixpath.basename(call.action.target)] = None
        elif call.action.verb == "search" and _NO_HIT.match(call.text):
            given = (call.args.get(key) for key in ("pattern", "glob", "query"))
            sought = next((value for value in given if isinstance(value, str)), "")
            name = posixpath.basename(sought).lstrip("*")
            found |= {name: None} if _FILE_NAME.fullmatch(name) else {}
    there = {*files_read(calls), *(posixpath.basename(one.path) for one in trail(calls).files)}
    return [name for name in found if name not in there]


def looked_at(calls: Sequence[Call], mask: Mask) -> list[str]:
    """Where nothing was changed: which files were read, and which of those looked for were not found."""
    if trail(calls).files:
        return []
    told: list[str] = []
    for begins, names in ((READ, files_read(calls)), (NOT_FOUND, files_missed(calls))):
        more = f" and {len(names) - MOST_READ} more" if len(names) > MOST_READ else ""
        told += [f"{begins}{mask(', '.join(names[:MOST_READ]))}{more}"] if names else []
    return told


def newest_calls(calls: Sequence[Call], mask: Mask, number: int = KEPT_ACTIVITY) -> list[tuple[bool, str]]:
    """The newest calls with their messages and a line of what came of each, and whether it is the newest of all.
    Checks, todo lists and edits that worked, but for one that is the newest call, are told elsewhere; what a look
    showed of a file that was changed since is not told."""
    last = next((call for call in reversed(calls) if is_told(call)), None)
    rows = [(call, call is last) for call in _worth_telling(calls)[-number:]]
    return [(newest, call_line(call, mask, MAX_NEWEST if newest else MAX_LINE)) for call, newest in rows]


def _worth_telling(calls: Sequence[Call]) -> list[Call]:
    told: dict[tuple[str, str], Call] = {}
    own = [call for call in calls if is_told(call)]
    for at, call in enumerate(own):
        old = call is not own[-1] and (is_good_edit(call) or _is_overtaken(call, own[at + 1 :]))
        if not (runs_check(call) or old):
            key = call.tool, _given(call)
            told.pop(key, None)
            told[key] = call
    return list(told.values())


def is_told(call: Call) -> bool:
    return not (call.agent or is_todo_tool(call.tool) or is_thought(call))


def _is_overtaken(call: Call, later: Sequence[Call]) -> bool:
    """Whether a call looked at a file that was changed since: what it showed is no more."""
    if call.action.verb not in ("read", "search") and not is_look(call):
        return False
    words = call.action.target if call.action.verb == "run" else " ".join(strings(call.args)) or call.action.target
    return any(posixpath.basename(path) in words for path in changed_paths(later))


def is_done_act(call: Call) -> bool:
    """Whether a call booked, cancelled or sent something, and went through."""
    return is_act(call) and call.answered and not call.failed and not is_todo_tool(call.tool)


def is_good_edit(call: Call) -> bool:
    return call.action.verb in EDITS and call.answered and not call.failed


def _given(call: Call) -> str:
    """What a call is about, in the words of its arguments."""
    if call.action.verb == "run":
        return FOLDER.sub("", call.action.target)
    return call.action.target or ", ".join(dict.fromkeys(islice(strings(call.args), MOST_GIVEN)))


def runs_check(call: Call) -> bool:
    return call.action.verb == "run" and is_check(call.action.target)


def call_line(call: Call, mask: Mask, limit: int = MAX_LINE) -> str:
    """A call as a person reads it: what was called, with what, in which message, and what came of it.

    Args:
        limit: characters of what came of it.
    """
    return f"{named_call(call, mask)}: {_came(call, mask, limit)}"


def named_call(call: Call, mask: Mask) -> str:
    """What was called, with what, in which message."""
    what = one_line(mask(_given(call)[:4_000]), MAX_COMMAND).replace("`", "'")
    searched = one_line(mask(_searched(call)), MAX_ROW).replace("`", "'")
    place = f" in `{searched}`" if searched else ""
    return f"{call.tool or 'a tool'}{f' `{what}`' if what else ''}{place} (message {call.place[0] + 1})"


def _searched(call: Call) -> str:
    """Where a search looked, by the last two names of it: what is not in one file may be in the next."""
    if call.action.verb != "search":
        return ""
    path = next((one for name in _PLACES if isinstance(one := call.args.get(name), str)), "").rstrip("/")
    return "/".join(path.split("/")[-2:]) if path not in ("", ".", call.action.target) else ""


def _came(call: Call, mask: Mask, limit: int) -> str:
    """What came of a call, on one line; where there is room for more than a line, how its output begins."""
    if not call.answered:
        return "no result yet"
    text = mask(ends_of(call.text))
    if found_nothing(call):
        return "nothing was found"
    if call.failed:
        return "a person stopped it" if is_stopped(call) else f"failed: {error_line(text)}"
    if is_good_edit(call) and (changed := _changed_rows(call, mask)):
        return changed
    if chosen := _CHOSEN.findall(text) if _ANSWERED.match(text) else []:
        return one_line(f"the user answered: {'; '.join(chosen)}", limit)
    if (entries := _entries(text)) and limit <= MAX_LINE:
        return counted(entries, "entry")
    if entries:
        return one_line(f"{counted(entries, 'entry')}, beginning with {text.lstrip()[1:].lstrip()}", limit)
    if not is_act(call) and (told := _fields(text, call.args, max(limit, MAX_FIELDS))):
        return told
    rows = [row.strip() for row in text.splitlines() if _tells(row)]
    total = _line_count(call, rows)
    if total <= FEW_ROWS and len(text) > limit and (outcome := _outcome_fields(text, limit // 2)):
        return f"{one_line(text, limit - len(outcome) - 1)} {outcome}"
    if total <= FEW_ROWS:
        told = one_line(" / ".join(rows) or NOISE.sub("", text).strip(), limit)
        return told or ("no output of its own" if text.strip() else "no output")
    is_read = call.action.verb == "read" and "://" not in call.action.target
    if is_read and (limit <= MAX_LINE or not _PROSE.search(call.action.target)):
        return counted(len(call.text.splitlines()), "line")
    outcome = outcome_of(call.text).line if call.action.verb == "run" else ""
    begins = " / ".join(rows[:MOST_ROWS]) if limit > MAX_LINE else rows[0]
    line = outcome if outcome and any(outcome in row for row in rows) else begins
    return f"{one_line(line, limit)} (of {counted(len(call.text.splitlines()), 'line')})"


def _fields(text: str, args: Mapping[str, Any], limit: int) -> str:
    """Of an object that is longer than there is room for: its own fields, then dates and amounts in it, verbatim, with
    […] for the rest; without what the call was given, and names of other records. Empty: it is no such object."""
    if len(text) <= limit or len(text) > MAX_MASKED or not text.lstrip().startswith("{"):
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    whole = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    given = set(strings(args))
    first: list[re.Match[str]] = []
    later: list[re.Match[str]] = []
    seen: set[str] = set()
    for found in _FIELD.finditer(text):
        own = found[1] in whole and whole[found[1]] == json.loads(found[2])
        if found[0] in seen or found[1].endswith("_id") or (own and whole[found[1]] in given):
            continue
        seen.add(found[0])
        if own:
            first.append(found)
        elif found[1] in _NESTED:
            later.append(found)
    kept: list[re.Match[str]] = []
    for found in (*first, *later):
        if len(_joined(text, [*kept, found])) <= limit:
            kept.append(found)
    return _joined(text, kept) if len(kept) > 1 else ""


def _joined(text: str, kept: Sequence[re.Match[str]]) -> str:
    """Fields of an object in their order, with […] where something stands between them."""
    told, end = "", 0
    for found in sorted(kept, key=lambda found: found.start()):
        gap = text[end : found.start()].strip(" \n\t,{")
        told += (f"{CUT} " if gap else ", ") + found[0] if told else found[0]
        end = found.end()
    return told + CUT if text[end:].strip(" \n\t}") else told


def _outcome_fields(text: str, limit: int) -> str:
    """Of an object on one line: its newest fields that say what came of a call, verbatim, with […] between them."""
    told = ""
    for found in reversed(list(_OUTCOME_FIELD.finditer(text)) if text.lstrip().startswith("{") else []):
        if len(more := f"{found[0]}{CUT} {told}" if told else found[0]) > limit:
            break
        told = more
    return told


def _line_count(call: Call, rows: Sequence[str]) -> int:
    """How many lines a result has: of a long one `rows` are those of its ends, which are all that is masked."""
    return len(rows) if len(call.text) <= MAX_MASKED else sum(map(_tells, call.text.splitlines()))


def _tells(row: str) -> bool:
    """Whether a line of an output says something."""
    return any(map(str.isalnum, row)) and NOISE.match(row) is None


def _entries(text: str) -> int:
    """Of a result that is a list of several entries: how many; what one line shows of it is only the first."""
    if not text.lstrip().startswith("[") or len(text) > MAX_TEXT:
        return 0
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return 0
    return len(cast("list[Any]", value)) if isinstance(value, list) and len(cast("list[Any]", value)) > 1 else 0
