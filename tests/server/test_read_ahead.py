"""What was recorded is read once its answer is out, and never while the server ends."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.digest import study
from palimpsest_mcp.digest.source import Source
from palimpsest_mcp.server import lifespan
from palimpsest_mcp.server.server import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("nothing_is_read")]
LONG_S = 10
"""Nobody waits so long unless the test fails."""
LOG = "\n".join(f"2026-11-20 08:15:{n:02} INFO worker {n} took {n * 37} ms" for n in range(60))
RESULT = {"role": "tool", "tool_name": "Bash", "tool_use_id": "toolu_1", "content": LOG}


@pytest.fixture
def was_read(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    event = threading.Event()

    class Watched(Source):
        def __init__(self, text: str) -> None:
            super().__init__(text)
            if text == LOG:
                event.set()

    monkeypatch.setattr(study, "Source", Watched)
    return event


@pytest.mark.parametrize("by_hook", [False, True])
async def test_a_result_is_read_a_moment_after_it_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_read: threading.Event, by_hook: bool
) -> None:
    monkeypatch.setattr(lifespan, "MOMENT_S", 0.0)
    response = {"stdout": LOG, "stderr": "", "interrupted": False, "isImage": False}
    fields = {"session_id": "s-1", "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_response": response}
    server = build_server(lambda: Palimpsest.open(tmp_path, attached="claude-code"), warm=lambda: None, hooks=True)
    async with Client(server) as client:
        if by_hook:
            await client.call_tool("host_event", {"event": "PostToolUse", "payload": fields})
        else:
            await client.call_tool("record_items", {"session_id": "new", "items": [RESULT]})
        assert await anyio.to_thread.run_sync(was_read.wait, LONG_S)


async def test_a_server_that_ends_reads_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_read: threading.Event
) -> None:
    monkeypatch.setattr(lifespan, "MOMENT_S", 10.0 * LONG_S)
    asked: dict[str, Any] = {"session_id": "new", "items": [RESULT]}
    with anyio.fail_after(LONG_S):
        async with Client(build_server(lambda: Palimpsest.open(tmp_path), warm=lambda: None)) as client:
            await client.call_tool("record_items", asked)
    assert not was_read.is_set()
