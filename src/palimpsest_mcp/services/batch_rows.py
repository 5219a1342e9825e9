"""Batches as rows of a list."""

from __future__ import annotations

from collections import Counter

import msgspec

from ..ledger.fold import Fold
from ..ledger.view import settle_holders
from ..models.events import ReplacedItem
from ..models.records import OffloadRecord, SpecificCounts
from ..models.reports import BatchView


def row_without_record(fold: Fold, name: str) -> BatchView:
    """What the ledger alone knows of a batch."""
    batch = fold.decided.batches[name]
    items = [fold.states[one.id].current for one in batch.info.items if one.id in fold.states]
    return BatchView(
        batch_id=name,
        ts=batch.ts,
        reason=batch.reason,
        kinds=dict(sorted(Counter(item.tool_name or item.kind for item in items).items())),
        item_ids=tuple(one.id for one in batch.info.items),
        original_tokens=batch.info.original_tokens,
        digest_tokens=batch.info.digest_tokens,
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


def row_of(record: OffloadRecord, fold: Fold, standing: dict[str, bool]) -> BatchView:
    """What record and ledger know of it.

    Args:
        standing: whether what an "elsewhere" names is still in view (D9).
    """
    batch = fold.decided.batches.get(record.batch_id)
    state = "prepared" if batch is None else batch.state
    if record.batch_id in fold.decided.purged_batches or all(item.purged for item in record.items):
        state = "purged"
    kinds = Counter(item.tool_name or item.kind for item in record.items)
    return msgspec.convert(
        {
            "batch_id": record.batch_id,
            "ts": record.ts,
            "reason": record.reason,
            "kinds": dict(sorted(kinds.items())),
            "item_ids": tuple(item.id for item in record.items),
            "original_tokens": record.original_token_count,
            "digest_tokens": record.digest_token_count,
            "level": record.level,
            "mode": record.mode,
            "state": state,
            "restorable": state != "purged" and any(item.result is not None for item in record.items),
            "specifics": msgspec.to_builtins(settle_holders(record.specifics, standing)),
            "digest": record.digest_replacing_inline,
        },
        BatchView,
        strict=False,
    )


__all__ = ["row_of", "row_without_record"]
