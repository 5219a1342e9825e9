"""Pydantic AI, with its own `FunctionModel`."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

from palimpsest_mcp.integrations.conversation import listed
from palimpsest_mcp.integrations.window import AgentWindow

from .material import MOST, STEPS, need, result, run_example
from .replay import Messages, Seam, replay_all, tokens_of

pydantic_ai = need("pydantic_ai")
from pydantic_ai.messages import (  # noqa: E402
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel  # noqa: E402

from palimpsest_mcp.integrations.pydantic_ai import (  # noqa: E402
    PYDANTIC_AI,
    PalimpsestCapability,
    PalimpsestHistory,
)

pytestmark = pytest.mark.anyio


def calls(parallel: int = 1, steps: int = STEPS) -> Iterator[list[Any]]:
    for first in range(0, steps, parallel):
        yield [ToolCallPart("check", {"step": n}, f"call_{n}") for n in range(first, first + parallel)]
    yield [TextPart("done")]


class Answers:
    """A model's answers, and what it was given."""

    def __init__(self, answers: Iterator[list[Any]]) -> None:
        self.answers = answers
        self.given: list[list[Any]] = []

    def answer(self, messages: list[Any], info: Any) -> ModelResponse:
        self.given.append(list(messages))
        return ModelResponse(parts=next(self.answers))

    async def stream(self, messages: list[Any], info: Any) -> AsyncIterator[Any]:
        self.given.append(list(messages))
        for at, part in enumerate(next(self.answers)):
            if isinstance(part, TextPart):
                yield part.content
            else:
                yield {at: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self.answer, stream_function=self.stream, model_name="gpt-5")


def check(step: int) -> str:
    """Check one step."""
    return result(step)


def size(messages: Sequence[Any]) -> int:
    return tokens_of(listed(messages, PYDANTIC_AI).messages)


def check_run(answers: Answers) -> None:
    assert max(map(size, answers.given)) < MOST
    last = [part for message in answers.given[-1] for part in message.parts if part.part_kind == "tool-return"]
    assert [part.tool_call_id for part in last] == [f"call_{n}" for n in range(STEPS)]
    assert last[-1].content == result(STEPS - 1)


def agent_of(answers: Answers, capability: Any, tools: Sequence[Any] = (check,)) -> Any:
    return pydantic_ai.Agent(answers.model, tools=list(tools), capabilities=[capability])


LIMITS = pydantic_ai.UsageLimits(request_limit=None)


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_long_run_stays_under_the_trigger(make_window: Callable[..., AgentWindow], parallel: int) -> None:
    answers = Answers(calls(parallel))
    out = await agent_of(answers, PalimpsestCapability(make_window(), session_id="s1")).run("Why?", usage_limits=LIMITS)
    check_run(answers)
    again = ModelMessagesTypeAdapter.validate_json(out.all_messages_json())
    assert size(again) == size(out.all_messages()) < 20_000


def test_so_does_a_synchronous_one(make_window: Callable[..., AgentWindow]) -> None:
    answers = Answers(calls())
    agent_of(answers, PalimpsestCapability(make_window(), session_id="s1")).run_sync("Why?", usage_limits=LIMITS)
    check_run(answers)


async def test_so_does_a_streamed_one(make_window: Callable[..., AgentWindow]) -> None:
    answers = Answers(calls())
    agent = agent_of(answers, PalimpsestCapability(make_window(), session_id="s1"))
    async with agent.run_stream("Why?", usage_limits=LIMITS) as out:
        assert await out.get_output() == "done"
    check_run(answers)


async def test_a_large_result_is_a_digest_when_it_is_first_sent(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window(above_tokens=1_000, window_tokens=10**6)
    answers = Answers(calls(steps=2))
    await agent_of(answers, PalimpsestCapability(window, session_id="s1")).run("Why?")
    first = answers.given[1][-1].parts[0]
    assert "restore_batch" in first.content
    (batch, *_) = await window.aask(lambda p: p.list_offloaded("s1"))
    assert (await window.aask(lambda p: p.restore("s1", batch.batch_id))).text == result(0)


async def test_a_retried_call_goes_through(make_window: Callable[..., AgentWindow]) -> None:
    def failing(step: int) -> str:
        """Fails once."""
        if step == 0:
            raise pydantic_ai.ModelRetry("Not step 0.")
        return result(step)

    answers = Answers(
        iter(
            [[ToolCallPart("failing", {"step": 0}, "a")], [ToolCallPart("failing", {"step": 1}, "b")], [TextPart("ok")]]
        )
    )
    out = await agent_of(answers, PalimpsestCapability(make_window(), session_id="s1"), [failing]).run("Why?")
    assert out.output == "ok"
    assert "Not step 0." in str(answers.given[1][-1])


async def test_an_agent_in_a_tool_has_a_session_of_its_own(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    below = Answers(calls())
    child = agent_of(below, PalimpsestCapability(window))

    async def look(task: str) -> str:
        """Has another agent do it."""
        return (await child.run(task, usage_limits=LIMITS)).output

    answers = Answers(iter([[ToolCallPart("look", {"task": "look"}, "call_sub")], [TextPart("fine")]]))
    await agent_of(answers, PalimpsestCapability(window, session_id="parent"), [look]).run("Why?")
    check_run(below)
    told = answers.given[-1][-1].parts[0].content
    session = await window.aask(lambda p: p.session("parent/call_sub"))
    assert told.startswith("done\n\n[sub-agent ") and session.handle in told


async def test_a_failure_of_ours_leaves_the_messages_as_they_were(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    answers = Answers(calls())
    out = await agent_of(answers, PalimpsestCapability(make_window(), session_id="s1")).run("Why?", usage_limits=LIMITS)
    assert size(out.all_messages()) > 35_000
    assert "left as it came" in caplog.text


def build(messages: Messages) -> list[Any]:
    found: list[Any] = []
    names: dict[str, str] = {}
    for message in messages:
        parts: list[Any] = []
        for block in message["content"]:
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
                parts.append(ToolCallPart(block["name"], block["input"], block["id"]))
            elif block["type"] == "tool_result":
                parts.append(ToolReturnPart(names[block["tool_use_id"]], block["content"], block["tool_use_id"]))
            else:
                kind = TextPart if message["role"] == "assistant" else UserPromptPart
                parts.append(kind(block["text"]))
        found.append(ModelResponse(parts) if message["role"] == "assistant" else ModelRequest(parts))
    return found


async def send(window: AgentWindow, session_id: str, messages: Sequence[Any]) -> Sequence[Any]:
    return await PalimpsestHistory(window, session_id=session_id)(None, list(messages))


SEAM = Seam(build, send, lambda messages: listed(messages, PYDANTIC_AI).messages)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)


async def test_the_example_of_the_docs_runs(tmp_path: Any) -> None:
    answers = Answers(calls())
    there = await run_example("Pydantic AI", model=answers.model, tools=[check], home=tmp_path)
    check_run(answers)
    there["palimpsest"].window.close()
