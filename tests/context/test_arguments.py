"""Which strings of a call leave, and the note that takes the place of each."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.context.arguments import (
    LEAST_CHARACTERS,
    LEAST_LINE,
    first_line,
    left_tokens,
    long_strings,
    note,
    note_hashes,
    notes,
)
from palimpsest_mcp.hosts.pieces import with_arguments
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.text.tokens.count import open_counter

LONG = "import re\n" + "x = 1\n" * 200


def _call(content: dict[str, Any], args: dict[str, Any], kind: str = "tool_call") -> Item:
    return Item(id="call:t1", kind=kind, role="assistant", position=(1, 0), content=content, sha256="", args=args)


def test_only_long_strings_of_a_call_may_leave() -> None:
    args = {"file_path": "a.py", "content": LONG, "edits": [{"old": "x", "new": LONG}], "n": 3}
    block = {"type": "tool_use", "id": "t1", "name": "Write", "input": args}
    assert long_strings(_call(block, args)) == {("content",): LONG, ("edits", 0, "new"): LONG}
    assert long_strings(_call(block, args, kind="message")) == {}


def test_a_string_below_the_least_length_stays() -> None:
    for text in ("x\n" + "x" * (LEAST_CHARACTERS - 3), "x" * (LEAST_LINE - 1)):
        assert long_strings(_call({"type": "tool_use", "input": {"content": text}}, {"content": text})) == {}


def test_a_command_of_one_line_stays_where_a_file_of_its_size_leaves() -> None:
    file, command = "a = 1\n" * 100, "git add " + " ".join(f"lib/{n}.ex" for n in range(60))
    args = {"command": command, "content": file}
    assert len(command) > LEAST_CHARACTERS
    assert long_strings(_call({"type": "tool_use", "input": args}, args)) == {("content",): file}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_use", "id": "t1", "name": "code_execution"},
        {"type": "mcp_tool_use", "id": "t1", "name": "write"},
        {"type": "function", "id": "t1", "extra_content": {"google": {"thought_signature": "AbC="}}},
        {"type": "function", "id": "t1", "function": {"name": "write", "thought_signature": "AbC="}},
    ],
)
def test_nothing_leaves_a_call_that_its_provider_carries_out_or_signs(block: dict[str, Any]) -> None:
    assert long_strings(_call(block, {"content": LONG})) == {}


def test_a_note_says_size_hash_beginning_and_way_back_on_one_line() -> None:
    text = note(LONG, "import re", restore="restore_batch s1 offload_0003")
    assert "\n" not in text
    assert "201 lines, 1,210 characters" in text
    assert "begins “import re”" in text
    assert "all of it: restore_batch s1 offload_0003" in text
    assert len(note_hashes(text)) == 1


def test_a_note_is_not_replaced_by_another_note() -> None:
    args = {"content": note(LONG, "import re") + "\n" + "y" * 500}
    assert long_strings(_call({"type": "tool_use", "input": args}, args)) == {}


def test_a_first_line_is_cut_between_words_only() -> None:
    assert "begins “aaaa bbbb …”" in note(LONG, "aaaa bbbb " + "c" * 180)
    assert "begins" not in note(LONG, "c" * 180)


@pytest.mark.parametrize("indent", ["\t\t\t", "            "])
def test_what_a_call_has_left_is_known_before_its_notes_are_made(indent: str) -> None:
    """Tabs, quotes and newlines take two characters each in a call; a guess without them left too little to digests."""
    code = "\n".join(f'{indent}print("row {n} of \\"{n * 7919}\\"")' for n in range(300))
    args = {"file_path": "src/report/rows.py", "old_string": code, "new_string": code.replace("row", "line")}
    block = {"type": "tool_use", "id": "t1", "name": "Edit", "input": args}
    item, counter = _call(block, args), open_counter("claude-opus-4-5")
    begins = {place: first_line(text) for place, text in long_strings(item).items()}
    left = counter.count_content(with_arguments(block, notes(item, begins, "restore_batch s7f3k offload_0007")))
    assert abs(left_tokens(item, counter.count_content(block)) - left) < 0.2 * left
