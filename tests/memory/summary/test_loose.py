"""Sections as agents give them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.memory.summary.merge import EXAMPLE, MAX_ENTRIES, MAX_TEXT, summary_of
from palimpsest_mcp.models.summaries import Blocker, ChangedFile, Decision, ErrorMet


def test_the_example_of_the_errors_is_right() -> None:
    summary = summary_of(json.loads(EXAMPLE))
    assert summary.session_intent and summary.files_modified and summary.decisions_made and summary.next_steps
    assert summary.blockers and summary.errors_encountered and summary.current_state


@pytest.mark.parametrize(
    "name", ["blockers", "Blockers", "Blockers / Open Questions", "open_questions", "open-questions", "OPEN QUESTIONS"]
)
def test_names_of_sections_are_loose(name: str) -> None:
    assert summary_of({name: "Which port?"}).blockers == (Blocker(text="Which port?"),)


@pytest.mark.parametrize(
    "value",
    [
        {"a.py": ["one", "two"]},
        [{"path": "a.py", "changes": ["one", "two"]}],
        [{"file": "a.py", "change": ["one", "two"]}],
    ],
)
def test_files_come_in_any_of_three_forms(value: Any) -> None:
    assert summary_of({"files": value}).files_modified == (ChangedFile(path="a.py", changes=("one", "two")),)


def test_files_may_be_lines_with_a_colon_or_bare_paths() -> None:
    files = summary_of({"files": ["`a.py`: one", "b.py"]}).files_modified
    assert files == (ChangedFile(path="a.py", changes=("one",)), ChangedFile(path="b.py"))


def test_decisions_and_errors_may_be_texts_objects_or_pairs() -> None:
    for value in (["Use SQL"], [{"decision": "Use SQL"}], "Use SQL"):
        assert summary_of({"decisions": value}).decisions_made == (Decision(decision="Use SQL"),)
    assert summary_of({"decisions": {"Use SQL": "joins"}}).decisions_made[0].rationale == "joins"
    assert summary_of({"errors": {"E42": "restart"}}).errors_encountered == (
        ErrorMet(error="E42", resolution="restart"),
    )


def test_two_names_of_one_section_are_united() -> None:
    assert len(summary_of({"blockers": ["a b c"], "questions": ["d e f"]}).blockers) == 2


def test_texts_lose_what_moves_a_cursor() -> None:
    assert summary_of({"state": " half \x1b[31mdone\u202e \ud83d "}).current_state == "half done \ufffd"


@pytest.mark.parametrize(
    "sections",
    [
        {"mood": "good"},
        {"state": {"a": {}}},
        {"next_steps": [["nested"]]},
        {"decisions": [{"why": "no decision"}]},
        {"files": [{"changes": "no path"}]},
        {"state": True},
        {"state": "x" * (MAX_TEXT + 1)},
        {"next_steps": ["step"] * (MAX_ENTRIES + 1)},
        {"files": {f"{n}.py": "one" for n in range(MAX_ENTRIES + 1)}},
    ],
)
def test_what_does_not_fit_is_refused_with_a_correct_example(sections: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        summary_of(sections)
    assert EXAMPLE in caught.value.next


def test_null_and_empty_sections_say_nothing() -> None:
    summary = summary_of({"blockers": None, "next_steps": [], "state": "", "files": {}})
    assert not (summary.blockers or summary.next_steps or summary.current_state or summary.files_modified)
