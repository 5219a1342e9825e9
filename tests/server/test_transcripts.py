"""A model names the transcript, so the path is checked like any stranger's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.models.text import shown
from palimpsest_mcp.server.arguments import checked_transcript


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    folder = tmp_path / "config" / "projects" / "-home-me-work"
    folder.mkdir(parents=True)
    return folder


def test_a_transcript_of_the_host_is_taken(projects: Path) -> None:
    file = projects / "4d56.jsonl"
    file.write_text("{}\n", encoding="utf-8")
    assert checked_transcript(str(file)) == os.path.realpath(file)
    assert checked_transcript("") == ""


def test_any_other_file_is_refused_whether_it_is_there_or_not(projects: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text("{}\n", encoding="utf-8")
    (projects / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (projects / "notes.txt").write_text("x", encoding="utf-8")
    said: set[str] = set()
    for path in (
        tmp_path / "secret.jsonl",
        tmp_path / "missing.jsonl",
        projects / ".." / ".." / ".." / "secret.jsonl",
        projects / "link.jsonl",
        projects / "notes.txt",
        "4d56.jsonl",
        "/etc/passwd",
        f"{projects}/half \ud83d.jsonl",
        f"{projects}/nul \0.jsonl",
        "~nobody-of-this-name/x.jsonl",
    ):
        with pytest.raises(InvalidArgument) as caught:
            checked_transcript(str(path))
        said.add(f"{caught.value.message.replace(shown(path, 200), 'PATH')} {caught.value.next}")
    assert len(said) == 1
