"""`probe SESSION`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Program = Callable[..., Any]


def test_the_probes_of_a_session_are_counted_by_type(program: Program, compacted: str) -> None:
    ran = program("probe", compacted)
    assert ran.status == 0 and f"(handle {compacted})" in ran.text
    assert "probes         passed: " in ran.text and " rejected" in ran.text
    assert "with the digests emptied" in ran.text
    assert [line.split()[0] for line in ran.text.splitlines() if line.startswith("recall ")] == ["recall"]


def test_json_has_score_types_and_what_failed(program: Program, compacted: str) -> None:
    told = program("probe", compacted, "--json").json
    assert told["handle"] == compacted and told["state"] == "passed" and told["score"] == told["passed"] / told["total"]
    assert sum(one["total"] for one in told["by_type"].values()) == told["total"]
    assert told["elapsed_s"] >= 0 and told["distractors"] > 0 and "distractors_taken" not in told


def test_what_a_host_threw_away_fails_and_is_named(program: Program, tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": "Make etl/load.py survive double rows, see ETL-204."},
        {"role": "assistant", "content": "For this `on_conflict_skip` was chosen, the source repeats its rows."},
        {"role": "user", "content": "Good."},
        {"role": "assistant", "content": "Then the tests were run."},
        {"role": "user", "content": "Which rows of tenant `acme` are double?"},
    ]
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(said), "utf-8")
    assert program("compact", file, "--session", "s", "--window", "100000").status == 0
    file.write_text(json.dumps([said[0], *said[3:]]), "utf-8")
    assert program("compact", file, "--session", "s", "--window", "100000").status == 0
    ran = program("probe", "s")
    assert ran.status == 0
    assert "critical: decision: What was decided here?" in ran.text and "expected on_conflict_skip" in ran.text
    assert "note: 1 critical probe failed" in ran.text


def test_a_session_without_anything_to_ask_is_not_validated(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "nothing.json"
    file.write_text(json.dumps([{"role": "assistant", "content": "…"}]), "utf-8")
    assert program("compact", file, "--session", "empty", "--window", "1000").status == 0
    assert "not validated" in program("probe", "empty").text
    assert program("probe", "empty", "--json").json["score"] is None


def test_an_unknown_session_is_an_error(program: Program) -> None:
    assert program("probe", "nobody", "--json").error["code"] == "session_unknown"
