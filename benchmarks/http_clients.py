"""Many HTTP clients on one server: each has a session of its own, and looks for words of others in every answer.

    python benchmarks/http_clients.py [--clients 100] [--seconds 60] [--workers 1] [--era 2025-11-25]

Exits with 1 where anything was answered by an error, or with somebody else's words.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from measuring import quantile
from stdio_client import CLIENT, META, NEW, OLD

LIMIT_S = 120.0
ACCEPT = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@dataclass
class Load:
    """What all clients met."""

    seconds: list[float] = field(default_factory=list[float])
    """Of each call."""
    errors: list[str] = field(default_factory=list[str])
    crossed: list[str] = field(default_factory=list[str])
    """Answers in which another client's words stood."""

    def __str__(self) -> str:
        p50, p99 = (quantile(self.seconds, share) * 1e3 for share in (0.5, 0.99))
        return (
            f"{len(self.seconds)} calls, {len(self.errors)} errors, {len(self.crossed)} answers with another's words; "
            f"p50 {p50:.0f} ms, p99 {p99:.0f} ms"
        )


class HttpClient:
    """One bare client: no client library of MCP in the measured time."""

    def __init__(self, url: str, era: str, http: httpx2.AsyncClient) -> None:
        self._url, self._era, self._http = url, era, http
        self._headers = {**ACCEPT, "mcp-protocol-version": era}
        self._ids = 0

    async def open(self) -> None:
        if self._era != OLD:
            return
        del self._headers["mcp-protocol-version"]
        answer = await self._post("initialize", {"protocolVersion": OLD, "capabilities": {}, "clientInfo": CLIENT})
        if session := answer.headers.get("mcp-session-id"):
            self._headers["mcp-session-id"] = session
        self._headers["mcp-protocol-version"] = OLD

    async def _post(self, method: str, params: dict[str, Any]) -> httpx2.Response:
        self._ids += 1
        named: dict[str, str] = {}
        if self._era == NEW:
            params = {**params, "_meta": META}
            named = {"mcp-method": method, "mcp-name": params.get("name", "")}
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        answer = await self._http.post(
            self._url, content=json.dumps(message).encode(), headers={**self._headers, **named}
        )
        answer.raise_for_status()
        return answer

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """The result of one tool, as its JSON.

        Raises:
            ValueError: the answer is an error, or another request's.
        """
        answer = await self._post("tools/call", {"name": tool, "arguments": arguments})
        text = answer.text
        if answer.headers["content-type"].startswith("text/event-stream"):  # comments keep a long wait alive
            text = next(line for line in text.splitlines() if line.startswith("data: ")).removeprefix("data: ")
        said = json.loads(text)
        if said.get("id") != self._ids or "result" not in said or said["result"].get("isError"):
            raise ValueError(f"{tool}: {text[:300]}")
        return text


async def one_client(url: str, era: str, word: str, until: float, load: Load) -> None:
    """Records, looks, compacts, searches and restores until the time is over."""
    others = re.compile(rf"client[0-9a-f]{{12}}(?<!{word})")
    items = [{"role": "tool", "tool_use_id": f"c{n}", "content": f"{word} row {n}\n" * 300} for n in range(8)]
    calls: Sequence[tuple[str, dict[str, Any]]] = (
        ("record_items", {"session_id": word, "items": items}),
        ("check_context_ratio", {"session_id": word, "used_tokens": 9_000, "window_tokens": 20_000}),
        ("compact_session", {"session_id": word, "force": True, "target": 0.3, "window_tokens": 20_000}),
        ("list_offloaded", {"session_id": word}),
        ("restore_batch", {"session_id": word, "batch_id": "offload_0001"}),
        ("show_context", {"session_id": word}),
        ("search_offloaded", {"query": "client row", "session_id": word}),
    )
    async with httpx2.AsyncClient(timeout=LIMIT_S) as http:
        client = HttpClient(url, era, http)
        try:
            await client.open()
            first = True
            while first or time.perf_counter() < until:
                for tool, arguments in calls if first else calls[1:2] + calls[3:]:
                    began = time.perf_counter()
                    text = await client.call(tool, arguments)
                    load.seconds.append(time.perf_counter() - began)
                    if found := others.search(text):
                        load.crossed.append(f"{tool} of {word}: {found[0]}")
                    if tool == "restore_batch" and f"{word} row 0" not in text:
                        load.errors.append(f"{tool} of {word} lacks its own words")
                first = False
        except (httpx2.HTTPError, ValueError) as error:
            load.errors.append(f"{word}: {type(error).__name__} {error}")


async def run_clients(url: str, era: str, clients: int, seconds: float) -> Load:
    """All of them at once."""
    load, until = Load(), time.perf_counter() + seconds
    words = [f"client{secrets.token_hex(6)}" for _ in range(clients)]
    await asyncio.gather(*(one_client(url, era, word, until, load) for word in words))
    return load


def measure(era: str, clients: int, seconds: float, workers: int) -> Load:
    """On a server of its own, with a store of its own, which has to be whole afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "palimpsest_mcp", "serve", "--home", folder, "--http", "127.0.0.1:0"]
        with subprocess.Popen([*command, "--workers", str(workers)], stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            said = running.stderr.readline()
            found = re.search(r"at (http://\S+?/mcp),", said)
            if found is None:
                raise RuntimeError(said + running.stderr.read())
            try:
                load = asyncio.run(run_clients(found[1], era, clients, seconds))
            finally:
                running.terminate()
                rest = running.stderr.read()
                if running.wait(60):
                    raise RuntimeError(f"the server ended with {running.returncode}: {rest}")
        if rest:
            load.errors.append(f"on standard error: {rest[:300]}")
        verify = [sys.executable, "-m", "palimpsest_mcp", "verify", "--home", str(Path(folder))]
        if subprocess.run(verify, capture_output=True).returncode:
            load.errors.append("the store does not verify")
    return load


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--era", choices=(OLD, NEW), default=OLD)
    given = parser.parse_args()
    load = measure(given.era, given.clients, given.seconds, given.workers)
    print(f"{given.era}, {given.clients} clients, {given.workers} workers, {given.seconds:g} s: {load}")
    print("\n".join([*load.errors[:5], *load.crossed[:5]]))
    return 1 if load.errors or load.crossed else 0


if __name__ == "__main__":
    sys.exit(main())
