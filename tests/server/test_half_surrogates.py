"""Half a surrogate pair in ids and texts, through every tool: answers can be sent, originals come back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.server import build_server

from .conftest import begin

pytestmark = pytest.mark.anyio
HIGH, LOW = "\ud83d", "\udc80"
SESSION = f"night {HIGH}"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    server = build_server(lambda: Palimpsest.open(tmp_path / "home"), version="test", warm=lambda: None)
    await begin(tmp_path / "home", SESSION)
    async with Client(server) as connected:
        yield connected


def result_of(number: int) -> str:
    rows = (f"2026-03-{1 + number:02d}T10:{row:02d}:00Z wrote /var/{LOW}/part-{number}-{row}.bin" for row in range(60))
    return f"job {HIGH} {number}\n" + "\n".join(rows)


def items() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": f"Why does it fail? {LOW}"}]
    for number in range(16):
        call = {"tool_name": "read_log", "tool_use_id": f"call {number}{HIGH}"}
        made.append({**call, "role": "assistant", "kind": "tool_call", "args": {"path": HIGH}})
        made.append({**call, "id": f"mine {number}{LOW}", "role": "tool", "content": result_of(number), "title": HIGH})
    return made


async def ask(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    for block in result.content:
        assert not isinstance(block, TextContent) or block.text.encode("utf-8")
    return result


async def data(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    found = (await ask(client, tool, **arguments)).structured_content
    assert found is not None
    return found


async def test_an_item_is_found_by_the_very_id_it_was_recorded_under(client: Client, tmp_path: Path) -> None:
    recorded = await data(client, "record_items", session_id=SESSION, items=items())
    await ask(client, "show_context", session_id=SESSION, pin=[f"mine 2{LOW}"])
    done = await data(client, "compact_session", session_id=SESSION, force=True, target=0.3, window_tokens=60_000)
    assert done["status"] == "compacted" and recorded["recorded"] == 33
    listed = await ask(client, "list_offloaded", session_id=SESSION, batch_id="offload_0001")
    assert isinstance(listed.content[0], TextContent) and "restorable: true" in listed.content[0].text
    for name in (f"mine 0{LOW}", f"call 0{HIGH}"):
        answer = await ask(client, "restore_batch", session_id=SESSION, batch_id="offload_0001", item_id=name)
        text = "\n".join(block.text for block in answer.content if isinstance(block, TextContent))
        assert "job \\ud83d 0" in text and "/var/\\udc80/part-0-59.bin" in text
    async with Palimpsest.open(tmp_path / "home") as p:
        assert (await p.restore(SESSION, "offload_0001", f"mine 0{LOW}")).text == result_of(0)
        assert (await p.verify()).ok
        kept = [
            item.item_id
            for batch in await p.list_offloaded(SESSION)
            for item in await p.restore_batch(SESSION, batch.batch_id)
        ]
        shown = await p.show_context(SESSION)
        (pinned,) = [item.item_id for item in shown.items if item.pinned]
        assert pinned not in kept


async def test_every_other_tool_answers(client: Client) -> None:
    await ask(client, "record_items", session_id=SESSION, items=items())
    await ask(client, "check_context_ratio", session_id=SESSION, window_tokens=50_000, model=f"m{HIGH}")
    await ask(client, "show_context", session_id=SESSION, detail=True)
    await ask(client, "compact_session", session_id=SESSION, force=True, target=0.3, focus=HIGH, window_tokens=60_000)
    await ask(client, "list_offloaded", session_id=SESSION)
    await ask(client, "search_offloaded", query=f"wrote {HIGH}")
    await ask(client, "search_offloaded", query=LOW, session_id=SESSION)
    await ask(client, "update_summary", session_id=SESSION, sections={"decisions": [f"use {HIGH}"]})
    await ask(client, "write_handoff", session_id=SESSION, task=f"move {HIGH}", fields={"facts": [f"a{LOW}"]})
    await ask(client, "load_handoff", task=f"move {HIGH}")
    await ask(
        client, "record_experience", skill="sk", event={"outcome": "success", "winning_pattern": f"do {LOW} this"}
    )
    await ask(client, "compact_experience", skill="sk")


async def test_a_name_with_a_half_is_unknown_in_words(client: Client) -> None:
    result = await client.call_tool("restore_batch", {"session_id": f"no {HIGH}", "batch_id": f"offload_{LOW}"})
    assert result.is_error and isinstance(result.content[0], TextContent) and "next" in result.content[0].text
