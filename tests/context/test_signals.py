"""Seed 004's signs of a full window, for hosts without numbers."""

from __future__ import annotations

from typing import Any

from palimpsest_mcp.context.meter import signals
from palimpsest_mcp.models.items import Action, Item
from palimpsest_mcp.models.plans import ContextItem


def entry(row: int, kind: str, role: str, **fields: Any) -> ContextItem:
    item = Item(id=f"{kind}{row}", kind=kind, role=role, position=(row, 0), content="", sha256="", **fields)
    return ContextItem(item=item, tokens=1)


def test_more_than_forty_turns_are_a_sign() -> None:
    turns = [entry(row, "message", "user") for row in range(40)]
    assert signals(turns) == ()
    assert signals([*turns, entry(40, "message", "user")]) == ("41 turns (over 40)",)


def test_many_file_reads_are_a_sign() -> None:
    reads = [
        entry(row, "tool_call", "assistant", tool_name="Read", args={"path": str(row)}, action=Action(verb="read"))
        for row in range(26)
    ]
    assert signals(reads[:25]) == ()
    assert signals(reads) == ("26 files read (over 25)",)


def test_errors_in_a_row_are_a_sign() -> None:
    def run(row: int, text: str, **fields: Any) -> ContextItem:
        item = Item(
            id=f"r{row}", kind="tool_result", role="tool", position=(row, 0), content=text, sha256="", tool_name="Bash",
            args={"command": str(row)}, action=Action(verb="run", target=str(row)), **fields,
        )  # fmt: skip
        return ContextItem(item=item, tokens=1)

    bad = [run(0, "boom", is_error=True), run(1, "Error: no port"), run(2, "exit code 2")]
    assert signals(bad) == ("3 errors in a row (3 or more)",)
    assert signals([*bad[:2], run(3, "well"), bad[2]]) == ()


def test_the_same_call_made_three_times_is_a_sign_whatever_the_order_of_its_arguments() -> None:
    calls = [
        entry(0, "tool_call", "assistant", tool_name="grep", args={"a": 1, "b": "\ud800"}),
        entry(1, "tool_call", "assistant", tool_name="grep", args={"b": "\ud800", "a": 1}),
    ]
    assert signals(calls) == ()
    third = entry(2, "tool_call", "assistant", tool_name="grep", args={"a": 1, "b": "\ud800"})
    assert signals([*calls, third]) == ("1 call made 3 times or more",)


def test_what_is_gone_from_the_context_gives_no_sign() -> None:
    item = Item(id="m", kind="message", role="user", position=(0, 0), content="", sha256="")
    assert signals([ContextItem(item=item, tokens=1, state="gone")] * 50) == ()
