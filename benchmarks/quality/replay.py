"""A session as a list of events in order: what was said, what was called, what came back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

Message = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """One block of a message."""

    kind: Literal["said", "called", "result"]
    message: int
    """Index of its message."""
    text: str
    """Of a call: its arguments as JSON."""
    name: str = ""
    """Of the tool."""
    id: str = ""
    arguments: Any = None
    by_assistant: bool = False


def events(messages: list[Message]) -> list[Event]:
    """All blocks of a session in order; thinking counts as said."""
    found: list[Event] = []
    names: dict[str, str] = {}
    for at, message in enumerate(messages):
        content = message["content"]
        own = message["role"] == "assistant"
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
                text = json.dumps(block["input"], ensure_ascii=False)
                found.append(Event("called", at, text, block["name"], block["id"], block["input"], own))
            elif block["type"] == "tool_result":
                call = block["tool_use_id"]
                found.append(Event("result", at, result_text(block), names.get(call, "tool"), call))
            else:
                said = block.get("text") or block.get("thinking") or ""
                found.append(Event("said", at, str(said), by_assistant=own))
    return found


def result_text(block: Message) -> str:
    """The text of a tool_result block."""
    inner: Any = block.get("content") or ""
    if isinstance(inner, str):
        return inner
    return "\n".join(str(one.get("text", "")) for one in cast("list[Message]", inner))


def results_of(messages: list[Message]) -> dict[str, str]:
    """Call id -> text of its result, in order."""
    return {one.id: one.text for one in events(messages) if one.kind == "result"}


def all_text(messages: list[Message]) -> str:
    """What a model reads of a session."""
    return "\n".join(one.text for one in events(messages))


def rest_text(messages: list[Message]) -> str:
    """The same without results."""
    return "\n".join(one.text for one in events(messages) if one.kind != "result")


def leaves(value: Any) -> Iterator[str]:
    """Strings and numbers of a call's arguments."""
    if isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def replaced(messages: Sequence[Message], views: dict[str, str]) -> list[Message]:
    """The list with other texts in some results."""
    found: list[Message] = []
    for message in messages:
        content = message["content"]
        if not isinstance(content, str):
            content = [
                {**block, "content": views.get(block["tool_use_id"], block["content"])}
                if block["type"] == "tool_result"
                else block
                for block in cast("list[Message]", content)
            ]
        found.append({**message, "content": content})
    return found
