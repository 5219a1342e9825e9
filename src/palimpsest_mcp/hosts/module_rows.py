"""Messages as Claude Code shows them to a hooks module: rows with calls and results beside their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .pieces import as_fields, text_of


def results_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every tool result of the client's list that names its call."""
    found: list[dict[str, Any]] = []
    for row in rows:
        listed = row.get("toolResults")
        entries = cast("list[Any]", listed) if isinstance(listed, list) else []
        found += [one for one in map(as_fields, entries) if one is not None and text_of(one, "tool_use_id")]
    return found


def as_messages(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The client's list as an Anthropic message list."""
    messages: list[dict[str, Any]] = []
    for row in rows:
        blocks: list[dict[str, Any]] = [
            {
                "type": "tool_result",
                "tool_use_id": text_of(one, "tool_use_id"),
                "content": text_of(one, "text"),
                "is_error": one.get("isError") is True,
            }
            for one in results_of([row])
        ]
        if text := text_of(row, "text"):
            blocks.append({"type": "text", "text": text})
        uses = row.get("toolUses")
        for use in map(as_fields, cast("list[Any]", uses) if isinstance(uses, list) else []):
            if use is not None:
                name, call_id = text_of(use, "tool"), text_of(use, "tool_use_id")
                blocks.append(
                    {"type": "tool_use", "id": call_id, "name": name, "input": as_fields(use.get("input")) or {}}
                )
        messages.append({"role": "assistant" if row.get("role") == "assistant" else "user", "content": blocks})
    return messages


__all__ = ["as_messages", "results_of"]
