"""Command lines drawn by chance over a folder full of files, links and stores: no file of the user's is replaced."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import conversation

Program = Callable[..., Any]

RUNS = 600 if os.environ.get("HYPOTHESIS_PROFILE") == "torture" else 70
TARGETS = [
    "notes.txt", "data.csv", "night.json", "night.jsonl", "hard", "soft", "soft-to-soft", "dangling", "circle",
    "pipe", "null", "folder", "folder/inner.txt", "way/inner.txt", "way/night.json", "write-protected", "-dash",
    "späte-Höhe", "folder/../night.json", "./night.json", "other.json", "home/VERSION", "home/secret",
    "home/new", "home/session/new", "store/VERSION", "store/new", "store/session/new", "version", "home",
    "elsewhere/VERSION", "elsewhere/new", "project/VERSION", "project/secret", "project/new",
    ".claude/settings.json", "missing/new", "NIGHT.JSON",
]  # fmt: skip
SOURCES = ["night.json", "night.jsonl", "soft", "hard", "soft-to-soft", "way/night.json", "other.json"]
HOMES = ["home"] * 12 + ["store", "elsewhere", "project", "folder", "way", "notes.txt", "pipe", "fresh"]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> Path:
    """What somebody may have lying about."""
    messages = json.loads(re.sub(r"(\\n2026-[^\\]*){50}", "", json.dumps(conversation(6))))
    (tmp_path / "folder").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / ".claude").mkdir()
    for name, text in {
        "notes.txt": "mine",
        "data.csv": "a,b\n1,2\n",
        "night.json": json.dumps(messages),
        "other.json": json.dumps(messages[:7]),
        "folder/inner.txt": "inner",
        "folder/night.json": "the same name",
        "write-protected": "do not touch",
        "-dash": "a dash",
        "späte-Höhe": "umlauts",
        "project/VERSION": "2.0.1\n",
        "project/secret": "a word of mine",
        "project/session": "a file",
        "project/index.sqlite3": "no database",
        "project/config.toml": "",
        ".claude/settings.json": '{"theme": "dark"}\n',
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    rows = [
        {"type": one["role"], "uuid": f"u{n}", "sessionId": "night", "message": one} for n, one in enumerate(messages)
    ]
    (tmp_path / "night.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "write-protected").chmod(0o444)
    (tmp_path / "hard").hardlink_to(tmp_path / "night.json")
    for link, to in {
        "soft": "night.json", "soft-to-soft": "soft", "dangling": "nowhere", "circle": "circle", "null": "/dev/null",
        "way": "folder", "folder/night.jsonl": "../night.jsonl", "store": "home", "version": "home/VERSION",
    }.items():  # fmt: skip
        (tmp_path / link).symlink_to(to)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    for home in ("home", "elsewhere"):
        made = program("compact", "night.json", "--session", "night", "--home", tmp_path / home, "--force")
        assert made.status == 0, made.err
    return tmp_path


def seen(world: Path) -> dict[str, tuple[str, str]]:
    """Every name outside of the stores, which the program keeps itself -> what stands there."""
    found: dict[str, tuple[str, str]] = {}
    for path in world.rglob("*"):
        name = str(path.relative_to(world))
        if name.startswith(("home/", "elsewhere/", "fresh/")):
            continue
        status = path.lstat()
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file():
            found[name] = (stat.filemode(status.st_mode), hashlib.sha256(path.read_bytes()).hexdigest())
        else:
            found[name] = (stat.filemode(status.st_mode), "")
    return found


def command_line(chance: random.Random) -> list[str]:
    """One command as somebody may mistype it."""
    free = f"new-{chance.randrange(30)}.json"
    out = chance.choice(
        [chance.choice(TARGETS), chance.choice(SOURCES), free, chance.choice(["notes.txt", "data.csv"])]
    )
    if chance.random() < 0.2:
        out = os.path.join(os.getcwd(), out)
    written = [f"--out={out}", *(["--overwrite"] if chance.random() < 0.5 else [])]
    source = chance.choice(SOURCES)
    command = chance.choices(
        [
            ["compact", source, "--force", "--target", "0.4", *written],
            ["compact", source, "--window", "9000000", *written],
            ["compact", source, "--force", "--dry-run", *written],
            ["restore", "night", "--all", *written],
            ["rewrite", chance.choice(["night.jsonl", "folder/night.jsonl", source])],
            ["specifics", chance.choice(["notes.txt", source])],
            ["install", "claude-code", "--dry-run"],
            ["handoff", "write", "--session", "night", "--task", "why it fails"],
        ],
        weights=[6, 4, 2, 6, 1, 1, 1, 1],
    )[0]
    return [*command, "--home", chance.choice(HOMES)]


def may_be_replaced(command: list[str], world: Path) -> str:
    """The one name that somebody gave up by `--overwrite`: a plain file of another identity than what is read."""
    [out] = [Path(word.removeprefix("--out=")) for word in command if word.startswith("--out=")] or [None]
    if out is None or "--overwrite" not in command or "--dry-run" in command or not out.is_file():
        return ""
    real = Path(os.path.realpath(out))
    if command[0] == "compact" and os.path.samefile(out, command[1]):
        return ""
    if command[-1] in ("home", "store", "elsewhere") and os.path.samefile(out, "night.json"):  # they know it
        return ""
    if command[0] == "restore" and "night.json" in (out.name, real.name):
        return ""
    return str(real.relative_to(world)) if real.is_relative_to(world) else ""


@pytest.mark.long
def test_nothing_that_was_there_is_replaced(program: Program, world: Path) -> None:
    chance = random.Random(20261122)
    statuses: Counter[int] = Counter()
    written = replaced = 0
    for _ in range(RUNS):
        command = command_line(chance)
        before, given_up = seen(world), may_be_replaced(command, world)
        status = program(*command).status
        after = seen(world)
        changed = {name for name in before if after.get(name) != before[name]}
        assert changed <= {given_up}, command
        assert not changed or status in (0, 43), command
        statuses[status] += 1
        written += len(after.keys() - before.keys())
        replaced += len(changed)
    assert written > RUNS // 20 and replaced > 0 and statuses[19] > RUNS // 4  # or nothing was tried
    for home in ("home", "elsewhere"):
        assert program("verify", "--home", home).status == 0
        assert program("list", "night", "--home", home).status == 0
