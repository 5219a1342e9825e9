"""Image blocks of restored originals (D14)."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any, cast

from mcp.types import ContentBlock, ImageContent, TextContent

from ..models.advice import step
from ..models.items import is_raw_bytes
from ..models.reports import Restored
from .paging import TextPage

MAX_BASE64 = 5_000_000
"""Characters of one image; hosts and providers refuse larger ones."""
_SIGNS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def pictures(restored: Sequence[Restored], page: TextPage) -> list[ContentBlock]:
    """The images of every item whose text begins on this page."""
    return [
        _block(media_type, data, restored[piece.index])
        for piece in page.pieces
        if piece.start == 0
        for media_type, data in _images(restored[piece.index])
    ]


def _block(media_type: str, data: str, source: Restored) -> ContentBlock:
    if len(data) <= MAX_BASE64:
        return ImageContent(type="image", data=data, mime_type=media_type)
    where = step("restore_batch", session_id=source.session_id, batch_id=source.batch_id, item_id=source.item_id)
    return TextContent(
        type="text",
        text=f"[{media_type}, {len(data)} base64 characters: too large here; the user has it by "
        f"`{where.command()} --json`]",
    )


def _images(one: Restored) -> Iterator[tuple[str, str]]:
    if is_raw_bytes(one.content):
        media_type = _media_type(one.data)
        if media_type:
            yield media_type, base64.b64encode(one.data).decode()
    else:
        blocks = one.content if isinstance(one.content, list) else [one.content]
        for block in blocks:
            yield from _image_of(block)


def _image_of(block: Any) -> Iterator[tuple[str, str]]:
    """Anthropic `source`, MCP `data`, OpenAI `image_url`, and images inside a tool result's own list."""
    if not isinstance(block, dict):
        return
    fields = cast("dict[str, Any]", block)
    if isinstance(inner := fields.get("content"), list):
        for part in cast("list[Any]", inner):
            yield from _image_of(part)
    source = fields.get("source")
    media = cast("dict[str, Any]", source) if isinstance(source, dict) else fields
    kind, data = media.get("media_type", media.get("mimeType", "")), media.get("data", "")
    if fields.get("type") == "image" and isinstance(data, str) and isinstance(kind, str) and data and kind:
        yield kind, data
    url = fields.get("image_url")
    address = cast("dict[str, Any]", url).get("url") if isinstance(url, dict) else url
    if isinstance(address, str) and address.startswith("data:image/") and ";base64," in address:
        head, _, body = address.partition(";base64,")
        yield head.removeprefix("data:"), body


def _media_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in _SIGNS.items() if data.startswith(sign)), "")
