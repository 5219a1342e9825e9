"""Calls of our own tools in a client: the model does not know its session's id, so the hook fills it in (I1)."""

from __future__ import annotations

from typing import Any

from .pieces import as_fields

_FILLED = (
    "check_context_ratio record_items show_context compact_session list_offloaded restore_batch update_summary "
    "write_handoff"
)
FILLED = frozenset(_FILLED.split())
"""Tools that need a session."""
LOOKS_BACK = frozenset(("list_offloaded", "restore_batch", "show_context", "search_offloaded"))
"""Tools that read what was kept, where a digest names another session: its parent's, or one that was asked about."""
_NOT_ONE = ("", "new", "current", "this", "session")


def own_tool(tool_name: str) -> str:
    """The bare name of one of our tools, as a client calls it."""
    return tool_name.rsplit("__", 1)[-1]


def filled(tool_name: str, tool_input: dict[str, Any], session_id: str, known: bool) -> dict[str, Any] | None:
    """The whole input with the session's id; None where nothing is to change.

    Args:
        known: the session that the input names is one of the store's.
    """
    tool = own_tool(tool_name)
    named = tool_input.get("session_id")
    if tool in LOOKS_BACK and isinstance(named, str) and named not in _NOT_ONE and known:
        return None
    if tool in FILLED or (tool == "search_offloaded" and named):
        return None if named == session_id else {**tool_input, "session_id": session_id}
    if tool == "record_experience":
        event = as_fields(tool_input.get("event"))
        if event is not None and not event.get("session_id"):
            return {**tool_input, "event": {**event, "session_id": session_id}}
    return None


__all__ = ["filled", "own_tool"]
