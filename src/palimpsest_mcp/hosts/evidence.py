"""What a tool result says of itself as evidence: title, URL, source channel; and whether it may be called evidence."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec

from ..models.items import Content
from .pieces import Piece, as_fields, text_of


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The first entry's fields, and what is wrong with any of them (empty: nothing)."""

    title: str = ""
    url: str = ""
    source_channel: str = ""
    problem: str = ""


def evidence_of(piece: Piece, args: dict[str, Any] | None) -> Evidence:
    """Read a result that stands for evidence (seed 000: non-empty title and URL, channel as in the call)."""
    entries = _entries(piece.content) or [{}]
    outer = {"title": piece.title, "url": piece.url, "source_channel": piece.source_channel}
    found = [_one({**entry, **{k: v for k, v in outer.items() if v}}) for entry in entries]
    wanted = _asked_channel(args or {})
    problem = next((p for p in (_problem(each, wanted) for each in found) if p), "")
    return msgspec.structs.replace(found[0], problem=problem)


def _problem(one: Evidence, wanted: str) -> str:
    if not one.title.strip():
        return "evidence without title"
    if not one.url.strip():
        return "evidence without url"
    if wanted and one.source_channel and one.source_channel != wanted:
        return "evidence whose source_channel differs from the channel in its call's arguments"
    return ""


def _asked_channel(args: dict[str, Any]) -> str:
    return next((text_of(args, key) for key in ("channel", "source_channel", "channel_name") if text_of(args, key)), "")


def _one(entry: dict[str, Any]) -> Evidence:
    return Evidence(
        title=text_of(entry, "title"),
        url=text_of(entry, "url") or text_of(entry, "source"),
        source_channel=text_of(entry, "source_channel"),
    )


def _entries(content: Content) -> list[dict[str, Any]]:
    """The objects that a result holds: itself, its blocks, its JSON text, or a list under `evidence` and its like."""
    if isinstance(content, str):
        return _from_text(content)
    if isinstance(content, dict):
        return _from_object(content)
    entries: list[dict[str, Any]] = []
    for block in content:
        fields = as_fields(block)
        if fields is None:
            continue
        entries += _from_text(text_of(fields, "text")) if fields.get("type") == "text" else [fields]
    return entries


def _from_text(text: str) -> list[dict[str, Any]]:
    if text.lstrip()[:1] not in ("{", "["):
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(value, list):
        return [cast("dict[str, Any]", each) for each in cast("list[Any]", value) if isinstance(each, dict)]
    return _from_object(cast("dict[str, Any]", value))


def _from_object(value: dict[str, Any]) -> list[dict[str, Any]]:
    for key in ("evidence", "results", "items"):
        inner = value.get(key)
        if isinstance(inner, list):
            return [cast("dict[str, Any]", each) for each in cast("list[Any]", inner) if isinstance(each, dict)]
    return [value]
