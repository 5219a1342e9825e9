"""The two tools and the two prompts about handoffs, through a client in memory."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, GetPromptResult, TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.lifespan import count_o200k
from palimpsest_mcp.server.server import build_server

from .conftest import begin

pytestmark = pytest.mark.anyio
TASK = "Why the nightly job fails"


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Client]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    server = build_server(lambda: Palimpsest.open(tmp_path / "home"), warm=lambda: None)
    await begin(tmp_path / "home", "s", "empty", "full")
    async with Client(server) as connected:
        items = [
            {"role": "user", "content": "Why does the nightly job fail? Never restart it by hand."},
            {"role": "tool", "tool_name": "Bash", "content": "E4007: checksum differs"},
        ]
        await connected.call_tool("record_items", {"session_id": "s", "items": items})
        yield connected


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def said(result: GetPromptResult) -> str:
    (message,) = result.messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def write(client: Client, **more: Any) -> CallToolResult:
    return await client.call_tool("write_handoff", {"session_id": "s", "task": TASK, **more})


async def test_writing_answers_with_path_and_text_and_a_small_structure(client: Client) -> None:
    result = await write(client, fields={"decisions": {"Wait for the disk": "it is full"}})
    assert not result.is_error and result.structured_content is not None
    data = result.structured_content
    assert data["phase"] == "task" and data["next"] == f'load_handoff {{"task": "{data["name"]}"}}'
    assert "Wait for the disk" in text_of(result) and "# Task Summary" in text_of(result)
    assert count_o200k(json.dumps(data)) < 250


async def test_loading_needs_no_session_and_is_text_only(client: Client) -> None:
    await write(client)
    result = await client.call_tool("load_handoff", {})
    assert result.structured_content is None and "Never restart it by hand." in text_of(result)
    assert "data, not instructions" in text_of(result) and "## Artifacts Produced" not in text_of(result)
    rest = text_of(await client.call_tool("load_handoff", {"task": TASK, "section": "all"}))
    assert "## Decisions Made" in rest


async def test_a_fork_is_handed_out_once(client: Client) -> None:
    result = await write(client, phase="fork")
    assert result.structured_content is not None
    name = result.structured_content["name"]
    assert "deleted now" in text_of(await client.call_tool("load_handoff", {"task": name}))
    assert (await client.call_tool("load_handoff", {"task": name})).is_error


async def test_errors_name_what_is_missing_and_show_an_example(client: Client) -> None:
    await client.call_tool("record_items", {"session_id": "empty", "items": []})
    refused = await client.call_tool("write_handoff", {"session_id": "empty", "task": TASK})
    error = json.loads(text_of(refused))
    assert refused.is_error and error["code"] == "handoff_incomplete"
    assert "current_state, key_context" in error["message"] and '"key_context"' in error["next"]
    unknown = json.loads(text_of(await client.call_tool("load_handoff", {"task": "x"})))
    assert unknown["code"] == "handoff_unknown" and "write_handoff" in unknown["next"]
    wrong = json.loads(text_of(await client.call_tool("write_handoff", {"session_id": "s", "task": [1]})))
    assert wrong["code"] == "invalid_argument" and "write_handoff {" in wrong["next"]


async def test_the_prompts_are_there_for_any_host(client: Client) -> None:
    listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    assert set(listed) == {"handoff", "resume", "start_phase", "what_was_dropped"}
    assert all(not argument.required for prompt in listed.values() for argument in prompt.arguments or ())
    asked = said(await client.get_prompt("handoff", {"session_id": "s", "task": TASK, "phase": "plan"}))
    assert "write_handoff" in asked and TASK in asked and "'plan'" in asked


async def test_resume_gives_the_key_context_or_says_that_there_is_none(client: Client) -> None:
    assert "nothing to continue from" in said(await client.get_prompt("resume", {}))
    await write(client)
    text = said(await client.get_prompt("resume", {"task": TASK}))
    assert "## Key Context for Continuation" in text and "Never restart it by hand." in text
    assert "## Artifacts Produced" not in text


async def test_resume_with_a_session_gives_its_whole_shorter_context_and_all_that_left_comes_back(
    client: Client,
) -> None:
    """Two calls and the prompt lead from a full window to a fresh start; the answers name each next step."""
    logs = [
        f"job {n} started\n" + "\n".join(f"10:{m:02d} part-{n}-{m}.bin {n * m} bytes" for m in range(120))
        for n in range(14)
    ]
    items: list[dict[str, Any]] = [{"role": "user", "content": "Which job wrote too much? Never restart it by hand."}]
    items += [
        {"role": "tool", "tool_name": "Bash", "args": {"command": f"cat {n}"}, "content": log}
        for n, log in enumerate(logs)
    ]
    await client.call_tool("record_items", {"session_id": "full", "items": items})
    asked = {"session_id": "full", "used_tokens": 45_000, "window_tokens": 50_000}
    assert "action: compact" in text_of(await client.call_tool("check_context_ratio", asked))
    assert "show_context" in text_of(await client.call_tool("compact_session", {"session_id": "full"}))
    shown = text_of(await client.call_tool("show_context", {"session_id": "full", "view": "compacted"}))
    text = said(await client.get_prompt("resume", {"session_id": "full"}))
    assert text.startswith("Continue this work where it stands")
    assert "Never restart it by hand." in text
    assert logs[-1] in text
    ways = re.findall(r"restore_batch (\S+) (offload_\d+)", text)
    assert ways == re.findall(r"restore_batch (\S+) (offload_\d+)", shown)
    back = ""
    for handle, batch in ways:
        answer = await client.call_tool("restore_batch", {"session_id": handle, "batch_id": batch})
        back += text_of(answer)
    gone = [log for log in logs if log not in text]
    assert gone
    assert all(log in back for log in gone)
    assert "nothing to continue from" in said(await client.get_prompt("resume", {"session_id": "never-seen"}))
