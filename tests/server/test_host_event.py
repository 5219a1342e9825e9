"""The tool for hooks: listed for a host's own server only, and never an error to its client."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.server import build_server

pytestmark = pytest.mark.anyio


def server_over(home: Path, *, hooks: bool) -> MCPServer[Any]:
    return build_server(lambda: Palimpsest.open(home, attached="claude-code"), warm=lambda: None, hooks=hooks)


def text_of(result: CallToolResult) -> str:
    assert not result.is_error and result.structured_content is None
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_hooks_get_one_text_and_no_error(tmp_path: Path, mode: str) -> None:
    async with Client(server_over(tmp_path / "home", hooks=True), mode=mode) as client:

        async def event(name: str, payload: Any) -> str:
            return text_of(await client.call_tool("host_event", {"event": name, "payload": payload}))

        asked = {"session_id": "s-1", "tool_name": "mcp__p__list_offloaded", "tool_input": '{"session_id": "?"}'}
        answer = json.loads(await event("PreToolUse", asked))
        assert answer["hookSpecificOutput"]["updatedInput"] == {"session_id": "s-1"}
        response = '{"stdout": "hello", "stderr": "", "interrupted": false, "isImage": false}'
        done = {"session_id": "s-1", "agent_id": "${agent_id}", "tool_name": "Bash", "tool_use_id": "toolu_1"}
        assert await event("PostToolUse", {**done, "tool_response": response}) == "{}"
        assert await event("PostToolUse", json.dumps({**done, "tool_response": response})) == "{}"
        assert await event("Nonsense", {}) == "{}" and await event("PostToolUse", {}) == "{}"
        assert json.loads(await event("session.compact", {}))["apply"] is False
        shown = await client.call_tool("show_context", {"session_id": "s-1"})
        assert "toolu_1" in str(shown.content)


@pytest.mark.long
async def test_the_real_server_serves_a_host(tmp_path: Path) -> None:
    arguments = ["-m", "palimpsest_mcp", "serve", "--host", "claude-code", "--home", str(tmp_path / "home")]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with Client(parameters) as client:
        assert "host_event" in [tool.name for tool in (await client.list_tools()).tools]
        payload = {"session_id": "s-1", "tool_name": "Read", "tool_use_id": "toolu_1", "tool_response": "text"}
        result = await client.call_tool("host_event", {"event": "PostToolUse", "payload": payload})
        assert text_of(result) == "{}"
    async with Palimpsest.open(tmp_path / "home") as p:
        assert [item.item_id for item in (await p.show_context("s-1")).items] == ["toolu_1"]


async def test_where_hooks_call_the_store_is_open_before_the_first_of_them(tmp_path: Path) -> None:
    """A client waits for its hooks; nobody waits between its start and the first prompt."""
    opened = anyio.Event()

    @asynccontextmanager
    async def open_facade() -> AsyncGenerator[Palimpsest]:
        async with Palimpsest.open(tmp_path / "home", attached="claude-code") as p:
            opened.set()
            yield p

    async with Client(build_server(open_facade, warm=lambda: None, hooks=True)) as client:
        await client.list_tools()
        with anyio.fail_after(60):
            await opened.wait()
