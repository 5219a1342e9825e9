"""A transcript read on from where it was left: rows as they come, and how much of them must be read again."""

from __future__ import annotations

from typing import Any

import msgspec

from ...errors import PalimpsestError
from ..json_bytes import decode
from ..pieces import as_fields, text_of
from .rows import MESSAGE_ROWS, block_ids, message_id

_KEPT_WHOLE = (*MESSAGE_ROWS, "system")
_MOST_BEHIND = 400
"""Rows: a call that is open for longer no longer makes later reads start at it."""


class _Head(msgspec.Struct, omit_defaults=True):
    """What the chain needs of a bookkeeping row; the rest may be large and is passed over."""

    type: str = ""
    uuid: str | None = None
    parentUuid: str | None | msgspec.UnsetType = msgspec.UNSET  # the host's own names
    isSidechain: bool | msgspec.UnsetType = msgspec.UNSET


_HEADS = msgspec.json.Decoder(_Head)


class News(msgspec.Struct, frozen=True):
    """What came since the last read."""

    rows: int
    start: int
    """First row that an import must read again: of the oldest call that was still open, or of the newest answer. An
    answer goes on while results of its first calls are written."""
    whole: bool
    """The host compacted, or went back to an earlier row: only the whole transcript tells what is in context now."""


class Tail:
    """The rows of one transcript so far. Feed it the bytes from `offset` on.

    Args:
        sidechain: it is a sub-agent's own file.
    """

    def __init__(self, *, sidechain: bool = False) -> None:
        self._sidechain = sidechain
        self.rows: list[dict[str, Any]] = []
        """In the file's order; lines that are no whole row are not among them."""
        self.offset = 0
        """Bytes that were read; always the start of a line."""
        self.answered: set[str] = set()
        """Ids of the calls whose results stand in the rows."""
        self._open: dict[str, int] = {}
        self._newest = ""
        self._recent: set[str] = set()
        self._answer = ""
        self._answer_row = 0

    def window(self, start: int) -> list[dict[str, Any]]:
        """The rows from one on; those of the other chain are empty."""
        return [row if row.get("isSidechain", self._sidechain) is self._sidechain else {} for row in self.rows[start:]]

    def feed(self, data: bytes) -> News:
        """Take in what the file holds from `offset` on; a last line without its end is left for the next time."""
        end = data.rfind(b"\n") + 1
        first, whole, start = len(self.rows), self.offset == 0, self._start()
        for line in data[:end].split(b"\n"):
            row = _row(line)
            if row is not None:
                whole = self._add(row) or whole
        self.offset += end
        return News(len(self.rows) - first, 0 if whole else min(start, first), whole)

    def _start(self) -> int:
        return max(min([*self._open.values(), self._answer_row]), len(self.rows) - _MOST_BEHIND, 0)

    def _add(self, row: dict[str, Any]) -> bool:
        """Add a row; whether it changes what came before."""
        self.rows.append(row)
        kind, uuid = text_of(row, "type"), text_of(row, "uuid")
        turned = text_of(row, "subtype") == "compact_boundary" or row.get("isCompactSummary") is True
        if turned:
            self._open.clear()
        if kind in MESSAGE_ROWS and row.get("isSidechain", self._sidechain) is self._sidechain:
            turned = self._on(row, kind) or turned
        if uuid:
            self._newest = uuid
            self._recent.add(uuid)
        return turned

    def _on(self, row: dict[str, Any], kind: str) -> bool:
        """Note calls and results; whether the row hangs on one that is not among the newest: the user went back."""
        parent = text_of(row, "parentUuid")
        if kind == "assistant":
            answer = message_id(row)
            goes_back = bool(parent) and parent not in self._recent and parent != self._newest
            if answer != self._answer or not answer:
                self._answer, self._recent = answer, {self._newest}
                self._answer_row = len(self.rows) - 1
            for call in block_ids(row, "tool_use", "id"):
                self._open[call] = len(self.rows) - 1
            return goes_back
        results = list(block_ids(row, "tool_result", "tool_use_id"))
        self.answered.update(results)
        for call in results:
            self._open.pop(call, None)
        return not results and bool(parent) and bool(self._newest) and parent != self._newest


def tokens_after_compaction(rows: list[dict[str, Any]]) -> tuple[int, int] | None:
    """(row of the last boundary, tokens that the host counted behind it); None without one that says."""
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        if text_of(row, "subtype") == "compact_boundary":
            tokens = (as_fields(row.get("compactMetadata")) or {}).get("postTokens")
            return (number, tokens) if type(tokens) is int and tokens > 0 else None
    return None


def forked_from(rows: list[dict[str, Any]], session_id: str) -> str:
    """The session that a fork's first rows were copied from; empty where they say nothing of it."""
    for row in rows[:50]:
        origin = text_of(as_fields(row.get("forkedFrom")) or {}, "sessionId")
        if origin and origin != session_id:
            return origin
    return ""


def _row(line: bytes) -> dict[str, Any] | None:
    """A line as a row: messages and boundaries whole, of all others what the chain needs; None for a torn one."""
    if not line.strip():
        return None
    try:
        head = _HEADS.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        head = None
    if head is not None and head.type not in _KEPT_WHOLE:
        found = msgspec.to_builtins(head)
        return {key: value for key, value in found.items() if key != "uuid" or value is not None}
    try:
        return as_fields(decode(line))
    except PalimpsestError:
        return None
