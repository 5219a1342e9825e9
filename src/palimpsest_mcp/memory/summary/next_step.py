"""The next step of a session, as an act: by what was asked last, what calls gave, and what was changed since."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from ...models.items import Item
from ...models.summaries import ErrorMet, Said, Todo
from ...models.text import counted
from ...text.stem import stem
from ..absent import NOTHING_OPEN
from .answers import gives_data, is_invited, only_resumes, plan_steps, replies_of
from .calls import Call, is_act, is_check, newly_defined, strings
from .errors_met import EDITS, checked_by_hook, finds, found_nothing, is_look, is_stopped, programs, viewless
from .facts import CODE
from .plans import announced, ends_of_turns, has_last_word, plan_of
from .quotes import CUT, Mask, asks, one_line, spoken
from .talk import ended_in, go_ahead_of, heard, is_unanswered, newest_said, open_questions, requests_of
from .todos import Todos, is_todo_tool
from .told import call_line, files_missed, files_read, is_thought, made_files, named_call, since_said
from .trail import changed_paths, changes_by_shell, edits_of, shell_acts, trail

MAX_WORDS = 120
"""Characters of an answer, an error or a step that the next step quotes."""
MAX_CALL = 260
MAX_SAID = 120
MAX_STEPS = 700
MAX_STEP = 110
BROUGHT = " (an edit since brought it in)"
MOST_CODES = 8
PLAN = "its plan in message "
"""Begins a plan of whose steps none is known to be left."""
MOST_NAMES = 4
"""Files that one line names."""
_NAMED_FILE = re.compile(r"(?<![\w.-])[\w-]+(?:\.[\w-]+){0,2}\.[a-z]{1,6}\b(?!\()")
_ALL = re.compile(r"\b(?:all|these|those|both|each|every|them|alle|diese|beide)\b", re.IGNORECASE)
_UNSAVED = re.compile(r"^(?:Changes not staged for commit|Changes to be committed|Untracked files):", re.MULTILINE)
_COMMIT = re.compile(r"^git commit$")
_NOTHING = re.compile(r"\bnothing (?:added )?to commit\b|\bno changes added to commit\b")
_CLEAN = re.compile(r"\bnothing to commit, working tree clean\b")
_PROSE = re.compile(r"\.(?:md|txt|rst)$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]{3,}")
_JOINS = frozenset(("and", "the", "for", "with"))
_PART_SHARE = 1 / 3
_DONE_SHARE = 2 / 3
"""Of a todo's words, so many stand in a call that did it."""
USUAL = 3
"""A check that ran so often is run again after edits…"""
RECENT = 40
"""… where it ran among so many of the newest calls."""
EDITED = " edited "
"""Stands in the line that names files which are not committed."""
STARTED = "started and not closed: "
"""Begins the line that names a task of a tracker that is being worked on."""
_IDENTIFIER = re.compile(r"`#?([A-Za-z_$][\w$]{2,})(?:\(\))?`")
_FILE = re.compile(r"(?<![\w./-])(?!(?:e\.g|i\.e|z\.b|u\.s)\b)[\w-]+\.[a-z]{1,5}\b(?!\()")
_STARTS = re.compile(r"\b(?:in[_-]progress|--claim|start(?:ed)?)\b")
_CLOSES = re.compile(r" (?:close|done|resolve)$")
_TRACKERS = re.compile(r"^(?:bd|br|beads|linear|jira|gh issue) (?:update|start|claim|edit|move)$")
COMMITTED = "since the last commit"
LISTED = " (list changed last in message "
"""Stands in the line that counts the todos of a list that are open."""
BEFORE_IT = ": before the newest request"
"""Stands behind it where a request came since."""
MAX_SHOWN = 400
"""Characters of a result in which a todo's words are looked for."""


