"""What offloading saved a session over its life: one sum, for every face that names it."""

from __future__ import annotations

import msgspec

from .fold import Batch, Fold


class Savings(msgspec.Struct, frozen=True, kw_only=True):
    """In tokens, over every batch that was ever committed."""

    batches: int
    offloaded: int
    """Originals as they stood in the context, with what a result takes beside its text."""
    digests: int
    """What stands for them, with the same beside it."""
    restored: int
    """Given back by restores."""

    @property
    def net(self) -> int:
        """Originals, less what stands for them and what came back."""
        return self.offloaded - self.digests - self.restored


def savings(fold: Fold, *, result_overhead: int) -> Savings:
    """What a session's batches saved.

    Args:
        result_overhead: tokens that a tool result takes beside its text, its digest too.
    """
    batches = fold.decided.batches.values()
    return Savings(
        batches=len(batches),
        offloaded=sum(one.info.original_tokens for one in batches),
        digests=sum(one.info.digest_tokens + result_overhead * _results(fold, one) for one in batches),
        restored=fold.restored_tokens,
    )


def _results(fold: Fold, batch: Batch) -> int:
    """Tool results among what a batch stands for."""
    states = (fold.states.get(item.id) for item in batch.info.items)
    return sum(state is not None and bool(state.versions) and state.current.role == "tool" for state in states)
