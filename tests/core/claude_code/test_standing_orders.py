"""What the user laid down is handed on wherever a conversation begins again or is put in fewer words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.places import project_root

from .conftest import FakeClient

pytestmark = pytest.mark.anyio
Open = Callable[..., FakeClient]
ORDER = "Never push to main without my review."


def spoken(c: FakeClient) -> None:
    c.say(f"Move the importer. {ORDER}")
    c.answer("I look.", ("t1", "Bash", {"command": "ls"}))
    c.result("t1", "importer.py\n" * 200)
    c.answer("It is moved.", used=4_000)


async def test_a_clients_own_compaction_is_told_the_orders_before_all_else(p: Palimpsest, client: Open) -> None:
    c = client()
    spoken(c)
    await c.hook("UserPromptSubmit", prompt="x")
    told = (await c.hook("PreCompact", trigger="auto", custom_instructions="")).split("\n")
    assert told.index(f"- {ORDER}") < next(n for n, line in enumerate(told) if line.startswith("What the user asked"))


@pytest.mark.parametrize("source", ["resume", "startup", "compact"])
async def test_a_start_says_what_the_user_laid_down(p: Palimpsest, client: Open, source: str) -> None:
    c = client()
    spoken(c)
    await c.hook("UserPromptSubmit", prompt="x")
    await c.hook("SessionEnd", reason="other")
    assert ORDER in await c.context_of("SessionStart", source=source)


async def test_after_clear_the_new_session_hears_the_orders_of_the_old_one(p: Palimpsest, client: Open) -> None:
    c = client()
    spoken(c)
    await c.hook("UserPromptSubmit", prompt="x")
    await c.hook("SessionEnd", reason="clear")
    assert ORDER in await client("another").context_of("SessionStart", source="clear")


async def test_a_secret_in_an_order_is_masked_at_the_start(p: Palimpsest, client: Open) -> None:
    c = client()
    c.say("Always log in with password=Xk29vvQ71mzW on staging.")
    c.answer("Yes.", used=400)
    await c.hook("UserPromptSubmit", prompt="x")
    await c.hook("SessionEnd", reason="other")
    said = await c.context_of("SessionStart", source="resume")
    assert "Always log in" in said and "Xk29vvQ71mzW" not in said


def belongs_to(handoff: Path, folder: Path) -> None:
    """Have a handoff be one of another folder than ours, beside which there is a third."""
    for one in (folder, folder.parent / "there"):
        (one / ".git").mkdir(parents=True)
    text = handoff.read_text("utf-8")
    handoff.write_text(text.replace(f"Written in: {project_root('')}", f"Written in: {folder}"), "utf-8")


async def test_a_start_says_that_a_handoff_exists_for_this_folder_and_for_no_other(
    p: Palimpsest, client: Open, tmp_path: Path
) -> None:
    await p.record_items("s", [{"kind": "message", "role": "user", "content": "Move the importer to Postgres"}])
    written = await p.write_handoff("s", "Move the importer", fields={"key_context": {"facts": ["rows come twice"]}})
    belongs_to(Path(written.path), tmp_path / "here")
    here = await client("new-1").hook("SessionStart", source="startup", cwd=str(tmp_path / "here"))
    there = await client("new-2").hook("SessionStart", source="startup", cwd=str(tmp_path / "there"))
    told = json.loads(here)["hookSpecificOutput"]["additionalContext"]
    assert "exists for this folder: Move the importer." in told and f"load_handoff with task {written.name}" in told
    assert there == ""
