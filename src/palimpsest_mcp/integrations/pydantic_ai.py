"""Pydantic AI: a capability that shortens the history before each request and shrinks large results at birth.

    agent = Agent("openai:gpt-5", capabilities=[PalimpsestCapability(window_tokens=400_000)])

The run's own history is what was sent: it holds the digests, and the originals are in the archive. Agents of older
versions without capabilities take `PalimpsestHistory(…)` as a history processor.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Unpack

from .conversation import (
    Block,
    Part,
    call_block,
    first_text,
    object_of,
    plain,
    result_block,
    text_block,
    texts_in,
    whole_block,
)
from .window import Agent, AgentWindow, WindowOptions

try:
    from pydantic_ai.capabilities import AbstractCapability
except ImportError:  # before capabilities there were only history processors
    AbstractCapability: Any = object


class PalimpsestHistory:
    """A history processor. It takes the run's context where the framework gives it.

    Args:
        window: shared with other processors; None makes one of the options.
        session_id: None takes the conversation's id, else the run's; where the framework tells neither, one is minted.
    """

    def __init__(
        self, window: AgentWindow | None = None, *, session_id: str | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        self.window = window or AgentWindow(host="pydantic-ai", **options)
        self._session_id = session_id
        self._minted = f"pydantic-ai-{uuid.uuid4()}"

    async def __call__(self, ctx: Any, messages: list[Any]) -> list[Any]:
        """The messages with digests in the place of old results."""
        model = str(getattr(getattr(ctx, "model", None), "model_name", "") or "")
        return await self.window.ashortened(self.agent(ctx), messages, PYDANTIC_AI, model=model)

    def agent(self, ctx: Any) -> Agent:
        """Whose run this is."""
        told = getattr(ctx, "conversation_id", None) or getattr(ctx, "run_id", None)
        return self.window.agent(self._session_id or told or self._minted)


class PalimpsestCapability(AbstractCapability):
    """The same as a capability, which sees results before they are first sent, too. An agent that a tool runs is a
    sub-agent: it gets a session of its own where it has this capability, too."""

    def __init__(
        self, window: AgentWindow | None = None, *, session_id: str | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        super().__init__()
        self.history = PalimpsestHistory(window, session_id=session_id, **options)
        self.window = self.history.window

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Shortens what the request holds, and with it the run's history."""
        messages = await self.history(ctx, list(request_context.messages))
        request_context.messages = list(messages)
        ctx.messages[:] = messages
        return request_context

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Shrinks a result that is a text."""
        caller = self.history.agent(ctx)
        with self.window.tool_run(caller, call.tool_call_id) as run:
            result = await handler(args)
        if isinstance(result, str):
            result = await self.window.ahanded_back(run, result, first_text(object_of(args)))
            return await self.window.ashrunk(caller, result, call.tool_call_id, call.tool_name, object_of(args))
        return result


class PydanticAIMessages:
    """`ModelRequest` and `ModelResponse`, each a list of parts."""

    def parts(self, message: Any) -> Iterable[Part]:
        """Every part."""
        role = "assistant" if message.kind == "response" else "user"
        for at, part in enumerate(message.parts):
            kind = part.part_kind
            if kind == "tool-return":
                yield Part("user", at, result_block(part.tool_call_id, _told(part), is_error=_failed(part)))
            elif kind == "retry-prompt" and part.tool_name:
                yield Part("user", at, result_block(part.tool_call_id, part.model_response(), is_error=True))
            elif kind == "tool-call":
                signed = bool(getattr(part, "provider_details", None))
                yield Part(role, at, call_block(part.tool_call_id, part.tool_name, _args(part), signed=signed))
            elif kind == "thinking" and part.signature:
                yield Part(role, at, {"type": "thinking", "thinking": part.content, "signature": part.signature})
            elif kind == "system-prompt":
                yield Part("system", at, text_block(part.content))
            elif kind in ("text", "user-prompt") and isinstance(part.content, str) and part.content:
                yield Part(role, at, text_block(part.content))
            else:
                yield Part(role, at, whole_block(kind, _fields(part)))

    def put(self, message: Any, changed: Mapping[Any, Block | None]) -> Any:
        """With other contents or arguments, or less thinking."""
        parts: list[Any] = []
        for at, part in enumerate(message.parts):
            block = changed.get(at)
            if at not in changed:
                parts.append(part)
            elif block is not None and block["type"] == "tool_result":
                if part.part_kind == "tool-return":
                    parts.append(replace(part, content=texts_in(block["content"])))
                else:
                    parts.append(part)
            elif block is not None:
                args = block["input"]
                parts.append(replace(part, args=json.dumps(args) if isinstance(part.args, str) else args))
        return replace(message, parts=parts)


def _told(part: Any) -> str:
    """A result as the model reads it."""
    content = part.content
    return content if isinstance(content, str) else part.model_response_str()


def _failed(part: Any) -> bool:
    return getattr(part, "outcome", "success") in ("failed", "retried")


def _args(part: Any) -> Any:
    return part.args_as_dict() if part.args else {}


def _fields(part: Any) -> Any:
    if not is_dataclass(part):
        return plain(part)
    return {name: plain(value) for name, value in vars(part).items() if name != "timestamp"}


PYDANTIC_AI = PydanticAIMessages()
