"""What all adapters share: one store asked from any loop and thread, sub-agents, failures, compactions of a host."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import SessionUnknown
from palimpsest_mcp.integrations.conversation import Block, Part
from palimpsest_mcp.integrations.window import Agent, AgentWindow

from .material import MOST, STEPS, result
from .replay import Messages, Seam, replay_all, tokens_of

pytestmark = pytest.mark.anyio
MakeWindow = Callable[..., AgentWindow]


class Form:
    """Messages that are in the list's own form already."""

    def parts(self, message: dict[str, Any]) -> Iterable[Part]:
        return [Part(message["role"], at, block) for at, block in enumerate(message["content"])]

    def put(self, message: dict[str, Any], changed: Mapping[Any, Block | None]) -> dict[str, Any]:
        blocks = [changed.get(at, block) for at, block in enumerate(message["content"])]
        return {**message, "content": [block for block in blocks if block is not None]}


def run(steps: int = STEPS, *, thinking: bool = False, lines: int = 40, said: str = "") -> Messages:
    found: Messages = [{"role": "user", "content": [{"type": "text", "text": "Find out why."}]}]
    for n in range(steps):
        call = {"type": "tool_use", "id": f"call_{n}", "name": "check", "input": {"step": n}}
        thought = {"type": "thinking", "thinking": f"Step {n}.", "signature": "s"}
        told = {"type": "tool_result", "tool_use_id": f"call_{n}", "content": result(n, lines)}
        before = [thought] if thinking else [{"type": "text", "text": said}] if said else []
        found.append({"role": "assistant", "content": [*before, call]})
        found.append({"role": "user", "content": [told]})
    return found


async def grown(window: AgentWindow, agent: Agent, messages: Messages) -> Messages:
    """The last of the requests of a run that grows."""
    sent: Messages = []
    for end in range(3, len(messages) + 1, 2):
        sent = await window.ashortened(agent, messages[:end], Form())
        assert tokens_of(sent) < MOST
    return sent


async def test_a_growing_list_stays_under_the_trigger_and_the_same_call_gives_the_same_bytes(
    make_window: MakeWindow,
) -> None:
    window, agent, messages = make_window(), Agent("s1"), run()
    sent = await grown(window, agent, messages)
    assert await window.ashortened(agent, messages, Form()) == sent
    assert await window.ashortened(agent, sent, Form()) == sent, "a framework that keeps the shorter list"
    assert await window.aask(lambda p: p.expand_messages(sent, session_id="s1")) == messages


async def test_a_request_that_a_pass_leaves_due_is_asked_again_until_nothing_more_leaves(
    make_window: MakeWindow,
) -> None:
    """Talk fills the window: what digests of this very request take is next."""
    window, agent, passes = make_window(window_tokens=8_000), Agent("s1"), [0]
    messages = run(29, lines=6, said="So it goes on and on. " * 30)
    await window.aask(lambda p: subscribed(p, passes))
    for end in range(3, len(messages) + 1, 2):
        passes.append(0)
        sent = await window.ashortened(agent, messages[:end], Form())
        assert await window.ashortened(agent, messages[:end], Form()) == sent, f"other bytes at {end}"
        assert tokens_of(sent) < 5_600 or end > 37, "behind that talk alone is above the trigger"
    assert max(passes) >= 2


async def subscribed(p: Palimpsest, passes: list[int]) -> None:
    def passed(event: object) -> None:
        passes[-1] += 1

    p.subscribe(passed)


@pytest.mark.long
async def test_another_process_goes_on_with_the_same_bytes(make_window: MakeWindow) -> None:
    messages = run()
    sent = await grown(make_window(), Agent("s1"), messages)
    assert await make_window().ashortened(Agent("s1"), messages, Form()) == sent


