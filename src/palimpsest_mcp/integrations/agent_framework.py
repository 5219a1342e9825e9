"""Microsoft Agent Framework: a compaction strategy, and a function middleware that shrinks large results at birth.

    palimpsest = PalimpsestStrategy(session_id="s1", window_tokens=200_000)
    agent = Agent(client, tools=tools, compaction_strategy=palimpsest, middleware=[palimpsest.shrinking])

One strategy is one conversation: the framework does not say which one a list belongs to.
"""

# The framework is in no environment of the developers; tests/integrations runs this file against the real one.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Unpack

from .conversation import Block, Part, arguments_of, call_block, plain, result_block, text_block, texts_in, whole_block
from .window import AgentWindow, WindowOptions


class PalimpsestStrategy:
    """Changes the list in place, as the framework's own strategies do.

    Args:
        session_id: None mints one.
        window: shared with other strategies; None makes one of the options.
    """

    def __init__(
        self, session_id: str | None = None, *, window: AgentWindow | None = None, **options: Unpack[WindowOptions]
    ) -> None:
        self.window = window or AgentWindow(host="agent-framework", **options)
        self.session_id = session_id or f"agent-framework-{uuid.uuid4()}"

    async def __call__(self, messages: list[Any]) -> bool:
        """Whether any message changed."""
        sent = [one for one in messages if not _is_excluded(one)]
        shorter = await self.window.ashortened(self.window.agent(self.session_id), sent, AGENT_FRAMEWORK)
        new = {id(old): one for old, one in zip(sent, shorter, strict=True) if one is not old}
        for at, message in enumerate(messages):
            if id(message) in new:
                messages[at] = new[id(message)]
        return bool(new)

    @property
    def shrinking(self) -> Any:
        """A function middleware: an agent that a function runs is a sub-agent, and large results are shrunk."""
        from agent_framework import function_middleware

        async def palimpsest(context: Any, call_next: Callable[..., Awaitable[Any]]) -> None:
            await self._shrink(context, call_next)

        return function_middleware(palimpsest)

    async def _shrink(self, context: Any, call_next: Callable[..., Awaitable[Any]]) -> None:
        call_id = str(context.metadata.get("call_id", "")) if isinstance(context.metadata, dict) else ""
        caller = self.window.agent(self.session_id)
        with self.window.tool_run(caller, call_id) as run:
            await call_next()
        text, put = _text_of(context.result)
        if text is None or not call_id:
            return
        args = plain(context.arguments) if context.arguments is not None else {}
        said = await self.window.ahanded_back(run, text)
        said = await self.window.ashrunk(caller, said, call_id, context.function.name, args)
        if said is not text:
            context.result = put(said)


def _is_excluded(message: Any) -> bool:
    """Whether a strategy of the framework's own has taken the message out of what is sent."""
    return bool((message.additional_properties or {}).get("_excluded"))


def _text_of(result: Any) -> tuple[str | None, Callable[[str], Any]]:
    """A function's result where it is one text, and what holds another text in its place."""
    if isinstance(result, str):
        return result, lambda text: text
    if isinstance(result, list) and len(result) == 1 and getattr(result[0], "type", "") == "text":
        return result[0].text, lambda text: [_changed(result[0], text=text)]
    return None, lambda text: text


def _changed(content: Any, **fields: Any) -> Any:
    new = copy.copy(content)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


class AgentFrameworkMessages:
    """`Message` with its `contents`."""

    def parts(self, message: Any) -> Iterable[Part]:
        """Every content."""
        role = str(message.role)
        role = "user" if role == "tool" else role if role in ("user", "assistant", "system") else "user"
        for at, content in enumerate(message.contents):
            kind = str(content.type)
            if kind == "function_result":
                failed = content.exception is not None
                yield Part("user", at, result_block(content.call_id, _result(content), is_error=failed))
            elif kind == "function_call":
                yield Part(role, at, call_block(content.call_id, content.name, _arguments(content.arguments)))
            elif kind == "text_reasoning" and content.protected_data:
                thinking = {"type": "thinking", "thinking": content.text or "", "signature": content.protected_data}
                yield Part(role, at, thinking)
            elif kind == "text" and content.text:
                yield Part(role, at, text_block(content.text))
            else:
                yield Part(role, at, whole_block(kind, content.to_dict()))

    def put(self, message: Any, changed: Mapping[Any, Block | None]) -> Any:
        """With other results or arguments, or less reasoning."""
        contents: list[Any] = []
        for at, content in enumerate(message.contents):
            block = changed.get(at)
            if at not in changed:
                contents.append(content)
            elif block is not None and block["type"] == "tool_result":
                contents.append(_with_result(content, texts_in(block["content"])))
            elif block is not None:
                args = block["input"]
                told = json.dumps(args, ensure_ascii=False) if isinstance(content.arguments, str) else args
                contents.append(_changed(content, arguments=told))
        return _changed(message, contents=contents, additional_properties=dict(message.additional_properties or {}))


def _result(content: Any) -> str | list[Any]:
    items = getattr(content, "items", None)
    if items and not all(one.type == "text" for one in items):
        return [text_block(one.text) if one.type == "text" else plain(one.to_dict()) for one in items]
    result = content.result
    return result if isinstance(result, str) else json.dumps(plain(result), ensure_ascii=False)


def _with_result(content: Any, text: str) -> Any:
    new = _changed(content, result=text)
    if getattr(content, "items", None):
        make = type(content).from_text
        new.items = [make(text)]
    return new


def _arguments(arguments: Any) -> Any:
    return arguments_of(arguments) if isinstance(arguments, str) else plain(arguments or {})


AGENT_FRAMEWORK = AgentFrameworkMessages()
