"""The real server in a process of its own, driven over stdio by the mcp client in both protocol eras."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.types import CallToolResult, TextContent

from palimpsest_mcp.models.tools import TOOLS

from ..conftest import first_of

Era = Literal["legacy", "2026-07-28"]
ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")


def server(home: Path) -> StdioServerParameters:
    environment = {**os.environ, "PALIMPSEST_HOME": str(home)}
    return StdioServerParameters(command=sys.executable, args=["-m", "palimpsest_mcp", "serve"], env=environment)


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def structured(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    return cast("dict[str, Any]", result.structured_content)


def log_of(call: int) -> str:
    rows = (f"2026-11-02T10:{call:02d}:{row:02d}Z worker-{row % 7} job {call * 997 + row} done" for row in range(60))
    return "\n".join(
        [*rows, f"2026-11-02T11:{call:02d}:00Z worker-9 ERR_POOL_{4000 + call} port 54{call:02d}1 refused"]
    )


def result_item(call: int) -> dict[str, Any]:
    return {
        "kind": "tool_result",
        "role": "tool",
        "tool_name": "read_log",
        "tool_use_id": f"call_{call}",
        "args": {"path": f"logs/{call}.log"},
        "content": log_of(call),
    }


def session_items(calls: int) -> list[dict[str, Any]]:
    query = {"kind": "original_query", "role": "user", "content": "Why do the workers stop?"}
    return [query, *(result_item(call) for call in range(calls))]


@pytest.mark.anyio
@pytest.mark.parametrize("era", first_of(ERAS))
async def test_a_session_is_recorded_compacted_searched_and_given_back(tmp_path: Path, era: Era) -> None:
    async with Client(server(tmp_path), mode=era) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == [spec.name for spec in TOOLS.values() if not spec.hooks_only]
        recorded = structured(await client.call_tool("record_items", {"session_id": "new", "items": session_items(20)}))
        handle = recorded["session"]
        ratio = structured(
            await client.call_tool("check_context_ratio", {"session_id": handle, "window_tokens": 60_000})
        )
        assert 0 < ratio["ratio"] < 1.5
        report = structured(
            await client.call_tool("compact_session", {"session_id": handle, "target": 0.4, "force": True})
        )
        assert report["status"] in ("compacted", "target_not_reached") and report["batches"], report
        assert report["tokens_after"] < report["tokens_before"]
        page = text_of(await client.call_tool("list_offloaded", {"session_id": handle}))
        total, batch = re.search(r"total: (\d+)", page), re.search(r"offload_\d+", page)
        assert total and report["reason"].startswith(f"{total[1]} batches"), report  # its list is cut where it is long
        found = text_of(await client.call_tool("search_offloaded", {"query": "ERR_POOL_4000", "session_id": handle}))
        assert f"restore_batch {handle} offload_" in found
    async with Client(server(tmp_path), mode=era) as client:
        assert batch
        back = text_of(
            await client.call_tool("restore_batch", {"session_id": handle, "batch_id": batch[0], "item_id": "call_0"})
        )
        assert log_of(0) in back


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.long
async def test_a_failure_names_its_code_and_the_next_step(tmp_path: Path, era: Era) -> None:
    async with Client(server(tmp_path), mode=era) as client:
        result = await client.call_tool("restore_batch", {"session_id": "nobody", "batch_id": "offload_0001"})
        assert result.is_error
        error = json.loads(text_of(result)[text_of(result).index("{") :])
        assert error["code"] == "session_unknown" and error["next"]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.long
async def test_nothing_but_the_protocol_reaches_stdout_and_the_server_ends_with_its_input(
    tmp_path: Path, era: Era
) -> None:
    """The client raises on a stray line, and waits for the process when it leaves."""
    async with Client(server(tmp_path), mode=era) as client:
        result = await client.call_tool("check_context_ratio", {"session_id": "new", "used_tokens": 10})
        assert not result.is_error
