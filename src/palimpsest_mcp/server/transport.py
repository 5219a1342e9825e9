"""Stdin and stdout as a transport that can be left at any time, and that answers every line."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from .wire import Refusal, SendableMessages, read_line

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


__all__ = ["stdio_transport"]