def next_step(
    items: Sequence[Item],
    calls: Sequence[Call],
    errors: Sequence[tuple[int, ErrorMet]],
    failing: Sequence[tuple[int, ErrorMet]],
    todos: Todos | None,
    mask: Mask,
) -> str:
    """What is to be done next, the most pressing thing.

    Args:
        errors: not resolved, met for the newest request, each with the number of the call that met it last.
        failing: those of them that the newest calls met.
        todos: None where no list was touched for the newest request: an old plan is not what was asked for last.
    """
    if ended := ended_in(items):
        return f"nothing: the user ended the conversation in message {ended}"
    todo = _todo(todos, calls) if todos else ""
    todo += _since_list(todos, calls, mask) if todos and todo else ""
    asked = requests_of(items, mask)[-1].message
    if is_unanswered(items):
        newest = list(spoken(items, "user"))[-1][0].position[0] + 1
        replies = replies_of(items, mask)
        if replies and replies[-1].message == newest:
            said = one_line(replies[-1].text, MAX_WORDS)
            return f"act on the user's answer in message {newest}: {said}"
        if not (todo or failing) or asked == newest:
            return f"do what is asked in message {asked}; nothing was answered yet"
    if questions := open_questions(items, mask):
        return f"wait for the user's answer to: {questions[-1]}"
    if words := announced(items, mask):
        return f"do what the agent announced last, in message {ends_of_turns(items)[-1]}: {words}"
    if has_last_word(items):
        waits = f"the agent had the last word, in message {ends_of_turns(items)[-1]}"
        if todo:
            return f"{todo}, unless the user says otherwise: {waits}"
        still = f"not seen resolved: {one_line(errors[-1][1].error, MAX_WORDS)}; " if errors else "nothing seen open; "
        return f"{still}wait for the user: {waits}"
    own = [call for call in calls if not (call.agent or is_todo_tool(call.tool) or is_thought(call))]
    if own and not own[-1].answered:
        return "; then ".join(filter(None, (f"see what came of {named_call(own[-1], mask)}", todo)))
    return "; then ".join(filter(None, _work(items, calls, own, errors, failing, todos, todo, mask))) or NOTHING_OPEN


def _work(
    items: Sequence[Item],
    calls: Sequence[Call],
    own: Sequence[Call],
    errors: Sequence[tuple[int, ErrorMet]],
    failing: Sequence[tuple[int, ErrorMet]],
    todos: Todos | None,
    todo: str,
    mask: Mask,
) -> Iterator[str]:
    """Steps that follow from the calls made so far, in the middle of the work on a request: what the agent announced
    comes before a list that is older, and what failed before what was announced ahead of it."""
    asked = requests_of(items, mask)[-1].message
    since = [call for call in own if call.place[0] >= asked]
    last = own[-1] if own else None
    said = newest_said(items, mask)
    heard_last = max(row for row, *_ in heard(items, calls, mask))
    said = said if said is not None and said.message > heard_last else None
    hard = [(number, one) for number, one in failing if not is_look(calls[number])]
    goal = _goal(items, calls, asked, mask)
    plan = _of_plan(items, own, mask)
    if last is not None and last.failed and is_look(last) and not found_nothing(last):
        yield f"go on with {goal} another way: {named_call(last, mask)} failed"
        return
    if hard:
        number, one = hard[-1]
        call, why = calls[number], one_line(one.error, MAX_WORDS)
        if said is not None and said.message - 1 > call.place[0]:
            yield _go_on(goal, said, since, mask)
        if call.action.verb == "other":
            otherwise = " and ask before it is tried otherwise" if is_act(call) else ", or do it otherwise"
            yield f"tell the user what came of {named_call(call, mask)}{otherwise}: {why}"
        else:
            failed = f"in message {call.place[0] + 1}: {one_line(one.where, MAX_WORDS)}: {why}"
            changed = call.action.verb == "run" and any(map(_is_edit, calls[number + 1 :]))
            yield (
                f"run again what failed {failed}; files were changed since"
                if changed
                else f"settle what failed last, {failed}"
            )
            yield plan
        return
    if last is not None and _is_check(last) and finds(last):
        yield f"mend what the last check shows: {call_line(last, mask)}"
        yield plan
    elif todo and todos is not None:
        if said is None or said.message <= todos.message or not said.announces:
            yield todo
            return
        yield _go_on(goal, said, since, mask)
        if not todos.boxes:
            yield f"as the list says, changed last in message {todos.message}: {todo}"
        return
    elif todos is not None and todos.total and not todos.open and (said is None or said.message <= todos.message):
        ticked = f"of {counted(todos.total, 'todo')} none is open (message {todos.message})"
        yield f"report to the user on {goal}: {ticked}"
    else:
        is_plan = _is_plan(items, said) and plan.startswith(PLAN)
        whole = is_plan and said is not None and not (_words_of(said).endswith(CUT) or BROUGHT in plan)
        words = _go_on(goal, said, since, mask, is_plan=is_plan and not whole)
        left = _left_of_codes(items, since, asked), _all_read(items, since, asked)
        now = plan if plan.startswith(PLAN) and not whole else ""
        yield "; ".join(filter(None, (words, now, *left)))
        yield from _settle(own, errors, calls, since, mask)
        yield "" if plan.startswith(PLAN) else plan
        return
    yield from _settle(own, errors, calls, since, mask)


