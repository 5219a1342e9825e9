"""One block of a host's message, in the words that all forms share: what readers make and `assemble` takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

from ..context.arguments import Place, strings_of, with_strings
from ..errors import FileWrongShape, InvalidArgument
from ..models.items import Content
from ..models.plans import NEVER_COMPACT
from ..ports.seams import HostContext

# The block of a call with other strings in its arguments: the same keys, the same ids, valid JSON.

_ROOT: Place = ("input",)
"""Where arguments stand that are one text and no object."""


def with_arguments(block: Mapping[str, Any], texts: Mapping[Place, str]) -> dict[str, Any] | None:
    """The block with other strings in these places of its arguments; None where that cannot be done without touching
    anything else.

    Arguments that are JSON text stay as they are spelled: only the literals of these strings change.
    """
    outer, key = _where(block)
    told = _fields(block[outer]) if outer else block
    value = told.get(key) if told is not None else None
    if told is None or not texts:
        return None
    changed = _in_text(value, texts, key) if isinstance(value, str) else with_strings(value, texts)
    if changed is None or changed is value:
        return None
    new = {**told, key: changed}
    return {**block, outer: new} if outer else new


def _where(block: Mapping[str, Any]) -> tuple[str, str]:
    """The field around name and arguments, empty for none, and the one that the arguments are in."""
    outer = next((name for name in ("function", "custom") if _fields(block.get(name)) is not None), "")
    told = cast("Mapping[str, Any]", block[outer]) if outer else block
    return outer, "arguments" if "arguments" in told else "input"


def _in_text(text: str, texts: Mapping[Place, str], key: str) -> str | None:
    """Arguments that are a text: JSON with other literals in it, or the one argument of a tool that takes a text."""
    try:
        before: Any = json.loads(text)
    except (ValueError, RecursionError):
        return texts.get(_ROOT) if key == "input" and set(texts) == {_ROOT} else None
    known = dict(strings_of(before))
    changed = text
    for place, new in texts.items():
        literal = next((one for one in _literals(known.get(place)) if changed.count(one) == 1), None)
        if literal is None:
            return None
        changed = changed.replace(literal, json.dumps(new, ensure_ascii=False))
    return changed if json.loads(changed) == with_strings(before, texts) else None


def _literals(text: str | None) -> tuple[str, ...]:
    return () if text is None else (json.dumps(text, ensure_ascii=False), json.dumps(text))


def without_strings(block: Mapping[str, Any]) -> Any:
    """All of a call but the strings in its arguments: what must not change when those give way."""
    outer, key = _where(block)
    told = _fields(block[outer]) if outer else block
    if told is None or key not in told:
        return dict(block)
    value = told[key]
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = ""
    bare = {**told, key: with_strings(value, dict.fromkeys((place for place, _ in strings_of(value)), ""))}
    return {**block, outer: bare} if outer else bare


def _fields(value: Any) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


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


def number_of(value: Any) -> int:
    """A count, 0 where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def entries_of(fields: Mapping[str, Any], key: str) -> list[Any]:
    """A field's list, empty where there is none."""
    value = fields.get(key)
    return cast("list[Any]", value) if isinstance(value, list) else []


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


# Message lists of any form: where they stand in a value, and by which marks a form is known.


_ANTHROPIC_WORDS = (
    "tool_use tool_result thinking redacted_thinking server_tool_use mcp_tool_use mcp_tool_result image document"
)
_ANTHROPIC_BLOCKS = frozenset(_ANTHROPIC_WORDS.split())
_OPENAI_PARTS = frozenset(
    ("image_url", "input_text", "output_text", "input_image", "input_audio", "input_file", "refusal")
)
_OPENAI_ROLES = frozenset(("tool", "function", "developer"))
_RESPONSES_WORDS = (
    "function_call function_call_output custom_tool_call custom_tool_call_output reasoning local_shell_call "
    "local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output item_reference "
    "compaction file_search_call web_search_call computer_call computer_call_output image_generation_call "
    "code_interpreter_call mcp_call mcp_list_tools mcp_approval_request mcp_approval_response"
)
RESPONSES_ITEMS = frozenset(_RESPONSES_WORDS.split())
"""Types of the items, beside messages, in a list of the Responses API."""


def messages_key(value: Any) -> str:
    """The key under which an object holds its list: `messages`, or `input` in a request of the Responses API; empty
    where there is no such object."""
    if not isinstance(value, dict):
        return ""
    fields = cast("dict[str, Any]", value)
    if "messages" in fields:
        return "messages"
    entries = fields.get("input")
    return "input" if isinstance(entries, list) and looks_like_messages(cast("list[Any]", entries)) else ""


def messages_of(value: Any) -> list[Any] | None:
    """The list itself, or the one that the object holds; None where there is none."""
    key = messages_key(value)
    inner = cast("dict[str, Any]", value)[key] if key else value
    return cast("list[Any]", inner) if isinstance(inner, list) else None


