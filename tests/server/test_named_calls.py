"""Every tool call that an answer or an error names can be made with the arguments it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from palimpsest_mcp.models.tools import TOOLS

from .conftest import begin
from .test_tools import items, server_over, text_of

pytestmark = pytest.mark.anyio

NAMED = re.compile(rf"\b({'|'.join(TOOLS)}) (?=\{{)")
SHORT = re.compile(r"\b(restore_batch|list_offloaded) (s[a-z2-7]{4,})(?: (offload_\d{4}))?(?: ([\w:-]+)(?=:))?")
UNMADE = ("invalid_argument", "session_unknown", "batch_unknown", "item_unknown", "skill_unknown")


def calls_in(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls with arguments as JSON, and the short form of manifests (I1)."""
    for found in NAMED.finditer(text):
        yield found[1], json.JSONDecoder().raw_decode(text, found.end())[0]
    for tool, session, batch, item in SHORT.findall(text):
        more = {"batch_id": batch} if batch else {}
        yield tool, {"session_id": session, **more, **({"item_id": item} if item and batch else {})}


async def test_every_call_that_is_named_can_be_made(tmp_path: Path) -> None:
    async with Client(server_over(tmp_path / "home")) as client:

        async def said(tool: str, **arguments: Any) -> str:
            return text_of(await client.call_tool(tool, arguments))

        empty = await said("show_context", session_id="nobody")
        await begin(tmp_path / "home", "harbour")
        await said("record_items", session_id="harbour", items=items())
        await said("compact_session", session_id="harbour", window_tokens=50_000, force=True)
        event = {"outcome": "success", "winning_pattern": "brand + pain", "user_feedback": "accepted"}
        texts = [
            empty,
            await said("check_context_ratio", session_id="harbor", used_tokens=40_000, window_tokens=64_000),
            await said("record_items", session_id="harbor", items=items()),
            await said("show_context", session_id="harbor", pin=["call_1"]),
            await said("show_context", session_id="nobody at all"),
            await said("show_context", session_id="harbour"),
            await said("show_context", session_id="harbour", pin=["none"]),
            await said("list_offloaded", session_id="harbour"),
            await said("list_offloaded", session_id="harbour", batch_id="offload_0099"),
            await said("list_offloaded", session_id="harbour", batch_id="offload_0001"),
            await said("search_offloaded", query="checksum", limit=3),
            await said("search_offloaded", query="zeppelin", session_id="harbour"),
            await said("restore_batch", session_id="harbour", batch_id="offload_0099"),
            await said("restore_batch", session_id="harbour", batch_id="offload_0001", item_id="none"),
            await said("compact_session", session_id="harbour", plan_id="plan-0", window_tokens=50_000),
            await said("compact_session", session_id="harbour", digests={"1": "text"}),
            await said("compact_session", session_id="harbour", window_tokens=50_000, force=True),
            await said("write_handoff", session_id="harbour", task="Nightly job"),
            await said("record_experience", skill="search-x", event=event),
            await said("compact_experience", skill="search-y"),
            await said("load_handoff", task="nothing of this name"),
        ]
        made = [call for text in texts for call in calls_in(_plain(text) or text)]
        assert {"check_context_ratio", "show_context", "list_offloaded", "restore_batch", "compact_session"} <= {
            tool for tool, _ in made
        }
        for tool, arguments in made:
            answer = await client.call_tool(tool, arguments)
            assert not (answer.is_error and any(code in text_of(answer) for code in UNMADE)), (tool, arguments, answer)
        for text in texts:
            for command in re.findall(r"(.{0,60})`palimpsest-mcp", text):
                assert "user" in command or "or " in command, (command, text)


def _plain(text: str) -> str:
    """An error's sentences without the quoting of JSON."""
    try:
        return " ".join(json.loads(text).values())
    except (ValueError, TypeError, AttributeError):
        return ""


async def test_a_name_with_quotes_is_printed_as_json(tmp_path: Path) -> None:
    async with Client(server_over(tmp_path / "home")) as client:
        await client.call_tool("record_items", {"session_id": 'o\'harbour "x"', "items": items(2)})
        said = json.loads(text_of(await client.call_tool("show_context", {"session_id": 'o\'harbor "x"'})))
        assert said["code"] == "session_unknown" and list(calls_in(said["next"]))


async def test_what_only_a_person_can_do_is_said_to_be_for_the_user(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("not a folder", encoding="utf-8")
    async with Client(server_over(home)) as client:
        said = json.loads(text_of(await client.call_tool("show_context", {"session_id": "harbour"})))
    assert said["code"] == "store_unusable" and said["next"].startswith("Ask the user: ")
