"""Fills a handoff from a session's summary and facts: nothing invented, whole entries, what is left out counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from ..models.facts import Ran, SessionFacts
from ..models.handoffs import Check, Choice, FileNote, Finding, Handoff, Phase
from ..models.summaries import AnchoredSummary, ChangedFile, Step, step_words
from .roots import best_root, shortened
from .templates import POINTERS, Template

T = TypeVar("T")
MAX_NAMES = 4
MAX_STEPS = 3
"""Kinds of change that stand beside a file."""


class Room(NamedTuple):
    """How many entries of each kind fit."""

    requests: int
    wishes: int
    reports: int
    commits: int
    files: int
    read: int
    errors: int
    decisions: int
    runs: int
    todos: int


LADDER = (
    Room(8, 10, 4, 12, 20, 12, 3, 20, 4, 30),
    Room(8, 8, 3, 10, 14, 8, 2, 12, 3, 20),
    Room(7, 7, 3, 8, 10, 6, 2, 10, 3, 15),
    Room(6, 6, 2, 7, 8, 5, 2, 8, 2, 12),
    Room(5, 5, 2, 5, 6, 4, 1, 6, 2, 8),
    Room(4, 3, 1, 4, 4, 3, 1, 4, 1, 5),
    Room(2, 2, 1, 2, 2, 1, 1, 2, 1, 3),
    Room(1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
)
"""From the mildest cut to the hardest: files and commits go sooner than what was said."""


class Filled(NamedTuple):
    """Fields of a template's model, how many entries did not fit, by field, and what `…/` stands for."""

    fields: dict[str, Any]
    left_out: dict[str, int]
    root: str = ""


def fill(template: Template, task: str, summary: AnchoredSummary, facts: SessionFacts, room: Room) -> Filled:
    """What a session says for each part of a template.

    Args:
        task: as the caller words it.
        summary: as of now, with everything that its own budget leaves out.
    """
    filling = _Filling(task, summary, facts, room)
    fields = _BY_PHASE[template.phase](filling)
    return Filled(
        fields, {name: number for name, number in filling.left_out.items() if number and name in fields}, filling.root
    )


