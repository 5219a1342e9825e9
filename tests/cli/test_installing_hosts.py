"""`install HOST` for hosts other than Claude's: preview, own entries only, copies, and back byte for byte."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from palimpsest_mcp.core.install import PLUGINS

from .conftest import Program

OWN: dict[str, dict[str, bytes]] = {
    "gemini-cli": {
        ".gemini/settings.json": b'{\n "theme": "Dark",\n "hooks": {"AfterTool": [{"matcher": "x", "hooks": []}]}\n}\n'
    },
    "codex": {
        ".codex/config.toml": b'model = "gpt-5"  # mine\n\n[mcp_servers.other]\ncommand = "x"',
        ".codex/hooks.json": b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "date"}]}]}}',
    },
    "vscode": {".config/Code/User/mcp.json": b'{\n\t"servers": {"mine": {"command": "x"}},\n\t"inputs": []\n}'},
    "opencode": {".config/opencode/opencode.json": b'{"theme": "x"}'},
    "pi": {".pi/agent/settings.json": b"{}"},
}
WRITES = {"opencode": ".config/opencode/plugin/palimpsest.js", "pi": ".pi/agent/extensions/palimpsest.js"}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of every host, with settings of their own."""
    folder = tmp_path / "user"
    for files in OWN.values():
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "PALIMPSEST_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """All but copies."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if ".palimpsest-" not in name}


@pytest.mark.parametrize("host", OWN)
def test_what_a_user_has_stays_and_removing_gives_it_back(program: Program, user: Path, host: str) -> None:
    before = files(user)
    preview = program("install", host, "--dry-run")
    assert preview.status == 0
    assert "palimpsest" in preview.text
    assert files(user) == before
    assert program("install", host).status == 0
    entered = files(user)
    assert entered != before
    assert "nothing to do" in program("install", host).text
    assert program("install", host, "--remove").status == 0
    assert files(user) == before
    assert "nothing to remove" in program("install", host, "--remove").text


@pytest.mark.parametrize("host", ["claude-code", "claude-desktop", *OWN])
def test_an_empty_home_is_empty_again(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    program("install", host)
    assert files(tmp_path / "empty")
    assert program("install", host, "--remove").status == 0
    assert files(tmp_path / "empty") == {}


def test_a_list_that_was_empty_is_there_again(program: Program, user: Path) -> None:
    mine = user / ".config/Code/User/mcp.json"
    mine.write_bytes(b'{\n\t"servers": {}\n}\n')
    program("install", "vscode")
    program("install", "vscode", "--remove")
    assert mine.read_bytes() == b'{\n\t"servers": {}\n}\n'


def test_gemini_cli_gets_a_server_and_hooks_after_the_users(program: Program, user: Path, home: Path) -> None:
    program("install", "gemini-cli")
    told = json.loads((user / ".gemini/settings.json").read_bytes())
    assert told["theme"] == "Dark"
    assert told["mcpServers"]["palimpsest"]["args"][-1] == "serve"
    assert told["hooks"]["AfterTool"][0] == {"matcher": "x", "hooks": []}
    command = told["hooks"]["AfterTool"][1]["hooks"][0]["command"]
    assert command.endswith(f"hook AfterTool --host gemini-cli --home {home}")


def test_codex_gets_a_table_and_hooks_and_its_own_lines_stay(program: Program, user: Path) -> None:
    program("install", "codex")
    text = (user / ".codex/config.toml").read_bytes()
    assert text.startswith(OWN["codex"][".codex/config.toml"])
    told = tomllib.loads(text.decode())
    assert sorted(told["mcp_servers"]) == ["other", "palimpsest"]
    assert told["mcp_servers"]["palimpsest"]["args"][-1] == "serve"
    hooks = json.loads((user / ".codex/hooks.json").read_bytes())["hooks"]
    assert sorted(hooks) == ["PostCompact", "PostToolUse", "PreCompact", "SessionStart", "Stop"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "date"


@pytest.mark.parametrize(
    ("host", "name", "data"),
    [
        ("codex", ".codex/config.toml", b'[mcp_servers.palimpsest]\ncommand = "theirs"\n'),
        ("codex", ".codex/config.toml", b"no toml ["),
        ("codex", ".codex/config.toml", b'mcp_servers = { other = { command = "x" } }\n'),
        ("codex", ".codex/hooks.json", b'{"hooks": {"Stop": {"mine": 1}}}'),
        ("gemini-cli", ".gemini/settings.json", b'{"hooks": {"AfterTool": {"mine": 1}}}'),
        ("vscode", ".config/Code/User/mcp.json", b'{"servers": []}'),
        ("vscode", ".config/Code/User/mcp.json", b'{"servers": {"palimpsest": {"command": "theirs"}}}'),
        ("gemini-cli", ".gemini/settings.json", b"{ // a comment\n}"),
        ("pi", WRITES["pi"], b"export default () => {} // theirs\n"),
        ("opencode", WRITES["opencode"], b"// theirs\n"),
    ],
)
def test_what_is_not_ours_or_cannot_be_read_is_left_alone(
    program: Program, user: Path, host: str, name: str, data: bytes
) -> None:
    (user / name).parent.mkdir(parents=True, exist_ok=True)
    (user / name).write_bytes(data)
    before = files(user)
    assert program("install", host).status != 0
    assert files(user) == before


def test_codex_can_read_whatever_the_stores_folder_is_called(program: Program, user: Path, tmp_path: Path) -> None:
    named = tmp_path / 'a "b" \U0001f600\x7f\\'
    program("--home", str(named), "install", "codex")
    told = tomllib.loads((user / ".codex/config.toml").read_text("utf-8"))
    assert told["mcp_servers"]["palimpsest"]["env"] == {"PALIMPSEST_HOME": str(named)}


@pytest.mark.parametrize("host", WRITES)
def test_a_plugin_file_names_this_program_and_the_module_that_ships_with_it(
    program: Program, user: Path, host: str, home: Path
) -> None:
    program("install", host)
    text = (user / WRITES[host]).read_text("utf-8")
    assert (PLUGINS / f"{host}.js").as_uri() in text
    assert (PLUGINS / f"{host}.js").is_file()
    assert json.dumps(str(home)) in text