def _left_of_codes(items: Sequence[Item], since: Sequence[Call], asked: int) -> str:
    """For which of the things that a request names by their codes, or of those that the agent listed before a request
    for all of them, something was done since, and for which not. Empty: nothing was, or all is."""
    text = next((text for item, text in spoken(items, "user") if item.position[0] + 1 == asked), "")
    row, codes = asked, list(dict.fromkeys(CODE.findall(text)))
    before = [(item, words) for item, words in spoken(items, "assistant") if item.position[0] + 1 < asked][-1:]
    if len(codes) < 2 and before and not codes and _ALL.search(text):
        row, codes = before[0][0].position[0] + 1, list(dict.fromkeys(CODE.findall(before[0][1])))
    acts = [(call, set(strings(call.args))) for call in since if is_act(call) and call.answered]
    done = [code for code in codes if any(code in given and not call.failed for call, given in acts)]
    failed = [code for code in codes if code not in done and any(code in given for _, given in acts)]
    left = [code for code in codes if code not in done and code not in failed]
    if len(codes) < 2 or not (left or failed):
        return ""
    if not (done or failed):
        listed = (
            f"{', '.join(left[:MOST_CODES])}{f' and {len(left) - MOST_CODES} more' if len(left) > MOST_CODES else ''}"
        )
        return f"no call that changes something was seen since for any of the codes in message {row}: {listed}"
    tools = ", ".join(dict.fromkeys(call.tool for call, _ in acts))
    told = [f"of the codes in message {row} {tools} went through for {', '.join(done) or 'none'}"]
    told += [f"failed for {', '.join(failed)}"] if failed else []
    told += [f"was not called for {', '.join(left)}"] if left else []
    return ", ".join(told)


def _all_read(items: Sequence[Item], since: Sequence[Call], asked: int) -> str:
    """That every file which a request names was read or not found, where nothing was changed for it; else empty."""
    text = next((text for item, text in spoken(items, "user") if item.position[0] + 1 == asked), "")
    named = set(_NAMED_FILE.findall(text))
    read, missed = set(files_read(since)), set(files_missed(since))
    if len(named) < 2 or not named & read or named - read - missed or trail(since).files:
        return ""
    none = f", {counted(len(named & missed - read), 'file')} not found" if named & missed - read else ""
    return f"of the files that message {asked} names {len(named & read)} were read{none}: report, or look further"


def _words_of(said: Said) -> str:
    return said.announces or one_line(said.text, MAX_SAID)


def _is_plan(items: Sequence[Item], said: Said | None) -> bool:
    """Whether the agent's newest words are the plan that it works by."""
    plan = plan_of(items)
    of_plan = plan and (plan[0].position[0] + 1, plan[0].kind == "thinking")
    return said is not None and (said.message, said.is_thought) == of_plan


