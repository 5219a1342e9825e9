"""Calls and results, as units."""

from __future__ import annotations

from typing import Any

from palimpsest_mcp.hosts.anthropic import AnthropicMessages
from palimpsest_mcp.hosts.openai import OpenAIMessages
from palimpsest_mcp.ports.seams import HostContext


def parse(*messages: dict[str, Any]) -> HostContext:
    return AnthropicMessages().parse(list(messages))


def ask(*ids: Any) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": call_id, "name": f"t{n}", "input": {"n": n}} for n, call_id in enumerate(ids)]
    return {"role": "assistant", "content": blocks}


def tell(*ids: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "x"} for call_id in ids],
    }


def say(role: str) -> dict[str, Any]:
    return {"role": role, "content": "words"}


def units(context: HostContext, role: str) -> list[str]:
    return [item.unit for item in context.items if item.role == role]


def test_parallel_calls_are_units_each() -> None:
    context = parse(ask("a", "b"), tell("b", "a"))
    assert units(context, "assistant") == ["call:a", "call:b"]
    assert units(context, "tool") == ["call:b", "call:a"]


def test_a_reused_id_makes_a_unit_for_each_call() -> None:
    context = parse(ask("r"), tell("r"), ask("r"), tell("r"))
    assert units(context, "assistant") == ["call:r", "call:r#2"]
    assert units(context, "tool") == ["call:r", "call:r#2"]


def test_a_result_goes_to_the_nearest_earlier_call_without_one() -> None:
    context = parse(ask("r"), say("user"), ask("r"), tell("r"))
    assert units(context, "tool") == ["call:r#2"]


def test_parallel_calls_of_one_id_are_answered_in_their_order() -> None:
    context = parse(ask("r", "r"), tell("r", "r"))
    assert units(context, "tool") == ["call:r", "call:r#2"]
    assert [item.tool_name for item in context.items if item.role == "tool"] == ["t0", "t1"]


def test_calls_without_ids_are_paired_like_any_other() -> None:
    context = parse(ask(None, None), tell(None, None), ask(""), tell(""))
    assert units(context, "assistant") == units(context, "tool")
    assert len(set(units(context, "tool"))) == 3


def test_a_second_result_of_one_call_belongs_to_its_unit() -> None:
    context = parse(ask("a"), tell("a", "a"))
    assert units(context, "tool") == ["call:a", "call:a"]


def test_results_without_calls_and_calls_without_results_are_units_of_their_own() -> None:
    context = parse(tell("lost"), ask("open"), say("user"))
    assert units(context, "tool") == ["lost"]
    assert units(context, "assistant") == ["call:open"]


def test_a_result_before_its_call_is_not_its_result() -> None:
    context = parse(tell("a"), ask("a"))
    assert units(context, "tool") == ["a"]


def test_ids_of_different_types_do_not_meet() -> None:
    context = parse(ask(5), tell("5"))
    assert units(context, "tool") == ["5"]


def test_huge_ids_pair_and_give_short_unit_names() -> None:
    context = parse(ask("x" * 1500), tell("x" * 1500))
    assert units(context, "tool") == units(context, "assistant")
    assert len(context.items[0].unit) < 40


def test_a_waiting_call_opens_its_unit_and_its_parallel_siblings() -> None:
    assert parse(say("user"), ask("a", "b"), tell("a")).open_units == {"call:a", "call:b"}


def test_nothing_is_open_when_all_is_answered_or_something_came_after() -> None:
    assert parse(say("user"), ask("a"), tell("a")).open_units == set()
    assert parse(ask("a"), say("user")).open_units == set()
    assert parse(ask("a"), say("assistant")).open_units == set()
    assert parse().open_units == set()


def test_parallel_calls_that_are_entries_of_their_own_are_one_turn() -> None:
    items = [
        {"role": "user", "content": "q"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
    ]
    assert OpenAIMessages().parse(items).open_units == {"call:a", "call:b"}
