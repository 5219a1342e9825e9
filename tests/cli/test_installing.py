"""`install HOST`: preview, copies, own entries only, and back again byte for byte."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from .conftest import Program

SETTINGS = (
    b'{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [{"hooks": [{"type": "command", "command": "date"}]}]\n\t}\n}'
)
STATE = b'{"numStartups": 5, "mcpServers": {"mine": {"command": "x"}}, "projects": {"/p": {"a": 1}}}\n'


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of Claude Code with settings of their own."""
    folder = tmp_path / "user"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_bytes(SETTINGS)
    (folder / ".claude.json").write_bytes(STATE)
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "PALIMPSEST_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def settings(user: Path) -> dict[str, Any]:
    return json.loads((user / ".claude" / "settings.json").read_bytes())


def state(user: Path) -> dict[str, Any]:
    return json.loads((user / ".claude.json").read_bytes())


def test_server_hooks_and_status_line_are_entered_beside_what_is_there(
    program: Program, user: Path, home: Path
) -> None:
    ran = program("install", "claude-code")
    assert ran.status == 0
    assert "next: start a new session" in ran.text
    server = state(user)["mcpServers"]["palimpsest"]
    assert server["args"][-3:] == ["serve", "--host", "claude-code"]
    assert Path(server["command"]).is_absolute()
    assert server["env"] == {"PALIMPSEST_HOME": str(home)}
    assert {**state(user), "mcpServers": {"mine": {"command": "x"}}} == json.loads(STATE)
    told = settings(user)
    assert told["model"] == "opus"
    assert told["hooks"]["Stop"][0] == {"hooks": [{"type": "command", "command": "date"}]}
    assert told["hooks"]["Stop"][1]["hooks"][0]["server"] == "palimpsest"
    assert told["statusLine"]["command"].endswith(f"palimpsest-mcp statusline --home {home}")
    assert told["hooks"]["SessionStart"][0]["hooks"][0]["command"].endswith(f"hook SessionStart --home {home}")


def test_copies_hold_what_was_there_and_a_second_time_changes_nothing(program: Program, user: Path) -> None:
    copies = program("--json", "install", "claude-code").json["copies"]
    assert sorted(Path(copy).read_bytes() for copy in copies) == sorted((SETTINGS, STATE))
    before = {path: path.read_bytes() for path in user.rglob("*") if path.is_file()}
    again = program("install", "claude-code")
    assert "nothing to do" in again.text
    assert {path: path.read_bytes() for path in user.rglob("*") if path.is_file()} == before


def test_a_preview_shows_every_line_and_writes_nothing(program: Program, user: Path) -> None:
    ran = program("install", "claude-code", "--dry-run")
    assert '+    "palimpsest": {' in ran.text
    assert '+\t"statusLine": {' in ran.text
    assert (user / ".claude" / "settings.json").read_bytes() == SETTINGS
    assert sorted(path.name for path in user.rglob("*") if path.is_file()) == [".claude.json", "settings.json"]


def test_removing_gives_the_very_bytes_back(program: Program, user: Path) -> None:
    program("install", "claude-code")
    ran = program("install", "claude-code", "--remove")
    assert ran.status == 0
    assert (user / ".claude" / "settings.json").read_bytes() == SETTINGS
    assert (user / ".claude.json").read_bytes() == STATE
    assert "nothing to remove" in program("install", "claude-code", "--remove").text


