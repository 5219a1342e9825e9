"""What a message says of the work before it, and which commands taught something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.memory.skill_uses import feedback_of, skill_named


def same(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("No, use pnpm.", "correction"),
        ("That's not what I asked for. Keep the old names.", "correction"),
        ("You should have asked before deleting the branch.", "correction"),
        ("don't commit generated files", "correction"),
        ("Nein, nimm das andere Verzeichnis.", "correction"),
        ("不对，用另一个接口", "correction"),
        ("Wrong!", "rejected"),
        ("undo that", "rejected"),
        ("thanks, now the docs", "accepted"),
        ("perfect", "accepted"),
        ("No problem, take your time.", ""),
        ("Don't worry about the docs for now, add a test.", ""),
        ("No, that's fine. Go on.", ""),
        ("Nothing in the readme mentions the flag, add it.", ""),
        ("Now add a changelog entry. Never mind the rest.", ""),
        ("Can you explain the second one? It is wrong there.", ""),
        ("Notice the new folder and use it.", ""),
        ("", ""),
    ],
)
def test_feedback_is_read_from_how_a_message_begins(text: str, kind: str) -> None:
    found = feedback_of(text, (), same)
    assert (found.kind if found else "") == kind


def test_what_a_correction_replaces_is_taken_from_its_own_words() -> None:
    found = feedback_of("No, search forums instead of shops.", (), same)
    assert found and (found.wanted, found.corrected) == ("No, search forums instead of shops.", "shops")


@given(st.text(max_size=400))
def test_feedback_never_fails_and_quotes_what_was_said(text: str) -> None:
    found = feedback_of(text, (), same)
    if found and found.kind == "correction":
        assert found.wanted and len(found.wanted) <= 300


@pytest.mark.parametrize("name", ["", "palimpsest:palimpsest", "../etc", "a/b", None, "x" * 70, "naïve"])
def test_what_is_no_name_of_a_skill_gives_none(name: object) -> None:
    assert skill_named(name) == ""


def test_a_plugins_skill_has_the_plugins_name_in_it() -> None:
    assert (skill_named("team:deploy"), skill_named("/commit")) == ("team.deploy", "commit")
