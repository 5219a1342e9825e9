"""The status line: the share of the real trigger, what was offloaded, and no time lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.cli.statusline import short, status_line, store_folder
from palimpsest_mcp.models.views import StatusNote
from palimpsest_mcp.settings.places import home_folder
from palimpsest_mcp.store.session_folder import encoded_status

SID = "2f6c0d5e-0000-4000-8000-000000000001"
NOTE = StatusNote(handle="s7f3k", batches=7, items=19, saved_tokens=23_106, probes_passed=18, probes_asked=20)
PASS = {"last_pass_at": "2026-11-24T10:00:00.000Z", "last_pass_tokens": 12_400}
AT_TEN = 1_795_514_400
"""Seconds since 1970 of that stamp."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a session, and a user who set nothing."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    folder = tmp_path / "store" / "session" / SID
    folder.mkdir(parents=True)
    (folder / "status.json").write_bytes(encoded_status(NOTE))
    return tmp_path / "store"


def stdin(used: int | None = 600_000, model: str = "claude-opus-5-5", **more: Any) -> dict[str, Any]:
    usage = None
    if used is not None:
        usage = {"input_tokens": 10, "output_tokens": 20, "cache_creation_input_tokens": 70}
        usage["cache_read_input_tokens"] = used - 100
    window = {"context_window_size": 1_000_000, "current_usage": usage, "used_percentage": 1}
    return {"session_id": SID, "model": {"id": model}, "context_window": window, **more}


def test_what_came_back_counts_in_the_line(home: Path) -> None:
    note = home / "session" / SID / "status.json"
    note.write_bytes(
        encoded_status(StatusNote(handle="s", batches=2, items=3, saved_tokens=-1_200, restores_per_hundred=40.0))
    )
    line = status_line(stdin(session_id=SID), {}, str(home))
    assert line.endswith("2 batches offloaded, 1.2k lost, more came back · 40 of 100 restored")


def test_it_tells_the_share_of_the_window_the_clients_own_trigger_and_what_was_saved(home: Path) -> None:
    line = status_line(stdin(), {}, str(home))
    assert line == "context 61% of 980k, auto-compact at 967k · 7 batches offloaded, 23.1k saved net · probes 18/20"


@pytest.mark.parametrize(
    ("minutes", "words"), [(-5, "0 min"), (12, "12 min"), (59, "59 min"), (90, "1 h"), (3_000, "2 d")]
)
def test_it_tells_when_the_last_pass_was_and_what_it_took(home: Path, minutes: int, words: str) -> None:
    (home / "session" / SID / "status.json").write_bytes(encoded_status(msgspec.structs.replace(NOTE, **PASS)))
    line = status_line(stdin(), {}, str(home), now=AT_TEN + minutes * 60)
    assert f"23.1k saved net · last pass {words} ago: 12.4k fewer · probes" in line


def test_a_stamp_that_is_none_is_left_out(home: Path) -> None:
    for odd in ("yesterday", 3, None, "9999-99-99T00:00:00Z"):
        (home / "session" / SID / "status.json").write_text(json.dumps({"batches": 1, "last_pass_at": odd}), "utf-8")
        assert "last pass" not in status_line(stdin(), {}, str(home))


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "800000"}, "77% of 780k, auto-compact at 767k"),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "80"}, "61% of 980k, auto-compact at 784k"),
        ({"DISABLE_AUTO_COMPACT": "1"}, "61% of 980k, no auto-compact"),
    ],
)
def test_what_the_user_set_in_the_client_counts(home: Path, environ: dict[str, str], words: str) -> None:
    assert words in status_line(stdin(), environ, str(home))


def test_a_changed_setting_is_seen_at_once(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    given = stdin(workspace={"project_dir": str(project)})
    assert "at 967k" in status_line(given, {}, str(home))
    (project / ".claude" / "settings.json").write_text(json.dumps({"autoCompactWindow": 800_000}), "utf-8")
    assert "at 767k" in status_line(given, {}, str(home))
    (project / ".claude" / "settings.json").unlink()
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / ".claude.json").write_text(json.dumps({"a": 1, "autoCompactEnabled": False}), "utf-8")
    assert "no auto-compact" in status_line(given, {}, str(home))
    assert "at 967k" in status_line(stdin(used=1), {"CLAUDE_CONFIG_DIR": str(tmp_path / "other")}, str(home))


