"""One value in a large result: search says where, `restore_batch` gives these lines; and what a page may take."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.server.lifespan import count_o200k
from palimpsest_mcp.server.server import build_server

from .test_tools import items, server_over

pytestmark = pytest.mark.anyio
ROWS = 2_500


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    async with Client(server_over(tmp_path / "home")) as connected:
        yield connected


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def ask(client: Client, tool: str, **arguments: Any) -> str:
    return text_of(await client.call_tool(tool, arguments))


async def offloaded(client: Client) -> str:
    """A session whose first result, of 2,500 rows, was offloaded."""
    rows = "\n".join(f"row {row} value {row * 7919} port {row % 500}" for row in range(ROWS))
    given: list[dict[str, Any]] = [{"role": "user", "content": "Which port has row 900?"}]
    for number in range(6):
        content = rows if not number else f"log {number} is quiet\n" * 200
        given.append({"role": "tool", "tool_name": "dump", "tool_use_id": f"c{number}", "content": content})
    recorded = (await client.call_tool("record_items", {"session_id": "new", "items": given})).structured_content
    assert recorded is not None
    await ask(client, "compact_session", session_id=recorded["session"], target=0.3, force=True)
    return recorded["session"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with such a session, which nobody changes, and the handle of that."""
    home = tmp_path_factory.mktemp("made")

    async def make() -> str:
        async with Client(server_over(home)) as client:
            return await offloaded(client)

    return home, asyncio.run(make())


@pytest.fixture
def handle(made: tuple[Path, str], tmp_path: Path) -> str:
    """Of that session in the client's own store."""
    shutil.copytree(made[0], tmp_path / "home", dirs_exist_ok=True)
    return made[1]


async def test_a_hit_names_lines_and_offset_that_restore_takes(client: Client, handle: str) -> None:
    found = await ask(client, "search_offloaded", query="7127100", session_id=handle)
    hit = re.search(r"restore_batch (\S+) (\S+) (\S+) lines=(\d+) offset=(\d+):", found)
    assert hit is not None, found
    by = {"session_id": hit[1], "batch_id": hit[2], "item_id": hit[3]}
    lines = await ask(client, "restore_batch", **by, lines=hit[4])
    assert "\nrow 900 value 7127100 port 400\n" in lines and count_o200k(lines) < 200
    assert "row 900 value 7127100" in await ask(client, "restore_batch", **by, offset=int(hit[5]), max_tokens=200)


async def test_grep_gives_the_lines_that_match_with_their_places(client: Client, handle: str) -> None:
    by = {"session_id": handle, "batch_id": "offload_0001"}
    text = await ask(client, "restore_batch", **by, grep=r"value 7127100\b")
    row = re.search(r"^(\d+):(\d+): row 900 value 7127100 port 400$", text, re.MULTILINE)
    assert row is not None and "complete" in text and count_o200k(text) < 200
    assert "row 900 " in await ask(client, "restore_batch", **by, offset=int(row[2]), max_tokens=100)
    assert "search_offloaded" in await ask(client, "restore_batch", **by, grep="nowhere at all")


async def test_what_was_sought_in_vain_is_masked_in_the_answer(client: Client, handle: str) -> None:
    key = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    found = await ask(client, "restore_batch", session_id=handle, batch_id="offload_0001", item_id="c0", grep=key)
    assert found.startswith("No line of") and key[4:20] not in found


async def test_what_matches_comes_in_pages_that_miss_nothing(client: Client, handle: str) -> None:
    by = {"session_id": handle, "batch_id": "offload_0001", "grep": "port 77$", "max_tokens": 120}
    found: list[str] = []
    offset: dict[str, int] = {}
    while True:
        text = await ask(client, "restore_batch", **by, **offset)
        assert count_o200k(text) <= 320  # with our own lines
        found += re.findall(r"^\d+:\d+: (row .*)$", text, re.MULTILINE)
        more = re.search(r"next_offset=(\d+)", text)
        if more is None:
            break
        offset = {"offset": int(more[1])}
    assert found == [f"row {row} value {row * 7919} port 77" for row in range(ROWS) if row % 500 == 77]


