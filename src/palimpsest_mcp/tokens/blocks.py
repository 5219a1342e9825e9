"""What of an item's content a tokenizer reads: its texts, and how many binaries stand beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from ..models.items import Content, is_raw_bytes

Counted: TypeAlias = tuple[list[str], int]
"""Texts to count, and the number of images and other binaries."""

_BINARY_TYPES = frozenset({"image", "image_url", "input_image", "input_audio", "audio", "document", "file", "resource"})
_BINARY_KEYS = frozenset({"data", "base64", "blob", "file_data"})


def content_texts(content: Content | None) -> Counted:
    """Split a content into texts and binaries. A binary's base64 is never a text: it is not what the model reads."""
    if content is None:
        return [], 0
    if isinstance(content, str):
        return [content], 0
    if isinstance(content, dict):
        return _block(content)
    texts: list[str] = []
    binaries = 0
    for block in content:
        more, count = content_texts(block) if isinstance(block, str) else _block(block)
        texts += more
        binaries += count
    return texts, binaries


def _block(block: Any) -> Counted:
    if not isinstance(block, dict):
        return [_compact(block)], 0
    fields = cast("dict[str, Any]", block)
    if is_raw_bytes(fields):
        return [], 1
    match fields.get("type"):
        case "text" | "input_text" | "output_text" if isinstance(fields.get("text"), str):
            return [fields["text"]], 0
        case "thinking" if isinstance(fields.get("thinking"), str):
            return [fields["thinking"]], 0
        case "tool_use" | "server_tool_use":
            return [str(fields.get("name", "")), _compact(fields.get("input"))], 0
        case "function" if isinstance(fields.get("function"), dict):
            return _function(cast("dict[str, Any]", fields["function"])), 0
        case "tool_result":
            return content_texts(cast("Content | None", fields.get("content")))
        case str(kind) if kind in _BINARY_TYPES:
            return _binary(fields)
        case _:
            return _other(fields)


def _function(function: Mapping[str, Any]) -> list[str]:
    arguments = function.get("arguments")
    return [str(function.get("name", "")), arguments if isinstance(arguments, str) else _compact(arguments)]


def _binary(fields: dict[str, Any]) -> Counted:
    """A document may carry its text in the open; then that is what the model reads."""
    for inner in (fields.get("source"), fields.get("resource"), fields):
        if isinstance(inner, dict):
            source = cast("dict[str, Any]", inner)
            plain = source.get("data") if source.get("type") == "text" else source.get("text")
            if isinstance(plain, str):
                return [plain], 0
    return [], 1


def _other(fields: dict[str, Any]) -> Counted:
    """A block of a kind not known here: its JSON, with long encoded data counted as one binary each."""
    binaries = 0

    def plain(value: Any) -> Any:
        nonlocal binaries
        if isinstance(value, dict):
            kept: dict[str, Any] = {}
            for key, inner in cast("dict[str, Any]", value).items():
                if key in _BINARY_KEYS and isinstance(inner, str) and len(inner) > 256:
                    binaries += 1
                else:
                    kept[key] = plain(inner)
            return kept
        if isinstance(value, list):
            return [plain(inner) for inner in cast("list[Any]", value)]
        return value

    return [_compact(plain(fields))], binaries


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
