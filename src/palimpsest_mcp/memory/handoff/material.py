"""What a handoff is filled with: entries of each section, from a summary and facts, with paths shortened."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from ...models.handoffs import Check, Choice, FileNote, Finding, Handoff
from ...models.summaries import AnchoredSummary, ChangedFile, Decision, Said, SessionFacts, Step, step_words
from ...models.text import counted
from ..absent import FORMER_NOTHING, NOTHING_OPEN
from ..summary.answers import only_resumes
from ..summary.errors_met import LEFT, RESOLUTIONS, WORKED
from ..summary.facts import still_standing
from ..summary.harvest import is_good, ran
from ..summary.next_step import BEFORE_IT, EDITED, LISTED, STARTED
from ..summary.quotes import CUT
from ..summary.told import BY_COMMAND, EDIT, NOT_FOUND, READ

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
MOST_LEFT = 2
"""Errors to which nothing came back."""
MAX_STEPS = 3
"""Kinds of change that stand beside a file."""


class Room(NamedTuple):
    """How many entries of each kind fit."""

    requests: int
    reports: int
    commits: int
    files: int
    read: int
    errors: int
    decisions: int
    runs: int
    todos: int
    orders: int


LADDER = (
    Room(8, 4, 12, 20, 12, 4, 20, 4, 30, 40),
    Room(8, 3, 10, 14, 8, 3, 12, 3, 20, 40),
    Room(7, 3, 8, 10, 6, 3, 10, 3, 15, 30),
    Room(6, 2, 7, 8, 5, 3, 8, 2, 12, 30),
    Room(5, 2, 5, 6, 4, 2, 6, 2, 8, 24),
    Room(4, 2, 4, 4, 3, 2, 4, 1, 5, 20),
    Room(3, 2, 3, 3, 2, 2, 3, 1, 4, 20),
    Room(3, 1, 3, 3, 2, 2, 3, 1, 4, 20),
    Room(2, 1, 2, 2, 1, 2, 2, 1, 3, 16),
    Room(1, 1, 1, 1, 1, 1, 1, 1, 1, 12),
    Room(1, 1, 1, 1, 1, 1, 1, 1, 1, 5),
)
"""From the mildest cut to the hardest: files and commits go sooner than what was said, orders last."""


class Material:
    """One session looked at for one handoff."""

    def __init__(self, task: str, summary: AnchoredSummary, facts: SessionFacts, room: Room) -> None:
        self.task_words = task
        self.summary = summary
        self.facts = facts
        self.room = room
        self.left_out: dict[str, int] = {}
        self._told: set[int] = set()
        """Messages that were quoted: none is quoted twice."""
        self._task_told = False
        self._calls_told = False
        self._orders = {one.text for one in summary.standing_orders}
        touched = [_joined(one.folder, one.path) for one in summary.files_modified]
        self.root = best_root((*touched, *facts.changed, *facts.read))

    def newest(self, field: str, entries: Sequence[Piece], number: int) -> tuple[Piece, ...]:
        """The last entries that fit; the others are counted for the field."""
        self.left_out[field] = self.left_out.get(field, 0) + max(0, len(entries) - number)
        return tuple(entries[max(0, len(entries) - number) :])

    def first(self, field: str, entries: Sequence[Piece], number: int) -> tuple[Piece, ...]:
        """The first entries that fit, of what is to be done in this order; the others are counted for the field."""
        self.left_out[field] = self.left_out.get(field, 0) + max(0, len(entries) - number)
        return tuple(entries[:number])

    def task(self) -> str:
        """The caller's words, and the user's own where they are others."""
        asked = self.summary.session_intent
        self._task_told = bool(asked)
        if not asked or _same(asked, self.task_words):
            return self.task_words
        later = self.facts.came_since
        when = f" (message {self.facts.first.message}" if self.facts.first is not None else " ("
        when += (
            f"; {counted(later, 'message')} of the user came since, the newest request stands below)" if later else ")"
        )
        when = "" if when == " ()" else when
        return f"{self.task_words}\n\nFirst asked{when}: {asked}" if self.task_words else asked

    def state(self) -> list[str]:
        """What is under way: stated, ticked as in progress, else where the conversation stands."""
        told = " ".join(one.text for one in self.summary.checkpoint if one.kind == "next")
        doing = [
            f"Listed as in progress: {one.text}"
            for one in self.summary.todos
            if one.in_progress and one.text not in told
        ]
        stated = [self.summary.current_state] if self.summary.current_state else []
        return [*stated, *self.where_it_stands(), *doing]

    def where_it_stands(self) -> list[str]:
        requests, reports = self.facts.requests, self.facts.reports
        if requests:
            self._told.add(requests[-1].message)
            words = requests[-1].text
            if words in self._orders:
                words = "its standing order"
            elif self._is_intent(requests[-1]):
                words = "the task above"
            leans = f" (said to: {requests[-1].about})" if requests[-1].about else ""
            told = [f"(message {requests[-1].message}): {words}{leans}"]
            if (newest := self.facts.go_ahead) is not None:
                self._told.add(newest.message)
                about = f" (said to: {newest.about})" if newest.about else ""
                row = f"(message {newest.message}): {newest.text}{about}"
                if only_resumes(newest) and self.facts.chosen is None:
                    return [f"Asked last {told[0]}" + ("" if self.facts.activity else f"; then {row}")]
                told += [] if only_resumes(newest) else [row]
            if (chosen := self.facts.chosen) is not None:
                told.append(f"(message {chosen.message}): {chosen.text}")
            return [f"Asked last {'; before it '.join(reversed(told))}"]
        if reports:
            self._told.add(reports[-1].message)
            return [f"Reported last (message {reports[-1].message}): {reports[-1].text}"]
        return self.newest_calls()

    def newest_calls(self) -> list[str]:
        """What was done last, with what came of it; told once."""
        told = [] if self._calls_told else list(self.facts.activity[-2 * self.room.runs :])
        self._calls_told = True
        more = self.facts.calls_made - len(told)
        return [f"Before these, {counted(more, 'other call')} for it.", *told] if told and more > 0 else told

    def thread(self, field: str) -> list[str]:
        """What was asked, answered and reported, as it went: the first request, then the newest of all."""
        asked = sorted((*self.facts.requests, *self.facts.replies), key=lambda one: one.message)
        requests = self.newest(field, self._untold(asked), self.room.requests)
        reports = self.newest(field, self._untold(self.facts.reports), self.room.reports)
        requests, reports = _acts_once(requests, reports)
        said = [(one.message, 0, _by_user(one)) for one in requests]
        shown = {*self._told, *(one.message for one in requests)}
        said += [(one.message, 1, _by_agent(one, shown)) for one in reports]
        last = self.facts.last_said
        if last is not None and last.message not in {*self._told, *(one.message for one in reports)}:
            newest = self.facts.go_ahead or (self.facts.requests[-1] if self.facts.requests else None)
            since = f", {self.facts.since_said}" if self.facts.since_said else ""
            if newest is not None and newest.message > last.message:
                since = f", before the user's message {newest.message}"
            which = "its newest thought" if last.is_thought else "its newest"
            said.append((last.message, 1, f"Agent, message {last.message}, {which}{since}: {last.text}"))
        first = self.facts.first
        quoted = {*self._told, *(one.message for one in requests)}
        if first is not None and first.message not in quoted and not self._is_intent(first):
            said.append((0, 0, f"User, message {first.message}, at first: {first.text}"))
        rows = [row for *_, row in sorted(said, key=lambda one: one[:2])] or self.newest_calls()
        if rows or not self.facts.items:
            return rows
        said_last = self.summary.last_said
        return [f"Agent, last: {said_last}" if said_last else "Since the task was given only calls are on record."]

    def _untold(self, said: Sequence[Said]) -> list[Said]:
        known = self._told
        return [one for one in said if not (one.message in known or one.text in self._orders or self._is_intent(one))]

    def _is_intent(self, one: Said) -> bool:
        """Whether the handoff's task quotes it already."""
        words = one.text.partition(CUT)[0]
        return self._task_told and " ".join(self.summary.session_intent.split()).startswith(words)

    def orders(self) -> tuple[str, ...]:
        """What the user laid down, word for word."""
        kept = self.newest("orders", self.summary.standing_orders, self.room.orders)
        return tuple(f"User, message {one.message}: {one.text}" if one.message else one.text for one in kept)

    def next(self) -> list[str]:
        """What follows from what is open, where anything does."""
        told = [one.text for one in self.summary.checkpoint if one.kind == "next"]
        return [f"Next: {text}" for text in told if text not in (NOTHING_OPEN, FORMER_NOTHING)]

    def places(self) -> list[str]:
        """The newest commit, and the files that were worked on last, with lines."""
        made = [text for text in self.summary.key_artifacts if text.startswith("[")][-1:]
        told = [*(f"Newest commit: {text}" for text in made), *self.worked_on()]
        return told if "complete" not in self.left_out else told[len(made) :]

    def worked_on(self) -> list[str]:
        """Files that editing tools changed last, as far as they are still there under their name; none where a shell
        changed files since."""
        ends = {_joined(one.folder, one.path): one.steps[-1].verb for one in self.summary.files_modified if one.steps}
        there = [path for path in self.facts.changed if ends.get(path) not in ("deleted", "moved", "reverted")]
        named = [f"`{self.short(path)}`{self.lines(path)}" for path in there[-4:][::-1] if "`" not in path]
        return [f"Edited last: {', '.join(named)}"] if named and not self.facts.shell_changed_last else []

    def short(self, path: str) -> str:
        return shortened(path, self.root)

    def lines(self, path: str) -> str:
        return f" ({self.facts.lines[path]})" if path in self.facts.lines else ""

    def commits(self, field: str) -> list[str]:
        made = [text for text in self.summary.key_artifacts if text.startswith("[")]
        return list(self.newest(field, made, self.room.commits))

    def other_artifacts(self) -> list[str]:
        return [text for text in self.summary.key_artifacts if not text.startswith(("[", "ran `"))]

    def ended(self, field: str) -> tuple[str, ...]:
        """Commands that closed, merged or published something."""
        made = [text for text in self.summary.key_artifacts if text.startswith("ran `")]
        return self.newest(field, made, self.room.commits)

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
        asked = [one for one in (*self.facts.requests[-1:], self.facts.go_ahead, self.facts.chosen) if one is not None]
        said = tuple(f"User, {words} {one.message}: " for one in asked for words in ("message", "answering in message"))
        standing = [
            one for one in self.summary.decisions_made if not (one.superseded or one.decision.startswith(said))
        ]  # what was asked last stands below, whole
        kept = self.newest("decisions", standing, self.room.decisions)
        struck = [one for one in self.summary.decisions_made if one.superseded][-self.room.errors :]
        below = [one for one in asked if any(of.decision.startswith(said) for of in self.summary.decisions_made)]
        alone = [f"The user's message {one.message}, which stands below as asked last" for one in below[-1:]]
        return (
            *(Choice(decision=text) for text in alone if not standing),
            *(Choice(decision=one.decision, rationale=one.rationale) for one in kept),
            *(
                Choice(decision=f"Rejected, not to be taken up again: {one.decision}", rationale=_instead(one))
                for one in struck
            ),
        )

    def questions(self) -> tuple[str, ...]:
        return (*self.summary.open_blockers, *self.facts.questions)

    def errors(self, field: str) -> list[str]:
        """Not resolved, as far as a later result shows."""
        places: dict[str, dict[str, None]] = {}
        for one in self.summary.errors_encountered:
            if not one.resolution:
                places.setdefault(one.error, {}).update({one.where: None} if one.where else {})
        kept = self.newest(field, list(places.items()), self.room.errors)
        told = [
            f"Not seen resolved: {error}" + (f" (in: {'; '.join(where)})" if where else "") for error, where in kept
        ]
        met = [one for one in self.summary.errors_encountered if one.resolution]
        left = [one for one in met if one.resolution == LEFT]
        told += [
            f"Left behind: {one.error}" + (f" (in: {one.where})" if one.where else "") + f": {one.resolution}"
            for one in self.newest(field, left, min(MOST_LEFT, self.room.errors))
        ]
        if worked := sum(one.resolution in WORKED for one in met):
            told.append(f"{counted(worked, 'other error')}: gone, as later results show.")
        if stated := sum(one.resolution not in RESOLUTIONS for one in met):
            told.append(f"{counted(stated, 'other error')}: settled as stated.")
        return told

    def runs(self, field: str, *, good: bool | None = None) -> list[str]:
        """Checks with their outcome: all, those that went well, or the others."""
        errors = {one.error for one in self.summary.errors_encountered}
        runs = still_standing(self.facts.runs, self.summary.errors_encountered)
        told = [one for one in runs if not (one.failed and one.line in errors)]
        told = [one for one in told if good is None or is_good(one) == good]
        return [ran(one) for one in self.newest(field, told, self.room.runs)]

    def changed(self) -> list[str]:
        """What the last edits for the newest request changed, and what commands did to files for it."""
        done = [one.text for one in self.summary.checkpoint if one.kind == "done"]
        told = [text for text in done if text.startswith((EDIT, BY_COMMAND, READ, NOT_FOUND))]
        return [f"Done for it: {text}" for text in told]

    def unsaved(self) -> list[str]:
        """Files that were edited since the last commit, and tasks that were started and not closed."""
        told = [one.text for one in self.summary.checkpoint if one.kind == "open"]
        return [text for text in told if EDITED in text or text.startswith(STARTED)]

    def todos(self, field: str) -> tuple[Check, ...]:
        kept = self.summary.todos[: self.room.todos]
        self.left_out[field] = self.left_out.get(field, 0) + len(self.summary.todos) - len(kept)
        return tuple(Check(text=one.text, state="doing" if one.in_progress else "open") for one in kept)

    def acts(self, field: str) -> tuple[str, ...]:
        """Calls that went through and are not to be made again."""
        return tuple(f"Went through: {text}" for text in self.newest(field, self.facts.acts, self.room.runs))

    def finished(self, field: str) -> tuple[str, ...]:
        return self.newest(field, self.facts.finished, self.room.todos)

    def remaining(self) -> list[str]:
        """Steps that were stated, and open todos, each with its list's place where a request came since."""
        listed = next((one.text for one in self.summary.checkpoint if one.kind == "open" and LISTED in one.text), "")
        old = f" (listed in message {listed.rpartition(LISTED)[2]}" if BEFORE_IT in listed else ""
        return [*self.summary.next_steps, *(f"{one.text}{old}" for one in self.summary.todos if not one.in_progress)]

    def context(self) -> list[str]:
        return list(self.summary.technical_context)


