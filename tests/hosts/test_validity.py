"""What a provider would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.hosts.validity import check_messages, new_problems


def ask(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "n", "input": {}} for i in ids]}


def tell(*ids: str, then: str = "") -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "tool_result", "tool_use_id": i, "content": "x"} for i in ids]
    return {"role": "user", "content": [*blocks, *([{"type": "text", "text": then}] if then else [])]}


def say(role: str, words: str = "w") -> dict[str, Any]:
    return {"role": role, "content": words}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [say("user"), ask("a", "b"), tell("b", "a", then="go"), say("assistant")],
        [say("user"), ask("a"), tell("a"), say("user"), say("assistant", "")],
        [ask("a", "b"), tell("a"), tell("b")],
        [say("user"), {"role": "system", "content": "s"}, ask("a")],
        [ask("a"), tell("a"), ask("a"), tell("a")],
    ],
)
def test_a_list_that_anthropic_takes_has_no_problems(messages: list[Any]) -> None:
    assert check_messages(messages, "anthropic") == []


REFUSED: list[tuple[Any, str]] = [
    ([ask("a"), say("user")], "messages[0]: a call without a result: a"),
    ([ask("a"), say("user"), tell("a")], "messages[2]: a result after other content of its turn: a"),
    ([say("user"), tell("a")], "messages[1]: a result without a call: a"),
    ([ask("a"), tell("a", "a")], "messages[1]: two results of one call: a"),
    ([ask("a", "a"), tell("a")], "messages[0]: two calls of one id: a"),
    ([say("user", ""), say("assistant")], "messages[0]: empty content"),
    ([{"role": "user", "content": []}], "messages[0]: empty content"),
    ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "messages[0]: empty text in content[0]"),
]


@pytest.mark.parametrize(("messages", "problem"), REFUSED)
def test_what_anthropic_refuses_is_named(messages: list[Any], problem: str) -> None:
    assert any(found.startswith(problem) for found in map(str, check_messages(messages, "anthropic")))


def chat_ask(*ids: str) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_tell(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


def test_a_list_that_openai_takes_has_no_problems() -> None:
    assert (
        check_messages([say("user"), chat_ask("a", "b"), chat_tell("b"), chat_tell("a"), say("assistant")], "openai")
        == []
    )
    items = [
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
    ]
    assert check_messages(items, "openai") == []


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([chat_ask("a", "b"), chat_tell("a"), say("user")], "messages[0]: a call without a result: b"),
        ([say("user"), chat_tell("a")], "messages[1]: a result without a call: a"),
        ([chat_ask("a"), chat_tell("a"), chat_tell("a")], "messages[2]: two results of one call: a"),
        ([{"type": "function_call_output", "call_id": "a", "output": "x"}], "messages[0]: a result without a call: a"),
    ],
)
def test_what_openai_refuses_is_named(messages: list[Any], problem: str) -> None:
    assert any(found.startswith(problem) for found in map(str, check_messages(messages, "openai")))


def test_problems_that_were_there_before_are_not_new() -> None:
    broken = [ask("a"), say("user"), tell("b")]
    assert new_problems(broken, list(broken), "anthropic") == []


def test_a_changed_result_is_no_problem() -> None:
    before = [ask("a"), tell("a")]
    after = [before[0], {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "digest"}]}]
    assert new_problems(before, after, "anthropic") == []


@pytest.mark.parametrize(
    "after",
    [
        [ask("a")],
        [ask("b"), tell("a")],
        [ask("a"), tell("b")],
        [ask("a"), {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "is_error": True}]}],
        [ask("a"), say("user")],
        [ask("a"), {**tell("a"), "role": "assistant"}],
        [
            ask("a"),
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": ""}]}],
            },
        ],
    ],
)
def test_a_lost_message_call_or_id_is_a_problem(after: list[Any]) -> None:
    assert new_problems([ask("a"), tell("a")], after, "anthropic")


def test_thinking_must_stay_as_and_where_it_was() -> None:
    first = {"type": "thinking", "thinking": "1", "signature": "a"}
    second = {"type": "thinking", "thinking": "2", "signature": "b"}
    before = [{"role": "assistant", "content": [first, second]}]
    assert new_problems(before, [{"role": "assistant", "content": [second, first]}], "anthropic")
    assert new_problems(before, [{"role": "assistant", "content": [first]}], "anthropic")
    assert new_problems(before, [{"role": "assistant", "content": [first, dict(second)]}], "anthropic") == []


def test_openai_calls_must_stay() -> None:
    before = [chat_ask("a"), chat_tell("a")]
    assert new_problems(before, [chat_ask("b"), chat_tell("b")], "openai")
    assert new_problems(before, [before[0], {**chat_tell("a"), "content": "digest"}], "openai") == []
