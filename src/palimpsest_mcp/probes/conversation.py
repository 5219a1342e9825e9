"""Probes of what was said and done: the task, decisions, questions, plans, and the files and commands of the calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..specifics.cues import ASKS, BECAUSE, DECIDED, NEXT, sentences
from .asking import Original, Probe, probe
from .wording import LEAST, clipped, first_line, values_of

MAX_DECISIONS = 60
"""Newest sentences that word a decision."""
QUESTION_MESSAGES = 3
"""Newest messages in which a question still waits for its answer."""
MAX_STEPS = 8
MAX_COMMANDS = 200
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX~-]\][ \t]+)?(\S.*)$")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (\S.*?)\s*$", re.MULTILINE)
_TODO_TOOL = re.compile(r"todo|update_plan|task_?list|^plan$", re.IGNORECASE)
_DONE = ("completed", "done", "complete", "finished", "in_progress", "in-progress", "doing")


def conversation_probes(originals: Sequence[Original]) -> Iterator[Probe]:
    """Probes of messages and calls. They mostly stay, and then answer for themselves; a host that dropped some, or a
    summary that stands for them, is what these find out about."""
    messages = [one for one in originals if _is_said(one)]
    calls = [one for one in originals if one.item.kind == "tool_call"]
    yield from _intent(messages)
    yield from _files(calls)
    yield from _decisions(messages)
    yield from _questions(messages)
    yield from _plan(messages, calls)


def _is_said(one: Original) -> bool:
    kinds = ("message", "original_query", "clarify_verification")
    return one.item.role in ("user", "assistant") and one.item.kind in kinds and bool(one.text.strip())


def _intent(messages: Sequence[Original]) -> Iterator[Probe]:
    asked = [one for one in messages if one.item.role == "user"]
    ends = ([(asked[0], "first")] if asked else []) + ([(asked[-1], "last")] if len(asked) > 1 else [])
    for one, what in ends:
        if expected := values_of(first_line(one.text, 1)):
            yield probe("intent", f"What did the user ask for {what}?", expected, one.item, critical=True)


def _files(calls: Sequence[Original]) -> Iterator[Probe]:
    """One probe a file that was read, one a file that was changed, one a command: from the calls' own arguments."""
    read: dict[str, Original] = {}
    changed: dict[str, Original] = {}
    run: dict[str, Original] = {}
    for one in calls:
        action = one.item.action
        if action is None or not action.target.strip():
            continue
        verb, target = action.verb, action.target.strip()
        if verb in ("write", "edit"):
            for path in _PATCHED.findall(one.text) or [target]:
                changed.setdefault(path, one)
        elif verb == "read":
            read.setdefault(target, one)
        elif verb == "run":
            run.setdefault(clipped(target.partition("\n")[0]), one)
    for path, one in read.items():
        yield probe("file_path", "Which file was read by this call?", (path,), one.item, critical=True)
    for path, one in changed.items():
        yield probe("file_changes", "Which file was changed by this call?", (path,), one.item, critical=True)
    for command, one in list(run.items())[-MAX_COMMANDS:]:
        if len(command) >= LEAST:
            yield probe("recall", "Which command was run by this call?", (command,), one.item)


def _decisions(messages: Sequence[Original]) -> Iterator[Probe]:
    found: dict[str, Original] = {}
    for one in messages:
        for sentence in sentences(one.text, DECIDED):
            found.setdefault(sentence, one)
    for sentence, one in list(found.items())[-MAX_DECISIONS:]:
        why = BECAUSE.search(sentence)
        what, reason = (sentence[: why.start()], sentence[why.start() :]) if why else (sentence, "")
        if expected := values_of(what):
            yield probe("decision", "What was decided here?", expected, one.item, critical=True)
        if reason and (expected := values_of(reason)):
            yield probe("rationale", "Why was that decided?", expected, one.item)


def _questions(messages: Sequence[Original]) -> Iterator[Probe]:
    for one in messages[-QUESTION_MESSAGES:]:
        for sentence in list(sentences(one.text, ASKS))[:MAX_STEPS]:
            if expected := values_of(sentence):
                yield probe("blocker", "Which question is open?", expected, one.item)


def _plan(messages: Sequence[Original], calls: Sequence[Original]) -> Iterator[Probe]:
    """Where the work stands: the newest todo list, else the agent's last words; steps under the newest heading."""
    told = next((one for one in reversed(calls) if _TODO_TOOL.search(one.item.tool_name)), None)
    steps = _todos(told.item.args) if told is not None else []
    if told is not None and steps:
        for text, status in steps:
            kind, question = ("progress", "What is done or being done?") if status else ("next_steps", "What is next?")
            yield probe(kind, question, (clipped(text),), told.item, critical=True)
    answers = [one for one in messages if one.item.role == "assistant"]
    if not steps and answers and (expected := values_of(first_line(answers[-1].text))):
        yield probe("progress", "Where does the work stand?", expected, answers[-1].item, critical=True)
    headed = next((one for one in reversed(answers) if NEXT.search(one.text)), None)
    for step in _listed(headed.text) if headed is not None else ():
        assert headed is not None
        yield probe("next_steps", "What is next?", (step,), headed.item, critical=True)


def _todos(args: Mapping[str, Any] | None) -> list[tuple[str, bool]]:
    """Entries of a todo list with whether they are done or under way."""
    lists = [cast("list[Any]", value) for value in (args or {}).values() if isinstance(value, list)]
    found: list[tuple[str, bool]] = []
    for entry in lists[0] if lists else ():
        if not isinstance(entry, dict):
            continue
        fields = cast("dict[str, Any]", entry)
        text = next((t for key in ("content", "step", "text", "title") if isinstance(t := fields.get(key), str)), "")
        if len(text.strip()) >= LEAST:
            found.append((text.strip(), fields.get("status") in _DONE))
    return found


def _listed(text: str) -> list[str]:
    """The list under the newest heading that announces what comes next."""
    heading = list(NEXT.finditer(text))[-1]
    steps: list[str] = []
    for line in text[heading.end() :].strip("\n").split("\n"):
        found = _LIST_ITEM.match(line)
        if found is None and line.strip():
            break
        if found is not None:
            steps.append(clipped(found[1]))
    return [step for step in steps if len(step) >= LEAST][:MAX_STEPS]


__all__ = ["conversation_probes"]
