"""The one tool for hooks: listed only where a plugin starts the server, and silent where it has nothing to say."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from palimpsest_mcp import Palimpsest
from palimpsest_mcp.server.lifespan import count_o200k
from palimpsest_mcp.server.server import HOOKED_INSTRUCTIONS, INSTRUCTIONS, build_server

LIMIT_CHARS = 50_000
"""Longer results the client writes to a file, unless the tool's definition says otherwise."""


@asynccontextmanager
async def hooked(home: Path) -> AsyncGenerator[Client]:
    server = build_server(lambda: Palimpsest.open(home), warm=lambda: None, hooks=True)
    async with Client(server) as client:
        yield client


async def said(client: Client, event: str, **payload: Any) -> str:
    result = await client.call_tool("host_event", {"event": event, "payload": payload})
    (block,) = result.content
    assert isinstance(block, TextContent) and result.structured_content is None and not result.is_error
    return block.text


@pytest.mark.anyio
async def test_it_is_listed_beside_the_twelve_and_says_whom_it_is_for(tmp_path: Path) -> None:
    async with hooked(tmp_path) as client:
        tools = (await client.list_tools()).tools
    async with Client(build_server(lambda: Palimpsest.open(tmp_path), warm=lambda: None)) as client:
        plain = {tool.name for tool in (await client.list_tools()).tools}
    (own,) = [tool for tool in tools if tool.name not in plain]
    assert (own.name, own.description) == ("host_event", "For hooks only.")
    assert own.meta is not None and own.meta["anthropic/maxResultSizeChars"] > LIMIT_CHARS


@pytest.mark.anyio
@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "Stop", "an event of tomorrow"])
async def test_nothing_to_say_is_an_empty_object(tmp_path: Path, event: str) -> None:
    """Of an empty text Claude Code makes a line of its own, in every prompt."""
    async with hooked(tmp_path) as client:
        assert json.loads(await said(client, event, session_id="s1")) == {}


@pytest.mark.anyio
async def test_before_a_compaction_nothing_to_say_is_no_text_at_all(tmp_path: Path) -> None:
    """What PreCompact answers is pasted into the summary prompt as it is."""
    async with hooked(tmp_path) as client:
        assert await said(client, "PreCompact", session_id="s1") == ""


def test_the_instructions_in_every_prompt_are_short_and_name_the_way_back() -> None:
    assert count_o200k(HOOKED_INSTRUCTIONS) <= 80 < count_o200k(INSTRUCTIONS)
    assert "restore_batch" in HOOKED_INSTRUCTIONS and "session_id" in HOOKED_INSTRUCTIONS
