"""`rewrite` on the command line: a transcript by its path, its id or the session's handle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Program

SID = "8d1f2a7e-1111-4222-8333-444455556666"


def transcript(folder: Path, results: int = 12) -> Path:
    rows: list[dict[str, Any]] = []

    def add(kind: str, content: Any, **message: Any) -> None:
        row = {"type": kind, "uuid": f"u{len(rows)}", "parentUuid": rows[-1]["uuid"] if rows else None}
        rows.append({**row, "sessionId": SID, "cwd": "/p", "message": {"role": kind, "content": content, **message}})

    add("user", "Find the failing job.")
    for n in range(results):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": f"job {n}"}}
        add("assistant", [call], id=f"m{n}", model="claude-opus-5-5")
        lines = (
            f"2026-11-20T10:{line:02d}:00Z job-{n:03d}-{line:03d} wrote /data/{n}/{line}.csv" for line in range(60)
        )
        add("user", [{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "\n".join(lines)}])
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{SID}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "cfg"))
    return tmp_path / "cfg"


def test_a_session_is_found_by_path_id_and_handle(program: Program, config: Path) -> None:
    file = transcript(config / "projects" / "-p")
    by_path = program("--json", "rewrite", file)
    assert by_path.status == 0
    assert by_path.json["batches"]
    new = by_path.json["new_session_id"]
    assert by_path.json["file"] == str(file.with_name(f"{new}.jsonl"))
    assert by_path.json["resume"] == f"claude --resume {new}"
    assert by_path.json["digests"] > 0
    for name in (SID, f"{SID}.jsonl", by_path.json["handle"]):
        assert program("--json", "rewrite", name).json["new_session_id"]
    assert len(list(file.parent.glob("*.jsonl"))) == 5


def test_it_says_how_to_go_on(program: Program, config: Path) -> None:
    ran = program("rewrite", transcript(config / "projects" / "-p"))
    assert "new session: " in ran.text
    assert "resume it with: claude --resume " in ran.text
    assert "In /p: claude --resume" in ran.text


def test_where_nothing_is_to_do_nothing_is_written(program: Program, config: Path) -> None:
    file = transcript(config / "projects" / "-p", results=2)
    ran = program("rewrite", file)
    assert ran.status == 0
    assert "nothing was written" in ran.text
    dry = program("--json", "rewrite", transcript(config / "projects" / "-q"), "--dry-run")
    assert (dry.json["status"], dry.json["file"], dry.json["resume"]) == ("planned", None, None)


@pytest.mark.parametrize("name", ["nowhere.jsonl", "no-such-id", "../../etc/no-such-session", "*", "s7f3k"])
def test_a_session_that_is_not_there_is_an_error(program: Program, config: Path, name: str) -> None:
    ran = program("--json", "rewrite", name)
    assert ran.status == 10
    assert ran.error["code"] == "file_missing"
    assert not config.exists()
