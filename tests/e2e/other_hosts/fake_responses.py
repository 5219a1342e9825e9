"""A Responses API on loopback that plays a script to the real Codex, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Item = dict[str, Any]


def runs(command: str, call_id: str) -> Item:
    arguments = json.dumps({"cmd": command})
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "exec_command"} | {
        "arguments": arguments
    }


def says(text: str) -> Item:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content}


@dataclass
class FakeResponses:
    """Turns are consumed one a request."""

    turns: list[Item] = field(default_factory=list[Item])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    url: str = ""

    @property
    def results(self) -> dict[str, str]:
        """Call id -> what the last request says that came of it."""
        items = self.requests[-1]["input"]
        return {one["call_id"]: one["output"] for one in items if one.get("type") == "function_call_output"}

    def start(self) -> Callable[[], None]:
        """Listen; the function that is returned ends it."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

        def stop() -> None:
            server.shutdown()
            server.server_close()

        return stop


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: FakeResponses

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to say."""

    def do_GET(self) -> None:
        self._send(b'{"models": []}', "application/json")

    def do_POST(self) -> None:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        self.api.requests.append(body)
        item = self.api.turns.pop(0) if self.api.turns else says("done")
        named = {"id": f"resp_{len(self.api.requests)}"}
        usage = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": named},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**named, "usage": usage}},
        ]
        text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        self._send(text.encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
