"""What a pass costs: rewriting a prompt's prefix throws away its cache, and fewer tokens pay that back."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..models.plans import ContextItem
from ..models.reports import CacheCost
from ..models.usage import DEFAULT_PRICES, Prices


def break_even_turns(
    *, removed: int, digest: int, suffix: int, prices: Prices = DEFAULT_PRICES, model_cost: float = 0.0
) -> float | None:
    """Model requests after which a pass has paid for itself.

    `((w - r)(D + S) + C) / (r R)`: the digest D and the suffix S behind the first edit are written anew instead of
    read, and R tokens fewer are read by every later request. With no extra price for writing it is 0.

    Args:
        removed: R, net tokens that leave the prompt.
        digest: D, tokens of the digests.
        suffix: S, tokens after the first edit that stay as they are.
        model_cost: C, of a model that wrote the digests, in input-token units; 0 offline.

    Returns:
        None when the pass never pays, because nothing is removed.
    """
    if removed <= 0:
        return None
    rewritten = max(0.0, prices.write - prices.read) * (digest + suffix)
    return (rewritten + model_cost) / (prices.read * removed)


def suffix_tokens(items: Sequence[ContextItem], leaving: Collection[str]) -> int:
    """Tokens that stay as they are behind the first item that leaves; 0 when none does.

    Args:
        items: the whole context, in the host's order.
        leaving: ids of the items that a pass replaces.
    """
    ids = frozenset(leaving)
    present = [entry for entry in items if entry.state != "gone"]
    first = next((place for place, entry in enumerate(present) if entry.item.id in ids), len(present))
    return sum(entry.tokens for entry in present[first:] if entry.item.id not in ids)


def cache_cost(
    items: Sequence[ContextItem],
    leaving: Collection[str],
    *,
    original: int,
    digest: int,
    prices: Prices = DEFAULT_PRICES,
    model_cost: float = 0.0,
) -> CacheCost:
    """The cache lines of a report, for items that were or would be replaced.

    Args:
        original: tokens of those items before.
        digest: tokens of what stands in their place.
    """
    suffix = suffix_tokens(items, leaving)
    turns = break_even_turns(
        removed=original - digest, digest=digest, suffix=suffix, prices=prices, model_cost=model_cost
    )
    return CacheCost(
        # What was cached behind the first edit and is so no more: the originals themselves and what follows them.
        invalidated_tokens=original + suffix if leaving else 0,
        break_even_turns=None if turns is None else round(turns, 1),
        prices=prices.source,
    )
