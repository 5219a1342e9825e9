"""Requests of four provider APIs: where their conversation stands, and how it is read and written back.

A request of an API that is not known here is none of ours, and goes through as it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from ..models.items import content_text
from ..ports.seams import Form
from .pieces import as_fields, entries_of, text_of

Messages = list[Any]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One API."""

    name: str
    path: re.Pattern[str]
    """Of the requests that hold a conversation."""
    key: str
    """Member of the request with its list."""
    form: Form
    assistant: str = "assistant"
    read: Callable[[Messages], Messages] | None = None
    """The list as messages of `form`; None: it is that already."""
    write: Callable[[Messages, Messages, Messages], Messages] | None = None
    """The list, its messages, and those as they are to be -> the list as it is to be."""


def provider_of(path: str) -> Provider | None:
    """Whose request it is, by the end of its path; None for any other."""
    return next((one for one in PROVIDERS if one.path.search(path)), None)


def first_answer(provider: Provider, rows: Sequence[Any]) -> int | None:
    """Where the first answer of the model stands; None before there is one."""
    for at, row in enumerate(rows):
        fields = as_fields(row) or {}
        role, kind = text_of(fields, "role"), text_of(fields, "type")
        if role == provider.assistant or (not role and (kind == "reasoning" or kind.endswith("_call"))):
            return at
    return None


def _read_gemini(rows: Messages) -> Messages:
    """Contents as messages of the Messages API, part for block. Calls have no ids: results follow them in order."""
    out: Messages = []
    waiting: list[tuple[str, str]] = []
    for row, value in enumerate(rows):
        fields = as_fields(value) or {}
        answer = text_of(fields, "role") == "model"
        waiting = [] if answer else waiting
        blocks: list[dict[str, Any]] = []
        for at, part in enumerate(entries_of(fields, "parts")):
            told = as_fields(part) or {}
            call, result = as_fields(told.get("functionCall")), as_fields(told.get("functionResponse"))
            if call is not None:
                name = f"call-{row}-{at}"
                waiting.append((text_of(call, "name"), name))
                blocks.append(
                    {"type": "tool_use", "id": name, "name": text_of(call, "name"), "input": call.get("args")}
                )
            elif result is not None and (name := _taken(waiting, text_of(result, "name"))):
                response = as_fields(result.get("response")) or {}
                failed = {"is_error": True} if "error" in response else {}
                blocks.append({"type": "tool_result", "tool_use_id": name, "content": _said(response), **failed})
            elif set(told) == {"text"} and isinstance(told["text"], str):
                blocks.append({"type": "text", "text": told["text"]})
            else:  # pictures, thoughts, code that ran at the provider: none of ours
                blocks.append({"type": "gemini_part", "part": part})
        out.append({"role": "assistant" if answer else "user", "content": blocks})
    return out


def _taken(waiting: list[tuple[str, str]], tool: str) -> str:
    at = next((at for at, (name, _) in enumerate(waiting) if name == tool), None)
    return "" if at is None else waiting.pop(at)[1]


def _field(response: dict[str, Any]) -> str:
    """The member with the words of a result; empty where no single one has them."""
    if isinstance(response.get("output"), str):
        return "output"
    texts = [name for name, value in response.items() if isinstance(value, str)]
    return texts[0] if len(response) == len(texts) == 1 else ""


def _said(response: dict[str, Any]) -> Any:
    name = _field(response)
    return response[name] if name else [{"type": "gemini_response", "response": response}]


def _write_gemini(rows: Messages, before: Messages, after: Messages) -> Messages:
    out = list(rows)
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        parts = list(entries_of(rows[row], "parts"))
        for at, (was, now) in enumerate(zip(old["content"], new["content"], strict=True)):
            if now is was or was["type"] != "tool_result":
                continue  # arguments of calls are signed together with the thought that made them
            part = cast("dict[str, Any]", parts[at])
            result = cast("dict[str, Any]", part["functionResponse"])
            response = {**result["response"], _field(result["response"]) or "output": content_text(now["content"])}
            parts[at] = {**part, "functionResponse": {**result, "response": response}}
            out[row] = {**rows[row], "parts": parts}
    return out


PROVIDERS = (
    Provider(name="anthropic", path=re.compile(r"/messages$"), key="messages", form="anthropic"),
    Provider(name="openai chat", path=re.compile(r"/chat/completions$"), key="messages", form="openai"),
    Provider(name="openai responses", path=re.compile(r"/responses$"), key="input", form="openai"),
    Provider(
        name="gemini",
        path=re.compile(r":(?:stream)?[gG]enerateContent$"),
        key="contents",
        form="anthropic",
        assistant="model",
        read=_read_gemini,
        write=_write_gemini,
    ),
)
