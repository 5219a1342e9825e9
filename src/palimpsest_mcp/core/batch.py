"""One batch as it was made, its number, its originals as the archive keeps them, and its row in a list of batches.

Every copy of an original that the store has: where the archive's own is damaged, another one that fits its hash.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import msgspec
from msgspec.structs import replace

from ..context.fold import Fold
from ..context.savings import Sizes, sizes
from ..context.state import Batch, batch_id, batch_number
from ..context.view import settle_holders
from ..models.events import ReplacedItem, Reserved, Seen, SessionInfo
from ..models.items import Content, Item, Specific, content_sha256, content_text
from ..models.plans import ContextItem
from ..models.records import ArchivedItem, OffloadRecord, SpecificCounts
from ..models.text import plain_line
from ..models.views import BatchState, BatchView
from ..ports.seams import Redacted
from .dependencies import Dependencies
from .sessions import Sessions

_DESCRIBED = (
    *("kind", "tool_name", "args", "role", "position", "size_bytes", "tokens", "call_id"),
    *("unit", "title", "url", "source_channel", "action", "ts", "is_error"),
)

_INLINE = 200
"""Characters of an argument that stand beside its name."""
_BETWEEN = "\n\n"
"""Between the parts of a digest."""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One batch, ready to be archived; or adopted, when an earlier pass had archived it already (L10)."""

    record: OffloadRecord
    shown: tuple[tuple[Specific, ...], ...] = ()
    texts: tuple[str, ...] = ()
    """The originals as it was made from them, redacted; empty where it was adopted."""
    notes: tuple[str, ...] = ()
    adopted: bool = False
    sheds: tuple[str, ...] = ()
    """As `ReplacedBatch` has it."""
    stands: dict[str, str] = {}
    """Item id -> what the host shows in its place, where that is not its part: a call with notes in its arguments."""

    def sizes(self, result_overhead: int) -> tuple[int, int, str]:
        """Tokens before and after, each result's own among both, and what stands there."""
        record = self.record
        return record.original_token_count, record.digest_token_count + beside(record, result_overhead), record.mode


def beside(record: OffloadRecord, result_overhead: int) -> int:
    """Tokens that a batch's results take beside their texts, as originals and as digest parts."""
    return result_overhead * sum(item.role == "tool" for item in record.items)


