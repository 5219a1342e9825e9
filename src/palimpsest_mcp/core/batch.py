"""One batch as it was made, its number, its originals as the archive keeps them, and its row in a list of batches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

import msgspec
from msgspec.structs import replace

from ..context.decided import batch_id, batch_number
from ..context.fold import Fold
from ..context.savings import Sizes, sizes
from ..context.view import settle_holders
from ..models.events import ReplacedItem, Reserved, SessionInfo
from ..models.items import Content, Item, Specific, content_sha256, content_text
from ..models.plans import ContextItem
from ..models.records import ArchivedItem, OffloadRecord, SpecificCounts
from ..models.text import plain_line
from ..models.views import BatchState, BatchView
from ..ports.text import Redacted
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
