"""`sessions`, what `status` shows of them, and what `show` is asked to leave out."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..conftest import first_of

Program = Callable[..., Any]
Messages = list[dict[str, Any]]


def test_every_session_is_listed_with_the_numbers_that_others_give(
    program: Program, compacted: str, tmp_path: Path, messages: Messages
) -> None:
    for number in range(6):
        file = tmp_path / f"list-{number}.json"
        file.write_text(json.dumps(messages[:3]), encoding="utf-8")
        program("compact", file, "--window", "50000")
    rows = program("sessions", "--json").json["sessions"]
    assert len(rows) == 7 and rows[-1]["handle"] == compacted
    shown = program("show", compacted, "--json").json
    batches = program("list", compacted, "--json").json["batches"]
    saved = sum(one["original_tokens"] - one["digest_tokens"] for one in batches)
    assert rows[-1]["usage"] == {**shown["usage"], "parts": []}, "what fills it is a detail"
    assert rows[-1]["share"] == shown["usage"]["ratio"]
    assert 0 < rows[-1]["saved_tokens"] <= saved
    assert rows[-1]["saved_tokens"] == program("status", "--json").json["net_saved_tokens"]
    assert rows[-1]["title"].startswith("Why does the nightly job fail?") and rows[0]["path"].endswith("list-5.json")
    text = program("sessions").text
    assert all(row["handle"] in text for row in rows) and text.endswith("7 sessions\n")


def test_the_status_says_how_many_sessions_it_leaves_out(program: Program, tmp_path: Path, messages: Messages) -> None:
    for number in range(7):
        file = tmp_path / f"list-{number}.json"
        file.write_text(json.dumps(messages[:3]), encoding="utf-8")
        program("compact", file, "--window", "50000")
        if number == 0:
            assert "\n1 of 1 session\n" in program("status").text
    text = program("status").text
    assert "5 of 7 sessions; all: palimpsest-mcp --home" in text


def test_a_session_that_cannot_be_read_is_listed_with_the_reason(program: Program, compacted: str, home: Path) -> None:
    program("experience", "status")
    segment = next(home.glob("session/*/ledger/*.jsonl"))
    segment.chmod(0)
    if os.access(segment, os.R_OK):
        segment.unlink()
        segment.mkdir()
    row = program("sessions", "--json").json["sessions"][0]
    assert row["handle"] == compacted and (row["note"] or row["items"] == 0)


def test_a_title_is_masked(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "secret.json"
    secret = "postgres://app:q7Rt2Vx9Lk4M@db.internal/x"
    file.write_text(json.dumps([{"role": "user", "content": f"Why does {secret} fail?"}]), encoding="utf-8")
    program("compact", file, "--window", "50000")
    assert "q7Rt2Vx9Lk4M" not in program("sessions").text + program("sessions", "--json").text


def test_only_the_largest_items_or_those_in_one_state_are_shown(program: Program, compacted: str) -> None:
    every = program("show", compacted, "--json").json["items"]
    top = program("show", compacted, "--top", "3", "--json").json["items"]
    assert [one["tokens"] for one in top] == sorted((one["tokens"] for one in every), reverse=True)[:3]
    by_state = {
        state: [one["item_id"] for one in program("show", compacted, "--state", state, "--json").json["items"]]
        for state in ("kept", "offloaded", "gone", "protected", "free", "pinned")
    }
    assert len(by_state["kept"]) + len(by_state["offloaded"]) + len(by_state["gone"]) == len(every)
    assert sorted(by_state["protected"] + by_state["free"]) == sorted(by_state["kept"]) and by_state["offloaded"]
    program("pin", compacted, "toolu_15")
    pinned = program("show", compacted, "--state", "pinned").text
    assert f"1 of {len(every)} items" in pinned and f"show {compacted} --all\n" in pinned


@pytest.mark.parametrize(
    ("pager", "options", "paged"),
    first_of([("sed s/^/paged:/", [], True), ("cat", [], False), ("sed s/^/paged:/", ["--no-pager"], False)]),
)
def test_what_is_longer_than_the_terminal_goes_through_the_pager(
    compacted: str, home: Path, pager: str, options: list[str], paged: bool
) -> None:
    """The number of lines of a new pseudo-terminal is unknown, which counts as 24."""
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "palimpsest_mcp", "--home", str(home), "show", compacted, *options]
    environment = {**os.environ, "PAGER": pager, "COLUMNS": "100", "LINES": "24", "TERM": "xterm"}
    with subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=environment) as process:
        os.close(child)
        said = b""
        try:
            while data := os.read(parent, 65536):
                said += data
        except OSError:  # the other end was closed
            pass
        assert process.wait(60) == 0
    os.close(parent)
    assert (b"paged:session" in said) == paged and b"toolu_0" in said
