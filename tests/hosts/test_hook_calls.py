"""What a hook hands over, in both spellings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.core.claude_code.events import filled, tool_response
from palimpsest_mcp.hosts.hook_call import read_call


@pytest.mark.parametrize("nothing", ["", "null", "undefined", "${agent_id}", None])
def test_what_the_client_has_nothing_for_is_absent(nothing: str | None) -> None:
    call = read_call("Stop", {"session_id": "s1", "agent_id": nothing})
    assert call.agent_id == "" and call.value("agent_id") is None


def test_an_object_reads_the_same_as_its_text() -> None:
    given_, text = {"tool_input": {"command": "ls"}}, {"tool_input": '{"command": "ls"}'}
    assert read_call("PreToolUse", given_).mapping("tool_input") == {"command": "ls"}
    assert read_call("PreToolUse", text).mapping("tool_input") == {"command": "ls"}
    assert read_call("PreToolUse", json.dumps(text)).mapping("tool_input") == {"command": "ls"}


def test_text_of_a_tool_that_looks_like_json_stays_text() -> None:
    call = read_call("PostToolUse", {"tool_name": "mcp__other__dump", "tool_response": '{"rows": 3}'})
    assert tool_response(call) == '{"rows": 3}'
    blocks = '[{"type": "text", "text": "hello"}]'
    call = read_call("PostToolUse", {"tool_name": "mcp__other__dump", "tool_response": blocks})
    assert tool_response(call) == [{"type": "text", "text": "hello"}]
    call = read_call("PostToolUse", {"tool_name": "Bash", "tool_response": '{"stdout": "hello"}'})
    assert tool_response(call) == {"stdout": "hello"}


@pytest.mark.parametrize(("given_", "count"), [("812", 812), (812, 812), ("0", None), ("12.5", None), (True, None)])
def test_counts_come_as_numbers_or_digits(given_: object, count: int | None) -> None:
    assert read_call("turn.complete", {"tokens": given_}).number("tokens") == count


@given(st.one_of(st.none(), st.text(), st.integers(), st.lists(st.text()), st.dictionaries(st.text(), st.text())))
def test_no_payload_whatever_raises(payload: object) -> None:
    call = read_call("Stop", payload)
    assert isinstance(call.session_id, str) and call.rows("messages") == []


def test_the_session_is_filled_in_where_a_tool_needs_one() -> None:
    prefix = "mcp__plugin_palimpsest_server__"
    assert filled(f"{prefix}compact_session", {"target": 0.4}, "real", False) == {"target": 0.4, "session_id": "real"}
    assert filled(f"{prefix}compact_session", {"session_id": "sparent"}, "real", True) == {"session_id": "real"}
    assert filled(f"{prefix}compact_session", {"session_id": "real"}, "real", True) is None
    assert filled(f"{prefix}load_handoff", {"task": "x"}, "real", False) is None


def test_a_digest_of_another_session_can_be_followed() -> None:
    asked = {"session_id": "sparent", "batch_id": "offload_0001"}
    assert filled("mcp__p__restore_batch", asked, "real", True) is None
    assert filled("mcp__p__restore_batch", asked, "real", False) == {**asked, "session_id": "real"}
    assert filled("mcp__p__search_offloaded", {"query": "x"}, "real", False) is None


def test_an_event_of_a_skill_gets_the_session_that_it_happened_in() -> None:
    event = {"skill": "search", "event": {"outcome": "success"}}
    changed = filled("mcp__p__record_experience", event, "real", False)
    assert changed == {"skill": "search", "event": {"outcome": "success", "session_id": "real"}}
    named = {"skill": "search", "event": {"outcome": "success", "session_id": "own"}}
    assert filled("mcp__p__record_experience", named, "real", False) is None
