"""Calls and results that do not fit together are named one by one: which message, which id, what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.hosts.validity import check_messages
from palimpsest_mcp.ports.seams import Form

Messages = list[dict[str, Any]]
USER: dict[str, Any] = {"role": "user", "content": "go on"}


def chat(*ids: Any) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(call_id: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


def call(call_id: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "x"}


def use(*ids: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "n", "input": {}} for i in ids]}


def results(*ids: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": "x"} for i in ids]}


def defects(messages: Messages, form: Form) -> list[tuple[int, str, str]]:
    return sorted((one.message, one.id, one.what) for one in check_messages(messages, form))


SPLIT = "a result that does not follow its call directly; that is in messages[0]"
CHAT: list[tuple[str, Messages, list[tuple[int, str, str]]]] = [
    ("orphan", [USER, told("a"), USER], [(1, "a", "a result without a call")]),
    ("null result", [chat("a"), told("a"), told(None)], [(2, "", "a result without an id")]),
    ("empty result id", [chat("a"), told("a"), told("")], [(2, "", "a result without an id")]),
    ("no result id", [USER, {"role": "tool", "content": "x"}], [(1, "", "a result without an id")]),
    ("null pair", [chat(None), told(None)], [(0, "", "a call without an id"), (1, "", "a result without an id")]),
    ("unanswered", [chat("a", "b"), told("a"), USER], [(0, "b", "a call without a result")]),
    ("split", [chat("a", "b"), told("a"), USER, told("b")], [(3, "b", SPLIT)]),
    ("all split", [chat("a"), USER, told("a"), USER], [(2, "a", SPLIT)]),
    ("twice", [chat("a"), told("a"), told("a")], [(2, "a", "two results of one call")]),
    ("two calls", [chat("a", "a"), told("a")], [(0, "a", "two calls of one id")]),
    ("number", [USER, told(7)], [(1, "7", "a result without a call")]),
    ("open", [USER, chat("a", "b"), told("b")], []),
    ("id used again", [chat("a"), told("a"), chat("a"), told("a")], []),
    ("again, later", [chat("a"), told("a"), chat("a"), USER, told("a")], [(4, "a", SPLIT.replace("[0]", "[2]"))]),
]
ITEMS: list[tuple[str, Messages, list[tuple[int, str, str]]]] = [
    ("orphan", [USER, output("a")], [(1, "a", "a result without a call")]),
    ("before its call", [output("a"), call("a"), USER], [
        (0, "a", "a result without a call"), (1, "a", "a call without a result"),
    ]),
    ("null", [call(None), output(None)], [(0, "", "a call without an id"), (1, "", "a result without an id")]),
    ("unanswered", [call("a"), call("b"), output("a"), USER], [(1, "b", "a call without a result")]),
    ("unanswered, reasoning", [call("a"), {"type": "reasoning", "summary": []}], [(0, "a", "a call without a result")]),
    ("twice", [call("a"), output("a"), output("a")], [(2, "a", "two results of one call")]),
    ("open", [USER, call("a"), call("b"), output("b")], []),
    ("apart", [call("a"), USER, output("a")], []),
]  # fmt: skip
BLOCKS: list[tuple[str, Messages, list[tuple[int, str, str]]]] = [
    ("orphan", [USER, use("a"), results("a"), use("b"), results("b", "c")], [(4, "c", "a result without a call")]),
    ("null", [use(None), results(None)], [(0, "", "a call without an id"), (1, "", "a result without an id")]),
    ("unanswered", [use("a", "b"), results("a"), use("c")], [(0, "b", "a call without a result")]),
    ("split", [use("a", "b"), results("a"), use("c"), results("c", "b")], [(3, "b", SPLIT)]),
    ("open", [USER, use("a", "b")], []),
]


@pytest.mark.parametrize(("messages", "wrong"), [row[1:] for row in CHAT], ids=[row[0] for row in CHAT])
def test_chat_messages(messages: Messages, wrong: list[tuple[int, str, str]]) -> None:
    assert defects(messages, "openai") == wrong


@pytest.mark.parametrize(("messages", "wrong"), [row[1:] for row in ITEMS], ids=[row[0] for row in ITEMS])
def test_items_of_the_responses_api(messages: Messages, wrong: list[tuple[int, str, str]]) -> None:
    assert defects(messages, "openai") == wrong


@pytest.mark.parametrize(("messages", "wrong"), [row[1:] for row in BLOCKS], ids=[row[0] for row in BLOCKS])
def test_blocks_of_the_messages_api(messages: Messages, wrong: list[tuple[int, str, str]]) -> None:
    assert defects(messages, "anthropic") == wrong


def test_a_very_long_id_is_cut() -> None:
    [defect] = check_messages([USER, told("x" * 5_000)], "openai")
    assert len(defect.id) < 200


@given(st.lists(st.integers(1, 3), max_size=6), st.data())
def test_one_break_in_a_list_without_a_defect_is_named_where_it_is(turns: list[int], data: st.DataObject) -> None:
    whole: Messages = [USER]
    for n, calls in enumerate(turns):
        ids = [f"c{n}-{m}" for m in range(calls)]
        whole += [chat(*ids), *map(told, data.draw(st.permutations(ids))), USER]
    assert not check_messages(whole, "openai")
    answers = [at for at, one in enumerate(whole) if one["role"] == "tool"]
    if not answers:
        return
    at = data.draw(st.sampled_from(answers))
    lost = whole[at]["tool_call_id"]
    [missing] = check_messages(whole[:at] + whole[at + 1 :], "openai")
    assert (missing.id, missing.what) == (lost, "a call without a result")
    [late] = check_messages([*whole[:at], *whole[at + 1 :], told(lost)], "openai")
    assert (late.message, late.id) == (len(whole) - 1, lost) and "does not follow its call" in late.what
    [orphan] = check_messages([*whole[:at], told("nobody's"), *whole[at:]], "openai")
    assert (orphan.message, orphan.id) == (at, "nobody's")
