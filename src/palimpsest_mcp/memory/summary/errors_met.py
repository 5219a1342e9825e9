"""Errors that calls met, and whether a later result of the same call shows that they are gone."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

import msgspec

from ...models.summaries import ErrorMet
from ...models.text import late
from ...text.specifics.vocabulary import outcome_of
from .calls import BY_USER, CHECKS, Call, is_check, strings, unquoted
from .quotes import CUT, Mask, ends_of, one_line

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
_SHOWS = re.compile(r"^(?:cd \S+ && )?(?:ls|cat|head|tail|sed -n|(?i:select|show|describe|explain|pragma))\b")
_PROBES = re.compile(
    r"^(?:cd \S+ && )?(?:\w+=\S+ )*(?:"
    r"(?:npx (?:-y )?|uv run |poetry run )?(?:node|deno|bun|tsx|ts-node|python\d?(?:\.\d+)?|ruby|perl|php)\b"
    r"(?:(?!&&|;).){0,60}?(?: -(?:e|c|p|pe|r)\b| --(?:eval|print)\b| ?<<| - )"
    r"|(?:curl|wget|http|dig|ping|file|stat|command -v|type|man|sleep)\b|(?:\S+ ){1,4}(?:--help|--version|-V)\b)"
)
"""One-off lines that try something out."""
_VIEWED = re.compile(
    r"(?:2>&1 {0,3})?\|\s{0,3}(?:head|tail|grep|egrep|rg|sed|awk|less|cat|wc|tee|sort|uniq)\b.*", re.DOTALL
)
_NOT_RUN = re.compile(
    r"\W*(?:<tool_use_error>\W*)?(?:sibling tool call errored|cancelled: parallel tool call)", re.IGNORECASE
)
"""A host did not make a call because another one of the same message failed: that one is the error."""
_SAID_INSIDE = re.compile(
    r"""['"](?:message|error|detail|error_message)['"]:\s*(?:"([^"\n]{8,400})|'([^'\n]{8,400}))"""
)
"""What an object in a long error line says in words."""
_PLACED = re.compile(r"::|\(\d+,\d+\)|:\d+\b|\bline \d+")
"""An error line that says where it is: a run that shows one does not only count its failures."""
_PART = re.compile(r"\s*(\[[A-Z][A-Z _-]+\] +\S[^\n]*)")
"""How a hook that checks several things begins what one of them found."""
_PLACE = re.compile(r"^\W*(?:[\w@.-]+/)*[\w@-]+\.\w{1,5}[:(]\d+.*$", re.MULTILINE)
"""A line that names a place in a file, as checkers do for what they find."""
_IN_FILE = re.compile(r"^(?:[./]*)([\w@./-]+\.\w{1,6})(?:\(\d+,\d+\)|:\d+)")
"""How compilers and linters begin the line of an error: with its file and place."""
_FOLDER = re.compile(r"^\s*cd \S+\s*&&\s*")
_LAUNCHER = re.compile(r"^(?:npx (?:-y )?|uv run |poetry run |pnpm exec |bunx )")
_TELLING_WORDS = 2
"""Words of a command that is looked for in what others print."""
_INTO = re.compile(r"^\s*cd (\S+)\s*(?:&&|;|\n)")
_SEGMENT = late(r"&&|\|\||[;\n]")
_INSERTED = late(r"\$\([^()]*\)[\w./-]*")
"""What a shell puts in the place of a command: neither words nor names that a program is given."""
_PROGRAM = late(r"^\s*(?:\w+=\S* )*(?:sudo |time |npx (?:-y )?|uv run |poetry run )?([\w./-]+)(.*)$", re.DOTALL)
_SUBCOMMAND = late(r"^[a-z][\w:-]*$")
_NO_PROGRAMS = frozenset(["cd", "echo", "export", "source", "set", "true", "printf", "sleep", "env"])
_SHELLS = frozenset(["bash", "sh", "zsh", "fatal", "error"])
_SPEAKS = re.compile(r"(?:\S*/)?([\w.-]+): .*")
"""A line in which a program says something: it begins with its name."""
_NUMBERS = re.compile(r"\d+")
_SEEKS = re.compile(r"""\|\s{0,3}(?:e?grep|rg)(?:\s+-(?!\w*v)[\w-]+(?:[ =]\d+)?)*\s+("[^"]*"|'[^']*'|[^\s|'"-]\S*)""")
"""A search in the output of a command; one for what is not to be shown is none."""
_NO_WORD = re.compile(r"[^\w./-]+")
_STATEFUL = late(r"git (?!log|show|diff|status|checkout|blame)\w+$|npm run |(?:npm|pnpm|yarn|bun|cargo|mix|make) \w+$")
"""Programs that work on the whole folder: what they are given does not say what went wrong."""
MADE_COMMIT = re.compile(r"^\[\S+ (?:\(root-commit\) )?[0-9a-f]{7,40}\] ", re.MULTILINE)
"""What git prints of a commit that went through."""
EDITS = ("edit", "write")
LEFT_BEHIND = 4
"""A look (a read, a search) that failed more calls ago than this is no open error: it changed nothing."""
GONE = {
    "run": "a later run of the same command shows no error",
    "read": "a later read of it worked",
    "write": "a later write to it worked",
    "edit": "a later edit of it worked",
}
OTHERWISE = "a later call of the same kind worked"
BELOW = "a later call that names it, or what is in it, worked"
OTHERS = "a later run of the same command fails with another error"
OTHER_CALLS = "a later call of the same kind fails with another error"
AGAIN = "a later run fails alike, and is told by itself"
ELSEWHERE = "another command that met it shows no error in a later run"
LOOKED = "it only looked; the work went on without it"
PROBED = "it only tried something out"
LEFT = "the user asked for something else since, and nothing came back to it"
PROGRAM = "a later run of the same program on it went well"
ELSEWHERE_RUN = "a later command that runs it went well"
PASSED = "later checks of the whole went well"
CHECKED = "its file was changed since, and a later check does not show it"
WORKED = frozenset((*GONE.values(), OTHERWISE, BELOW, ELSEWHERE, ELSEWHERE_RUN, CHECKED, PROGRAM, PASSED))
"""A later result shows that the error is gone."""
FAILS_OTHERWISE = frozenset((OTHERS, OTHER_CALLS, AGAIN))
LEFT_ALONE = frozenset((LOOKED, PROBED, LEFT))
"""Nothing came back to it."""
RESOLUTIONS = WORKED | FAILS_OTHERWISE | LEFT_ALONE
"""What code says of a resolved error; everything else is somebody's word."""


def errors_met(calls: Sequence[Call], mask: Mask, asked: Sequence[int] = ()) -> tuple[tuple[int, ErrorMet], ...]:
    """Every error in the order in which it came up, with the number of the call that met it last; equal ones at one
    place count as one.

    Args:
        asked: rows of the user's requests.
    """
    met: dict[tuple[str, ...], tuple[int, ErrorMet]] = {}
    same: dict[tuple[str, str, str], list[tuple[int, Call]]] = {}
    solved: dict[str, int] = {}  # an error's line -> the last call that shows it gone
    for number, call in enumerate(calls):
        if call.answered:
            same.setdefault(_subject(call), []).append((number, call))
    for number, call in enumerate(calls):
        if not met_error(call):
            continue
        text = mask(ends_of(call.text))
        line = error_line(text)
        where = where_of(mask(viewless(call)), is_path=call.action.verb != "run")
        where = f"{call.action.verb} refused: {where}" if call.action.verb in EDITS else where
        later = [(at, other) for at, other in same.get(_subject(call), ()) if at > number]
        resolution, by = _resolution(call, line, later)
        if call.action.verb == "run" and by:
            solved[line] = max(solved.get(line, 0), by)
        resolution = resolution or _found_otherwise(call, calls[number + 1 :])
        resolution = resolution or _checked_since(line, calls[number + 1 :])
        resolution = resolution or _same_program(call, line, calls[number + 1 :])
        resolution = resolution or _run_by_another(call, line, calls, number)
        if not resolution:
            resolution = _left_behind(call, asked, len(calls) - 1 - number)
        known = met.pop((line, *_subject(call)), None)
        times = known[1].times + 1 if known else 1
        met[line, *_subject(call)] = number, ErrorMet(error=line, where=where, resolution=resolution, times=times)
    return tuple(
        (number, msgspec.structs.replace(one, resolution=ELSEWHERE))
        if not one.resolution and solved.get(one.error, 0) > number
        else (number, one)
        for number, one in met.values()
        if one.error
    )


def met_error(call: Call) -> bool:
    """Whether a call failed by itself: a search that found nothing, a call that a person stopped and one that the host
    did not make did not."""
    return call.failed and not (found_nothing(call) or is_stopped(call) or was_not_made(call))


def was_not_made(call: Call) -> bool:
    """Whether the host did not make a call, because another one of the same message failed."""
    return _NOT_RUN.match(call.text) is not None


def error_line(text: str) -> str:
    """The line that says what went wrong, verbatim: a typed error, else the first loud line, else the first one."""
    text = text.replace("\\n", "\n")  # as some hooks print it
    typed = _TYPED.findall(text)
    line = typed[-1] if typed else text.strip()
    if len(line) > MAX_ERROR and "\n" not in line and (inside := _SAID_INSIDE.search(line)):
        return one_line(inside[1] or inside[2], MAX_ERROR)
    if typed:
        return one_line(line, MAX_ERROR)
    lines = [line for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if len(line) <= MAX_LINE] or lines
    loud = next((line for line in lines if _LOUD.search(line) and not _CALM.search(line)), None)
    plain = next((line for line in lines if not _EXIT_LINE.match(line) and "(no output)" not in line), None)
    if loud is not None and loud.rstrip().endswith(":") and (part := _PART.match(text, text.find(loud) + len(loud))):
        return one_line(part[1], MAX_ERROR)  # a hook of several parts: the first that failed
    if loud is not None and loud.rstrip().endswith(":") and (found := _PLACE.search(text)):
        return one_line(found[0], MAX_ERROR)  # a heading: what stands below it says more
    return one_line(loud or plain or (lines[0] if lines else ""), MAX_ERROR)


def pasted_error(text: str, message: int, mask: Mask) -> tuple[ErrorMet, ...]:
    """The error of a program that a user pasted into a request: open as long as that is the newest."""
    typed = _TYPED.findall(mask(ends_of(text))) if "\n" in text.strip() else []
    return tuple(
        ErrorMet(error=one_line(line, MAX_ERROR), where=f"pasted by the user in message {message}")
        for line in typed[-1:]
    )


def viewless(call: Call) -> str:
    """Where a call looked or what it ran, without the pipes through which its output was viewed; else its tool."""
    target = call.action.target[:MAX_LOOKED_AT]
    return (_VIEWED.sub("", target).rstrip() if call.action.verb == "run" else target) or call.tool


def sought_words(command: str) -> list[str]:
    """Words that a command line picks out of its output by a search, which shows nothing else of it; none: it does
    not."""
    found = _SEEKS.search(command[:MAX_LOOKED_AT])
    return [word.casefold() for word in _NO_WORD.split(found[1]) if len(word) > 2] if found else []


def hides(call: Call, line: str) -> bool:
    """Whether a run would not show a line where it still stood in its output, since it searches that for other words;
    one that counts what passed and failed tells of all."""
    words = sought_words(call.action.target)
    return bool(words) and not any(word in line.casefold() for word in words) and outcome_of(call.text).failed is None


def checked_by_hook(call: Call) -> bool:
    """Whether a commit went through, and what it printed shows that a hook checked what was committed."""
    if (
        call.action.verb != "run"
        or not call.answered
        or call.failed
        or "git commit" not in programs(call.action.target)
    ):
        return False
    return MADE_COMMIT.search(call.text) is not None and CHECKS.search(call.text) is not None


def _subject(call: Call) -> tuple[str, str, str]:
    """What makes two calls the same: of a command all words but its options, of an edit its file."""
    verb = "edit" if call.action.verb == "write" else call.action.verb
    words = viewless(call).split()
    if verb == "run":
        words = [word for word in words if not word.startswith("-") and not word.isdigit()]
    return call.agent, verb if verb != "other" else call.tool, " ".join(words)


def where_of(text: str, *, is_path: bool) -> str:
    """Where an error came up, on one line: of a long path its end, of a long command its beginning."""
    line = one_line(text, MAX_LOOKED_AT)
    if is_path and "/" in line and len(line) > MAX_WHERE:
        at = line.find("/", len(line) - MAX_WHERE + 1)
        return f"…{line[at:]}" if at > 0 else one_line(line, MAX_WHERE)
    return one_line(line if is_path else _FOLDER.sub("", line), MAX_WHERE)


def is_stopped(call: Call) -> bool:
    """Whether a person stopped a call: no error. An edit that somebody rejected is told all the same: what it was to
    change is not changed."""
    return call.action.verb not in EDITS and BY_USER.search(call.text[-400:]) is not None


def found_nothing(call: Call) -> bool:
    """Whether a search has found nothing, which its exit code calls a failure: no error."""
    if not call.failed or call.action.verb != "run" or not _LOOKS.match(call.action.target.strip()):
        return False
    rest = [line for line in call.text.splitlines() if line.strip() and not _EXIT_LINE.match(line)]
    return not any(_LOUD.search(line) for line in rest)


def is_look(call: Call) -> bool:
    """Whether a call only looked at something, or tried something out."""
    if call.action.verb == "run":
        command = call.action.target.strip()
        return any(pattern.match(command) for pattern in (_LOOKS, _SHOWS, _PROBES))
    return call.action.verb in ("read", "search")


def _left_behind(call: Call, asked: Sequence[int], later: int) -> str:
    """Of a call to which nothing came back: whether it matters no more. What checks, changes or commits stays open.

    Args:
        later: how many calls came after it.
    """
    if call.action.verb == "run" and _PROBES.match(call.action.target.strip()):
        return PROBED
    if later < LEFT_BEHIND:
        return ""
    if is_look(call):
        return LOOKED
    command = call.action.target if call.action.verb == "run" else ""
    stays = call.action.verb in EDITS or is_check(command) or any(map(_STATEFUL.match, programs(command)))
    return "" if stays or not any(row > call.place[0] for row in asked) else LEFT


def programs(command: str) -> dict[str, frozenset[str]]:
    """What a command line runs, in order: programs with their subcommand, each with the paths and names it is given."""
    found: dict[str, frozenset[str]] = {}
    for segment in _SEGMENT.split(_INSERTED.sub("$", unquoted(command[:MAX_LOOKED_AT]))):
        match = _PROGRAM.match(segment.partition("|")[0])
        name = posixpath.basename(match[1]) if match else ""
        if not match or not name or name in _NO_PROGRAMS:
            continue
        words = [word for word in match[2].split() if not word.startswith(("-", ">", "<", "2>", "$", "&"))]
        while words and len(name.split()) < (3 if name.endswith(" run") else 2) and _SUBCOMMAND.match(words[0]):
            name = f"{name} {words.pop(0)}"
        found[name] = frozenset(map(posixpath.basename, words)) - {""}
    return found


def _same_program(call: Call, line: str, later: Sequence[Call]) -> str:
    """Whether the program of a command that failed went well later: on the same thing, or on the whole folder. Of one
    that works on the whole folder, also whether it fails with another error now."""
    ran = programs(call.action.target) if call.action.verb == "run" and not is_look(call) else {}
    if not ran:
        return ""
    name, given = list(ran.items())[-1]
    checked, passed, fails_otherwise = is_check(call.action.target), 0, ""
    for other in later:
        if other.action.verb != "run" or not other.answered or is_stopped(other) or _are_apart(call, other):
            continue
        others = programs(other.action.target)
        fails = other.failed or outcome_of(other.text).failed or line.removesuffix(CUT) in other.text
        unseen = (_VIEWED.search(other.action.target) is not None and shows_error(other)) or hides(other, line)
        if checked and not fails and not unseen and _is_whole_check(call, other, others):
            passed += 1
        if name not in others:
            continue
        whole = name.startswith("git ") or not others[name]
        on_it = bool(given & others[name]) or (whole and _STATEFUL.match(name) is not None)
        if on_it and not fails and not unseen:
            return PROGRAM
        if on_it and name.startswith("git "):
            alike = same_but_numbers(line, other.text)
            fails_otherwise = OTHERS if not alike else AGAIN if met_error(other) else ""
    return fails_otherwise or (PASSED if passed > 1 else "")


def _run_by_another(call: Call, line: str, calls: Sequence[Call], number: int) -> str:
    """Whether a check whose command another one runs, as its output said once (`> tsgo -p tsconfig.json`), went well
    in that other one later."""
    command = _LAUNCHER.sub("", _FOLDER.sub("", viewless(call)))
    if call.action.verb != "run" or not is_check(command) or len(command.split()) < _TELLING_WORDS:
        return ""
    runners = {_subject(one) for one in calls if one is not call and one.action.verb == "run" and command in one.text}
    for other in calls[number + 1 :]:
        fails = other.failed or is_stopped(other) or outcome_of(other.text).failed or shows_error(other)
        if (
            _subject(other) in runners
            and other.answered
            and not (fails or _are_apart(call, other) or hides(other, line))
        ):
            return ELSEWHERE_RUN
    return ""


def folder_of(command: str) -> str:
    """The folder that a command line goes into first; empty: none."""
    found = _INTO.match(command)
    return found[1].rstrip("/") if found else ""


def _are_apart(call: Call, other: Call) -> bool:
    """Whether two command lines go into different folders; a whole path and the end of it may be one."""
    one, two = (folder_of(each.action.target) for each in (call, other))
    return bool(one and two) and not (f"/{one}".endswith(f"/{two}") or f"/{two}".endswith(f"/{one}"))


_TESTS = late(r"\b(?:\w*test\w*|tox|nox|jest|mocha|rspec|phpunit)\b", re.IGNORECASE)


def _is_whole_check(call: Call, other: Call, others: Mapping[str, frozenset[str]]) -> bool:
    """Whether another command checks the whole for what one did: both run tests, or neither."""
    both = [_TESTS.search(one.action.target) is not None for one in (call, other)]
    return is_check(other.action.target) and both[0] == both[1] and not any(others.values())


def _found_otherwise(call: Call, later: Sequence[Call]) -> str:
    """Of a path that could not be read: whether another kind of call on it, or on what is in it, worked."""
    path = call.action.target
    if call.action.verb != "read" or "/" not in path:
        return ""
    for other in later:
        if other.answered and not other.failed and any(path in text for text in strings(other.args)):
            return BELOW
    return ""


def _checked_since(line: str, later: Sequence[Call]) -> str:
    """Of an error that names its file: whether that was changed, and a check that came after it shows another outcome.

    A compiler is run by many commands: the same one need not run again.
    """
    found, begins = _IN_FILE.match(line), line.removesuffix(CUT)
    path = "" if found is None else found[1]
    changed = False
    for other in later if path else ():
        if not other.answered:
            continue
        target = other.action.target
        if other.action.verb in EDITS:
            changed = changed or (not other.failed and (target == path or target.endswith(f"/{path}")))
        elif changed and other.action.verb == "run" and is_check(target) and not is_stopped(other):
            cut = _VIEWED.search(target) is not None and shows_error(other)
            if begins not in other.text and not cut and not hides(other, line):
                return CHECKED
    return ""


def finds(call: Call) -> bool:
    """Whether the output of a check looks like an error, or names a place in a file, as checkers do for what they
    find."""
    return shows_error(call) or _PLACE.search(call.text[-MAX_LOOKED_AT:]) is not None


def names_error(call: Call) -> bool:
    """Whether what a call printed says that the call itself met an error: of a command that only shows files, what its
    programs say; the files may speak of errors as they like."""
    if call.action.verb in ("read", "search"):
        return False
    if call.action.verb != "run" or not _only_shows(call.action.target):
        return shows_error(call)
    names = {name.split()[0] for name in programs(call.action.target)} | _SHELLS
    said = (_SPEAKS.match(row[:MAX_LINE]) for row in call.text.splitlines())
    return any(found[1] in names and _LOUD.search(found[0]) for found in said if found)


def _only_shows(command: str) -> bool:
    """Whether every part of a command line searches in files or shows them."""
    parts = [part.strip() for part in _SEGMENT.split(unquoted(command[:MAX_LOOKED_AT])) if part.strip()]
    return all(_LOOKS.match(part) or _SHOWS.match(part) or part.split()[0] in _NO_PROGRAMS for part in parts)


def same_but_numbers(line: str, text: str) -> bool:
    """Whether a text has an error's line, whatever numbers and white space stand in it."""
    return _bare(line.removesuffix(CUT)) in _bare(text)


def _bare(text: str) -> str:
    return " ".join(_NUMBERS.sub("0", text).split())


def shows_error(call: Call) -> bool:
    return any(_LOUD.search(row) and not _CALM.search(row) for row in call.text.splitlines()[-200:])


def _resolution(call: Call, line: str, later: Sequence[tuple[int, Call]]) -> tuple[str, int]:
    """What shows that an error is gone, and the number of the call that shows it; 0 for none.

    Args:
        later: answered calls of the same subject that came after it, numbered.
    """
    rejected = call.action.verb in EDITS and BY_USER.search(call.text) is not None
    fails_otherwise = False
    begins = line.removesuffix(CUT)
    for at, other in later:
        if rejected and other.args != call.args:
            continue  # another edit is not the one that was rejected
        if call.action.verb == "run" and hides(other, line):
            continue
        if other.failed or (call.action.verb == "run" and outcome_of(other.text).failed):
            told = call.action.verb == "other" or (
                call.action.verb == "run" and _PLACED.search(error_line(other.text)) is not None
            )
            fails_otherwise = told and not is_stopped(other) and not same_but_numbers(line, other.text)
            continue
        viewed = call.action.verb == "run" and _VIEWED.search(other.action.target) is not None
        if begins not in other.text and not (viewed and shows_error(other)):
            return GONE.get(call.action.verb, OTHERWISE), at
    return ((OTHERS if call.action.verb == "run" else OTHER_CALLS) if fails_otherwise else ""), 0