async def test_thinking_that_the_model_would_refuse_goes(make_window: MakeWindow) -> None:
    window, messages = make_window(model=""), run(thinking=True)
    sent = await window.ashortened(Agent("s1"), messages, Form(), model="claude-opus-5-5")
    left = [one for message in sent for one in message["content"] if one["type"] == "thinking"]
    assert len(left) < STEPS
    assert len([one for message in sent for one in message["content"] if one["type"] == "tool_use"]) == STEPS


async def test_two_loops_two_threads_and_synchronous_code_share_one_window(make_window: MakeWindow) -> None:
    window, messages = make_window(), run(12)
    found: list[Messages] = []

    def synchronous() -> None:
        found.append(window.shortened(Agent("s1"), messages, Form()))

    def another_loop() -> None:
        found.append(asyncio.run(window.ashortened(Agent("s1"), messages, Form())))

    threads = [threading.Thread(target=target) for target in (synchronous, another_loop, another_loop)]
    for thread in threads:
        thread.start()
    sent = await window.ashortened(Agent("s1"), messages, Form())
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert found == [sent, sent, sent]


async def test_parallel_requests_of_one_session_wait_for_each_other(make_window: MakeWindow) -> None:
    window, messages = make_window(), run(12)
    several = await asyncio.gather(*(window.ashortened(Agent("s1"), messages, Form()) for _ in range(4)))
    assert all(one == several[0] for one in several)


