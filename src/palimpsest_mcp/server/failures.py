"""Failures as a model may read them: `{code, message, next}` in a ToolError, and never a stored word."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from ..errors import PalimpsestError

EXAMPLES: Mapping[str, str] = {
    "check_context_ratio": '{"session_id": "new", "used_tokens": 140000, "window_tokens": 200000}',
    "record_items": '{"session_id": "new", "items": [{"kind": "tool_result", "role": "tool", "tool_name": "read_file",'
    ' "tool_use_id": "call_1", "args": {"path": "a.py"}, "content": "text of the result"}]}',
    "show_context": '{"session_id": "s7f3k", "pin": ["call_1"]}',
    "compact_session": '{"session_id": "s7f3k", "target": 0.4, "window_tokens": 200000, "dry_run": true}',
    "list_offloaded": '{"session_id": "s7f3k"}',
    "search_offloaded": '{"query": "connection refused", "session_id": "s7f3k", "limit": 5}',
    "restore_batch": '{"session_id": "s7f3k", "batch_id": "offload_0007", "offset": 0}',
    "update_summary": '{"session_id": "s7f3k", "sections": {"decisions_made": [{"decision": "Keep the first of two",'
    ' "rationale": "the source repeats them"}], "next_steps": ["Test with two files"]}}',
    "write_handoff": '{"session_id": "s7f3k", "task": "Make the nightly import survive duplicate rows", "fields":'
    ' {"in_progress": ["tests/test_load.py"], "key_context": {"questions": ["May old rows be deleted?"]}}}',
    "load_handoff": '{"task": "Make the nightly import survive duplicate rows"}',
    "record_experience": '{"skill": "search-web", "event": {"session_id": "s7f3k", "outcome": "success",'
    ' "winning_pattern": "brand + pain word", "metrics": {"yield": 18, "relevant": 9}}}',
    "compact_experience": '{"skill": "search-web", "dry_run": true}',
    "host_event": '{"event": "Stop", "payload": {"session_id": "…"}}',
}
"""A call that is right, for each tool: what an error about arguments shows (I2)."""


def failure(code: str, message: str, next: str) -> ToolError:
    """The one form of every failure."""
    return ToolError(json.dumps({"code": code, "message": message, "next": next}, ensure_ascii=False))


def known_failure(error: PalimpsestError) -> ToolError:
    """One of ours, one to one."""
    return failure(**error.to_json())


def wrong_arguments(tool: str, error: ValidationError) -> ToolError:
    """Names the arguments and what they should be, never the values that came."""
    faults = (
        f"{'.'.join(str(step) for step in fault['loc']) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    )
    return failure("invalid_argument", "; ".join(faults) + ".", f"A correct call: {tool} {EXAMPLES[tool]}")


def unknown_arguments(tool: str, unknown: list[str], known: list[str]) -> ToolError:
    """An argument that would be ignored could be the one that mattered (`dryrun`)."""
    return failure(
        "invalid_argument",
        f"{tool} has no argument {', '.join(unknown)}.",
        f"Use only {', '.join(known)}. A correct call: {tool} {EXAMPLES[tool]}",
    )


def unexpected_failure(tool: str, error: BaseException) -> ToolError:
    """What nobody foresaw: its kind only, since its text may quote what is stored."""
    return failure(
        "internal_error",
        f"{tool} failed in a way it should not ({type(error).__name__}); nothing that was acknowledged is lost.",
        "Try once more. If it stays, start the server with PALIMPSEST_LOG_LEVEL=debug and report what its stderr says.",
    )
