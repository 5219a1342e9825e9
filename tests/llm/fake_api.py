"""A small Messages API on loopback: it plays replies in order, the last one for ever, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One answer. A `body` that can be called is given the request."""

    body: str | bytes | Callable[[dict[str, Any]], str] = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hangs: bool = False
    """Takes the request and never answers."""


@dataclass
class FakeApi:
    """What stands at `url`."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Each with `path`, `headers` (lower case) and `body`."""
    at_once: int = 0
    most_at_once: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the first request."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client went away from a request that hangs."""

    @property
    def prompts(self) -> list[str]:
        return [one["body"]["messages"][0]["content"] for one in self.requests]


def message(text: str, *, stop_reason: str = "end_turn", tokens_in: int = 1_000, tokens_out: int = 100) -> str:
    """A body of the Messages API with one block of text."""
    return json.dumps(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "fake",
            "content": [{"type": "text", "text": text}],
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": tokens_in, "output_tokens": tokens_out},
        }
    )


def summaries(*lines: Sequence[str], **more: Any) -> str:
    """The answer that is asked for: lines by result, in order."""
    results = [{"number": n, "lines": list(one)} for n, one in enumerate(lines, 1)]
    return message(json.dumps({"results": results}), **more)


def one_line_each(text: str, **more: Any) -> Callable[[dict[str, Any]], str]:
    """The same line for every result of whatever batch is asked about."""

    def answer(request: dict[str, Any]) -> str:
        prompt: str = request["body"]["messages"][0]["content"]
        mark = prompt.split("The mark is ")[1].split(".")[0]
        results = prompt.count(f"\nEND {mark} ") - prompt.count(f"\nEND {mark} words")
        return summaries(*[[text]] * results, **more)

    return answer


def failure(status: int, **headers: str) -> Reply:
    """An error of the API; retried at once unless the headers say otherwise."""
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    named = {name.replace("_", "-"): value for name, value in headers.items()} or {"retry-after-ms": "1"}
    return Reply(json.dumps(body), status, named)


@asynccontextmanager
async def fake_api(*replies: Reply) -> AsyncGenerator[FakeApi]:
    """Serve for as long as the block runs."""
    api = FakeApi()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *rows = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            request = {"path": line.split(" ")[1], "headers": headers, "body": json.loads(body)}
            api.requests.append(request)
            api.arrived.set()
            reply = replies[min(len(api.requests), len(replies)) - 1]
            api.at_once += 1
            api.most_at_once = max(api.most_at_once, api.at_once)
            try:
                if reply.hangs:
                    await reader.read(1)
                    api.closed.set()
                    return
                for _ in range(20):  # lets the other requests arrive
                    await asyncio.sleep(0)
            finally:
                api.at_once -= 1
            sent = reply.body(request) if callable(reply.body) else reply.body
            data = sent if isinstance(sent, bytes) else sent.encode()
            lines = {"content-type": "application/json", "content-length": str(len(data)), "connection": "close"}
            top = "".join(f"{name}: {value}\r\n" for name, value in {**lines, **reply.headers}.items())
            writer.write(f"HTTP/1.1 {reply.status} Status\r\n{top}\r\n".encode() + data)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            api.closed.set()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield api
    finally:
        server.close()