def _acts_once(*said: Sequence[Said]) -> tuple[tuple[Said, ...], ...]:
    """What came of statements, each outcome only beside the newest of those that name it."""
    newest = {
        one.acts_since: one.message
        for one in sorted((one for part in said for one in part), key=lambda one: one.message)
    }
    return tuple(
        tuple(
            one if newest[one.acts_since] == one.message else msgspec.structs.replace(one, acts_since="")
            for one in part
        )
        for part in said
    )


def _by_agent(one: Said, shown: Collection[int]) -> str:
    """A statement of the agent with what became of it: what the user said next, and which files changed since.

    Args:
        shown: messages of the user that are quoted beside it.
    """
    name = f"Agent, message {one.message}" + (", a thought" if one.is_thought else "")
    name += ", overturned by the user" if one.overturned else ""
    name += ", its plan then" if one.announces and one.changed_since and not one.overturned else ""
    number = int(one.then.removeprefix("message ").partition(":")[0]) if one.then else 0
    then = f" – The user then, {one.then}" if one.then and number not in shown else ""
    if number in shown and one.text.endswith(("?", "？")):
        then = f" – What the user said to it: message {number}"
    again = "" if one.announces else "again "
    since = f" – Edited {again}after it: {one.changed_since}" if one.changed_since else ""
    return f"{name}: {one.text}{then}{since}{_acts_since(one)}"


def _by_user(one: Said) -> str:
    """A message of the user; of an answer with what it answers, of a request whether it was taken back."""
    about = f" (said to: {one.about})" if one.about else ""
    back = ", taken back" if one.overturned else ""
    return (
        f"User, message {one.message}{back}: {one.text}{about}"
        + (f" – {one.then}" if one.then else "")
        + _acts_since(one)
    )


def _acts_since(one: Said) -> str:
    return f" – Since then: {one.acts_since}" if one.acts_since else ""


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


def _instead(one: Decision) -> str:
    return f"in its place: {one.superseded_by}" if one.superseded_by else ""


def _same(one: str, other: str) -> bool:
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())
