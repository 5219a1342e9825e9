"""What `restore_batch` answered is known again when the host's history brings it back (L13)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, ImageContent, TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.server import build_server

from ..conftest import first_of
from .conftest import begin

pytestmark = pytest.mark.anyio
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def log_of(number: int) -> str:
    return "\n".join(f"job {number} wrote /var/data/part-{number}-{row}.bin {row * 977} bytes" for row in range(60))


def calls(start: int, stop: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for number in range(start, stop):
        call = {"tool_name": "read_log", "tool_use_id": f"call_{number}"}
        made.append({**call, "kind": "tool_call", "role": "assistant", "args": {"path": f"/var/log/{number}.log"}})
        content = [{"type": "text", "text": log_of(number)}, PICTURE] if number == 0 else log_of(number)
        made.append({**call, "role": "tool", "content": content})
    return made


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    server = build_server(lambda: Palimpsest.open(tmp_path), version="test", warm=lambda: None)
    await begin(tmp_path, "s")
    async with Client(server) as connected:
        yield connected


def as_string(answer: CallToolResult) -> Any:
    return "\n".join(block.text for block in answer.content if isinstance(block, TextContent))


def as_blocks(answer: CallToolResult) -> Any:
    return [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in answer.content]


def as_a_provider_has_it(answer: CallToolResult) -> Any:
    """MCP's image blocks become the Messages API's when a host sends them on."""
    return [
        {"type": "image", "source": {"type": "base64", "media_type": block.mime_type, "data": block.data}}
        if isinstance(block, ImageContent)
        else {"type": "text", "text": block.text}
        for block in answer.content
        if isinstance(block, (ImageContent, TextContent))
    ]


@pytest.mark.parametrize(
    ("item_id", "form"),
    first_of(
        [
            ("call_1", as_string),
            *((item_id, form) for item_id in ("call_0", "call_1", "") for form in (as_blocks, as_a_provider_has_it)),
        ],
        kept=1,
    ),
)
async def test_a_fetched_copy_is_protected_and_later_becomes_a_pointer(client: Client, item_id: str, form: Any) -> None:
    async def ask(tool: str, **arguments: Any) -> CallToolResult:
        answer = await client.call_tool(tool, {"session_id": "s", **arguments})
        assert not answer.is_error, as_string(answer)
        return answer

    await ask("record_items", items=[{"role": "user", "content": "Why do the jobs stop?"}, *calls(0, 16)])
    await ask("compact_session", force=True, target=0.5)
    copy = form(await ask("restore_batch", batch_id="offload_0001", item_id=item_id))
    await ask("record_items", items=[{"role": "tool", "tool_use_id": "f", "tool_name": "restore", "content": copy}])
    newer = [item for item in calls(20, 36) if item["role"] == "tool"]
    await ask("record_items", items=newer)
    assert "| live, protected: restored" in row_of(as_string(await ask("show_context")), "f")
    await ask("record_items", items=[{"role": "assistant", "content": f"thought {n}"} for n in range(5)])
    report = as_string(await ask("compact_session", force=True, target=0.3))
    assert "1 fetched copy became a pointer" in report
    assert "replaced by offload_0001" in row_of(as_string(await ask("show_context")), "f")


def row_of(shown: str, name: str) -> str:
    return next(line for line in shown.splitlines() if line.startswith(f"{name} | "))


async def test_a_status_line_hears_of_what_was_given_back_at_the_latest_when_the_server_ends(tmp_path: Path) -> None:
    server = build_server(lambda: Palimpsest.open(tmp_path), version="test", warm=lambda: None)
    await begin(tmp_path, "s")
    async with Client(server) as client:
        await client.call_tool("record_items", {"session_id": "s", "items": calls(0, 20)})
        await client.call_tool("compact_session", {"session_id": "s", "force": True, "target": 0.4})
        (status,) = (tmp_path / "session").rglob("status.json")
        assert json.loads(status.read_bytes())["restores_per_hundred"] == 0
        for _ in range(2):
            await client.call_tool("restore_batch", {"session_id": "s", "batch_id": "offload_0001"})
    assert json.loads(status.read_bytes())["restores_per_hundred"] > 0
