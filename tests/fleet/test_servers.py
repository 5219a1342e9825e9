"""Servers on one database: any of them answers any call, each caller sees its own, and one that ends is not missed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from palimpsest_mcp.models.events import Seen, SessionKey

from .cluster import APP, Cluster

ENDS_S = 120.0
_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
_PREFIX = "io.modelcontextprotocol/"
_META: dict[str, Any] = {f"{_PREFIX}protocolVersion": "2026-07-28", f"{_PREFIX}clientCapabilities": {}}


class Server:
    """One server process, and a caller of it."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url, self.process = url, process

    def call(self, tool: str, token: str = "", **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        return self.ask("tools/call", token, tool, name=tool, arguments=arguments)

    def read(self, uri: str, token: str) -> dict[str, Any]:
        """The result of a resource."""
        return self.ask("resources/read", token, uri, uri=uri)

    def ask(self, method: str, token: str, about: str, /, **params: Any) -> dict[str, Any]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}}
        headers = {**_HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": about}
        if token:
            headers["authorization"] = f"Bearer {token}"
        answer = httpx2.post(self.url, content=json.dumps(message).encode(), headers=headers, timeout=ENDS_S)
        text = answer.text
        found = json.loads(text.split("data: ")[-1] if "data: " in text else text)
        return found.get("result", found)

    def health(self, path: str = "/health") -> tuple[int, str]:
        answer = httpx2.get(self.url.replace("/mcp", path), timeout=ENDS_S)
        return answer.status_code, answer.json()["status"]


@contextmanager
def serving(place: Path, store: str, tenant: str, *options: str, ends: int | None = 0) -> Generator[Server]:
    """A server with a home of its own, as on another machine; `ends` None: the test kills it."""
    command = [sys.executable, "-m", "palimpsest_mcp", "serve", "--home", str(place), "--http", "127.0.0.1:0", *options]
    environment = {**os.environ, "PALIMPSEST_STORE": store, "PALIMPSEST_TENANT": tenant}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as running:
        assert running.stderr is not None
        silent = threading.Timer(ENDS_S, running.kill)
        silent.daemon = True
        silent.start()
        try:
            said = running.stderr.readline()
            found = re.search(r"at (http://\S+?/mcp),", said)
            assert found is not None, said + running.stderr.read()
            yield Server(found[1], running)
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGTERM)
            rest = running.stderr.read()
            status = running.wait()
            silent.cancel()
    assert ends is None or status == ends, (status, rest)


def tokens_file(place: Path) -> tuple[Path, dict[str, str]]:
    tokens = {name: secrets.token_hex(32) for name in ("ada", "bob")}
    path = place / "tokens"
    path.write_text("".join(f"{name} {token}\n" for name, token in tokens.items()), "utf-8")
    return path, tokens


def items(word: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_use_id": f"c{n}", "content": f"{word} row {n} 中 é\n" * 400} for n in range(6)]


def text_of(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)


def test_a_session_goes_on_at_any_server_and_no_caller_or_tenant_sees_anothers(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    path, tokens = tokens_file(tmp_path)
    with ExitStack() as stack:
        one, two = (
            stack.enter_context(serving(tmp_path / name, cluster.pooled, tenant, "--tokens", str(path)))
            for name in ("one", "two")
        )
        other = stack.enter_context(serving(tmp_path / "3", cluster.pooled, f"{tenant}-b", "--tokens", str(path)))
        ada, bob = tokens["ada"], tokens["bob"]
        assert not one.call("record_items", ada, session_id="s", items=items("canary")).get("isError")
        assert not two.call("record_items", bob, session_id="s", items=items("lion")).get("isError")
        arguments = {"session_id": "s", "force": True, "target": 0.3, "window_tokens": 20_000}
        assert not two.call("compact_session", ada, **arguments).get("isError")
        assert "offload_0001" in text_of(one.call("list_offloaded", ada, session_id="s"))
        assert "canary row" in text_of(one.call("restore_batch", ada, session_id="s", batch_id="offload_0001"))
        summary = {"sections": {"next_steps": ["canary first"]}}
        assert not one.call("update_summary", ada, session_id="s", **summary).get("isError")
        handoff = {"task": "canary task", "phase": "research", "fields": {"in_progress": ["canary"]}}
        two.call("write_handoff", ada, session_id="s", **handoff)
        whole = [two.read("palimpsest://sessions", ada), one.call("search_offloaded", ada, query="canary")]
        assert all("s" in text_of(answer) for answer in whole) and "canary row" in text_of(whole[1])
        for server, token in ((one, bob), (two, bob), (other, ada), (other, bob)):
            asked = [
                server.call("list_offloaded", token, session_id="s"),
                server.call("list_offloaded", token),
                server.call("restore_batch", token, session_id="s", batch_id="offload_0001"),
                server.call("search_offloaded", token, query="canary row"),
                server.call("show_context", token, session_id="s"),
                server.call("load_handoff", token, task="canary", project="*"),
                server.call("compact_session", token, session_id="s", dry_run=True, force=True, window_tokens=9_000),
                *(server.read(f"palimpsest://{what}", token) for what in ("sessions", "handoffs", "sessions/s")),
            ]
            told = [text_of(answer).replace("canary row'", "") for answer in asked]
            assert not any("canary row 0" in text or "canary first" in text or "canary task" in text for text in told)


@pytest.mark.long
def test_calls_of_a_session_that_come_to_two_servers_at_once_are_all_in_it(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(tmp_path / name, cluster.pooled, tenant)) for name in "ab"]

        def record(number: int) -> None:
            said = [{"role": "user", "content": f"word {number} of many"}]
            servers[number % 2].call("record_items", session_id="s", items=said)

        threads = [threading.Thread(target=record, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shown = [text_of(server.call("show_context", session_id="s")) for server in servers]
    assert all("user" in text for text in shown)
    assert sorted(asyncio.run(contents(cluster, tmp_path, tenant))) == sorted(f"word {n} of many" for n in range(12))


async def contents(cluster: Cluster, place: Path, tenant: str) -> list[str]:
    """What the session holds, by the store itself."""
    from palimpsest_mcp.store.postgres.store import PgStore

    store = PgStore(cluster.pooled, home=place, tenant=tenant)
    events = (await store.ledger.read(SessionKey("s"))).events
    await store.aclose()
    return [str(event.item.content) for event in events if isinstance(event, Seen)]


@pytest.mark.long
def test_a_server_that_drains_says_so_and_goes_on_answering(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    with serving(tmp_path / "home", cluster.pooled, tenant, "--drain", "600") as server:
        assert server.health() == (200, "ok") and server.health("/live") == (200, "ok")
        server.process.send_signal(signal.SIGTERM)
        while server.health()[0] == 200:
            pass
        assert server.health() == (503, "draining") and server.health("/live") == (200, "ok")
        assert not server.call("record_items", session_id="s", items=items("late")).get("isError")


@pytest.mark.long
def test_a_server_that_cannot_reach_its_database_says_why_and_does_not_start(tmp_path: Path) -> None:
    pytest.importorskip("asyncpg")
    command = [sys.executable, "-m", "palimpsest_mcp", "serve", "--home", str(tmp_path), "--http", "127.0.0.1:0"]
    environment = {**os.environ, "PALIMPSEST_STORE": f"postgresql://{APP}@127.0.0.1:1/fleet"}
    ran = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode != 0 and "does not answer" in ran.stderr and "Traceback" not in ran.stderr
