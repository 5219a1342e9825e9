"""Which files of Claude Code count, and that none of them can hurt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palimpsest_mcp.hosts.claude_code.places import config_folder, global_file
from palimpsest_mcp.hosts.claude_code.settings import read_overrides


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def test_project_and_local_settings_are_stronger_than_the_users(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    write(home / ".claude" / "settings.json", {"autoCompactWindow": 400_000})
    assert read_overrides({}, home, project).window_tokens == 400_000
    write(project / ".claude" / "settings.json", {"autoCompactWindow": 300_000})
    write(project / ".claude" / "settings.local.json", {"autoCompactWindow": 310_000})
    assert read_overrides({}, home, project).window_tokens == 310_000
    assert read_overrides({}, home).window_tokens == 400_000


def test_the_switch_in_the_clients_own_file_counts_unless_settings_say_otherwise(tmp_path: Path) -> None:
    write(tmp_path / ".claude.json", {"autoCompactEnabled": False})
    assert read_overrides({}, tmp_path).off
    write(tmp_path / ".claude" / "settings.json", {"autoCompactEnabled": True})
    assert not read_overrides({}, tmp_path).off


def test_another_config_folder_is_followed(tmp_path: Path) -> None:
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "cfg")}
    write(tmp_path / "cfg" / "settings.json", {"autoCompactWindow": 200_000})
    write(tmp_path / "cfg" / ".claude.json", {})
    assert read_overrides(environ, tmp_path).window_tokens == 200_000
    assert config_folder({}, str(tmp_path)) == str(tmp_path / ".claude")
    assert global_file(environ, str(tmp_path)) == str(tmp_path / "cfg" / ".claude.json")


@pytest.mark.parametrize(
    "garbage", ["", "{", "[]", "[" * 100_000, "null", '{"env": 3}', "\ud83d".encode("utf-8", "replace").decode()]
)
def test_a_broken_file_counts_as_not_there(tmp_path: Path, garbage: str) -> None:
    write(tmp_path / ".claude" / "settings.json", garbage)
    write(tmp_path / ".claude.json", garbage)
    assert read_overrides({}, tmp_path).window_tokens is None
