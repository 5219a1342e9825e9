"""What a handoff takes from a session's items beside the summary: no model, nothing invented, masked before cut."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, cast

import msgspec

from ...models.items import Item
from ...models.summaries import ErrorMet, Ran, Said, SessionFacts
from ...models.text import counted
from ...text.specifics.vocabulary import outcome_of
from .calls import Call, calls_of, is_act, is_check, strings
from .errors_met import (
    EDITS,
    MADE_COMMIT,
    checked_by_hook,
    error_line,
    finds,
    folder_of,
    found_nothing,
    is_look,
    is_stopped,
    names_error,
    programs,
    same_but_numbers,
    shows_error,
)
from .orders import subject_words
from .talk import (
    CUT,
    MAX_MASKED,
    Mask,
    asks,
    ended_in,
    ends_of,
    first_request,
    go_ahead_of,
    heard,
    is_unanswered,
    newest_said,
    not_answered,
    one_line,
    open_questions,
    replies_of,
    reports_of,
    requests_of,
    spoken,
)
from .todos import is_todo_tool, todos_of
from .trail import changed_paths, changes_by_shell, edits_of, trail

# Where in its files a session worked: line ranges from reads, and from edits located in what was read.

KEPT = 4
"""Newest ranges of a file."""
NEAR = 4
"""Ranges so few lines apart are one."""
MAX_TEXT = 1_000_000
"""A longer file is not followed."""
_SHELL_VIEW = re.compile(r"\bsed -n ['\"]?(\d{1,7}),(\d{1,7})p['\"]? (?!-)(\S+)")
_NUMBERED = re.compile(r"^[ ]*(\d{1,7})(?:→|\t|: |\| )", re.MULTILINE)
_STARTS = ("offset", "start_line", "startLine", "line_start")
_ENDS = ("end_line", "endLine", "line_end")
_CONTENTS = ("content", "file_text", "text")
_REMINDER = re.compile(
    r"\n+(?:<system-reminder>|\[\d+ more lines?|\[Showing lines|\.\.\. \(\d+ more lines).*", re.DOTALL
)


class _File:
    """What is known of one file: a stretch of its text as of now, and ranges in it."""

    def __init__(self) -> None:
        self.start = 1
        self.text: str | None = None
        self.edited: list[tuple[int, int]] = []
        self.read: list[tuple[int, int]] = []

    def see(self, start: int, text: str, *, whole: bool) -> None:
        """A read of the file from a line on."""
        if len(text) <= MAX_TEXT and (whole or self.text is None or self.start > 1 or self.text == ""):
            self.start, self.text = start, text
        if not whole:
            _add(self.read, start, start + text.count("\n"))

    def edit(self, old: str, new: str) -> bool:
        """Follow a replacement; False where the old text is not in what is known."""
        place = self.text.find(old) if self.text is not None and old else -1
        if place < 0 or self.text is None:
            return False
        first = self.start + self.text.count("\n", 0, place)
        last, more = first + old.count("\n"), new.count("\n") - old.count("\n")
        self.text = self.text[:place] + new + self.text[place + len(old) :]
        for ranges in (self.edited, self.read):
            ranges[:] = [(a + more, b + more) if a > last else (a, b) for a, b in ranges]
        _add(self.edited, first, first + new.count("\n"))
        return True


def line_ranges(calls: Sequence[Call]) -> dict[str, str]:
    """Path -> where it was edited, else which parts of it were read; files that were only read as a whole have none."""
    files: dict[str, _File] = {}
    for call in calls:
        if not call.failed and call.answered:
            _follow(call, files)
    words = {path: _words(one.edited or one.read) for path, one in files.items()}
    return {path: text for path, text in words.items() if text}


def _follow(call: Call, files: dict[str, _File]) -> None:
    verb, path = call.action.verb, call.action.target
    if verb == "run":
        for first, last, name in _SHELL_VIEW.findall(path[:2_000]):
            _add(files.setdefault(name.strip("'\""), _File()).read, int(first), int(last))
    elif not path:
        return
    elif verb == "read":
        _see(call, files.setdefault(path, _File()))
    elif verb == "write":
        text = next((value for key in _CONTENTS if isinstance(value := call.args.get(key), str)), None)
        one = files[path] = _File()
        one.text = text if text is not None and len(text) <= MAX_TEXT else None
    elif verb == "edit":
        one = files.setdefault(path, _File())
        for old, new in edits_of(call.args):
            if not one.edit(old, new):
                numbers = [int(number) for number in _NUMBERED.findall(call.text)]
                if len(numbers) > 1:
                    _add(one.edited, numbers[0], numbers[-1])


def _see(call: Call, one: _File) -> None:
    text = _REMINDER.sub("", call.text[:MAX_TEXT])
    numbers = _NUMBERED.findall(text)
    first, last = _asked(call.args)
    if len(numbers) > text.count("\n") // 2:
        text, start = _NUMBERED.sub("", text), int(numbers[0])
    else:
        start = first or 1
    one.see(start, text, whole=first in (None, 0, 1) and last is None)


def _asked(args: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """First line and end that a read asked for; None where it asked for neither."""
    span = args.get("view_range")
    if isinstance(span, list) and len(span) == 2 and all(isinstance(n, int) for n in span):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return int(span[0]), int(span[1])  # pyright: ignore[reportUnknownArgumentType]
    return _number(args, _STARTS), _number(args, (*_ENDS, "limit"))


def _number(args: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    found = next((args[key] for key in keys if isinstance(args.get(key), int)), None)
    return found if found is None or 0 <= found < 10_000_000 else None


def _add(ranges: list[tuple[int, int]], first: int, last: int) -> None:
    """The range, joined with those it touches, as the newest."""
    apart: list[tuple[int, int]] = []
    for a, b in ranges:
        if b + NEAR < first or last + NEAR < a:
            apart.append((a, b))
        else:
            first, last = min(a, first), max(b, last)
    ranges[:] = [*apart, (first, last)]


def _words(ranges: Sequence[tuple[int, int]]) -> str:
    newest = sorted(ranges[-KEPT:])
    words = ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in newest)
    return words + (f" and {len(ranges) - KEPT} more" if len(ranges) > KEPT else "")


MAX_COMMAND = 120
_RULES = "=-─━ \t"
"""What programs draw beside their words."""
_NOISE = re.compile(r"[ \t]*(?:Waiting for the debugger|Debugger (?:attached|listening)).*")
"""What runtimes print beside the output of a program."""
MAX_LINE = 160
KEPT_RUNS = 6
KEPT_READ = 40
KEPT_ACTIVITY = 4
_ANSWERED = re.compile(r"\s*User has answered your questions?\b")
_CHOSEN = re.compile(r'"="([^"\n]{1,300})"')
"""What a person chose of what a tool put before them: `"question"="answer"`."""
MOST_GIVEN = 16
"""Values of a call that names no target: all of what it was given, before the line is cut."""
MAX_NEWEST = 360
"""Characters of what came of the newest call: it is what the next step builds on."""
MOST_ROWS = 12
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b|\b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{6}\b")
_AMOUNT = re.compile(r"[$€£¥]\s?\d[\d,.]*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CODE = re.compile(r"\b(?=[A-Z\d]*\d)(?=\d*[A-Z])[A-Z\d]{5,12}\b")
"""A code by which a service names a thing, such as a booking."""
_NUMBER = re.compile(r"(?<![\w.])\d{2,9}(?:\.\d+)?(?![\w])")
_OUTCOME_FIELD = re.compile(
    r'"(?:status|state|outcome|success|amount|total(?:_(?:price|cost|amount|paid))?|refund(?:ed)?|balance)": '
    r'(?:"[^"\n]{1,60}"|-?\d[\d.]*|true|false)'
)
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
_PROSE = re.compile(r"\.(?:md|txt|rst|log|out)$", re.IGNORECASE)
"""Files that say something themselves; of others a place says more."""
FEW_ROWS = 3
"""So short a result is told whole."""
_VIEW = re.compile(r"\s*(?:2>&1)?\s*\|\s*(?:head|tail|grep|rg|sed|awk|less|cat|tee|sort|uniq|wc)\b.*", re.DOTALL)
_FOLDER = re.compile(r"^\s*cd (\S+)\s*(?:&&|;|\n)\s*")
_THINKS = re.compile(r"think|reason|reflect|^plan$", re.IGNORECASE)
"""Tools with which an agent only talks to itself."""
_AGENTS = re.compile(r"(?:Task|Agent|dispatch_agent|spawn_agent|delegate\w*)$")
_SKILLS = re.compile(r"(?:Skill|use_skill|load_skill)$")
_SKILL_FILE = re.compile(r"([^/\\]+)[/\\]SKILL\.md$")
MOST_NAMES = 3
"""Files that one line names."""
_IN_FILE = re.compile(r"\W*([\w@./-]+\.\w{1,6})[:(]\d+")
"""How checkers begin the line of what they found."""
_COMMIT = re.compile(r"\bgit (?:\S+ )*commit\b")


def facts_of(items: Sequence[Item], mask: Mask) -> SessionFacts:
    """What the items say.

    Args:
        items: every item ever seen, also what left the context since, in the host's order.
        mask: masks secrets; every quoted text goes through it before it is cut.
    """
    calls = calls_of(items)
    changed = {one.path for one in trail(calls).files}
    requests = requests_of(items, mask)
    for_it = [call for call in calls if not requests or call.place[0] >= requests[-1].message]
    pending = not_answered(items, mask) if requests and asks(requests[-1].text) else ""
    return SessionFacts(
        first=first_request(items, mask),
        shell_changed_last=_shell_changed_last(calls),
        requests=(*_in_force(requests[:-1], items, calls), *requests[-1:]),
        go_ahead=go_ahead_of(items, mask),
        came_since=max(0, sum(1 for _ in spoken(items, "user")) - 1),
        replies=_in_force(replies_of(items, mask), items, calls),
        chosen=_chosen_last(items, calls, mask),
        reports=_not_told_anew(_with_edits(reports_of(items, calls, mask), calls, mask), calls),
        last_said=(said := newest_said(items, mask)),
        since_said=since_said(said.message, calls) if said is not None else "",
        questions=(*([f"The user's {pending}."] if pending else []), *open_questions(items, mask)),
        unanswered=is_unanswered(items) and not ended_in(items),
        lines={mask(path): words for path, words in line_ranges(calls).items()},
        changed=tuple(map(mask, changed_paths(calls))),
        read=_read(calls, changed, mask),
        runs=runs_of(calls, mask),
        acts=tuple(call_line(call, mask) for call in calls if is_done_act(call)),
        finished=todos_of(calls, mask).finished,
        activity=_activity(for_it, mask),
        calls_made=sum(map(_is_told, for_it)),
        agents=_started(calls, _AGENTS, ("subagent_type", "agent_type", "agent"), mask),
        skills=_skills(calls, mask),
        items=len(items),
    )


def _read(calls: Sequence[Call], changed: set[str], mask: Mask) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for call in calls:
        target = call.action.target
        if call.action.verb == "read" and target and not call.failed and target not in changed:
            found.pop(target, None)
            found[target] = None
    return tuple(one_line(mask(path), MAX_LINE) for path in list(found)[-KEPT_READ:])


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
    came = shown if good else "failed" if last.failed else "has no result yet"
    return f"before {counted(len(since), 'call')} ({'the newest' if len(since) > 1 else 'it'} {came})"


def _chosen_last(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> Said | None:
    """What the user chose of what a tool put before them, where no message of the user is newer."""
    newest = max(heard(items, calls, mask), default=None)
    written = max((item.position[0] + 1 for item, _ in spoken(items, "user")), default=0)
    return Said(message=newest[0], text=newest[1]) if newest is not None and newest[0] > written else None


def _with_edits(reports: Sequence[Said], calls: Sequence[Call], mask: Mask) -> tuple[Said, ...]:
    """Reports of the agent, each with the files that were changed since the one before it, and again after it."""
    starts = [0, *(one.message for one in reports)]
    return tuple(_outdated(one, start, calls, mask) for one, start in zip(reports, starts, strict=False))


def _in_force(said: Sequence[Said], items: Sequence[Item], calls: Sequence[Call]) -> tuple[Said, ...]:
    """What the user said, without what a later message of the user gives another value for."""
    later = [(item.position[0] + 1, text) for item, text in spoken(items, "user")]
    return tuple(
        _with_acts(one, calls)
        for one in said
        if not any(row > one.message and _gives_another_value(text, one.text, 2) for row, text in later)
    )


def _not_told_anew(reports: Sequence[Said], calls: Sequence[Call]) -> tuple[Said, ...]:
    """Reports of the agent, without those whose amounts a later one states anew."""
    return tuple(
        _with_acts(one, calls)
        for at, one in enumerate(reports)
        if not any(
            _gives_another_value(other.text, one.text, len(subject_words(one.text)) // 2) for other in reports[at + 1 :]
        )
    )


def _gives_another_value(new: str, old: str, least: int) -> bool:
    """Whether two texts about one thing, by so many of their words, have no value of a kind in common."""
    for kind in (_COLOUR, _AMOUNT):
        first, second = ({one.lower().strip("#. ") for one in kind.findall(text)} for text in (new, old))
        is_all = len(second) == 1  # of several values a later message gives another one for some, and the rest holds
        if first and second and is_all and not first & second and len(_subject(new) & _subject(old)) >= max(2, least):
            return True
    return False


def _subject(text: str) -> frozenset[str]:
    """What a text is about, names like `mdLink` as their words."""
    return subject_words(_COLOUR.sub(" ", _CAMEL.sub(" ", text)))


def _with_acts(one: Said, calls: Sequence[Call]) -> Said:
    """A statement with calls after it that changed what it names by its code, or were refused with a number of it."""
    told: list[str] = []
    names, numbers = set(_CODE.findall(one.text)), set(_NUMBER.findall(one.text))
    for call in calls:
        if call.place[0] < one.message or not is_act(call) or not call.answered:
            continue
        row = f"{call.tool} (message {call.place[0] + 1})"
        if call.failed and len(call.text) <= MAX_NEWEST:
            refused = set(_NUMBER.findall(call.text))
            told += [f"{row} was refused"] if refused & numbers and refused - numbers else []
        elif not call.failed and (about := sorted(names & set(_CODE.findall(" ".join(strings(call.args)))))):
            told.append(f"{row} went through for {', '.join(about[:MOST_NAMES])}")
    return msgspec.structs.replace(one, acts_since="; ".join(told[-MOST_NAMES:])) if told else one


def _outdated(one: Said, start: int, calls: Sequence[Call], mask: Mask) -> Said:
    before = [call for call in calls if start <= call.place[0] < one.message]
    after = [call for call in calls if call.place[0] >= one.message - 1]
    again = set(changed_paths(after))
    paths = changed_paths(after if one.announces else before)
    names = [posixpath.basename(path) for path in paths if path in again]
    if not names:
        return one
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    made = [call.place[0] + 1 for call in after if _COMMIT.search(call.action.target) and MADE_COMMIT.search(call.text)]
    commit = f"; committed in message {made[-1]}" if made else ""
    return msgspec.structs.replace(one, changed_since=mask(", ".join(names[-MOST_NAMES:])) + more + commit)


def _skills(calls: Sequence[Call], mask: Mask) -> tuple[str, ...]:
    """Skills that calls started, and those whose instructions were read."""
    started = _started(calls, _SKILLS, ("skill", "skill_name", "command", "name"), mask)
    read = (_SKILL_FILE.search(call.action.target) for call in calls if call.action.verb == "read" and not call.failed)
    named = (one_line(mask(found[1]), MAX_COMMAND) for found in read if found)
    return tuple(dict.fromkeys((*started, *(f"{name} (its instructions were read)" for name in named))))


def _started(calls: Sequence[Call], tools: re.Pattern[str], names: Sequence[str], mask: Mask) -> tuple[str, ...]:
    """Agents or skills that calls started, each once: its name, and what it was for."""
    found: dict[str, None] = {}
    for call in calls:
        if tools.match(call.tool):
            named = next((value for key in names if isinstance(value := call.args.get(key), str) and value), "")
            what = call.args.get("description")
            words = ": ".join(
                one_line(mask(word), MAX_COMMAND) for word in (named, what) if isinstance(word, str) and word
            )
            if words:
                found[words] = None
    return tuple(found)


def runs_of(calls: Sequence[Call], mask: Mask) -> tuple[Ran, ...]:
    """The newest run of each command that checks something, newest last."""
    found: dict[tuple[str, str], Ran] = {}
    rows: dict[tuple[str, str], int] = {}
    for number, call in enumerate(calls):
        command = call.action.target
        if not (call.answered and _is_check(call)) or _COMMIT.search(command) or is_stopped(call):
            continue
        shown = one_line(_VIEW.sub("", _FOLDER.sub("", mask(command[:4_000]))), MAX_COMMAND)
        outcome = outcome_of(call.text)
        failed = True if call.failed else outcome.failed
        key = shown, folder_of(command)
        found.pop(key, None)
        found[key] = Ran(
            command=shown,
            failed=failed,
            line=_telling_line(call.text, outcome.line, mask),
            message=call.place[0] + 1,
            clean=not finds(call),
            placed=not shows_error(call),
            viewed=_VIEW.search(command) is not None,
        )
        rows[key] = number
    kept: list[tuple[str, Ran]] = []
    for (shown, folder), one in found.items():
        if one.placed and _is_seen_gone(one.line, calls[rows[shown, folder] + 1 :]):
            continue
        hooks = [number for number, call in enumerate(calls) if number > rows[shown, folder] and checked_by_hook(call)]
        later = calls[max((rows[shown, folder], *hooks)) + 1 :]
        edited, by_shell = len(changed_paths(later)), sum(map(changes_by_shell, later))
        hook = calls[hooks[-1]].place[0] + 1 if hooks else 0
        kept.append((folder, msgspec.structs.replace(one, edited_since=edited, shell_since=by_shell, hook=hook)))
    newest = [pair for at, pair in enumerate(kept) if not _is_run_anew(pair[1], [one for _, one in kept[at + 1 :]])]
    twice = Counter(one.command for _, one in newest)
    return tuple(
        msgspec.structs.replace(one, command=mask(f"cd {folder} && {one.command}"))
        if folder and twice[one.command] > 1
        else one
        for folder, one in newest
    )[-KEPT_RUNS:]


def _is_run_anew(one: Ran, later: Sequence[Ran]) -> bool:
    """Whether a run that is older than some edits was followed by one of all that the same program checks."""
    names = set(programs(one.command))
    if any(other.command.startswith(f"{one.command} -") for other in later):  # the same with options more
        return True
    return one.edited_since + one.shell_since > 0 and any(names <= set(ran) for ran in map(programs, _whole(later)))


def _is_seen_gone(line: str, later: Sequence[Call]) -> bool:
    """Whether the file of what a check found was edited since, and a later check, or a commit that a hook checks, names
    places in files, and this one no more."""
    found = _IN_FILE.match(line)
    edited = False
    for call in later if found else ():
        if found and _is_good_edit(call):
            edited = edited or call.action.target.endswith(found[1])
            continue
        checks = call.answered and (_is_check(call) or _COMMIT.search(call.action.target) is not None)
        if edited and checks and finds(call) and not same_but_numbers(line, call.text):
            return True
    return False


def _whole(runs: Sequence[Ran]) -> list[str]:
    """Commands that name nothing of what they check."""
    return [one.command for one in runs if not any(programs(one.command).values())]


def still_standing(runs: Sequence[Ran], errors: Sequence[ErrorMet]) -> list[Ran]:
    """Runs without those that failed and whose errors are all seen resolved since."""
    open_ones = {one.where for one in errors if not one.resolution}
    settled = {one.where for one in errors if one.resolution} - open_ones
    return [one for one in runs if not (one.failed and any(_same_command(one.command, where) for where in settled))]


def _same_command(command: str, where: str) -> bool:
    return command.startswith(where.removesuffix(CUT)) if where.endswith(CUT) else command == where


def _telling_line(text: str, line: str, mask: Mask) -> str:
    """The line of an output that says what came of it, else its last one; masked as part of the whole."""
    masked = mask(ends_of(text)).splitlines()
    if not line or not any(line in row for row in masked):
        line = next((row for row in reversed(masked) if row.strip(_RULES) and not _NOISE.match(row)), "")
    if line.rstrip().endswith(":"):  # a heading: a place beside it says more
        line = next((row for row in reversed(masked) if _IN_FILE.match(row)), line)
    return one_line(line.strip(_RULES), MAX_LINE)


def made_files(call: Call) -> list[str]:
    """Files that a command says it made."""
    return _MADE_FILE.findall(_ends(call.text)) if call.action.verb == "run" and not call.failed else []


def _ends(text: str) -> str:
    return text if len(text) <= 2 * MAX_SAYS else f"{text[:MAX_SAYS]}\n{text[-MAX_SAYS:]}"


def changes_made(calls: Sequence[Call], mask: Mask) -> list[str]:
    """The last edits, each with the first line that it took out and that it brought in; what the newest call of all did
    is told with it."""
    last = next((call for call in reversed(calls) if _is_told(call)), None)
    edits = [call for call in calls if _is_good_edit(call) and call is not last]
    rows = ((call, _changed_rows(call, mask)) for call in edits[-MOST_CHANGES:])
    return [
        f"{EDIT}{mask(posixpath.basename(call.action.target))} (message {call.place[0] + 1}): {words}"
        for call, words in rows
        if words
    ]


def _changed_rows(call: Call, mask: Mask) -> str:
    """The first line that an edit took out and the first that it brought in, and of how many."""
    out: list[str] = []
    into: list[str] = []
    for old, new in edits_of(call.args):
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
    more = f" (of {counted(len(out) + len(into), 'changed line')})" if len(out) + len(into) > len(told) else ""
    return " / ".join(told) + more


def newest_calls(calls: Sequence[Call], mask: Mask, number: int = KEPT_ACTIVITY) -> list[tuple[bool, str]]:
    """The newest calls with their messages and a line of what came of each, and whether it is the newest of all.
    Checks, todo lists and edits that worked, but for one that is the newest call, are told elsewhere; what a look
    showed of a file that was changed since is not told."""
    last = next((call for call in reversed(calls) if _is_told(call)), None)
    rows = [(call, call is last) for call in _worth_telling(calls)[-number:]]
    return [(newest, call_line(call, mask, MAX_NEWEST if newest else MAX_LINE)) for call, newest in rows]


def _worth_telling(calls: Sequence[Call]) -> list[Call]:
    told: dict[tuple[str, str], Call] = {}
    own = [call for call in calls if _is_told(call)]
    for at, call in enumerate(own):
        old = call is not own[-1] and (_is_good_edit(call) or _is_overtaken(call, own[at + 1 :]))
        if not (_is_check(call) or old):
            key = call.tool, _given(call)
            told.pop(key, None)
            told[key] = call
    return list(told.values())


def _activity(calls: Sequence[Call], mask: Mask) -> tuple[str, ...]:
    """The newest of the calls that were made for the newest request."""
    return tuple(f"{'Newest' if newest else 'Earlier'} call: {row}" for newest, row in newest_calls(calls, mask))


def _shell_changed_last(calls: Sequence[Call]) -> bool:
    last = max((number for number, call in enumerate(calls) if _is_good_edit(call)), default=-1)
    return any(map(changes_by_shell, calls[last + 1 :]))


def _is_told(call: Call) -> bool:
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


def _is_good_edit(call: Call) -> bool:
    return call.action.verb in EDITS and call.answered and not call.failed


def _given(call: Call) -> str:
    """What a call is about, in the words of its arguments."""
    if call.action.verb == "run":
        return _FOLDER.sub("", call.action.target)
    return call.action.target or ", ".join(dict.fromkeys(islice(strings(call.args), MOST_GIVEN)))


def _is_check(call: Call) -> bool:
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
    return f"{call.tool or 'a tool'}{f' `{what}`' if what else ''} (message {call.place[0] + 1})"


def _came(call: Call, mask: Mask, limit: int) -> str:
    """What came of a call, on one line; where there is room for more than a line, how its output begins."""
    if not call.answered:
        return "no result yet"
    text = mask(ends_of(call.text))
    if found_nothing(call):
        return "nothing was found"
    if call.failed:
        return "a person stopped it" if is_stopped(call) else f"failed: {error_line(text)}"
    if _is_good_edit(call) and (changed := _changed_rows(call, mask)):
        return changed
    if chosen := _CHOSEN.findall(text) if _ANSWERED.match(text) else []:
        return one_line(f"the user answered: {'; '.join(chosen)}", limit)
    if (entries := _entries(text)) and limit <= MAX_LINE:
        return counted(entries, "entry")
    if entries:
        return one_line(f"{counted(entries, 'entry')}, beginning with {text.lstrip()[1:].lstrip()}", limit)
    rows = [row.strip() for row in text.splitlines() if _tells(row)]
    total = _line_count(call, rows)
    if total <= FEW_ROWS and len(text) > limit and (outcome := _outcome_fields(text, limit // 2)):
        return f"{one_line(text, limit - len(outcome) - 1)} {outcome}"
    if total <= FEW_ROWS:
        told = one_line(" / ".join(rows) or _NOISE.sub("", text).strip(), limit)
        return told or ("no output of its own" if text.strip() else "no output")
    is_read = call.action.verb == "read" and "://" not in call.action.target
    if is_read and (limit <= MAX_LINE or not _PROSE.search(call.action.target)):
        return counted(total, "line")
    outcome = outcome_of(call.text).line if call.action.verb == "run" else ""
    begins = " / ".join(rows[:MOST_ROWS]) if limit > MAX_LINE else rows[0]
    line = outcome if outcome and any(outcome in row for row in rows) else begins
    return f"{one_line(line, limit)} (of {counted(total, 'line')})"


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
    return any(map(str.isalnum, row)) and _NOISE.match(row) is None


def _entries(text: str) -> int:
    """Of a result that is a list of several entries: how many; what one line shows of it is only the first."""
    if not text.lstrip().startswith("[") or len(text) > MAX_TEXT:
        return 0
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return 0
    return len(cast("list[Any]", value)) if isinstance(value, list) and len(cast("list[Any]", value)) > 1 else 0
