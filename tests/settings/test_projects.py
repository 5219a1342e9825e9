"""A project is the root of its repository, else the folder itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_mcp.settings.places import project_root


def test_the_nearest_repository_upwards_counts_a_worktree_too(tmp_path: Path) -> None:
    inner = tmp_path / "shop" / "src" / "etl"
    inner.mkdir(parents=True)
    assert project_root(str(inner)) == str(inner)
    (tmp_path / "shop" / ".git").mkdir()
    assert project_root(str(inner)) == str(tmp_path / "shop")
    (tmp_path / "shop" / "src" / ".git").write_text("gitdir: /elsewhere", "utf-8")
    assert project_root(str(inner)) == str(tmp_path / "shop" / "src")


def test_without_a_folder_or_with_one_of_another_machine_it_is_the_working_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert project_root() == project_root("/no/such/folder") == str(tmp_path)
