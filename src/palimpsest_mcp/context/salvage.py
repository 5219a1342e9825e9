"""What a damaged line of the archive still says: its pieces, each read on its own, to be checked by their hashes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from ..models.events import Seen
from ..models.items import content_sha256
from ..models.records import ArchivedItem, OffloadRecord

_BATCH = re.compile(rb'"batch_id":"(offload_\d{4,12})"')
_ITEMS = b'"items":['
_ITEM = re.compile(r'\{"id":"')
_DIGEST = b'],"digest_replacing_inline":'
_CHECKSUM = re.compile(rb',"_c":"[^"]*"\}?$')
_MORE = re.compile(rb',"_m":1$')


class Salvaged(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing of it can be trusted before its hash was checked."""

    batch_id: str = ""
    fields: dict[str, Any] = {}
    """The record's members but `items`, as far as they can be read."""
    items: dict[str, ArchivedItem] = {}
    """By id."""


def salvaged(raw: bytes) -> Salvaged:
    """The pieces of a damaged record. A broken piece costs itself."""
    body = _CHECKSUM.sub(b"", raw)
    start = body.find(_ITEMS)
    end = body.rfind(_DIGEST)
    head = body if start < 0 else body[:start].rstrip(b",")
    fields = _object(head + b"}")
    if end >= 0:
        fields |= _object(b"{" + body[end + 2 :] + b"}")
    middle = body[start + len(_ITEMS) : end if end >= 0 else len(body)] if start >= 0 else b""
    named = _BATCH.search(head)
    batch_id = fields.get("batch_id") or (named[1].decode() if named else "")
    return Salvaged(batch_id=str(batch_id), fields=_known(fields), items=_items(middle.decode("utf-8", "replace")))


def salvaged_seen(raw: bytes) -> Seen | None:
    """What a damaged line of the ledger says that an item was; its content may be another by now."""
    body = _MORE.sub(b"", _CHECKSUM.sub(b"", raw))
    fields = _object(body.decode("utf-8", "replace").encode() + b"}")
    try:
        return msgspec.convert(fields, Seen) if fields.get("k") == "seen" else None
    except msgspec.ValidationError:
        return None


def spans_of(digest: str, parts: Sequence[str]) -> tuple[tuple[int, int], ...] | None:
    """Where each part stands, by the hashes of the parts in their order; None where they do not fit."""
    spans: list[tuple[int, int]] = []
    start = 0
    for number, sha256 in enumerate(parts):
        last = number == len(parts) - 1
        end = len(digest) if last else digest.find("\n\n", start)
        while end >= 0 and content_sha256(digest[start:end]) != sha256:
            end = -1 if last else digest.find("\n\n", end + 1)
        if end < 0:
            return None
        spans.append((start, end))
        start = end + 2
    return tuple(spans)


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    """Members that a record has, each of its type."""
    types = {field.name: field.type for field in msgspec.structs.fields(OffloadRecord)}
    known: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in types:
            continue
        try:
            msgspec.convert(value, types[name])
        except msgspec.ValidationError:
            continue
        known[name] = value
    return known


def _items(text: str) -> dict[str, ArchivedItem]:
    decoder = json.JSONDecoder()
    found: dict[str, ArchivedItem] = {}
    at = 0
    while (begins := _ITEM.search(text, at)) is not None:
        at = begins.end()
        try:
            value, end = decoder.raw_decode(text, begins.start())
            item = msgspec.convert(value, ArchivedItem)
        except (ValueError, RecursionError, msgspec.ValidationError):
            continue
        found.setdefault(item.id, item)
        at = end
    return found
