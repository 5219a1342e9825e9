"""What is left of an event or a record when the user had texts of it removed (L15): who, when, how big; no word."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

import msgspec

from ..models.events import Envelope, Event, HostCompacted, Opened, Replaced, ReplacedBatch, ReplacedItem, Seen
from ..models.events import UsageSeen as Usage
from ..models.items import Content, Item, content_bytes
from ..models.records import ArchivedItem, OffloadRecord
from ..models.reports import Forgotten

PURGED = "[purged]"
"""Stands where a span, a part of a digest, or a host's message was removed."""
PURGED_ROW = json.dumps({"role": "user", "content": PURGED})
"""A host's message that held something that was removed: none of it is kept."""
TELLING_BYTES = 16
"""A shorter content (`ok`, `[]`) says nothing about other items with the same one: it goes with its own item only."""

E = TypeVar("E", bound=Event)
Mask = Callable[[str], str]
_IDS = frozenset(
    {"k", "w", "id", "item_id", "item_ids", "batch_id", "batch_ids", "session_id", "handle", "pass_id", "agent"}
    | {"unit", "call_id", "sha256", "part_sha256", "digest_sha256", "text_sha256", "ts", "kind", "parent", "principal"}
)
"""Members that name things. Were one of them changed, what it names would be lost."""
_STAYS = (
    *("id", "kind", "role", "position", "sha256", "size_bytes", "tokens"),
    *("unit", "tool_name", "call_id", "is_error", "ts"),
)
"""Of an item whose content has to go."""


def key_of(item_id: str, sha256: str, size_bytes: int) -> str:
    """By what a content is known that nobody may keep: its hash; below `TELLING_BYTES` with its item's id."""
    return sha256 if size_bytes >= TELLING_BYTES else f"{sha256}:{item_id}"


def is_gone(item: Item | ArchivedItem | ReplacedItem, keys: Collection[str]) -> bool:
    """Whether an item's content is one of those."""
    return bool(keys) and (item.sha256 in keys or f"{item.sha256}:{item.id}" in keys)


def item_without(item: Item) -> Item:
    """An item whose content is gone; its hash stays, so that the host's list is still known by it."""
    return Item(**_who_when_how_big(item), content=None, agent=item.agent, purged=True)


def event_without(event: E, gone: Forgotten) -> E | None:
    """An event without what has to go, the same object where nothing has to; None where nothing of it may stay."""
    if gone.whole and not isinstance(event, Opened) and not hasattr(event, "rev"):
        return None
    if isinstance(event, Seen):
        if event.item.purged or not is_gone(event.item, gone.keys):
            return event
        return msgspec.structs.replace(event, item=item_without(event.item))
    if isinstance(event, Envelope):
        return _envelope_without(event, gone)
    if isinstance(event, Opened) and gone.whole:
        return _or_same(event, info=msgspec.structs.replace(event.info, source="", project=""))
    if isinstance(event, Replaced):
        batches = tuple(_batch_without(batch, gone) for batch in event.batches)
        event = _or_same(event, batches=batches, probes=None if gone.whole else event.probes)
    if gone.whole or gone.mask is None or not isinstance(event, Opened | Replaced | HostCompacted | Usage):
        return event
    value = msgspec.to_builtins(event)
    masked = masked_value(value, gone.mask, keep=_IDS)
    return event if masked == value else cast("E", msgspec.convert(masked, type(event)))


def _or_same(event: E, **fields: Any) -> E:
    changed = {name: value for name, value in fields.items() if getattr(event, name) != value}
    return msgspec.structs.replace(event, **changed) if changed else event


def _envelope_without(event: Envelope, gone: Forgotten) -> Envelope:
    rows = tuple(row_without(row, gone) for row in event.rows)
    wrapper = event.wrapper if not event.wrapper or row_without(event.wrapper, gone) == event.wrapper else ""
    return _or_same(event, rows=rows, wrapper=wrapper)


def row_without(row: str, gone: Forgotten) -> str:
    """A host's message as JSON text, or `PURGED_ROW` where it holds something that has to go."""
    value = json.loads(row)
    masked = gone.mask is not None and masked_value(value, gone.mask) != value
    return PURGED_ROW if masked or _holds_any(value, gone.keys) else row


def _batch_without(batch: ReplacedBatch, gone: Forgotten) -> ReplacedBatch:
    return msgspec.structs.replace(batch, items=tuple(_part_without(item, gone) for item in batch.items))


def _part_without(item: ReplacedItem, gone: Forgotten) -> ReplacedItem:
    if item.part is None or not (gone.whole or is_gone(item, gone.keys)):
        return item
    return msgspec.structs.replace(item, part=PURGED)


def holds_gone(record: OffloadRecord, keys: Collection[str]) -> bool:
    """Whether a record holds a text that was purged."""
    return any(item.result is not None and is_gone(item, keys) for item in record.items)


def record_without(record: OffloadRecord, gone: Forgotten) -> OffloadRecord:
    """A record without what has to go, the same object where nothing has to. Hashes and counts stay as committed."""
    leaving = [gone.whole or is_gone(item, gone.keys) for item in record.items]
    if not any(go and not item.purged for go, item in zip(leaving, record.items, strict=True)):
        return record
    items: list[ArchivedItem] = []
    parts: list[str] = []
    start = 0
    for item, go in zip(record.items, leaving, strict=True):
        part = PURGED if go else record.part(item)
        kept = _archived_without(item) if go else item
        items.append(msgspec.structs.replace(kept, digest_span=(start, start + len(part))))
        parts.append(part)
        start += len(part) + 2
    return msgspec.structs.replace(record, items=tuple(items), digest_replacing_inline="\n\n".join(parts))


def _archived_without(item: ArchivedItem) -> ArchivedItem:
    stays = _who_when_how_big(item)
    return ArchivedItem(**stays, digest_tokens=item.digest_tokens, digest_sha256=item.digest_sha256, purged=True)


def _who_when_how_big(item: Item | ArchivedItem) -> dict[str, Any]:
    return {name: getattr(item, name) for name in _STAYS}


def _holds_any(value: Any, keys: Collection[str]) -> bool:
    """Whether a JSON value, or any value in it, is one of these contents."""
    if not keys:
        return False
    if isinstance(value, str | list | dict) and _hash(cast("Content", value)) in keys:
        return True
    if isinstance(value, dict):
        return any(_holds_any(one, keys) for one in cast("dict[str, Any]", value).values())
    return isinstance(value, list) and any(_holds_any(one, keys) for one in cast("list[Any]", value))


def _hash(value: Content) -> str:
    try:
        return hashlib.sha256(content_bytes(value)).hexdigest()
    except ValueError:  # what looks like base64 and is none
        return ""


def masked_value(value: Any, mask: Mask, *, keep: Collection[str] = ()) -> Any:
    """A JSON value with every text in it masked, names of members too; those of `keep` stay as they are."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {
            (name if name in keep else mask(name)): (one if name in keep else masked_value(one, mask, keep=keep))
            for name, one in members
        }
    if isinstance(value, list | tuple):
        return [masked_value(one, mask, keep=keep) for one in cast("list[Any]", value)]
    return value
