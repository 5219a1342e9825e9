"""A call with other strings in its arguments."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.arguments import strings_of, with_strings
from palimpsest_mcp.hosts.pieces import with_arguments, without_strings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_an_object_keeps_its_keys_and_everything_but_the_string() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a", "content": "long", "n": 1.10}}
    assert with_arguments(block, {("content",): "note"}) == {
        **block,
        "input": {"file_path": "a", "content": "note", "n": 1.10},
    }


def test_json_text_is_spelled_as_it_was_around_the_string() -> None:
    text = '{ "path":"a.py",  "content":"one\\ntwo é", "n": 1.10 }'
    block = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": text}}
    changed = with_arguments(block, {("content",): "note"})
    assert changed is not None
    assert changed["function"]["arguments"] == '{ "path":"a.py",  "content":"note", "n": 1.10 }'
    assert json.loads(changed["function"]["arguments"])["path"] == "a.py"


def test_a_string_that_is_spelled_in_an_unusual_way_is_left_alone() -> None:
    block = {"type": "function_call", "name": "write", "arguments": '{"content": "a\\/b"}'}
    assert with_arguments(block, {("content",): "note"}) is None


def test_a_tool_that_takes_one_text_gets_the_note_as_its_text() -> None:
    block = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin Patch\n+a"}
    assert with_arguments(block, {("input",): "note"}) == {**block, "input": "note"}


def test_arguments_that_are_no_json_are_left_alone() -> None:
    block = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"content": "cut of'}
    assert with_arguments(block, {("input",): "note"}) is None


def test_more_than_strings_of_arguments_is_seen_as_a_change() -> None:
    block: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"content": "a", "n": 1}}
    assert without_strings(block) == without_strings({**block, "input": {"content": "b", "n": 1}})
    assert without_strings(block) != without_strings({**block, "input": {"content": "b", "n": 2}})
    assert without_strings(block) != without_strings({**block, "input": {"text": "a", "n": 1}})
    assert without_strings(block) != without_strings({**block, "id": "t2"})


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_strings_put_back_give_the_same_value(args: dict[str, Any]) -> None:
    strings = dict(strings_of(args))
    bare = with_strings(args, dict.fromkeys(strings, "-"))
    assert with_strings(bare, strings) == args


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4), st.text())
def test_json_text_with_another_string_differs_in_that_string_alone(args: dict[str, Any], new: str) -> None:
    block = {"type": "function_call", "name": "f", "arguments": json.dumps(args, ensure_ascii=False)}
    for place in dict(strings_of(args)):
        changed = with_arguments(block, {place: new})
        if changed is not None:
            assert json.loads(changed["arguments"]) == with_strings(args, {place: new})
