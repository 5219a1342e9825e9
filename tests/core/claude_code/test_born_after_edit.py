"""A file that was just edited is read whole, even where the transcript does not tell of the edit yet."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings

from ...conftest import first_of
from .conftest import FakeClient, log_of

pytestmark = pytest.mark.anyio

LONG = "\n".join(log_of(n) for n in range(20))


@pytest.fixture
async def born(tmp_path: Path) -> AsyncGenerator[FakeClient]:
    """A client whose server replaces long results at birth."""
    settings = Settings.load(home=tmp_path / "home")
    async with Palimpsest.open(settings=settings, attached="claude-code") as opened:
        yield FakeClient(opened, tmp_path / "projects" / "-work-project", "main-session")


async def read(client: FakeClient, call: str, path: str, **more: str) -> str:
    """What PostToolUse answers to a Read whose rows are not in the transcript yet."""
    told = {"filePath": path, "content": LONG, "numLines": 820, "startLine": 1, "totalLines": 820}
    return await client.hook(
        "PostToolUse",
        tool_name="Read",
        tool_use_id=call,
        tool_input=json.dumps({"file_path": path}),
        tool_response=json.dumps({"type": "text", "file": told}),
        **more,
    )


@pytest.mark.parametrize("agent", first_of(["", "helper-1"]))
async def test_a_file_edited_a_moment_ago_stays_whole_before_the_transcript_has_the_edit(
    born: FakeClient, agent: str
) -> None:
    born.say("Change the notes.")
    await born.hook(
        "PreToolUse",
        tool_name="Edit",
        tool_use_id="toolu_1",
        tool_input=json.dumps({"file_path": "/work/project/notes.txt", "old_string": "a", "new_string": "b"}),
        agent_id=agent,
    )
    assert "restore_batch" not in await read(born, "toolu_2", "/work/project/notes.txt")
    assert "restore_batch" in await read(born, "toolu_3", "/work/project/other.txt")
