"""Rows of a Claude Code transcript: which of them are in the context now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from ..pieces import as_fields, need_fields, text_of, type_word, wrong_shape

MESSAGE_ROWS = ("user", "assistant")
"""Types of the rows that hold messages; all others are bookkeeping."""


class Row(msgspec.Struct, frozen=True):
    """One user or assistant row of the chain."""

    number: int
    """0-based place in the file."""
    role: str
    content: str | list[Any]
    fields: dict[str, Any]


class Chain(msgspec.Struct, frozen=True):
    """The rows of one agent that are in its context now, in the context's order."""

    rows: tuple[Row, ...]
    compacted: bool
    """The host compacted what came before."""
    since: int = 0
    """Number of the first row behind that: what rows before it say of the context's size is no longer true."""


def rows_of(value: Any) -> list[dict[str, Any]]:
    """The rows as objects.

    Raises:
        FileWrongShape: it is no list, or one of its entries is no object.
    """
    if not isinstance(value, list):
        raise wrong_shape("$", f"rows of a transcript were expected, {type_word(value)} stands there")
    return [need_fields(row, f"rows[{number}]") for number, row in enumerate(cast("list[Any]", value))]


def only_sidechain(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether it is a sub-agent's own file: then its chain is the session."""
    told = [row.get("isSidechain") is True for row in rows if text_of(row, "type") in MESSAGE_ROWS]
    return bool(told) and all(told)


def live_rows(rows: Sequence[dict[str, Any]], sidechain: bool) -> Chain:
    """Rows after the last compaction, on the branch that the last row stands on.

    Args:
        sidechain: whether the sub-agent's rows are meant, not the main chain's.

    Raises:
        FileWrongShape: a row of the chain has no message of the right shape.
    """
    mine = [(n, row) for n, row in enumerate(_once(rows)) if row and _on_chain(row, sidechain)]
    boundary = max((n for n, row in mine if _is_boundary(row)), default=-1)
    summary = max((n for n, row in mine if _is_summary(row)), default=-1)
    # Old clients wrote their summary without a boundary row before it.
    cut = summary - 1 if boundary < 0 <= summary else boundary
    kept = _preserved(rows[boundary]) if boundary >= 0 else frozenset[str]()
    before = [(n, row) for n, row in mine if n < cut and text_of(row, "uuid") in kept]
    after = [(n, row) for n, row in mine if n > cut]
    branch = _branch([row for _, row in (*before, *after)])
    live = [(n, row) for n, row in after if not branch or _is_summary(row) or text_of(row, "uuid") in branch]
    # The host puts the rounds it preserved right after its summary.
    ordered = sorted((*before, *live), key=lambda pair: not _is_summary(pair[1]))
    found = (_row(n, fields) for n, fields in ordered)
    return Chain(tuple(row for row in found if row is not None), max(boundary, summary) >= 0, max(boundary, cut) + 1)


def _once(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows with an empty one in the place of each that repeats an earlier row's uuid."""
    seen: set[str] = set()
    for row in rows:
        uuid = text_of(row, "uuid")
        yield {} if uuid and uuid in seen else row
        seen.add(uuid)


def _on_chain(row: dict[str, Any], sidechain: bool) -> bool:
    return "isSidechain" not in row or (row["isSidechain"] is True) == sidechain


def _is_summary(row: dict[str, Any]) -> bool:
    return row.get("isCompactSummary") is True


def _is_boundary(row: dict[str, Any]) -> bool:
    return text_of(row, "type") == "system" and text_of(row, "subtype") == "compact_boundary"


def _preserved(boundary: dict[str, Any]) -> frozenset[str]:
    """Uuids of the rows that the host kept whole over its compaction."""
    told = as_fields((as_fields(boundary.get("compactMetadata")) or {}).get("preservedMessages")) or {}
    uuids = told.get("allUuids") or told.get("uuids")
    return (
        frozenset(u for u in cast("list[Any]", uuids) if isinstance(u, str)) if isinstance(uuids, list) else frozenset()
    )


def _branch(rows: Sequence[dict[str, Any]]) -> frozenset[str]:
    """Uuids of the rows on the branch of the last one (and "", for rows without); empty when there is no telling, then
    every row counts.

    After a rewind the file still holds the abandoned branch. Walking up from the leaf misses parallel calls and their
    results, which hang on rows of their own: they are joined by message id and call id.
    """
    by_uuid = {text_of(row, "uuid"): row for row in rows if text_of(row, "uuid")}
    leaf = next((row for row in reversed(rows) if text_of(row, "type") in MESSAGE_ROWS and text_of(row, "uuid")), None)
    on: set[str] = set()
    row = leaf
    while row is not None and text_of(row, "uuid") not in on:
        on.add(text_of(row, "uuid"))
        parent = text_of(row, "parentUuid")
        told_root = "parentUuid" in row and row["parentUuid"] is None
        if parent not in by_uuid and not told_root and not _is_top(row, rows):
            return frozenset()
        row = by_uuid.get(parent)
    return frozenset(on | _siblings(rows, on) | {""}) if on else frozenset()


def _is_top(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> bool:
    """Whether a row whose parent is elsewhere may be the first of the chain: nothing of the chain stands before it."""
    first = next((each for each in rows if text_of(each, "uuid")), None)
    return first is row


def _siblings(rows: Sequence[dict[str, Any]], on: set[str]) -> set[str]:
    """Rows of the same answers as those on the branch, and the results of their calls."""
    answers = {message_id(row) for row in rows if text_of(row, "uuid") in on} - {""}
    answering = [row for row in rows if text_of(row, "uuid") in on or message_id(row) in answers]
    calls = {call for row in answering for call in block_ids(row, "tool_use", "id")}
    told = [row for row in rows if not calls.isdisjoint(block_ids(row, "tool_result", "tool_use_id"))]
    return {text_of(row, "uuid") for row in (*answering, *told)} - {""}


def message_id(row: dict[str, Any]) -> str:
    """The API's id of the answer that an assistant row belongs to; empty for other rows."""
    return text_of(as_fields(row.get("message")) or {}, "id") if text_of(row, "type") == "assistant" else ""


def block_ids(row: dict[str, Any], kind: str, key: str) -> Iterator[str]:
    """The ids under `key` of a row's blocks of one type."""
    content = (as_fields(row.get("message")) or {}).get("content")
    for block in cast("list[Any]", content) if isinstance(content, list) else []:
        fields = as_fields(block) or {}
        if text_of(fields, "type") == kind and text_of(fields, key):
            yield text_of(fields, key)


def _row(number: int, fields: dict[str, Any]) -> Row | None:
    """A row as a message's part; None for bookkeeping and for the host's own notes."""
    role = text_of(fields, "type")
    if role not in MESSAGE_ROWS or fields.get("isMeta") is True:
        return None
    where = f"rows[{number}].message"
    message = need_fields(fields.get("message"), where)
    content = message.get("content")
    if not isinstance(content, (str, list)):
        raise wrong_shape(f"{where}.content", f"a string or a list was expected, {type_word(content)} stands there")
    if not content:
        return None
    return Row(number, role, cast("str | list[Any]", content), fields)


# Messages as Claude Code shows them to a hooks module: rows with calls and results beside their text.


def results_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every tool result of the client's list that names its call."""
    found: list[dict[str, Any]] = []
    for row in rows:
        listed = row.get("toolResults")
        entries = cast("list[Any]", listed) if isinstance(listed, list) else []
        found += [one for one in map(as_fields, entries) if one is not None and text_of(one, "tool_use_id")]
    return found


def calls_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The id of every call in the client's list."""
    found: list[str] = []
    for row in rows:
        listed = row.get("toolUses")
        entries = cast("list[Any]", listed) if isinstance(listed, list) else []
        found += [name for one in map(as_fields, entries) if one is not None and (name := text_of(one, "tool_use_id"))]
    return found


def as_messages(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The client's list as an Anthropic message list."""
    messages: list[dict[str, Any]] = []
    for row in rows:
        blocks: list[dict[str, Any]] = [
            {
                "type": "tool_result",
                "tool_use_id": text_of(one, "tool_use_id"),
                "content": text_of(one, "text"),
                "is_error": one.get("isError") is True,
            }
            for one in results_of([row])
        ]
        if text := text_of(row, "text"):
            blocks.append({"type": "text", "text": text})
        uses = row.get("toolUses")
        for use in map(as_fields, cast("list[Any]", uses) if isinstance(uses, list) else []):
            if use is not None:
                name, call_id = text_of(use, "tool"), text_of(use, "tool_use_id")
                blocks.append(
                    {"type": "tool_use", "id": call_id, "name": name, "input": as_fields(use.get("input")) or {}}
                )
        messages.append({"role": "assistant" if row.get("role") == "assistant" else "user", "content": blocks})
    return messages
