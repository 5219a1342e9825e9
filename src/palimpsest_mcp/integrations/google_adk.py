"""Google ADK: a plugin that shortens each request's contents and shrinks large results before they are sent.

    plugins = [PalimpsestPlugin(window_tokens=1_000_000)]
    runner = Runner(app_name="app", agent=agent, session_service=service, plugins=plugins)

The session's events stay as they were. Arguments that Gemini signed (`thought_signature`) never change. Events that the
framework's own `EventsCompactionConfig` summarised are kept, and their summary stays as it is.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from google.adk.plugins.base_plugin import BasePlugin

from .conversation import Block, Part, call_block, first_text, plain, result_block, text_block, texts_in, whole_block
from .window import Agent, AgentWindow, WindowOptions

_ONE_TEXT = ("result", "output", "text")
"""Keys under which a response that is one text stands."""


class PalimpsestPlugin(BasePlugin):
    """For every agent of a runner. Its methods also serve as an agent's own callbacks, by keyword.

    Args:
        window: shared with other plugins; None makes one of the options.
        session_id: None takes the session's own; each agent of it that has a branch of its own is a sub-agent.
    """

    def __init__(
        self, window: AgentWindow | None = None, *, session_id: str | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        super().__init__(name="palimpsest")
        self.window = window or AgentWindow(host="google-adk", **options)
        self._session_id = session_id

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Shortens `llm_request.contents`."""
        contents = llm_request.contents
        shorter = await self.window.ashortened(
            self._agent(callback_context), contents, ADKContents(contents), model=llm_request.model or ""
        )
        llm_request.contents = shorter

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        """An agent that runs within the call is a sub-agent of the one that called."""
        caller = self._agent(tool_context)
        self.window.begin_tool_run(caller, tool_context.function_call_id or tool.name, _by(tool_context))

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> Any:
        """Shrinks a response that is one text, and says where everything is that a sub-agent read; None leaves it as
        it is."""
        agent = self._agent(tool_context)
        run = self.window.end_tool_run(tool_context.function_call_id or tool.name, _by(tool_context))
        given = {"result": result} if isinstance(result, str) else result  # an agent's answer is a bare text
        found = _text_key(given)
        if found is None:
            return None
        text = given[found]
        said = await self.window.ahanded_back(run, text, first_text(tool_args)) if run is not None else text
        said = await self.window.ashrunk(agent, said, tool_context.function_call_id or "", tool.name, tool_args)
        return None if said is text else {**given, found: said}

    async def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: Exception) -> None:
        """The call is over."""
        self.window.end_tool_run(tool_context.function_call_id or tool.name, _by(tool_context))

    def _agent(self, context: Any) -> Agent:
        inner: Any = getattr(context, "_invocation_context", None)
        own = self._session_id or inner.session.id
        branch = getattr(inner, "branch", None)
        return Agent(f"{own}/{branch}", own) if branch else self.window.agent(own, _by(context))


def _by(context: Any) -> tuple[str, str]:
    """An agent, told from others: its session's id, and its branch of it."""
    inner: Any = getattr(context, "_invocation_context", None)
    return str(getattr(getattr(inner, "session", None), "id", "")), getattr(inner, "branch", None) or ""


def _text_key(response: Any) -> str | None:
    if not isinstance(response, dict) or len(response) != 1:
        return None
    (key,) = response
    return key if key in _ONE_TEXT and isinstance(response[key], str) else None


class ADKContents:
    """`Content` with its `parts`. Responses follow their calls; without an id they are told by name and order."""

    def __init__(self, contents: Iterable[Any]) -> None:
        self._ids: dict[int, str] = {}
        waiting: dict[str, list[str]] = {}
        for row, content in enumerate(contents):
            for at, part in enumerate(content.parts or ()):
                call, answer = part.function_call, part.function_response
                if call is not None:
                    self._ids[id(part)] = call.id or f"{call.name}-{row}-{at}"
                    waiting.setdefault(call.name, []).append(self._ids[id(part)])
                elif answer is not None:
                    asked = waiting.get(answer.name) or [f"{answer.name}-{row}-{at}"]
                    self._ids[id(part)] = answer.id or asked[0]
                    if self._ids[id(part)] in asked:
                        asked.remove(self._ids[id(part)])

    def parts(self, message: Any) -> Iterable[Part]:
        """Every part."""
        role = "assistant" if message.role == "model" else "user"
        for at, part in enumerate(message.parts or ()):
            if part.function_response is not None:
                response = part.function_response.response or {}
                key = _text_key(response)
                text = response[key] if key else json.dumps(plain(response), ensure_ascii=False, indent=1)
                yield Part("user", at, result_block(self._ids[id(part)], text, is_error="error" in response))
            elif part.function_call is not None:
                call = part.function_call
                signed = part.thought_signature is not None
                yield Part(role, at, call_block(self._ids[id(part)], call.name, call.args or {}, signed=signed))
            elif part.text and not part.thought:
                yield Part(role, at, text_block(part.text))
            else:
                yield Part(role, at, whole_block("part", part))

    def put(self, message: Any, changed: Mapping[Any, Block | None]) -> Any:
        """With other responses or arguments."""
        parts: list[Any] = []
        for at, part in enumerate(message.parts):
            block = changed.get(at)
            if block is None:
                parts.append(part)
            elif block["type"] == "tool_result":
                answer = part.function_response
                key = _text_key(answer.response) or "result"
                new = answer.model_copy(update={"response": {key: texts_in(block["content"])}})
                parts.append(part.model_copy(update={"function_response": new}))
            else:
                new = part.function_call.model_copy(update={"args": block["input"]})
                parts.append(part.model_copy(update={"function_call": new}))
        return message.model_copy(update={"parts": parts})
