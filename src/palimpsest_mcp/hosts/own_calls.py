"""Calls of our own tools in a client: the model does not know its session's id, so the hook fills it in (I1)."""

from __future__ import annotations

from typing import Any

from ..models.tools import own_tool
from .pieces import as_fields

_NOT_ONE = ("", "new", "current", "this", "session")


def filled(tool_name: str, tool_input: dict[str, Any], session_id: str, known: bool) -> dict[str, Any] | None:
    """The whole input with the session's id; None where nothing is to change.

    Args:
        known: the session that the input names is one of the store's.
    """
    tool = own_tool(tool_name)
    if tool is None:
        return None
    named = tool_input.get("session_id")
    if tool.looks_back and isinstance(named, str) and named not in _NOT_ONE and known:
        return None
    if tool.fills_session == "always" or (tool.fills_session == "if named" and named):
        return None if named == session_id else {**tool_input, "session_id": session_id}
    if tool.fills_session == "in the event":
        event = as_fields(tool_input.get("event"))
        if event is not None and not event.get("session_id"):
            return {**tool_input, "event": {**event, "session_id": session_id}}
    return None


__all__ = ["filled"]
