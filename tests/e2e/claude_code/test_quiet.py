"""What a person sees of the plugin where nothing is wrong: no red line, and one line with the next step."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .driver import OUR_TOOLS, Client, wait_for
from .fake_messages import say
from .long_sessions import reading
from .terminal import Terminal

pytestmark = pytest.mark.long


def compacted(client: Client, screen: Terminal) -> str:
    """The screen after a few steps, a compaction by hand and one more prompt."""
    screen.ask("go through the files", "THE FIRST ANSWER")
    screen.type("/compact")
    session_id = client.api.requests[-1].session_id
    wait_for(
        lambda: any(row.get("subtype") == "compact_boundary" for row in client.rows(session_id)),
        "the session was not compacted",
    )
    return screen.ask("and now", "THE SECOND ANSWER")


@pytest.fixture
def prepared(client: Client) -> Client:
    client.settings(permissions={"allow": ["Bash", "Read", OUR_TOOLS]})
    first, second = say("THE FIRST ANSWER", used=60_000), say("THE SECOND ANSWER", used=30_000)
    client.api.play(reading(client, 0, 1), first, second)
    return client


def test_without_the_command_one_line_says_how_to_install_it_and_nothing_fails(
    prepared: Client, terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for program in os.listdir(folder):
            if program != "palimpsest-mcp" and not (tools / program).exists():
                (tools / program).symlink_to(Path(folder) / program)
    assert shutil.which("palimpsest-mcp", path=str(tools)) is None
    prepared.environment["PATH"] = str(tools)
    shown = compacted(prepared, terminal(prepared))
    assert shown.count("Palimpsest is idle") == 1 and "uv tool install" in shown
    assert "failed" not in shown and "not connected" not in shown and "not found" not in shown


def test_a_compaction_tells_the_user_where_the_originals_are(
    prepared: Client, terminal: Callable[..., Terminal]
) -> None:
    shown = compacted(prepared, terminal(prepared))
    assert "palimpsest-mcp list s" in shown and "of originals" in shown
    assert "successfully: {}" not in shown and "failed" not in shown
