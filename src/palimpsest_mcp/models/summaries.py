"""The anchored summary of a session: sections that every compaction keeps (seed 003 and its template)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

SUMMARY_SCHEMA = 1
"""Version of `summary.md`. A reader refuses a higher one and keeps reading every lower one."""

Verb: TypeAlias = Literal[
    "created", "written", "appended", "edited", "deleted", "moved", "copied", "reverted", "unconfirmed"
]
"""What became of a file. `unconfirmed`: a call that changes it failed half-way or has no result."""


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kind of change to a file, as often as it came in a row: taken from tool calls by code."""

    verb: Verb
    times: int = 1
    other: str = ""
    """Where it was moved to, or what it was copied from, as the call named it."""
    names: tuple[str, ...] = ()
    """What the edits define that was not defined in what they replace, in order: functions, classes, types."""
    more_names: int = 0
    """Further names that had to be left out here."""


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file with its changes, oldest first."""

    path: str
    """As the call named it."""
    folder: str = ""
    """Where a shell stood when it named a relative path; empty where nothing is known or needed."""
    steps: tuple[Step, ...] = ()
    """The artifact trail: found in the ledger by code."""
    changes: tuple[str, ...] = ()
    """What somebody said of the changes."""


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that was settled."""

    decision: str
    rationale: str = ""
    superseded: bool = False
    superseded_by: str = ""


class StandingOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that the user laid down, in the user's own words."""

    text: str
    message: int = 0
    """Which message of the session, from 1; 0: somebody stated it otherwise."""


PointKind: TypeAlias = Literal["asked", "finished", "done", "failed", "open", "next"]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the task's checkpoint, taken from calls and their outcomes."""

    kind: PointKind
    text: str


class Blocker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A blocker or open question; only somebody's word closes it."""

    text: str
    closed: bool = False


class ErrorMet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error, where it came up, and what resolved it."""

    error: str
    """A line of the result, verbatim."""
    where: str = ""
    """Command, path or tool."""
    resolution: str = ""
    """Empty: not resolved, as far as anybody said or a later result showed."""
    times: int = 1


class Todo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An open entry of a todo list or plan file."""

    text: str
    in_progress: bool = False


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a person's own, kept as it is in a summary or a handoff."""

    heading: str
    text: str


class AnchoredSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What must survive any number of compactions. Everything in it is redacted before it is kept.

    Two hands fill it. Stated: `session_intent`, `changes`, decisions, `technical_context`, `current_state`, blockers,
    `next_steps`, `key_artifacts`. From the ledger, by code: orders, checkpoint, `steps`, todos, what was said last, the
    activity counts, and quotes where nobody stated anything.
    """

    schema: int = SUMMARY_SCHEMA
    session: str = ""
    """The session's handle."""
    compression_count: int = 0
    """How many passes have committed; nothing else raises it."""
    timestamp: str = ""
    """ISO-8601 with offset."""
    first_message: int = 0
    """Range of messages in which something was compressed, counted from 1; 0 for none."""
    last_message: int = 0

    standing_orders: tuple[StandingOrder, ...] = ()
    """What the user laid down and did not take back."""
    session_intent: str = ""
    checkpoint: tuple[Point, ...] = ()
    """Where the newest request stands: what was done, what is finished and must not be done again, what failed and was
    left, what is open, what comes next. Code writes it anew each time."""
    files_modified: tuple[ChangedFile, ...] = ()
    decisions_made: tuple[Decision, ...] = ()
    technical_context: tuple[str, ...] = ()
    current_state: str = ""
    todos_done: int = 0
    todos_total: int = 0
    last_asked: str = ""
    """The newest request of the user, verbatim: of files of an earlier version; the checkpoint has it now."""
    last_said: str = ""
    """How the agent's newest message begins, verbatim."""
    blockers: tuple[Blocker, ...] = ()
    errors_encountered: tuple[ErrorMet, ...] = ()
    next_steps: tuple[str, ...] = ()
    todos: tuple[Todo, ...] = ()
    key_artifacts: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    withdrawn_orders: tuple[StandingOrder, ...] = ()
    """What the user took back or replaced. Found by code and never written down: an old order must not be read."""
    outdated_decisions: tuple[str, ...] = ()
    """Answers of the user of whose edits nothing is left. Found by code and never written down."""
    left_out: dict[str, int] = {}
    """Entries that did not fit, by section; the ledger gives them again."""
    files_read: int = 0
    """Different files and pages that were read."""
    commands_run: int = 0
    searches: int = 0
    probes_passed: int | None = None
    """Of the last pass; None: not validated."""
    probes_total: int | None = None
    tokens_before: int | None = None
    """Of the last pass."""
    tokens_after: int | None = None

    @property
    def ratio(self) -> float | None:
        """Compression of the last pass, 1 - after/before; None when unknown."""
        if not self.tokens_before or self.tokens_after is None:
            return None
        return 1 - self.tokens_after / self.tokens_before

    @property
    def open_blockers(self) -> tuple[str, ...]:
        """Blockers that nobody closed."""
        return tuple(blocker.text for blocker in self.blockers if not blocker.closed)

    def file(self, path: str) -> ChangedFile | None:
        """The file of this path, as it was named."""
        return next((one for one in self.files_modified if one.path == path), None)

    def to_json(self) -> dict[str, Any]:
        """Every section by the seed's names, the empty ones too; files with their folder, steps and changes."""
        data = {name: msgspec.to_builtins(getattr(self, name)) for name in self.__struct_fields__}
        data["files_modified"] = {
            self._key(one): [*map(step_words, one.steps), *one.changes] for one in self.files_modified
        }
        del data["withdrawn_orders"], data["outdated_decisions"]
        data["standing_orders"] = [_whole(one) for one in self.standing_orders]
        data["decisions_made"] = [_whole(one) for one in self.decisions_made]
        data["blockers"] = list(self.open_blockers)
        data["closed_blockers"] = [one.text for one in self.blockers if one.closed]
        data["errors_encountered"] = [_whole(one) for one in self.errors_encountered]
        data["todos"] = [_whole(one) for one in self.todos]
        data["compression_ratio"] = None if self.ratio is None else round(self.ratio, 4)
        return data

    @staticmethod
    def _key(one: ChangedFile) -> str:
        return f"{one.path} in {one.folder}" if one.folder else one.path


class SummaryUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `update_summary`."""

    session_id: str
    handle: str
    summary: AnchoredSummary
    """As it is kept now."""
    markdown: str
    notes: tuple[str, ...] = ()


def _whole(one: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


def step_words(step: Step) -> str:
    """A step as a person reads it: `edited 12 times: setModel, cycleModel and 3 more`."""
    words = step.verb + (f" {step.times} times" if step.times > 1 else "")
    if step.other:
        words += f" {'from' if step.verb == 'copied' else 'to'} {step.other}"
    if step.names or step.more_names:
        more = f"{step.more_names} more" if step.more_names else ""
        names = ", ".join(step.names)
        words += ": " + (f"{names} and {more}" if names and more else names or more)
    return words


# What a handoff takes from a session beside its anchored summary: found by code, word for word, redacted.


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Something that user or agent said."""

    message: int
    """Which message of the session, from 1."""
    text: str
    """One line, verbatim but for what was cut off at its end."""
    about: str = ""
    """Of an answer: what it answers."""
    then: str = ""
    """What the user said next to a message of the agent, with its message."""
    overturned: bool = False
    """The user rejected it, or had it undone."""
    changed_since: str = ""
    """Files that were changed for it and again after it; of an announcement, all that were changed after it. And the
    newest commit after it."""
    acts_since: str = ""
    """Calls after it that changed what it names, or were refused with an amount of it."""
    announces: str = ""
    """Of a message of the agent: how it ends where it says what comes next."""
    is_thought: bool = False
    """It is no message but a thought on record."""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The newest run of a command that checks something."""

    command: str
    failed: bool | None
    """None: the output does not say."""
    line: str
    """The line that says so."""
    message: int = 0
    """Which message of the session called it, from 1."""
    clean: bool = False
    """Nothing in the output looks like an error."""
    placed: bool = False
    """Where it is not clean: it names places in files, and has no word of an error."""
    view: str = ""
    """Through which filter its output was shown; empty: all of it was."""
    stopped: int = 0
    """Message of a later run of it that a person stopped; 0: none."""
    edited_since: int = 0
    """How many files editing tools changed after it."""
    shell_since: int = 0
    """How many shell commands that edited, moved, copied, deleted or reverted files came after it."""
    hook: int = 0
    """Message of the newest commit after it whose hook checked what was committed; what was changed counts from there.
    0: none."""


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Every list: newest last."""

    first: Said | None = None
    """The first request."""
    shell_changed_last: bool = False
    """Whether a shell command changed files after the last edit by an editing tool."""
    requests: tuple[Said, ...] = ()
    """Of the user; short answers such as "ok" are none, unless there is nothing else."""
    go_ahead: Said | None = None
    """The user's newest message, where it is short and came after the newest request."""
    chosen: Said | None = None
    """What the user chose of what a tool put before them, where it is the user's newest word."""
    came_since: int = 0
    """How many messages of the user came after its first, short ones too."""
    replies: tuple[Said, ...] = ()
    """Short answers of the user to questions of the agent."""
    reports: tuple[Said, ...] = ()
    """Longer messages of the agent."""
    last_said: Said | None = None
    """The agent's newest message, unless the user spoke since."""
    since_said: str = ""
    """What calls followed it."""
    questions: tuple[str, ...] = ()
    """Of the agent, that nobody answered."""
    unanswered: bool = False
    """The user said something that the agent did not answer."""
    lines: dict[str, str] = {}
    """Path -> where it was edited, else where it was read: `803-864, 1055-1114`, as the session last saw the file."""
    changed: tuple[str, ...] = ()
    """Files that editing tools changed, the one changed last at the end."""
    read: tuple[str, ...] = ()
    """Files and pages that were read and not changed."""
    runs: tuple[Ran, ...] = ()
    acts: tuple[str, ...] = ()
    """Calls that changed something beyond files, such as a booking, with what came of each."""
    finished: tuple[str, ...] = ()
    """Todos that are done."""
    activity: tuple[str, ...] = ()
    """The newest calls for the newest request, with a line of their results."""
    calls_made: int = 0
    """How many there are of which these are the newest."""
    agents: tuple[str, ...] = ()
    """Other agents that were started, with what they were asked."""
    skills: tuple[str, ...] = ()
    items: int = 0
