"""A transcript of Claude Code with other contents in it, as a session of its own that the client can resume.

What the client needs for that was found by running it (2.1.328): rows keep their uuids, a changed result loses the
tool's own record beside it, the log of requests goes, and usage is zeroed, since numbers of the longer session would
make the client compact at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..models.items import Content
from .anthropic_messages import piece_of, put_block
from .pieces import as_fields, text_of

_REQUEST_LOG = ("api-request", "api-request-shape", "api-request-blob")
_BESIDE_A_RESULT = ("toolUseResult", "mcpMeta")
"""Copies of a result, for the client's own screen."""


def rewritten(
    rows: Sequence[dict[str, Any]], contents: Mapping[tuple[int, int], Content], session_id: str
) -> list[dict[str, Any]]:
    """The rows of the new session; the given ones are not changed.

    Args:
        contents: place of a row in the file and of a block in it -> what takes that block's place.
        session_id: of the new session.
    """
    by_row: dict[int, dict[int, Content]] = {}
    for (number, index), content in contents.items():
        by_row.setdefault(number, {})[index] = content
    found: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        if text_of(row, "type") in _REQUEST_LOG:
            continue
        new = _with_contents(row, by_row[number]) if number in by_row else dict(row)
        if "sessionId" in new:
            new["sessionId"] = session_id
        found.append(_without_usage(new))
    return found


def _with_contents(row: dict[str, Any], contents: Mapping[int, Content]) -> dict[str, Any]:
    message = as_fields(row.get("message")) or {}
    role = text_of(message, "role") or text_of(row, "type")
    for index, content in contents.items():
        old = message.get("content")
        if not isinstance(old, list):
            message = {**message, "content": content}
            continue
        block = cast("list[Any]", old)[index]
        message = put_block(message, piece_of(block, role, (0, index), f"content[{index}]"), content)
    kept = {key: value for key, value in row.items() if key not in _BESIDE_A_RESULT}
    return {**kept, "message": message}


def _without_usage(row: dict[str, Any]) -> dict[str, Any]:
    message = as_fields(row.get("message")) if text_of(row, "type") == "assistant" else None
    if message is None or not isinstance(message.get("usage"), dict):
        return row
    return {**row, "message": {**message, "usage": _zeroed(message["usage"])}}


def _zeroed(value: Any) -> Any:
    """The same with every count at zero."""
    if isinstance(value, dict):
        return {key: _zeroed(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_zeroed(inner) for inner in cast("list[Any]", value)]
    return 0 if type(value) in (int, float) else value