def original_text(item: Item | ArchivedItem) -> str:
    """An original as people and digests read it: of a call its tool and its arguments, unescaped."""
    content = item.content if isinstance(item, Item) else item.result
    if item.kind != "tool_call" or not item.args or content is None:
        return content_text(content)
    said = [item.tool_name]
    for place, text in _leaves(item.args):
        said.append(f"{place}:\n{text}" if "\n" in text or len(text) > _INLINE else f"{place}: {text}")
    return "\n".join(said)


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _leaves(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _leaves(inner, f"{place}[{index}]")
    else:
        yield place, value if isinstance(value, str) else json.dumps(value)


class Above(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a digest one of a higher level (L16)."""

    level: int
    replaces: tuple[str, ...]
    """Batches whose digests it takes the place of."""
    carried: frozenset[tuple[str, str]]
    """(class, text) that other digests left to those: it must show them (D9)."""
    min_shown: float
    """As in `DigestRequest`; 0 where what is carried matters more than what else would be in view."""


def archived(
    items: Sequence[ContextItem], parts: Sequence[str], sizes: Sequence[int]
) -> tuple[tuple[ArchivedItem, ...], str]:
    """Originals as the archive keeps them, each with its part of the digest and that part's tokens; and the digest."""
    found: list[ArchivedItem] = []
    start = 0
    for one, part, tokens in zip(items, parts, sizes, strict=True):
        item = ArchivedItem(id=one.item.id, kind=one.item.kind, result=one.item.content, sha256=one.item.sha256)
        span, sha256 = (start, start + len(part)), content_sha256(part)
        found.append(replace(described(one.item, item), digest_span=span, digest_tokens=tokens, digest_sha256=sha256))
        start += len(part) + len(_BETWEEN)
    return tuple(found), _BETWEEN.join(parts)


def masks_in(masked: Sequence[Redacted]) -> dict[str, int]:
    """What was masked in these texts, by kind."""
    counts = Counter[str]()
    for one in masked:
        counts.update(one.counts)
    return dict(sorted(counts.items()))


def described(item: Item, archived: ArchivedItem) -> ArchivedItem:
    """The same with everything that is known of an item but its content and hash."""
    return replace(archived, **{name: getattr(item, name) for name in _DESCRIBED})


def has_binary(content: Content | None) -> bool:
    """Whether a content holds anything that is not text."""
    if content is None or isinstance(content, str):
        return False
    if isinstance(content, dict):
        return content.get("type") != "text"
    return any(not isinstance(block, str) and has_binary(block) for block in content)


# Batch numbers, taken under the commit lock before anything is made of them (L11).


class Highest(Protocol):
    """Knows the numbers that were given already."""

    highest: int
    """Highest batch number in ledger and archive, of the session and its parents."""


RESERVED_AT_ONCE = 64
"""Batch numbers taken by one decision; gaps are normal (L11)."""


class Numbers:
    """Batch ids for one pass, reserved some at a time."""

    def __init__(
        self, deps: Dependencies, sessions: Sessions, info: SessionInfo, highest: Highest, pass_id: str
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._info = info
        self._highest = highest
        self._pass_id = pass_id
        self._next = 0
        self._reserved_to = -1

    async def next(self) -> str:
        """The next one; reserves more under the commit lock when none is left (L11)."""
        if self._next > self._reserved_to:
            deps, above = self._deps, self._highest.highest
            self._next = await _reserved(deps, self._sessions, self._info, above, RESERVED_AT_ONCE, self._pass_id)
            self._reserved_to = self._next + RESERVED_AT_ONCE - 1
        self._next += 1
        return batch_id(self._next - 1)


async def reserve_numbers(
    deps: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    count: int,
    *,
    pass_id: str,
    lock_timeout_s: float | None = None,
) -> tuple[str, ...]:
    """Batch ids after every one that the session or a parent of it has, reserved or archived; gaps are normal.

    Raises:
        LockTimeout, WriteFailed: none was taken.
    """
    highest = 0
    for owner in await sessions.family(info):
        highest = max(highest, (await sessions.fold(owner)).decided.last_number)
        async for record in deps.store.archive.records(sessions.key(owner)):
            highest = max(highest, batch_number(record.batch_id))
    first = await _reserved(deps, sessions, info, highest, count, pass_id, lock_timeout_s)
    return tuple(batch_id(number) for number in range(first, first + count))


async def _reserved(
    deps: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    above: int,
    count: int,
    pass_id: str,
    lock_timeout_s: float | None = None,
) -> int:
    """The first of so many numbers that nobody else gets."""
    first = 0

    def reserve(fold: Fold) -> list[Reserved]:
        nonlocal first
        first = max(fold.decided.last_number, above) + 1
        return [Reserved(pass_id=pass_id, first=first, count=count, ts=deps.now())]

    await sessions.decide(info, reserve, lock_timeout_s=lock_timeout_s)
    return first


# Batches as rows of a list: what record and ledger know of one.


def row_without_record(fold: Fold, name: str, result_overhead: int) -> BatchView:
    """What the ledger alone knows of a batch."""
    batch = fold.decided.batches[name]
    items = [fold.states[one.id].current for one in batch.info.items if one.id in fold.states]
    size = sizes(fold, batch, result_overhead=result_overhead)
    return BatchView(
        batch_id=name,
        ts=batch.ts,
        reason=batch.reason,
        kinds=dict(sorted(Counter(item.tool_name or item.kind for item in items).items())),
        item_ids=tuple(one.id for one in batch.info.items),
        original_tokens=size.original,
        digest_tokens=size.digest,
        overhead_tokens=size.overhead,
        level=batch.info.level,
        mode=batch.info.mode,
        state="purged" if batch.state == "purged" else "damaged",
        restorable=batch.state != "purged" and all(_is_known(fold, one) for one in batch.info.items),
        specifics=SpecificCounts(),
    )


def _is_known(fold: Fold, one: ReplacedItem) -> bool:
    """Whether the ledger has the text of a batch's item, with which a restore does without the archive."""
    seen = fold.states[one.id].versions.get(one.sha256) if one.id in fold.states else None
    return seen is not None and seen.item.content is not None


def row_of(
    record: OffloadRecord,
    fold: Fold,
    standing: dict[str, bool],
    result_overhead: int,
    masked: Callable[[str], str],
) -> BatchView:
    """What record and ledger know of it.

    Args:
        standing: whether what an "elsewhere" names is still in view (D9).
        masked: for the words of the call; everything else of a row is masked already, or a name of ours.
    """
    batch = fold.decided.batches.get(record.batch_id)
    state: BatchState = "prepared" if batch is None else batch.state
    if record.batch_id in fold.decided.purged_batches or all(item.purged for item in record.items):
        state = "purged"
    if batch is not None:
        size = sizes(fold, batch, result_overhead=result_overhead)
    elif state == "purged":
        size = Sizes()
    else:
        overhead = beside(record, result_overhead)
        size = Sizes(original=record.original_token_count, digest=record.digest_token_count, overhead=overhead)
    kinds = Counter(item.tool_name or item.kind for item in record.items)
    return BatchView(
        batch_id=record.batch_id,
        ts=record.ts,
        reason=record.reason,
        kinds=dict(sorted(kinds.items())),
        item_ids=tuple(item.id for item in record.items),
        original_tokens=size.original,
        digest_tokens=size.digest,
        overhead_tokens=size.overhead,
        level=record.level,
        mode=record.mode,
        state=state,
        restorable=state != "purged" and any(item.result is not None for item in record.items),
        specifics=settle_holders(record.specifics, standing),
        digest=record.digest_replacing_inline,
        first=plain_line(masked(about(record.items[0])), TITLE_CHARACTERS) if record.items else "",
    )


TITLE_CHARACTERS = 80


def about(item: ArchivedItem) -> str:
    """What an item is of: its title, what its call acted on, or its address."""
    return item.title or target_of(item) or item.url


def target_of(item: ArchivedItem) -> str:
    """What its call acted on; empty where nobody knows."""
    return item.action.target if item.action else ""


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
