"""`experience …`, as a person or a cron job runs it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.errors import FileMissing, FileNotJson, InvalidArgument, InvalidEvent, RuleUnknown, SkillUnknown

Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One skill under a root, and no model to ask."""
    folder = tmp_path / "skills" / "channels" / "search-x"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("# a skill\n")
    monkeypatch.setenv("PALIMPSEST_SKILLS_ROOTS", str(tmp_path / "skills"))
    monkeypatch.setenv("PALIMPSEST_RULE_WORDING", "off")
    return folder


def event(number: int, **fields: Any) -> str:
    base = {"session_id": f"s{number}", "outcome": "success", "winning_pattern": "use the api"}
    return json.dumps(base | fields)


@pytest.fixture
def learned(program: Program) -> Program:
    """Three sessions in which one pattern won, compacted."""
    for number in range(3):
        assert program("experience", "record", "search-x", event(number)).status == 0
    assert program("experience", "compact", "search-x").status == 0
    return program


def test_from_three_events_to_a_rule_and_back_to_its_events(learned: Program, skill: Path) -> None:
    shown = learned("experience", "show", "search-x").text
    assert "- use the api (worked in 3 of 3)" in shown
    rule_id = (skill / "experience.md").read_text().split("id=")[1].split("\n")[0]
    assert f"experience explain {rule_id}\n" in shown
    told = learned("experience", "explain", rule_id).text
    assert told.count("success") >= 3 and "s0" in told and "3 events speak of it" in told
    assert learned("experience", "explain", "search-x", rule_id).text == told
    found = learned("experience", "explain", rule_id, "--json").json
    assert found["total"] == 3 and found["rule"]["seen"] == 3


def test_record_says_what_is_due(program: Program) -> None:
    assert "due (" not in program("experience", "record", "search-x", event(1)).text
    ran = program("experience", "record", "search-x", event(2, user_feedback="rejected"))
    assert "due (user_feedback): palimpsest-mcp --home" in ran.text and "experience compact search-x\n" in ran.text
    assert program("experience", "record", "search-x", event(3), "--json").json["new_events"] == 3


def test_events_come_from_a_file_or_from_standard_input(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skill: Path
) -> None:
    lines = "".join(event(n) + "\n" for n in range(3))
    (tmp_path / "events.jsonl").write_text(lines)
    assert program("experience", "record", "search-x", "--file", tmp_path / "events.jsonl").status == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines.replace("s", "t")))
    assert program("experience", "record", "search-x", "-").status == InvalidEvent.exit_status
    monkeypatch.setattr(sys, "stdin", io.StringIO(event(9)))
    assert program("experience", "record", "search-x").status == 0
    assert (skill / "experience" / "patterns.jsonl").read_bytes().count(b"\n") == 4


def test_due_compacts_what_has_a_trigger_and_is_content_with_nothing(program: Program, skill: Path) -> None:
    ran = program("experience", "compact", "--due")
    assert (ran.status, ran.text) == (0, "nothing is due\n")
    program("experience", "record", "search-x", event(1))
    assert program("experience", "compact", "--due", "--json").json == {"skills": [], "failed": []}
    ended = program("experience", "compact", "--due", "--session", "s1", "--json").json
    assert [one["triggers"] for one in ended["skills"]] == [[]] and (skill / "experience.md").exists()


def test_a_skill_that_cannot_be_compacted_does_not_stop_the_others(program: Program, skill: Path) -> None:
    other = skill.parent / "search-y"
    other.mkdir()
    (skill / "experience.md").write_text("# x\n\n## Active Rules\n" + "- mine\n" * 150)
    for name in ("search-x", "search-y"):
        for number in range(10):
            program("experience", "record", name, event(number))
    ran = program("experience", "compact", "--due", "--json")
    assert ran.status == 64
    assert [one["skill"] for one in ran.json["skills"]] == ["search-y"]
    assert [one["code"] for one in ran.json["failed"]] == ["hand_written_too_long"]


def test_a_dry_run_shows_the_difference_and_writes_nothing(program: Program, skill: Path) -> None:
    for number in range(3):
        program("experience", "record", "search-x", event(number))
    ran = program("experience", "compact", "search-x", "--dry-run")
    assert "planned" in ran.text and "+- use the api — seen=3" in ran.text
    assert not (skill / "experience.md").exists()


def test_status_lists_every_skill(learned: Program) -> None:
    text = learned("experience", "status").text
    assert "search-x" in text and "rules" in text
    (one,) = learned("experience", "status", "--json").json["skills"]
    assert (one["rules"], one["new_events"], one["triggers"]) == (1, 0, [])


def test_status_without_experience_says_how_to_begin(program: Program) -> None:
    assert "experience record" in program("experience", "status").text


def test_rollback_takes_the_last_compaction_back(learned: Program, skill: Path) -> None:
    assert "kept as" in learned("experience", "rollback", "search-x").text
    assert not (skill / "experience.md").exists()
    assert "no compaction to take back" in learned("experience", "rollback", "search-x").text
    assert learned("experience", "rollback", "search-x", "--json").json["status"] == "nothing_to_do"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("record", "search-x", "{"), FileNotJson.exit_status),
        (("record", "search-x", "[1]"), FileNotJson.exit_status),
        (("record", "search-x", "{}"), InvalidEvent.exit_status),
        (("record", "../x", "{}"), InvalidArgument.exit_status),
        (("record", "search-x", "{}", "--file", "x"), InvalidArgument.exit_status),
        (("record", "search-x", "--file", "/no/such/file"), FileMissing.exit_status),
        (("compact",), InvalidArgument.exit_status),
        (("compact", "search-x", "--due"), InvalidArgument.exit_status),
        (("compact", "nobody"), SkillUnknown.exit_status),
        (("show", "nobody"), SkillUnknown.exit_status),
        (("explain", "rffff"), RuleUnknown.exit_status),
        (("rollback", "nobody"), SkillUnknown.exit_status),
    ],
)
def test_what_is_wrong_is_one_sentence_and_a_status(program: Program, arguments: tuple[str, ...], status: int) -> None:
    ran = program("experience", *arguments, "--json")
    assert ran.status == status
    assert set(ran.error) == {"code", "message", "next"}


def test_the_group_alone_helps(program: Program) -> None:
    assert "rollback" in program("experience").text
