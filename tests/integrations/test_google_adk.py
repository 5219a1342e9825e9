"""Google ADK, with a model of the tests."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest_mcp.integrations.conversation import listed
from palimpsest_mcp.integrations.window import AgentWindow

from .material import MOST, STEPS, need, result, run_example
from .replay import Messages, Seam, replay_all, tokens_of

adk = need("google.adk")
from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.agents.run_config import RunConfig, StreamingMode  # noqa: E402
from google.adk.models.base_llm import BaseLlm  # noqa: E402
from google.adk.models.llm_response import LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools.agent_tool import AgentTool  # noqa: E402
from google.genai.types import Content, FunctionCall, FunctionResponse, Part  # noqa: E402

from palimpsest_mcp.integrations.google_adk import ADKContents, PalimpsestPlugin  # noqa: E402

pytestmark = pytest.mark.anyio


class Model(BaseLlm):
    """Answers with what was laid down, and keeps what it was given."""

    model: str = "gpt-5"
    answers: Any = None
    given: list[Any] = []

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.given.append(list(llm_request.contents))
        yield LlmResponse(content=Content(role="model", parts=next(self.answers)))


def calls(parallel: int = 1, steps: int = STEPS, name: str = "check") -> Iterator[list[Any]]:
    for first in range(0, steps, parallel):
        yield [
            Part(function_call=FunctionCall(id=f"call_{n}", name=name, args={"step": n}))
            for n in range(first, first + parallel)
        ]
    yield [Part(text="done")]


def check(step: int) -> str:
    """Check one step."""
    return result(step)


def read(contents: Sequence[Any]) -> Messages:
    return listed(contents, ADKContents(contents)).messages


def size(contents: Sequence[Any]) -> int:
    return tokens_of(read(contents))


def check_run(model: Model) -> None:
    assert max(map(size, model.given)) < MOST
    last = [part.function_response for one in model.given[-1] for part in one.parts if part.function_response]
    assert len(last) == STEPS
    assert last[-1].response == {"result": result(STEPS - 1)}


async def run(
    model: Model, plugin: Any, tools: Sequence[Any] = (check,), config: Any = None, session_id: str = "s1"
) -> Any:
    agent = LlmAgent(name="one", model=model, tools=list(tools))
    runner = InMemoryRunner(agent, app_name="app", plugins=[plugin])
    await runner.session_service.create_session(app_name="app", user_id="u", session_id=session_id)
    asked = Content(role="user", parts=[Part(text="Find out why.")])
    config = config or RunConfig()
    events = [
        one async for one in runner.run_async(user_id="u", session_id=session_id, new_message=asked, run_config=config)
    ]
    session = await runner.session_service.get_session(app_name="app", user_id="u", session_id=session_id)
    return session, events


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_long_run_stays_under_the_trigger(make_window: Callable[..., AgentWindow], parallel: int) -> None:
    model = Model(answers=calls(parallel), given=[])
    session, _ = await run(model, PalimpsestPlugin(make_window()))
    check_run(model)
    kept = [part.function_response for one in session.events for part in one.content.parts if part.function_response]
    assert [one.response["result"] for one in kept] == [result(n) for n in range(STEPS)]


async def test_so_does_a_streamed_one(make_window: Callable[..., AgentWindow]) -> None:
    model = Model(answers=calls(), given=[])
    await run(model, PalimpsestPlugin(make_window()), config=RunConfig(streaming_mode=StreamingMode.SSE))
    check_run(model)


async def test_a_large_result_is_a_digest_when_it_is_first_sent(make_window: Callable[..., AgentWindow]) -> None:
    def answer(step: int) -> dict[str, str]:
        """Check one step."""
        return {"result": result(step)}

    window = make_window(above_tokens=1_000, window_tokens=10**6)
    model = Model(answers=calls(steps=2, name="answer"), given=[])
    await run(model, PalimpsestPlugin(window), [answer])
    assert "restore_batch" in model.given[1][-1].parts[0].function_response.response["result"]
    (batch, *_) = await window.aask(lambda p: p.list_offloaded("s1"))
    assert (await window.aask(lambda p: p.restore("s1", batch.batch_id))).text == result(0)


async def test_an_agent_as_a_tool_is_handed_back(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    below = Model(answers=calls(), given=[])
    child = LlmAgent(name="look", model=below, description="Looks.", tools=[check])
    call = FunctionCall(id="call_sub", name="look", args={"request": "look around"})
    answers = iter([[Part(function_call=call)], *calls(steps=1)])
    model = Model(answers=answers, given=[])
    await run(model, PalimpsestPlugin(window), [AgentTool(agent=child), check], session_id="parent")
    check_run(below)
    told = model.given[1][-1].parts[0].function_response.response["result"]
    assert told.startswith("done") and "[sub-agent s" in told and "search_offloaded" in told
    assert model.given[2][-1].parts[0].function_response.response == {"result": result(0)}
    session = await window.aask(lambda p: p.session("parent/call_sub"))
    assert session.parent == "parent"
    for session_id in ("parent", "parent/call_sub"):
        hits = await window.aask(lambda p, s=session_id: p.search_offloaded("worker-007-031", session_id=s))
        assert hits, session_id


async def test_a_bare_text_is_shrunk_too_and_a_failed_tool_ends_its_call(
    make_window: Callable[..., AgentWindow],
) -> None:
    def broken(step: int) -> str:
        """Fails."""
        raise ValueError("no")

    window = make_window(above_tokens=1_000, window_tokens=10**6)
    await run(Model(answers=calls(steps=1), given=[]), model_plugin := PalimpsestPlugin(window))
    assert [one.kinds for one in await window.aask(lambda p: p.list_offloaded("s1"))]
    with pytest.raises(ValueError, match="no"):
        await run(Model(answers=calls(steps=1, name="broken"), given=[]), model_plugin, [broken], session_id="s2")
    assert window.agent("s3", ("s3", "")).parent == ""


async def test_arguments_that_are_signed_never_change(make_window: Callable[..., AgentWindow]) -> None:
    def write(text: str) -> str:
        """Writes."""
        return "written"

    def answers() -> Iterator[list[Any]]:
        for n in range(30):
            call = FunctionCall(id=f"call_{n}", name="write", args={"text": result(n)})
            yield [Part(function_call=call, thought_signature=b"signed" if n < 15 else None)]
        yield [Part(text="done")]

    model = Model(answers=answers(), given=[])
    await run(model, PalimpsestPlugin(make_window(window_tokens=40_000)), [write])
    last = [part for one in model.given[-1] for part in one.parts if part.function_call]
    changed = [at for at, part in enumerate(last) if part.function_call.args["text"] != result(at)]
    assert changed and min(changed) >= 15


async def test_a_failure_of_ours_leaves_the_contents_as_they_were(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    model = Model(answers=calls(), given=[])
    await run(model, PalimpsestPlugin(make_window()))
    assert size(model.given[-1]) > 35_000
    assert "left as it came" in caplog.text


def build(messages: Messages) -> list[Any]:
    names = {block["id"]: block["name"] for one in messages for block in one["content"] if block["type"] == "tool_use"}

    def part(one: dict[str, Any]) -> Any:
        if one["type"] == "tool_use":
            return Part(function_call=FunctionCall(id=one["id"], name=one["name"], args=one["input"]))
        if one["type"] == "tool_result":
            call_id = one["tool_use_id"]
            response = FunctionResponse(id=call_id, name=names[call_id], response={"result": one["content"]})
            return Part(function_response=response)
        return Part(text=one["text"])

    return [
        Content(role="model" if one["role"] == "assistant" else "user", parts=[part(inner) for inner in one["content"]])
        for one in messages
    ]


async def send(window: AgentWindow, session_id: str, contents: Sequence[Any]) -> Sequence[Any]:
    request = SimpleNamespace(contents=list(contents), model="gpt-5")
    await PalimpsestPlugin(window, session_id=session_id).before_model_callback(
        callback_context=SimpleNamespace(), llm_request=request
    )
    return request.contents


SEAM = Seam(build, send, read)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)


async def test_the_example_of_the_docs_runs(tmp_path: Any) -> None:
    model = Model(answers=calls(), given=[])
    there = await run_example("Google ADK", model=model, tools=[check], home=tmp_path)
    check_run(model)
    there["palimpsest"].window.close()
