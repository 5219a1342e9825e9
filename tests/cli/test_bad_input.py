"""Files and places that cannot be used: one clear error each, its own exit status, a next step, nothing lost."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

Program = Callable[..., Any]

FILES: dict[str, tuple[bytes, int]] = {
    "empty": (b"", 11),
    "white space": (b" \n\t\n", 11),
    "not JSON": (b"hello, world\n", 12),
    "truncated JSON": (b'[{"role": "user", "content": "hel', 12),
    "binary": (bytes(range(256)) * 8, 12),
    "a number": (b"42", 13),
    "an object without messages": (b'{"a": 1}', 13),
    "a list of numbers": (b"[1, 2, 3]", 13),
    "wrong content": (b'[{"role": "user", "content": 7}]', 13),
    "nesting without end": (b"[" * 10_000 + b"]" * 10_000, 13),
    "truncated gzip": (b"\x1f\x8b\x08\x00abc", 12),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_session_is_named_as_what_it_is(program: Program, tmp_path: Path, name: str) -> None:
    data, status = FILES[name]
    file = tmp_path / "session.json"
    file.write_bytes(data)
    ran = program("compact", file, "--force", "--json")
    assert ran.status in (status, 12 if name == "nesting without end" else status), ran.err
    assert ran.error["code"] and ran.error["message"] and ran.error["next"] and ran.out == b""


def test_a_missing_file_and_a_folder_are_no_sessions(program: Program, tmp_path: Path) -> None:
    assert program("compact", tmp_path / "nothing.json").status == 10
    assert program("compact", tmp_path).status == 10


ODD: dict[str, list[dict[str, Any]]] = {
    "no tool results": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
    "a call without result": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]},
    ],
    "a result without call": [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "zz", "content": "x " * 2_000}]},
        {"role": "assistant", "content": "ok"},
    ],
    "unknown blocks": [{"role": "user", "content": [{"type": "hologram", "data": 1}, {"type": "text", "text": "hi"}]}],
    "odd characters": [{"role": "user", "content": "\x00\udc80\u2028\r\n"}, {"role": "assistant", "content": "\ud83d"}],
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_session_is_taken_as_it_is_and_comes_back_equal(program: Program, tmp_path: Path, name: str) -> None:
    file, out = tmp_path / "odd.json", tmp_path / "out.json"
    file.write_text(json.dumps(ODD[name]), encoding="utf-8")
    ran = program("compact", file, "--force", "--json")
    assert ran.status == 0, ran.err
    assert program("restore", ran.json["handle"], "--all", "--out", out).status == 0
    assert json.loads(out.read_bytes()) == ODD[name]


def test_a_home_that_is_a_file_is_no_store(program: Program, session_file: Path, home: Path) -> None:
    home.write_text("not a folder", encoding="utf-8")
    ran = program("compact", session_file, "--force", "--json")
    assert ran.status == 30 and ran.error["next"]


def test_a_store_of_a_newer_program_is_refused(program: Program, session_file: Path, home: Path) -> None:
    program("compact", session_file, "--force")
    (home / "VERSION").write_text("999\n", encoding="utf-8")
    assert program("status").status == 31


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere; see the full disk")
def test_a_home_without_write_permission_is_an_error_with_a_next_step(
    program: Program, session_file: Path, home: Path
) -> None:
    home.mkdir(mode=0o500)
    ran = program("compact", session_file, "--force", "--json")
    assert ran.status in (30, 32) and ran.error["next"]


@contextmanager
def full_disk(size_bytes: int) -> Generator[None]:
    """Every write beyond this size of a file fails, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_an_error_and_loses_nothing(program: Program, session_file: Path, tmp_path: Path) -> None:
    with full_disk(20_000):
        ran = program("compact", session_file, "--force", "--target", "0.4", "--json")
    assert ran.status == 32 and ran.error["code"] == "write_failed" and ran.error["next"]
    assert program("verify").status == 0
    again = program("compact", session_file, "--force", "--target", "0.4", "--json")
    assert again.status == 0 and again.json["batches"]


