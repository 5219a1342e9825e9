"""What is entered in a host's files, and that only that comes out again."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.hosts.claude_code.settings import (
    has_plugin,
    hooks,
    is_own_hook,
    is_own_server,
    own_events,
    with_hooks,
    with_server,
    without_hooks,
    without_server,
)

PLUGIN = Path(__file__).resolve().parents[2] / "plugin"
LINE = {"type": "command", "command": "/opt/bin/palimpsest-mcp statusline"}
OURS = hooks("palimpsest", "/opt/bin/palimpsest-mcp")
OF_THE_PLUGIN = hooks("plugin:palimpsest:server", 'sh "${CLAUDE_PLUGIN_ROOT}/hooks/palimpsest.sh"', module=True)
SERVER = {"type": "stdio", "command": "/opt/bin/palimpsest-mcp", "args": ["serve", "--host", "claude-code"]}


def test_the_hooks_are_those_of_the_plugin() -> None:
    plugin = json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8"))
    assert plugin["hooks"] == OF_THE_PLUGIN


def test_a_user_without_the_plugin_gets_the_same_with_another_server() -> None:
    silent = "Write|Edit|MultiEdit|NotebookEdit|mcp__palimpsest__host_event"
    assert OURS["PostToolUse"][0]["matcher"] == f"^(?!(?:{silent})$).*"
    assert OURS["PostToolUse"][0]["hooks"][0]["server"] == "palimpsest"
    assert OURS["SessionEnd"][0]["hooks"][0]["command"] == "/opt/bin/palimpsest-mcp hook SessionEnd"
    assert own_events({"hooks": OURS}) == list(OURS)


ODD: list[Any] = [{}, "garbage", {"hooks": "no list"}, {"hooks": []}]
FOREIGN_HOOKS: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "command", "command": "notify-send done"},
        {"type": "command", "command": "echo palimpsest-mcp"},
        {"type": "command", "command": "/x/my-palimpsest-mcp-wrapper hook Stop"},
        {"type": "mcp_tool", "server": "palimpsest", "tool": "restore_batch"},
        {"type": "mcp_tool", "server": "other", "tool": "host_event"},
        {"type": "http", "url": "http://127.0.0.1:1/"},
        "garbage",
    ]
)
ENTRIES: st.SearchStrategy[list[Any]] = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"hooks": st.lists(FOREIGN_HOOKS, min_size=1, max_size=3)}, optional={"matcher": st.just("Bash")}
        ),
        st.sampled_from(ODD),
    ),
    min_size=1,
    max_size=3,
)
SETTINGS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("opus"),
        "hooks": st.dictionaries(
            st.sampled_from(["Stop", "PreToolUse", "Notification", "PostToolUse"]), ENTRIES, min_size=1
        ),
        "statusLine": st.sampled_from([{"type": "command", "command": "date"}, "odd", None]),
        "env": st.just({"A": "1"}),
    },
)
CONFIGS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "projects": st.just({"/p": {"mcpServers": {"palimpsest": SERVER}}}),
        "mcpServers": st.dictionaries(
            st.sampled_from(["a", "b"]), st.sampled_from([{"command": "x"}, SERVER, "garbage", {"args": 3}]), min_size=1
        ),
    },
)


@given(SETTINGS)
def test_what_was_entered_comes_out_again_and_nothing_else(settings: dict[str, Any]) -> None:
    before = copy.deepcopy(settings)
    entered = with_hooks(settings, OURS, LINE)
    assert settings == before
    assert own_events(entered) == [event for event in entered["hooks"] if event in OURS]
    assert without_hooks(entered) == settings
    assert with_hooks(entered, OURS, LINE) == entered
    assert entered["statusLine"] == settings.get("statusLine", LINE)


@given(CONFIGS)
def test_a_server_comes_and_goes_alone(config: dict[str, Any]) -> None:
    before = copy.deepcopy(config)
    entered = with_server(config, SERVER)
    assert config == before
    assert entered["mcpServers"]["palimpsest"] == SERVER
    assert without_server(entered) == config
    assert with_server(entered, SERVER) == entered


def test_a_server_of_our_name_that_is_another_program_stays() -> None:
    config = {"mcpServers": {"palimpsest": {"command": "node", "args": ["server.js"]}}}
    assert without_server(config) == config
    assert not is_own_server(config["mcpServers"]["palimpsest"])
    assert is_own_server({"command": "python", "args": ["-m", "palimpsest_mcp", "serve"]})
    assert is_own_server({"command": r"C:\bin\palimpsest-mcp.exe"})


def test_an_older_way_of_starting_us_is_known_again() -> None:
    for command in (
        "palimpsest-mcp hook Stop",
        "'/a b/palimpsest-mcp' --home '/x y' hook Stop",
        "python -m palimpsest_mcp hook Stop",
    ):
        assert is_own_hook({"type": "command", "command": command})


def test_the_plugin_is_seen_where_it_is_switched_on() -> None:
    assert has_plugin({"enabledPlugins": {"palimpsest@market": True}})
    assert not has_plugin({"enabledPlugins": {"palimpsest@market": False, "palimpsest-x@market": True}})
