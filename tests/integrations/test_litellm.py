"""The LiteLLM guardrail: the hook that the proxy calls, with requests of its three routes."""

# The framework is in no environment of the developers; `make frameworks` runs this file.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest_mcp.integrations.window import AgentWindow

from .lists import chat_of, from_chat, from_items, items_of
from .material import STEPS, need, result
from .replay import Messages, Seam, replay_all, tokens_of

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network for prices otherwise
need("litellm")
from palimpsest_mcp.integrations.litellm import PalimpsestGuardrail  # noqa: E402

pytestmark = pytest.mark.anyio
KEY = SimpleNamespace(token="hash of a key")


def session(steps: int = STEPS) -> Messages:
    """A long run in Anthropic's form."""
    found: Messages = [{"role": "user", "content": [{"type": "text", "text": "Find out why."}]}]
    for n in range(steps):
        call = {"type": "tool_use", "id": f"call_{n}", "name": "check", "input": {"step": n}}
        told = {"type": "tool_result", "tool_use_id": f"call_{n}", "content": result(n)}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [told]}]
    return found


ROUTES: dict[str, tuple[str, Callable[[Messages], list[Any]], Callable[[Sequence[Any]], Messages]]] = {
    "anthropic_messages": ("messages", lambda messages: messages, lambda messages: list(messages)),
    "acompletion": ("messages", chat_of, from_chat),
    "responses": ("input", items_of, from_items),
}


@pytest.mark.parametrize("route", ROUTES)
async def test_each_route_goes_out_shorter(make_window: Callable[..., AgentWindow], route: str) -> None:
    key, build, read = ROUTES[route]
    window = make_window()
    guardrail = PalimpsestGuardrail(window, guardrail_name="palimpsest")
    data = {"model": "gpt-5", key: build(session()), "metadata": {"session_id": "one"}, "stream": True, "tools": []}
    before = copy.deepcopy(data)
    out = await guardrail.async_pre_call_hook(KEY, None, data, route)
    assert data == before and {**out, key: 0} == {**data, key: 0}
    sent, raw = read(out[key]), read(data[key])
    assert tokens_of(sent) < 15_000 < tokens_of(raw)
    assert sent[-1] == raw[-1]
    again = await guardrail.async_pre_call_hook(KEY, None, data, route)
    assert again == out


async def test_a_request_that_is_no_list_goes_through(make_window: Callable[..., AgentWindow]) -> None:
    guardrail = PalimpsestGuardrail(make_window(), guardrail_name="palimpsest")
    for data in ({"model": "gpt-5", "input": "Hello"}, {"model": "gpt-5", "messages": []}, {"model": "x"}):
        assert await guardrail.async_pre_call_hook(KEY, None, data, "responses") is data


async def test_two_keys_never_share_a_session(make_window: Callable[..., AgentWindow]) -> None:
    window = make_window()
    guardrail = PalimpsestGuardrail(window, guardrail_name="palimpsest")
    for token in ("a", "b"):
        data = {"model": "gpt-5", "messages": session(), "metadata": {"session_id": "one"}}
        await guardrail.async_pre_call_hook(SimpleNamespace(token=token), None, data, "anthropic_messages")
    assert len(await window.aask(lambda p: p.sessions())) == 2


async def test_a_failure_of_ours_lets_the_request_through(
    make_window: Callable[..., AgentWindow], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("no folder")
    guardrail = PalimpsestGuardrail(make_window(), guardrail_name="palimpsest")
    data = {"model": "gpt-5", "messages": session()}
    assert await guardrail.async_pre_call_hook(KEY, None, data, "acompletion") is data
    assert "left as it came" in caplog.text


class Named(PalimpsestGuardrail):
    """The replay asks for the session by its name."""

    def session_of(self, data: Any, messages: list[Any], key: str) -> str:
        return data["metadata"]["session_id"]


async def send(window: AgentWindow, session_id: str, messages: Sequence[Any]) -> Sequence[Any]:
    data = {"model": "gpt-5", "messages": list(messages), "metadata": {"session_id": session_id}}
    guardrail = Named(window, guardrail_name="palimpsest")
    return (await guardrail.async_pre_call_hook(KEY, None, data, "acompletion"))["messages"]


SEAM = Seam(chat_of, send, from_chat, native=True)


async def test_real_sessions_replayed(make_window: Callable[..., AgentWindow]) -> None:
    await replay_all(make_window, SEAM)
