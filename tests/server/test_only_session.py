"""Which sessions a server answers for: those of its principal, or with `--only-session` the one that is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import HandoffUnknown, SessionUnknown
from palimpsest_mcp.server.server import build_server

pytestmark = pytest.mark.anyio


def items(word: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": f"Why does {word} fail?"}]
    for number in range(12):
        call = {"tool_name": "read_log", "tool_use_id": f"call_{number}"}
        rows = "\n".join(f"{word} row {row} of part-{number}-{row}.bin took {row} ms" for row in range(80))
        made.append({**call, "kind": "tool_call", "role": "assistant", "args": {"path": f"/{number}"}})
        made.append({**call, "kind": "tool_result", "role": "tool", "content": rows})
    return made


async def filled(home: Path, session: str, word: str, principal: str = "") -> None:
    async with Palimpsest.open(home, principal=principal) as p:
        await p.record_items(session, items(word))
        await p.compact_session(session, window_tokens=20_000, force=True, target=0.2)
        await p.write_handoff(session, f"Mend {word}", phase="research")


async def answers(home: Path, asked: str, *, only: str = "", principal: str = "") -> dict[str, tuple[bool, str]]:
    """What every tool says about a session: whether it failed, and its text."""
    calls: dict[str, dict[str, Any]] = {
        "check_context_ratio": {"used_tokens": 5},
        "record_items": {"items": items("other")[:1]},
        "show_context": {},
        "compact_session": {"dry_run": True, "force": True, "window_tokens": 9_000},
        "list_offloaded": {},
        "search_offloaded": {"query": "zebra"},
        "restore_batch": {"batch_id": "offload_0001"},
        "update_summary": {"sections": {"next_steps": ["go on"]}},
        "write_handoff": {"task": "Mend it", "phase": "research"},
    }
    found: dict[str, tuple[bool, str]] = {}
    opened = lambda: Palimpsest.open(home, only_session=only, principal=principal)  # noqa: E731
    async with Client(build_server(opened, version="t", warm=lambda: None)) as client:
        for tool, more in calls.items():
            result = await client.call_tool(tool, {"session_id": asked, **more})
            text = "".join(one.text for one in result.content if isinstance(one, TextContent))
            found[tool] = (bool(result.is_error), text)
        for tool, more in (
            ("search_offloaded", {"query": "zebra"}),
            ("load_handoff", {"project": "*", "task": "zebra"}),
        ):
            result = await client.call_tool(tool, more)
            text = "".join(one.text for one in result.content if isinstance(one, TextContent))
            found[f"every {tool}"] = (bool(result.is_error), text)
    return found


async def test_a_server_of_one_session_knows_no_other(tmp_path: Path) -> None:
    await filled(tmp_path, "mine", "lion")
    await filled(tmp_path, "theirs", "zebra")
    for asked in ("theirs", "new", "thei"):
        for tool, (failed, text) in (await answers(tmp_path, asked, only="mine")).items():
            assert "part-3-3" not in text and "zebra row" not in text, tool
            if not tool.startswith("every"):
                assert failed and json.loads(text)["code"] == "session_unknown", (tool, text)
    own = await answers(tmp_path, "mine", only="mine")
    assert not any(failed for tool, (failed, _) in own.items() if tool != "every load_handoff"), own
    assert "lion row" in own["restore_batch"][1]
    async with Palimpsest.open(tmp_path) as p:
        assert {one.session_id for one in await p.sessions()} == {"mine", "theirs"}, "no refused id makes a session"


async def test_a_server_of_one_session_reads_its_parents_batches(tmp_path: Path) -> None:
    await filled(tmp_path, "parent", "zebra")
    async with Palimpsest.open(tmp_path) as p:
        await p._sessions.ensure("child", parent="parent")  # pyright: ignore[reportPrivateUsage]
    found = await answers(tmp_path, "child", only="child")
    assert "zebra row" in found["restore_batch"][1] and "zebra" in found["every search_offloaded"][1]


async def test_another_principals_session_is_unknown(tmp_path: Path) -> None:
    await filled(tmp_path, "theirs", "zebra", principal="ann")
    async with Palimpsest.open(tmp_path, principal="bob") as p:
        for refused in (
            p.session("theirs"),
            p.show_context("theirs"),
            p.list_offloaded("theirs"),
            p.search_offloaded("zebra", session_id="theirs"),
            p.restore("theirs", "offload_0001"),
            p.restore_batch("theirs", "offload_0001"),
            p.summary("theirs"),
            p.write_handoff("theirs", "Mend it", phase="research"),
        ):
            with pytest.raises(SessionUnknown):
                await refused
        assert await p.sessions() == () and await p.search_offloaded("zebra") == ()
        with pytest.raises(HandoffUnknown):
            await p.load_handoff("zebra", project="*")
    assert "zebra row" in (await answers(tmp_path, "theirs", principal="ann"))["restore_batch"][1]
