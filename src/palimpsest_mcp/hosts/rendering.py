"""Rendering for every form: which blocks change, and that nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ..errors import InvalidArgument
from ..models.items import Content
from ..ports.host import HostContext
from .pieces import Piece

Put: TypeAlias = Callable[[Any, Piece, Content], Any]
"""A new message with one piece's content changed."""

_FIXED = ("call", "thinking", "host")


def render_pieces(
    context: HostContext, contents: Mapping[str, Content], pieces: Iterable[Piece], put: Put
) -> list[Any]:
    """The context's messages with new contents put in their places.

    Args:
        contents: item id -> content. Ids that the context does not have are passed over; a content equal to what
            stands there changes nothing.
        pieces: of `context.messages`, in the order in which the items were made.

    Raises:
        InvalidArgument: the item is a call, a thinking block or a provider's own block (L8).
    """
    messages = list(context.messages)
    for item, piece in zip(context.items, pieces, strict=True):
        if item.id not in contents or contents[item.id] == piece.content:
            continue
        if piece.sort in _FIXED:
            raise InvalidArgument(
                f"Item {item.id} is a {item.kind}: its block stays as the host wrote it.",
                next="Replace tool results, images or plain text only.",
            )
        messages[piece.place[0]] = put(messages[piece.place[0]], piece, contents[item.id])
    return messages


def retext(old: Any, new: Content, text_type: str) -> Content:
    """The new content in the shape of the old: a string in the place of a list becomes one text block."""
    if isinstance(new, str) and isinstance(old, list):
        return [{"type": text_type, "text": new}]
    return new
