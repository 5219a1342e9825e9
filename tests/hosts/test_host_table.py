"""What is known of each host."""

from __future__ import annotations

import pytest

from palimpsest_mcp.hosts.host_table import host_note


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


def test_no_host_has_an_adapter_yet() -> None:
    assert not any(host_note(name).adapter for name in ("claude-code", "codex", "gemini-cli", ""))
