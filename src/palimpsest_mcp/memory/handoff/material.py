"""The folder that most paths of a handoff share: named once, `…/` in the paths themselves."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from ...models.handoffs import Check, Choice, FileNote, Finding, Handoff
from ...models.summaries import AnchoredSummary, ChangedFile, Ran, SessionFacts, Step, step_words

MARK = "…/"
LEAST_SAVED = 60
"""Characters that naming a root must save in all."""
T = TypeVar("T", bound=Handoff)


def best_root(paths: Iterable[str]) -> str:
    """The folder whose name, said once, saves the most; empty where it would not pay."""
    counts: Counter[str] = Counter()
    for path in set(paths):
        folder = posixpath.dirname(path)
        while path.startswith("/") and len(folder) > 1:
            counts[folder] += 1
            folder = posixpath.dirname(folder)
    saved = {folder: count * (len(folder) - 1) - len(folder) for folder, count in counts.items()}
    best = max(saved, key=lambda folder: (saved[folder], folder), default="")
    return best if best and saved[best] >= LEAST_SAVED else ""


def shortened(path: str, root: str) -> str:
    """`/srv/app/src/a.py` below `/srv/app` -> `…/src/a.py`; other paths as they are."""
    return MARK + path[len(root) + 1 :] if root and path.startswith(f"{root}/") else path


def with_whole_paths(handoff: T) -> T:
    """The handoff without a root: every path whole."""
    if not handoff.root:
        return handoff
    fields = {name: _whole(getattr(handoff, name), handoff.root) for name in handoff.__struct_fields__}
    return msgspec.structs.replace(handoff, **{**fields, "root": ""})


def _whole(value: Any, root: str) -> Any:
    if isinstance(value, str):
        return value.replace(f"`{MARK}", f"`{root}/")
    if isinstance(value, tuple):
        return tuple(_whole(entry, root) for entry in cast("tuple[Any, ...]", value))
    if isinstance(value, FileNote):
        return msgspec.structs.replace(value, path=_path(value.path, root))
    if isinstance(value, Finding):
        return msgspec.structs.replace(value, where=_path(value.where, root))
    return value


def _path(path: str, root: str) -> str:
    return f"{root}/{path.removeprefix(MARK)}" if path.startswith(MARK) else path


# What a session has for a handoff, kind by kind: whole entries, the newest first to stay, what is left out counted.


Piece = TypeVar("Piece")
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


class Material:
    """One session looked at for one handoff."""

    def __init__(self, task: str, summary: AnchoredSummary, facts: SessionFacts, room: Room) -> None:
        self.task_words = task
        self.summary = summary
        self.facts = facts
        self.room = room
        self.left_out: dict[str, int] = {}
        touched = [_joined(one.folder, one.path) for one in summary.files_modified]
        self.root = best_root((*touched, *facts.changed, *facts.read))

    def newest(self, field: str, entries: Sequence[Piece], number: int) -> tuple[Piece, ...]:
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


def _same(one: str, other: str) -> bool:
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())
