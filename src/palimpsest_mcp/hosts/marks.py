"""Message lists of any form: where they stand in a value, and by which marks a form is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from .pieces import as_fields, text_of, type_word, wrong_shape

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
        fields.get("role") in _OPENAI_ROLES
        or isinstance(fields.get("tool_calls"), list)
        or isinstance(fields.get("function_call"), dict)
        or ("role" not in fields and text_of(fields, "type") in RESPONSES_ITEMS)
    )


def _types(fields: dict[str, Any]) -> set[str]:
    content = fields.get("content")
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return {text_of(as_fields(block) or {}, "type") for block in blocks}
