"""The OpenHands SDK: its own events, views and model, with answers of the tests."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from palimpsest_mcp.integrations.conversation import listed
from palimpsest_mcp.integrations.window import AgentWindow

from .material import MOST, STEPS, need, result, run_example
from .replay import Messages, Seam, replay_all, tokens_of

need("openhands.sdk")
from openhands.sdk import LLM, MessageEvent  # noqa: E402
from openhands.sdk.context.condenser import PipelineCondenser  # noqa: E402
from openhands.sdk.context.view import View  # noqa: E402
from openhands.sdk.event import ActionEvent, CondensationRequest, CondensationSummaryEvent, ObservationEvent  # noqa: E402
from openhands.sdk.llm import Message, MessageToolCall, TextContent  # noqa: E402
from openhands.sdk.tool.schema import Action, Observation  # noqa: E402
from pydantic import SecretStr  # noqa: E402

from palimpsest_mcp.integrations.openhands import OPENHANDS, PalimpsestCondenser  # noqa: E402

pytestmark = pytest.mark.anyio


class CheckAction(Action):
    step: int = 0


class CheckObservation(Observation):
    """What the tool of the tests answers."""


def said(role: str, text: str) -> MessageEvent:
    source: Any = "agent" if role == "assistant" else "user"
    message = Message(role="assistant" if role == "assistant" else "user", content=[TextContent(text=text)])
    return MessageEvent(source=source, llm_message=message)


def call(call_id: str, name: str, args: dict[str, Any], answer: str) -> ActionEvent:
    told = MessageToolCall(id=call_id, name=name, arguments=json.dumps(args), origin="completion")
    return ActionEvent(
        thought=[], action=CheckAction(), tool_name=name, tool_call_id=call_id, tool_call=told, llm_response_id=answer
    )


def observation(action: ActionEvent, text: str) -> ObservationEvent:
    return ObservationEvent(
        observation=CheckObservation(content=[TextContent(text=text)]),
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
    )


def run(steps: int = STEPS) -> list[Any]:
    events: list[Any] = [said("user", "Find out why.")]
    for n in range(steps):
        action = call(f"call_{n}", "check", {"step": n}, f"answer_{n}")
        events += [action, observation(action, result(n))]
    return events


def condenser(window: AgentWindow, session_id: str = "s1") -> PalimpsestCondenser:
    made = PalimpsestCondenser(session_id=session_id)
    made.__dict__["window"] = window
    return made


def size(events: Sequence[Any]) -> int:
    return tokens_of(listed(events, OPENHANDS).messages)


def grown(one: PalimpsestCondenser, events: list[Any]) -> list[Any]:
    out: Any = None
    for end in range(3, len(events) + 1, 2):
        out = one.condense(View.from_events(events[:end]))
        assert size(out.events) < MOST
    return out.events


def test_a_long_run_stays_under_the_trigger_and_no_event_is_forgotten(make_window: Callable[..., AgentWindow]) -> None:
    events = run()
    out = grown(condenser(make_window()), events)
    assert [one.id for one in out] == [one.id for one in events]
    messages = [one.to_llm_message() for one in out if isinstance(one, ObservationEvent)]
    assert [one.tool_call_id for one in messages] == [f"call_{n}" for n in range(STEPS)]
    assert messages[-1].content[0].text == result(STEPS - 1)
    assert "restore_batch" in messages[0].content[0].text
    assert all(one.to_llm_message().content[0].text == result(n) for n, one in enumerate(events[2::2])), (
        "left as it was"
    )


def test_a_sub_agent_is_handed_back_to_the_agent_that_it_works_for(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    grown(condenser(window, "parent"), run())
    below = condenser(window, "looker")
    below.parent = "parent"
    grown(below, run())
    told = below.hand_back("All went well.", "Look around.")
    assert told.startswith("All went well.") and "[sub-agent s" in told and "search_offloaded" in told
    assert window.ask(lambda p: p.session("parent/looker")).parent == "parent"
    for session_id in ("parent", "parent/looker"):
        assert window.ask(lambda p, s=session_id: p.search_offloaded("worker-007-031", session_id=s)), session_id


async def test_so_does_an_asynchronous_one(make_window: Callable[..., AgentWindow]) -> None:
    one, events = condenser(make_window()), run()
    for end in range(3, len(events) + 1, 2):
        out = await one.acondense(View.from_events(events[:end]))
        assert size(out.events) < MOST


def test_a_request_for_condensation_runs_a_pass_below_the_trigger(make_window: Callable[..., AgentWindow]) -> None:
    one = condenser(make_window(window_tokens=100_000, target=0.1))
    assert one.handles_condensation_requests()
    events = run(20)
    assert size(one.condense(View.from_events(events)).events) == size(events)
    out = one.condense(View.from_events([*events, CondensationRequest()]))
    assert not out.unhandled_condensation_request and size(out.events) < 0.8 * size(events)


def test_summaries_of_the_frameworks_own_condensers_stay(make_window: Callable[..., AgentWindow]) -> None:
    summary = CondensationSummaryEvent(summary="All went well.")
    events = [*run(2)[:1], summary, *run(2)[1:]]
    out = PipelineCondenser(condensers=[condenser(make_window())]).condense(View(events=events))
    assert out.events[1] is summary


def test_a_failure_of_ours_leaves_the_view_as_it_was(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    events = run()
    assert condenser(make_window()).condense(View.from_events(events)).events == events
    assert "left as it came" in caplog.text


def test_it_is_stored_with_its_agent() -> None:
    one = PalimpsestCondenser(session_id="s1", window_tokens=200_000)
    again = PalimpsestCondenser.model_validate_json(one.model_dump_json())
    assert (again.session_id, again.window_tokens) == ("s1", 200_000)


def build(messages: Messages) -> list[Any]:
    found: list[Any] = []
    actions: dict[str, ActionEvent] = {}
    for at, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] == "tool_use":
                actions[block["id"]] = call(block["id"], block["name"], block["input"], f"answer_{at}")
                found.append(actions[block["id"]])
            elif block["type"] == "tool_result":
                found.append(observation(actions[block["tool_use_id"]], block["content"]))
            else:
                found.append(said(message["role"], block["text"]))
    return found


async def send(window: AgentWindow, session_id: str, events: Sequence[Any]) -> Sequence[Any]:
    return (await condenser(window, session_id).acondense(View(events=list(events)))).events


SEAM = Seam(build, send, lambda events: listed(events, OPENHANDS).messages)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)


async def test_the_example_of_the_docs_runs(tmp_path: Any) -> None:
    llm = LLM(model="gpt-5", api_key=SecretStr("none"), usage_id="agent")
    there = await run_example("OpenHands SDK", llm=llm, tools=[], home=str(tmp_path))
    view = View.from_events(run())
    assert size(there["agent"].condenser.condense(view, agent_llm=llm).events) < 0.8 * size(view.events)
    there["agent"].condenser.window.close()