def _go_on(goal: str, said: Said | None, since: Sequence[Call], mask: Mask, *, is_plan: bool = False) -> str:
    """The request that is worked on, with the agent's newest words, which calls may have done since, and the newest
    call with what came of it.

    Args:
        is_plan: those words are a plan, whose steps are told beside it.
    """
    words = f"go on with {goal}"
    if said is not None:
        verb = "thought" if said.is_thought else "said"
        after = since_said(said.message, since)
        quoted = "its plan" if is_plan else _words_of(said).rstrip(": ")
        words += f"; the agent {verb} last, in message {said.message}{f', {after}' if after else ''}: {quoted}"
    if since:
        words += f"; the newest call: {one_line(call_line(since[-1], mask), MAX_CALL)}"
    return words


def _of_plan(items: Sequence[Item], own: Sequence[Call], mask: Mask) -> str:
    """The plan that the agent works by: of its steps those that name files of which one was not changed since; else the
    whole of it, with the steps of which an edit brought in all that they name: which are done no words tell. Empty
    where a check went well after the last edit and no step names other files, and where a commit was tried since."""
    plan = plan_of(items)
    if plan is None:
        return ""
    row, steps = plan[0].position[0] + 1, [step.replace("**", "").rstrip(": ") for step in plan_steps(plan[1])]
    since = [call for call in own if call.place >= plan[0].position and call.answered and not call.failed]
    changed = {posixpath.basename(one.path) for one in trail(since).files}
    named = [(step, set(_FILE.findall(step))) for step in steps]
    left = [step for step, files in named if files - changed]
    begun = any(files and files <= changed for _, files in named)
    if left and (begun or not _is_checked(own)):
        return f"steps of its plan in message {row} that name files not changed since: {_listed(left, mask)}"
    tried = any(_is_commit(call) for call in own if call.place >= plan[0].position)
    if tried or _is_checked(own) or all(files for _, files in named):
        return ""
    brought = {name for call in since for old, new in edits_of(call.args) for name in newly_defined(old, new)}
    told = [f"{step}{BROUGHT}" if _is_within(step, brought) else step for step in steps]
    return f"{PLAN}{row}, of which some may be done: {_listed(told, mask)}"


def _is_within(step: str, names: set[str]) -> bool:
    """Whether a step names something in code, and all of it is among some names."""
    named = set(_IDENTIFIER.findall(step))
    return bool(named) and named <= names


def _is_commit(call: Call) -> bool:
    return call.action.verb == "run" and any(map(_COMMIT.match, programs(call.action.target)))


def _listed(steps: Sequence[str], mask: Mask) -> str:
    return one_line(mask("; ".join(one_line(step, MAX_STEP) for step in steps)), MAX_STEPS)


def _is_checked(own: Sequence[Call]) -> bool:
    """Whether a check that shows no error came after the last edit."""
    checks = [place for place, call in enumerate(own) if _is_check(call) and call.answered and not finds(call)]
    edits = [place for place, call in enumerate(own) if _is_edit(call)]
    return bool(checks and edits and checks[-1] > edits[-1])


def _goal(items: Sequence[Item], calls: Sequence[Call], asked: int, mask: Mask) -> str:
    """What the work is for: the newest request, with what the user answered since."""
    text = next((text for item, text in spoken(items, "user") if item.position[0] + 1 == asked), "")
    goal = f"what is asked in message {asked}"
    said = [one for one in heard(items, calls, mask) if one[0] > asked]
    if not said:
        return goal
    row, words, _ = said[-1]
    go_ahead = go_ahead_of(items, mask)
    if gives_data(items, row) or (go_ahead is not None and go_ahead.message == row and only_resumes(go_ahead)):
        return goal
    about = go_ahead is not None and go_ahead.message == row and bool(go_ahead.about)
    proposed = max((one for one in ends_of_turns(items) if asked < one < row), default=0)
    if (
        about and proposed and asks(text) and is_invited(items, row)
    ):  # the question itself was answered by what was proposed
        goal = f"what message {proposed} proposes"
    return f"{goal}, as message {row} says ({one_line(words, MAX_WORDS)})"


