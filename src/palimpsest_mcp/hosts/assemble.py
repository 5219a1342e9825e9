"""From pieces to items: ids, kinds, units, actions. The same for every form."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from ..models.items import Content, Item, ItemIds, content_bytes, json_key
from ..ports.seams import Form, HostContext
from .actions import action_of
from .pieces import (
    Piece,
    as_fields,
    list_form,
    list_of,
    looks_like_messages,
    messages_of,
    model_of,
    render_pieces,
    session_id_of,
    system_text_of,
    text_of,
    wrong_shape,
)

# Which result belongs to which call, whatever the ids are.


class Pairing(msgspec.Struct, frozen=True):
    """Pairs as indexes into the list of pieces."""

    call_of: dict[int, int]
    """Result -> its call."""
    open_calls: frozenset[int]
    """Calls of the newest assistant turn, when one of them waits for its result and nothing came after it."""


def pair(pieces: Sequence[Piece]) -> Pairing:
    """Pair every result with the nearest earlier call of its id that has none yet.

    Parallel calls of one id are answered in their own order. A further result of a call that was answered belongs to
    the newest call of that id. No id (missing or empty) is an id of its own.
    """
    waiting: dict[str, list[int]] = {}
    latest: dict[str, int] = {}
    call_of: dict[int, int] = {}
    for index, piece in enumerate(pieces):
        if piece.sort == "call":
            key = _key(piece)
            waiting.setdefault(key, []).append(index)
            latest[key] = index
        elif piece.sort == "result" or (piece.sort == "host" and piece.call_id is not None):
            key = _key(piece)
            call = _take(pieces, waiting.get(key, []))
            call = latest.get(key) if call is None else call
            if call is not None:
                call_of[index] = call
    return Pairing(call_of, _open_calls(pieces, set(call_of.values())))


def _key(piece: Piece) -> str:
    call_id = None if piece.call_id == "" else piece.call_id
    return f"{piece.server_side} {json_key(call_id)}"


def _take(pieces: Sequence[Piece], waiting: list[int]) -> int | None:
    """The first unanswered call of the newest message that has one."""
    if not waiting:
        return None
    newest = pieces[waiting[-1]].place[0]
    first = next(at for at, call in enumerate(waiting) if pieces[call].place[0] == newest)
    return waiting.pop(first)


def _open_calls(pieces: Sequence[Piece], answered: set[int]) -> frozenset[int]:
    """Calls of the last assistant turn, unless something other than results came after it.

    A turn is one message, or a run of calls that stand as messages of their own.
    """
    calls: list[int] = []
    newest: tuple[int, bool] | None = None
    for index in range(len(pieces) - 1, -1, -1):
        piece = pieces[index]
        if newest is None and piece.sort == "result" and piece.role == "tool":
            continue
        if piece.role != "assistant":
            break
        message, only_calls = newest or (piece.place[0], True)
        if piece.place[0] != message and not (only_calls and piece.sort == "call"):
            break
        newest = (message, only_calls and piece.sort == "call")
        if piece.sort == "call" and not piece.server_side:
            calls.append(index)
    return frozenset(calls) if any(call not in answered for call in calls) else frozenset()


# What a tool result says of itself as evidence: title, URL, source channel; and whether it may be called evidence.


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


_KINDS = {"call": "tool_call", "thinking": "thinking", "image": "image", "document": "document", "host": "host_block"}


class Assembled(msgspec.Struct, frozen=True):
    """Items in the order of their pieces, one each."""

    items: tuple[Item, ...]
    open_units: frozenset[str]


def assemble(pieces: Sequence[Piece], kind_by_tool: Mapping[str, str]) -> Assembled:
    """Make one item of every piece.

    Args:
        kind_by_tool: tool name -> kind of its results, where the host does not say.
    """
    pairing = pair(pieces)
    maker = _Maker(_query_message(pieces), kind_by_tool)
    items: list[Item] = []
    for index, piece in enumerate(pieces):
        call = pairing.call_of.get(index)
        if call is None:
            items.append(maker.make(piece, None, ""))
        else:
            items.append(maker.make(piece, pieces[call], items[call].unit))
    return Assembled(tuple(items), frozenset(items[call].unit for call in pairing.open_calls))


def _query_message(pieces: Sequence[Piece]) -> int:
    """The message of the original query: the user's first with text. After a host's own compaction that is the host's
    summary, which holds the query from then on."""
    texts = (piece for piece in pieces if piece.role == "user" and piece.sort == "text" and not piece.kind)
    return next((piece.place[0] for piece in texts if _says(piece)), -1)


def _says(piece: Piece) -> bool:
    return not isinstance(piece.content, str) or bool(piece.content.strip())


class _Maker:
    """Makes the items of one list, in its order."""

    def __init__(self, query_message: int, kind_by_tool: Mapping[str, str]) -> None:
        self._query_message = query_message
        self._kind_by_tool = kind_by_tool
        self._ids = ItemIds()

    def make(self, piece: Piece, caller: Piece | None, unit: str) -> Item:
        """The item of one piece, with what its call says of it."""
        tool = piece.tool_name or ("" if caller is None else caller.tool_name)
        args = piece.args if caller is None else caller.args
        sha256, size_bytes = _measure(piece)
        item_id = self._id(piece, caller, sha256)
        in_unit = piece.sort in ("call", "result")
        kind = self._kind(piece, tool)
        evidence = evidence_of(piece, args) if kind == "evidence" else Evidence()
        return Item(
            id=item_id,
            kind="tool_result" if evidence.problem else kind,
            role=piece.role,
            position=piece.position or piece.place,
            content=piece.content,
            sha256=sha256,
            size_bytes=size_bytes,
            unit=unit or (item_id if in_unit else ""),
            tool_name=tool,
            call_id=_shown(piece.call_id),
            args=args,
            action=action_of(tool, args) if in_unit and tool else None,
            is_error=piece.is_error,
            title=piece.title or evidence.title,
            url=piece.url or evidence.url,
            source_channel=piece.source_channel or evidence.source_channel,
            ts=piece.ts,
            warnings=(f"kept as a plain tool result: {evidence.problem}",) if evidence.problem else (),
        )

    def _id(self, piece: Piece, caller: Piece | None, sha256: str) -> str:
        if piece.sort == "call":
            return self._ids.call(piece.call_id, otherwise=_told(piece))
        if piece.sort == "result":
            return self._ids.result(piece.call_id, otherwise="" if caller is None else _told(caller))
        if piece.uuid:
            return self._ids.block(piece.uuid, piece.uuid_block)
        return self._ids.text(piece.role, sha256)

    def _kind(self, piece: Piece, tool: str) -> str:
        if piece.kind:
            return piece.kind
        if piece.sort == "result":
            return self._kind_by_tool.get(tool, "tool_result")
        if piece.sort != "text":
            return _KINDS[piece.sort]
        if piece.role == "system":
            return "system_prompt"
        return "original_query" if piece.role == "user" and piece.place[0] == self._query_message else "message"


def _told(call: Piece) -> str:
    """What a call says, which stays when its result is replaced."""
    return json_key([call.tool_name, call.args])


def _measure(piece: Piece) -> tuple[str, int]:
    """SHA-256 and size of a piece's exact bytes."""
    try:
        data = content_bytes(piece.content)
    except ValueError:
        raise wrong_shape(f"messages[{piece.place[0]}]", "its `base64` is not base64") from None
    return hashlib.sha256(data).hexdigest(), len(data)