class _Filling:
    """One session looked at for one handoff."""

    def __init__(self, task: str, summary: AnchoredSummary, facts: SessionFacts, room: Room) -> None:
        self.task_words = task
        self.summary = summary
        self.facts = facts
        self.room = room
        self.left_out: dict[str, int] = {}
        touched = [_joined(one.folder, one.path) for one in summary.files_modified]
        self.root = best_root((*touched, *facts.changed, *facts.read))

    def newest(self, field: str, entries: Sequence[T], number: int) -> tuple[T, ...]:
        """The last entries that fit; the others are counted for the field."""
        self.left_out[field] = self.left_out.get(field, 0) + max(0, len(entries) - number)
        return tuple(entries[max(0, len(entries) - number) :])

    def task(self) -> str:
        """The caller's words, and the user's own where they are others."""
        asked = self.summary.session_intent
        if not asked or _same(asked, self.task_words):
            return self.task_words
        return f"{self.task_words}\n\nFirst asked: {asked}" if self.task_words else asked

    def state(self) -> list[str]:
        """What is under way: stated, ticked as in progress, else where the conversation stands."""
        doing = [todo.text for todo in self.summary.todos if todo.in_progress]
        stated = [self.summary.current_state] if self.summary.current_state else []
        return [*stated, *doing] or self.where_it_stands()

    def where_it_stands(self) -> list[str]:
        requests, reports = self.facts.requests, self.facts.reports
        if requests:
            asked = f"Asked last (message {requests[-1].message}): {requests[-1].text}"
            return [asked + (" Nothing was answered yet." if self.facts.unanswered else "")]
        if reports:
            return [f"Reported last (message {reports[-1].message}): {reports[-1].text}"]
        return [f"Newest call: {row}" for row in self.facts.activity[-1:]]

    def thread(self, field: str) -> list[str]:
        """What was asked and reported, as it went: the first request, then the newest of both."""
        requests = self.newest(field, self.facts.requests, self.room.requests)
        reports = self.newest(field, self.facts.reports, self.room.reports)
        said = [(one.message, 0, f"User, message {one.message}: {one.text}") for one in requests]
        said += [(one.message, 1, f"Agent, message {one.message}: {one.text}") for one in reports]
        first = self.facts.first
        if first is not None and all(first.message != one.message for one in requests):
            said.append((0, 0, f"User, message {first.message}, at first: {first.text}"))
        return [row for *_, row in sorted(said)] or [f"Newest call: {row}" for row in self.facts.activity]

    def places(self) -> list[str]:
        """The newest commit, and the files that were worked on last, with lines."""
        made = [text for text in self.summary.key_artifacts if text.startswith("[")][-1:]
        return [*(f"Newest commit: {text}" for text in made), *self.worked_on()]

    def worked_on(self) -> list[str]:
        named = [f"`{self.short(path)}`{self.lines(path)}" for path in self.facts.changed[-4:][::-1] if "`" not in path]
        return [f"Worked on last: {', '.join(named)}"] if named else []

    def short(self, path: str) -> str:
        return shortened(path, self.root)

    def lines(self, path: str) -> str:
        return f" ({self.facts.lines[path]})" if path in self.facts.lines else ""

    def commits(self, field: str) -> list[str]:
        made = [text for text in self.summary.key_artifacts if text.startswith("[")]
        return list(self.newest(field, made, self.room.commits))

    def other_artifacts(self) -> list[str]:
        return [text for text in self.summary.key_artifacts if not text.startswith("[")]

    def files(self, field: str) -> tuple[FileNote, ...]:
        """Changed files, the one changed last first; those of editing tools before what only a shell touched."""
        last = {path: place for place, path in enumerate(self.facts.changed)}
        ranked = sorted(
            enumerate(self.summary.files_modified),
            key=lambda pair: (bool(pair[1].folder), -last.get(pair[1].path, -1), pair[0]),
        )
        kept = [one for _, one in ranked][: self.room.files]
        self.left_out[field] = self.left_out.get(field, 0) + len(ranked) - len(kept)
        return tuple(self.file(one) for one in kept)

    def file(self, one: ChangedFile) -> FileNote:
        path = _joined(one.folder, one.path)
        note = ", ".join([*(shortened(words, self.root) for words in _steps(one)), *one.changes])
        return FileNote(path=self.short(path), lines=self.facts.lines.get(path, ""), note=note)

    def read(self, field: str) -> tuple[FileNote, ...]:
        kept = self.newest(field, self.facts.read, self.room.read)
        return tuple(
            FileNote(path=self.short(path), lines=self.facts.lines.get(path, ""), note="read") for path in kept
        )

    def decisions(self) -> tuple[Choice, ...]:
        standing = [one for one in self.summary.decisions_made if not one.superseded]
        kept = self.newest("decisions", standing, self.room.decisions)
        return tuple(Choice(decision=one.decision, rationale=one.rationale) for one in kept)

    def wishes(self, field: str) -> tuple[str, ...]:
        """What the user wants, word for word; what a request already quotes whole is not said again."""
        quoted = " ".join(one.text for one in self.facts.requests[-self.room.requests :])
        wishes = [one for one in self.facts.wishes if one.text not in quoted]
        kept = self.newest(field, wishes, self.room.wishes)
        return tuple(f"User, message {one.message}: {one.text}" for one in kept)

    def questions(self) -> tuple[str, ...]:
        return (*self.summary.open_blockers, *self.facts.questions)

    def errors(self, field: str) -> list[str]:
        """Not resolved, as far as a later result shows."""
        open_ones = [one for one in self.summary.errors_encountered if not one.resolution]
        kept = self.newest(field, open_ones, self.room.errors)
        return [f"Not seen resolved: {one.error}" + (f" (in: {one.where})" if one.where else "") for one in kept]

    def runs(self, field: str) -> list[str]:
        return [_run(one) for one in self.newest(field, self.facts.runs, self.room.runs)]

    def todos(self, field: str) -> tuple[Check, ...]:
        kept = self.summary.todos[: self.room.todos]
        self.left_out[field] = self.left_out.get(field, 0) + len(self.summary.todos) - len(kept)
        return tuple(Check(text=one.text, state="doing" if one.in_progress else "open") for one in kept)

    def finished(self, field: str) -> tuple[str, ...]:
        return self.newest(field, self.facts.finished, self.room.todos)

    def remaining(self) -> list[str]:
        return [*self.summary.next_steps, *(todo.text for todo in self.summary.todos if not todo.in_progress)]

    def context(self) -> list[str]:
        return list(self.summary.technical_context)


