"""One budget shared out over many batches by what each needs: a batch full of specifics gets more than an empty one.

A pass with a target gives all its digests together so many tokens. The same share for each batch would leave room in
one for whole lines while another next to it has to drop half of its records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..models.items import Span

_HEADER = 110
"""Tokens that header, manifest and item notes of a batch take."""
_LABEL = 2
"""Tokens for the word or the separator beside a value."""
_PER_TOKEN = {
    "url": 3.0,
    "hash": 1.7,
    "uuid": 1.7,
    "date": 1.9,
    "number": 2.2,
    "integer": 1.8,
    "version": 1.7,
    "path": 3.2,
}
"""Characters a token, by class, over real tool output (o200k); 2.8 for every other."""
_EASE = 1.8
"""Times what the specifics take alone: with just that a digest leaves out the dearest, and shows values without the
words beside them."""
_LINES = 0.04
"""Of a batch's tokens, for the lines that say what its results were."""
_BY_SIZE = 0.7
"""Of the total, at most, shared out by size before need is looked at: the more, the further the total is from enough,
since need alone would then starve the small."""
_MOST = 0.85
"""Of a batch's tokens, at most: beyond that a digest is not worth its place."""


def need_of_spans(spans: Iterable[Span], seen: set[tuple[str, str, str]]) -> float:
    """About how many tokens it takes to show each specific of a text once beside a word of its line.

    `seen` holds what earlier texts show (it is in view already), and is added to: call in the order of the batches.
    """
    need = 0.0
    for span in spans:
        known = (span.cls, span.text, span.key)
        if known not in seen:
            seen.add(known)
            need += len(span.text) / _PER_TOKEN.get(span.cls, 2.8) + _LABEL
    return need


def wanted(need: float, tokens: int) -> float:
    """Tokens that the digest of a batch of so many should have: its specifics, and something around them."""
    return min(_MOST * tokens, _EASE * need + _HEADER + _LINES * tokens)


def share_out(total: int, needs: Sequence[float], tokens: Sequence[int]) -> list[int]:
    """Budgets that sum to about `total`: a part by size, so that none starves, then by need, and the rest by size.

    `needs` and `tokens` are of the batches, in order. No batch gets more than a fixed part of its own tokens.
    """
    sizes = [float(size) for size in tokens]
    most = [_MOST * size for size in sizes]
    wants = [wanted(need, size) for need, size in zip(needs, tokens, strict=True)]
    budgets = [0.0] * len(sizes)
    by_size = _BY_SIZE * total * max(0.0, 1.0 - total / max(1.0, sum(wants)))
    for part, weights, tops in ((by_size, sizes, wants), (total, wants, wants), (total, sizes, most)):
        left = part - sum(budgets)
        room = [top - budget for top, budget in zip(tops, budgets, strict=True)]
        more = _poured(left, weights, room)
        budgets = [budget + extra for budget, extra in zip(budgets, more, strict=True)]
    return [int(budget) for budget in budgets]


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
