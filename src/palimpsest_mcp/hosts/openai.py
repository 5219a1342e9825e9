"""OpenAI-style lists: chat completions messages and the item list of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ..models.items import Content, content_text
from ..ports.seams import Form
from .anthropic import result_content
from .assemble import MessageForm
from .pieces import RESPONSES_ITEMS, Piece, as_fields, need_fields, retext, text_of, told_kind, type_word, wrong_shape

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXTS = frozenset(("text", "input_text", "output_text"))
_IMAGES = frozenset(("image_url", "input_image", "image"))
_FILES = frozenset(("file", "input_file", "input_audio"))


class OpenAIMessages(MessageForm):
    """Chat messages with `tool_calls` (or the older `function_call`), or Responses items; also under `messages`.

    Calls, reasoning and a provider's own items are never changed.
    """

    form: Form = "openai"

    def pieces(self, messages: Sequence[Any], root: str) -> Iterator[Piece]:
        return pieces_of(messages, root)

    def put(self, message: Any, piece: Piece, content: Content) -> Any:
        return _put(message, piece, content)


def pieces_of(messages: Sequence[Any], root: str) -> Iterator[Piece]:
    """Every block in order: content first, then the message's calls.

    Raises:
        FileWrongShape: an entry is neither a message nor an item of the Responses API, or its content has a wrong type.
    """
    for row, message in enumerate(messages):
        where = f"{root}[{row}]"
        fields = need_fields(message, where)
        if "role" not in fields and "type" in fields:
            yield _response_item(fields, row, where)
            continue
        role = _ROLES.get(text_of(fields, "role"))
        if role is None:
            raise wrong_shape(f"{where}.role", f"one of {', '.join(_ROLES)} was expected")
        if role == "tool":
            yield _tool_message(fields, row, where)
        else:
            yield from _message(fields, role, row, where)


def _message(fields: dict[str, Any], role: str, row: int, where: str) -> Iterator[Piece]:
    at = 0
    content = fields.get("content")
    if isinstance(content, str):
        yield Piece(sort="text", role=role, place=(row, 0), content=content, kind=told_kind(fields))
        at = 1
    elif isinstance(content, list):
        parts = cast("list[Any]", content)
        for at, part in enumerate(parts):
            yield _part(need_fields(part, f"{where}.content[{at}]"), role, (row, at))
        at = len(parts)
    elif content is not None or role != "assistant":
        raise wrong_shape(f"{where}.content", f"a string or a list was expected, {type_word(content)} stands there")
    yield from _calls(fields, role, row, at, where)


def _part(part: dict[str, Any], role: str, place: tuple[int, int]) -> Piece:
    kind, text = text_of(part, "type"), part.get("text")
    if kind in _TEXTS and isinstance(text, str):
        return Piece(sort="text", role=role, place=place, content=text)
    sort = "image" if kind in _IMAGES else "document" if kind in _FILES else "host"
    return Piece(sort=sort, role=role, place=place, content=part)


def _calls(fields: dict[str, Any], role: str, row: int, at: int, where: str) -> Iterator[Piece]:
    calls = fields.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise wrong_shape(f"{where}.tool_calls", f"a list was expected, {type_word(calls)} stands there")
    for n, call in enumerate(cast("list[Any]", calls or [])):
        whole = need_fields(call, f"{where}.tool_calls[{n}]")
        told = as_fields(whole.get("function")) or as_fields(whole.get("custom")) or whole
        yield _call(whole, told, role, (row, at), whole.get("id"))
        at += 1
    legacy = as_fields(fields.get("function_call"))
    if legacy is not None:
        yield _call(legacy, legacy, role, (row, at), _legacy_id(legacy))
        at += 1
    if reasoning := text_of(fields, "reasoning_content"):
        yield Piece(sort="thinking", role=role, place=(row, at), content=reasoning)


def _legacy_id(fields: dict[str, Any]) -> dict[str, str]:
    """The older form has no call ids: a result follows the call of its function's name."""
    return {"function": text_of(fields, "name")}


