"""LangChain and deepagents: a middleware that shortens what goes to the model, and large results before they go.

    agent = create_agent(model, tools, middleware=[PalimpsestMiddleware(window_tokens=200_000)])

The agent's own state keeps every message as it was. Put it behind a middleware that summarises
(`SummarizationMiddleware`), so that it sees the list as it will be sent.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack, cast

from langchain.agents.middleware import AgentMiddleware

from .conversation import Block, Part, Role, call_block, plain, result_block, text_block, texts_in, whole_block
from .window import Agent, AgentWindow, WindowOptions

_ROLES: dict[str, Role] = {"ai": "assistant", "system": "system"}
_CALLS = {"tool_use": ("id", "input"), "tool_call": ("id", "args"), "function_call": ("call_id", "arguments")}
"""Blocks in a message's content that repeat one of its calls: where their id and arguments stand."""


class PalimpsestMiddleware(AgentMiddleware):
    """Shortens each model call's messages and shrinks large results at birth; sub-agents (deepagents' `task`, or an
    agent that a tool invokes) get a session of their own where they have a middleware too.

    Args:
        window: shared with other middlewares; None makes one of the options.
        session_id: None takes the thread's id, else the id of the conversation's first message.
    """

    def __init__(
        self, window: AgentWindow | None = None, *, session_id: str | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        super().__init__()
        self.window = window or AgentWindow(host="langchain", **options)
        self._session_id = session_id

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Before a synchronous model call."""
        agent = self._agent(request.state, request.messages)
        messages = self.window.shortened(agent, request.messages, LANGCHAIN, **_about(request))
        return handler(request.override(messages=messages))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Before an asynchronous one."""
        agent = self._agent(request.state, request.messages)
        messages = await self.window.ashortened(agent, request.messages, LANGCHAIN, **_about(request))
        return await handler(request.override(messages=messages))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """After a synchronous tool call."""
        with self.window.tool_run(self._agent_of_call(request), request.tool_call["id"]) as run:
            answer = handler(request)
        message = _tool_message(answer, run.call_id)
        if message is None:
            return answer
        call = request.tool_call
        content = message.content
        if isinstance(content, str):
            content = self.window.handed_back(run, content, _task(call))
        content = self.window.shrunk(run.caller, content, run.call_id, call["name"], call["args"])
        return _with_content(answer, message, content)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """After an asynchronous one."""
        with self.window.tool_run(self._agent_of_call(request), request.tool_call["id"]) as run:
            answer = await handler(request)
        message = _tool_message(answer, run.call_id)
        if message is None:
            return answer
        call = request.tool_call
        content = message.content
        if isinstance(content, str):
            content = await self.window.ahanded_back(run, content, _task(call))
        content = await self.window.ashrunk(run.caller, content, run.call_id, call["name"], call["args"])
        return _with_content(answer, message, content)

    def _agent_of_call(self, request: Any) -> Agent:
        state = request.state
        messages = state.get("messages", []) if isinstance(state, dict) else getattr(state, "messages", [])
        return self._agent(state, messages)

    def _agent(self, state: Any, messages: Any) -> Agent:
        if self._session_id:
            return self.window.agent(self._session_id)
        kept = state.get("messages") if isinstance(state, dict) else None
        first = next(iter(kept or messages), None)
        return self.window.agent(_thread_id() or getattr(first, "id", None) or "langchain")


def _thread_id() -> str:
    from langgraph.config import get_config

    try:
        config = get_config()
    except RuntimeError:  # outside of a graph
        return ""
    return str(config.get("configurable", {}).get("thread_id") or "")


def _about(request: Any) -> dict[str, Any]:
    """What the library is to know beside the messages: the model, and what else the request holds."""
    model = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
    system = getattr(request, "system_prompt", None)
    return {"model": model if isinstance(model, str) else "", "system": system if isinstance(system, str) else ""}


def _task(call: Mapping[str, Any]) -> str:
    args = call["args"]
    said = args.get("description") or args.get("task") or args.get("prompt") if isinstance(args, dict) else ""
    return said if isinstance(said, str) else ""


def _tool_message(answer: Any, call_id: str) -> Any:
    """The message of a tool's answer: itself, or the one in the update of a `Command`."""
    if getattr(answer, "type", "") == "tool":
        return answer
    update = getattr(answer, "update", None)
    messages = cast("dict[str, Any]", update).get("messages", []) if isinstance(update, dict) else []
    found = [one for one in messages if getattr(one, "type", "") == "tool" and one.tool_call_id == call_id]
    return found[0] if len(found) == 1 else None


def _with_content(answer: Any, message: Any, content: Any) -> Any:
    if content is message.content:
        return answer
    new = message.model_copy(update={"content": content})
    if answer is message:
        return new
    messages = [new if one is message else one for one in answer.update["messages"]]
    return replace(answer, update={**answer.update, "messages": messages})


class LangChainMessages:
    """Messages of `langchain_core`. A call stands in `tool_calls`, and with some providers once more in the content."""

    def parts(self, message: Any) -> Iterable[Part]:
        """Every block."""
        kind = message.type
        if kind == "tool":
            failed = getattr(message, "status", "") == "error"
            yield Part("user", "result", result_block(message.tool_call_id, plain(message.content), is_error=failed))
            return
        role = _ROLES.get(kind, "user")
        content = message.content
        calls = {call["id"]: call for call in getattr(message, "tool_calls", [])}
        for at, block in enumerate([content] if isinstance(content, str) else content):
            if isinstance(block, str):
                if block:
                    yield Part(role, at, text_block(block))
            elif not (block.get("type") in _CALLS and block.get(_CALLS[block["type"]][0]) in calls):
                yield Part(role, at, _content_block(block))
        signed = _is_signed(message)
        for call_id, call in calls.items():
            if call_id:
                yield Part(role, ("call", call_id), call_block(call_id, call["name"], call["args"], signed=signed))

    def put(self, message: Any, changed: Mapping[Any, Block | None]) -> Any:
        """With another result, other arguments, or less thinking."""
        if "result" in changed:
            block = changed["result"]
            content = block["content"] if block is not None else ""
            return message.model_copy(update={"content": content if isinstance(content, list) else texts_in(content)})
        args = {place[1]: block["input"] for place, block in changed.items() if isinstance(place, tuple) and block}
        gone = {place for place, block in changed.items() if block is None}
        content = message.content
        if isinstance(content, list):
            content = [_with_args(block, args) for at, block in enumerate(content) if at not in gone]
        calls = [{**call, "args": args.get(call["id"], call["args"])} for call in message.tool_calls]
        more = dict(message.additional_kwargs)
        for call in more.get("tool_calls") or ():  # what OpenAI's own message said
            if call.get("id") in args:
                more.pop("tool_calls", None)
                break
        return message.model_copy(update={"content": content, "tool_calls": calls, "additional_kwargs": more})


def _content_block(block: dict[str, Any]) -> Block:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str) and block["text"]:
        return text_block(block["text"])
    if kind in ("thinking", "redacted_thinking"):
        return plain(block)
    return whole_block(str(kind), block)


def _with_args(block: Any, args: Mapping[str, Any]) -> Any:
    if not isinstance(block, dict) or block.get("type") not in _CALLS:
        return block
    id_key, key = _CALLS[block["type"]]
    if block.get(id_key) not in args:
        return block
    new = args[block[id_key]]
    return {**block, key: json.dumps(new, ensure_ascii=False) if isinstance(block.get(key), str) else new}


def _is_signed(message: Any) -> bool:
    return any("signature" in key for key in getattr(message, "additional_kwargs", {}))


LANGCHAIN = LangChainMessages()
