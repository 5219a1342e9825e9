"""The six templates: their sections in order, what must be filled, and what the next reader is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...models.handoffs import (
    ForkHandBack,
    ForkHandoff,
    Handoff,
    ImplementationProgress,
    Phase,
    PlanProgress,
    ResearchProgress,
    TaskSummary,
)
from ...models.sections import NUMBERS, TEXT, Form, Layout, Part, Section, folded
from .forms import CHANGES, CHECKS, CHOICES, FILES, FINDINGS, LEFT_OUT, TEXTS

POINTERS = "pointers"


class Critical(NamedTuple):
    """Something without which nobody can continue: one of the fields must be filled."""

    name: str
    fields: tuple[str, ...]


class Template(NamedTuple):
    """One kind of handoff."""

    phase: Phase
    model: type[Handoff]
    title: str
    sections: tuple[Section, ...]
    key: tuple[str, ...]
    """Headings that the next reader is given; a fork's reader is given all of it."""
    critical: tuple[Critical, ...]

    def parts(self) -> dict[str, Part]:
        """Every part by its field."""
        return {part.field: part for section in self.sections for part in section.parts}

    def layout(self) -> Layout:
        """How its sections are written and read."""
        headings = {folded(section.heading): section.heading for section in self.sections}
        return Layout(self.sections, lambda heading: headings.get(folded(heading)), LEFT_OUT)


def _one(heading: str, field: str, form: Form, none: str) -> Section:
    return Section(heading, (Part(field, form, none),))


def _critical(task: str, *, state: tuple[str, ...], context: tuple[str, ...]) -> tuple[Critical, ...]:
    """What the seed asks of every template, by the fields that hold it here."""
    return (Critical("task", (task,)), Critical("current_state", state), Critical("key_context", context))


_TASK = _one("Task", "task", TEXT, "No task was stated.")
_POINTERS = _one("Pointers", POINTERS, TEXTS, "There are no pointers.")
_DECISIONS = _one("Decisions Made", "decisions", CHOICES, "No decisions were stated.")
_KEY = "Key Context for Continuation"

TASK = Template(
    "task",
    TaskSummary,
    "Task Summary",
    (
        _TASK,
        _DECISIONS,
        _one("Artifacts Produced", "artifacts", FILES, "No artifacts were produced."),
        Section(
            "Current State",
            (
                Part("complete", TEXTS, "Nothing is known to be complete.", "Complete"),
                Part("in_progress", TEXTS, "Nothing is known to be in progress.", "In progress"),
                Part("blocked", TEXTS, "Nothing is known to be blocked or deferred.", "Blocked or deferred"),
            ),
        ),
        Section(
            _KEY,
            (
                Part("facts", TEXTS, "No facts were stated.", "Facts"),
                Part("questions", TEXTS, "No questions are known to be open.", "Unresolved questions"),
                Part("constraints", TEXTS, "No constraints were stated.", "Active constraints"),
            ),
        ),
        _one("Agents Used", "agents", TEXTS, "No other agents were used."),
        _one("Skills Applied", "skills", TEXTS, "No skills were applied."),
        _POINTERS,
    ),
    (_KEY,),
    _critical("task", state=("complete", "in_progress", "blocked"), context=("facts", "questions", "constraints")),
)

RESEARCH = Template(
    "research",
    ResearchProgress,
    "Research Progress",
    (
        _TASK,
        _one("System Understanding", "understanding", TEXT, "Nothing was written down about the system."),
        _one("Files Involved", "files", FILES, "No files were looked at."),
        _one("Key Findings", "findings", FINDINGS, "No findings were stated."),
        _one("Constraints & Gotchas", "constraints", TEXTS, "No constraints were stated."),
        _one("Open Questions", "questions", TEXTS, "No questions are known to be open."),
        _POINTERS,
    ),
    ("Key Findings", "Constraints & Gotchas", "Open Questions"),
    _critical("task", state=("understanding", "files"), context=("findings", "constraints", "questions")),
)

PLAN = Template(
    "plan",
    PlanProgress,
    "Plan Progress",
    (
        _TASK,
        _one("Changes", "changes", CHANGES, "No changes were planned."),
        Section(
            "Test Strategy",
            (
                Part("unit_tests", TEXTS, "No unit tests were planned.", "Unit"),
                Part("integration_tests", TEXTS, "No integration tests were planned.", "Integration"),
                Part("acceptance_tests", TEXTS, "No acceptance tests were planned.", "Acceptance"),
            ),
        ),
        _one("Execution Order", "order", NUMBERS, "No order was stated."),
        _DECISIONS,
        _one("Status", "status", CHECKS, "Nothing was ticked off or left open."),
        _one("Plan Quality Signal", "quality", TEXT, "Nobody judged the plan."),
        _POINTERS,
    ),
    ("Execution Order", "Status"),
    _critical("task", state=("status", "changes"), context=("order", "status")),
)

IMPLEMENTATION = Template(
    "implementation",
    ImplementationProgress,
    "Implementation Progress",
    (
        _one("Completed", "completed", CHECKS, "Nothing is known to be complete."),
        _one("In Progress", "in_progress", CHECKS, "Nothing is known to be in progress."),
        _one("Remaining", "remaining", CHECKS, "Nothing is known to remain."),
        _one("Issues Encountered", "issues", TEXTS, "No issues were met."),
        _one("Test Results", "tests", TEXTS, "No tests were run."),
        _POINTERS,
    ),
    ("In Progress", "Remaining", "Issues Encountered"),
    _critical("title", state=("completed", "in_progress", "remaining"), context=("in_progress", "remaining", "issues")),
)

