"""Command hooks of Gemini CLI and Codex: the file they name is archived before a compaction, and compared after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.__main__ import main
from palimpsest_mcp.core.host_seam import FileQuick
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store.host_files import HostFiles

from .test_watch import ID, codex_file, codex_session, codex_steps, compacted, output

pytestmark = pytest.mark.anyio
LARGE = "\n".join(output(n) for n in range(60))


def after_tool(content: Any, **more: Any) -> dict[str, Any]:
    response = {"llmContent": content, "returnDisplay": "x", **more}
    told = {"session_id": "s-1", "cwd": "/p", "timestamp": "2026-11-24T10:00:00Z"}
    return {**told, "tool_name": "run_shell_command", "tool_input": {"command": "x"}, "tool_response": response}


@pytest.mark.parametrize("content", [LARGE, {"text": LARGE}, [{"text": LARGE}]])
async def test_a_very_large_result_of_gemini_is_replaced_and_restored_exactly(tmp_path: Path, content: Any) -> None:
    async with Palimpsest.open(tmp_path, attached="gemini-cli") as p:
        answer = json.loads(await p.host_event("AfterTool", after_tool(content)))
        assert answer["decision"] == "deny"
        assert answer["reason"].startswith("This is no error")
        (batch,) = await p.list_offloaded("s-1")
        assert (await p.restore("s-1", batch.batch_id)).content == LARGE


@pytest.mark.parametrize(
    "payload",
    [
        after_tool("short"),
        after_tool(LARGE, error={"message": "it failed"}),
        after_tool([{"text": LARGE}, {"inlineData": {"data": ""}}]),
        after_tool(None),
        {"session_id": "s-1"},
        {},
    ],
)
async def test_anything_else_of_gemini_goes_through(tmp_path: Path, payload: dict[str, Any]) -> None:
    async with Palimpsest.open(tmp_path, attached="gemini-cli") as p:
        assert await p.host_event("AfterTool", payload) == ""


def post_tool_use(response: Any) -> dict[str, Any]:
    """As the real client 0.171.0 hands it over."""
    told = {"session_id": ID, "turn_id": "t", "cwd": "/p", "model": "gpt-5", "permission_mode": "default"}
    return {**told, "tool_name": "Bash", "tool_input": {"command": "x"}, "tool_response": response, "tool_use_id": "c1"}


async def test_a_result_of_codex_above_the_users_floor_is_replaced_and_restored_exactly(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path, at_birth_tokens=1_000)
    async with Palimpsest.open(settings=settings, attached="codex") as p:
        answer = json.loads(await p.host_event("PostToolUse", post_tool_use(LARGE)))
        assert answer["decision"] == "block"
        assert "restore_batch" in answer["reason"]
        assert len(answer["reason"]) < 0.3 * len(LARGE)
        (batch,) = await p.list_offloaded(ID)
        assert (await p.restore(ID, batch.batch_id)).content == LARGE


@pytest.mark.parametrize("response", ["short", {"content": [{"type": "text", "text": LARGE}]}, None])
async def test_any_other_result_of_codex_is_left_alone(tmp_path: Path, response: Any) -> None:
    settings = Settings.load(home=tmp_path, at_birth_tokens=1_000)
    async with Palimpsest.open(settings=settings, attached="codex") as p:
        assert await p.host_event("PostToolUse", post_tool_use(response)) == ""


async def test_what_a_compaction_of_codex_lost_is_handed_back_at_the_next_start(tmp_path: Path) -> None:
    user = tmp_path / "user"
    path = codex_file(user, codex_session())
    told = {"session_id": ID, "transcript_path": str(path)}
    async with Palimpsest.open(tmp_path / "home", attached="codex") as p:
        assert await p.host_event("PreCompact", {**told, "trigger": "auto"}) == ""
        codex_file(user, [*codex_session(), compacted("Everything was run."), *codex_steps([9])])
        assert await p.host_event("PostCompact", told) == ""
        answer = json.loads(await p.host_event("SessionStart", {**told, "source": "resume"}))
        assert "restore_batch" in answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("path", ["", "/nowhere/rollout.jsonl"])
async def test_a_file_that_is_not_there_breaks_nothing(tmp_path: Path, path: str) -> None:
    async with Palimpsest.open(tmp_path, attached="codex") as p:
        assert await p.host_event("PreCompact", {"session_id": "s-1", "transcript_path": path}) == ""


def test_a_small_result_is_let_through_without_opening_the_store(tmp_path: Path) -> None:
    quick, notes = FileQuick(), HostFiles(tmp_path)
    small = quick.read("AfterTool", json.dumps(after_tool("short")).encode(), {})
    large = quick.read("AfterTool", json.dumps(after_tool(LARGE)).encode(), {})
    assert quick.at_once(small, notes, automatic=True) == ""
    assert quick.at_once(large, notes, automatic=True) is None
    assert quick.at_once(large, notes, automatic=False) == ""


def test_the_command_answers_for_the_host_that_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    given = tmp_path / "given.json"
    given.write_text(json.dumps(after_tool(LARGE)), "utf-8")
    with given.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["hook", "AfterTool", "--host", "gemini-cli", "--home", str(tmp_path / "home")]) == 0
    assert json.loads(capfdbinary.readouterr().out)["decision"] == "deny"
