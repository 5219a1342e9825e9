"""A small MCP server of somebody else's, with results of any length: standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCHEMA = {"type": "object", "properties": {"characters": {"type": "integer"}}}


def text(characters: int) -> str:
    """Log lines, each with values of its own, cut at so many characters."""
    size = len("2026-11-20T10:00:00Z req-00000 GET /v1/items/00000 200\n")
    lines = (
        f"2026-11-20T10:{n // 60 % 60:02d}:{n % 60:02d}Z req-{n:05d} GET /v1/items/{n * 7 % 100_000:05d} 200\n"
        for n in range(characters // size + 1)
    )
    return "".join(lines)[:characters].rstrip("\n")


def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "refuse":
        return {"content": [{"type": "text", "text": "no: " + text(60_000)}], "isError": True}
    if name == "picture":
        return {
            "content": [
                {"type": "text", "text": text(60_000)},
                {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            ]
        }
    return {"content": [{"type": "text", "text": text(arguments.get("characters", 100))}]}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, known = message.get("method"), True
        result: dict[str, Any] = {}
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "texts", "version": "1"}
        elif method == "tools/list":
            names = ("lines", "picture", "refuse")
            result = {"tools": [{"name": name, "description": name, "inputSchema": SCHEMA} for name in names]}
        elif method == "tools/call":
            result = answer(message["params"]["name"], message["params"].get("arguments") or {})
        elif method != "ping":
            known = False
        if "id" in message:
            told = {"result": result} if known else {"error": {"code": -32601, "message": "Method not found"}}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
