"""Batches as rows of a list: what record and ledger know of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..context.fold import Fold
from ..context.savings import Sizes, sizes
from ..context.view import settle_holders
from ..models.events import ReplacedItem
from ..models.records import ArchivedItem, OffloadRecord, SpecificCounts
from ..models.text import plain_line
from ..models.views import BatchState, BatchView
from .batch import beside


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
