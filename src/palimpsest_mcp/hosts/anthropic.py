"""Anthropic-style message lists: in as items, out with the content of single blocks changed; and their thinking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from ..models.items import Content, content_text
from ..ports.seams import Form
from .assemble import MessageForm
from .pieces import Piece, as_fields, need_fields, retext, text_of, told_kind, type_word, wrong_shape

_ROLES = ("user", "assistant", "system")


class AnthropicMessages(MessageForm):
    """The form of the Messages API: a list of messages, or an object with `system` and `messages`.

    Calls, thinking blocks and a provider's own blocks are never changed.
    """

    form: Form = "anthropic"

    def pieces(self, messages: Sequence[Any], root: str) -> Iterator[Piece]:
        return pieces_of(messages, root)

    def put(self, message: Any, piece: Piece, content: Content) -> Any:
        return put_block(message, piece, content)


def pieces_of(messages: Sequence[Any], root: str) -> Iterator[Piece]:
    """Every block in order.

    Raises:
        FileWrongShape: a message is no object, its role is unknown, or its content is neither string nor list.
    """
    for row, message in enumerate(messages):
        where = f"{root}[{row}]"
        fields = need_fields(message, where)
        role = fields.get("role")
        if role not in _ROLES:
            raise wrong_shape(f"{where}.role", f"one of {', '.join(_ROLES)} was expected")
        content = fields.get("content")
        if isinstance(content, str):
            yield Piece(sort="text", role=role, place=(row, 0), content=content, kind=told_kind(fields))
        elif isinstance(content, list):
            for at, block in enumerate(cast("list[Any]", content)):
                yield piece_of(block, role, (row, at), f"{where}.content[{at}]")
        else:
            raise wrong_shape(f"{where}.content", f"a string or a list was expected, {type_word(content)} stands there")


def piece_of(block: Any, role: str, place: tuple[int, int], where: str) -> Piece:
    """One content block. A type that is not known is kept whole."""
    fields = need_fields(block, where)
    reader = _READERS.get(text_of(fields, "type"), _whole)
    return reader(fields, role, place, where)


def result_content(content: Any, where: str) -> Content:
    """What a tool result holds; no content at all is the empty string.

    Raises:
        FileWrongShape: it is a number or a boolean.
    """
    if content is None:
        return ""
    if isinstance(content, (str, list, dict)):
        return cast("Content", content)
    raise wrong_shape(where, f"a string or a list was expected, {type_word(content)} stands there")


def _text(fields: dict[str, Any], role: str, place: tuple[int, int], where: str) -> Piece:
    text = fields.get("text")
    if not isinstance(text, str):
        return _whole(fields, role, place, where)
    return Piece(sort="text", role=role, place=place, content=text, kind=told_kind(fields))


def _call(fields: dict[str, Any], role: str, place: tuple[int, int], where: str) -> Piece:
    return Piece(
        sort="call",
        role=role,
        place=place,
        content=fields,
        call_id=fields.get("id"),
        tool_name=text_of(fields, "name"),
        args=as_fields(fields.get("input")),
        server_side=fields.get("type") != "tool_use",
    )


def _result(fields: dict[str, Any], role: str, place: tuple[int, int], where: str) -> Piece:
    return Piece(
        sort="result",
        role="tool",
        place=place,
        content=result_content(fields.get("content"), f"{where}.content"),
        call_id=fields.get("tool_use_id"),
        is_error=fields.get("is_error") is True,
        server_side=fields.get("type") != "tool_result",
        kind=told_kind(fields),
        title=text_of(fields, "title"),
        url=text_of(fields, "url"),
        source_channel=text_of(fields, "source_channel"),
    )


def _thinking(fields: dict[str, Any], role: str, place: tuple[int, int], where: str) -> Piece:
    return Piece(sort="thinking", role=role, place=place, content=fields)


def _image(fields: dict[str, Any], role: str, place: tuple[int, int], where: str) -> Piece:
    return Piece(sort="image", role=role, place=place, content=fields)


def _document(fields: dict[str, Any], role: str, place: tuple[int, int], where: str) -> Piece:
    return Piece(sort="document", role=role, place=place, content=fields, title=text_of(fields, "title"))


def _whole(fields: dict[str, Any], role: str, place: tuple[int, int], where: str) -> Piece:
    call_id = fields.get("tool_use_id")
    return Piece(sort="host", role=role, place=place, content=fields, call_id=call_id, server_side=call_id is not None)


_READERS: dict[str, Callable[[dict[str, Any], str, tuple[int, int], str], Piece]] = {
    "text": _text,
    "tool_use": _call,
    "server_tool_use": _call,
    "mcp_tool_use": _call,
    "tool_result": _result,
    "mcp_tool_result": _result,
    "thinking": _thinking,
    "redacted_thinking": _thinking,
    "image": _image,
    "document": _document,
}
"""Results of the provider's own tools (`web_search_tool_result` and its like) hold what only the provider can read, so
they are kept whole like any unknown type."""


def put_block(message: Any, piece: Piece, content: Content) -> Any:
    """The message with one block's content changed; all its other blocks are the same objects."""
    fields = need_fields(message, "message")
    old = fields["content"]
    if isinstance(old, str):
        return {**fields, "content": content}
    blocks = list(cast("list[Any]", old))
    blocks[piece.place[1]] = _changed(need_fields(blocks[piece.place[1]], "block"), piece, content)
    return {**fields, "content": blocks}


