"""`handoff write|load|list|clean`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[..., Any]
TASK = "Why the nightly job fails"


@pytest.fixture(autouse=True)
def in_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return folder


def test_a_handoff_is_written_loaded_and_listed(program: Program, compacted: str, home: Path, tmp_path: Path) -> None:
    written = program(
        "handoff", "write", "--session", compacted, "--task", TASK, "--fields", '{"questions": ["Which?"]}'
    )
    assert written.status == 0, written.err
    (path,) = home.glob("memory/*.md")
    assert path.read_text("utf-8") in written.text and str(path) in written.text
    assert "tokens" in written.text and path.stem in written.text.split("next")[-1]
    loaded = program("handoff", "load")
    assert loaded.status == 0 and "## Key Context for Continuation" in loaded.text and "Which?" in loaded.text
    assert "## Artifacts Produced" not in loaded.text and "offload_0001" in loaded.text
    rows = program("handoff", "list", "--json").json["handoffs"]
    assert [(row["name"], row["project"], row["phase"]) for row in rows] == [
        (path.stem, str(tmp_path / "shop"), "task")
    ]
    assert path.stem in program("handoff", "list").text


def test_json_gives_every_field(program: Program, compacted: str) -> None:
    written = program("handoff", "write", "--session", compacted, "--task", TASK, "--phase", "plan", "--json").json
    assert written["phase"] == "plan" and written["name"].endswith("-plan") and "# Plan Progress" in written["text"]
    loaded = program("handoff", "load", "--task", TASK, "--section", "status", "--json").json
    assert loaded["name"] == written["name"] and "## Status" in loaded["text"] and loaded["consumed"] is False


def test_a_fork_is_consumed(program: Program, compacted: str) -> None:
    fork = program("handoff", "write", "--session", compacted, "--task", TASK, "--phase", "fork", "--json").json
    assert Path(fork["path"]).is_file() and Path(fork["path"]).parent.stat().st_mode & 0o777 == 0o700
    assert "consumed" in program("handoff", "load", "--task", TASK).text
    assert not Path(fork["path"]).exists()
    assert program("handoff", "load", "--task", TASK, "--json").error["code"] == "handoff_unknown"


def test_fields_come_from_a_file_too_and_must_be_an_object(program: Program, compacted: str, tmp_path: Path) -> None:
    file = tmp_path / "fields.json"
    file.write_text(json.dumps({"facts": ["from a file"]}), "utf-8")
    write = ("handoff", "write", "--session", compacted, "--task", TASK)
    assert "from a file" in program(*write, "--file", file).text
    assert program(*write, "--fields", "[1]", "--json").error["code"] == "file_not_json"
    assert program(*write, "--fields", '{"colour": 1}', "--json").error["code"] == "invalid_argument"
    assert program(*write, "--file", tmp_path / "none", "--json").error["code"] == "file_missing"
    assert program(*write, "--fields", "{}", "--file", file, "--json").error["code"] == "invalid_argument"
    assert program(*write, "--phase", "dream", "--json").error["code"] == "invalid_argument"


def test_errors_say_what_to_do(
    program: Program, compacted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program("handoff", "load", "--json").error["next"].startswith("Write one")
    assert (
        program("handoff", "write", "--session", "nobody", "--task", TASK, "--json").error["code"] == "session_unknown"
    )
    program("handoff", "write", "--session", compacted, "--task", TASK)
    monkeypatch.chdir(tmp_path)
    refused = program("handoff", "load")
    assert refused.status == 70 and str(tmp_path / "shop") in refused.err
    assert program("handoff", "load", "--project", "shop").status == 0
    assert "no handoffs of this project" in program("handoff", "list").text


def test_cleaning_shows_first_and_does_it_with_yes(program: Program, compacted: str, home: Path) -> None:
    for _ in range(2):
        program("handoff", "write", "--session", compacted, "--task", TASK)
    shown = program("handoff", "clean")
    assert shown.status == 0 and "merge" in shown.text and "--yes" in shown.text
    assert len(list(home.glob("memory/*.md"))) == 2
    assert program("handoff", "clean", "--dry-run", "--json").json["dry_run"] is True
    assert program("handoff", "clean", "--dry-run", "--yes", "--json").error["code"] == "invalid_argument"
    done = program("handoff", "clean", "--yes")
    assert "1 step done" in done.text and len(list(home.glob("memory/*.md"))) == 1
    assert len(list(home.glob("memory/archive/*.md"))) == 2
    assert "nothing is due" in program("handoff", "clean", "--yes").text
