"""A next step in the form of each face."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.models.advice import Advice, Either, Face, in_form, step

FACES: tuple[Face, ...] = ("command", "tool", "call")


def test_one_step_is_a_command_a_tool_call_or_a_call_of_the_library() -> None:
    said = Advice("See what it has: {}", step("list_offloaded", session_id="s7f3k"))
    assert in_form(said, "command") == "See what it has: `palimpsest-mcp list s7f3k`"
    assert in_form(said, "command", "/my store") == "See what it has: `palimpsest-mcp --home '/my store' list s7f3k`"
    assert in_form(said, "tool") == 'See what it has: list_offloaded {"session_id": "s7f3k"}'
    assert said == in_form(said, "call") == "See what it has: list_offloaded(session_id='s7f3k')"


def test_a_step_without_a_tool_is_one_for_the_user_of_the_agent() -> None:
    assert in_form(Advice("{}", step("verify")), "tool") == "ask the user to run `palimpsest-mcp verify`"


def test_an_argument_is_named_as_the_face_names_it() -> None:
    said = Advice("Give {}.", Either(command="--window", tool="window_tokens"))
    assert [in_form(said, face) for face in FACES] == [
        "Give --window.",
        "Give window_tokens.",
        "Give window_tokens.",
    ]


def test_text_without_steps_is_the_same_everywhere() -> None:
    assert in_form("Use one of {a}.", "tool") == "Use one of {a}."


@given(st.text(min_size=1), st.text())
def test_whatever_a_session_is_called_its_command_is_read_back_as_typed(name: str, home: str) -> None:
    words = shlex.split(step("show_context", session_id=name).command(home))
    assert words == ["palimpsest-mcp", *(["--home", home] if home else []), "show", name]
