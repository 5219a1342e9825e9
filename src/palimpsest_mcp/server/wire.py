"""Messages as clients written in JavaScript send them: a text that was cut may end in half of a surrogate pair.

JSON carries it as `\\ud83d`. The SDK's parser refuses such a message, and its client would wait for an answer for ever;
its writer ends the server. Here it is read by the standard library, and the half stays what it is; in what is sent it
stands as U+FFFD.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeAlias

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

Received: TypeAlias = SessionMessage | Exception


@asynccontextmanager
async def whole_messages(received: Any) -> AsyncGenerator[Any]:
    """What a transport received, in order, with every message that it could not parse but JSON allows.

    Args:
        received: the transport's stream; an exception in it stands for a message that was refused.
    """
    send, receive = anyio.create_memory_object_stream[Received]()

    async def relay() -> None:
        async with send:
            async for item in received:
                await send.send(_read_again(item) if isinstance(item, ValidationError) else item)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay)
        try:
            yield receive
        finally:
            tasks.cancel_scope.cancel()
            receive.close()


class SendableMessages:
    """A transport's stream of answers that never meets a text without a form in UTF-8."""

    def __init__(self, sent: Any) -> None:
        self._sent = sent

    async def send(self, item: SessionMessage, /) -> None:
        await self._sent.send(sendable(item))

    async def aclose(self) -> None:
        await self._sent.aclose()

    async def __aenter__(self) -> SendableMessages:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


def sendable(item: SessionMessage) -> SessionMessage:
    """The message itself; where it holds half of a surrogate pair, the same with U+FFFD in its place."""
    try:
        item.message.model_dump_json(by_alias=True, exclude_unset=True)
    except (UnicodeEncodeError, PydanticSerializationError):
        whole = json.dumps(item.message.model_dump(by_alias=True, exclude_unset=True), ensure_ascii=False)
        value = json.loads(whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        return replace(item, message=jsonrpc_message_adapter.validate_python(value, by_name=False))
    return item


def _read_again(refused: ValidationError) -> Received:
    first = refused.errors(include_url=False, include_context=False)[0]
    if first["type"] != "json_invalid" or not isinstance(first["input"], str):
        return refused
    try:
        value = json.loads(first["input"], parse_constant=_no_constant)
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except (ValueError, RecursionError):
        return refused


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


__all__ = ["SendableMessages", "sendable", "whole_messages"]
