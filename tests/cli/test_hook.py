"""`hook`: a client waits for it, and nothing that it does may break the client."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.__main__ import main
from palimpsest_mcp.cli.hook import APART, answer_hook, hook_arguments
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.store.host_files import HostFiles

from ..conftest import first_of

HEAVY = ("pydantic", "mcp", "anthropic", "tiktoken", "click", "asyncio", "palimpsest_mcp.core.palimpsest", "re2")


def hook(home: Path, event: str, payload: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    data = payload if isinstance(payload, str) else json.dumps(payload)
    return subprocess.run(
        [sys.executable, "-m", "palimpsest_mcp", "hook", *([event] if event else [])],
        input=data,
        capture_output=True,
        text=True,
        env={**os.environ, "PALIMPSEST_HOME": str(home), **environment},
        check=False,
    )


async def a_session(home: Path, session_id: str = "s-1") -> None:
    """One that something was archived of."""
    async with Palimpsest.open(home, attached="claude-code") as p:
        for n in range(4):
            done = {"session_id": session_id, "tool_name": "Bash", "tool_use_id": f"toolu_{n}"}
            await p.host_event("PostToolUse", {**done, "tool_response": f"wrote /srv/part-{n}.bin\n" * 40})
        await p.host_event("PreCompact", {"session_id": session_id, "trigger": "auto"})


def test_a_start_reads_small_files_only_and_imports_nothing_heavy(home: Path) -> None:
    asyncio.run(a_session(home))
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: sys.stderr.write(' '.join(n for n in {HEAVY!r} if n in sys.modules)))\n"
        "from palimpsest_mcp.__main__ import main\n"
        "sys.exit(main(['hook', 'SessionStart']))\n"
    )
    for source, words in (("compact", "offload_0001 · Bash"), ("resume", "2 batches"), ("startup", "2 batches")):
        ran = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps({"session_id": "s-1", "source": source}),
            capture_output=True,
            text=True,
            env={**os.environ, "PALIMPSEST_HOME": str(home)},
            check=False,
        )
        assert ran.returncode == 0 and ran.stderr == ""
        answer = json.loads(ran.stdout)["hookSpecificOutput"]
        assert answer["hookEventName"] == "SessionStart" and words in answer["additionalContext"]


def test_the_first_start_of_all_says_nothing_and_makes_nothing(home: Path) -> None:
    ran = hook(home, "SessionStart", {"session_id": "s-1", "source": "startup"})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "") and not home.exists()


@pytest.mark.parametrize("event", first_of(["SessionStart", "SessionEnd", "", "Unheard"]))
def test_no_input_makes_it_fail(
    home: Path, event: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a process of its own once, and then in this one."""
    home.mkdir()
    ran = hook(home, event, "no JSON")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    monkeypatch.setenv("PALIMPSEST_HOME", str(home))
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    for payload in ("", "[]", "{}", '{"session_id": ""}', '{"session_id": 7, "source": []}'):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(payload.encode())))
        assert main(["hook", *([event] if event else [])]) == 0, payload
        assert capfd.readouterr() == ("", ""), payload


def test_with_auto_off_a_start_says_nothing(home: Path) -> None:
    asyncio.run(a_session(home))
    asked = {"session_id": "s-1", "source": "compact"}
    assert hook(home, "SessionStart", asked, PALIMPSEST_AUTO="off").stdout == ""
    (home / "config.toml").write_text("auto = false\n")
    assert hook(home, "SessionStart", asked).stdout == ""
    assert hook(home, "SessionStart", asked, PALIMPSEST_AUTO="on").stdout != ""


