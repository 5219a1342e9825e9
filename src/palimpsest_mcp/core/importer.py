"""A host's list becomes ledger events: aligned with what is known, counted, written once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ..context.alignment import align, part_hash
from ..context.fold import Fold, UsageFields, is_placeholder
from ..context.tombstones import row_without
from ..context.view import View, view
from ..hosts.detect import transcripts
from ..hosts.pieces import as_fields
from ..models.events import Envelope, Observation, SessionInfo, UsageSeen
from ..models.items import Item, content_bytes, content_sha256
from ..models.maintenance import Forgotten
from ..ports.host import HostContext
from .dependencies import ContentCounter, Dependencies
from .sessions import Sessions

_ROWS = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=as_fields)
MARK = "palimpsest-item"
"""First word of the mark that stands for a tool result's content in an envelope's rows."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A host's list and what the ledger makes of it."""

    info: SessionInfo
    context: HostContext
    fold: Fold
    view: View
    ids: dict[str, str]
    """Id in the host's list -> id in the ledger."""
    counter: ContentCounter


async def import_context(
    deps: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    context: HostContext,
    *,
    wrapper: str = "",
    awaited: Collection[str] = (),
) -> Imported:
    """Bring the ledger up to what the host's list shows; writes nothing when it already is (L5).

    Args:
        awaited: items that somebody brought before the host wrote them down: their absence says nothing yet.
    """
    if deps.redact_archive:
        context = await asyncio.to_thread(_masked, deps, context)
    fold = await sessions.fold(info)
    inherited = await sessions.inherited_parts(info)
    counter = deps.counter_for(_model(deps, fold, context))
    found = align(
        fold,
        context.items,
        parts=fold.decided.parts,
        inherited=inherited,
        gone_why=context.gone_why,
        awaited=awaited,
    )
    counted = await asyncio.to_thread(_count, found.seen, counter)
    events = found.observations(counted, agent="", ts=deps.now())
    events += _usage(fold, context)
    # The rows hold the host's words around the items; a store that keeps masked text only cannot keep them.
    around = None if deps.redact_archive else await asyncio.to_thread(_envelope, fold, context, found.ids, wrapper)
    if around is not None:
        events.append(around)
    if events:
        await deps.store.ledger.observe(sessions.key(info), events)
        fold = await sessions.fold(info)
    shown = view(
        fold,
        result_overhead=counter.per_result_overhead,
        digester=deps.digester_for(counter).name,
        open_units=context.open_units,
    )
    return Imported(info=info, context=context, fold=fold, view=shown, ids=dict(found.ids), counter=counter)


async def tail_events(
    deps: Dependencies, sessions: Sessions, info: SessionInfo, context: HostContext
) -> list[Observation]:
    """What the newest part of a host's list adds to the ledger, to be written by the caller.

    Args:
        context: rows from some row of the list on, with their positions in the whole list.
    """
    if deps.redact_archive:
        context = await asyncio.to_thread(_masked, deps, context)
    fold = await sessions.fold(info)
    inherited = await sessions.inherited_parts(info)
    asked = any(state.versions and state.current.kind == "original_query" for state in fold.states.values())
    items = [_plain_message(item, fold) if asked else item for item in context.items]
    found = align(fold, items, parts=fold.decided.parts, inherited=inherited, tail_only=True)
    counter = deps.counter_for(_model(deps, fold, context))
    counted = await asyncio.to_thread(_count, found.seen, counter)
    return [*found.observations(counted, agent="", ts=deps.now()), *_usage(fold, context)]


def _model(deps: Dependencies, fold: Fold, context: HostContext) -> str:
    """Whose tokens are counted: a list that no answer stands in yet is read by the model that answered before."""
    known = fold.usage.get("", UsageFields()).model
    return context.model or (known.model if known is not None else "") or deps.model


def _plain_message(item: Item, fold: Fold) -> Item:
    """A part of a list has a first question of its own; the session's was asked before."""
    known = item.id in fold.states
    return item if known or item.kind != "original_query" else msgspec.structs.replace(item, kind="message")


def _masked(deps: Dependencies, context: HostContext) -> HostContext:
    """The context as a store with `redact_archive` keeps it: texts masked, their hashes those of the masked texts."""
    texts = [item.content if isinstance(item.content, str) else "" for item in context.items]
    masked = deps.redactor.redact_all(texts)
    items = tuple(
        msgspec.structs.replace(
            item, content=one.text, sha256=content_sha256(one.text), size_bytes=len(content_bytes(one.text))
        )
        if isinstance(item.content, str) and one.text != item.content
        else item
        for item, one in zip(context.items, masked, strict=True)
    )
    return msgspec.structs.replace(context, items=items)


def _count(items: Sequence[Item], counter: ContentCounter) -> list[Item]:
    return [
        item
        if item.tokens or item.content is None
        else msgspec.structs.replace(item, tokens=counter.count_content(item.content))
        for item in items
    ]


def _usage(fold: Fold, context: HostContext) -> list[Observation]:
    usage = context.usage
    known = fold.usage.get("")
    if usage is None or usage.used_tokens is None:
        return []
    last = known.used if known else None
    if last is not None and (last.used_tokens, last.row) == (usage.used_tokens, usage.row):
        return []
    return [
        UsageSeen(
            used_tokens=usage.used_tokens,
            model=usage.model,
            host=context.host,
            used_source="provider usage",
            row=usage.row,
        )
    ]


def item_mark(item_id: str, sha256: str) -> str:
    """What stands in an envelope for the content of a tool result."""
    return f"{MARK} {sha256} {item_id}"


def marked_item(text: str) -> tuple[str, str] | None:
    """(item id, hash) of a mark; None for any other text."""
    word, _, rest = text.partition(" ")
    sha256, _, item_id = rest.partition(" ")
    return (item_id, sha256) if word == MARK and len(sha256) == 64 and item_id else None


def _envelope(fold: Fold, context: HostContext, ids: Mapping[str, str], wrapper: str) -> Envelope | None:
    """What is new around the items; None when nothing is."""
    marks: dict[str, Any] = {
        item.id: item_mark(ids[item.id], _truth(fold, ids[item.id], item))
        for item in context.items
        if item.role == "tool" and item.content is not None
    }
    rows = [dump(message) for message in transcripts()[context.form].render(context, marks)]
    if fold.purged:
        gone = Forgotten(keys=frozenset(fold.purged))
        rows = [row_without(row, gone) for row in rows]
    known = fold.envelopes.get("")
    if known is None:
        return Envelope(form=context.form, total_rows=len(rows), rows=tuple(rows), wrapper=wrapper)
    same = 0
    while same < len(rows) and known.by_row.get(same, (None, ""))[1] == rows[same]:
        same += 1
    newest = known.newest
    if same == len(rows) and newest.total_rows == len(rows) and newest.wrapper == wrapper:
        return None
    return Envelope(form=context.form, total_rows=len(rows), first_row=same, rows=tuple(rows[same:]), wrapper=wrapper)


def _truth(fold: Fold, ledger_id: str, item: Item) -> str:
    """Hash of the original behind a host's text: our parts and a host's placeholders stand for what was before."""
    state = fold.states.get(ledger_id)
    if state is None or not state.versions or item.sha256 in state.versions:
        return item.sha256
    stands_for = part_hash(item) in fold.decided.parts or is_placeholder(item.content)
    return state.current.sha256 if stands_for else item.sha256


def dump(value: Any) -> str:
    """JSON text that `json.loads` reads back as the very same value, lone surrogates and NaN included.

    An SDK's own objects (pydantic), which readers accept in message lists, become the mappings they stand for.
    """
    return _ROWS.encode(value)
