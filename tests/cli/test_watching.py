"""`watch --once`: what it says of a host's session, and that it says it once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Program


def test_one_look_names_the_session_and_the_second_has_nothing_to_say(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    text = {"type": "input_text", "text": "See /srv/app/a.py, 17 errors."}
    item = {"type": "message", "role": "user", "content": [text]}
    rows: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "c1", "cwd": "/p"}},
        {"type": "response_item", "payload": item},
        {"type": "compacted", "payload": {"message": "It went well.", "replacement_history": []}},
    ]
    file = tmp_path / "codex" / "sessions" / "2026" / "11" / "20" / "rollout-2026-11-20T10-00-00-c1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    first = program("watch", "--once")
    assert "of c1" in first.text and "specifics are not in its summary" in first.text
    assert program("watch", "--once").text == "nothing new in session files of the last 1 d\n"


def test_a_named_host_that_is_not_here_is_an_error_with_the_next_step(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSCODE_APPDATA", str(tmp_path))
    said = program("watch", "--once", "--host", "vscode")
    assert said.status == 2
    assert f"No sessions of vscode are in {tmp_path}" in said.err and "set VSCODE_APPDATA" in said.err