def test_what_was_worked_out_is_kept_and_another_model_is_another_matter(home: Path) -> None:
    status_line(stdin(), {}, str(home))
    kept = json.loads((home / "statusline.json").read_text("utf-8"))
    assert (kept["tokens"], kept["window"]) == (967_000, 1_000_000)
    assert "at 167k" in status_line(stdin(100_000, "claude-opus-4-6"), {}, str(home))
    (home / "statusline.json").write_text("[garbage", "utf-8")
    assert "at 967k" in status_line(stdin(), {}, str(home))


def test_before_the_first_answer_the_share_is_not_known(home: Path) -> None:
    assert status_line(stdin(None), {}, str(home)).startswith("context – of 980k, auto-compact at 967k")
    assert status_line({}, {}, str(home)) == "context: nothing known yet"


def test_a_session_without_a_note_and_a_store_that_is_not_there_cost_only_themselves(
    home: Path, tmp_path: Path
) -> None:
    assert status_line(stdin(session_id="another"), {}, str(home)) == "context 61% of 980k, auto-compact at 967k"
    for odd in ("../" + SID, "", "A" * 65, 3, None, "x/y"):
        assert "offloaded" not in status_line(stdin(session_id=odd), {}, str(home))
    nowhere = tmp_path / "nowhere"
    assert status_line(stdin(), {}, str(nowhere)) == "context 61% of 980k, auto-compact at 967k"
    assert not nowhere.exists()


KEYS = ["model", "id", "context_window", "current_usage", "session_id", "input_tokens", "workspace", "cwd"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
GIVEN = st.recursive(LEAVES, lambda x: st.dictionaries(st.sampled_from(KEYS), x, max_size=4), max_leaves=8)


@given(GIVEN)
def test_whatever_the_client_gives_a_line_comes_out(value: Any) -> None:
    line = status_line(cast("dict[str, Any]", value) if isinstance(value, dict) else {}, {}, os.devnull)
    assert line.startswith("context")
    assert "\n" not in line


SMALL = {0: "0", 999: "999", 1_000: "1.0k", 23_106: "23.1k", 99_949: "99.9k", 99_950: "100k", 967_000: "967k"}
LARGE = {999_500: "1M", 1_230_000: "1.2M", -3: "0"}


@pytest.mark.parametrize(("tokens", "words"), [*SMALL.items(), *LARGE.items(), (None, "0"), ("7", "0")])
def test_numbers_are_short(tokens: Any, words: str) -> None:
    assert short(tokens) == words


def test_the_store_is_where_everything_else_looks_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for environ in ({}, {"XDG_DATA_HOME": str(tmp_path)}, {"PALIMPSEST_HOME": str(tmp_path / "p")}):
        for name in ("XDG_DATA_HOME", "PALIMPSEST_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        assert store_folder(os.environ) == str(home_folder())


def run(home: Path, *arguments: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    program = [sys.executable, "-X", "importtime", "-m", "palimpsest_mcp", *arguments]
    return subprocess.run(program, input=given, capture_output=True, check=True, env={**os.environ, "HOME": str(home)})


def test_the_second_line_imports_next_to_nothing(home: Path) -> None:
    run(home, "statusline", "--home", str(home), given=json.dumps(stdin()).encode())
    done = run(home, "statusline", "--home", str(home), given=json.dumps(stdin()).encode())
    assert done.stdout.decode().startswith("context 61% of 980k")
    modules = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.decode().splitlines()}
    ours = {name for name in modules if name.startswith("palimpsest_mcp.")}
    assert ours <= {
        "palimpsest_mcp.cli",
        "palimpsest_mcp.cli.statusline",
        "palimpsest_mcp.hosts",
        "palimpsest_mcp.hosts.claude_code",
        "palimpsest_mcp.hosts.claude_code.places",
    }
    assert modules.isdisjoint({"typing", "msgspec", "click", "pydantic", "asyncio", "pathlib", "platformdirs"})


@pytest.mark.parametrize("given", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_garbage_on_stdin_is_no_error(home: Path, given: bytes) -> None:
    assert run(home, "statusline", given=given).stdout == b"context: nothing known yet\n"
