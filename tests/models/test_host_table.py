"""What is known of each host."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_mcp.core.install import Launch, planned
from palimpsest_mcp.models.host_table import HOSTS, host_note, host_row


@pytest.mark.parametrize("name", ["", "messages", "openai"])
def test_a_plain_message_list_is_sent_in_the_place_of_the_old_one(name: str) -> None:
    note = host_note(name)
    assert "next request" in note.how_to_apply


@pytest.mark.parametrize("name", ["claude-ai", "Claude Desktop", "some-new-host"])
def test_a_host_that_cannot_be_edited_is_said_to_be_unchanged(name: str) -> None:
    note = host_note(name)
    assert "unchanged" in note.how_to_apply


def test_spelling_of_a_name_does_not_matter() -> None:
    assert host_note(" Claude-Code ") == host_note("claude-code")


def test_a_client_that_only_begins_like_a_host_is_not_taken_for_one_that_our_plugin_acts_in() -> None:
    assert host_note("claude-code-router", attached="claude-code") == host_note("some-new-host")


def test_an_adapter_acts_only_where_it_is_attached() -> None:
    assert host_note("claude-code", attached="claude-code").adapter_does
    assert not host_note("codex", attached="claude-code").adapter_does
    assert not any(host_note(name).adapter_does for name in ("claude-code", "codex", "gemini-cli", ""))


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("claude-code", "Claude Code"),
        ("claude code", "Claude Code"),
        ("claude-ai", "Claude Desktop"),
        ("claude desktop", "Claude Desktop"),
        ("codex-mcp-client", "Codex"),
        ("gemini-cli-mcp-client", "Gemini CLI"),
    ],
)
def test_a_host_is_known_by_what_its_client_calls_itself(name: str, title: str) -> None:
    row = host_row(name)
    assert row is not None and row.title == title


def test_what_can_be_entered_in_a_host_is_said_of_it_and_nothing_else(tmp_path: Path) -> None:
    launch = Launch(command="p", environment={}, shell="p")
    for row in HOSTS.values():
        if row.entered:
            changes = planned(row.name, launch, environ={}, home=tmp_path, platform="linux")
            assert ", ".join(one.what for one in changes).replace(" and ", ", ") == row.entered
        else:
            with pytest.raises(KeyError):
                planned(row.name, launch, environ={}, home=tmp_path, platform="linux")