async def test_a_cancelled_request_leaves_the_store_whole(make_window: MakeWindow) -> None:
    window = make_window()
    task = asyncio.create_task(window.ashortened(Agent("s1"), run(), Form()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await window.aask(lambda p: p.verify())).findings == ()
    assert tokens_of(await window.ashortened(Agent("s1"), run(12), Form())) < MOST


async def test_a_form_that_breaks_leaves_the_messages_as_they_were(
    make_window: MakeWindow, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Form):
        def put(self, message: dict[str, Any], changed: Mapping[Any, Block | None]) -> dict[str, Any]:
            raise TypeError("another version of the framework")

    messages = run(12)
    assert await make_window().ashortened(Agent("s1"), messages, Broken()) == messages
    assert "left as it came" in caplog.text and "another version" in caplog.text


async def test_a_window_that_is_not_known_is_said_with_what_to_do(
    make_window: MakeWindow, caplog: pytest.LogCaptureFixture
) -> None:
    window, messages = make_window(window_tokens=None, model=""), run(3)
    assert await window.ashortened(Agent("s1"), messages, Form(), model="nobody-knows-it") == messages
    assert "window_tokens" in caplog.text


async def test_palimpsest_auto_off_holds_everything_back(
    make_window: MakeWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_AUTO", "off")
    window, messages = make_window(above_tokens=1_000), run()
    assert await window.ashortened(Agent("s1"), messages, Form()) == messages
    assert await window.ashrunk(Agent("s1"), result(0), "call_0", "check", {}) == result(0)


async def test_near_names_are_sessions_of_their_own(make_window: MakeWindow) -> None:
    """Ids are a program's here: one is no slip of another."""
    window = make_window(above_tokens=500)
    for name in ("conversation-alpha", "conversation-alphb"):
        assert await window.ashrunk(Agent(name), result(0), "call_0", "check", {}) != result(0)
    assert len(await window.aask(lambda p: p.sessions())) == 2


async def test_what_the_framework_drops_by_itself_is_archived_first(
    make_window: MakeWindow, caplog: pytest.LogCaptureFixture
) -> None:
    window, messages = make_window(window_tokens=10**6), run(6)
    caplog.set_level(logging.INFO, "palimpsest_mcp.integrations")
    await window.ashortened(Agent("s1"), messages, Form())
    summary = {"role": "user", "content": [{"type": "text", "text": "Summary: all went well."}]}
    shorter = [messages[0], summary, *messages[9:]]
    assert await window.ashortened(Agent("s1"), shorter, Form()) == shorter
    assert "took 4 results out of its list" in caplog.text
    (hit, *_) = await window.aask(lambda p: p.search_offloaded("worker-002-031", session_id="s1"))
    assert (await window.aask(lambda p: p.restore("s1", hit.batch_id, hit.item_id))).text == result(2)


async def test_sub_agents_of_one_call_each_are_told_apart_and_found_from_above(make_window: MakeWindow) -> None:
    window, parent = make_window(), Agent("parent")

    async def called(n: int) -> str:
        with window.tool_run(parent, f"call_{n}") as run_of:
            agent = await asyncio.create_task(_agent_of(window))
            await window.ashortened(agent, run(2 + n), Form())
        return await window.ahanded_back(run_of, f"answer {n}", f"Look {n}")

    first, second = await asyncio.gather(called(0), called(1))
    assert first.startswith("answer 0\n\n[sub-agent ") and second.startswith("answer 1\n\n[sub-agent ")
    names = {one.session_id: one.parent for one in await window.aask(lambda p: p.sessions())}
    assert names == {"parent": None, "parent/call_0": "parent", "parent/call_1": "parent"}
    hits = await window.aask(lambda p: p.search_offloaded("worker-002-031", session_id="parent"))
    assert {hit.session_id for hit in hits} == {"parent/call_1"}
    assert (await window.aask(lambda p: p.handoffs(project="*")))[0].phase == "fork_back"


async def _agent_of(window: AgentWindow) -> Agent:
    return window.agent("what the framework calls it")


async def test_a_call_told_by_its_beginning_and_its_end_has_its_sub_agents_too(make_window: MakeWindow) -> None:
    """As in frameworks with a hook before a call and one after it, in one context."""
    window, parent, child = make_window(), object(), object()
    window.begin_tool_run(window.agent("parent", parent), "call_0", parent)
    assert window.agent("parent", parent) == Agent("parent"), "what its framework asks of the caller within the call"
    below = window.agent("child", child)
    assert below == Agent("parent/call_0", "parent")
    window.begin_tool_run(below, "call_1", child)
    assert window.agent("grandchild", object()) == Agent("parent/call_0/call_1", "parent/call_0")
    assert window.end_tool_run("call_0", parent) is None, "the inner one is still open"
    assert window.end_tool_run("call_1", child) is not None
    ended = window.end_tool_run("call_0", parent)
    assert ended is not None and ended.sub_agent == below
    assert window.agent("child", child) == Agent("child"), "nothing is open any more"


async def test_a_call_that_never_ended_makes_no_sub_agent_of_the_next(make_window: MakeWindow) -> None:
    window, agent = make_window(), object()
    for call_id in ("cancelled", "next"):
        window.begin_tool_run(window.agent("s1", agent), call_id, agent)
    ended = window.end_tool_run("next", agent)
    assert ended is not None and ended.caller == Agent("s1") and ended.sub_agent is None
    assert window.agent("s2", object()) == Agent("s2")


async def test_a_tool_that_runs_no_agent_hands_its_result_back_as_it_is(make_window: MakeWindow) -> None:
    window = make_window()
    with window.tool_run(Agent("parent"), "call_0") as run_of:
        pass
    assert await window.ahanded_back(run_of, "told") == "told"
    with pytest.raises(SessionUnknown):
        await window.aask(lambda p: p.session("parent"))


async def test_a_closed_window_opens_again(make_window: MakeWindow) -> None:
    window, messages = make_window(), run(12)
    sent = await window.ashortened(Agent("s1"), messages, Form())
    await asyncio.to_thread(window.close)
    assert await window.ashortened(Agent("s1"), messages, Form()) == sent


async def send(window: AgentWindow, session_id: str, messages: Any) -> Any:
    return await window.ashortened(Agent(session_id), messages, Form())


SEAM = Seam(list, send, list)


@pytest.mark.long
async def test_a_real_session_replayed(make_window: MakeWindow) -> None:
    await replay_all(make_window, SEAM)
