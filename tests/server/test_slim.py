"""What the server does to every call, whatever its tool."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.server import build_server

pytestmark = pytest.mark.anyio


def broken() -> Any:
    raise RuntimeError("a stored secret")


async def refused(tool: str, arguments: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ToolError) as caught:
        await build_server(broken).call_tool(tool, arguments)
    return json.loads(str(caught.value))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
async def test_numbers_that_json_does_not_have_are_refused(number: float) -> None:
    """The wire of some clients carries them all the same."""
    said = await refused("compact_session", {"session_id": "s", "target": number})
    assert said["code"] == "invalid_argument" and "target" in said["message"]
    said = await refused("record_items", {"session_id": "new", "items": [{"args": {"x": [{"y": number}]}}]})
    assert said["code"] == "invalid_argument" and "items" in said["message"]
    assert (await refused("check_context_ratio", {"session_id": "s", "used_tokens": number}))[
        "code"
    ] == "invalid_argument"


async def test_an_unexpected_failure_names_its_kind_and_nothing_stored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with Client(build_server(broken, warm=lambda: None)) as client:
            result = await client.call_tool("list_offloaded", {"session_id": "s"})
    assert result.is_error and isinstance(result.content[0], TextContent)
    said = json.loads(result.content[0].text)
    assert said["code"] == "internal_error" and "RuntimeError" in said["message"] and said["next"]
    assert "secret" not in json.dumps(said) and "secret" not in caplog.text


async def test_a_store_that_could_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    blocked = tmp_path / "home"
    blocked.write_text("in the way", encoding="utf-8")
    async with Client(build_server(lambda: Palimpsest.open(blocked), warm=lambda: None)) as client:
        arguments = {"session_id": "new", "used_tokens": 1, "window_tokens": 2}
        assert (await client.call_tool("check_context_ratio", arguments)).is_error
        blocked.unlink()
        assert not (await client.call_tool("check_context_ratio", arguments)).is_error


async def test_an_unknown_tool_is_told_the_known_ones() -> None:
    said = await refused("compact", {})
    assert said["code"] == "invalid_argument" and "compact_session" in said["next"]


async def test_rejected_values_are_not_repeated() -> None:
    said = await refused("check_context_ratio", {"session_id": "s", "used_tokens": "my password"})
    assert "password" not in json.dumps(said)