FORK = Template(
    "fork",
    ForkHandoff,
    "Fork Handoff",
    (
        _one("Purpose", "purpose", TEXT, "No purpose was stated."),
        _one("Scope", "scope", TEXTS, "No scope was stated."),
        _one("Pointers, Not Duplication", POINTERS, TEXTS, "There are no pointers."),
        _one("Suggested Skills", "skills", TEXTS, "No skills are suggested."),
        _one("Key Context to Start", "facts", TEXTS, "No context was stated."),
        _one("Hand-Back Expected", "hand_back", TEXTS, "Nothing in particular is expected back."),
    ),
    (),
    _critical("purpose", state=("facts", "scope"), context=("facts",)),
)

FORK_BACK = Template(
    "fork_back",
    ForkHandBack,
    "Fork Hand-Back",
    (
        _one("Result Summary", "result", TEXT, "No result was stated."),
        _one("Changes/Findings", "findings", FINDINGS, "No changes and no findings."),
        _one("Merge Guidance", "merge_guidance", TEXTS, "Nothing needs care when this is taken over."),
        _one("Open Items", "open_items", TEXTS, "Nothing is known to be open."),
        _POINTERS,
    ),
    (),
    _critical("title", state=("result",), context=("findings", "result")),
)

TEMPLATES: dict[Phase, Template] = {one.phase: one for one in (TASK, RESEARCH, PLAN, IMPLEMENTATION, FORK, FORK_BACK)}


def template_of(handoff: Handoff) -> Template:
    """The template that a handoff is made of."""
    return next(one for one in TEMPLATES.values() if one.model is type(handoff))


def missing(handoff: Handoff) -> tuple[str, ...]:
    """Critical sections that are empty, by name."""
    wanted = template_of(handoff).critical
    return tuple(one.name for one in wanted if not any(getattr(handoff, field) for field in one.fields))


def section_name(section: Section) -> str:
    """How a section is asked for."""
    return {"key_context_for_continuation": "key_context", "pointers_not_duplication": POINTERS}.get(
        folded(section.heading), folded(section.heading)
    )


# By which names agents give fields of a handoff, and examples that errors show.


EXAMPLES: Mapping[str, str] = {
    "task": '{"decisions": {"Keep the first of two equal rows": "the source repeats them"}, '
    '"in_progress": ["tests/test_load.py: two files in one night"], '
    '"key_context": {"facts": ["etl/load.py:40-88 skips known ids"], "questions": ["May old rows be deleted?"], '
    '"constraints": ["no schema change"]}}',
    "research": '{"understanding": "Rows come twice when the source restarts", "findings": [{"finding": "ids repeat", '
    '"evidence": "31 of 4,000 rows", "where": "etl/load.py:40"}], "questions": ["May old rows be deleted?"]}',
    "plan": '{"changes": [{"what": "Skip known ids", "file": "etl/load.py", "snippet": "if row.id in seen: continue", '
    '"test": "two equal rows give one"}], "order": ["load.py", "its test"], "status": {"load.py": "done"}}',
    "implementation": '{"completed": ["load.py skips known ids"], "in_progress": ["its test"], '
    '"remaining": ["the note for users"], "issues": ["the sample file is cut"], "tests": ["pytest: 12 passed"]}',
    "fork": '{"scope": ["only etl/load.py"], "facts": ["ids repeat when the source restarts"], '
    '"hand_back": ["which rows, and a test that fails"]}',
    "fork_back": '{"result": "31 rows repeat, all from one restart", "findings": [{"finding": "ids repeat", '
    '"where": "etl/load.py:40"}], "merge_guidance": ["take the test, leave the log lines"], "open_items": ["why"]}',
}
"""Fields that are right, for each template: what an error shows."""
ALIASES: Mapping[str, Mapping[str, str]] = {
    "task": {
        "current_state": "in_progress",
        "state": "in_progress",
        "key_context": "facts",
        "context": "facts",
        "next_steps": "blocked",
        "todo": "blocked",
        "remaining": "blocked",
    },
    "research": {
        "gotchas": "constraints",
        "facts": "findings",
        "key_context": "findings",
        "current_state": "understanding",
    },
    "plan": {
        "tests": "unit_tests",
        "test_strategy": "unit_tests",
        "steps": "order",
        "next_steps": "order",
        "current_state": "status",
        "quality_signal": "quality",
    },
    "implementation": {
        "done": "completed",
        "complete": "completed",
        "next_steps": "remaining",
        "todo": "remaining",
        "current_state": "in_progress",
        "key_context": "issues",
        "blocked": "issues",
        "blockers": "issues",
        "questions": "issues",
        "open_questions": "issues",
    },
    "fork": {
        "task": "purpose",
        "key_context": "facts",
        "context": "facts",
        "constraints": "scope",
        "expected": "hand_back",
    },
    "fork_back": {
        "summary": "result",
        "changes": "findings",
        "guidance": "merge_guidance",
        "open": "open_items",
        "questions": "open_items",
        "open_questions": "open_items",
    },
}
ALSO: Mapping[str, str] = {
    "open_questions": "questions",
    "unresolved_questions": "questions",
    "active_constraints": "constraints",
    "blockers": "blocked",
    "blocked_or_deferred": "blocked",
    "completed": "complete",
    "artifacts_produced": "artifacts",
    "files_involved": "files",
    "decisions_made": "decisions",
    "agents_used": "agents",
    "skills_applied": "skills",
    "unit": "unit_tests",
    "integration": "integration_tests",
    "acceptance": "acceptance_tests",
}
BY_PART: Mapping[str, frozenset[str]] = {
    "task": frozenset({"current_state", "key_context"}),
    "plan": frozenset({"test_strategy", "tests"}),
}
"""Sections of several parts: an object under their name holds the parts."""
