"""OpenAI-style lists: chat messages and Responses items."""

from __future__ import annotations

import json
from typing import Any

import pytest

from palimpsest_mcp.errors import FileWrongShape, InvalidArgument
from palimpsest_mcp.hosts.openai import OpenAIMessages

READER = OpenAIMessages()


def ask(*calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    told = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for call_id, name, args in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": told}


def tell(call_id: str, content: Any = "out") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_a_chat_becomes_items_in_order() -> None:
    context = READER.parse(
        [
            {"role": "developer", "content": "rules"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {"url": "u"}}],
            },
            {
                **ask(("c1", "shell", {"command": ["bash", "-lc", "ls"]})),
                "content": "I look",
                "reasoning_content": "hm",
            },
            tell("c1"),
        ]
    )
    assert [(item.kind, item.role, item.position) for item in context.items] == [
        ("system_prompt", "system", (0, 0)),
        ("original_query", "user", (1, 0)),
        ("image", "user", (1, 1)),
        ("message", "assistant", (2, 0)),
        ("tool_call", "assistant", (2, 1)),
        ("thinking", "assistant", (2, 2)),
        ("tool_result", "tool", (3, 0)),
    ]
    result = context.items[-1]
    assert (result.tool_name, result.args, result.unit) == ("shell", {"command": ["bash", "-lc", "ls"]}, "call:c1")
    assert result.action is not None
    assert (result.action.verb, result.action.target) == ("run", "ls")


def test_arguments_that_are_no_json_object_are_kept_as_text() -> None:
    broken = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    context = READER.parse([{"role": "assistant", "content": None, "tool_calls": [broken]}, tell("c")])
    assert context.items[0].args == {"input": '{"a": '}


def test_the_older_function_call_is_paired_by_its_functions_name() -> None:
    messages: list[Any] = [
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": "{}"}},
        {"role": "function", "name": "add", "content": "3"},
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": "{}"}},
        {"role": "function", "name": "add", "content": "4"},
    ]
    context = READER.parse(messages)
    units = [item.unit for item in context.items]
    assert units[0] == units[1] != units[2] == units[3]
    rendered = READER.render(context, {context.items[1].id: "digest"})
    assert rendered[1] == {"role": "function", "name": "add", "content": "digest"}


def test_a_tool_message_keeps_its_form_when_its_content_changes() -> None:
    messages: list[Any] = [
        ask(("a", "f", {}), ("b", "f", {})),
        tell("a"),
        tell("b", [{"type": "text", "text": "long"}]),
    ]
    rendered = READER.render(READER.parse(messages), {"a": "digest", "b": "digest"})
    assert rendered[0] is messages[0]
    assert rendered[1:] == [tell("a", "digest"), tell("b", [{"type": "text", "text": "digest"}])]


def test_responses_items_are_read_and_written() -> None:
    messages: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path": "a.py"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "long"},
        {
            "type": "custom_tool_call",
            "call_id": "c2",
            "name": "apply_patch",
            "input": "*** Begin Patch\n*** Update File: b.py\n",
        },
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "ok"}]},
        {"type": "web_search_call", "id": "ws_1"},
    ]
    context = READER.parse(messages)
    assert [item.kind for item in context.items] == [
        "original_query",
        "thinking",
        "tool_call",
        "tool_result",
        "tool_call",
        "tool_result",
        "host_block",
    ]
    patch = context.items[5].action
    assert patch is not None
    assert (patch.verb, patch.target) == ("edit", "b.py")
    rendered = READER.render(context, {"c1": "digest", "c2": "digest"})
    assert rendered[3] == {"type": "function_call_output", "call_id": "c1", "output": "digest"}
    assert rendered[5]["output"] == [{"type": "input_text", "text": "digest"}]
    assert all(rendered[at] is messages[at] for at in (0, 1, 2, 4, 6))


def test_a_whole_request_gives_its_instructions_as_system_text() -> None:
    context = READER.parse({"model": "gpt-5", "instructions": "be brief", "input": [{"role": "user", "content": "q"}]})
    assert (context.model, context.system_text, context.items[0].kind) == ("gpt-5", "be brief", "original_query")


def test_a_shell_call_of_the_host_is_kept_with_its_output_as_one_unit() -> None:
    context = READER.parse(
        [
            {"type": "local_shell_call", "call_id": "l1", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "call_id": "l1", "output": "a"},
        ]
    )
    assert context.items[0].unit == context.items[1].unit == "call:l1"
    assert context.items[1].kind == "host_block"


def test_an_image_may_be_replaced_by_words_and_come_back() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
    messages: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "q"}, image]}]
    context = READER.parse(messages)
    shorter = READER.render(context, {context.items[1].id: "[image]", context.items[0].id: "short"})
    assert shorter[0]["content"] == [{"type": "input_text", "text": "short"}, {"type": "input_text", "text": "[image]"}]
    again = READER.parse(shorter)
    assert READER.render(again, {again.items[1].id: image, again.items[0].id: "q"}) == messages


def test_calls_cannot_be_replaced() -> None:
    with pytest.raises(InvalidArgument):
        READER.render(READER.parse([ask(("a", "f", {}))]), {"call:a": "digest"})


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([{"role": "tool", "tool_call_id": "a", "content": 5}], "messages[0].content"),
        ([{"role": "user", "content": None}], "messages[0].content"),
        ([{"role": "assistant", "content": 5}], "messages[0].content"),
        ([{"role": "assistant", "tool_calls": {"id": "a"}}], "messages[0].tool_calls"),
        ([{"role": "assistant", "tool_calls": ["a"]}], "messages[0].tool_calls[0]"),
        ([{"role": "wizard", "content": "x"}], "messages[0].role"),
        ([{"type": "spell", "call_id": "a"}], "messages[0]"),
        ([{"type": "function_call_output", "call_id": "a", "output": 5}], "messages[0].output"),
        ({"input": [5]}, "$"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(value: Any, where: str) -> None:
    with pytest.raises(FileWrongShape) as caught:
        READER.parse(value)
    assert caught.value.where == where


def test_an_assistant_that_says_nothing_and_calls_nothing_has_no_items() -> None:
    assert READER.parse([{"role": "assistant", "content": None}]).items == ()