def _changed(block: dict[str, Any], piece: Piece, content: Content) -> Any:
    if piece.sort == "result":
        return {**block, "content": retext(block.get("content"), content, "text")}
    if isinstance(content, dict):
        return content
    text = content_text(content)
    if piece.sort != "text":
        return {"type": "text", "text": text}
    # Citations point into the text that just left.
    return {**{key: value for key, value in block.items() if key != "citations"}, "text": text}


# Thinking in a list of which something earlier changed: newer models refuse it (`binds_thinking` says which).


Place: TypeAlias = tuple[int, int]
"""Index of a message, and of a block in it."""

ASK_TO_DROP: Mapping[str, Any] = {
    "betas": ["thinking-binding-controls-2026-08-01"],
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
}
"""Fields of a request that have the API leave out what is invalid, where it would refuse the request."""
_TYPES = ("thinking", "redacted_thinking")


def thinking_in(messages: Sequence[Any]) -> Iterator[Place]:
    """Where thinking stands, in order."""
    for row, message in enumerate(messages):
        for at, block in enumerate(blocks_of(message)):
            if text_of(as_fields(block) or {}, "type") in _TYPES:
                yield row, at


def first_change(before: Sequence[Any], after: Sequence[Any]) -> Place | None:
    """The first block in which two lists of one length differ; None where they are equal."""
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        if old is new or old == new:
            continue
        pairs = zip(blocks_of(old), blocks_of(new), strict=False)
        return row, next((at for at, (one, other) in enumerate(pairs) if one != other), 0)
    return None


def without(messages: Sequence[Any], places: Sequence[Place]) -> list[Any]:
    """The list without the blocks at these places, and without messages that held nothing else."""
    gone = set(places)
    rows = {row for row, _ in gone}
    kept: list[Any] = []
    for row, message in enumerate(messages):
        if row not in rows:
            kept.append(message)
        elif left := [block for at, block in enumerate(blocks_of(message)) if (row, at) not in gone]:
            kept.append({**(as_fields(message) or {}), "content": left})
    return kept


def rows_without(rows: Sequence[dict[str, Any]], first: int) -> Iterator[dict[str, Any]]:
    """A transcript's rows without the thinking of answers behind row `first`: a row that held
    nothing else goes, and what followed it follows the row before it."""
    before: dict[str, Any] = {}
    for number, row in enumerate(rows):
        parent = text_of(row, "parentUuid")
        kept = {**row, "parentUuid": before[parent]} if parent in before else row
        message = row.get("message")
        if number > first and (places := list(thinking_in([message]))):
            left = without([message], places)
            if not left:
                before[text_of(row, "uuid")] = kept.get("parentUuid")
                continue
            kept = {**kept, "message": left[0]}
        yield kept


def blocks_of(message: Any) -> list[Any]:
    """The content blocks of a message; none where it is one text."""
    content = (as_fields(message) or {}).get("content")
    return cast("list[Any]", content) if isinstance(content, list) else []
