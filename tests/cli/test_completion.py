"""What the Tab key offers, asked as a shell asks: by variables; for a shell's script in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.__main__ import main

Program = Callable[..., Any]


def asked(instruction: str, home: Path, words: str = "") -> str:
    """What the program answers; `words` end where the cursor stands."""
    environment = {**os.environ, "PALIMPSEST_HOME": str(home), "_PALIMPSEST_MCP_COMPLETE": instruction}
    environment |= {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    command = [sys.executable, "-m", "palimpsest_mcp"]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, text=True
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


Ask = Callable[[str, str], str]


@pytest.fixture
def ask(home: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Ask:
    """The same in this process."""

    def answer(instruction: str, words: str) -> str:
        capsysbinary.readouterr()
        with monkeypatch.context() as patched:
            patched.setenv("PALIMPSEST_HOME", str(home))
            patched.setenv("_PALIMPSEST_MCP_COMPLETE", instruction)
            patched.setenv("COMP_WORDS", words)
            patched.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
            assert main([]) == 0
        out, err = capsysbinary.readouterr()
        assert not err, err
        return out.decode()

    return answer


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str, home: Path) -> None:
    said = asked(f"{shell}_source", home)
    assert f"_PALIMPSEST_MCP_COMPLETE={shell}_complete" in said and "palimpsest-mcp" in said


def test_commands_sessions_batches_and_items_are_offered(
    compacted: str, program: Program, home: Path, ask: Ask
) -> None:
    def offered(words: str) -> list[str]:
        return [line.partition(",")[2] for line in ask("bash_complete", words).splitlines()]

    session = program("show", compacted, "--json").json["session_id"]
    assert "sessions" in offered("palimpsest-mcp se")
    assert offered(f"palimpsest-mcp show {compacted[:3]}") == [compacted]
    assert offered("palimpsest-mcp summary nigh") == [session]
    assert session in asked("bash_complete", home, "palimpsest-mcp summary nigh")
    batches = program("list", compacted, "--json").json["batches"]
    assert offered(f"palimpsest-mcp restore {compacted} ") == [one["batch_id"] for one in batches]
    items = batches[1]["item_ids"]
    assert offered(f"palimpsest-mcp restore {compacted} {batches[1]['batch_id']} --item ") == items
    assert offered(f"palimpsest-mcp pin {session} toolu_15") == ["toolu_15"]
    assert offered("palimpsest-mcp search words --session ") == [compacted, session]


def test_zsh_and_fish_see_what_a_handle_stands_for(compacted: str, program: Program, ask: Ask) -> None:
    session = program("show", compacted, "--json").json["session_id"]
    assert ask("zsh_complete", f"palimpsest-mcp show {compacted}").splitlines()[:3] == [
        "plain",
        compacted,
        session,
    ]


def test_a_store_that_is_not_there_offers_nothing_and_is_not_made(home: Path, ask: Ask) -> None:
    assert ask("bash_complete", "palimpsest-mcp show ").strip() == "" and not home.exists()


def test_a_store_that_cannot_be_read_is_no_news_in_the_middle_of_a_line(home: Path, compacted: str, ask: Ask) -> None:
    (home / "VERSION").write_text("999\n", encoding="utf-8")
    assert ask("bash_complete", f"palimpsest-mcp show {compacted[:2]}").strip() == ""
