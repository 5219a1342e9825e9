"""One budget shared out over many batches: the same part of each, but for what each needs before it says anything.

Shares by how many specifics a batch has were tried: with the same tokens they showed no more of them, and less of how
results went.
"""

from __future__ import annotations

from collections.abc import Sequence

_LEAST = 100
"""Tokens of header, note and outcome, and a first line: what a digest takes before more of it is of more use."""
_WANTED = 0.4
"""Of a batch's tokens: what the policy's own digests may grow to."""
_MOST = 0.85
"""Of a batch's tokens, at most: beyond that a digest is not worth its place."""


def wanted(tokens: int) -> float:
    """Tokens that the digest of a batch of so many should have."""
    return min(_MOST * tokens, _WANTED * tokens + _LEAST)


def share_out(total: int, tokens: Sequence[int]) -> list[int]:
    """Budgets that sum to about `total`: what each batch wants, as far as it goes, and the rest by size.

    `tokens` are of the batches, in order. No batch gets more than a fixed part of its own tokens.
    """
    sizes = [float(size) for size in tokens]
    wants = [wanted(size) for size in tokens]
    budgets = _poured(total, wants, wants)
    more = _poured(total - sum(budgets), sizes, [_MOST * size - had for size, had in zip(sizes, budgets, strict=True)])
    return [int(had + extra) for had, extra in zip(budgets, more, strict=True)]


def _poured(total: float, weights: Sequence[float], most: Sequence[float]) -> list[float]:
    """Shares by weight, each at most `most`; what one cannot take goes on to the others."""
    shares = [0.0] * len(weights)
    open_ones: list[int] = [n for n, top in enumerate(most) if top > 0 and weights[n] > 0]
    while open_ones and total > 0.5:
        rate = total / sum(weights[n] for n in open_ones)
        full = {n for n in open_ones if rate * weights[n] >= most[n] - shares[n]}
        for n in open_ones:
            more = most[n] - shares[n] if n in full else 0.0 if full else rate * weights[n]
            shares[n] += more
            total -= more
        open_ones = [n for n in open_ones if n not in full] if full else []
    return shares