async def test_a_page_fits_the_room_that_is_left(client: Client, handle: str) -> None:
    by = {"session_id": handle, "batch_id": "offload_0001"}
    shorter = await client.call_tool("check_context_ratio", {"session_id": handle})
    assert shorter.structured_content is not None
    window = shorter.structured_content["compacted_view_tokens"] + 5_000
    await ask(client, "check_context_ratio", session_id=handle, used_tokens=window, window_tokens=window)
    text = await ask(client, "restore_batch", **by)
    left = re.search(r"held to the (\d+) tokens left", text)
    assert left is not None and "next_offset=" in text, text[:300]
    assert count_o200k(text) * 1.55 <= int(left[1]) < 15_000
    assert count_o200k(await ask(client, "restore_batch", **by, max_tokens=10_000)) > 8_000


async def test_lines_of_a_batch_of_several_items_need_one_named(client: Client) -> None:
    recorded = (await client.call_tool("record_items", {"session_id": "new", "items": items()})).structured_content
    assert recorded is not None
    by = {"session_id": recorded["session"]}
    await ask(client, "compact_session", **by, target=0.4, force=True, window_tokens=60_000)
    refused = await client.call_tool("restore_batch", {**by, "batch_id": "offload_0001", "lines": "3"})
    assert refused.is_error and "call_0" in text_of(refused) and "item_id" in text_of(refused)
    one = await ask(client, "restore_batch", **by, batch_id="offload_0001", item_id="call_0", lines="3")
    assert "part-0-1.bin" in one and "part-0-2.bin" not in one


async def test_where_nothing_has_left_a_session_the_list_says_so_and_what_to_ask(client: Client) -> None:
    recorded = (await client.call_tool("record_items", {"session_id": "new", "items": items()})).structured_content
    assert recorded is not None
    listed = await ask(client, "list_offloaded", session_id=recorded["session"])
    assert "Nothing has left this session yet" in listed and f'"session_id": "{recorded["session"]}"' in listed
    await ask(client, "compact_session", session_id=recorded["session"], target=0.4, force=True, window_tokens=60_000)
    assert "Nothing has left" not in await ask(client, "list_offloaded", session_id=recorded["session"])


async def test_without_a_session_the_sessions_are_listed_newest_first(client: Client) -> None:
    assert "check_context_ratio" in await ask(client, "list_offloaded")
    first, second = await offloaded(client), await offloaded(client)
    listed = await ask(client, "list_offloaded")
    assert listed.index(second) < listed.index(first) and "Which port has row 900?" in listed
    refused = await client.call_tool("list_offloaded", {"batch_id": "offload_0001"})
    assert refused.is_error and "list_offloaded" in text_of(refused)


async def test_in_core_the_next_step_never_names_a_tool_that_is_not_listed(tmp_path: Path, handle: str) -> None:
    async with Client(build_server(lambda: Palimpsest.open(tmp_path / "home"), warm=lambda: None, core=True)) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert len(listed) == 9 and "show_context" not in listed
        back = text_of(
            await client.call_tool("restore_batch", {"session_id": handle, "batch_id": "last_pass", "reinstate": True})
        )
        assert "put back" in back  # what is not listed of a listed tool is taken all the same


async def test_a_part_of_a_batch_is_not_put_back_as_the_whole(client: Client, handle: str) -> None:
    for part in ({"item_id": "c0"}, {"lines": "1-3"}, {"grep": "row"}):
        arguments = {"session_id": handle, "batch_id": "offload_0001", "reinstate": True, **part}
        refused = await client.call_tool("restore_batch", arguments)
        assert refused.is_error and next(iter(part)) in text_of(refused)
    assert "reinstated" not in await ask(client, "list_offloaded", session_id=handle)


async def test_a_call_without_a_batch_is_told_which_the_session_has(client: Client, handle: str) -> None:
    refused = text_of(await client.call_tool("restore_batch", {"session_id": handle}))
    assert f'list_offloaded {{\\"session_id\\": \\"{handle}\\"}}' in refused
