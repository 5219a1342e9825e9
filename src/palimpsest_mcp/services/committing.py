"""What the one line of a commit says (L9): batches, copies that became pointers, and what must not have changed."""

from __future__ import annotations

from ..ledger.fold import Fold
from ..models.events import ReplacedBatch, ReplacedItem
from ..models.items import content_sha256
from ..models.plans import ContextItem
from .made import Made


def unchanged(fold: Fold, one: ContextItem) -> bool:
    """Whether an item still stands as a pass took it: its bytes, what stands for it, and no pin."""
    state = fold.states.get(one.item.id)
    stands = fold.decided.replacements.get(one.item.id)
    return (
        state is not None
        and state.present[1]
        and state.current.sha256 == one.item.sha256
        and (stands.batch.batch_id if stands is not None else "") == one.batch_id
        and one.item.id not in fold.decided.pinned
    )


def committed_batch(made: Made) -> ReplacedBatch:
    """A batch as the ledger names it."""
    record = made.record
    return ReplacedBatch(
        batch_id=record.batch_id,
        items=tuple(
            ReplacedItem(id=item.id, sha256=item.sha256, part_sha256=item.digest_sha256, part_tokens=item.digest_tokens)
            for item in record.items
        ),
        original_tokens=record.original_token_count,
        digest_tokens=record.digest_token_count,
        digest_sha256=record.digest_sha256,
        level=record.level,
        replaces=record.replaces,
        mode=record.mode,
        holders=record.specifics.holders,
    )


def copied(one: ContextItem, text: str, tokens: int) -> ReplacedBatch:
    """A fetched copy that becomes a pointer of so many tokens (L13)."""
    item = ReplacedItem(
        id=one.item.id, sha256=one.item.sha256, part_sha256=content_sha256(text), part_tokens=tokens, part=text
    )
    return ReplacedBatch(
        batch_id=one.copy_of.partition(" ")[0],
        items=(item,),
        original_tokens=one.tokens,
        digest_tokens=tokens,
        mode="copy",
    )


__all__ = ["committed_batch", "copied", "unchanged"]
