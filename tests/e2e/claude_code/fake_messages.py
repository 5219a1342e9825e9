"""A Messages API on loopback that plays a script to the real client, and keeps what it was sent.

It answers streamed and plain requests and token counts. Requests that no rule matches take the next turn of the script,
whoever sends them. What the real API refuses, `faults` finds: calls without results, results without calls. Where
`binds_thinking` is set it checks thinking as models from Claude Fable 5.1 on do: a block is signed with all that stood
before it, and refused where that is not what stands before it now.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

Block = dict[str, Any]
MOMENT_S = 0.02
CHARS_A_TOKEN = 3

SUMMARY_PROMPT = "Your task is to create a detailed summary"
"""Words of the client's own summary request."""


@dataclass(frozen=True)
class Request:
    """One request to `/v1/messages`."""

    number: int
    path: str
    session_id: str
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def blocks(self) -> list[Block]:
        """Every content block, in order; a string stands as a text block."""
        return [block for message in self.messages for block in blocks_of(message["content"])]

    @property
    def results(self) -> dict[str, str]:
        """Text of every tool result, by call id."""
        return {one["tool_use_id"]: text_of(one.get("content")) for one in self.blocks if one["type"] == "tool_result"}

    @property
    def text(self) -> str:
        """All that the model would read as conversation."""
        return "\n".join(text_of(message["content"]) for message in self.messages)

    @property
    def system(self) -> str:
        return text_of(self.body.get("system"))

    @property
    def last_user(self) -> str:
        """What the newest user message says."""
        return next((text_of(m["content"]) for m in reversed(self.messages) if m["role"] == "user"), "")

    @property
    def is_summary(self) -> bool:
        """Whether the client asks for a summary of the conversation."""
        return SUMMARY_PROMPT in self.last_user


@dataclass(frozen=True)
class Reply:
    """One answer of the model: blocks, and the context size that it reports."""

    blocks: tuple[Block, ...]
    used: int | None = 1_000
    """Input tokens reported (uncached, read from the cache: as the real API splits them), plus 30 of output.

    None: as many as the request is long, by a rule of thumb.
    """


Turn = Reply | Callable[[Request], Reply]
Rule = tuple[Callable[[Request], bool], Turn]


def say(text: str, used: int | None = 1_000) -> Reply:
    return Reply(({"type": "text", "text": text},), used)


def call(name: str, used: int | None = 1_000, **arguments: Any) -> Reply:
    return calls((name, arguments), used=used)


def calls(*several: tuple[str, dict[str, Any]], used: int | None = 1_000, text: str = "", thinking: str = "") -> Reply:
    """Parallel calls in one answer."""
    blocks: list[Block] = [{"type": "tool_use", "name": name, "input": given} for name, given in several]
    if text:
        blocks.insert(0, {"type": "text", "text": text})
    if thinking:
        blocks.insert(0, {"type": "thinking", "thinking": thinking, "signature": "fake"})
    return Reply(tuple(blocks), used)


def bash(command: str, used: int | None = 1_000) -> Reply:
    return call("Bash", used, command=command, description="part of a test")


SUMMARY = say("<analysis>none</analysis>\n<summary>\nTHE CLIENT'S OWN SUMMARY\n</summary>")


def by_characters(body: dict[str, Any]) -> int:
    return len(json.dumps(body, ensure_ascii=False)) // CHARS_A_TOKEN