def _task(of: _Filling) -> dict[str, Any]:
    remaining = of.newest("blocked", [f"To do: {text}" for text in of.remaining()], of.room.todos)
    return {
        "task": of.task(),
        "decisions": of.decisions(),
        "artifacts": (*of.files("artifacts"), *(FileNote(path=text) for text in of.other_artifacts())),
        "complete": (*of.finished("complete"), *(f"Committed: {text}" for text in of.commits("complete"))),
        "in_progress": (*of.state(), *of.runs("in_progress")),
        "blocked": (*remaining, *of.errors("blocked")),
        "facts": (*of.thread("facts"), *of.places(), *of.context()),
        "questions": of.questions(),
        "constraints": of.wishes("constraints"),
        "agents": of.facts.agents,
        "skills": of.facts.skills,
    }


def _research(of: _Filling) -> dict[str, Any]:
    reports = of.newest("findings", of.facts.reports, of.room.reports)
    evidence = [_evidence(text) for text in of.other_artifacts()]
    if not (reports or evidence):
        evidence = [Finding(finding=row) for row in of.thread("findings")]
    return {
        "task": of.task(),
        "understanding": "\n".join(of.context() + of.state()),
        "files": (*of.files("files"), *of.read("files")),
        "findings": (
            *(Finding(finding=f"Reported in message {one.message}", evidence=one.text) for one in reversed(reports)),
            *of.newest("findings", evidence, of.room.files),
        ),
        "constraints": (*of.wishes("constraints"), *of.errors("constraints")),
        "questions": of.questions(),
    }


def _plan(of: _Filling) -> dict[str, Any]:
    todos = of.todos("status")
    done = [Check(text=text, state="done") for text in of.finished("status")]
    doing = [Check(text=text, state="doing") for text in of.state()] if not (todos or done) else []
    return {
        "task": of.task(),
        "acceptance_tests": tuple(f"Run so far: {text}" for text in of.runs("acceptance_tests")),
        "order": of.newest("order", of.remaining(), of.room.todos),
        "decisions": of.decisions(),
        "status": (*done, *doing, *todos),
    }


def _implementation(of: _Filling) -> dict[str, Any]:
    done = [*of.finished("completed"), *(f"Committed: {text}" for text in of.commits("completed"))]
    reports = of.facts.reports[-1:] if of.facts.requests else ()  # else it stands under In Progress
    told = [f"Reported last (message {one.message}): {one.text}" for one in reports]
    remaining = of.newest("remaining", of.remaining(), of.room.todos)
    return {
        "completed": tuple(Check(text=text, state="done") for text in done),
        "in_progress": tuple(Check(text=text, state="doing") for text in [*of.state(), *of.worked_on()]),
        "remaining": tuple(Check(text=text) for text in remaining),
        "issues": (*told, *of.questions(), *of.wishes("issues"), *of.errors("issues")),
        "tests": tuple(of.runs("tests")),
    }


