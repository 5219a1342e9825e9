"""Stdin and stdout as a transport that can be left at any time, and that answers every line."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, TypeAlias, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

# One line of the wire as a message, or as the error that answers it: no request is left without an answer.
#
# The SDK's reader drops a line that it cannot read, and whoever sent it waits for ever. Among such lines are messages
# that JSON allows: clients written in JavaScript cut texts in the middle of a surrogate pair and send `\ud83d`. Those
# are read by the standard library, and the half stays what it is; in what is sent it stands as U+FFFD.


Id: TypeAlias = str | int | float | None


class Refusal(BaseModel):
    """The error that answers a line. Unlike the SDK's, it gives back any id that JSON-RPC knows, fractions too."""

    jsonrpc: Literal["2.0"]
    id: Id
    error: ErrorData

    def as_message(self) -> SessionMessage:
        """In the wrapper that the transport takes."""
        return SessionMessage(cast("Any", self))


def read_line(line: str) -> SessionMessage | Refusal | None:
    """What a line holds; None for a blank one, and for what is answered by nothing: notifications and answers."""
    if not line.strip():
        return None
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValidationError, RecursionError):
        return _read_again(line)
    if isinstance(message, JSONRPCNotification) and '"id"' in line:
        # The SDK takes a request whose id it cannot read for a notification.
        return _refused(json.loads(line)) or SessionMessage(message)
    return SessionMessage(message)


def _read_again(line: str) -> SessionMessage | Refusal | None:
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except RecursionError:
        return _refusal(_id_in(line), PARSE_ERROR, "The message is nested too deeply to be read.")
    except ValueError as error:
        where = f" ({error.msg}, at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        return _refusal(_id_in(line), PARSE_ERROR, f"The message is no JSON{where}.")
    if (refused := _refused(value)) is not None or _needs_no_answer(value):
        return refused
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except (ValueError, RecursionError):
        return _refusal(_id_of(value), INVALID_REQUEST, "The message is no request of JSON-RPC 2.0.")


def _refused(value: Any) -> Refusal | None:
    """Why something that is JSON is no request; None where it is one, or needs no answer."""
    if isinstance(value, list):
        return _refusal(None, INVALID_REQUEST, "Batches are not supported. Send one message at a time.")
    if not isinstance(value, dict):
        return _refusal(None, INVALID_REQUEST, "A message is a JSON object.")
    fields = cast("dict[str, Any]", value)
    if _needs_no_answer(fields):
        return None
    known, id = "id" in fields, _id_of(fields)
    if fields.get("jsonrpc") != "2.0":
        return _refusal(id, INVALID_REQUEST, 'A message has "jsonrpc": "2.0".')
    if not isinstance(fields.get("method"), str):
        return _refusal(id, INVALID_REQUEST, "The method of a request is a string.")
    if known and (isinstance(fields["id"], bool) or not isinstance(fields["id"], (str, int))):
        return _refusal(id, INVALID_REQUEST, "The id of a request is a string or a whole number.")
    if known and not isinstance(fields.get("params"), (dict, type(None))):
        return _refusal(id, INVALID_PARAMS, "The params of a request are an object.")
    return None


def _needs_no_answer(value: Any) -> bool:
    """A notification, or somebody's answer: an error about either would be a message that nobody asked for."""
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Any]", value)
    if "method" not in fields:
        return "result" in fields or "error" in fields
    return "id" not in fields and fields.get("jsonrpc") == "2.0" and isinstance(fields["method"], str)


def _refusal(id: Id, code: int, message: str) -> Refusal:
    return Refusal(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message))


def _id_of(value: Any) -> Id:
    found = cast("dict[str, Any]", value).get("id") if isinstance(value, dict) else None
    return found if isinstance(found, (str, int, float)) and not isinstance(found, bool) else None


_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)  # a string that never ends is one token too: linear
_ID = re.compile(r'\s*:\s*(?:("(?:[^"\\]|\\.){0,200}")|(-?\d{1,18})(?![\d.eE]))\s*[,}]')


def _id_in(line: str) -> Id:
    """The id of a request that cannot be read as a whole, however deep it is; None where none stands on its top."""
    depth = 0
    for token in _TOKEN.finditer(line):
        text = token[0]
        if text in "{[":
            depth += 1
        elif text in "]}":
            depth -= 1
        elif depth == 1 and text == '"id"' and (found := _ID.match(line, token.end())):
            try:
                return cast("Id", json.loads(found[1] or found[2]))
            except ValueError:
                return None
    return None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


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


_CHUNK = 1 << 16
_LINES_AHEAD = 64


@asynccontextmanager
async def stdio_transport() -> AsyncGenerator[tuple[Any, SendableMessages]]:
    """What came in, message by message, and where answers go. A line that is no message is answered here.

    The SDK's own waits for stdin in a thread that cannot be called off, so that an interrupt waits for the client's
    next line. Its side of stdout is used as it is.
    """
    send, receive = anyio.create_memory_object_stream[SessionMessage]()
    # Handed an stdin of our own (without a line), the SDK leaves the real one to us.
    async with stdio_server(stdin=cast("Any", _NoLines())) as (nothing, sent), _Stdin() as lines:
        await nothing.aclose()
        answers = SendableMessages(sent)

        async def relay() -> None:
            async with send:
                async for line in lines:
                    found = read_line(line)
                    if isinstance(found, Refusal):
                        await answers.send(found.as_message())
                    elif found is not None:
                        await send.send(found)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(relay)
            try:
                yield receive, answers
            finally:
                tasks.cancel_scope.cancel()
                receive.close()


class _NoLines:
    def __aiter__(self) -> _NoLines:
        return self

    async def __anext__(self) -> str:
        raise StopAsyncIteration


class _Stdin:
    """The lines of stdin, read by a thread of its own that nothing waits for.

    While it is open, descriptor 0 is at its end for everybody else: for what this process starts, and for stray reads.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.BoundedSemaphore(_LINES_AHEAD)
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> AsyncIterator[str]:
        stdin = sys.stdin.fileno()
        self._fd = os.dup(stdin)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, stdin)
        os.close(nothing)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()
        return self._taken()

    async def __aexit__(self, *_: object) -> None:
        os.dup2(self._fd, sys.stdin.fileno())  # the copy stays open: the thread may still wait at it

    async def _taken(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody listens any more
            parts: list[bytes] = []
            while chunk := self._chunk():
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    self._give(b"".join((*parts, end)))
                    parts.clear()
                parts.append(rest)
            if line := b"".join(parts):
                self._give(line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    def _chunk(self) -> bytes:
        try:
            return os.read(self._fd, _CHUNK)
        except OSError:  # the other end is gone
            return b""

    def _give(self, line: bytes) -> None:
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line.decode("utf-8", "replace"))