def _shown(call_id: Any) -> str:
    return "" if call_id is None else call_id if isinstance(call_id, str) else json_key(call_id)


# What message lists of every provider have in common: found, read into items, given back with new contents.


class MessageForm(ABC):
    """A list of messages, or an object that holds one; implements `ports.seams.HostTranscript`.

    Args:
        kind_by_tool: tool name -> kind of its results (the policy's).
    """

    form: Form

    def __init__(self, kind_by_tool: Mapping[str, str] | None = None) -> None:
        self._kind_by_tool = dict(kind_by_tool or {})

    @abstractmethod
    def pieces(self, messages: Sequence[Any], root: str) -> Iterator[Piece]:
        """Every block in order.

        Raises:
            FileWrongShape: it names the first value that does not fit.
        """

    @abstractmethod
    def put(self, message: Any, piece: Piece, content: Content) -> Any:
        """The message with one block's content changed.

        Raises:
            InvalidArgument: the block is none that may be changed.
        """

    def fits(self, value: Any) -> bool:
        """Whether it is a list of messages of this form."""
        messages = messages_of(value)
        return messages is not None and looks_like_messages(messages) and list_form(messages) == self.form

    def parse(self, value: Any) -> HostContext:
        """Read a list of messages, or an object that holds one.

        Raises:
            FileWrongShape: it names the first value that does not fit.
        """
        messages, root = list_of(value)
        found = assemble(list(self.pieces(messages, root)), self._kind_by_tool)
        return HostContext(
            form=self.form,
            items=found.items,
            open_units=found.open_units,
            messages=tuple(messages),
            session_id=session_id_of(value),
            model=model_of(value),
            system_text=system_text_of(value),
        )

    def render(self, context: HostContext, contents: Mapping[str, Content]) -> list[Any]:
        """The messages with new contents; see `HostTranscript.render`.

        Raises:
            InvalidArgument: a block that may not be changed was to be.
        """
        return render_pieces(context, contents, self.pieces(context.messages, "messages"), self.put)
