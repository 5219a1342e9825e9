"""What `doctor` says of Claude Code: what is wired, what is not and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.cli.doctor import ClaudeCodeInstallation, checks
from palimpsest_mcp.cli.screen import Check
from palimpsest_mcp.hosts.claude_code.settings import TESTED_CLIENT, hooks
from palimpsest_mcp.store.host_files import HostFiles

from .conftest import Program

CHECKOUT = Path(__file__).resolve().parents[2]
SERVER = {"command": "palimpsest-mcp", "args": ["serve", "--host", "claude-code"]}
LINE = {"type": "command", "command": "palimpsest-mcp statusline"}
ENTERED = {"hooks": hooks("palimpsest", "palimpsest-mcp"), "statusLine": LINE}
PLUGIN = {"enabledPlugins": {"palimpsest@market": True}}


def wired(user: dict[str, Any], state: dict[str, Any] | None = None, **more: Any) -> Check:
    found = ClaudeCodeInstallation(
        is_there=True, settings=(user, {}, {}, more.pop("managed", {})), state=state or {}, **more
    )
    return {check.name: check for check in checks(found)}["wired"]


def test_where_nobody_uses_it_one_line_says_so() -> None:
    assert [check.words for check in checks(ClaudeCodeInstallation())] == ["Claude Code is not on this machine"]


@pytest.mark.parametrize(
    ("user", "state", "more", "ok", "words"),
    [
        (PLUGIN, {}, {}, True, "compaction in place"),
        (PLUGIN, {}, {"managed": {"allowManagedModsOnly": True}}, True, "forbidden by policy"),
        (PLUGIN | ENTERED, {"mcpServers": {"palimpsest": SERVER}}, {}, False, "twice"),
        (ENTERED, {"mcpServers": {"palimpsest": SERVER}}, {}, True, "server, 11 hooks, status line"),
        ({"hooks": ENTERED["hooks"]}, {"mcpServers": {"palimpsest": SERVER}}, {}, True, "no status line of ours"),
        ({}, {}, {}, False, "nothing"),
        ({}, {"mcpServers": {"palimpsest": {"command": "palimpsest-mcp"}}}, {}, False, "tools only"),
        ({}, {"projects": {"/p": {"mcpServers": {"x": SERVER}}}}, {"project": "/p"}, False, "no hooks for"),
        ({}, {"projects": {"/q": {"mcpServers": {"x": SERVER}}}}, {"project": "/p"}, False, "nothing"),
        (ENTERED, {}, {}, False, "hooks without the server"),
        ({**ENTERED, "hooks": {}}, {"mcpServers": {"palimpsest": SERVER}}, {}, False, "no hooks for SessionStart"),
        (
            ENTERED,
            {"mcpServers": {"palimpsest": {**SERVER, "command": "/gone/palimpsest-mcp"}}},
            {},
            False,
            "not there",
        ),
        (PLUGIN | {"disableAllHooks": True}, {}, {}, False, "disableAllHooks"),
    ],
)
def test_it_says_what_is_wired_and_why_not(
    user: dict[str, Any], state: dict[str, Any], more: dict[str, Any], ok: bool, words: str
) -> None:
    found = wired(user, state, **more)
    assert words in found.words
    assert (found.state == "ok") is ok
    assert bool(found.next) is not ok


def test_another_version_of_the_client_is_named_beside_the_tested_one() -> None:
    first = next(checks(ClaudeCodeInstallation(is_there=True, version="9.9.9")))
    assert (first.state, first.words) == ("warn", f"Claude Code 9.9.9; tested with {TESTED_CLIENT}")
    assert next(checks(ClaudeCodeInstallation(is_there=True, version=TESTED_CLIENT))).state == "ok"
    pinned = json.loads((CHECKOUT / "tests/e2e/claude_code/client/package.json").read_text("utf-8"))
    assert TESTED_CLIENT in msgspec.json.encode(pinned).decode()
    assert TESTED_CLIENT in (CHECKOUT / "docs/claude-code.md").read_text("utf-8")


def test_where_the_client_compacts_is_said_with_what_was_set() -> None:
    settings = ({"autoCompactWindow": 300_000, "model": "opus"},)
    rows = {check.name: check.words for check in checks(ClaudeCodeInstallation(is_there=True, settings=settings))}
    assert rows["compacts"].endswith("compacts at 267,000 of 300,000 tokens (autoCompactWindow)")
    off = {
        check.name: check.words
        for check in checks(ClaudeCodeInstallation(is_there=True, state={"autoCompactEnabled": False}))
    }
    assert "does not compact by itself" in off["compacts"]


def test_what_hooks_could_not_do_is_said_for_a_week(
    program: Program, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    home.mkdir(mode=0o700)
    HostFiles(home).note_trouble("PostToolUse", "write_failed", "No space left.")
    rows = {check["name"]: check for check in program("doctor", "--json").json["checks"]}
    assert rows["hooks"]["state"] == "warn"
    assert "PostToolUse: write_failed: No space left." in rows["hooks"]["words"]
    old = ({"ts": 1.0, "event": "Stop", "code": "x", "text": ""},)
    assert list(checks(ClaudeCodeInstallation(is_there=True, troubles=old, now_s=9e9)))[-1].state == "ok"
