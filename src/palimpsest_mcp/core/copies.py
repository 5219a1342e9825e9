"""Every copy of an original that the store has: where the archive's own is damaged, another one that fits its hash."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from ..context.decided import Batch
from ..context.fold import Fold
from ..models.events import Seen, SessionInfo
from ..models.items import Content, content_sha256
from ..models.records import ArchivedItem, OffloadRecord
from .batch import described
from .dependencies import Dependencies
from .sessions import Sessions

# What a damaged line of the archive still says: its pieces, each read on its own, to be checked by their hashes.

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


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """A record put together again from what is whole."""

    record: OffloadRecord
    lost: tuple[str, ...]
    """Ids of items of which no whole copy is left; they have no text in the record."""
    digest_lost: bool
    """The digest, or a part of it, fits no hash any more."""
    raw: bytes = b""
    """The damaged line that it is to take the place of; empty where none is left."""
    source: str = ""
    """Where the texts came from, for people."""

    @property
    def whole(self) -> bool:
        """Whether it is as good as the one that was lost."""
        return not self.lost and not self.digest_lost

    @property
    def only_digest_lost(self) -> bool:
        """Whether every original comes back, and only what stood for them does not."""
        return self.digest_lost and not self.lost


class Copies:
    """Looks for whole copies. Slow: only where a record is damaged."""

    def __init__(self, deps: Dependencies, sessions: Sessions) -> None:
        self._deps = deps
        self._sessions = sessions

    async def content(self, info: SessionInfo, sha256: str) -> tuple[Content, str] | None:
        """A content of this hash and where it was found: the ledgers of the session and its parents first, then their
        archives, then those of every other session."""
        family = await self._sessions.family(info)
        others = [one for one in await self._sessions.all() if one.session_id not in {own.session_id for own in family}]
        for group in (family, others):
            for owner in group:
                if (content := _seen(await self._sessions.fold(owner), sha256)) is not None:
                    return content, f"the ledger of {owner.handle}"
            for owner in group:
                async for item in self._items(owner):
                    if item.sha256 == sha256 and _fits(item.result, sha256):
                        assert item.result is not None
                        return item.result, f"another record of {owner.handle}"
        return None

    async def _items(self, owner: SessionInfo) -> AsyncIterator[ArchivedItem]:
        key = self._sessions.key(owner)
        async for record in self._deps.store.archive.records(key):
            for item in record.items:
                yield item
        for line in await self._deps.store.archive.broken(key):
            for item in salvaged(line.raw).items.values():
                yield item

    async def rebuilt(self, info: SessionInfo, batch_id: str) -> Rebuilt | None:
        """The record of a batch without a whole copy, put together again. None where nothing names its items."""
        fold = await self._sessions.fold(info)
        batch = fold.decided.batches.get(batch_id)
        lines = await self._deps.store.archive.broken(self._sessions.key(info))
        found = [(line.raw, one) for line in lines if (one := salvaged(line.raw)).batch_id == batch_id]
        found.sort(key=lambda pair: len(pair[1].items))
        raw, best = found[-1] if found else (b"", Salvaged())
        committed = {one.id: one for one in batch.info.items} if batch is not None else {}
        hashes = {name: one.sha256 for name, one in committed.items()} or {
            name: item.sha256 for name, item in best.items.items()
        }
        if not hashes:
            return None
        digest, digest_lost = _digest(best, batch)
        parts = {name: one.part_sha256 for name, one in committed.items()} or {
            name: item.digest_sha256 for name, item in best.items.items()
        }
        spans = spans_of(digest, tuple(parts.values()))
        items: list[ArchivedItem] = []
        lost: list[str] = []
        sources: dict[str, None] = {}
        for number, (item_id, sha256) in enumerate(hashes.items()):
            item = best.items.get(item_id) or ArchivedItem(id=item_id, kind="tool_result", sha256=sha256)
            known = fold.states[item_id].versions.get(sha256) if item_id in fold.states else None
            if not (item.sha256 == sha256 and _fits(item.result, sha256)):
                item = item if known is None else described(known.item, item)
                copy = await self.content(info, sha256)
                if copy is None:
                    lost.append(item_id)
                else:
                    sources[copy[1]] = None
                item = msgspec.structs.replace(item, sha256=sha256, result=None if copy is None else copy[0])
            span = spans[number] if spans is not None else (0, 0)
            tokens = committed[item_id].part_tokens if item_id in committed else item.digest_tokens
            items.append(
                msgspec.structs.replace(
                    item, digest_span=span, digest_tokens=tokens, digest_sha256=parts.get(item_id, "")
                )
            )
        record = _record(info, batch_id, best.fields, batch, tuple(items), digest)
        return Rebuilt(
            record=record,
            lost=tuple(lost),
            digest_lost=digest_lost or spans is None,
            raw=raw,
            source=", ".join(sources) or "what is left of it",
        )


def _seen(fold: Fold, sha256: str) -> Content | None:
    for state in fold.states.values():
        known = state.versions.get(sha256)
        if known is not None and _fits(known.item.content, sha256):
            return known.item.content
    return None


def _fits(content: Content | None, sha256: str) -> bool:
    try:
        return content is not None and content_sha256(content) == sha256
    except ValueError:  # what looks like base64 and is none
        return False


def _digest(best: Salvaged, batch: Batch | None) -> tuple[str, bool]:
    digest = best.fields.get("digest_replacing_inline")
    wanted = (batch.info.digest_sha256 if batch is not None else "") or best.fields.get("digest_sha256")
    whole = isinstance(digest, str) and content_sha256(digest) == wanted
    return (digest, False) if whole and isinstance(digest, str) else ("", True)


def _record(
    info: SessionInfo,
    batch_id: str,
    fields: Mapping[str, object],
    batch: Batch | None,
    items: tuple[ArchivedItem, ...],
    digest: str,
) -> OffloadRecord:
    """What is left of the record's own fields; where they are lost, what the ledger committed."""
    said = {
        "ts": "" if batch is None else batch.ts,
        "reason": (batch.reason if batch is not None else "") or "forced",
        "original_token_count": 0 if batch is None else batch.info.original_tokens,
        "digest_token_count": 0 if batch is None else batch.info.digest_tokens,
        "digest_sha256": "" if batch is None else batch.info.digest_sha256,
        "level": 1 if batch is None else batch.info.level,
        "replaces": () if batch is None else batch.info.replaces,
        "mode": "digest" if batch is None or batch.info.mode == "copy" else batch.info.mode,
        "agent": "" if batch is None else batch.agent,
        **{name: value for name, value in fields.items() if name != "items"},
        "session_id": info.session_id,
        "batch_id": batch_id,
        "digest_replacing_inline": digest,
    }
    return msgspec.structs.replace(msgspec.convert({**said, "items": ()}, OffloadRecord), items=items)