def test_the_end_of_a_session_is_read_in_a_process_of_its_own(home: Path, tmp_path: Path) -> None:
    """With the argument that the process of its own has, so that this test can wait for it."""
    path = tmp_path / "s-1.jsonl"
    row = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s-1", "isSidechain": False}
    path.write_text(json.dumps({**row, "message": {"role": "user", "content": "Look."}}) + "\n")
    payload = {"session_id": "s-1", "transcript_path": str(path), "reason": "other"}
    command = [sys.executable, "-m", "palimpsest_mcp", "hook", "SessionEnd", "--home", str(home), APART]
    ran = subprocess.run(command, input=json.dumps(payload), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    shown = subprocess.run(
        [sys.executable, "-m", "palimpsest_mcp", "--home", str(home), "show", "s-1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "u1.0" in shown.stdout


def test_after_clear_the_new_session_is_linked_to_the_old_one_of_the_same_client(home: Path) -> None:
    home.mkdir()
    files = HostFiles(home)
    for pid, old in (("101", "old-a"), ("102", "old-b")):
        files.note_ended(pid, old)
    for pid, new in (("101", "new-a"), ("102", "new-b")):
        hook(home, "SessionStart", {"session_id": new, "source": "clear", "cwd": "/same"}, CLAUDE_PID=pid)
    assert (files.parent_of("new-a"), files.parent_of("new-b")) == ("old-a", "old-b")
    assert files.take_ended("101") == ""


def test_after_clear_the_link_is_there_even_if_the_process_apart_never_got_to_write(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client runs SessionStart as soon as SessionEnd has returned; 19 of 19 sessions lost their parent."""
    home.mkdir()
    answered(monkeypatch, home, "SessionEnd", {"session_id": "old", "reason": "clear"})
    answered(monkeypatch, home, "SessionStart", {"session_id": "new", "source": "clear"})
    assert HostFiles(home).parent_of("new") == "old"


def test_a_process_apart_that_comes_late_does_not_name_a_wrong_parent(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    ended = {"session_id": "one", "reason": "clear"}
    answered(monkeypatch, home, "SessionEnd", ended)
    answered(monkeypatch, home, "SessionStart", {"session_id": "two", "source": "clear"})
    answered(monkeypatch, home, "SessionEnd", {"session_id": "two", "reason": "clear"})
    answered(monkeypatch, home, "SessionEnd", ended, apart=True)
    answered(monkeypatch, home, "SessionStart", {"session_id": "three", "source": "clear"})
    assert (HostFiles(home).parent_of("two"), HostFiles(home).parent_of("three")) == ("one", "two")


@pytest.mark.parametrize(("reason", "auto"), [("other", "on"), ("clear", "off")])
def test_only_a_session_that_is_left_for_another_is_noted(
    home: Path, monkeypatch: pytest.MonkeyPatch, reason: str, auto: str
) -> None:
    home.mkdir()
    monkeypatch.setenv("PALIMPSEST_AUTO", auto)
    answered(monkeypatch, home, "SessionEnd", {"session_id": "old", "reason": reason})
    assert not (home / "claude-code").exists()


def answered(
    monkeypatch: pytest.MonkeyPatch, home: Path, event: str, payload: dict[str, Any], *, apart: bool = False
) -> None:
    """One hook in this process, of one client; what it starts apart never begins."""
    data = io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode()))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", data)
        patched.setenv("CLAUDE_PID", "4711")
        patched.setattr(sys, "executable", shutil.which("true"))
        assert answer_hook(event, str(home), apart=apart) == 0


def test_every_event_works_through_the_command(home: Path) -> None:
    asked = {"session_id": "s-1", "tool_name": "mcp__p__show_context", "tool_input": {"session_id": "?"}}
    ran = hook(home, "", {**asked, "hook_event_name": "PreToolUse"})
    assert json.loads(ran.stdout)["hookSpecificOutput"]["updatedInput"] == {"session_id": "s-1"}


def test_what_goes_wrong_is_kept_and_not_shown(home: Path) -> None:
    (home / "session").mkdir(parents=True)
    (home / "VERSION").write_text("999\n")
    ran = hook(
        home, "PostToolUse", {"session_id": "s-1", "tool_name": "Bash", "tool_use_id": "t", "tool_response": "x"}
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    (trouble,) = HostFiles(home).troubles()
    assert trouble["event"] == "PostToolUse" and trouble["code"] == "store_newer"


@pytest.mark.parametrize(
    ("given_", "asked"),
    [
        (["SessionStart"], ("SessionStart", None, "claude-code")),
        ([], ("", None, "claude-code")),
        (["Stop", "--home", "/x", "--json"], ("Stop", "/x", "claude-code")),
        (["Stop", "--host", "codex"], ("Stop", None, "codex")),
        (["Stop", "--host", "pi"], None),
        (["--help"], None),
        (["a", "b"], None),
    ],
)
def test_plain_calls_need_no_command_line(given_: list[str], asked: tuple[str, str | None, str] | None) -> None:
    assert hook_arguments(given_) == asked
