"""`compact`: the forms that come in and go out, the report, the plan."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.errors import SessionUnknown

Program = Callable[..., Any]
Messages = list[dict[str, Any]]

FORCED = ("--force", "--target", "0.4", "--keep-last", "3")


def results(messages: Messages) -> dict[str, Any]:
    """Call id -> content of its result."""
    contents: list[Any] = [message["content"] for message in messages if isinstance(message["content"], list)]
    blocks = [block for content in contents for block in content if block["type"] == "tool_result"]
    return {block["tool_use_id"]: block["content"] for block in blocks}


def test_the_report_is_what_programs_may_rely_on(program: Program, session_file: Path) -> None:
    report = program("compact", session_file, *FORCED, "--json").json
    assert report["status"] == "compacted" and report["probes"]["state"] == "passed"
    assert report["after"]["tokens"] < report["before"]["tokens"]
    assert report["before"]["ratio"] == 1.0 and report["before"]["window_source"] == "forced"
    batch = report["batches"][0]
    assert {"batch_id", "items", "original_tokens", "digest_tokens", "item_ids", "specifics"} <= batch.keys()
    assert {"total", "shown", "elsewhere", "left_out", "factored", "redacted"} <= batch["specifics"].keys()


def test_people_see_the_handle_both_windows_and_how_to_get_things_back(program: Program, session_file: Path) -> None:
    text = program("compact", session_file, *FORCED).text
    handle = program("status", "--json").json["recent"][0]["handle"]
    assert f"(handle {handle})" in text and "status   compacted" in text
    assert "before " in text and "after " in text
    assert f" restore {handle} offload_0001" in text
    assert "\x1b" not in text


def test_a_list_goes_out_as_a_list_with_only_old_results_changed(
    program: Program, session_file: Path, messages: Messages, tmp_path: Path
) -> None:
    out = tmp_path / "short.json"
    program("compact", session_file, *FORCED, "--out", out)
    shorter = json.loads(out.read_bytes())
    assert len(shorter) == len(messages)
    before, after = results(messages), results(shorter)
    assert before.keys() == after.keys()
    changed = [name for name in before if after[name] != before[name]]
    assert changed and changed == list(before)[: len(changed)]
    assert [message["role"] for message in shorter] == [message["role"] for message in messages]


def test_an_object_goes_out_as_the_object_around_the_shorter_list(
    program: Program, messages: Messages, tmp_path: Path
) -> None:
    wrapped = {"source": {"path": "x", "rate": 1.10}, "system": "", "messages": messages}
    file, out = tmp_path / "one.json", tmp_path / "short.json"
    file.write_text(json.dumps(wrapped), encoding="utf-8")
    program("compact", file, *FORCED, "--out", out)
    shorter = json.loads(out.read_bytes())
    assert list(shorter) == list(wrapped) and shorter["source"] == wrapped["source"]
    assert len(shorter["messages"]) == len(messages) and shorter["messages"] != messages


def test_one_session_of_many_is_named_by_its_line(program: Program, messages: Messages, tmp_path: Path) -> None:
    file, out = tmp_path / "many.jsonl.gz", tmp_path / "short.json"
    short = {"source": "a", "messages": [{"role": "user", "content": "hello"}]}
    rows = [json.dumps(short), json.dumps({"source": "b", "messages": messages})]
    file.write_bytes(gzip.compress("\n".join(rows).encode()))
    assert program("compact", file, *FORCED).status == 14
    assert program("compact", file, "--line", "2", *FORCED, "--out", out).status == 0
    assert json.loads(out.read_bytes())["source"] == "b"


def test_two_files_of_one_name_are_two_sessions(program: Program, messages: Messages, tmp_path: Path) -> None:
    names: set[str] = set()
    for folder in ("a", "b"):
        file = tmp_path / folder / "night.json"
        file.parent.mkdir()
        file.write_text(json.dumps(messages), encoding="utf-8")
        names.add(program("compact", file, *FORCED, "--json").json["session_id"])
    assert len(names) == 2 and all(name.startswith("night-") for name in names)


def test_compacting_again_gives_the_same_bytes(program: Program, session_file: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    program("compact", session_file, *FORCED, "--out", first)
    again = program("compact", session_file, *FORCED, "--out", second, "--json")
    assert again.json["batches"] == []
    assert second.read_bytes() == first.read_bytes()


def test_a_dry_run_shows_the_plan_and_changes_nothing(program: Program, session_file: Path) -> None:
    report = program("compact", session_file, *FORCED, "--dry-run", "--json").json
    assert report["status"] == "planned" and report["plan_id"] and report["slots"]
    assert program("list", report["handle"]).status == SessionUnknown.exit_status
    assert "would leave" in program("compact", session_file, *FORCED, "--dry-run").text


def test_the_window_is_needed_unless_forced(program: Program, session_file: Path) -> None:
    ran = program("compact", session_file, "--json")
    assert ran.status == 15 and "--window" in ran.error["next"] and "--force" in ran.error["next"]


def test_nothing_to_do_is_no_error(program: Program, session_file: Path) -> None:
    ran = program("compact", session_file, "--window", "10000000")
    assert ran.status == 0 and "status   nothing_to_do" in ran.text


@pytest.mark.parametrize("place", ["missing/out.json", "."])
def test_a_bad_out_is_refused_before_anything_is_done(
    program: Program, session_file: Path, tmp_path: Path, place: str
) -> None:
    ran = program("compact", session_file, *FORCED, "--out", tmp_path / place, "--json")
    assert ran.status == 2 and ran.error["next"]
    assert program("status", "--json").json["sessions"] == 0
