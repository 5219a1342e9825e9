"""A skill is used in a client: what earlier uses taught is told at its start, and how it went is recorded once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

from .conftest import FakeClient, Open

pytestmark = pytest.mark.anyio


async def use_skill(c: FakeClient, name: str, call: str = "toolu_skill") -> str:
    """The model starts a skill. Returns what is put before it."""
    c.answer("", (call, "Skill", {"skill": name}))
    said = await c.context_of(
        "PostToolUse",
        tool_name="Skill",
        tool_use_id=call,
        tool_input=json.dumps({"skill": name}),
        tool_response=json.dumps({"success": True, "commandName": name}),
    )
    c.result(call, f"Launching skill: {name}")
    c.write(type="user", isMeta=True, message={"role": "user", "content": f"Base directory for this skill: /s/{name}"})
    return said


def logged(home: Path, skill: str) -> list[dict[str, Any]]:
    path = home / "skills" / skill / "experience" / "patterns.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


async def test_a_use_is_recorded_when_the_user_says_the_next_thing(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Release it please, with the skill for that.")
    assert await use_skill(c, "release") == ""
    await c.bash("t1", "pytest -q", "bash: pytest: command not found\nexit code 127")
    await c.bash("t2", "python -m pytest -q", "12 passed in 3.1s")
    assert await c.hook("UserPromptSubmit", prompt="Thanks, now update the readme") == ""
    use, lesson = logged(Path(p.settings.home), "release")
    assert (use["outcome"], use["session_id"], use["metrics"]["user_feedback"]) == (
        "success",
        "main-session",
        "accepted",
    )
    assert use["metrics"] | {"calls": 2, "checks_passed": 1} == use["metrics"]
    assert lesson["winning_pattern"] == "run `python -m pytest -q` instead of `pytest -q`"


async def test_a_correction_of_a_skill_is_told_at_its_next_start(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Publish the package.")
    await use_skill(c, "publish")
    await c.bash("t1", "npm publish --tag latest", "+ pkg@1.2.0")
    c.say("No, use pnpm publish with --tag next.")
    await c.hook("UserPromptSubmit", prompt="No, use pnpm publish with --tag next.")
    (use,) = logged(Path(p.settings.home), "publish")
    assert use["metrics"]["user_feedback"] == "correction"
    assert (use["failure_mode"], use["notes"]) == (
        "npm publish --tag latest",
        "No, use pnpm publish with --tag next.",
    )
    await p.compact_experience("publish")
    said = await use_skill(client("later"), "publish")
    assert "- npm publish --tag latest; wanted: No, use pnpm publish with --tag next." in said
    assert "The user corrected:" in said and len(said) <= 1_200


async def test_the_end_of_a_session_records_what_is_open_and_nothing_twice(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Check it.")
    await use_skill(c, "check")
    await c.bash("t1", "ruff check .", "Found 3 errors.\nexit code 1")
    await c.hook("UserPromptSubmit", prompt="and what about the docs?")
    c.say("and what about the docs?")
    await use_skill(c, "check", "toolu_again")
    await c.bash("t2", "ruff check docs", "All checks passed!")
    await c.hook("SessionEnd", reason="other")
    await c.hook("SessionEnd", reason="other")
    found = logged(Path(p.settings.home), "check")
    assert [(one["id"], one["outcome"]) for one in found] == [
        (found[0]["id"], "failure"),
        (found[1]["id"], "success"),
    ]
    assert found[0]["metrics"]["checks_failed"] == 1 and "Found 3 errors" in found[0]["notes"]


async def test_a_skill_that_a_user_calls_by_its_name_is_told_and_recorded_too(p: Palimpsest, client: Open) -> None:
    for n in range(3):
        await p.record_experience(
            "team.deploy", {"session_id": f"s{n}", "outcome": "success", "winning_pattern": "deploy to staging first"}
        )
    await p.compact_experience("team.deploy")
    c = client()
    said = await c.context_of("UserPromptExpansion", command_name="team:deploy", command_args="api")
    assert "- deploy to staging first (worked in 3 of 3)" in said
    assert await c.hook("UserPromptSubmit", prompt="/team:deploy api") == ""
    c.say("<command-message>team:deploy</command-message>\n<command-name>/team:deploy</command-name>")
    c.write(type="user", isMeta=True, message={"role": "user", "content": "Base directory for this skill: /s/deploy"})
    await c.bash("t1", "make deploy", "done")
    await c.hook("UserPromptSubmit", prompt="wrong!")
    assert logged(Path(p.settings.home), "team.deploy")[-1]["metrics"]["user_feedback"] == "rejected"


async def test_our_own_skill_and_other_tools_are_no_uses(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Hello.")
    assert await use_skill(c, "palimpsest:palimpsest") == ""
    await c.bash("t1", "ls", "a")
    await c.hook("SessionEnd", reason="other")
    assert await p.experience_status() == ()


async def test_secrets_in_a_correction_are_masked(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Push it.")
    await use_skill(c, "push")
    await c.bash("t1", "git push", "ok")
    await c.hook("UserPromptSubmit", prompt="No, use the token ghp_16C7e42F292c6912E7710c838347Ae178B4a to push.")
    assert "ghp_16C7" not in json.dumps(logged(Path(p.settings.home), "push"))
