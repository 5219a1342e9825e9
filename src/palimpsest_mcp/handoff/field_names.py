"""By which names agents give fields of a handoff, and examples that errors show."""

from __future__ import annotations

from collections.abc import Mapping

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
