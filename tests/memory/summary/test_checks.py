"""Placeholders and vague intents are refused with what to write in their place."""

from __future__ import annotations

import pytest

from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.memory.summary.merge import check, cycle_note, is_vague
from palimpsest_mcp.models.summaries import AnchoredSummary, Blocker, ChangedFile, Decision


@pytest.mark.parametrize(
    "text",
    ["[TBD]", "see [tbd] later", "TBD", "tests, docs, etc.", "and so on...", "more…", "[...]", "<insert state>", "N/A"],
)
def test_a_placeholder_is_refused(text: str) -> None:
    for new in (
        AnchoredSummary(current_state=text),
        AnchoredSummary(next_steps=("Test it", text)),
        AnchoredSummary(blockers=(Blocker(text=text),)),
        AnchoredSummary(files_modified=(ChangedFile(path="a.py", changes=(text,)),)),
        AnchoredSummary(decisions_made=(Decision(decision="Use SQL", rationale=text),)),
    ):
        with pytest.raises(InvalidArgument, match="placeholder|open end"):
            check(new)


@pytest.mark.parametrize(
    "text",
    [
        "Use f(...args) for it",
        "Wait for the etc directory",
        "none of the tests fail",
        "Add a TODO list to the page",
        "x",
    ],
)
def test_words_that_only_look_like_one_are_not(text: str) -> None:
    check(AnchoredSummary(current_state=text))


@pytest.mark.parametrize(
    "intent",
    ["Fix the bug", "Help the user with the project", "continue", "Implement the feature", "Work on code", "助"],
)
def test_a_vague_intent_is_refused_with_an_example(intent: str) -> None:
    assert is_vague(intent)
    with pytest.raises(InvalidArgument) as caught:
        check(AnchoredSummary(session_intent=intent))
    assert "etl/load.py" in caught.value.next


@pytest.mark.parametrize(
    "intent",
    [
        "Move the importer to Postgres",
        "Fix HL-1204 in export.py",
        "Find out why checkout is slow",
        "把导入程序迁移到数据库",
    ],
)
def test_an_intent_that_names_something_is_taken(intent: str) -> None:
    check(AnchoredSummary(session_intent=intent))


def test_a_warning_comes_after_three_compressions_and_advice_after_ten() -> None:
    notes = [cycle_note(count) for count in (1, 2, 3, 9, 10, 25)]
    assert notes[:2] == ["", ""]
    assert all("check that the summary" in note for note in notes[2:4])
    assert all("start fresh" in note for note in notes[4:])
