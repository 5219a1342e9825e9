"""Tool results as most hosts have them: a text, or a list of text blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from ..models.items import Content, content_text
from .pieces import as_fields

_BINARY = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_BINARY_SHARE = 0.05


class PlainResult(msgspec.Struct, frozen=True, kw_only=True):
    """Implements `ports.host.ToolOutput`."""

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
