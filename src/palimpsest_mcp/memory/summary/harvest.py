"""A summary filled from a session's items alone: no model, nothing invented, every quote verbatim and masked."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from ...models.items import Item
from ...models.summaries import AnchoredSummary, ChangedFile, Decision, ErrorMet, Point, PointKind, Ran, Said
from ...models.text import counted
from ..absent import NOTHING_OPEN
from .answers import answers_of, is_spent, only_resumes
from .calls import BY_USER, Call, calls_of, strings, unquoted
from .errors_met import EDITS, MADE_COMMIT, errors_met, met_error, pasted_error, programs, was_not_made
from .facts import runs_of, still_standing
from .merge import arranged
from .next_step import BEFORE_IT, LISTED, next_step, started, uncommitted
from .orders import orders_of, rejected
from .plans import decisions_of, remains_of
from .quotes import Mask, one_line, spoken
from .talk import (
    BEFORE,
    go_ahead_of,
    heard,
    intent_of,
    last_said,
    newest_said,
    not_answered,
    open_questions,
    requests_of,
)
from .todos import Todos, is_todo_tool, ticked, todos_of, without_old_boxes
from .told import call_line, changes_made, is_done_act, looked_at, made_files, newest_calls, since_said
from .trail import edits_of, trail

# Where the task stands: the newest request, what was done for it, what failed, is open and comes next: by outcomes.

MAX_POINT = 260
MOST_FILES = 8
"""Files that one line names."""
MOST_FINISHED = 8
MOST_COMMITS = 3
MOST_ACTS = 3
MOST_FAILED = 4
MOST_OPEN = 4
MOST_TOOLS = 4
"""Further tools whose calls are counted."""
MOST_LAST = 3
"""Newest calls that are told with what came of them."""
MAX_ASKED = 1_200
"""Characters of the newest request."""
MAX_ANSWER = 160
MAX_BEFORE = 160
WENT_ON = 4
"""An error in so many of the newest calls is being worked on; an earlier one was left behind."""


def checkpoint(
    items: Sequence[Item],
    calls: Sequence[Call],
    errors: Sequence[tuple[int, ErrorMet]],
    todos: Todos,
    artifacts: Sequence[str],
    mask: Mask,
) -> tuple[Point, ...]:
    """The state of the newest request; empty where nothing was asked.

    Args:
        items: what the host still has, in its order.
        calls: all that were made.
        errors: with the number of the call that met each last.
        artifacts: commits and what else was made, masked.
    """
    asked = next(iter(requests_of(items, mask)[-1:]), None)
    if asked is None:
        return ()
    first = next((number for number, call in enumerate(calls) if call.place[0] >= asked.message), len(calls))
    since = [call for call in calls[first:] if not call.agent]
    made = set(_commits(since, artifacts))
    before = [text for text in artifacts if text.startswith("[") and text not in made]
    left = {one.error: (number, one) for number, one in errors if not one.resolution and number >= first}
    failing = [pair for pair in left.values() if pair[0] >= len(calls) - WENT_ON]
    failed = [pair for pair in left.values() if pair not in failing]
    is_fresh = todos.message >= asked.message
    boxes = ticked(todos, asked.message)[-MOST_FINISHED:]
    lines: list[tuple[PointKind, Sequence[str]]] = [
        ("asked", [_asked(asked, items, calls, mask)]),
        ("finished", [*_gone_through(calls[:first], mask), *before[-MOST_COMMITS:], *boxes]),
        ("done", [*_done(since, [one for _, one in errors], sorted(made), mask)]),
        ("failed", [_error(one, calls[number]) for number, one in failed[-MOST_FAILED:]]),
        ("open", [*_open(failing, calls, items, todos, asked, mask)] or [NOTHING_OPEN]),
        ("next", [next_step(items, calls, [*left.values()], failing, todos if is_fresh else None, mask)]),
    ]
    return tuple(Point(kind=kind, text=text) for kind, texts in lines for text in texts)


def _gone_through(calls: Sequence[Call], mask: Mask) -> list[str]:
    """What calls for earlier requests booked, cancelled or sent."""
    return [f"went through: {call_line(call, mask)}" for call in calls if is_done_act(call)][-MOST_ACTS:]


def _asked(asked: Said, items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> str:
    """A short answer such as "yes, do it" that came after the newest request, and the request; or the request with an
    answer to a question of a tool."""
    row, words, _ = list(heard(items, calls, mask))[-1]
    if (go_ahead := go_ahead_of(items, mask)) is not None and not only_resumes(go_ahead):
        about = f" (said to: {go_ahead.about})" if go_ahead.about else ""
        said = f"message {go_ahead.message}: {go_ahead.text}{about}"
        then = f"message {row}: {one_line(words, MAX_ANSWER)}; before it, {said}" if row > go_ahead.message else said
        return f"{then}; before it, message {asked.message}: {one_line(asked.text, MAX_ASKED)}"
    about = f" (said to: {asked.about})" if asked.about else ""
    goes_on = go_ahead is not None and row == go_ahead.message and any(call.place[0] >= row for call in calls)
    then = f"; then message {row}: {one_line(words, MAX_ANSWER)}" if row > asked.message and not goes_on else ""
    return f"message {asked.message}: {one_line(asked.text, MAX_ASKED)}{about}{then}{_before(items, mask)}"


def _before(items: Sequence[Item], mask: Mask) -> str:
    """The request before the newest, which a correction or an addition leans on."""
    earlier = [one for one in requests_of(items, mask)[1:-1] if not one.overturned]
    told = f"; the request before it, message {earlier[-1].message}: " if earlier else ""
    return told and told + one_line(earlier[-1].text, MAX_BEFORE)


def _open(
    failing: Sequence[tuple[int, ErrorMet]],
    calls: Sequence[Call],
    items: Sequence[Item],
    todos: Todos,
    asked: Said,
    mask: Mask,
) -> Iterator[str]:
    yield from (_error(one, calls[number]) for number, one in failing[-MOST_OPEN:])
    yield from (f"question to the user: {text}" for text in open_questions(items, mask)[-2:])
    if todos.total > todos.done:
        old = "" if todos.message >= asked.message else BEFORE_IT
        left = todos.total - todos.done
        yield f"{left} of {counted(todos.total, 'todo')}{LISTED}{todos.message}{old})"
    if files := uncommitted(calls, mask):
        yield files
    if words := started(calls, mask):
        yield words
    if words := not_answered(items, mask):
        yield f"the {words}"


def _done(calls: Sequence[Call], errors: Sequence[ErrorMet], commits: Sequence[str], mask: Mask) -> Iterator[str]:
    """What calls did for a request, with what came of them."""
    if not calls:
        yield "no call was made yet"
        return
    came = [call for call in calls if not is_todo_tool(call.tool) and call.action.verb not in EDITS]
    good = Counter(call.tool for call in came if not (met_error(call) or was_not_made(call)))
    if told := [f"{tool or 'a tool'} {counted(times, 'time')}" for tool, times in good.most_common(MOST_TOOLS)]:
        more = sum(good.values()) - sum(times for _, times in good.most_common(MOST_TOOLS))
        yield ", ".join([*told, *([f"{counted(more, 'other call')}"] if more else [])])
    yield from _failures(calls, errors)
    yield from (f"{'last' if newest else 'earlier'}, {one}" for newest, one in newest_calls(calls, mask, MOST_LAST))
    changed = trail(calls).files
    files = [one for one in changed if not one.path.endswith("/")]
    if files:
        more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
        yield f"changed {counted(len(files), 'file')}: {', '.join(map(mask, short_names(files[-MOST_FILES:])))}{more}"
    yield from changes_made(calls, mask)
    yield from looked_at(calls, mask)
    if folders := [one.path for one in changed if one.path.endswith("/")]:
        yield f"put files into {', '.join(map(mask, folders[-MOST_LAST:]))}"
    yield from (f"committed {text}" for text in commits)
    yield from (ran(one) for one in still_standing(runs_of(calls, mask), errors))


def _failures(calls: Sequence[Call], errors: Sequence[ErrorMet]) -> Iterator[str]:
    """How many calls failed, and how many the host did not make because of them; and whether anything of it is open."""
    unmade = sum(map(was_not_made, calls))
    failed = sum(1 for call in calls if met_error(call) and not was_not_made(call))
    if failed:
        beside = f"; {unmade} more {'was' if unmade == 1 else 'were'} not made by the host" if unmade else ""
        still = "" if any(not one.resolution for one in errors) else "; nothing of it is open"
        yield f"{counted(failed, 'call')} failed{beside}{still}"


def short_names(files: Sequence[ChangedFile]) -> list[str]:
    """Names of files without their folders, which Files Modified tells; with one folder where two have one name."""
    names = Counter(posixpath.basename(one.path) for one in files)
    return [
        "/".join(one.path.split("/")[-2:]) if names[name := posixpath.basename(one.path)] > 1 else name or one.path
        for one in files
    ]


def is_good(one: Ran) -> bool:
    """Whether a run of a check went well, as far as its output shows."""
    return one.failed is False or (one.failed is None and one.clean)


def ran(one: Ran) -> str:
    """A run of a check as a person reads it."""
    view = one.view.replace("`", "'")
    part = f"ran, and what `{view}` showed of it" if view else "ran and"
    clean = f"{part} has no error" if view else "ran and shows no error"
    unsaid = clean if one.clean else f"{part} names places in files" if one.placed else "ran, with no verdict"
    verdict = {True: "failed", False: "went well", None: unsaid}[one.failed]
    command = one.command.replace("`", "'")
    edits = [f"edits of {counted(one.edited_since, 'file')}"] if one.edited_since else []
    edits += [f"{counted(one.shell_since, 'command')} that changed files"] if one.shell_since else []
    since = f"before later {' and '.join(edits)}" if edits else ""
    hook = f"a hook checked again in message {one.hook}" if one.hook else ""
    stopped = f"started again in message {one.stopped} and stopped by a person" if one.stopped else ""
    at = ", ".join(filter(None, (f"message {one.message}" if one.message else "", hook, stopped, since)))
    when = f" ({at})" if at else ""
    return f"`{command}` {verdict}{when}" + (f": {one.line}" if one.line else "")


def _commits(calls: Sequence[Call], artifacts: Sequence[str]) -> Iterator[str]:
    printed = [call.text for call in calls if call.action.verb == "run" and "commit" in call.action.target]
    return (one for one in artifacts if one.startswith("[") and any(one in text for text in printed))


def _error(one: ErrorMet, call: Call) -> str:
    by = "rejected by the user: " if call.action.verb in EDITS and BY_USER.search(call.text) else ""
    times = f", {one.times} times" if one.times > 1 else ""
    return one_line(f"{by}{one.error} (in: {one.where}, message {call.place[0] + 1}{times})", MAX_POINT)


# Things a session made that are not files: commits, pull requests, presented files, evidence.


MAX_ARTIFACT = 200
MAX_CLOSED = 80
_LISTS = re.compile(r"(?:ls|list|tree|glob)(?![a-z])", re.IGNORECASE)
"""Tools that list a folder: no search."""
_FOLDER = re.compile(r"^\s*cd \S+\s*&&\s*")
MAX_PRINTED = 5_000
"""Characters at the end of a result in which the link to what was just made is looked for."""
_COMMIT = re.compile(r"^\[\S+(?: \(root-commit\))? [0-9a-f]{7,40}\] .+$", re.MULTILINE)
_MADE_URL = re.compile(r"https?://[^\s\"'<>]+/(?:pull|pulls|merge_requests|issues|releases/tag|commit)/[\w.-]+")
_MAKES = re.compile(r"\bgit (?:-\S+ \S+ )*(?:commit|merge|cherry-pick|revert|rebase)\b")
_ASKS = re.compile(r"\b(?:gh|glab|hub) (?:pr|mr|issue|release) create\b|\bpull-request\b")
_PRESENTS = ("present_files", "present_file")
_CLOSES = re.compile(
    r"^(?:gh|glab|hub) (?:pr|mr|issue)$|^(?:bd|br|beads|linear|jira) (?:close|done|resolve)$"
    r"|^(?:npm|cargo|twine) (?:publish|upload)$"
)
"""Programs that end something outside of the folder: issues, requests, releases."""
_ENDS_IT = re.compile(r"\b(?:close|merge|resolve|done|publish|upload)\b")


def artifacts_of(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[str, ...]:
    """Commits (the line with branch, hash and subject that git prints), links to what was opened, files that were
    presented, evidence with its address; each once, in order."""
    found = [*_from_calls(calls, mask), *_evidence(items, mask)]
    return tuple(dict.fromkeys(text for text in found if text))


def _from_calls(calls: Sequence[Call], mask: Mask) -> Iterator[str]:
    for call in calls:
        if call.failed:
            continue
        if call.tool in _PRESENTS:
            yield from (f"presented {one_line(mask(text), MAX_ARTIFACT)}" for text in strings(call.args) if "/" in text)
        elif call.action.verb == "run":
            target = call.action.target
            ran = [name for name in programs(target) if _CLOSES.match(name)]
            if ran and _ENDS_IT.search(unquoted(target)):
                words = takewhile(_is_plain, unquoted(_FOLDER.sub("", target)).split())
                yield f"ran `{one_line(mask(' '.join(words)), MAX_CLOSED).replace('`', '')}`"
            yield from (f"made {one_line(mask(path), MAX_ARTIFACT)}" for path in made_files(call))
            if _MAKES.search(target):
                yield from (one_line(mask(line), MAX_ARTIFACT) for line in _COMMIT.findall(call.text))
            if _ASKS.search(target):
                yield from (one_line(mask(url), MAX_ARTIFACT) for url in _MADE_URL.findall(call.text[-MAX_PRINTED:]))


def _is_plain(word: str) -> bool:
    """Whether a word of a command line is neither option nor operator."""
    return word[0] not in "-|&;<>" and ">" not in word


def _evidence(items: Sequence[Item], mask: Mask) -> Iterator[str]:
    for item in items:
        if item.kind == "evidence" and item.url:
            yield one_line(mask(f"{item.title}: {item.url}" if item.title else item.url), MAX_ARTIFACT)


def harvest(
    items: Sequence[Item], mask: Mask, *, session: str = "", project: str = "", gone: Collection[str] = ()
) -> AnchoredSummary:
    """What a session's items say of it.

    Args:
        items: every item ever seen, also what left the context since, in the host's order.
        mask: masks secrets; every quoted text goes through it before it is cut.
        session: the handle.
        project: the folder that the host works in.
        gone: ids of items that the host has no more (a rewind): they say nothing of where the work stands.
    """
    calls = calls_of(items)
    made = trail(calls)
    here = [item for item in items if item.id not in gone] if gone else items
    todos = without_old_boxes(todos_of(calls, mask), requests_of(here, mask))
    orders = orders_of(items, mask)
    errors = errors_met(calls, mask, [item.position[0] for item, _ in spoken(items, "user")])
    artifacts = artifacts_of(items, calls, mask)
    decided, outdated = _decided(items, calls, mask)
    return AnchoredSummary(
        session=session,
        standing_orders=orders.standing,
        withdrawn_orders=orders.withdrawn,
        session_intent=intent_of(items, mask),
        checkpoint=checkpoint(here, calls, errors, todos, artifacts, mask),
        files_modified=arranged(made.files),
        decisions_made=decided,
        outdated_decisions=outdated,
        technical_context=tuple(_context(made.unnamed, project)),
        next_steps=tuple(filter(None, [remains_of(here, mask)])),
        todos=todos.open,
        todos_done=todos.done,
        todos_total=todos.total,
        last_said=_last_said(here, calls, mask),
        errors_encountered=(*(one for _, one in errors), *_pasted(here, errors, mask)),
        key_artifacts=artifacts,
        files_read=len({path for call in _good(calls, "read") if (path := call.action.target) and "://" not in path}),
        commands_run=sum(1 for call in calls if call.action.verb == "run"),
        searches=sum(1 for call in calls if call.action.verb == "search" and not _LISTS.match(call.tool)),
    )


def _pasted(items: Sequence[Item], errors: Sequence[tuple[int, ErrorMet]], mask: Mask) -> Iterator[ErrorMet]:
    """The error that the user pasted into the newest request, where no tool met it."""
    asked = requests_of(items, mask)[-1:]
    for item, text in spoken(items, "user") if asked else ():
        if item.position[0] + 1 == asked[0].message:
            known = {one.error for _, one in errors}
            yield from (one for one in pasted_error(text, asked[0].message, mask) if one.error not in known)


def _decided(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> tuple[tuple[Decision, ...], tuple[str, ...]]:
    """What the agent stated as its decisions, struck where the user rejected it, and what the user answered, in the
    order in which it was said; an answer that struck one stands there. Then the answers of whose edits nothing is
    left."""
    heard_at = [item.position[0] for item, _ in spoken(items, "user")]
    answers = answers_of(items, calls, mask)
    commits = [call.place[0] for call in calls if call.action.verb == "run" and MADE_COMMIT.search(call.text)]
    old = [one for row, one in answers if is_spent(row, items, commits) or _is_written_over(row, calls, heard_at)]
    stand = [pair for pair in answers if pair[1] not in old]
    both = sorted([*decisions_of(items, mask), *stand], key=lambda pair: pair[0])
    found = rejected(both, items, mask)
    by = [one.superseded_by for one in found if one.superseded_by]
    told = tuple(one for one in found if not any(words in one.decision for words in by))
    return told, tuple(one.decision for one in old)


def _is_written_over(row: int, calls: Sequence[Call], heard_at: Sequence[int]) -> bool:
    """Whether all that was edited upon an answer of the user was written anew for a later message.

    Args:
        row: of the answer.
        heard_at: rows of what the user said.
    """
    until = next((at for at in heard_at if at > row), None)
    if until is None:
        return False
    edits = [call for call in calls if call.action.verb in EDITS and call.answered and not call.failed]
    made = [lines for call in edits if row <= call.place[0] < until and (lines := _lines_made(call))]
    later = [call for call in edits if call.place[0] >= until]
    return bool(made) and all(
        lines <= frozenset[str]().union(*(_lines_gone(call) for call in later if call.action.target == path))
        for path, lines in made
    )


def _lines_made(call: Call) -> tuple[str, frozenset[str]] | None:
    """The file of an edit, and the lines that it brought in; None where it brought none."""
    lines = frozenset(row for old, new in edits_of(call.args) for row in _rows(new) - _rows(old))
    return (call.action.target, lines) if lines else None


def _lines_gone(call: Call) -> frozenset[str]:
    """Lines that an edit took out."""
    return frozenset(row for old, new in edits_of(call.args) for row in _rows(old) - _rows(new))


def _rows(text: str) -> set[str]:
    return {row.strip() for row in text.splitlines() if row.strip()}


def _last_said(items: Sequence[Item], calls: Sequence[Call], mask: Mask) -> str:
    """How the agent's newest message begins, and what came after it: an announcement that calls followed is no plan."""
    said, newest = last_said(items, mask), newest_said(items, mask)
    if newest is None:
        return said
    since = since_said(newest.message, calls)
    if newest.is_thought:
        words = one_line(newest.text, MAX_ANSWER)
        return f"{since}, a thought: {words}" if since else f"a thought: {words}"
    return said if said.endswith(BEFORE) else (f"{since}: " if since else "") + said


def _good(calls: Sequence[Call], verb: str) -> list[Call]:
    return [call for call in calls if call.action.verb == verb and not call.failed]


def _context(unnamed: int, project: str) -> list[str]:
    found = [f"Working folder: {project}"] if project else []
    if unnamed:
        found.append(UNNAMED)
    return found


UNNAMED = "Some shell commands changed files that only a variable in them names; those files are not listed."