def _call(whole: dict[str, Any], told: dict[str, Any], role: str, place: tuple[int, int], call_id: Any) -> Piece:
    return Piece(
        sort="call",
        role=role,
        place=place,
        content=whole,
        call_id=call_id,
        tool_name=text_of(told, "name"),
        args=_args(told.get("arguments", told.get("input"))),
    )


def _args(arguments: Any) -> dict[str, Any] | None:
    """Arguments as an object. They come as JSON text; what is not JSON stays text, under `input`."""
    if not isinstance(arguments, str):
        return as_fields(arguments)
    try:
        value: Any = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {"input": arguments}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"input": arguments}


def _tool_message(fields: dict[str, Any], row: int, where: str) -> Piece:
    legacy = fields.get("role") == "function"
    return Piece(
        sort="result",
        role="tool",
        place=(row, 0),
        content=result_content(fields.get("content"), f"{where}.content"),
        call_id=_legacy_id(fields) if legacy else fields.get("tool_call_id"),
        tool_name=text_of(fields, "name"),
        is_error=fields.get("is_error") is True or fields.get("status") == "error",
        title=text_of(fields, "title"),
        url=text_of(fields, "url"),
        kind=told_kind(fields),
        source_channel=text_of(fields, "source_channel"),
    )


def _response_item(fields: dict[str, Any], row: int, where: str) -> Piece:
    kind, place, call_id = text_of(fields, "type"), (row, 0), fields.get("call_id")
    if kind not in RESPONSES_ITEMS:
        raise wrong_shape(where, "neither a role nor a known item type stands there")
    if kind.endswith("_output"):
        content = result_content(fields.get("output"), f"{where}.output")
        if kind in ("function_call_output", "custom_tool_call_output"):
            return Piece(sort="result", role="tool", place=place, content=content, call_id=call_id)
        return Piece(sort="host", role="assistant", place=place, content=fields, call_id=call_id)
    if kind in ("function_call", "custom_tool_call"):
        return _call(fields, fields, "assistant", place, call_id)
    if kind.endswith("_call") and call_id is not None:
        told = {"name": kind, "arguments": fields.get("action")}
        return _call(fields, told, "assistant", place, call_id)
    return Piece(sort="thinking" if kind == "reasoning" else "host", role="assistant", place=place, content=fields)


def _put(message: Any, piece: Piece, content: Content) -> Any:
    fields = need_fields(message, "message")
    if piece.sort == "result":
        key = "content" if "role" in fields else "output"
        return {**fields, key: retext(fields.get(key), content, "text" if key == "content" else "input_text")}
    if piece.sort == "call":
        return _put_call(fields, piece, content)
    if isinstance(fields["content"], str):
        return {**fields, "content": content}
    parts = list(cast("list[Any]", fields["content"]))
    part = need_fields(parts[piece.place[1]], "part")
    if isinstance(content, dict):
        parts[piece.place[1]] = content
    elif piece.sort == "text":
        parts[piece.place[1]] = {**part, "text": content_text(content)}
    else:
        text_type = "input_text" if text_of(part, "type").startswith("input_") else "text"
        parts[piece.place[1]] = {"type": text_type, "text": content_text(content)}
    return {**fields, "content": parts}


def _put_call(fields: dict[str, Any], piece: Piece, content: Content) -> Any:
    """The message, or the item of the Responses API, with another call in the place of this one."""
    if "role" not in fields:
        return content
    before = fields.get("content")
    first = 1 if isinstance(before, str) else len(cast("list[Any]", before)) if isinstance(before, list) else 0
    calls = list(cast("list[Any]", fields.get("tool_calls") or []))
    if piece.place[1] - first >= len(calls):
        return {**fields, "function_call": content}
    calls[piece.place[1] - first] = content
    return {**fields, "tool_calls": calls}
