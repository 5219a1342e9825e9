"""The gateway: the same bytes until a pass changed something, and answers always as they came. All on loopback."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.hosts.validity import check_messages
from palimpsest_mcp.web.app import bound, local_server
from palimpsest_mcp.web.gateway import checked_upstream, gateway_app

from ..conftest import first_of

pytestmark = pytest.mark.anyio
KEY = "sk-not-a-real-key-000000000000"
Exchange = tuple[bytes, bytes]
"""Head and body."""
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def plain(body: bytes, status: str = "200 OK", *more: str) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *more, "", ""]
        writer.write("\r\n".join(head).encode() + body)

    return answer


class Provider:
    """Keeps what it was sent, byte for byte, and answers what it was told to."""

    def __init__(self) -> None:
        self.asked: list[Exchange] = []
        self.answer: Answer = plain(b'{"ok":true}')

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await received(reader))
        await self.answer(writer)
        await writer.drain()
        writer.close()

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, body in self.asked]


async def received(reader: asyncio.StreamReader) -> Exchange:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        (line.split(b":")[1] for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), b"0"
    )
    return head, await reader.readexactly(int(length))


class Program:
    """A program behind the gateway."""

    def __init__(self, port: int, log: list[str]) -> None:
        self.port, self.log = port, log

    async def ask(self, path: str, body: bytes | Any, *headers: str, method: str = "POST") -> Exchange:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        host = () if any(one.lower().startswith("host:") for one in headers) else (f"Host: 127.0.0.1:{self.port}",)
        lines = [f"{method} {path} HTTP/1.1", *host, f"Content-Length: {len(data)}", "Connection: close", *headers]
        writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        head = await reader.readuntil(b"\r\n\r\n")
        rest = await reader.read()
        writer.close()
        return head, unchunked(rest) if b"transfer-encoding: chunked" in head.lower() else rest


def unchunked(data: bytes) -> bytes:
    out = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        out, data = out + data[: int(size, 16)], data[int(size, 16) + 2 :]
    return out


@asynccontextmanager
async def behind(home: Path, provider: Provider, **options: Any) -> AsyncGenerator[Program]:
    log: list[str] = []
    upstream = await asyncio.start_server(provider.handle, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{upstream.sockets[0].getsockname()[1]}"
    async with Palimpsest.open(home) as facade, upstream:
        app = gateway_app(facade.gateway(**options), address, log.append)
        server = local_server(app)
        with bound(0) as listening:
            task = asyncio.create_task(server.serve(sockets=[listening]))
            yield Program(listening.getsockname()[1], log)
            server.should_exit = True
            await task


def output(n: int) -> str:
    return "\n".join(f"job-{n:02}-{at:03} wrote /data/{n}/part-{at:04}.csv in {n * 100 + at} ms" for at in range(120))


def anthropic(steps: int, mark: str = "a", **more: Any) -> dict[str, Any]:
    rows: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Run them all."}]}]
    for n in range(steps):
        used = {"type": "tool_use", "id": f"toolu_{mark}{n}", "name": "run", "input": {"job": n}}
        thought = {"type": "thinking", "thinking": f"then {n}", "signature": f"c2ln{n}"}
        rows.append({"role": "assistant", "content": [thought, used]})
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": used["id"], "content": output(n)}
        if n == 2:  # a breakpoint of the cache on a result
            result["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
        rows.append({"role": "user", "content": [result]})
    searched = [
        {"type": "server_tool_use", "id": f"srvtoolu_{mark}", "name": "web_search", "input": {"query": "x"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": f"srvtoolu_{mark}",
            "content": [{"encrypted_content": "Eq" * 99}],
        },
    ]
    rows.insert(1, {"role": "assistant", "content": searched})
    rows.insert(2, {"role": "user", "content": "Go on."})
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "stream": True,
        "messages": rows,
        "new_field": [1.10, -0.0],
        **more,
    }


def chat(steps: int) -> dict[str, Any]:
    rows: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Run them all."}]
    for n in range(steps):
        call = {"id": f"call_{n}", "type": "function", "function": {"name": "run", "arguments": f'{{"job": {n}}}'}}
        rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
        rows.append({"role": "tool", "tool_call_id": f"call_{n}", "content": output(n)})
    return {"model": "gpt-5", "messages": rows, "prompt_cache_key": "k"}


def responses(steps: int) -> dict[str, Any]:
    rows: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "Run them all."}]}]
    for n in range(steps):
        rows.append({"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": "gAAA"})
        rows.append({"type": "function_call", "call_id": f"call_{n}", "name": "run", "arguments": f'{{"job": {n}}}'})
        rows.append({"type": "function_call_output", "call_id": f"call_{n}", "output": output(n)})
    return {"model": "gpt-5", "input": rows, "store": False, "include": ["reasoning.encrypted_content"]}


def gemini(steps: int) -> dict[str, Any]:
    rows: list[Any] = [{"role": "user", "parts": [{"text": "Run them all."}]}]
    for n in range(steps):
        call = {"functionCall": {"name": "run", "args": {"job": n}}, "thoughtSignature": f"c2ln{n}"}
        rows.append({"role": "model", "parts": [{"text": f"then {n}", "thought": True}, call]})
        rows.append(
            {"role": "user", "parts": [{"functionResponse": {"name": "run", "response": {"output": output(n)}}}]}
        )
    return {"contents": rows, "generationConfig": {"temperature": 0}}


APIS: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "anthropic": ("/v1/messages?beta=true", anthropic),
    "openai chat": ("/v1/chat/completions", chat),
    "openai responses": ("/v1/responses", responses),
    "gemini": ("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", gemini),
}
WINDOW = 30_000


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.mark.parametrize("api", APIS)
async def test_below_the_trigger_a_request_goes_on_byte_for_byte(tmp_path: Path, provider: Provider, api: str) -> None:
    path, make = APIS[api]
    odd = json.dumps(make(3), indent=1, ensure_ascii=True).replace('"job"', '"j\\u006fb"').encode() + b"\n"
    async with behind(tmp_path, provider) as program:
        await program.ask(
            path, odd, f"Authorization: Bearer {KEY}", "anthropic-beta: some-2027-01-01", "X-Odd: \t a, b"
        )
    ((head, body),) = provider.asked
    assert body == odd
    assert head.startswith(f"POST {path} HTTP/1.1\r\n".encode())
    assert f"authorization: Bearer {KEY}".encode() in head
    assert b"anthropic-beta: some-2027-01-01" in head
    assert b"user-agent" not in head.lower(), "nothing is added that the program did not send"


STREAMS = {
    "anthropic": 'event: message_start\ndata: {"type":"message_start"}\n\nevent: ping\ndata: {"type": "ping"}\n\n'
    'event: content_block_delta\ndata: {"delta":{"type":"text_delta","text":"café 🌵"}}\n\n',
    "openai chat": 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n: keep-alive\n\ndata: [DONE]\n\n',
    "openai responses": 'event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n',
    "gemini": 'data: {"candidates": [{"content": {"parts": []}}]}\r\n\r\ndata: {"usageMetadata": {}}\r\n\r\n',
}


@pytest.mark.parametrize("api", STREAMS)
async def test_a_stream_comes_back_as_it_is_and_while_it_is_being_written(
    tmp_path: Path, provider: Provider, api: str
) -> None:
    path, make = APIS[api]
    whole, goes_on = STREAMS[api].encode(), asyncio.Event()
    half = len(whole) // 2

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for at, part in enumerate((whole[:half], whole[half:])):
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
            if at == 0:
                await asyncio.wait_for(goes_on.wait(), 20)  # set by whoever has read the first half
        writer.write(b"0\r\n\r\n")

    provider.answer = answer
    async with behind(tmp_path, provider) as program:
        data = json.dumps(make(2)).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", program.port)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await reader.readuntil(b"\r\n\r\n")
        size = int(await reader.readuntil(b"\r\n"), 16)
        first = await reader.readexactly(size)
        goes_on.set()
        rest = await reader.read()
        writer.close()
    assert first == whole[: len(first)]
    assert first + unchunked(rest.removeprefix(b"\r\n")) == whole


RECORDED = os.environ.get("TEST_STREAMS", "")
"""A folder of recorded answers, each as its provider wrote it, in folders named as in `APIS`."""


def recorded(api: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted(Path(RECORDED, api).iterdir())]


@pytest.mark.skipif(not RECORDED, reason="TEST_STREAMS names no folder of recorded streams")
@pytest.mark.parametrize("api", APIS)
async def test_recorded_streams_come_back_byte_for_byte(tmp_path: Path, provider: Provider, api: str) -> None:
    path, make = APIS[api]
    streams = recorded(api)
    assert streams

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        whole = streams[len(provider.asked) - 1]
        for part in (whole[at : at + 1_499] for at in range(0, len(whole), 1_499)):  # lines and characters are cut
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        writer.write(b"0\r\n\r\n")

    provider.answer = answer
    async with behind(tmp_path, provider, window_tokens=WINDOW) as program:
        for at, whole in enumerate(streams):
            _, body = await program.ask(path, make(12 if at % 2 else 2))
            assert body == whole


@pytest.mark.parametrize("api", first_of(APIS, kept=2))
async def test_above_the_trigger_results_leave_and_later_requests_say_the_same_bytes(
    tmp_path: Path, provider: Provider, api: str
) -> None:
    path, make = APIS[api]
    async with behind(tmp_path, provider, window_tokens=WINDOW, thinking="refuse") as program:
        await program.ask(path, make(12))
        await program.ask(path, make(12))
        await program.ask(path, make(13))
    async with behind(tmp_path, provider, window_tokens=WINDOW) as program:  # another process
        await program.ask(path, make(13))
    first, again, grown, later = provider.bodies
    assert len(first) < 0.7 * len(json.dumps(make(12)))
    assert again == first
    assert later == grown
    stays = first[: first.rindex(output(11).encode()[:40])]
    assert grown.startswith(stays), "the prefix that the provider keeps in its cache"
    assert skeleton(json.loads(first)) == skeleton(make(12)), "nothing but words of results changed"
    if api == "anthropic":
        assert not check_messages(json.loads(grown)["messages"], "anthropic")


def skeleton(value: Any, key: str = "") -> Any:
    """A request without the words of results."""
    if isinstance(value, dict):
        return {name: skeleton(one, name) for name, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [skeleton(one, key) for one in cast("list[Any]", value)]
    return "…" if key in ("content", "output") and isinstance(value, str) and len(value) > 200 else value


async def test_what_left_a_request_is_restored_exactly(tmp_path: Path, provider: Provider) -> None:
    async with behind(tmp_path, provider, window_tokens=WINDOW) as program:
        await program.ask("/v1/messages", anthropic(12))
    async with Palimpsest.open(tmp_path) as p:
        (session,) = await p.sessions()
        batches = await p.list_offloaded(session.session_id)
        whole = [
            (await p.restore(session.session_id, one.batch_id, item)).content
            for one in batches
            for item in one.item_ids
        ]
    assert output(0) in whole


async def test_two_conversations_that_begin_alike_are_two_sessions(tmp_path: Path, provider: Provider) -> None:
    async with behind(tmp_path, provider, window_tokens=WINDOW) as program:
        for mark in ("a", "b"):
            await program.ask("/v1/messages", anthropic(12, mark))
    async with Palimpsest.open(tmp_path) as p:
        assert len(await p.sessions()) == 2


@pytest.mark.parametrize(
    ("status", "header"),
    [
        ("429 Too Many Requests", "retry-after: 7"),
        ("400 Bad Request", "request-id: req_1"),
        ("529 Overloaded", "x-a: b"),
    ],
)
async def test_errors_of_the_provider_come_back_as_they_are(
    tmp_path: Path, provider: Provider, status: str, header: str
) -> None:
    said = gzip.compress(b'{"type":"error","error":{"type":"overloaded_error"}}', mtime=0)
    provider.answer = plain(said, status, header, "content-encoding: gzip")
    async with behind(tmp_path, provider) as program:
        head, body = await program.ask("/v1/messages", anthropic(2))
    assert head.split(b" ")[1] == status.split(" ")[0].encode()
    assert header.encode() in head
    assert body == said


async def test_a_provider_that_is_not_there_is_told_apart_from_its_own_errors(tmp_path: Path) -> None:
    gone = Provider()
    async with behind(tmp_path, gone) as program:
        server = await asyncio.start_server(gone.handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        async with Palimpsest.open(tmp_path) as p:
            app = gateway_app(p.gateway(), f"http://127.0.0.1:{port}", program.log.append)
            other = local_server(app)
            with bound(0) as listening:
                task = asyncio.create_task(other.serve(sockets=[listening]))
                head, body = await Program(listening.getsockname()[1], []).ask("/v1/messages", anthropic(1))
                other.should_exit = True
                await task
    assert b" 502 " in head
    assert json.loads(body)["error"]["type"] == "palimpsest_proxy"


@pytest.mark.parametrize("header", ["Origin: https://example.com", "Host: example.com", "Upgrade: websocket"])
async def test_web_pages_and_other_machines_are_refused(tmp_path: Path, provider: Provider, header: str) -> None:
    async with behind(tmp_path, provider) as program:
        head, _ = await program.ask("/v1/messages", anthropic(1), header)
    assert b" 403 " in head or b" 426 " in head
    assert not provider.asked


@pytest.mark.parametrize(
    ("body", "headers", "why"),
    [
        (anthropic(12), ("X-Claude-Code-Session-Id: 1",), "Claude Code"),
        (anthropic(12, model="claude-fable-5-1"), (), "thinking"),
        (anthropic(12, model="nobodys"), (), "window"),
    ],
)
async def test_what_is_not_for_a_gateway_goes_through_and_says_why(
    tmp_path: Path, provider: Provider, body: dict[str, Any], headers: tuple[str, ...], why: str
) -> None:
    window = {} if why == "window" else {"window_tokens": WINDOW}
    async with behind(tmp_path, provider, **window) as program:
        await program.ask("/v1/messages", body, *headers)
    assert provider.bodies == [json.dumps(body).encode()]
    assert len(program.log) == 1
    assert why in program.log[0], program.log


def stored(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_neither_the_log_nor_the_store_has_a_key(tmp_path: Path, provider: Provider) -> None:
    async with behind(tmp_path, provider, window_tokens=WINDOW) as program:
        await program.ask("/v1/messages?key=" + KEY, anthropic(12), f"x-api-key: {KEY}")
        await program.ask("/v1/messages", b"no json", f"x-api-key: {KEY}")
    assert len(program.log) == 2
    assert KEY not in "".join(program.log)
    assert provider.bodies[1] == b"no json"
    assert KEY.encode() not in stored(tmp_path)


@pytest.mark.parametrize(
    "url", ["http://api.openai.com", "api.openai.com", "https://u:p@api.openai.com", "ftp://x", ""]
)
def test_an_address_that_would_show_a_key_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        checked_upstream(url)
