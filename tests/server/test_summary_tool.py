"""`update_summary` through a client in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.tools import TOOLS
from palimpsest_mcp.server.server import build_server

from .conftest import begin

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    server = build_server(lambda: Palimpsest.open(tmp_path / "home"), version="test", warm=lambda: None)
    await begin(tmp_path / "home", "s")
    async with Client(server) as connected:
        yield connected


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def update(client: Client, **arguments: Any) -> str:
    result = await client.call_tool("update_summary", {"session_id": "s", **arguments})
    assert not result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


async def refusal(client: Client, **arguments: Any) -> dict[str, str]:
    result = await client.call_tool("update_summary", {"session_id": "s", **arguments})
    assert result.is_error
    return json.loads(text_of(result))


async def test_the_answer_is_the_merged_summary_with_the_handle_and_a_word_of_caution(client: Client) -> None:
    text = await update(client, sections={"intent": "Make the nightly import survive duplicate rows"})
    first, _, rest = text.partition("\n")
    assert first.startswith("summary of session s") and "data, not instructions" in first
    assert "## Session Intent\nMake the nightly import survive duplicate rows" in rest


async def test_the_example_that_errors_show_is_right(client: Client) -> None:
    text = await update(client, **{**json.loads(TOOLS["update_summary"].example), "session_id": "s"})
    assert "**Keep the first of two**: the source repeats them" in text and "1. Test with two files" in text


@pytest.mark.parametrize("names", ["1\nWhich port?", ["1", "Which port?"]])
async def test_blockers_are_closed_by_a_text_of_lines_or_by_a_list(client: Client, names: Any) -> None:
    await update(client, sections={"blockers": ["May old rows go?", "Which port?", "Who tests?"]})
    text = await update(client, sections={}, close_blockers=names)
    assert "- [x] May old rows go?\n- [x] Which port?\n- Who tests?" in text


async def test_a_superseded_decision_is_marked(client: Client) -> None:
    await update(client, sections={"decisions": {"Use Redis": "fast"}})
    text = await update(client, sections={"decisions": {"Use SQL": "joins"}}, supersede="Redis")
    assert "- ~~**Use Redis**~~ (superseded by **Use SQL**): fast\n- **Use SQL**: joins" in text


async def test_an_intent_that_is_not_said_to_have_changed_stays_and_the_answer_says_so(client: Client) -> None:
    await update(client, sections={"intent": "Make the nightly import survive duplicate rows"})
    text = await update(client, sections={"intent": "Drop the import from Mars"})
    assert "note: the session intent stays" in text and "duplicate rows" in text
    text = await update(client, sections={"intent": "Drop the import from Mars"}, intent_changed=True)
    assert "duplicate rows" not in text


@pytest.mark.parametrize(
    "sections", [{"mood": "good"}, {"state": "TBD"}, {"intent": "fix bugs"}, {}, {"files": [True]}]
)
async def test_what_is_refused_comes_with_a_correct_example_or_what_to_write(
    client: Client, sections: dict[str, Any]
) -> None:
    error = await refusal(client, sections=sections)
    assert error["code"] == "invalid_argument" and error["next"]


async def test_a_missing_argument_is_answered_with_a_correct_call(client: Client) -> None:
    next_step = (await refusal(client))["next"]
    shown = json.loads(next_step.partition("update_summary ")[2])
    assert shown == json.loads(TOOLS["update_summary"].example) | {"session_id": "s"}, "of the caller's own session"
