"""The OpenAI Agents SDK, with a model of the tests in the place of a provider's."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from palimpsest_mcp.integrations.openai_agents import PalimpsestFilter
from palimpsest_mcp.integrations.window import AgentWindow

from .lists import from_items, items_of
from .material import STEPS, need, result, run_example
from .replay import COUNTER, Seam, replay_all

agents = need("agents")
from agents.models.interface import Model as ModelInterface  # noqa: E402
from agents.run import CallModelData, ModelInputData  # noqa: E402
from openai.types.responses import (  # noqa: E402
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

pytestmark = pytest.mark.anyio


class Model(ModelInterface):
    """Answers with what was laid down, and keeps what it was given."""

    def __init__(self, answers: Iterator[list[Any]]) -> None:
        self.answers = answers
        self.given: list[list[Any]] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        given = kwargs["input"] if "input" in kwargs else args[1]
        self.given.append(list(given))
        return agents.ModelResponse(output=next(self.answers), usage=agents.Usage(), response_id=None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        answer = await self.get_response(*args, **kwargs)
        response = Response(
            id="r",
            created_at=0,
            model="fake",
            object="response",
            output=answer.output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def said(text: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    return ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")


def asked(name: str, call_id: str, **args: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(name=name, call_id=call_id, arguments=json.dumps(args), type="function_call")


def calls(parallel: int = 1, steps: int = STEPS) -> Iterator[list[Any]]:
    for first in range(0, steps, parallel):
        yield [asked("check", f"call_{n}", step=n) for n in range(first, first + parallel)]
    yield [said("done")]


@agents.function_tool
def check(step: int) -> str:
    """Check one step."""
    return result(step)


def size(items: Sequence[Any]) -> int:
    return COUNTER.count(json.dumps(items, ensure_ascii=False, default=str))


def check_run(model: Model) -> None:
    assert max(map(size, model.given)) < 19_500  # with the JSON around it
    outputs = [one for one in model.given[-1] if one.get("type") == "function_call_output"]
    assert [one["call_id"] for one in outputs] == [f"call_{n}" for n in range(STEPS)]
    assert outputs[-1]["output"] == result(STEPS - 1)


def config(palimpsest: PalimpsestFilter) -> Any:
    return agents.RunConfig(call_model_input_filter=palimpsest, tracing_disabled=True)


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_long_run_stays_under_the_trigger(make_window: Callable[..., AgentWindow], parallel: int) -> None:
    model = Model(calls(parallel))
    palimpsest = PalimpsestFilter("s1", window=make_window())
    agent = agents.Agent(name="one", model=model, tools=[check])
    out = await agents.Runner.run(agent, "Find out why.", run_config=config(palimpsest), max_turns=99)
    check_run(model)
    whole = [one for one in out.to_input_list() if one.get("type") == "function_call_output"]
    assert [one["output"] for one in whole] == [result(n) for n in range(STEPS)]


def test_so_does_a_synchronous_one(make_window: Callable[..., AgentWindow]) -> None:
    model = Model(calls())
    agent = agents.Agent(name="one", model=model, tools=[check])
    agents.Runner.run_sync(
        agent, "Find out why.", run_config=config(PalimpsestFilter("s1", window=make_window())), max_turns=99
    )
    check_run(model)


async def test_so_does_a_streamed_one(make_window: Callable[..., AgentWindow]) -> None:
    model = Model(calls())
    agent = agents.Agent(name="one", model=model, tools=[check])
    running = agents.Runner.run_streamed(
        agent, "Find out why.", run_config=config(PalimpsestFilter("s1", window=make_window())), max_turns=99
    )
    async for _ in running.stream_events():
        pass
    check_run(model)


async def test_a_large_result_is_a_digest_when_it_is_first_sent(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window(above_tokens=1_000, window_tokens=10**6)
    palimpsest = PalimpsestFilter("s1", window=window)
    model = Model(calls(steps=2))
    agent = agents.Agent(name="one", model=model, tools=palimpsest.all_shrinking([check]))
    await agents.Runner.run(agent, "Find out why.", run_config=config(palimpsest), max_turns=99)
    first = next(one for one in model.given[1] if one.get("type") == "function_call_output")
    assert "restore_batch" in first["output"]
    (batch, *_) = await window.aask(lambda p: p.list_offloaded("s1"))
    assert (await window.aask(lambda p: p.restore("s1", batch.batch_id))).text == result(0)


async def test_an_agent_as_a_tool_has_a_session_of_its_own(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    palimpsest = PalimpsestFilter("parent", window=window)
    below = Model(calls())
    child = agents.Agent(name="child", model=below, tools=[check])
    tool = child.as_tool("look", "Looks", run_config=config(palimpsest), max_turns=99)
    model = Model(iter([[asked("look", "call_sub", input="look")], [said("fine")]]))
    agent = agents.Agent(name="one", model=model, tools=[palimpsest.shrinking(tool)])
    await agents.Runner.run(agent, "Find out why.", run_config=config(palimpsest))
    check_run(below)
    told = next(one["output"] for one in model.given[-1] if one.get("type") == "function_call_output")
    session = await window.aask(lambda p: p.session("parent/call_sub"))
    assert told.startswith("done\n\n[sub-agent ") and session.handle in told
    (hit, *_) = await window.aask(lambda p: p.search_offloaded("worker-007-031", session_id="parent"))
    assert (await window.aask(lambda p: p.restore(hit.handle, hit.batch_id, hit.item_id))).text == result(7)


async def test_a_failure_of_ours_leaves_the_input_as_it_was(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    model = Model(calls())
    agent = agents.Agent(name="one", model=model, tools=[check])
    palimpsest = PalimpsestFilter("s1", window=make_window())
    out = await agents.Runner.run(agent, "Find out why.", run_config=config(palimpsest), max_turns=99)
    assert model.given[-1] == out.to_input_list()[:-1]
    assert "left as it came" in caplog.text


async def test_compaction_items_of_the_provider_stay(make_window: Callable[..., AgentWindow]) -> None:
    items: list[Any] = [
        {"type": "compaction", "encrypted_content": "gAAA", "id": "cmp_1"},
        {"role": "user", "content": "Go on."},
    ]
    given = CallModelData(ModelInputData(input=items, instructions="Be kind."), agents.Agent(name="one"), None)
    answered = await PalimpsestFilter("s1", window=make_window())(given)
    assert answered.input == items and answered.instructions == "Be kind."


async def send(window: AgentWindow, session_id: str, items: Sequence[Any]) -> Sequence[Any]:
    data = CallModelData(ModelInputData(input=list(items), instructions=None), agents.Agent(name="one"), None)
    return (await PalimpsestFilter(session_id, window=window)(data)).input


SEAM = Seam(items_of, send, from_items, native=True)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)


async def test_the_example_of_the_docs_runs(tmp_path: Any) -> None:
    model = Model(calls())
    there = await run_example("OpenAI Agents SDK", model=model, tools=[check], home=tmp_path)
    check_run(model)
    there["palimpsest"].window.close()
