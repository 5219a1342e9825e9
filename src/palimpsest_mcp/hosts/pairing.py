"""Which result belongs to which call, whatever the ids are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..ledger.identity import json_key
from .pieces import Piece


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
