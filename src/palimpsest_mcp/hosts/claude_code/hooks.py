"""Calls of Claude Code's hooks: what a tool answered, and which session a call of our own tools is for."""

from __future__ import annotations

from typing import Any, cast

from ...models.tools import own_tool
from ..hook_call import HookCall
from ..pieces import as_fields


def tool_response(call: HookCall) -> Any:
    """`tool_response` as the tool gave it. An MCP tool's text may look like JSON: only blocks are read as such."""
    value = call.value("tool_response")
    raw = call.fields.get("tool_response")
    if isinstance(raw, str) and call.text("tool_name").startswith("mcp__") and not _are_blocks(value):
        return raw if value is not None else None
    return value


def _are_blocks(value: Any) -> bool:
    entries = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(entries) and all(isinstance((as_fields(entry) or {}).get("type"), str) for entry in entries)


# Calls of our own tools in a client: the model does not know its session's id, so the hook fills it in (I1).


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
