"""One block of a host's message, in the words that all forms share: what readers make and `assemble` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

import msgspec

from ..errors import FileWrongShape
from ..models.items import Content
from ..models.policies import NEVER_COMPACT

_TOLD_KINDS = frozenset((*NEVER_COMPACT, "evidence", "clarify_verification"))

Sort: TypeAlias = Literal["text", "call", "result", "thinking", "image", "document", "host"]
"""`host`: a block that only its provider understands, kept whole and never replaced."""


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """What one block says."""

    sort: Sort
    role: str
    place: tuple[int, int]
    """Message and block in the list that `render` works on."""
    content: Content
    call_id: Any = None
    """As the host gave it: any JSON value, None where there is none."""
    tool_name: str = ""
    args: dict[str, Any] | None = None
    is_error: bool = False
    server_side: bool = False
    """The provider ran the tool: call and result stand in the assistant's own message."""
    kind: str = ""
    """What the host itself says the item is."""
    title: str = ""
    url: str = ""
    source_channel: str = ""
    position: tuple[int, int] | None = None
    """In the host's own order, where that is not `place`."""
    uuid: str = ""
    uuid_block: int = 0
    ts: str = ""


def as_fields(value: Any) -> dict[str, Any] | None:
    """The fields of a block: a mapping, or an SDK's own object (pydantic) as one; None for anything else."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        dumped = dump(mode="json", exclude_unset=True)
        return cast("dict[str, Any]", dumped) if isinstance(dumped, dict) else None
    return None


def need_fields(value: Any, where: str) -> dict[str, Any]:
    """The fields of a value that must have some.

    Raises:
        FileWrongShape: naming `where`.
    """
    fields = as_fields(value)
    if fields is None:
        raise wrong_shape(where, f"an object was expected, {type_word(value)} stands there")
    return fields


def told_kind(fields: Mapping[str, Any]) -> str:
    """The kind that a host or a log writes beside a block, where it is one that matters; else empty."""
    kind = text_of(fields, "kind")
    return kind if kind in _TOLD_KINDS else ""


def text_of(fields: Mapping[str, Any], key: str) -> str:
    """A field's string, empty where there is none."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def wrong_shape(where: str, problem: str) -> FileWrongShape:
    """The error for a value that no session of this form has."""
    return FileWrongShape(
        f"`{where}`: {problem}.",
        next="Hand in an Anthropic or OpenAI message list, a Claude Code transcript, or one session a line.",
        where=where,
    )


def type_word(value: Any) -> str:
    """A JSON value's type in a reader's words; never the value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    words = {str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return words.get(cast("type[Any]", type(value)), f"a {type(value).__name__}")