def test_removing_keeps_what_came_since(program: Program, user: Path) -> None:
    program("install", "claude-code")
    told = settings(user)
    told["env"] = {"A": "1"}
    told["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    (user / ".claude" / "settings.json").write_text(json.dumps(told), "utf-8")
    program("install", "claude-code", "--remove")
    assert settings(user) == {
        **json.loads(SETTINGS),
        "env": {"A": "1"},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": word}]} for word in ("date", "later")]},
    }


def test_a_status_line_of_the_users_own_stays(program: Program, user: Path) -> None:
    own = {**json.loads(SETTINGS), "statusLine": {"type": "command", "command": "my-line"}}
    (user / ".claude" / "settings.json").write_text(json.dumps(own), "utf-8")
    program("install", "claude-code")
    assert settings(user)["statusLine"] == own["statusLine"]
    program("install", "claude-code", "--remove")
    assert settings(user) == own


@pytest.mark.parametrize(
    "command",
    ["my-line | palimpsest-mcp statusline", "a; palimpsest-mcp statusline", "sh -c 'palimpsest-mcp statusline'"],
)
def test_a_command_of_the_users_that_also_calls_this_program_stays(program: Program, user: Path, command: str) -> None:
    hook = {"hooks": [{"type": "command", "command": "date && palimpsest-mcp hook Stop"}]}
    own = {"statusLine": {"type": "command", "command": command}, "hooks": {"Stop": [hook]}}
    (user / ".claude" / "settings.json").write_text(json.dumps(own), "utf-8")
    program("install", "claude-code")
    assert settings(user)["statusLine"] == own["statusLine"]
    assert settings(user)["hooks"]["Stop"][0] == hook
    program("install", "claude-code", "--remove")
    assert settings(user) == own


def test_a_text_that_was_cut_in_a_character_stays_valid_json(program: Program, user: Path) -> None:
    file = user / ".claude.json"
    file.write_bytes(b'\xef\xbb\xbf{\r\n  "history": ["cut \\ud83d", "\xf0\x9f\x98\x80"]\r\n}\r\n')
    program("install", "claude-code")
    text = file.read_bytes().decode("utf-8")
    assert text.startswith('\ufeff{\r\n  "history": [\r\n') and "\n" not in text.replace("\r\n", "")
    assert json.loads(text.removeprefix("\ufeff"))["history"] == ["cut \ud83d", "\U0001f600"]


def test_files_that_are_not_there_yet_are_made_private(program: Program, user: Path) -> None:
    (user / ".claude.json").unlink()
    (user / ".claude" / "settings.json").unlink()
    (user / ".claude").rmdir()
    assert program("install", "claude-code").status == 0
    assert "palimpsest" in state(user)["mcpServers"]
    assert os.stat(user / ".claude.json").st_mode & 0o777 == 0o600


def test_a_link_to_the_settings_stays_a_link_and_modes_stay(program: Program, user: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    (user / ".claude" / "settings.json").rename(real)
    real.chmod(0o640)
    (user / ".claude" / "settings.json").symlink_to(real)
    program("install", "claude-code")
    assert (user / ".claude" / "settings.json").is_symlink()
    assert "PostToolUse" in json.loads(real.read_bytes())["hooks"]
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"a": 1, // mine\n}', "file_not_json"),
        (b"[]", "file_wrong_shape"),
        (b'{"hooks": []}', "file_wrong_shape"),
        (b'{"hooks": {"Stop": {"mine": 1}}}', "file_wrong_shape"),
        (b'{"cost": 1e400}', "file_not_json"),
        (b'{"cost": NaN}', "file_not_json"),
        (b"\xff\xfe", "file_not_json"),
    ],
)
def test_a_file_that_cannot_be_understood_stops_everything(
    program: Program, user: Path, data: bytes, code: str
) -> None:
    (user / ".claude" / "settings.json").write_bytes(data)
    ran = program("--json", "install", "claude-code")
    assert ran.error["code"] == code
    assert (user / ".claude" / "settings.json").read_bytes() == data
    assert (user / ".claude.json").read_bytes() == STATE


def test_a_foreign_server_of_our_name_and_the_plugin_are_left_in_peace(program: Program, user: Path) -> None:
    (user / ".claude.json").write_text(json.dumps({"mcpServers": {"palimpsest": {"command": "node"}}}), "utf-8")
    assert program("--json", "install", "claude-code").error["code"] == "invalid_argument"
    (user / ".claude.json").write_bytes(STATE)
    (user / ".claude" / "settings.json").write_text(json.dumps({"enabledPlugins": {"palimpsest@x": True}}), "utf-8")
    ran = program("--json", "install", "claude-code")
    assert "plugin" in ran.error["message"]
    assert (user / ".claude.json").read_bytes() == STATE


def test_claude_desktop_gets_a_server(program: Program, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert program("install", "claude-desktop").status == 0
    file = user / ".config" / "Claude" / "claude_desktop_config.json"
    entry = json.loads(file.read_bytes())["mcpServers"]["palimpsest"]
    assert entry["args"][-1] == "serve"
    assert "type" not in entry
    program("install", "claude-desktop", "--remove")
    assert not file.exists()
    assert program("install", "some-editor").status == 2


def test_removing_where_nothing_is_makes_no_file(program: Program, user: Path) -> None:
    (user / ".claude.json").unlink()
    (user / ".claude" / "settings.json").unlink()
    assert "nothing to remove" in program("install", "claude-code", "--remove").text
    assert [path for path in user.rglob("*") if path.is_file()] == []


def test_where_one_file_cannot_be_written_none_is_changed(program: Program, user: Path) -> None:
    settings_file = user / ".claude" / "settings.json"
    settings_file.unlink()
    settings_file.symlink_to(user / ".claude" / "a-file" / "settings.json")
    (user / ".claude" / "a-file").write_text("in the way", "utf-8")
    ran = program("--json", "install", "claude-code")
    assert ran.error["code"] == "write_failed"
    assert (user / ".claude.json").read_bytes() == STATE