def _settle(
    own: Sequence[Call],
    errors: Sequence[tuple[int, ErrorMet]],
    calls: Sequence[Call],
    since: Sequence[Call],
    mask: Mask,
) -> Iterator[str]:
    """What changed files still need: a check, where the session made any, a commit that failed before, and where the
    session committed earlier work, another one."""
    checks = [place for place, call in enumerate(own) if _is_check(call) and call.answered]
    hooks = [place for place, call in enumerate(own) if checked_by_hook(call)]
    edits = [place for place, call in enumerate(own) if _is_edit(call) and call in since and not _is_prose(call)]
    if checks and edits and edits[-1] > max((*checks, *hooks)):
        last = own[checks[-1]]
        stopped = [call for call in own[checks[-1] :] if is_check(call.action.target) and is_stopped(call)]
        cut = f", was started again in message {stopped[-1].place[0] + 1} and stopped by a person" if stopped else ""
        ran = f"run `{_shown(last, mask)}` again, which ran last in message {last.place[0] + 1}{cut}"
        yield f"{ran}: files were changed since"
    if usual := _usual(own, checks, edits, mask):
        yield usual
    refused = [calls[number] for number, _ in errors if any(map(_COMMIT.match, programs(calls[number].action.target)))]
    if refused:
        yield f"commit, which failed in message {refused[-1].place[0] + 1}"
    elif since and _UNSAVED.search(since[-1].text) and "git status" in since[-1].action.target:
        yield "commit the changed files"
    elif _is_checked(own) and (files := uncommitted(calls, mask)) and COMMITTED in files:
        yield f"commit, if that is wished: {files}"


def _shown(call: Call, mask: Mask) -> str:
    return one_line(mask(viewless(call)), MAX_WORDS).replace("`", "'")


def _usual(own: Sequence[Call], checks: Sequence[int], edits: Sequence[int], mask: Mask) -> str:
    """Another check than the newest, which the session ran again and again, and not since the last edit."""
    ran: dict[str, list[int]] = {}
    for place in checks if edits else ():
        ran.setdefault(_shown(own[place], mask), []).append(place)
    newest = _shown(own[checks[-1]], mask) if checks else ""
    usual = [
        (places[-1], shown)
        for shown, places in ran.items()
        if shown != newest and len(places) >= USUAL and edits[-1] > places[-1] > len(own) - RECENT
    ]
    if not usual:
        return ""
    place, shown = max(usual)
    return f"run `{shown}`, as before, which ran last in message {own[place].place[0] + 1}: files were changed since"


def _is_check(call: Call) -> bool:
    """Whether a call checked something: not where a person stopped it."""
    return call.action.verb == "run" and is_check(call.action.target) and not is_stopped(call)


def _is_prose(call: Call) -> bool:
    """Whether an editing tool changed a text, which no check reads."""
    return call.action.verb in EDITS and _PROSE.search(call.action.target) is not None


def _is_edit(call: Call) -> bool:
    return (call.action.verb in EDITS and call.answered and not call.failed) or changes_by_shell(call)


def _todo(todos: Todos, calls: Sequence[Call]) -> str:
    """What a list says is next, without what later calls did: a list is ticked after the work. Empty: nothing is."""
    since = [call for call in calls[todos.calls :] if call.answered and not call.failed]
    named = [set(_FILE.findall(one.text)) for one in todos.open]
    written = {posixpath.basename(path) for path in _written(since)}
    if named and all(files and files <= written for files in named):
        names = ", ".join(sorted(frozenset[str]().union(*named)))
        return f"check and report: boxes of message {todos.message} not ticked since; files written since: {names}"
    ticks = ""
    for one in sorted(todos.open, key=lambda one: not one.in_progress):
        if did := _did(one, since):
            ticks += f" (message {did} did: {one_line(one.text, MAX_WORDS)})"
        else:
            return f"{'go on with' if one.in_progress else 'begin'}: {one.text}{ticks}"
    return f"report to the user: the last open todo is done{ticks}" if ticks else ""


def _since_list(todos: Todos, calls: Sequence[Call], mask: Mask) -> str:
    """Which files were changed after a list was: what it says is next may be done."""
    paths = changed_paths(calls[todos.calls :]) if todos.open else []
    if not paths:
        return ""
    more = f" and {len(paths) - MOST_NAMES} more" if len(paths) > MOST_NAMES else ""
    names = ", ".join(mask(posixpath.basename(path)) for path in paths[-MOST_NAMES:])
    return f" (changed since the list, of message {todos.message}: {names}{more})"


