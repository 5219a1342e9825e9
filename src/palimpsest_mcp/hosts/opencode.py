"""Messages of opencode: `{info, parts}` for plugins of the first kind (1.18), blocks for those of the second.

A part `tool` holds a call and what came of it. The second kind's list is that of its own library: `tool-call` and
`tool-result` stand in messages of their own (sst/opencode, `packages/plugin/src/promise/session.ts`, 2026-11).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .pieces import as_fields, entries_of, number_of, text_of


def messages(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The list as messages of the Messages API."""
    out: list[dict[str, Any]] = []
    for row in rows:
        out += _first(row) if "parts" in row else _second(row)
    return [message for message in out if message["content"]]


def summary(rows: Iterable[dict[str, Any]]) -> str:
    """The text of the newest answer that is marked as one."""
    found = ""
    for row in rows:
        if "parts" in row and (as_fields(row.get("info")) or {}).get("summary") is True:
            found = "\n".join(text_of(part, "text") for part in _parts(row, "parts") if part.get("type") == "text")
    return found


def asked(row: Mapping[str, Any]) -> int:
    """Tokens of the request that an answer was given to, those from the cache among them."""
    told = as_fields((as_fields(row.get("info")) or {}).get("tokens")) or {}
    cache = as_fields(told.get("cache")) or {}
    return sum(number_of(one) for one in (told.get("input"), cache.get("read"), cache.get("write")))


def _parts(row: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [part for part in map(as_fields, entries_of(row, name)) if part is not None]


def _first(row: dict[str, Any]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for part in _parts(row, "parts"):
        if part.get("type") == "text" and part.get("ignored") is not True:
            said.append({"type": "text", "text": text_of(part, "text")})
        elif part.get("type") == "tool":
            state, call_id = as_fields(part.get("state")) or {}, text_of(part, "callID")
            given = as_fields(state.get("input")) or {}
            said.append({"type": "tool_use", "id": call_id, "name": text_of(part, "tool"), "input": given})
            result = {"type": "tool_result", "tool_use_id": call_id}
            if state.get("status") == "completed" and not entries_of(state, "attachments"):
                results.append({**result, "content": text_of(state, "output")})
            elif state.get("status") == "completed":  # a picture beside it: left as it is, and counted by its words
                shown: list[dict[str, Any]] = [
                    {"type": "text", "text": text_of(state, "output")},
                    {"type": "document", "source": {}},
                ]
                results.append({**result, "content": shown})
            elif state.get("status") == "error":
                results.append({**result, "content": text_of(state, "error"), "is_error": True})
    role = "assistant" if text_of(as_fields(row.get("info")) or {}, "role") == "assistant" else "user"
    return [{"role": role, "content": said}, {"role": "user", "content": results}]


def _second(row: dict[str, Any]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for part in _parts(row, "content"):
        match part.get("type"):
            case "text":
                content.append({"type": "text", "text": text_of(part, "text")})
            case "tool-call":
                given = as_fields(part.get("input")) or {}
                call = {"type": "tool_use", "id": text_of(part, "id"), "name": text_of(part, "name"), "input": given}
                content.append(call)
            case "tool-result":
                told = as_fields(part.get("result")) or {}
                value = told.get("value", part.get("result"))
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                failed = {"is_error": True} if told.get("type") == "error" else {}
                content.append({"type": "tool_result", "tool_use_id": text_of(part, "id"), "content": text, **failed})
            case _:
                pass
    role = text_of(row, "role")
    return [{"role": role if role == "assistant" else "user", "content": content}]
