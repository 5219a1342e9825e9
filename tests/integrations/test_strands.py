"""Strands Agents, with a model of the tests."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from palimpsest_mcp.integrations.conversation import listed
from palimpsest_mcp.integrations.window import AgentWindow

from .material import MOST, STEPS, need, result, run_example
from .replay import Messages, Seam, replay_all, tokens_of

strands = need("strands")
from strands.models import Model as StrandsModel  # noqa: E402
from strands.types.exceptions import ContextWindowOverflowException  # noqa: E402

from palimpsest_mcp.integrations.strands import STRANDS, PalimpsestConversationManager  # noqa: E402

pytestmark = pytest.mark.anyio


class Model(StrandsModel):
    """Answers with what was laid down, and keeps what it was given."""

    def __init__(self, answers: Iterator[list[Any]], most: int = 10**9) -> None:
        self.answers = answers
        self.most = most
        self.given: list[list[Any]] = []

    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> Any:
        return {"model_id": "gpt-5"}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
        if size(messages) > self.most:
            raise ContextWindowOverflowException("too long")
        self.given.append(list(messages))
        answer = next(self.answers)
        yield {"messageStart": {"role": "assistant"}}
        for at, block in enumerate(answer):
            use = block.get("toolUse")
            start = {"toolUse": {"name": use["name"], "toolUseId": use["toolUseId"]}} if use else {}
            delta = {"toolUse": {"input": json.dumps(use["input"])}} if use else {"text": block["text"]}
            yield {"contentBlockStart": {"start": start, "contentBlockIndex": at}}
            yield {"contentBlockDelta": {"delta": delta, "contentBlockIndex": at}}
            yield {"contentBlockStop": {"contentBlockIndex": at}}
        reason = "tool_use" if "toolUse" in answer[0] else "end_turn"
        yield {"messageStop": {"stopReason": reason}}


def calls(parallel: int = 1, steps: int = STEPS, name: str = "check") -> Iterator[list[Any]]:
    for first in range(0, steps, parallel):
        yield [
            {"toolUse": {"name": name, "toolUseId": f"call_{n}", "input": {"step": n}}}
            for n in range(first, first + parallel)
        ]
    yield [{"text": "done"}]


@strands.tool
def check(step: int) -> str:
    """Check one step.

    Args:
        step: which
    """
    return result(step)


def size(messages: Sequence[Any]) -> int:
    return tokens_of(listed(messages, STRANDS).messages)


def check_run(model: Model) -> None:
    assert max(map(size, model.given)) < MOST
    blocks = [block["toolResult"] for one in model.given[-1] for block in one["content"] if "toolResult" in block]
    last = {one["toolUseId"]: one["content"][0]["text"] for one in blocks}
    # Results of parallel calls stand in the order in which the tools were done.
    assert len(blocks) == STEPS and last.keys() == {f"call_{n}" for n in range(STEPS)}
    assert last[f"call_{STEPS - 1}"] == result(STEPS - 1)


def agent_of(model: Model, manager: Any, tools: Sequence[Any] = (check,)) -> Any:
    return strands.Agent(model=model, tools=list(tools), conversation_manager=manager, callback_handler=None)


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_long_run_stays_under_the_trigger(make_window: Callable[..., AgentWindow], parallel: int) -> None:
    model = Model(calls(parallel))
    await agent_of(model, PalimpsestConversationManager(make_window(), session_id="s1")).invoke_async("Why?")
    check_run(model)


def test_so_does_a_synchronous_one(make_window: Callable[..., AgentWindow]) -> None:
    model = Model(calls())
    agent_of(model, PalimpsestConversationManager(make_window(), session_id="s1"))("Why?")
    check_run(model)


async def test_so_does_a_streamed_one(make_window: Callable[..., AgentWindow]) -> None:
    model = Model(calls())
    agent = agent_of(model, PalimpsestConversationManager(make_window(), session_id="s1"))
    async for _ in agent.stream_async("Why?"):
        pass
    check_run(model)


async def test_a_large_result_is_a_digest_when_it_is_first_sent(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window(above_tokens=1_000, window_tokens=10**6)
    model = Model(calls(steps=2))
    await agent_of(model, PalimpsestConversationManager(window, session_id="s1")).invoke_async("Why?")
    first = model.given[1][-1]["content"][0]["toolResult"]["content"][0]["text"]
    assert "restore_batch" in first
    (batch, *_) = await window.aask(lambda p: p.list_offloaded("s1"))
    assert (await window.aask(lambda p: p.restore("s1", batch.batch_id))).text == result(0)


async def test_an_overflow_is_answered_by_a_pass(make_window: Callable[..., AgentWindow]) -> None:
    model = Model(calls(), most=14_000)
    manager = PalimpsestConversationManager(make_window(window_tokens=25_000), session_id="s1")
    await agent_of(model, manager).invoke_async("Why?")
    assert max(map(size, model.given)) <= 14_000
    hopeless = agent_of(Model(calls(), most=10), PalimpsestConversationManager(make_window(), session_id="s2"))
    with pytest.raises(ContextWindowOverflowException):
        await hopeless.invoke_async("Why?")


@pytest.mark.parametrize("way", ["awaited", "threaded"])
async def test_an_agent_in_a_tool_is_handed_back(make_window: Callable[..., AgentWindow], way: str) -> None:
    window = make_window()
    below = Model(calls())

    def child() -> Any:
        return agent_of(below, PalimpsestConversationManager(window))

    @strands.tool(name="look")
    async def awaited(task: str) -> str:
        """Has another agent do it.

        Args:
            task: what
        """
        return str(await child().invoke_async(task))

    @strands.tool(name="look")
    def threaded(task: str) -> str:
        """Has another agent do it.

        Args:
            task: what
        """
        return str(child()(task))

    use = {"toolUse": {"name": "look", "toolUseId": "call_sub", "input": {"task": "look around"}}}
    plain = {"toolUse": {"name": "check", "toolUseId": "call_0", "input": {"step": 0}}}
    model = Model(iter([[use], [plain], [{"text": "fine"}]]))
    tools = [awaited if way == "awaited" else threaded, check]
    await agent_of(model, PalimpsestConversationManager(window, session_id="parent"), tools).invoke_async("Why?")
    check_run(below)
    told = model.given[1][-1]["content"][0]["toolResult"]["content"][0]["text"]
    assert told.startswith("done") and "[sub-agent s" in told and "search_offloaded" in told
    assert model.given[2][-1]["content"][0]["toolResult"]["content"][0]["text"] == result(0), "no sub-agent began in it"
    child_session = await window.aask(lambda p: p.session("parent/call_sub"))
    assert child_session.parent == (await window.aask(lambda p: p.session("parent"))).session_id
    for session_id in ("parent", "parent/call_sub"):
        hits = await window.aask(lambda p, s=session_id: p.search_offloaded("worker-007-031", session_id=s))
        assert hits, session_id


async def test_a_failed_tool_goes_through(make_window: Callable[..., AgentWindow]) -> None:
    @strands.tool
    def broken(step: int) -> str:
        """Fails.

        Args:
            step: which
        """
        raise ValueError("no")

    model = Model(calls(steps=1, name="broken"))
    await agent_of(model, PalimpsestConversationManager(make_window(), session_id="s1"), [broken]).invoke_async("Why?")
    assert model.given[-1][-1]["content"][0]["toolResult"]["status"] == "error"


async def test_a_failure_of_ours_leaves_the_messages_as_they_were(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    model = Model(calls())
    await agent_of(model, PalimpsestConversationManager(make_window(), session_id="s1")).invoke_async("Why?")
    assert size(model.given[-1]) > 35_000
    assert "left as it came" in caplog.text


def build(messages: Messages) -> list[Any]:
    def block(one: dict[str, Any]) -> Any:
        if one["type"] == "tool_use":
            return {"toolUse": {"toolUseId": one["id"], "name": one["name"], "input": one["input"]}}
        if one["type"] == "tool_result":
            content = [{"text": one["content"]}]
            return {"toolResult": {"toolUseId": one["tool_use_id"], "content": content, "status": "success"}}
        return {"text": one["text"]}

    return [{"role": one["role"], "content": [block(inner) for inner in one["content"]]} for one in messages]


async def send(window: AgentWindow, session_id: str, messages: Sequence[Any]) -> Sequence[Any]:
    from types import SimpleNamespace

    agent = SimpleNamespace(messages=list(messages), model=Model(iter([])), system_prompt=None)
    await PalimpsestConversationManager(window, session_id=session_id)._before_model_call(SimpleNamespace(agent=agent))
    return agent.messages


SEAM = Seam(build, send, lambda messages: listed(messages, STRANDS).messages)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)


async def test_the_example_of_the_docs_runs(tmp_path: Any) -> None:
    model = Model(calls())
    there = await run_example("Strands Agents", model=model, tools=[check], home=tmp_path)
    check_run(model)
    there["palimpsest"].window.close()
