"""A Gemini API on loopback that plays a script to the real client, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Part = dict[str, Any]


def calls(name: str, **given: Any) -> Part:
    return {"functionCall": {"name": name, "args": given}}


@dataclass
class FakeGemini:
    """Turns are consumed by streamed requests that may call tools; whatever else is asked gets a word."""

    turns: list[Part] = field(default_factory=list[Part])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Those that may call tools."""
    used: int = 1_000
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def results(self) -> list[Part]:
        """What the last request says that functions answered."""
        parts = [part for content in self.requests[-1]["contents"] for part in content.get("parts", [])]
        return [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]

    def answer(self, body: dict[str, Any]) -> Part:
        with self._lock:
            if not body.get("tools"):
                return {"text": "{}"}
            self.requests.append(body)
            return self.turns.pop(0) if self.turns else {"text": "done"}

    def start(self) -> Callable[[], None]:
        """Listen; the function that is returned ends it."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

        def stop() -> None:
            server.shutdown()
            server.server_close()

        return stop


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: FakeGemini

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to say."""

    def do_POST(self) -> None:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.split("?")[0].endswith(":countTokens"):
            return self._send(json.dumps({"totalTokens": self.api.used}).encode(), "application/json")
        content = {"role": "model", "parts": [self.api.answer(body)]}
        usage = {"promptTokenCount": self.api.used, "candidatesTokenCount": 5, "totalTokenCount": self.api.used + 5}
        whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
        data = json.dumps(whole).encode()
        if "streamGenerateContent" in self.path:
            return self._send(b"data: " + data + b"\r\n\r\n", "text/event-stream")
        self._send(data, "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