def list_of(value: Any) -> tuple[list[Any], str]:
    """The message list, and the name by which errors speak of it.

    Raises:
        FileWrongShape: there is no list.
    """
    messages, key = messages_of(value), messages_key(value)
    if messages is None:
        inner = cast("dict[str, Any]", value)[key] if key else value
        raise wrong_shape(key or "$", f"a list of messages was expected, {type_word(inner)} stands there")
    return messages, key or "messages"


def session_id_of(value: Any) -> str:
    """The host's own id of the session, where the object around the messages has one."""
    return text_of(cast("dict[str, Any]", value), "session_id") if isinstance(value, dict) else ""


def model_of(value: Any) -> str:
    """The model that the object around the messages names: `model`, `meta.model` or the first of `meta.models`."""
    if not isinstance(value, dict):
        return ""
    outer = cast("dict[str, Any]", value)
    meta = as_fields(outer.get("meta")) or {}
    models = meta.get("models")
    first = cast("list[Any]", models)[0] if isinstance(models, list) and models else ""
    return text_of(outer, "model") or text_of(meta, "model") or (first if isinstance(first, str) else "")


def system_text_of(value: Any) -> str:
    """The system prompt beside the messages: a string, or its text blocks joined by a newline."""
    if not isinstance(value, dict):
        return ""
    fields = cast("dict[str, Any]", value)
    system = fields.get("system", fields.get("instructions"))
    if isinstance(system, str):
        return system
    blocks = cast("list[Any]", system) if isinstance(system, list) else []
    return "\n".join(text_of(as_fields(block) or {}, "text") for block in blocks)


def looks_like_messages(messages: Sequence[Any]) -> bool:
    """Whether the first entry is a message, or an item of the Responses API. An empty list is a session without any."""
    if not messages:
        return True
    first = as_fields(messages[0])
    return first is not None and ("role" in first or text_of(first, "type") in RESPONSES_ITEMS)


def list_form(messages: Sequence[Any]) -> Literal["anthropic", "openai"]:
    """The form of a message list by its first telling mark; without one, a leading system message means OpenAI's."""
    for message in messages:
        fields = as_fields(message) or {}
        if _is_openai(fields):
            return "openai"
        types = _types(fields)
        if types & _ANTHROPIC_BLOCKS:
            return "anthropic"
        if types & _OPENAI_PARTS:
            return "openai"
    first = as_fields(messages[0]) if messages else None
    return "openai" if first is not None and first.get("role") == "system" else "anthropic"


def _is_openai(fields: dict[str, Any]) -> bool:
    return (
        text_of(fields, "role") in _OPENAI_ROLES
        or isinstance(fields.get("tool_calls"), list)
        or isinstance(fields.get("function_call"), dict)
        or ("role" not in fields and text_of(fields, "type") in RESPONSES_ITEMS)
    )


def _types(fields: dict[str, Any]) -> set[str]:
    content = fields.get("content")
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return {text_of(as_fields(block) or {}, "type") for block in blocks}


# Rendering for every form: which blocks change, and that nothing else does.


Put: TypeAlias = Callable[[Any, Piece, Content], Any]
"""A new message with one piece's content changed."""

_FIXED = ("thinking", "host")


def render_pieces(
    context: HostContext, contents: Mapping[str, Content], pieces: Iterable[Piece], put: Put
) -> list[Any]:
    """The context's messages with new contents put in their places.

    Args:
        contents: item id -> content. Ids that the context does not have are passed over; a content equal to what
            stands there changes nothing.
        pieces: of `context.messages`, in the order in which the items were made.

    Raises:
        InvalidArgument: the item is a thinking block or a provider's own block, or a call of which more changes than
            strings in its arguments (L8).
    """
    messages = list(context.messages)
    for item, piece in zip(context.items, pieces, strict=True):
        if item.id not in contents or contents[item.id] == piece.content:
            continue
        if piece.sort in _FIXED or (piece.sort == "call" and not _same_call(piece.content, contents[item.id])):
            raise InvalidArgument(
                f"Item {item.id} is a {item.kind}: its block stays as the host wrote it.",
                next="Replace tool results, images, plain text or strings in the arguments of calls only.",
            )
        messages[piece.place[0]] = put(messages[piece.place[0]], piece, contents[item.id])
    return messages


def _same_call(old: Content, new: Content) -> bool:
    return isinstance(old, dict) and isinstance(new, dict) and without_strings(old) == without_strings(new)


def retext(old: Any, new: Content, text_type: str) -> Content:
    """The new content in the shape of the old: a string in the place of a list becomes one text block."""
    if isinstance(new, str) and isinstance(old, list):
        return [{"type": text_type, "text": new}]
    return new