def test_a_full_disk_still_gives_back_what_it_has(program: Program, compacted: str) -> None:
    with full_disk(0):
        ran = program("restore", compacted, "offload_0001", "--item", "toolu_0", "--raw")
        whole = program("status", "--json")
    assert ran.status == 0 and ran.out.startswith(b"job 0 started")
    assert whole.status == 0


def test_a_home_that_cannot_be_made_is_an_error_with_a_next_step(program: Program, session_file: Path) -> None:
    ran = program("compact", session_file, "--force", "--json", "--home", "/dev/null/home")
    assert ran.status in (30, 32) and ran.error["next"]


def test_a_record_changed_by_hand_is_reported_and_never_passed_off_as_whole(
    program: Program, compacted: str, home: Path
) -> None:
    segment = next(home.glob("session/*/offloaded/*.jsonl"))
    segment.chmod(0o600)
    segment.write_bytes(segment.read_bytes().replace(b"job 0 started", b"job 9 started", 1))
    restored = program("restore", compacted, "offload_0001", "--item", "toolu_0", "--raw").out
    assert restored.startswith(b"job 0 started"), "the ledger has a copy that fits the hash"
    ran = program("verify", "--json")
    assert ran.status == 33 and ran.json["ok"] is False and ran.json["findings"]


def test_a_setting_that_does_not_exist_is_named(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_POLICI", "research")
    ran = program("config", "show", "--json")
    assert ran.status == 18 and "policy" in ran.error["next"]


def test_a_misspelt_command_names_the_one_that_is_near(program: Program) -> None:
    ran = program("comapct", "x.json", "--json")
    assert ran.status == 2 and ran.error["next"].startswith("`palimpsest-mcp compact --help` may be meant")
    assert program("zzz", "--json").error["next"] == "`palimpsest-mcp --help` lists all"


@pytest.mark.parametrize(
    "command", [("compact", "--force"), ("compact", "--format", "claude-code", "--force"), ("rewrite",)]
)
@pytest.mark.parametrize("content", ["[]", '[{"role": "user", "content": "hi"}]'])
def test_a_file_without_a_message_of_its_form_is_refused_and_leaves_no_session(
    program: Program, tmp_path: Path, command: tuple[str, ...], content: str
) -> None:
    """Not as a window that is unknown: nobody could mend that by --window."""
    path = tmp_path / "some.json"
    path.write_text(content, encoding="utf-8")
    if command == ("compact", "--force") and content != "[]":
        assert program(command[0], path, *command[1:]).status == 0
        return
    ran = program(command[0], path, *command[1:], "--json")
    assert ran.status == 13 and "no message" in ran.error["message"] and "messages" in ran.error["next"]
    assert program("status", "--json").json["sessions"] == 0


def test_a_home_without_a_name_is_refused_and_an_empty_variable_is_as_none(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PALIMPSEST_HOME", "")
    for before, behind in ((["--home", ""], []), ([], ["--home", ""]), (["--home="], [])):
        ran = program(*before, "status", *behind, "--json")
        assert ran.error["code"] == "invalid_argument" and "empty" in ran.error["message"]
    assert os.listdir(tmp_path / "here") == []


def test_a_folder_of_the_user_is_no_home(program: Program, session_file: Path, home: Path) -> None:
    home.mkdir()
    (home / "notes.txt").write_text("mine")
    (home / "secret").write_text("of mine")
    for command in (["status"], ["compact", str(session_file), "--force"], ["sessions"], ["verify"], ["repair"]):
        ran = program(*command, "--json")
        assert ran.status == 30 and "holds no store" in ran.error["message"], command
        assert "--home" in ran.error["next"]
    assert sorted(os.listdir(home)) == ["notes.txt", "secret"]


@pytest.mark.parametrize("flag", ["--used", "--window"])
def test_a_number_of_tokens_that_no_window_has_is_refused(program: Program, session_file: Path, flag: str) -> None:
    ran = program("compact", session_file, flag, str(10**30), "--json")
    assert ran.error["code"] == "invalid_argument" and "tokens" in ran.error["message"]
