"""The tool list: what hosts and models pay for and rely on."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from palimpsest_mcp.core.checkup import STANDING_TOKENS
from palimpsest_mcp.models.tools import TOOLS
from palimpsest_mcp.server.lifespan import count_o200k
from palimpsest_mcp.server.server import HOOKED_INSTRUCTIONS, INSTRUCTIONS, build_server

GOLDEN = Path(__file__).parent / "golden" / "tools.json"
SKILL = Path(__file__).resolve().parents[2] / "plugin" / "skills" / "palimpsest" / "SKILL.md"
UPDATE = "UPDATE_GOLDEN"


def never_opened() -> Any:
    raise AssertionError("listing tools must not open the store")


async def listed(*, core: bool = False) -> list[dict[str, Any]]:
    async with Client(build_server(never_opened, warm=lambda: None, core=core)) as client:
        tools = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def model_tokens(tools: list[dict[str, Any]]) -> int:
    """Name, description and input schema, as `tool_tokens` of the MCP notes counts them."""
    shown = (
        {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
        for tool in tools
    )
    return sum(count_o200k(json.dumps(tool, separators=(",", ":"), ensure_ascii=False)) for tool in shown)


@pytest.mark.anyio
async def test_the_tool_list_is_the_one_on_record() -> None:
    """A change is for every user to see: set UPDATE_GOLDEN=1 to accept it, and say so in the changelog."""
    tools = await listed()
    if os.environ.get(UPDATE):
        GOLDEN.write_text(json.dumps(tools, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert tools == json.loads(GOLDEN.read_text(encoding="utf-8")), f"set {UPDATE}=1 to accept the change"


@pytest.mark.anyio
async def test_the_tools_cost_at_most_1300_tokens_and_the_core_600() -> None:
    assert model_tokens(await listed()) <= 1_300
    assert model_tokens(await listed(core=True)) <= 600


@pytest.mark.anyio
async def test_the_standing_cost_in_status_is_that_of_the_real_list() -> None:
    assert model_tokens(await listed()) <= STANDING_TOKENS < model_tokens(await listed()) + 100


@pytest.mark.anyio
async def test_every_tool_says_what_it_does_to_the_world() -> None:
    for tool in await listed():
        hints = tool["annotations"]
        assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= hints.keys(), tool["name"]
        assert not hints["destructiveHint"]


@pytest.mark.anyio
async def test_no_schema_has_generated_titles_or_null_unions() -> None:
    for tool in await listed():
        text = json.dumps(tool["inputSchema"])
        assert '"title": "' not in text and '"null"' not in text and "anyOf" not in text, tool["name"]


@pytest.mark.anyio
async def test_bulk_text_is_text_only_and_small_answers_have_a_schema() -> None:
    tools = await listed()
    structured = {tool["name"] for tool in tools if "outputSchema" in tool}
    assert structured == {tool["name"] for tool in tools if TOOLS[tool["name"]].structured}
    assert not structured & {"show_context", "search_offloaded", "restore_batch", "load_handoff"}


@pytest.mark.anyio
async def test_every_tool_has_a_correct_example_for_its_errors() -> None:
    for tool in await listed():
        example = json.loads(TOOLS[tool["name"]].example)
        schema = tool["inputSchema"]
        assert set(schema.get("required", ())) <= example.keys() <= schema["properties"].keys()


@pytest.mark.anyio
async def test_instructions_and_skill_name_only_tools_and_arguments_that_there_are() -> None:
    tools = await listed()
    known = {tool["name"] for tool in tools} | {name for tool in tools for name in tool["inputSchema"]["properties"]}
    for text in (INSTRUCTIONS, HOOKED_INSTRUCTIONS, SKILL.read_text("utf-8")):
        named = set(re.findall(r"(?<![a-z_])[a-z]+(?:_[a-z]+)+(?![a-z_])", text))
        assert named - known <= {"how_to_apply"}, "a field of an answer"


def test_the_instructions_fit_into_what_hosts_keep() -> None:
    assert len(INSTRUCTIONS) < 2_000