@dataclass
class FakeMessages:
    """What stands at `url`. Turns are consumed in order; when they run out the model says `done`."""

    turns: list[Turn] = field(default_factory=list[Turn])
    tokens_of: Callable[[dict[str, Any]], int] = by_characters
    """Of a request, where a turn does not say them."""
    rules: list[Rule] = field(default_factory=list[Rule])
    """The first that matches answers, and takes no turn."""
    requests: list[Request] = field(default_factory=list[Request])
    url: str = ""
    binds_thinking: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _made: int = 0

    def play(self, *turns: Turn) -> None:
        """A new script; the recorded requests are forgotten."""
        with self._lock:
            self.turns = list(turns)
            self.requests.clear()

    @property
    def summaries(self) -> list[Request]:
        return [request for request in self.requests if request.is_summary]

    def answer(self, path: str, session_id: str, body: dict[str, Any]) -> Reply:
        with self._lock:
            request = Request(len(self.requests), path, session_id, body)
            self.requests.append(request)
            if request.is_summary:
                return SUMMARY
            turn = next((reply for matches, reply in self.rules if matches(request)), None)
            if turn is None:
                turn = self.turns.pop(0) if self.turns else say("done")
        return turn if isinstance(turn, Reply) else turn(request)

    def new_id(self, kind: str) -> str:
        with self._lock:
            self._made += 1
            return f"{kind}_fake_{self._made:06}"

    def start(self) -> Callable[[], None]:
        """Listen; the function that is returned ends it."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(MOMENT_S,), daemon=True)
        thread.start()

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop


def blocks_of(content: Any) -> list[Block]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [one if isinstance(one, dict) else {"type": "text", "text": one} for one in cast("list[Any]", content or [])]


def text_of(content: Any) -> str:
    """The words of a content: texts, results, and the arguments of calls as JSON."""
    parts: list[str] = []
    for block in blocks_of(content):
        if block["type"] == "text":
            parts.append(block["text"])
        elif block["type"] == "tool_result":
            parts.append(text_of(block.get("content")))
        elif block["type"] == "tool_use":
            parts.append(json.dumps(block["input"], ensure_ascii=False))
    return "\n".join(parts)


def faults(request: Request) -> list[str]:
    """Why the real API would refuse the message list."""
    found: list[str] = []
    waiting: set[str] = set()
    for message in request.messages:
        if message["role"] == "system":
            continue
        blocks = blocks_of(message["content"])
        results = [one["tool_use_id"] for one in blocks if one["type"] == "tool_result"]
        if message["role"] == "assistant":
            found += [f"call {one} has no result" for one in sorted(waiting)]
            waiting = {one["id"] for one in blocks if one["type"] == "tool_use"}
            continue
        found += [f"result {one} has no call before it" for one in results if one not in waiting]
        found += [f"result {one} twice" for one in set(results) if results.count(one) > 1]
        found += [f"call {one} has no result" for one in sorted(waiting - set(results))]
        waiting = set()
    found += [f"call {one} has no result" for one in sorted(waiting)]
    found += [f"empty block in message of {m['role']}" for m in request.messages if not m["content"]]
    return found


# The check of thinking, as it is documented (platform.claude.com, "Prefix checks on thinking blocks"): `system`,
# `tools` and every message before a block are its prefix, thinking among them; marks of the cache are not.

BOUND = "bound:"


def signature(body: dict[str, Any], messages: Sequence[dict[str, Any]], blocks: Sequence[Block] = ()) -> str:
    """What a model signs a thinking block with.

    Args:
        messages: all before the answer; `blocks`: of the answer, before the block.
    """
    before: list[tuple[str, Block]] = [
        (message["role"], block) for message in messages for block in blocks_of(message["content"])
    ]
    before += [("assistant", block) for block in blocks]
    prefix = [body.get("system"), body.get("tools"), before]
    return BOUND + hashlib.sha256(json.dumps(_unmarked(prefix), sort_keys=True).encode()).hexdigest()


def signed(body: dict[str, Any], blocks: Sequence[Block]) -> list[Block]:
    """An answer to a request, its thinking bound to what the model read."""
    done: list[Block] = []
    for block in blocks:
        if block["type"] == "thinking":
            block = {**block, "signature": signature(body, body["messages"], done)}
        done.append(block)
    return done


def refused_thinking(body: dict[str, Any]) -> list[str]:
    """Paths of thinking blocks that are bound to another conversation."""
    found: list[str] = []
    for row, message in enumerate(body["messages"]):
        blocks = blocks_of(message["content"])
        for at, block in enumerate(blocks):
            own = block.get("signature", "")
            if own.startswith(BOUND) and own != signature(body, body["messages"][:row], blocks[:at]):
                found.append(f"messages.{row}.content.{at}")
    return found


def drops_block(body: dict[str, Any]) -> bool:
    """Whether the request asks for invalid thinking to be left out."""
    thinking = cast("dict[str, Any]", body.get("thinking") or {})
    binding = cast("dict[str, Any]", thinking.get("block_binding") or {})
    return binding.get("prefix_mismatch_behavior") == "drop_block"


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _unmarked(inner) for key, inner in fields.items() if key != "cache_control"}
    if isinstance(value, (list, tuple)):
        return [_unmarked(inner) for inner in cast("list[Any]", value)]
    return value


def all_faults(requests: Iterable[Request]) -> list[str]:
    return [f"request {one.number}: {fault}" for one in requests for fault in faults(one)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: FakeMessages

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to say."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._send({"type": "error", "error": {"type": "not_found_error", "message": self.path}}, 404)

    def do_POST(self) -> None:
        path = self.path.split("?")[0]
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if path == "/v1/messages/count_tokens":
            return self._send({"input_tokens": len(json.dumps(body, ensure_ascii=False)) // 4})
        if path != "/v1/messages":
            return self._send({"type": "error", "error": {"type": "not_found_error", "message": path}}, 404)
        reply = self.api.answer(path, self.headers.get("x-claude-code-session-id", ""), body)
        blocks = [self._whole(block) for block in reply.blocks]
        if self.api.binds_thinking:
            if (refused := refused_thinking(body)) and not drops_block(body):
                said = f"{refused[0]}: Invalid `signature` in `thinking` block. The block is bound to a different one."
                return self._send({"type": "error", "error": {"type": "invalid_request_error", "message": said}}, 400)
            blocks = signed(body, blocks)
        asks = any(block["type"] == "tool_use" for block in blocks)
        used = self.api.tokens_of(body) if reply.used is None else reply.used
        read = max(0, used - 100)
        message: dict[str, Any] = {
            "id": self.api.new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "fake"),
            "content": blocks,
            "stop_reason": "tool_use" if asks else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": used - read,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": read,
                "output_tokens": 30,
            },
        }
        if body.get("stream"):
            self._stream(message)
        else:
            self._send(message)

    def _whole(self, block: Block) -> Block:
        return {"id": self.api.new_id("toolu"), **block} if block["type"] == "tool_use" else block

    def _send(self, value: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        usage = message["usage"]
        opening: dict[str, Any] = {
            **message,
            "content": [],
            "stop_reason": None,
            "usage": {**usage, "output_tokens": 1},
        }
        events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": opening})]
        for at, block in enumerate(cast("list[Block]", message["content"])):
            empty, deltas = _streamed(block)
            events.append(("content_block_start", {"index": at, "content_block": empty}))
            events += [("content_block_delta", {"index": at, "delta": delta}) for delta in deltas]
            events.append(("content_block_stop", {"index": at}))
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events += [("message_delta", {"delta": ending, "usage": usage}), ("message_stop", {})]
        try:
            for kind, value in events:
                data = json.dumps({"type": kind, **value}, ensure_ascii=False)
                self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client was ended by its test


def _streamed(block: Block) -> tuple[Block, Sequence[Block]]:
    """A block as it starts, and the pieces that fill it."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
