"""An hour of use: every command that the program prints can be run as it is typed."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from palimpsest_mcp.cli.main import run

from ..conftest import first_of
from .test_rewriting import transcript as transcript_in

DEMO = Path(sys.modules["palimpsest_mcp"].__file__ or "").parent / "demo"
QUOTED = re.compile(r"`(palimpsest-mcp[^`]*)`")
BARE = re.compile(r"(?<![`/\w-])palimpsest-mcp (?!is |\d)(.*)")
PLACEHOLDER = re.compile(
    r"\b(?:FILE|SESSION|BATCH|ITEM|ID|SKILL|EVENT|WORDS|FOLDER|TEXT|PATTERN|QUERY|NAME|YOUR_\w+)\b"
)
FAILED = ("invalid_argument", "session_unknown", "batch_unknown", "item_unknown", "file_missing", "skill_unknown")
EVENT = '{"outcome": "success", "winning_pattern": "brand + pain", "user_feedback": "accepted"}'
STATED = '{"key_context": ["Berth times are local"], "next_steps": ["Test with two vessels"]}'


def printed(text: str) -> Iterator[str]:
    """Commands between backticks, and bare ones, which go on to the end of their line."""
    for line in text.splitlines():
        quoted = QUOTED.findall(line)
        yield from quoted
        rest = QUOTED.sub("", line)
        if found := BARE.search(rest):
            yield f"palimpsest-mcp {found[1]}"


def no_server(*_: object) -> int:
    """Serving is not tried here."""
    return 0
    return 0


Use = Callable[..., str]


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Use:
    """Run one command in a folder of our own; what it said on both streams."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "user" / ".claude"))
    monkeypatch.chdir(tmp_path)
    shutil.copy(DEMO / "coding_session.json", tmp_path / "it's harbour.json")

    def call(*arguments: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(EVENT))
        capsysbinary.readouterr()
        run(arguments, serve=no_server)
        out, err = capsysbinary.readouterr()
        return (out + b"\n" + err).decode()

    return call


def hour(tmp_path: Path) -> list[tuple[str, ...]]:
    """What somebody does in it, mistakes included."""
    file = str(tmp_path / "it's harbour.json")
    transcript = str(transcript_in(tmp_path / "user" / ".claude" / "projects" / "-p"))
    return [
        ("status",),
        ("sessions",),
        ("comapct", "x"),
        ("compact", str(tmp_path / "its harbour.json")),
        ("compact", file),
        ("compact", file, "--window", "64000", "--dry-run"),
        ("compact", file, "--session", "harbour", "--window", "64000"),
        ("compact", file, "--session", "harbor", "--window", "64000"),
        ("status",),
        ("sessions",),
        ("show", "harbour", "--top", "3"),
        ("show", "harbor"),
        ("show", "nobody at all"),
        ("show", "harbour", "--state", "free"),
        ("list", "harbour"),
        ("list",),
        ("list", "harbour", "--ful"),
        ("search", "vessels"),
        ("search", "zeppelin", "--session", "harbour"),
        ("search", ""),
        ("restore", "harbour"),
        ("restore", "harbour", "--all"),
        ("restore", "harbour", "offload_0099"),
        ("restore", "harbour", "offload_0001"),
        ("restore", "harbour", "offload_0001", "--item", "toolu_none"),
        ("restore", "harbour", "--all", "--out", "back.json"),
        ("pin", "harbour", "toolu_c_047"),
        ("pin", "harbour", "toolu_none"),
        ("summary", "harbour"),
        ("summary", "harbour", "--full"),
        ("probe", "harbour"),
        ("handoff", "list"),
        ("handoff", "load"),
        ("handoff", "write", "--session", "harbour", "--task", "Berth B12", "--fields", STATED),
        ("handoff", "list"),
        ("handoff", "load"),
        ("handoff", "load", "--section", "history"),
        ("handoff", "clean"),
        ("experience", "status"),
        ("experience", "record", "search-x", EVENT),
        ("experience", "status"),
        ("experience", "show", "search-y"),
        ("experience", "explain", "r123"),
        ("experience", "compact"),
        ("rewrite", "harbour"),
        ("compact", transcript, "--window", "20000"),
        ("rewrite", transcript),
        ("show", transcript, "--top", "2"),
        ("rewrite", "nobody"),
        ("verify",),
        ("doctor",),
        ("install", "claude-code", "--dry-run"),
        ("install", "claude-desktop", "--dry-run"),
        ("config", "show"),
        ("config", "shw"),
        ("purge",),
        ("restore", "harbour", "--all", "--out", file),
        ("export", "harbour"),
        ("export", "harbour", "--out", "harbour.gz"),
        ("import", "harbour.gz"),
        ("purge", "harbour"),
    ]


@pytest.mark.long
@pytest.mark.parametrize("by_option", first_of([True, False]), ids=["store by --home", "store by variable"])
def test_every_printed_command_runs_as_typed(
    use: Use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_option: bool
) -> None:
    store = tmp_path / "my store"
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "elsewhere" if by_option else store))
    before = ("--home", str(store)) if by_option else ()
    told: dict[str, tuple[str, ...]] = {}
    for command in hour(tmp_path):
        for one in printed(use(*before, *command)):
            told.setdefault(one, command)
    commands = {word for one in told for word in shlex.split(one, comments=True)[1:]}
    assert {"restore", "list", "show", "sessions", "handoff", "compact", "experience", "rewrite"} <= commands
    record = next(store.rglob("offloaded/*.jsonl"))
    record.write_bytes(record.read_bytes().replace(b"B12", b"B13"))
    for broken in (("restore", "harbour", "offload_0001"), ("restore", "harbour", "--all", "--out", "b2.json")):
        for one in printed(use(*before, *broken)):
            told.setdefault(one, broken)
    kept = tmp_path / "kept"
    shutil.copytree(store, kept)
    for typed, by in told.items():
        assert not PLACEHOLDER.search(typed), (typed, by)
        shutil.rmtree(store)
        shutil.copytree(kept, store)
        said = use(*shlex.split(typed, comments=True)[1:])
        assert not said.strip().startswith(FAILED) and "internal_error" not in said, (typed, by, said)


@pytest.mark.long
def test_a_session_is_named_by_handle_id_beginning_and_file_wherever_one_is_asked_for(
    use: Use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "store"))
    file = tmp_path / "it's harbour.json"
    told = use("compact", str(file), "--force")
    session, handle = re.findall(r"session  (.*) \(handle (\w+)\)", told)[0]
    relative = os.path.relpath(file)
    for name in (handle, session, session[:9], str(file), relative):
        for command in (("show",), ("list",), ("summary",), ("probe",), ("verify",), ("search", "berth", "--session")):
            said = use(*command, name)
            assert "session_unknown" not in said and "file_missing" not in said, (command, name, said)
        assert "toolu_c_004" in use("restore", name, "offload_0001")
        assert "is pinned" in use("pin", name, "toolu_c_047")
        assert "written" in use("handoff", "write", "--session", name, "--task", "Berth", "--fields", STATED)
    assert "status   nothing_to_do" in use("compact", handle, "--window", "64000")
