"""A model on loopback for the examples, in the shapes of Anthropic's and OpenAI's APIs.

It reads every log and every page, restores the original that it needs, and makes its answer from what the messages say.
So the answer is right only if the digests and the restore are.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harbour import DAYS, FAILED_ON, PAGES

DIGEST = re.compile(r"restore_batch \w+ (offload_\d+)")


@contextmanager
def serving() -> Generator[str]:
    """The address of the model, for as long as the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def next_step(tools: set[str], results: dict[str, str], text: str) -> tuple[str, str, dict[str, Any]] | str:
    """A call (id, tool, arguments), or the last words.

    Args:
        results: call id to what stands in its place now.
        text: all that the messages say.
    """
    for day in DAYS if "read_log" in tools else ():
        if f"log_{day}" not in results:
            return f"log_{day}", "read_log", {"day": day}
    for number, (query, (_, address, _)) in enumerate(PAGES.items() if "search" in tools else (), 1):
        if address not in text:
            return f"page_{number}", "search", {"query": query}
    until = list(results).index(f"log_{FAILED_ON}") + 1 if f"log_{FAILED_ON}" in results else 0
    batches = DIGEST.findall("\n".join(list(results.values())[:until]))  # a batch's first item has the header
    if "restore" in tools and "original" not in results and batches:
        batch = batches[-1]
        return "original", "restore", {"batch_id": batch, "item_id": f"log_{FAILED_ON}"}
    if found := re.search(r"G3 failed on \d+ October; its last reading was \d+ mm", text):
        return f"{found[0]}."
    sources = sorted({address for _, address, _ in PAGES.values() if address in text})
    last = re.findall(rf"2026-10-{FAILED_ON:02d}T\S+ gauge=G3 level_mm=(\d+) ok", results.get("original", text))
    words = f"G3 failed on {FAILED_ON} October" if "E4112" in text else "I do not know"
    words += f"; its last reading was {last[-1]} mm." if last else "."
    return " ".join([words, *(f"[{one}]" for one in sources)])


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        openai = self.path.endswith("/chat/completions")
        tools = {(one.get("function") or one)["name"].rsplit("__", 1)[-1] for one in asked.get("tools") or ()}
        step = next_step(tools, _results(asked["messages"]), json.dumps(asked["messages"]).replace("\\n", "\n"))
        self._send(_openai(step) if openai else _anthropic(step, asked), stream=bool(asked.get("stream")))

    def _send(self, body: dict[str, Any], *, stream: bool) -> None:
        data = _events(body) if stream else json.dumps(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if stream else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _results(messages: list[dict[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for message in messages:
        if message["role"] == "tool":
            found[message["tool_call_id"]] = _text(message["content"])
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                found[block["tool_use_id"]] = _text(block["content"])
    return found


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(one.get("text", "") for one in content)


def _anthropic(step: tuple[str, str, dict[str, Any]] | str, asked: dict[str, Any]) -> dict[str, Any]:
    if isinstance(step, str):
        block: dict[str, Any] = {"type": "text", "text": step}
    else:
        block = {"type": "tool_use", "id": step[0], "name": _full_name(step[1], asked), "input": step[2]}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [block],
        "stop_reason": "end_turn" if isinstance(step, str) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1_000, "output_tokens": 20},
    }


def _full_name(name: str, asked: dict[str, Any]) -> str:
    """Of a tool that a host lists under its server's name, too."""
    return next((one["name"] for one in asked.get("tools") or () if one["name"].endswith(name)), name)


def _openai(step: tuple[str, str, dict[str, Any]] | str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": step if isinstance(step, str) else None}
    if not isinstance(step, str):
        function = {"name": step[1], "arguments": json.dumps(step[2])}
        message["tool_calls"] = [{"id": step[0], "type": "function", "function": function}]
    return {
        "id": "c1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


def _events(body: dict[str, Any]) -> str:
    """The same message as a stream."""
    (block,) = body["content"]
    empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
    delta = (
        {"type": "text_delta", "text": block["text"]}
        if block["type"] == "text"
        else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    )
    events = [
        {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": body["stop_reason"], "stop_sequence": None},
            "usage": body["usage"],
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
