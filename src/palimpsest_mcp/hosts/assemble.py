"""From pieces to items: ids, kinds, units, actions. The same for every form."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..ledger.identity import ItemIds, json_key
from ..models.items import Item, content_bytes
from .actions import action_of
from .evidence import Evidence, evidence_of
from .pairing import pair
from .pieces import Piece, wrong_shape

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
