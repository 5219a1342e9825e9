"""Lists of what is to be done: the newest stays whole, those before it leave as one, and come back byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from palimpsest_mcp.context.arguments import BEGIN
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.hosts.validity import check_messages

from .test_arguments import FORMS, Messages

pytestmark = pytest.mark.anyio
STEPS = ("importer", "parser", "writer", "exporter", "checker", "reader", "planner", "runner", "loader", "viewer")


def listed(done: int, **more: str) -> dict[str, Any]:
    return {
        "todos": [
            {
                "content": f"Move the {name} of round {done} to the new store and run its tests",
                "activeForm": f"Moving the {name} in round {done} to the new store",
                "status": "completed" if n < done else "pending",
            }
            for n, name in enumerate(STEPS)
        ],
        **more,
    }


def rounds(count: int, *, tool: str = "TodoWrite", failed: int = -1) -> Messages:
    """A session that hands over its list again and again, and is told the list that it gave."""
    messages: Messages = [{"role": "user", "content": "Move everything to the new store."}]
    for n in range(count):
        use = {"type": "tool_use", "id": f"todo_{n}", "name": tool, "input": listed(n)}
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": f"todo_{n}"}
        result["content"] = f"Updated: {json.dumps(listed(n))}"
        if n == failed:
            result |= {"is_error": True, "content": "InputValidationError: todos"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    for n in range(4):  # the newest three results never leave
        use = {"type": "tool_use", "id": f"run_{n}", "name": "Bash", "input": {"command": f"make step-{n}"}}
        result = {"type": "tool_result", "tool_use_id": f"run_{n}", "content": "ok"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return [*messages, {"role": "user", "content": "Go on."}]


@pytest.mark.parametrize("form", sorted(FORMS))
async def test_the_newest_list_stays_whole_and_older_ones_leave(p: Palimpsest, form: str) -> None:
    messages = FORMS[form](rounds(6))
    done = await p.compact_messages(messages, session_id="s1", target=0.35, force=True)
    text = json.dumps(done.messages).replace('\\\\"', '"').replace('\\"', '"')
    assert text.count(BEGIN) == 5 and "parser of round 0" not in text
    assert all(f"Move the {name} of round 5" in text and f"Moving the {name} in round 5" in text for name in STEPS)
    assert "a newer list came later (todo_5)" in text
    assert check_messages(done.messages, "anthropic" if form == "anthropic" else "openai") == []
    assert json.dumps(await p.expand_messages(done.messages, session_id="s1")) == json.dumps(messages)


async def test_what_is_left_of_an_older_list_has_its_shape_and_its_states(p: Palimpsest) -> None:
    done = await p.compact_messages(rounds(6), session_id="s1", target=0.35, force=True)
    (args,) = [
        block["input"]
        for message in done.messages
        if not isinstance(message["content"], str)
        for block in message["content"]
        if block.get("id") == "todo_3"
    ]
    assert [entry["status"] for entry in args["todos"]] == [entry["status"] for entry in listed(3)["todos"]]
    assert all(entry.keys() == {"content", "activeForm", "status"} for entry in args["todos"])
    assert args["todos"][0]["content"].startswith(BEGIN) and "restore_batch" in args["todos"][0]["content"]


async def test_a_list_that_was_refused_takes_no_other_ones_place(p: Palimpsest) -> None:
    messages = rounds(6, failed=5)
    done = await p.compact_messages(messages, session_id="s1", target=0.35, force=True)
    text = json.dumps(done.messages)
    assert all(f"Move the {name} of round 4" in text for name in STEPS)
    assert "a newer list came later (todo_4)" in text and "(todo_5)" not in text


async def test_another_tools_list_takes_no_ones_place(p: Palimpsest) -> None:
    """Two tools may keep two lists; the newest of each stays."""
    messages = [*rounds(1)[:-1], *rounds(4, tool="update_plan")[1:]]
    for n, message in enumerate(messages[11:], 11):
        messages[n] = json.loads(json.dumps(message).replace('"todo_', '"plan_').replace('"run_', '"late_'))
    done = await p.compact_messages(messages, session_id="s1", target=0.35, force=True)
    uses = [b for m in done.messages if isinstance(m["content"], list) for b in m["content"] if b["type"] == "tool_use"]
    whole = [one["id"] for one in uses if "todos" in one["input"] and BEGIN not in json.dumps(one["input"])]
    assert whole == ["todo_0", "plan_3"]
