"""Handoffs: files in `memory/` from which the next phase or conversation starts (seed 004 and its templates)."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec

from .summaries import Note

HANDOFF_SCHEMA = 1
"""Version of the files. A reader refuses a higher one and keeps reading every lower one."""

Phase: TypeAlias = Literal["task", "research", "plan", "implementation", "fork", "fork_back"]
PHASES: tuple[Phase, ...] = get_args(Phase)
"""`task` is the Task Summary, which has no phase of its own."""
FORKS: tuple[Phase, ...] = ("fork", "fork_back")
"""Kept in the temporary folder, deleted when consumed."""

CheckState: TypeAlias = Literal["done", "doing", "open"]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A handoff that went into a merged one."""

    name: str
    """Its file name, without `.md`."""
    sha256: str
    """First twelve digits of the hash of its bytes: a name may come again, bytes do not."""


class Choice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A decision with its reason."""

    decision: str
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    """What was considered and not taken."""


class FileNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file, where in it, and what or why."""

    path: str
    lines: str = ""
    """`803-864, 1055-1114`, as they were when they were last read."""
    note: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something found out, with what shows it and where that stands."""

    finding: str
    evidence: str = ""
    where: str = ""


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One numbered change of a plan."""

    what: str
    file: str = ""
    snippet: str = ""
    test: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry with a box."""

    text: str
    state: CheckState = "open"


class Handoff(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every handoff has. Everything in it is redacted before it is kept."""

    schema: int = HANDOFF_SCHEMA
    title: str = ""
    """The task in a few words."""
    date: str = ""
    """Day it was written, `2026-11-22`: age counts from it."""
    written: str = ""
    """ISO-8601 with offset."""
    project: str = ""
    """Root of the git repository, or the working folder."""
    session: str = ""
    """Handle of the session it was written from."""
    root: str = ""
    """The folder that `…/` stands for in paths."""
    sources: tuple[Source, ...] = ()
    """Handoffs that were merged into this one, oldest first."""
    orders: tuple[str, ...] = ()
    """What the user laid down, word for word."""
    errors: tuple[str, ...] = ()
    """Not resolved, as far as a later result shows."""
    pointers: tuple[str, ...] = ()
    """Where the originals are and how to get them."""
    notes: tuple[Note, ...] = ()
    left_out: dict[str, int] = {}
    """Entries that did not fit, by field."""


class TaskSummary(Handoff, frozen=True, kw_only=True, omit_defaults=True):
    """Where a task stands: what the next conversation starts from."""

    task: str = ""
    decisions: tuple[Choice, ...] = ()
    artifacts: tuple[FileNote, ...] = ()
    complete: tuple[str, ...] = ()
    in_progress: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    """Or deferred."""
    facts: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


class ResearchProgress(Handoff, frozen=True, kw_only=True, omit_defaults=True):
    """What research found: what planning starts from."""

    task: str = ""
    understanding: str = ""
    files: tuple[FileNote, ...] = ()
    decisions: tuple[Choice, ...] = ()
    findings: tuple[Finding, ...] = ()
    constraints: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


class PlanProgress(Handoff, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be done: what implementing starts from."""

    task: str = ""
    changes: tuple[PlannedChange, ...] = ()
    unit_tests: tuple[str, ...] = ()
    integration_tests: tuple[str, ...] = ()
    acceptance_tests: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    decisions: tuple[Choice, ...] = ()
    status: tuple[Check, ...] = ()
    quality: str = ""


class ImplementationProgress(Handoff, frozen=True, kw_only=True, omit_defaults=True):
    """How far the work is: what the next implementer starts from. Its template has no section for the task."""

    decisions: tuple[Choice, ...] = ()
    completed: tuple[Check, ...] = ()
    in_progress: tuple[Check, ...] = ()
    remaining: tuple[Check, ...] = ()
    issues: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


class ForkHandoff(Handoff, frozen=True, kw_only=True, omit_defaults=True):
    """What another agent is asked to do beside the main work. `pointers` is a section of its template."""

    purpose: str = ""
    scope: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    hand_back: tuple[str, ...] = ()


class ForkHandBack(Handoff, frozen=True, kw_only=True, omit_defaults=True):
    """What that agent brings back."""

    result: str = ""
    findings: tuple[Finding, ...] = ()
    merge_guidance: tuple[str, ...] = ()
    open_items: tuple[str, ...] = ()


class KeptHandoff(msgspec.Struct, frozen=True, kw_only=True):
    """A handoff as it stands in its place."""

    name: str
    """File name without `.md`."""
    path: str
    place: Place
    phase: Phase
    handoff: Handoff
    tokens: int
    """o200k tokens of the file."""


Place: TypeAlias = Literal["memory", "archive", "temp"]


class WrittenHandoff(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `write_handoff`."""

    name: str
    path: str
    phase: Phase
    project: str
    text: str
    tokens: int
    session_id: str
    handle: str
    redacted: dict[str, int] = {}
    """Masked spans by kind."""
    notes: tuple[str, ...] = ()


class HandedBack(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `hand_back`."""

    text: str
    """For the parent: the result word for word, and where everything is that it rests on."""
    session_id: str
    handle: str
    """Of the sub-agent's session."""
    batches: int
    """How many hold what it read."""
    handoff: str = ""
    """Name of the one that was written; empty where none could be."""


class LoadedHandoff(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `load_handoff`: a part of a handoff, never a history."""

    name: str
    path: str
    phase: Phase
    project: str
    text: str
    tokens: int
    others: tuple[str, ...] = ()
    """Newer or other handoffs that the same words could have meant, by name."""
    consumed: bool = False
    """It was a fork's, and is deleted now."""


class CleanupStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that a cleanup does, or would do."""

    action: Literal["archive", "delete", "merge"]
    name: str
    """What is archived or deleted; of a merge, the handoff that is written."""
    task: str
    date: str
    age_days: int
    why: str
    sources: tuple[str, ...] = ()
    """Of a merge: what goes into it, oldest first."""


class Cleanup(msgspec.Struct, frozen=True, kw_only=True):
    """What a cleanup did, or would do. Offload archives are never part of it."""

    dry_run: bool
    steps: tuple[CleanupStep, ...]
    kept: int
    """Handoffs that stay where they are."""
    notes: tuple[str, ...] = ()
    """What was left alone and why."""
