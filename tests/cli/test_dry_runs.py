"""A dry run, and whatever only reads or measures, leaves behind what it found: no byte, no name, no folder."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp import Palimpsest

from ..conftest import first_of
from .conftest import conversation, quietly

Program = Callable[..., Any]

MEASURING = [
    ("compact", "FILE", "--force", "--target", "0.4", "--dry-run"),
    ("compact", "FILE", "--window", "30000", "--policy", "anchored", "--focus", "part", "--dry-run"),
    ("compact", "FILE", "--session", "another", "--force", "--dry-run", "--json"),
    ("compact", "FILE", "--force", "--dry-run", "--out", "OUT"),
    ("compact", "TRANSCRIPT", "--force", "--target", "0.4", "--dry-run"),
    ("rewrite", "TRANSCRIPT", "--dry-run"),
    ("install", "claude-code", "--dry-run"),
    ("install", "claude-desktop", "--dry-run"),
    ("experience", "compact", "web", "--dry-run"),
    ("experience", "compact", "--due", "--dry-run"),
    ("experience", "status"),
    ("experience", "show", "web"),
    ("handoff", "clean"),
    ("handoff", "list"),
    ("specifics", "FILE"),
    ("status",),
    ("verify",),
    ("show", "night"),
    ("list", "night"),
    ("search", "checksum"),
    ("summary", "night"),
    ("probe", "night"),
    ("config", "show"),
    ("sessions",),
    ("import", "EXPORTED", "--dry-run"),
    ("purge", "night"),
    ("purge", "--matching", "checksum"),
    ("purge", "night", "--regex", "check.*"),
    ("repair",),
    ("repair", "night"),
    ("doctor",),
]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, messages: list[dict[str, Any]]) -> Path:
    """A user's own folder: settings of two hosts, a skill, a transcript."""
    made = tmp_path / "user"
    (made / ".claude" / "skills" / "web").mkdir(parents=True)
    (made / ".claude" / "skills" / "web" / "SKILL.md").write_text("# Web\n")
    (made / ".claude" / "settings.json").write_text('{"theme": "dark"}\n')
    rows = [
        {"type": one["role"], "uuid": f"u{n}", "sessionId": "night", "message": {**one}}
        for n, one in enumerate(messages)
    ]
    (made / "night.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(made / ".config"))
    monkeypatch.setenv("PALIMPSEST_SKILLS_ROOTS", str(made / ".claude" / "skills"))
    return made


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What another store gave away."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "day.json").write_text(json.dumps(conversation(9)))

    async def write() -> None:
        async with Palimpsest.open(folder / "home") as p:
            await p.compact_file(folder / "day.json", session_id="day", force=True, target=0.4)
            with (folder / "day.gz").open("wb") as file:
                await p.export_sessions(["day"], file)

    asyncio.run(write())
    return folder / "day.gz"


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which a session was compacted, something was searched, and a skill learned."""
    folder = tmp_path_factory.mktemp("used")
    (folder / "night.json").write_text(json.dumps(conversation()))
    (folder / "skills" / "web").mkdir(parents=True)
    (folder / "skills" / "web" / "SKILL.md").write_text("# Web\n")
    how = ("--session", "night", "--force", "--target", "0.4", "--keep-last", "3")
    event = '{"outcome": "success", "winning_pattern": "quote it"}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_SKILLS_ROOTS", str(folder / "skills"))
        for command in (
            ("compact", folder / "night.json", *how),
            ("experience", "record", "web", event),
            ("search", "checksum"),
        ):
            assert quietly(folder / "home", *command).status == 0
    return folder


def everything(folder: Path) -> dict[str, str]:
    """Every name under a folder -> what it is: kind, permissions, bytes."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        what = f"{stat.filemode(status.st_mode)} {status.st_nlink}"
        if path.is_symlink():
            what += f" {os.readlink(path)}"
        elif path.is_file():
            what += f" {hashlib.sha256(path.read_bytes()).hexdigest()}"
        found[str(path.relative_to(folder))] = what
    return found


def spelled(command: tuple[str, ...], session_file: Path, user: Path, exported: Path, tmp_path: Path) -> list[str]:
    names = {
        "FILE": session_file,
        "TRANSCRIPT": user / "night.jsonl",
        "OUT": tmp_path / "never.json",
        "EXPORTED": exported,
    }
    return [str(names.get(word, word)) for word in command]


@pytest.mark.parametrize("command", MEASURING, ids=" ".join)
def test_an_empty_place_stays_empty(
    program: Program, session_file: Path, user: Path, exported: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    before = everything(tmp_path)
    ran = program(*spelled(command, session_file, user, exported, tmp_path))
    assert ran.status in (0, 20, 61)  # nothing known of a session or a skill yet
    assert everything(tmp_path) == before


@pytest.mark.parametrize("command", first_of([(one,) for one in MEASURING], kept=8), ids=" ".join)
def test_a_store_is_byte_for_byte_what_it_was(
    program: Program,
    session_file: Path,
    user: Path,
    exported: Path,
    used: Path,
    home: Path,
    tmp_path: Path,
    command: tuple[str, ...],
) -> None:
    shutil.copytree(used / "home", home)
    shutil.copytree(used / "skills", user / ".claude" / "skills", dirs_exist_ok=True)
    before = everything(tmp_path)
    ran = program(*spelled(command, session_file, user, exported, tmp_path))
    assert ran.status == 0, ran.err
    assert everything(tmp_path) == before


def test_a_dry_run_says_what_the_pass_then_does(program: Program, session_file: Path) -> None:
    how = ("--force", "--target", "0.4", "--keep-last", "3", "--json")
    planned = program("compact", session_file, *how, "--dry-run").json
    again = program("compact", session_file, *how, "--dry-run").json
    assert again == planned
    done = program("compact", session_file, *how).json
    assert done["before"] == planned["before"] and done["handle"] == planned["handle"]
    assert done["target_tokens"] == planned["target_tokens"]
    left = [name for batch in done["batches"] for name in batch["item_ids"]]
    assert left == [name for slot in planned["slots"] for name in slot["item_ids"]]


def test_a_dry_run_sees_what_the_store_knows(program: Program, session_file: Path, compacted: str) -> None:
    assert program("pin", compacted, "toolu_14").status == 0
    how = (session_file, "--force", "--target", "0.2", "--keep-last", "3", "--json")
    planned = program("compact", *how, "--dry-run").json
    done = program("compact", *how).json
    assert planned["handle"] == compacted
    assert planned["before"] == done["before"] and planned["protected"] == done["protected"]
    assert not any("toolu_14" in slot["item_ids"] for slot in planned["slots"])
