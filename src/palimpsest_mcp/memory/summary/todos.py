"""Open todos: from todo tools, and from check boxes of plan files that the session itself wrote and edited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ...models.summaries import Said, Todo
from ...models.text import counted
from .calls import Call
from .quotes import Mask, one_line
from .trail import edits_of

MAX_TODO = 160
FEW_TICKED = 3
MOST_BOXES = 12
"""Open boxes of plan files that are told one by one."""
_BOX = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)]) \[([ xX~/-])\] +(\S.*)$", re.MULTILINE)
_SKIPPED = re.compile(
    r"[*_~]{0,3}(?:skip(?:ped)?|cancell?ed|dropped|obsolete|won'?t do|not needed|n/a)\b", re.IGNORECASE
)
"""How a box begins that nobody is going to tick."""
_LISTS = ("todos", "plan", "tasks", "items", "todo_list")
_TEXTS = ("content", "step", "text", "title", "subject", "task", "description")
_DONE = frozenset(("completed", "done", "complete", "finished", "cancelled", "canceled"))
_DOING = frozenset(("in_progress", "in-progress", "doing", "active", "started"))
_TOOLS = re.compile(r"todo|update_plan|task_?list|set_?tasks|^plan$|write_?plan", re.IGNORECASE)
_ONE_BY_ONE = ("TaskCreate", "TaskUpdate")
_NUMBER = re.compile(r"#(\d{1,6})")


class Todos(NamedTuple):
    """What is open, and how much is done."""

    open: tuple[Todo, ...]
    done: int
    total: int
    finished: tuple[str, ...] = ()
    """Texts of what is done, oldest first."""
    message: int = 0
    """Which message changed a list last, from 1; 0: none did."""
    boxes: int = 0
    """How many of the open ones are boxes of plan files; they stand last."""
    ticked: int = 0
    """How many boxes of plan files are done."""
    calls: int = 0
    """How many calls were made up to the one that changed a list last; 0: none did."""


def ticked(todos: Todos, asked: int) -> tuple[str, ...]:
    """What is done; of a longer list that was changed last before the newest request only how much: it leads nowhere.

    Args:
        asked: message of the newest request.
    """
    if todos.message >= asked or len(todos.finished) <= FEW_TICKED:
        return todos.finished
    return (f"{counted(len(todos.finished), 'todo')} of lists, changed last in message {todos.message}",)


def todos_of(calls: Sequence[Call], mask: Mask) -> Todos:
    """The newest todo list, tasks made one by one, and the check boxes of plan files that still exist."""
    listed: dict[str, str] = {}
    tasks: dict[str, tuple[str, str]] = {}
    plans: dict[str, dict[str, str]] = {}
    message = upto = 0
    for number, call in enumerate(calls, 1):
        if call.failed:
            continue
        before = {path: dict(boxes) for path, boxes in plans.items()}
        if (entries := _list_of(call)) is not None:
            listed = entries
        elif call.tool in _ONE_BY_ONE:
            _task(call, tasks)
        else:
            _plan(call, plans)
        if is_todo_tool(call.tool) or plans != before:
            message, upto = call.place[0] + 1, number
    states = [*listed.items(), *tasks.values(), *(pair for boxes in plans.values() for pair in boxes.items())]
    left = [(text, state) for text, state in states if state != "done"]
    return Todos(
        open=tuple(Todo(text=one_line(mask(text), MAX_TODO), in_progress=state == "doing") for text, state in left),
        done=len(states) - len(left),
        total=len(states),
        finished=tuple(one_line(mask(text), MAX_TODO) for text, state in states if state == "done"),
        message=message,
        boxes=sum(state != "done" for boxes in plans.values() for state in boxes.values()),
        ticked=sum(state == "done" for boxes in plans.values() for state in boxes.values()),
        calls=upto,
    )


def without_old_boxes(todos: Todos, requests: Sequence[Said]) -> Todos:
    """The todos, where a request came since they were touched without the open boxes of plan files: whether such a plan
    still stands nobody can tell. What was ticked off stays ticked off. Of a long plan the open boxes are only counted:
    what comes next is no list of fifty."""
    if todos.boxes > MOST_BOXES and not (requests and requests[-1].message > todos.message):
        return todos._replace(open=todos.open[: len(todos.open) - todos.boxes], boxes=0)
    if not todos.boxes or not requests or requests[-1].message <= todos.message:
        return todos
    return todos._replace(
        open=todos.open[: len(todos.open) - todos.boxes],
        done=todos.done - todos.ticked,
        total=todos.total - todos.ticked - todos.boxes,
        boxes=0,
    )


def is_todo_tool(name: str) -> bool:
    """Whether a tool keeps a todo list."""
    return _TOOLS.search(name) is not None or name in _ONE_BY_ONE


def _state(word: Any) -> str:
    name = str(word).lower()
    return "done" if name in _DONE else "doing" if name in _DOING else "open"


def _list_of(call: Call) -> dict[str, str] | None:
    """The whole list that a todo tool was given; None for any other call."""
    if not _TOOLS.search(call.tool):
        return None
    for key in _LISTS:
        found = call.args.get(key)
        if isinstance(found, list):
            entries: dict[str, str] = {}
            for entry in cast("list[Any]", found):
                if isinstance(entry, Mapping):
                    fields = cast("Mapping[str, Any]", entry)
                    text = next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), "")
                    if text:
                        entries[text] = _state(fields.get("status", fields.get("state", "")))
            return entries
    return None


def _task(call: Call, tasks: dict[str, tuple[str, str]]) -> None:
    """Tasks that are made and changed one by one, as newer Claude Code does."""
    if call.tool == "TaskCreate":
        found = _NUMBER.search(call.text)
        subject = call.args.get("subject")
        if isinstance(subject, str):
            tasks[found[1] if found else str(len(tasks) + 1)] = (subject, "open")
        return
    name = str(call.args.get("taskId", ""))
    if name in tasks and "status" in call.args:
        tasks[name] = (tasks[name][0], _state(call.args["status"]))
        if call.args["status"] == "deleted":
            del tasks[name]


def _plan(call: Call, plans: dict[str, dict[str, str]]) -> None:
    """Follows the check boxes of a file through what the session writes into it."""
    path = call.action.target
    if call.action.verb == "write":
        content = next((v for k in ("content", "file_text", "text") if isinstance(v := call.args.get(k), str)), "")
        plans.pop(path, None)
        if boxes := dict(_boxes(content)):
            plans[path] = boxes
    elif call.action.verb == "edit":
        for old, new in edits_of(call.args):
            before, after = dict(_boxes(old)), dict(_boxes(new))
            if after or before:
                plans[path] = _edited(plans.get(path, {}), before, after)
    elif call.action.verb == "run" and plans:
        for name in [name for name in plans if f"rm {name}" in call.action.target]:
            del plans[name]


def _edited(boxes: dict[str, str], old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """Boxes of a file with others in the place of those that an edit took out: what comes first is done first."""
    texts = list(boxes)
    at = min((texts.index(text) for text in old if text in boxes), default=len(texts))
    before = {text: state for text, state in list(boxes.items())[:at] if text not in new}
    after = {text: state for text, state in list(boxes.items())[at:] if text not in old and text not in new}
    return {**before, **new, **after}


def _boxes(text: str) -> Iterator[tuple[str, str]]:
    for mark, words in _BOX.findall(text):
        if mark in "xX" or not _SKIPPED.match(words):
            yield words.strip(), "done" if mark in "xX" else "doing" if mark in "~/-" else "open"
