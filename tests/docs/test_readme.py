"""The README's commands do what it says they do, and the script that types them notices when they do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def typed(page: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, HERE / "readme_commands.py", page], capture_output=True, encoding="utf-8")
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_every_command_of_the_readme_prints_what_the_readme_shows() -> None:
    status, output = typed(HERE.parents[1] / "README.md")
    assert status == 0, output
    assert "ok" in output


def test_the_readme_is_short_and_says_at_once_what_it_does_what_it_costs_and_how_things_come_back() -> None:
    text = (HERE.parents[1] / "README.md").read_text("utf-8")
    assert text.count("\n") <= 120
    first = text[: text.index("## ")]
    assert "docs/pictures/view-session-light.png" in first and "uvx palimpsest-mcp demo" in first
    for answer in (
        "restores any of them byte for byte",
        "it costs you",
        "`restore SESSION BATCH`",
        "What it cannot do",
    ):
        assert answer in first, answer


def test_a_page_with_another_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one two\none three\n```\n")
    status, output = typed(page)
    assert status == 1 and "printed something else" in output


def test_a_page_with_a_failing_command_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ exit 7\n```\n")
    status, output = typed(page)
    assert status == 1 and "ended with 7" in output


def test_an_ellipsis_stands_for_what_differs_between_machines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ seq 1 5; echo took 3 s\n1\n…\n5\ntook … s\n```\n")
    assert typed(page)[0] == 0


def test_a_block_that_needs_a_host_is_not_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console no-run\n$ exit 1\n```\n")
    assert typed(page) == (0, "")
