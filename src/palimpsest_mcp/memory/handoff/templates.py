"""The six templates: their sections in order, what must be filled, and what the next reader is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...models.handoffs import (
    Check,
    CheckState,
    Choice,
    FileNote,
    Finding,
    ForkHandBack,
    ForkHandoff,
    Handoff,
    ImplementationProgress,
    Phase,
    PlannedChange,
    PlanProgress,
    ResearchProgress,
    TaskSummary,
)
from ...models.sections import (
    NAMES,
    NUMBERED,
    NUMBERS,
    SPAN,
    TEXT,
    Form,
    Incoming,
    Layout,
    Middle,
    Part,
    Section,
    bold,
    folded,
    listed,
    read_bold,
    taken,
    texts_form,
    titled,
)
from ...models.text import code, find_stop, inline, plain_code, plain_inline
from .. import absent

# Kinds of entries of a handoff beside those that every document has.

LEFT_OUT = re.compile(r"… and (\d+) more$")
_BOXES: dict[CheckState, str] = {"done": "x", "doing": "/", "open": " "}
_BOX = re.compile(r"\[([xX/~ -])\] ?")
_STATES: Mapping[str, CheckState] = {
    **dict.fromkeys(("done", "complete", "completed", "x", "true"), "done"),
    **dict.fromkeys(("doing", "in_progress", "in progress", "/", "started"), "doing"),
}
_INSTEAD = " instead of "
_WHERE = re.compile(rf" \(({SPAN})\)")
_FENCE = re.compile(r"`{3,}$")
_INDENT = "   "
_DEEPER = "     "


def _write_others(one: Choice) -> str:
    return (_INSTEAD if one.alternatives else "") + ", ".join(map(bold, one.alternatives))


def _read_others(rest: str) -> tuple[dict[str, Any], str]:
    others: list[str] = []
    if rest.startswith(_INSTEAD):
        other, rest = read_bold(rest.removeprefix(_INSTEAD))
        while other is not None:
            others.append(other)
            other, rest = read_bold(rest[2:]) if rest.startswith(", **") else (None, rest)
    return {"alternatives": tuple(others)}, rest


def _write_lines(one: FileNote) -> str:
    return f" ({inline(one.lines, ')')})" if one.lines else ""


def _read_lines(rest: str) -> tuple[dict[str, Any], str]:
    end = find_stop(rest, ")", 2) if rest.startswith(" (") else -1
    return ({"lines": plain_inline(rest[2:end], ")")}, rest[end + 1 :]) if end > 0 else ({}, rest)


def _write_where(one: Finding) -> str:
    return f" ({code(one.where)})" if one.where else ""


def _read_where(rest: str) -> tuple[dict[str, Any], str]:
    where = _WHERE.match(rest)
    return ({"where": plain_code(where[1])}, rest[where.end() :]) if where else ({}, rest)


def _read_check(entry: str) -> Check:
    found = _BOX.match(entry)
    mark = found[1] if found else " "
    state: CheckState = "done" if mark in "xX" else "open" if mark == " " else "doing"
    return Check(text=plain_inline(entry[found.end() :] if found else entry), state=state)


def _take_checks(incoming: Incoming, value: Any) -> tuple[Check, ...]:
    usual: dict[str, CheckState] = {"completed": "done", "in_progress": "doing"}
    checks: list[Check] = []
    for text, fields in incoming.objects(value, ("text", *NAMES["text"])):
        said = incoming.text(incoming.field(fields, "state", ""))
        state = _STATES.get(said.lower(), "open" if said else usual.get(incoming.name, "open"))
        checks.append(Check(text=text, state=state))
    return tuple(checks)


def _write_changes(changes: Sequence[PlannedChange], _none: str) -> list[str]:
    lines: list[str] = []
    for number, one in enumerate(changes, 1):
        lines.append(f"{number}. {inline(one.what)}")
        if one.file:
            lines.append(f"{_INDENT}- File: {code(one.file)}")
        if one.snippet:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", one.snippet)), default=0))
            lines += [f"{_INDENT}- Snippet:", f"{_DEEPER}{fence}"]
            lines += [f"{_DEEPER}{line}" for line in one.snippet.split("\n")]
            lines.append(f"{_DEEPER}{fence}")
        if one.test:
            lines.append(f"{_INDENT}- Test: {inline(one.test)}")
    return lines


def _read_changes(lines: list[str], none: str) -> tuple[PlannedChange, ...]:
    found: list[dict[str, str]] = []
    rows = iter(lines)
    for line in rows:
        if line == none or not line.strip():
            continue
        if line[0] not in " \t":
            found.append({"what": plain_inline(NUMBERED.sub("", line.removeprefix("- "), count=1))})
        elif found:
            _read_part(found[-1], line.lstrip(), rows)
    return tuple(PlannedChange(**fields) for fields in found)


def _read_part(fields: dict[str, str], part: str, rows: Iterable[str]) -> None:
    """One indented line of a change; of a snippet, also the fenced lines after it."""
    name, _, value = part.removeprefix("- ").partition(":")
    value = value.removeprefix(" ")
    if name == "File":
        fields["file"] = plain_code(value)
    elif name == "Test":
        fields["test"] = plain_inline(value)
    elif name == "Snippet":
        fields["snippet"] = value if value else _fenced(rows)
    else:
        fields["what"] += "\n" + plain_inline(part)


def _fenced(rows: Iterable[str]) -> str:
    body: list[str] = []
    fence = ""
    for row in rows:
        line = row.removeprefix(_DEEPER) if row.startswith(_DEEPER) else row.strip()
        if not fence:
            fence = line if _FENCE.match(line) else "```"
        elif line == fence:
            break
        else:
            body.append(line)
    return "\n".join(body)


TEXTS = texts_form(LEFT_OUT)
CHOICES = titled(Choice, ("decision", "rationale", "alternatives"), Middle(_write_others, _read_others))
FILES = titled(FileNote, ("path", "note", "lines"), Middle(_write_lines, _read_lines))
FINDINGS = titled(Finding, ("finding", "evidence", "where"), Middle(_write_where, _read_where))
CHECKS = listed(lambda one: f"[{_BOXES[one.state]}] {inline(one.text)}", _read_check, _take_checks)
CHANGES = Form(_write_changes, _read_changes, taken(PlannedChange, ("what", "test", "file", "snippet")))


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


def _part(field: str, form: Form, nothing: absent.Absent, heading: str = "", former_heading: str = "") -> Part:
    return Part(field, form, nothing.now, heading, former=nothing.former, former_heading=former_heading)


def _one(heading: str, field: str, form: Form, nothing: absent.Absent) -> Section:
    return Section(heading, (_part(field, form, nothing),))


def _critical(task: str, *, state: tuple[str, ...], context: tuple[str, ...]) -> tuple[Critical, ...]:
    """What the seed asks of every template, by the fields that hold it here."""
    return (Critical("task", (task,)), Critical("current_state", state), Critical("key_context", context))


_TASK = _one("Task", "task", TEXT, absent.TASK)
_POINTERS = _one("Pointers", POINTERS, TEXTS, absent.POINTERS)
_DECISIONS = _one("Decisions Made", "decisions", CHOICES, absent.DECISIONS)
ORDERS = "Standing Orders"
_ORDERS = _one(ORDERS, "orders", TEXTS, absent.ORDERS)
_ERRORS = _one("Open Errors", "errors", TEXTS, absent.OPEN_ERRORS)
_LATER = (ORDERS, _ERRORS.heading, _DECISIONS.heading)
"""Files of an earlier version may lack them."""
_KEY = "Key Context for Continuation"

TASK = Template(
    "task",
    TaskSummary,
    "Task Summary",
    (
        _TASK,
        _ORDERS,
        _DECISIONS,
        _one("Artifacts Produced", "artifacts", FILES, absent.PRODUCED),
        Section(
            "Current State",
            (
                _part("complete", TEXTS, absent.COMPLETE, "Complete"),
                _part("in_progress", TEXTS, absent.IN_PROGRESS, "In progress"),
                _part("blocked", TEXTS, absent.REMAINING, "To do, blocked or deferred", "Blocked or deferred"),
            ),
        ),
        _ERRORS,
        Section(
            _KEY,
            (
                _part(
                    "facts",
                    TEXTS,
                    absent.FACTS,
                    "What was said, oldest first; later lines may overtake earlier ones",
                    "Facts",
                ),
                _part("questions", TEXTS, absent.QUESTIONS, "Unresolved questions"),
                _part("constraints", TEXTS, absent.CONSTRAINTS, "Active constraints"),
            ),
        ),
        _one("Agents Used", "agents", TEXTS, absent.AGENTS),
        _one("Skills Applied", "skills", TEXTS, absent.SKILLS),
        _POINTERS,
    ),
    (_TASK.heading, ORDERS, _DECISIONS.heading, "Current State", _ERRORS.heading, _KEY),
    _critical("task", state=("complete", "in_progress", "blocked"), context=("facts", "questions", "constraints")),
)

RESEARCH = Template(
    "research",
    ResearchProgress,
    "Research Progress",
    (
        _TASK,
        _ORDERS,
        _DECISIONS,
        _one("System Understanding", "understanding", TEXT, absent.UNDERSTANDING),
        _one("Files Involved", "files", FILES, absent.FILES_READ),
        _one("Key Findings", "findings", FINDINGS, absent.FINDINGS),
        _one("Constraints & Gotchas", "constraints", TEXTS, absent.CONSTRAINTS),
        _ERRORS,
        _one("Open Questions", "questions", TEXTS, absent.QUESTIONS),
        _POINTERS,
    ),
    (
        _TASK.heading,
        ORDERS,
        _DECISIONS.heading,
        "System Understanding",
        "Key Findings",
        "Constraints & Gotchas",
        _ERRORS.heading,
        "Open Questions",
    ),
    _critical("task", state=("understanding", "files"), context=("findings", "constraints", "questions")),
)

PLAN = Template(
    "plan",
    PlanProgress,
    "Plan Progress",
    (
        _TASK,
        _ORDERS,
        _one("Changes", "changes", CHANGES, absent.CHANGES),
        Section(
            "Test Strategy",
            (
                _part("unit_tests", TEXTS, absent.UNIT, "Unit"),
                _part("integration_tests", TEXTS, absent.INTEGRATION, "Integration"),
                _part("acceptance_tests", TEXTS, absent.ACCEPTANCE, "Acceptance"),
            ),
        ),
        _one("Execution Order", "order", NUMBERS, absent.ORDER),
        _DECISIONS,
        _one("Status", "status", CHECKS, absent.STATUS),
        _ERRORS,
        _one("Plan Quality Signal", "quality", TEXT, absent.QUALITY),
        _POINTERS,
    ),
    (_TASK.heading, ORDERS, "Execution Order", _DECISIONS.heading, "Status", _ERRORS.heading),
    _critical("task", state=("status", "changes"), context=("order", "status")),
)

IMPLEMENTATION = Template(
    "implementation",
    ImplementationProgress,
    "Implementation Progress",
    (
        _ORDERS,
        _DECISIONS,
        _one("Completed", "completed", CHECKS, absent.COMPLETE),
        _one("In Progress", "in_progress", CHECKS, absent.IN_PROGRESS),
        _one("Remaining", "remaining", CHECKS, absent.REMAINING),
        _one("Issues Encountered", "issues", TEXTS, absent.ISSUES),
        _ERRORS,
        _one("Test Results", "tests", TEXTS, absent.TESTS),
        _POINTERS,
    ),
    (ORDERS, _DECISIONS.heading, "In Progress", "Remaining", "Issues Encountered", _ERRORS.heading),
    _critical("title", state=("completed", "in_progress", "remaining"), context=("in_progress", "remaining", "issues")),
)

FORK = Template(
    "fork",
    ForkHandoff,
    "Fork Handoff",
    (
        _one("Purpose", "purpose", TEXT, absent.PURPOSE),
        _one("Scope", "scope", TEXTS, absent.SCOPE),
        _ORDERS,
        _one("Pointers, Not Duplication", POINTERS, TEXTS, absent.POINTERS),
        _one("Suggested Skills", "skills", TEXTS, absent.SKILLS),
        _one("Key Context to Start", "facts", TEXTS, absent.START),
        _one("Hand-Back Expected", "hand_back", TEXTS, absent.HAND_BACK),
    ),
    (),
    _critical("purpose", state=("facts", "scope"), context=("facts",)),
)

FORK_BACK = Template(
    "fork_back",
    ForkHandBack,
    "Fork Hand-Back",
    (
        _one("Result Summary", "result", TEXT, absent.RESULT),
        _one("Changes/Findings", "findings", FINDINGS, absent.MADE),
        _one("Merge Guidance", "merge_guidance", TEXTS, absent.MERGING),
        _one("Open Items", "open_items", TEXTS, absent.OPEN_ITEMS),
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


def may_lack(section: Section) -> bool:
    """Whether files that an earlier version wrote have no such section."""
    return section.heading in _LATER


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
    "to_do_blocked_or_deferred": "blocked",
    "completed": "complete",
    "artifacts_produced": "artifacts",
    "files_involved": "files",
    "decisions_made": "decisions",
    "standing_orders": "orders",
    "open_errors": "errors",
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
