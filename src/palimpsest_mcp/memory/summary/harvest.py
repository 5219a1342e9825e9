"""A summary filled from a session's items alone: no model, nothing invented, every quote verbatim and masked."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from ...models.items import Item
from ...models.summaries import AnchoredSummary, ChangedFile, ErrorMet, Point, PointKind, Ran, Said
from ...models.text import counted
from .calls import BY_USER, Call, calls_of, strings
from .errors_met import EDITS, errors_met, met_error
from .facts import call_line, named_call, newest_calls, runs_of, still_standing
from .merge import arranged
from .orders import orders_of, rejected
from .talk import (
    Mask,
    decisions_of,
    ended_in,
    ends_of,
    intent_of,
    is_unanswered,
    last_said,
    one_line,
    open_questions,
    replies_of,
    requests_of,
    spoken,
)
from .todos import Todos, is_todo_tool, todos_of
from .trail import trail

# Where the task stands: the newest request, what was done for it, what failed, is open and comes next: by outcomes.

MAX_POINT = 260
MOST_FILES = 8
"""Files that one line names."""
MOST_FINISHED = 8
MOST_COMMITS = 3
MOST_FAILED = 4
MOST_OPEN = 4
MOST_TOOLS = 4
"""Further tools whose calls are counted."""
MOST_LAST = 3
"""Newest calls that are told with what came of them."""
MAX_ASKED = 400
"""Characters of the newest request."""
MAX_ANSWER = 80
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
    lines: list[tuple[PointKind, Sequence[str]]] = [
        ("asked", [_asked(asked, items, mask)]),
        ("finished", [*before[-MOST_COMMITS:], *todos.finished[-MOST_FINISHED:]]),
        ("done", [*_done(since, [one for _, one in errors], sorted(made), mask)]),
        ("failed", [_error(one, calls[number]) for number, one in failed[-MOST_FAILED:]]),
        ("open", [*_open(failing, calls, items, todos, mask)] or ["none detected"]),
        ("next", [_next(items, calls, failing, todos if todos.message >= asked.message else None, mask)]),
    ]
    return tuple(Point(kind=kind, text=text) for kind, texts in lines for text in texts)


def _asked(asked: Said, items: Sequence[Item], mask: Mask) -> str:
    """The newest request, and a short answer such as "yes, do it" that came after it."""
    item, text = list(spoken(items, "user"))[-1]
    row = item.position[0] + 1
    then = f"; then message {row}: {one_line(mask(ends_of(text)), MAX_ANSWER)}" if row > asked.message else ""
    return f"message {asked.message}: {one_line(asked.text, MAX_ASKED)}{then}"


def _open(
    failing: Sequence[tuple[int, ErrorMet]], calls: Sequence[Call], items: Sequence[Item], todos: Todos, mask: Mask
) -> Iterator[str]:
    yield from (_error(one, calls[number]) for number, one in failing[-MOST_OPEN:])
    yield from (f"question to the user: {text}" for text in open_questions(items, mask)[-2:])
    if todos.open:
        yield f"{len(todos.open)} of {counted(todos.total, 'todo')} (list changed last in message {todos.message})"


def _done(calls: Sequence[Call], errors: Sequence[ErrorMet], commits: Sequence[str], mask: Mask) -> Iterator[str]:
    """What calls did for a request, with what came of them."""
    if not calls:
        yield "no call was made yet"
        return
    verbs = [call.action.verb for call in calls]
    names = {"read": "read", "search": "search", "run": "command"}
    told = [counted(verbs.count(verb), name) for verb, name in names.items() if verb in verbs]
    others = Counter(call.tool for call in calls if call.action.verb == "other" and not is_todo_tool(call.tool))
    told += [f"{tool or 'another tool'} {counted(times, 'time')}" for tool, times in others.most_common(MOST_TOOLS)]
    if told:
        failed = sum(map(met_error, calls))
        yield ", ".join(told) + (f"; {failed} of {counted(len(calls), 'call')} failed" if failed else "")
    yield from (f"last, {one}" for one in newest_calls(calls, mask, MOST_LAST))
    files = trail(calls).files
    if files:
        more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
        yield f"changed {counted(len(files), 'file')}: {', '.join(map(mask, short_names(files[-MOST_FILES:])))}{more}"
    yield from (f"committed {text}" for text in commits)
    yield from (ran(one) for one in still_standing(runs_of(calls, mask), errors))


def short_names(files: Sequence[ChangedFile]) -> list[str]:
    """Names of files without their folders, which Files Modified tells; with one folder where two have one name."""
    names = Counter(posixpath.basename(one.path) for one in files)
    return [
        "/".join(one.path.split("/")[-2:]) if names[name := posixpath.basename(one.path)] > 1 else name or one.path
        for one in files
    ]


def ran(one: Ran) -> str:
    """A run of a check as a person reads it."""
    verdict = {True: "failed", False: "went well", None: "ran, with no verdict"}[one.failed]
    command = one.command.replace("`", "'")
    when = f" (message {one.message})" if one.message else ""
    return f"`{command}` {verdict}{when}" + (f": {one.line}" if one.line else "")


def _commits(calls: Sequence[Call], artifacts: Sequence[str]) -> Iterator[str]:
    printed = [call.text for call in calls if call.action.verb == "run" and "commit" in call.action.target]
    return (one for one in artifacts if one.startswith("[") and any(one in text for text in printed))


def _error(one: ErrorMet, call: Call) -> str:
    by = "rejected by the user: " if call.action.verb in EDITS and BY_USER.search(call.text) else ""
    times = f", {one.times} times" if one.times > 1 else ""
    return one_line(f"{by}{one.error} (in: {one.where}, message {call.place[0] + 1}{times})", MAX_POINT)


def _next(
    items: Sequence[Item],
    calls: Sequence[Call],
    failing: Sequence[tuple[int, ErrorMet]],
    todos: Todos | None,
    mask: Mask,
) -> str:
    """The step that follows from what is open, the most pressing one.

    Args:
        todos: None where no list was touched for the newest request: an old plan is not what was asked for last.
    """
    left = todos.open if todos else ()
    begun = [f"go on with: {one.text}" for one in left if one.in_progress]
    todo = (*begun, *(f"begin: {one.text}" for one in left))[:1]
    if ended := ended_in(items):
        return f"nothing: the user ended the conversation in message {ended}"
    if is_unanswered(items):
        replies = replies_of(items, mask)
        newest = list(spoken(items, "user"))[-1][0].position[0] + 1
        if replies and replies[-1].message == newest:
            return f"act on the user's answer in message {newest}: {one_line(replies[-1].text, MAX_ANSWER)}"
        if not (todo or failing) or requests_of(items, mask)[-1].message == newest:
            return "do what was asked last; nothing was answered yet"
    if questions := open_questions(items, mask):
        return f"wait for the user's answer to: {questions[-1]}"
    main = [item for item in items if not item.agent and item.kind != "thinking"]
    if main and main[-1].role == "assistant" and main[-1].kind == "message":
        waits = f"the agent had the last word, in message {main[-1].position[0] + 1}"
        return f"{todo[0]}, unless the user says otherwise: {waits}" if todo else f"wait for the user: {waits}"
    own = [call for call in calls if not (call.agent or is_todo_tool(call.tool))]
    if own and not own[-1].answered:
        return "; then ".join((f"see what came of {named_call(own[-1], mask)}", *todo))
    if failing:
        number, one = failing[-1]
        return f"settle what failed last, in message {calls[number].place[0] + 1}: {one_line(one.where, MAX_ANSWER)}"
    if todos and left and not begun and own and own[-1].place[0] >= todos.message:
        return f"go on after {call_line(own[-1], mask)}; first on the list: {left[0].text}"
    if todo:
        return todo[0]
    return f"go on after {call_line(own[-1], mask)}" if own else "none detected"


# Things a session made that are not files: commits, pull requests, presented files, evidence.


MAX_ARTIFACT = 200
MAX_PRINTED = 5_000
"""Characters at the end of a result in which the link to what was just made is looked for."""
_COMMIT = re.compile(r"^\[\S+(?: \(root-commit\))? [0-9a-f]{7,40}\] .+$", re.MULTILINE)
_MADE_URL = re.compile(r"https?://[^\s\"'<>]+/(?:pull|pulls|merge_requests|issues|releases/tag|commit)/[\w.-]+")
_MAKES = re.compile(r"\bgit (?:-\S+ \S+ )*(?:commit|merge|cherry-pick|revert|rebase)\b")
_ASKS = re.compile(r"\b(?:gh|glab|hub) (?:pr|mr|issue|release) create\b|\bpull-request\b")
_PRESENTS = ("present_files", "present_file")


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
            if _MAKES.search(target):
                yield from (one_line(mask(line), MAX_ARTIFACT) for line in _COMMIT.findall(call.text))
            if _ASKS.search(target):
                yield from (one_line(mask(url), MAX_ARTIFACT) for url in _MADE_URL.findall(call.text[-MAX_PRINTED:]))


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
    todos = todos_of(calls, mask)
    orders = orders_of(items, mask)
    errors = errors_met(calls, mask)
    artifacts = artifacts_of(items, calls, mask)
    here = [item for item in items if item.id not in gone] if gone else items
    return AnchoredSummary(
        session=session,
        standing_orders=orders.standing,
        withdrawn_orders=orders.withdrawn,
        session_intent=intent_of(items, mask),
        checkpoint=checkpoint(here, calls, errors, todos, artifacts, mask),
        files_modified=arranged(made.files),
        decisions_made=rejected(decisions_of(items, mask), items, mask),
        technical_context=tuple(_context(made.unnamed, project)),
        todos=todos.open,
        todos_done=todos.done,
        todos_total=todos.total,
        last_said=last_said(here, mask),
        errors_encountered=tuple(one for _, one in errors),
        key_artifacts=artifacts,
        files_read=len({call.action.target for call in _good(calls, "read")} - {""}),
        commands_run=sum(1 for call in calls if call.action.verb == "run"),
        searches=sum(1 for call in calls if call.action.verb == "search"),
    )


def _good(calls: Sequence[Call], verb: str) -> list[Call]:
    return [call for call in calls if call.action.verb == verb and not call.failed]


def _context(unnamed: int, project: str) -> list[str]:
    found = [f"Working folder: {project}"] if project else []
    if unnamed:
        found.append(UNNAMED)
    return found


UNNAMED = "Some shell commands changed files that only a variable in them names; those files are not listed."
