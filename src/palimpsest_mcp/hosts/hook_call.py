"""One call of a host's hook: its fields, whichever way the host spelled them, and its result as most hosts have it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ..models.items import Content, content_text
from .pieces import as_fields

_ABSENT = ("", "null", "undefined", "None")
_JSON_STARTS = ("{", "[")


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """An event with what the client handed over. Hooks answered by a server get texts, objects as JSON text; a command
    hook and a module get JSON as it is: both read the same here."""

    event: str
    fields: dict[str, Any]

    @property
    def session_id(self) -> str:
        """The client's own id of the conversation, from the payload and from nowhere else."""
        return self.text("session_id")

    @property
    def agent_id(self) -> str:
        """Of the sub-agent in which it happened; empty on the main chain."""
        return self.text("agent_id", "agentId")

    @property
    def transcript_path(self) -> str:
        """Of the main chain, also inside a sub-agent."""
        return self.text("transcript_path")

    def text(self, *names: str) -> str:
        """The first of these fields that holds a text."""
        for name in names:
            value = self.fields.get(name)
            if isinstance(value, str) and not _is_absent(value):
                return value
        return ""

    def number(self, name: str) -> int | None:
        """A count of at least 1, as a number or as its digits."""
        value = self.fields.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    def mapping(self, name: str) -> dict[str, Any] | None:
        """A field that is an object, or the JSON text of one."""
        return as_fields(self.value(name))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A field that is a list of objects, or the JSON text of one; what is no object in it is left out."""
        value = self.value(name)
        entries = cast("list[Any]", value) if isinstance(value, list) else []
        return [row for row in map(as_fields, entries) if row is not None]

    def value(self, name: str) -> Any:
        """A field as JSON: text that is a whole object or list is read as one. None when it is absent."""
        value = self.fields.get(name)
        if not isinstance(value, str):
            return value
        if _is_absent(value):
            return None
        return _as_json(value) if value.lstrip().startswith(_JSON_STARTS) else value


def read_call(event: str, payload: Any) -> HookCall:
    """A call from an object, or from its JSON text; anything else has no fields."""
    value = _as_json(payload) if isinstance(payload, str) else payload
    fields = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}
    named = fields.get("hook_event_name")
    return HookCall(event=event or (named if isinstance(named, str) else ""), fields=fields)


def _is_absent(text: str) -> bool:
    """Also a `${…}` that the client had nothing for and left as it stood."""
    return text in _ABSENT or (text.startswith("${") and text.endswith("}") and "\n" not in text and len(text) < 100)


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_BINARY = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_BINARY_SHARE = 0.05


class PlainResult(msgspec.Struct, frozen=True, kw_only=True):
    """Implements `ports.seams.ToolOutput`."""

    content: Content
    target: str = ""
    most_characters: int = 45_000
    spilled_to: str = ""
    beside: str = ""

    def whole(self) -> Content | None:
        """All of it."""
        return self.content

    def as_row(self, text: str) -> str:
        """As it is."""
        return text

    def with_text(self, text: str) -> Any:
        """A text for a text, one block for blocks."""
        return [{"type": "text", "text": text}] if isinstance(self.content, list) else text


def plain_result(result: Any, target: str = "") -> PlainResult | None:
    """A text, or a list of text blocks, of a tool of any host; None for what holds anything else.

    Args:
        target: file that was read, where it was one.
    """
    if isinstance(result, list) and only_text(cast("list[Any]", result)):
        found = PlainResult(content=cast("list[Any]", result), target=target)
    elif isinstance(result, str):
        found = PlainResult(content=result, target=target)
    else:
        return None
    return None if is_binary(content_text(found.content)) else found


def only_text(blocks: Sequence[Any]) -> bool:
    """Whether these are text blocks that can be given back as they were, and at least one."""
    told = [as_fields(block) or {} for block in blocks]
    return bool(told) and all(set(block) == {"type", "text"} and isinstance(block["text"], str) for block in told)


def is_binary(text: str) -> bool:
    """Whether a text is what a terminal made of bytes: control characters and replaced ones among it."""
    return len(_BINARY.findall(text)) > _BINARY_SHARE * len(text)