def _fork(of: _Filling) -> dict[str, Any]:
    return {
        "purpose": of.task_words,
        "scope": of.wishes("scope"),
        "skills": of.facts.skills,
        "facts": (*of.thread("facts"), *of.places(), *of.context()),
        "hand_back": (
            "A handoff of phase fork_back with the same task: the result, changes or findings with their places, what "
            "to watch when it is taken over, what stays open.",
        ),
    }


def _fork_back(of: _Filling) -> dict[str, Any]:
    reports = of.facts.reports[-1:]
    changed = [
        Finding(finding=one.note or "changed", where=one.path, evidence=one.lines) for one in of.files("findings")
    ]
    return {
        "result": "\n".join([one.text for one in reports] or of.state()),
        "findings": tuple(changed),
        "merge_guidance": tuple(f"Committed: {text}" for text in of.commits("merge_guidance")),
        "open_items": (*of.questions(), *of.remaining(), *of.errors("open_items")),
    }


_BY_PHASE: Mapping[Phase, Callable[[_Filling], dict[str, Any]]] = {
    "task": _task,
    "research": _research,
    "plan": _plan,
    "implementation": _implementation,
    "fork": _fork,
    "fork_back": _fork_back,
}


def completed(template: Template, header: Mapping[str, Any], filled: Filled, stated: Mapping[str, Any]) -> Handoff:
    """The handoff: what was stated first, then what code found; a text that was stated takes the found one's place."""
    fields: dict[str, Any] = {}
    for name, part in template.parts().items():
        said, found = stated.get(name), filled.fields.get(name)
        if part.form == "text":
            fields[name] = said or found or ""
        else:
            fields[name] = _united(said or (), found or ())
    fields |= {
        **header,
        POINTERS: _united(fields[POINTERS], header[POINTERS]),
        "left_out": filled.left_out,
        "root": filled.root,
    }
    return template.model(**fields)


def _united(said: Sequence[Any], found: Sequence[Any]) -> tuple[Any, ...]:
    """Entries of both, none twice."""
    whole: dict[str, Any] = {}
    for entry in (*said, *found):
        whole.setdefault(" ".join(main_text(entry).casefold().split()), entry)
    return tuple(whole.values())


def main_text(entry: Any) -> str:
    """The first field of an entry: what it is about."""
    return entry if isinstance(entry, str) else str(getattr(entry, entry.__struct_fields__[0]))


def _joined(folder: str, path: str) -> str:
    return f"{folder.rstrip('/')}/{path}" if folder and not path.startswith("/") else path


def _steps(one: ChangedFile) -> list[str]:
    """The last kinds of change, those in doubt only where there is nothing else, with names of the newest."""
    sure = [step for step in one.steps if step.verb != "unconfirmed"] or list(one.steps)
    runs: list[Step] = []
    for step in sure:
        if runs and (runs[-1].verb, runs[-1].other) == (step.verb, step.other):
            step = msgspec.structs.replace(step, times=step.times + runs.pop().times)
        runs.append(step)
    last = len(runs) - 1
    return [
        step_words(msgspec.structs.replace(step, names=step.names[-MAX_NAMES:] if at == last else (), more_names=0))
        for at, step in enumerate(runs)
    ][-MAX_STEPS:]


def _run(one: Ran) -> str:
    verdict = {True: "failed", False: "went well", None: "ran"}[one.failed]
    command = one.command.replace("`", "'")
    when = f" (message {one.message})" if one.message else ""
    return f"`{command}` {verdict}{when}" + (f": {one.line}" if one.line else "")


def _evidence(text: str) -> Finding:
    title, colon, url = text.rpartition(": ")
    return Finding(finding=title, where=url) if colon and "://" in url else Finding(finding=text)


def _same(one: str, other: str) -> bool:
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())


__all__ = ["LADDER", "Filled", "Room", "completed", "fill", "main_text"]
