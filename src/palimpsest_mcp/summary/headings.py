"""Headings of `summary.md`, what stands under an empty one, and by which other names they are read."""

from __future__ import annotations

from ..models.summaries import Section

TITLE = "# Anchored Summary"
METADATA = "Metadata"
HEADINGS: dict[Section, str] = {
    "session_intent": "Session Intent",
    "files_modified": "Files Modified",
    "decisions_made": "Decisions Made",
    "technical_context": "Technical Context",
    "current_state": "Current State",
    "blockers": "Blockers / Open Questions",
    "errors_encountered": "Errors Encountered",
    "next_steps": "Next Steps",
    "key_artifacts": "Key Artifacts",
}
"""In the order in which they are written: the seed's, with those of its template."""
NONE: dict[Section, str] = {
    "session_intent": "No intent was stated.",
    "files_modified": "None detected in calls of tools.",
    "decisions_made": "No decisions were stated.",
    "technical_context": "No technical context was stated.",
    "current_state": "No state was stated.",
    "blockers": "No blockers and no open questions.",
    "errors_encountered": "None detected in results of tools.",
    "next_steps": "No next steps were stated.",
    "key_artifacts": "No key artifacts were stated.",
}
FORMER: dict[Section, str] = {
    "files_modified": "No files were modified.",
    "errors_encountered": "No errors were met.",
}
"""What stood there in files of earlier versions."""
_ALIASES: dict[Section, tuple[str, ...]] = {
    "session_intent": ("intent", "goal", "task", "query"),
    "files_modified": ("files", "modified_files", "files_changed", "changes"),
    "decisions_made": ("decisions", "decision"),
    "technical_context": ("context", "technical"),
    "current_state": ("state", "status", "progress"),
    "blockers": ("open_questions", "questions", "blocker", "blockers_and_open_questions"),
    "errors_encountered": ("errors", "error"),
    "next_steps": ("next", "todo", "todos", "steps"),
    "key_artifacts": ("artifacts",),
}


def folded(name: str) -> str:
    """`Blockers / Open Questions` -> `blockers_open_questions`."""
    return "_".join("".join(char if char.isalnum() else " " for char in name).lower().split())


_BY_HEADING: dict[str, Section] = {
    **{folded(heading): section for section, heading in HEADINGS.items()},
    **{section: section for section in HEADINGS},
    "open_questions": "blockers",
    "errors": "errors_encountered",
    "decisions": "decisions_made",
}
_BY_NAME: dict[str, Section] = {
    **{alias: section for section, aliases in _ALIASES.items() for alias in aliases},
    **_BY_HEADING,
}


def section_of_heading(heading: str) -> Section | None:
    """The section that a heading of the file opens; None for a heading of a person's own."""
    return _BY_HEADING.get(folded(heading))


def section_of_name(name: str) -> Section | None:
    """The section that a caller means; more lenient."""
    return _BY_NAME.get(folded(name))
