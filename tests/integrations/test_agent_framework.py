"""Microsoft Agent Framework, with a chat client of the tests."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from palimpsest_mcp.integrations.agent_framework import AGENT_FRAMEWORK, PalimpsestStrategy
from palimpsest_mcp.integrations.conversation import listed
from palimpsest_mcp.integrations.window import AgentWindow

from .material import MOST, STEPS, need, result, run_example
from .replay import Messages, Seam, replay_all, tokens_of

framework = need("agent_framework")
from agent_framework import (  # noqa: E402
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

pytestmark = pytest.mark.anyio


class Client(FunctionInvocationLayer, BaseChatClient):
    """Answers with what was laid down, and keeps what it was given."""

    def __init__(self, answers: Iterator[list[Any]]) -> None:
        super().__init__()
        self.answers = answers
        self.given: list[list[Any]] = []
        self.function_invocation_configuration["max_iterations"] = 100

    def _inner_get_response(self, *, messages: Sequence[Any], stream: bool, options: Any, **kwargs: Any) -> Any:
        self.given.append(list(messages))
        contents = next(self.answers)

        async def answered() -> Any:
            return ChatResponse(messages=[Message("assistant", contents)], response_id="r")

        async def streamed() -> Any:
            for content in contents:
                yield ChatResponseUpdate(role="assistant", contents=[content], response_id="r")

        return ResponseStream(streamed(), finalizer=ChatResponse.from_updates) if stream else answered()


def calls(parallel: int = 1, steps: int = STEPS, name: str = "check") -> Iterator[list[Any]]:
    for first in range(0, steps, parallel):
        yield [
            Content.from_function_call(f"call_{n}", name, arguments=json.dumps({"step": n}))
            for n in range(first, first + parallel)
        ]
    yield [Content.from_text("done")]


@framework.tool(approval_mode="never_require")
def check(step: int) -> str:
    """Check one step."""
    return result(step)


def size(messages: Sequence[Any]) -> int:
    return tokens_of(listed(messages, AGENT_FRAMEWORK).messages)


def check_run(client: Client) -> None:
    assert max(map(size, client.given)) < MOST
    last = [one for message in client.given[-1] for one in message.contents if one.type == "function_result"]
    assert [one.call_id for one in last] == [f"call_{n}" for n in range(STEPS)]
    assert last[-1].result == result(STEPS - 1)


def agent_of(client: Client, palimpsest: PalimpsestStrategy, tools: Sequence[Any] = (check,)) -> Any:
    return Agent(client, tools=list(tools), compaction_strategy=palimpsest, middleware=[palimpsest.shrinking])


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_long_run_stays_under_the_trigger(make_window: Callable[..., AgentWindow], parallel: int) -> None:
    client = Client(calls(parallel))
    out = await agent_of(client, PalimpsestStrategy("s1", window=make_window())).run("Why?")
    assert out.text == "done"
    check_run(client)


async def test_so_does_a_streamed_one(make_window: Callable[..., AgentWindow]) -> None:
    client = Client(calls())
    async for _ in agent_of(client, PalimpsestStrategy("s1", window=make_window())).run("Why?", stream=True):
        pass
    check_run(client)


async def test_a_large_result_is_a_digest_when_it_is_first_sent(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window(above_tokens=1_000, window_tokens=10**6)
    client = Client(calls(steps=2))
    await agent_of(client, PalimpsestStrategy("s1", window=window)).run("Why?")
    first = next(one for message in client.given[1] for one in message.contents if one.type == "function_result")
    assert "restore_batch" in first.result and first.items[0].text == first.result
    (batch, *_) = await window.aask(lambda p: p.list_offloaded("s1"))
    assert (await window.aask(lambda p: p.restore("s1", batch.batch_id))).text == result(0)


async def test_an_agent_in_a_tool_has_a_session_of_its_own(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    below = Client(calls())

    @framework.tool(approval_mode="never_require")
    async def look(task: str) -> str:
        """Has another agent do it."""
        return (await agent_of(below, PalimpsestStrategy(window=window)).run(task)).text

    asked = [Content.from_function_call("call_sub", "look", arguments='{"task": "look"}')]
    client = Client(iter([asked, [Content.from_text("fine")]]))
    await agent_of(client, PalimpsestStrategy("parent", window=window), [look]).run("Why?")
    check_run(below)
    told = next(one.result for one in client.given[-1][-1].contents if one.type == "function_result")
    session = await window.aask(lambda p: p.session("parent/call_sub"))
    assert told.startswith("done\n\n[sub-agent ") and session.handle in told


async def test_a_failed_tool_goes_through(make_window: Callable[..., AgentWindow]) -> None:
    @framework.tool(approval_mode="never_require")
    def broken(step: int) -> str:
        """Fails."""
        raise ValueError("no")

    client = Client(calls(steps=1, name="broken"))
    await agent_of(client, PalimpsestStrategy("s1", window=make_window()), [broken]).run("Why?")
    assert client.given[-1][-1].contents[0].exception


async def test_a_failure_of_ours_leaves_the_messages_as_they_were(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    client = Client(calls())
    await agent_of(client, PalimpsestStrategy("s1", window=make_window())).run("Why?")
    assert size(client.given[-1]) > 35_000
    assert "left as it came" in caplog.text


def build(messages: Messages) -> list[Any]:
    def content(one: dict[str, Any]) -> Any:
        if one["type"] == "tool_use":
            return Content.from_function_call(one["id"], one["name"], arguments=json.dumps(one["input"]))
        if one["type"] == "tool_result":
            return Content.from_function_result(one["tool_use_id"], result=one["content"])
        return Content.from_text(one["text"])

    found: list[Any] = []
    for message in messages:
        told = [content(one) for one in message["content"] if one["type"] == "tool_result"]
        rest = [content(one) for one in message["content"] if one["type"] != "tool_result"]
        found += [Message("tool", told)] if told else []
        found += [Message(message["role"], rest)] if rest else []
    return found


async def send(window: AgentWindow, session_id: str, messages: Sequence[Any]) -> Sequence[Any]:
    sent = list(messages)
    await PalimpsestStrategy(session_id, window=window)(sent)
    return sent


SEAM = Seam(build, send, lambda messages: listed(messages, AGENT_FRAMEWORK).messages)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)


async def test_the_example_of_the_docs_runs(tmp_path: Any) -> None:
    client = Client(calls())
    there = await run_example("Microsoft Agent Framework", client=client, tools=[check], home=tmp_path)
    check_run(client)
    there["palimpsest"].window.close()
