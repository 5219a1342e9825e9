"""What `--out` writes reads back as the value it was, and no session loses the file that it was read from."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp import Palimpsest
from palimpsest_mcp.cli.screen import json_bytes

from .conftest import conversation, quietly

Program = Callable[..., Any]

STRINGS = st.text(st.characters(codec=None, categories=None), max_size=30)
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | STRINGS, lambda inner: st.lists(inner, max_size=4))


@given(VALUES)
def test_every_value_reads_back_half_surrogate_pairs_included(value: object) -> None:
    assert json.loads(json_bytes(value)) == value


WRITING = [
    ("export", "HANDLE"),
    ("restore", "HANDLE", "--all"),
    ("export", "OTHER"),
    ("restore", "OTHER", "--all"),
    ("compact", "OTHER-FILE", "--force"),
    ("compact", "OTHER-FILE", "--force", "--dry-run"),
]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two sessions, the files that they were read from beside it, and three ways to the first of them."""
    folder = tmp_path_factory.mktemp("known")
    for name, session in (("night", conversation()), ("day", conversation(9))):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(session))
        assert quietly(folder / "home", "compact", path, "--session", name, "--force", "--target", "0.4").status == 0
    (folder / "hard").hardlink_to(folder / "night.json")
    (folder / "soft").symlink_to(folder / "night.json")
    (folder / "way").symlink_to(folder)
    return folder


def spelled(command: tuple[str, ...], known: Path) -> list[str]:
    names = {"HANDLE": "night", "OTHER": "day", "OTHER-FILE": str(known / "day.json")}
    return [names.get(word, word) for word in command]


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("name", ["night.json", "hard", "soft", "way/night.json"])
@pytest.mark.parametrize("command", WRITING, ids=" ".join)
def test_no_command_writes_over_a_file_that_any_session_was_read_from(
    known: Path, command: tuple[str, ...], name: str, overwrite: bool
) -> None:
    before = (known / "night.json").read_bytes()
    how = ["--out", str(known / name), *(["--overwrite"] if overwrite else []), "--json"]
    ran = quietly(known / "home", *spelled(command, known), *how)
    assert ran.error["code"] == "output_refused"
    assert "--overwrite" not in ran.error["next"]
    assert (known / "night.json").read_bytes() == before and (known / "soft").is_symlink()


def test_a_file_with_the_name_of_a_source_elsewhere_is_not_replaced_by_its_session(
    program: Program, compacted: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy" / "night.json"
    copy.parent.mkdir()
    copy.write_text("mine")
    for how in (["--overwrite"], []):
        ran = program("restore", compacted, "--all", "--out", copy, *how, "--json")
        assert ran.error["code"] == "output_refused" and "--overwrite" not in ran.error["next"]
    assert copy.read_text() == "mine"


def test_a_file_with_the_name_of_a_session_that_a_host_wrote_is_not_replaced(
    program: Program, compacted: str, tmp_path: Path, home: Path
) -> None:
    async def told() -> None:
        async with Palimpsest.open(home) as p:
            await p.record_items("live-1", [{"kind": "message", "role": "user", "content": "go"}])

    asyncio.run(told())
    transcript = tmp_path / "live-1.jsonl"
    transcript.write_text("{}\n")
    ran = program("export", compacted, "--out", transcript, "--overwrite", "--json")
    assert ran.error["code"] == "output_refused"
    assert transcript.read_text() == "{}\n"


def test_a_source_that_is_gone_may_be_written_again(program: Program, compacted: str, session_file: Path) -> None:
    before = json.loads(session_file.read_text())
    session_file.unlink()
    for how in ([], ["--overwrite"]):
        assert program("restore", compacted, "--all", "--out", session_file, *how).status == 0
        assert json.loads(session_file.read_text()) == before
        session_file.unlink()


def test_a_file_that_no_session_was_read_from_is_replaced_when_it_was_given_up(
    program: Program, compacted: str, tmp_path: Path
) -> None:
    out = tmp_path / "back.gz"
    out.write_text("old")
    assert program("export", compacted, "--out", out, "--overwrite").status == 0
    assert out.read_bytes().startswith(b"\x1f\x8b")


def test_the_two_commands_that_a_pass_prints_have_files_of_their_own(
    program: Program, session_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = program("compact", session_file, "--force", "--target", "0.4").text
    named = [words[words.index("--out") + 1] for line in text.splitlines() if "--out" in (words := line.split())]
    assert len(named) == 2 and len(set(named)) == 2
    assert not any(os.path.lexists(name) for name in named)
