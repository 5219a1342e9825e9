"""LangChain and deepagents, with the framework's own fake model."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from palimpsest_mcp.integrations.conversation import listed
from palimpsest_mcp.integrations.window import AgentWindow

from .material import MOST, STEPS, need, result, run_example
from .replay import Messages, Seam, replay_all, tokens_of

agents = need("langchain.agents")
from langchain.agents.middleware import ModelRequest, ModelResponse  # noqa: E402
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: E402
from langchain_core.tools import tool  # noqa: E402

from palimpsest_mcp.integrations.langchain import LANGCHAIN, PalimpsestMiddleware  # noqa: E402

pytestmark = pytest.mark.anyio


class Model(GenericFakeChatModel):
    """Answers with what was laid down, and keeps what it was given."""

    given: list[list[Any]] = []

    def bind_tools(self, tools: Any, **kwargs: Any) -> Model:
        return self

    def _generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
        self.given.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def model_of(answers: Iterator[Any]) -> Model:
    return Model(messages=answers, given=[])


@tool
def check(step: int) -> str:
    """Check one step."""
    return result(step)


@tool
def broken(step: int) -> str:
    """Fails."""
    raise ValueError(f"step {step} failed")


def calls(steps: int = STEPS, *, name: str = "check", parallel: int = 1) -> Iterator[AIMessage]:
    for first in range(0, steps, parallel):
        asked = [
            {"name": name, "args": {"step": n}, "id": f"call_{n}", "type": "tool_call"}
            for n in range(first, first + parallel)
        ]
        yield AIMessage("", tool_calls=asked)
    yield AIMessage("done")


def size(messages: Sequence[Any]) -> int:
    return tokens_of(listed(messages, LANGCHAIN).messages)


LIMIT = {"recursion_limit": 500}
ASKED = {"messages": [HumanMessage("Find out why the import job fails.")]}


def check_run(model: Model, out: Any) -> None:
    """No request is above the trigger, each begins as the one before it unless there was a pass, the state is whole."""
    assert max(map(size, model.given)) < MOST
    assert size(out["messages"]) > 35_000
    answers = [one for one in out["messages"] if isinstance(one, ToolMessage)]
    assert [one.content for one in answers] == [result(n) for n in range(STEPS)]
    last = [one for one in model.given[-1] if isinstance(one, ToolMessage)]
    assert [one.tool_call_id for one in last] == [f"call_{n}" for n in range(STEPS)]
    assert last[-1].content == result(STEPS - 1)


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_long_run_stays_under_the_trigger(make_window: Callable[..., AgentWindow], parallel: int) -> None:
    model = model_of(calls(parallel=parallel))
    agent = agents.create_agent(model, [check], middleware=[PalimpsestMiddleware(make_window(), session_id="s1")])
    check_run(model, await agent.ainvoke(ASKED, LIMIT))


def test_so_does_a_synchronous_one(make_window: Callable[..., AgentWindow]) -> None:
    model = model_of(calls())
    agent = agents.create_agent(model, [check], middleware=[PalimpsestMiddleware(make_window(), session_id="s1")])
    check_run(model, agent.invoke(ASKED, LIMIT))


async def test_so_does_a_streamed_one(make_window: Callable[..., AgentWindow]) -> None:
    model = model_of(calls())
    agent = agents.create_agent(model, [check], middleware=[PalimpsestMiddleware(make_window(), session_id="s1")])
    out: list[Any] = [one async for one in agent.astream(ASKED, LIMIT, stream_mode="values")]
    check_run(model, out[-1])


async def test_a_large_result_is_a_digest_when_it_is_first_sent(make_window: Callable[..., AgentWindow]) -> None:
    model, window = model_of(calls(2)), make_window(above_tokens=1_000, window_tokens=10**6)
    agent = agents.create_agent(model, [check], middleware=[PalimpsestMiddleware(window, session_id="s1")])
    out = await agent.ainvoke(ASKED, LIMIT)
    first = out["messages"][2]
    assert first.tool_call_id == "call_0" and "restore_batch" in first.content
    (batch, *_) = await window.aask(lambda p: p.list_offloaded("s1"))
    assert (await window.aask(lambda p: p.restore("s1", batch.batch_id))).text == result(0)


async def test_a_failed_tool_and_a_retried_call_go_through(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    model = model_of(calls(3))
    agent = agents.create_agent(model, [check], middleware=[PalimpsestMiddleware(window, session_id="s1")])
    await agent.ainvoke(ASKED, LIMIT)
    again = model_of(calls(3))
    agent = agents.create_agent(again, [check], middleware=[PalimpsestMiddleware(window, session_id="s1")])
    await agent.ainvoke(ASKED, LIMIT)
    assert [listed(one, LANGCHAIN).messages for one in again.given] == [
        listed(one, LANGCHAIN).messages for one in model.given
    ]
    failing = agents.create_agent(
        model_of(calls(1, name="broken")), [broken], middleware=[PalimpsestMiddleware(window, session_id="s2")]
    )
    with pytest.raises(ValueError, match="step 0 failed"):
        await failing.ainvoke(ASKED, LIMIT)


async def test_a_failure_of_ours_leaves_the_messages_as_they_were(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    model = model_of(calls())
    agent = agents.create_agent(model, [check], middleware=[PalimpsestMiddleware(make_window(), session_id="s1")])
    out = await agent.ainvoke(ASKED, LIMIT)
    assert model.given[-1] == out["messages"][:-1]
    assert "left as it came" in caplog.text


async def test_a_sub_agent_has_a_session_of_its_own(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    child_model = model_of(calls())

    @tool
    async def task(description: str) -> str:
        """Has another agent do it."""
        child = agents.create_agent(child_model, [check], middleware=[PalimpsestMiddleware(window)])
        out = await child.ainvoke({"messages": [HumanMessage(description)]}, LIMIT)
        return out["messages"][-1].content

    asked = {"name": "task", "args": {"description": "look"}, "id": "call_sub", "type": "tool_call"}
    model = model_of(iter([AIMessage("", tool_calls=[asked]), AIMessage("fine")]))
    agent = agents.create_agent(model, [task], middleware=[PalimpsestMiddleware(window, session_id="parent")])
    out = await agent.ainvoke(ASKED, LIMIT)
    assert max(map(size, child_model.given)) < MOST
    told = out["messages"][2].content
    child = await window.aask(lambda p: p.session("parent/call_sub"))
    assert child.parent == "parent" and told.startswith("done\n\n[sub-agent ") and child.handle in told
    for session_id in ("parent", "parent/call_sub"):
        hits = await window.aask(lambda p, s=session_id: p.search_offloaded("worker-007-031", session_id=s))
        assert hits[0].handle == child.handle
        batch = await window.aask(lambda p, h=hits[0]: p.restore(h.handle, h.batch_id, h.item_id))
        assert batch.text == result(7)


async def test_deepagents_sub_agents_do_too(make_window: Callable[..., AgentWindow]) -> None:
    deepagents = need("deepagents")
    window = make_window(window_tokens=60_000)
    child_model = model_of(calls())
    asked = {
        "name": "task",
        "args": {"description": "Look at every step", "subagent_type": "looker"},
        "id": "call_sub",
        "type": "tool_call",
    }
    model = model_of(iter([AIMessage("", tool_calls=[asked]), AIMessage("fine")]))
    looker = {
        "name": "looker",
        "description": "Looks",
        "system_prompt": "Look.",
        "model": child_model,
        "tools": [check],
        "middleware": [PalimpsestMiddleware(window)],
    }
    agent = deepagents.create_deep_agent(
        model=model, tools=[], subagents=[looker], middleware=[PalimpsestMiddleware(window, session_id="parent")]
    )
    out = await agent.ainvoke(ASKED, LIMIT)
    assert max(map(size, child_model.given)) < 54_000
    told = next(one.content for one in out["messages"] if isinstance(one, ToolMessage))
    child = await window.aask(lambda p: p.session("parent/call_sub"))
    assert told.startswith("done\n\n[sub-agent ") and child.handle in told


async def test_what_the_framework_summarises_is_kept(make_window: Callable[..., AgentWindow]) -> None:
    from langchain.agents.middleware import SummarizationMiddleware

    window = make_window(window_tokens=10**6)
    model = model_of(calls(12))
    new = "trigger" in inspect.signature(SummarizationMiddleware).parameters
    when = (
        {"trigger": ("tokens", 6_000), "keep": ("messages", 4)}
        if new
        else {"max_tokens_before_summary": 6_000, "messages_to_keep": 4}
    )
    summaries = model_of(iter([AIMessage("All went well.") for _ in range(12)]))
    summarizer = SummarizationMiddleware(summaries, **when)
    agent = agents.create_agent(model, [check], middleware=[summarizer, PalimpsestMiddleware(window, session_id="s1")])
    await agent.ainvoke(ASKED, LIMIT)
    shown = [str(one.content)[:200] for one in model.given[-1]]
    assert any("summary of the conversation" in one for one in shown), shown
    (hit, *_) = await window.aask(lambda p: p.search_offloaded("worker-001-031", session_id="s1"))
    assert (await window.aask(lambda p: p.restore("s1", hit.batch_id, hit.item_id))).text == result(1)


def build(messages: Messages) -> list[Any]:
    found: list[Any] = []
    for at, message in enumerate(messages):
        texts = "\n".join(block["text"] for block in message["content"] if block["type"] == "text")
        if message["role"] == "assistant":
            asked = [
                {"name": block["name"], "args": block["input"], "id": block["id"], "type": "tool_call"}
                for block in message["content"]
                if block["type"] == "tool_use"
            ]
            found.append(AIMessage(texts, tool_calls=asked, id=f"m{at}"))
            continue
        found += [
            ToolMessage(block["content"], tool_call_id=block["tool_use_id"], id=f"m{at}-{n}")
            for n, block in enumerate(message["content"])
            if block["type"] == "tool_result"
        ]
        if texts:
            found.append(HumanMessage(texts, id=f"m{at}"))
    return found


async def send(window: AgentWindow, session_id: str, messages: Sequence[Any]) -> Sequence[Any]:
    sent: list[Any] = []

    async def handler(request: Any) -> Any:
        sent.append(request.messages)
        return ModelResponse(result=[AIMessage("")])

    state: Any = {"messages": list(messages)}
    request = ModelRequest(
        model=model_of(iter([])),
        messages=list(messages),
        state=state,
        **dict.fromkeys(("system_prompt", "tool_choice", "response_format", "runtime")),  # 1.0 wants each
        tools=[],
    )
    await PalimpsestMiddleware(window, session_id=session_id).awrap_model_call(request, handler)
    return sent[0]


SEAM = Seam(build, send, lambda messages: listed(messages, LANGCHAIN).messages)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)


async def test_the_example_of_the_docs_runs(tmp_path: Any) -> None:
    model = model_of(calls())
    there = await run_example("LangChain and deepagents", model=model, tools=[check], home=tmp_path)
    assert size(there["out"]["messages"]) > 35_000
    assert max(map(size, model.given)) < MOST
    there["palimpsest"].window.close()
