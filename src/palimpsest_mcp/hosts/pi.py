"""Messages of Pi (`@earendil-works/pi-ai`, `types.ts`; read in 0.87.1): a result is a message of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .pieces import as_fields, entries_of, number_of, text_of

_SUMMARIES = ("compactionSummary", "branchSummary")


def messages(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The list as messages of the Messages API; a role that is not known counts as words of the user."""
    out: list[dict[str, Any]] = []
    for row in rows:
        role = text_of(row, "role")
        if role == "assistant":
            out.append({"role": "assistant", "content": list(filter(None, map(_part, entries_of(row, "content"))))})
        elif role == "toolResult":
            result = {"type": "tool_result", "tool_use_id": text_of(row, "toolCallId"), "content": _content(row)}
            failed = {"is_error": True} if row.get("isError") is True else {}
            _results(out).append({**result, **failed})
        elif content := _content(row):
            out.append({"role": "user", "content": content})
    return [message for message in out if message["content"]]


def summary(rows: Iterable[dict[str, Any]]) -> str:
    """Of the newest compaction that stands in the list."""
    found = [text_of(row, "summary") for row in rows if text_of(row, "role") in _SUMMARIES[:1]]
    return found[-1] if found else ""


def asked(row: Mapping[str, Any]) -> int:
    """Tokens of the request that an answer was given to, those from the cache among them."""
    told = as_fields(row.get("usage")) or {}
    return sum(number_of(told.get(name)) for name in ("input", "cacheRead", "cacheWrite"))


def _results(out: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The message of results behind an answer; parallel ones stand in the same."""
    if out and out[-1].get("results"):
        return out[-1]["content"]
    out.append({"role": "user", "content": [], "results": True})
    return out[-1]["content"]


def _content(row: dict[str, Any]) -> str | list[dict[str, Any]]:
    if text_of(row, "role") in _SUMMARIES:
        return text_of(row, "summary")
    if text_of(row, "role") == "bashExecution":
        return f"$ {text_of(row, 'command')}\n{text_of(row, 'output')}"
    if isinstance(row.get("content"), str):
        return row["content"]
    parts = list(filter(None, map(_part, entries_of(row, "content"))))
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _part(value: Any) -> dict[str, Any] | None:
    part = as_fields(value) or {}
    match part.get("type"):
        case "text":
            return {"type": "text", "text": text_of(part, "text")}
        case "toolCall":
            given = as_fields(part.get("arguments")) or {}
            return {"type": "tool_use", "id": text_of(part, "id"), "name": text_of(part, "name"), "input": given}
        case "image":
            source = {"type": "base64", "media_type": text_of(part, "mimeType"), "data": text_of(part, "data")}
            return {"type": "image", "source": source}
        case _:
            return None
