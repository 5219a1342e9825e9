"""The examples on the page of tools are calls that work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.tools import TOOLS
from palimpsest_mcp.server.server import build_server

from .conftest import begin

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tools.md"


def examples() -> list[tuple[str, dict[str, Any]]]:
    """Tool and arguments, in the order of the page."""
    parts = re.split(r"^## (\w+)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    sections = zip(parts[1::2], parts[2::2], strict=True)
    block = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(tool, json.loads(body)) for tool, text in sections for body in block.findall(text)]


@pytest.mark.anyio
async def test_every_example_is_a_call_that_works(tmp_path: Path) -> None:
    logs = [
        {"role": "tool", "tool_use_id": f"toolu_c_{n:03d}", "content": f"two vessels at berth B{n}, 45 minutes\n" * 200}
        for n in range(1, 13)
    ]
    await begin(tmp_path, "harbour")
    async with Client(build_server(lambda: Palimpsest.open(tmp_path), warm=lambda: None)) as client:
        await client.call_tool("record_items", {"session_id": "harbour", "items": logs})
        await client.call_tool("compact_session", {"session_id": "harbour", "window_tokens": 64_000, "force": True})
        named = {"session_id": "harbour", "batch_id": "offload_0001", "item_id": "toolu_c_001"}
        for tool, arguments in examples():
            arguments |= {name: named[name] for name in arguments.keys() & named.keys()}
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, (tool, result.content)
    assert {tool for tool, _ in examples()} == {spec.name for spec in TOOLS.values() if not spec.hooks_only}
