"""The plugin's files agree with each other, with the package and with the marketplace file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
PLUGIN = CHECKOUT / "plugin"
PLUGIN_MANIFEST: dict[str, Any] = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))


def test_the_plugin_has_the_version_of_the_package() -> None:
    assert PLUGIN_MANIFEST["version"] == PROJECT["version"]


def test_the_marketplace_offers_the_plugin_as_it_describes_itself() -> None:
    market = json.loads((CHECKOUT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    (offer,) = market["plugins"]
    assert (CHECKOUT / offer["source"]).resolve() == PLUGIN
    for key in ("name", "version", "description", "license"):
        assert offer[key] == PLUGIN_MANIFEST[key], key


def test_the_plugin_starts_the_server_as_nobody_would_by_hand() -> None:
    """Claude Code suppresses a plugin's server that equals one which the user has added."""
    servers = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]
    script = "${CLAUDE_PLUGIN_ROOT}/hooks/palimpsest.sh"
    assert servers == {"server": {"command": "sh", "args": [script, "serve", "--host", "claude-code"]}}


def test_hooks_and_module_call_the_server_that_the_plugin_starts() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8"))
    called = [hook for groups in hooks["hooks"].values() for group in groups for hook in group["hooks"]]
    servers = {hook["server"] for hook in called if hook["type"] == "mcp_tool"}
    (started,) = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert servers == {f"plugin:{PLUGIN_MANIFEST['name']}:{started}"} == {"plugin:palimpsest:server"}
    assert hooks["modules"] == ["./register.ts"]
    assert "const SERVER = 'plugin:palimpsest:server'" in (PLUGIN / "hooks" / "register.ts").read_text("utf-8")


def test_every_hook_names_its_own_event_and_the_session_and_its_time_limit() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
    for event, hook in (
        (event, hook) for event, groups in hooks.items() for group in groups for hook in group["hooks"]
    ):
        assert 5 <= hook["timeout"] <= 30
        if hook["type"] == "command":
            assert hook["command"] == f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/palimpsest.sh" hook {event}'
            assert event in {"SessionStart", "SessionEnd"}, "the client answers the others by the server"
        else:
            assert (hook["tool"], hook["input"]["event"]) == ("host_event", event)
            payload = hook["input"]["payload"]
            assert payload == {key: f"${{{key}}}" for key in payload} and "session_id" in payload


def test_the_plugin_carries_the_licence_of_the_project() -> None:
    assert (PLUGIN / "LICENSE").read_bytes() == (CHECKOUT / "LICENSE").read_bytes()
