"""Stdin and stdout as a transport that can be left at any time, and that answers every line."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import TracebackType
from typing import Any, Literal, Self, TextIO, TypeAlias, cast

import anyio
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


def as_line(item: SessionMessage) -> bytes:
    """A message as it is sent, with U+FFFD in the place of what has no form in UTF-8: half of a surrogate pair."""
    try:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
    except (UnicodeEncodeError, PydanticSerializationError):
        fields = item.message.model_dump(by_alias=True, exclude_unset=True)
        halved = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        text = halved.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.encode() + b"\n"


_CHUNK = 1 << 16
_LINES_AHEAD = 64


@asynccontextmanager
async def stdio_transport() -> AsyncGenerator[tuple[Requests, Answers]]:
    """What comes in, message by message, and where answers go.

    The SDK's own waits for stdin in a thread that cannot be called off, so that an interrupt waits for the client's
    next line; and it hands every line to a thread, and every answer to two.
    """
    with _own(sys.stdin, os.devnull) as stdin, _own(sys.stdout, 2) as stdout:
        answers = Answers(stdout)
        requests = Requests(stdin, answers)
        answers.when_gone = requests.end
        try:
            yield requests, answers
        finally:
            requests.leave()


@contextmanager
def _own(stream: TextIO, instead: str | int) -> Generator[int]:
    """A descriptor of a standard stream that nobody else has: for what this process starts, for stray reads and for
    stray prints, something else stands in its place."""
    shared = stream.fileno()
    own = os.dup(shared)
    with suppress(OSError):  # there is no stderr
        other = os.open(instead, os.O_RDONLY) if isinstance(instead, str) else os.dup(instead)
        os.dup2(other, shared)
        os.close(other)
    try:
        yield own
    finally:
        stream.flush()
        os.dup2(own, shared)  # the copy stays open: a thread may still wait at it


class _Side:
    """One way of the transport, as the SDK takes it: opened before, and ended by the transport."""

    async def aclose(self) -> None:
        """The transport ends it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class Answers(_Side):
    """Messages that are sent, each a whole line.

    What the pipe has room for is written at once: to let a thread do it takes as long as a small call.
    """

    def __init__(self, fd: int) -> None:
        self._room = _Room(fd)
        self._one_at_a_time = anyio.Lock(fast_acquire=True)
        self.when_gone: Callable[[], None] | None = None
        """Called when nobody reads them any more."""

    async def send(self, item: SessionMessage, /) -> None:
        """Write it.

        Raises:
            BrokenResourceError: nobody reads there.
        """
        line = memoryview(as_line(item))
        async with self._one_at_a_time:
            try:
                rest = self._room.fill(line, wait_ms=0) if len(line) <= _CHUNK else line
                if rest:
                    await anyio.to_thread.run_sync(self._room.fill, rest)
            except OSError:
                if self.when_gone is not None:
                    self.when_gone()
                raise anyio.BrokenResourceError from None


class _Room:
    """What can be written to a descriptor without waiting."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = None
        if sys.platform != "win32":
            self._poll = select.poll()
            self._poll.register(fd, select.POLLOUT)

    def fill(self, rest: memoryview, wait_ms: int | None = None) -> memoryview:
        """Write, waiting so long for each part; None: until all is written. Returns what is left."""
        if self._poll is None:
            return rest if wait_ms == 0 else rest[os.write(self._fd, rest) :]
        while rest and self._poll.poll(wait_ms):
            rest = rest[os.write(self._fd, rest[: select.PIPE_BUF]) :]  # so much has room where any has
        return rest


class Requests(_Side):
    """Messages that came in, in order. A line that is no message is answered here.

    The event loop reads them itself: to wake a thread for each, and then the loop, takes longer. A thread reads, which
    nothing waits for, where the loop cannot wait: at a file, and on Windows.
    """

    def __init__(self, fd: int, answers: Answers) -> None:
        self._fd, self._answers = fd, answers
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._begun: list[bytes] = []
        """Parts of a line whose end has not come."""
        self._paused = False
        self._loop = asyncio.get_running_loop()
        self._turn = threading.Semaphore(0)
        try:
            self._loop.add_reader(fd, self._read_now)
            self._in_thread = False
        except (NotImplementedError, OSError):
            self._in_thread = True
            threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def receive(self) -> SessionMessage:
        """The next one.

        Raises:
            EndOfStream: there will be none.
        """
        while (line := await self._lines.get()) is not None:
            self._go_on()
            found = read_line(line.decode("utf-8", "replace"))
            if isinstance(found, SessionMessage):
                return found
            if found is not None:
                with suppress(anyio.BrokenResourceError):
                    await self._answers.send(found.as_message())
        self.end()
        raise anyio.EndOfStream

    def end(self) -> None:
        """No more after those that came."""
        self._lines.put_nowait(None)

    def leave(self) -> None:
        """Read no more."""
        if not self._in_thread:
            self._loop.remove_reader(self._fd)

    def _go_on(self) -> None:
        if self._paused and self._lines.qsize() < _LINES_AHEAD:
            self._paused = False
            if self._in_thread:
                self._turn.release()
            else:
                self._loop.add_reader(self._fd, self._read_now)

    def _read_now(self) -> None:
        chunk = _chunk(self._fd)
        if chunk is not None:
            self._take(chunk)
        if chunk == b"" or self._paused:
            self._loop.remove_reader(self._fd)

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody listens any more
            while chunk := _chunk(self._fd):
                self._loop.call_soon_threadsafe(self._take, chunk)
                self._turn.acquire()
            self._loop.call_soon_threadsafe(self._take, b"")

    def _take(self, chunk: bytes) -> None:
        """Args: chunk: what came; empty at the end."""
        *ends, rest = chunk.split(b"\n") if chunk else (b"", b"")
        for end in ends:
            self._lines.put_nowait(b"".join((*self._begun, end)))
            self._begun.clear()
        self._begun.append(rest)
        self._paused = bool(chunk) and self._lines.qsize() >= _LINES_AHEAD
        if not chunk:
            self.end()
        elif self._in_thread and not self._paused:
            self._turn.release()

    def __aiter__(self) -> Requests:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def _chunk(fd: int) -> bytes | None:
    """What came; empty when nothing will, None when somebody else took it."""
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:  # the other end is gone
        return b""
