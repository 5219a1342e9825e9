"""What a handoff takes from a session's items beside the summary: no model, nothing invented, masked before cut."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from ...models.items import Item
from ...models.summaries import ErrorMet, Ran, Said, SessionFacts
from ...models.text import counted
from ...text.specifics.vocabulary import outcome_of
from .answers import replies_of
from .calls import Call, calls_of, is_act, strings
from .errors_met import (
    MADE_COMMIT,
    checked_by_hook,
    finds,
    folder_of,
    is_stopped,
    programs,
    same_but_numbers,
    shows_error,
    sought_words,
)
from .orders import subject_words
from .places import line_ranges
from .quotes import CUT, Mask, asks, ends_of, one_line, spoken
from .talk import (
    ended_in,
    first_request,
    go_ahead_of,
    heard,
    is_unanswered,
    newest_said,
    not_answered,
    open_questions,
    reports_of,
    requests_of,
)
from .todos import ticked, todos_of
from .told import (
    FOLDER,
    MAX_COMMAND,
    MAX_LINE,
    MAX_NEWEST,
    NOISE,
    call_line,
    is_done_act,
    is_good_edit,
    is_told,
    newest_calls,
    runs_check,
    since_said,
)
from .trail import changed_paths, changes_by_shell, trail

_RULES = "=-─━ \t"
"""What programs draw beside their words."""
KEPT_RUNS = 6
KEPT_READ = 40
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b|\b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{6}\b")
_AMOUNT = re.compile(r"[$€£¥]\s?\d[\d,.]*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
CODE = re.compile(r"\b(?=[A-Z\d]*\d)(?=\d*[A-Z])[A-Z\d]{5,12}\b")
"""A code by which a service names a thing, such as a booking."""
_NUMBER = re.compile(r"(?<![\w.])\d{2,9}(?:\.\d+)?(?![\w])")
_VIEW = re.compile(r"\s*(?:2>&1)?\s*\|\s*(?:head|tail|grep|rg|sed|awk|less|cat|tee|sort|uniq|wc)\b.*", re.DOTALL)
_VIEW_BEGINS = re.compile(r"^\s*(?:2>&1)?\s*\|\s*")
MAX_VIEW = 60
_VERDICTS = re.compile(r"err|warn|fail|pass|test|found", re.IGNORECASE)
"""Words by which an output is searched for what came of it."""
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
        reports=_reports(items, calls, mask),
        last_said=(said := newest_said(items, mask)),
        since_said=since_said(said.message, calls) if said is not None else "",
        questions=(*([f"The user's {pending}."] if pending else []), *open_questions(items, mask)),
        unanswered=is_unanswered(items) and not ended_in(items),
        lines={mask(path): words for path, words in line_ranges(calls).items()},
        changed=tuple(map(mask, changed_paths(calls))),
        read=_read(calls, changed, mask),
        runs=runs_of(calls, mask),
        acts=tuple(call_line(call, mask) for call in calls if is_done_act(call)),
        finished=ticked(todos_of(calls, mask), requests[-1].message if requests else 0),
        activity=_activity(for_it, mask),
        calls_made=sum(map(is_told, for_it)),
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


def _reports(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[Said, ...]:
    """What the agent reported, each with what became of it."""
    reports = _without_old_values(reports_of(items, calls, mask), items)
    return _not_told_anew(_with_edits(reports, calls, mask), calls)


def _without_old_values(reports: Sequence[Said], items: Sequence[Item]) -> tuple[Said, ...]:
    """Reports of the agent, each with what the user said to it, unless that gives values of which a later message of
    the user gives other ones."""
    later = [(item.position[0] + 1, text) for item, text in spoken(items, "user")]
    told: list[Said] = []
    for one in reports:
        row = int(one.then.removeprefix("message ").partition(":")[0]) if one.then else 0
        values = _COLOUR.search(one.then) is not None
        old = values and any(_gives_other(text, one.then) for at, text in later if at > row)
        told.append(msgspec.structs.replace(one, then="") if old else one)
    return tuple(told)


def _gives_other(new: str, old: str) -> bool:
    """Whether a text gives a value that another one about the same things has not."""
    values = [{one.lower().strip("#") for one in _COLOUR.findall(text)} for text in (new, old)]
    return bool(values[0] - values[1]) and len(_subject(new) & _subject(old)) > 1


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
    names, numbers = set(CODE.findall(one.text)), set(_NUMBER.findall(one.text))
    for call in calls:
        if call.place[0] < one.message or not is_act(call) or not call.answered:
            continue
        row = f"{call.tool} (message {call.place[0] + 1})"
        if call.failed and len(call.text) <= MAX_NEWEST:
            refused = set(_NUMBER.findall(call.text))
            told += [f"{row} was refused"] if refused & numbers and refused - numbers else []
        elif not call.failed and (about := sorted(names & set(CODE.findall(" ".join(strings(call.args)))))):
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
    made = [at for at, call in enumerate(after) if _COMMIT.search(call.action.target) and MADE_COMMIT.search(call.text)]
    commit = ""
    if made:
        anew = list(map(posixpath.basename, changed_paths(after[made[-1] + 1 :])))
        still = f", and after that edited again: {', '.join(anew[-MOST_NAMES:])}" if anew else ""
        commit = f"; committed in message {after[made[-1]].place[0] + 1}{still}"
    return msgspec.structs.replace(one, changed_since=mask(", ".join(names[-MOST_NAMES:]) + more + commit))


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
    found: dict[tuple[str, str, str], Ran] = {}
    rows: dict[tuple[str, str, str], int] = {}
    for number, call in enumerate(calls):
        command = call.action.target
        if not (call.answered and runs_check(call)) or _COMMIT.search(command):
            continue
        shown = one_line(_VIEW.sub("", FOLDER.sub("", mask(command[:4_000]))), MAX_COMMAND)
        outcome = outcome_of(call.text)
        failed = True if call.failed else outcome.failed
        key = shown, folder_of(command), ""
        if _sought(command):  # of looks at a part of what a check shows only the newest is told
            key = " ".join(programs(command)), folder_of(command), "part"
        if is_stopped(call):
            for ran in [one for one in found if one[:2] == (shown, folder_of(command))]:
                found[ran] = msgspec.structs.replace(found[ran], stopped=call.place[0] + 1)
            continue
        found.pop(key, None)
        found[key] = Ran(
            command=shown,
            failed=failed,
            line=_places(call, mask) or _telling_line(call.text, outcome.line, mask),
            message=call.place[0] + 1,
            clean=not finds(call),
            placed=not shows_error(call),
            view=one_line(_VIEW_BEGINS.sub("", view[0]), MAX_VIEW)
            if (view := _VIEW.search(mask(command[:4_000])))
            else "",
        )
        rows[key] = number
    kept: list[tuple[str, Ran]] = []
    for key, one in found.items():
        folder, at = key[1], rows[key]
        if one.placed and _is_seen_gone(one.line, calls[at + 1 :]):
            continue
        hooks = [number for number, call in enumerate(calls) if number > at and checked_by_hook(call)]
        later = calls[max((at, *hooks)) + 1 :]
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
    later = [other for other in later if not _sought(f"x | {other.view}")]
    if any(other.command.startswith(f"{one.command} -") for other in later):  # the same with options more
        return True
    return one.edited_since + one.shell_since > 0 and any(names <= set(ran) for ran in map(programs, _whole(later)))


def _is_seen_gone(line: str, later: Sequence[Call]) -> bool:
    """Whether the file of what a check found was edited since, and a later check, or a commit that a hook checks, names
    places in files, and this one no more."""
    found = _IN_FILE.match(line)
    edited = False
    for call in later if found else ():
        if found and is_good_edit(call):
            edited = edited or call.action.target.endswith(found[1])
            continue
        checks = call.answered and (runs_check(call) or _COMMIT.search(call.action.target) is not None)
        if edited and checks and finds(call) and not same_but_numbers(line, call.text):
            return True
    return False


def _sought(command: str) -> str:
    """What a command picks out of its output other than errors: such a run tells nothing of the rest."""
    words = " ".join(sought_words(command))
    return "" if _VERDICTS.search(words) else words


def _places(call: Call, mask: Mask) -> str:
    """Of a check that names places in several files, and has no word of an error: how many, and in which files."""
    rows = [found[1] for row in mask(ends_of(call.text)).splitlines() if (found := _IN_FILE.match(row))]
    files = list(dict.fromkeys(map(posixpath.basename, rows)))
    if len(files) < 2 or shows_error(call):
        return ""
    more = f" and {len(files) - MOST_NAMES} more" if len(files) > MOST_NAMES else ""
    return f"{counted(len(rows), 'place')} in {', '.join(files[:MOST_NAMES])}{more}"


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
        line = next((row for row in reversed(masked) if row.strip(_RULES) and not NOISE.match(row)), "")
    if line.rstrip().endswith(":"):  # a heading: a place beside it says more
        line = next((row for row in reversed(masked) if _IN_FILE.match(row)), line)
    return one_line(line.strip(_RULES), MAX_LINE)


def _activity(calls: Sequence[Call], mask: Mask) -> tuple[str, ...]:
    """The newest of the calls that were made for the newest request."""
    return tuple(f"{'Newest' if newest else 'Earlier'} call: {row}" for newest, row in newest_calls(calls, mask))


def _shell_changed_last(calls: Sequence[Call]) -> bool:
    last = max((number for number, call in enumerate(calls) if is_good_edit(call)), default=-1)
    return any(map(changes_by_shell, calls[last + 1 :]))