def _written(calls: Sequence[Call]) -> list[str]:
    """Files that calls changed, and those that a command says it made."""
    return list(dict.fromkeys((*changed_paths(calls), *(path for call in calls for path in made_files(call)))))


def _did(one: Todo, calls: Sequence[Call]) -> int:
    """Which message holds a call that did what a todo says, by its words, or the last of several that together have all
    of them, such as one for each image; 0: none."""
    words = _stems(one.text)
    seen: frozenset[str] = frozenset()
    runs = 0
    for call in calls:
        looked = call.action.verb in ("read", "search") or is_look(call)
        if looked or is_todo_tool(call.tool) or call.action.verb == "edit" or len(words) < 2:
            continue
        given = strings(call.args)
        if call.action.verb == "write":  # by what it is called and said to be, not by what stands in it
            given = (text for text in given if len(text) <= MAX_WORDS)
        said = _stems(" ".join([*given, call.text[:MAX_SHOWN]]))
        if len(words & said) >= len(words) * _DONE_SHARE:
            return call.place[0] + 1
        if call.action.verb == "run" and made_files(call) and len(words & said) >= len(words) * _PART_SHARE:
            seen, runs = seen | said, runs + 1
            if runs > 1 and words - _JOINS <= seen:
                return call.place[0] + 1
    return 0


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, map(str.lower, _WORD.findall(text))))


def uncommitted(calls: Sequence[Call], mask: Mask) -> str:
    """Which files editing tools changed since the last commit that went through, or since a look that showed all to be
    committed, and what commands did to files since; empty where the session made none."""
    tried = [
        place
        for place, call in enumerate(calls)
        if call.action.verb == "run" and any(map(_COMMIT.match, programs(call.action.target)))
    ]
    commits = [
        place
        for place in tried
        if calls[place].answered and not calls[place].failed and not _NOTHING.search(calls[place].text)
    ]
    seen = any("git status" in call.action.target and _UNSAVED.search(call.text) for call in calls)
    if not (tried or seen):
        return ""
    after = commits[-1] + 1 if commits else 0
    clean = [place for place, call in enumerate(calls) if place >= after and commits and _shows_clean_tree(call)]
    after = clean[-1] + 1 if clean else after
    paths = changed_paths(calls[after:])
    acts = [mask(words) for call in calls[after:] if not call.agent and (words := shell_acts(call))]
    if not (paths or acts):
        return ""
    names = [mask(posixpath.basename(path)) for path in paths[-MOST_NAMES:]]
    more = f" and {len(paths) - MOST_NAMES} more" if len(paths) > MOST_NAMES else ""
    seen_clean = f"; `git status` showed a clean tree in message {calls[clean[-1]].place[0] + 1}" if clean else ""
    when = (
        f"{COMMITTED} (message {calls[commits[-1]].place[0] + 1}{seen_clean})"
        if commits
        else "and no commit went through"
    )
    count = counted(len(paths), "file") if paths else "no file"
    told = [f"{count}{EDITED}{when}" + (f": {', '.join(names)}{more}" if names else "")]
    told += [f"by commands: {one_line('; '.join(acts[-MOST_NAMES:]), MAX_CALL)}"] if acts else []
    return "; ".join(told)


def _shows_clean_tree(call: Call) -> bool:
    return "git status" in call.action.target and _CLEAN.search(call.text) is not None


def started(calls: Sequence[Call], mask: Mask) -> str:
    """The task of a tracker that was started last, where no later command closed it; empty: none."""
    found, row = "", 0
    for call in calls:
        if call.action.verb != "run" or not call.answered or call.failed:
            continue
        for name, given in programs(call.action.target).items():
            if _TRACKERS.match(name) and _STARTS.search(call.action.target):
                found = next((word for word in sorted(given) if any(map(str.isdigit, word))), "")
                row = call.place[0] + 1
            elif found and found in given and _CLOSES.search(name):
                found = ""
    return f"{STARTED}{mask(found)} (message {row})" if found else ""
