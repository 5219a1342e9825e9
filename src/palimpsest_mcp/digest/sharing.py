"""One budget shared out over many batches by what each needs: a batch full of specifics gets more than an empty one.

A pass with a target gives all its digests together so many tokens. The same share for each batch would leave room in
one for whole lines while another next to it has to drop half of its specifics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ports.text import Registry

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
_LINES = 0.04
"""Of a batch's tokens, for the lines that say what its results were."""
_MOST = 0.85
"""Of a batch's tokens, at most: beyond that a digest is not worth its place."""


def need_of(texts: Iterable[str], registry: Registry, seen: set[tuple[str, str, str]]) -> float:
    """About how many tokens a batch needs to show each of its specifics once beside a word of its line.

    `seen` holds what earlier batches show (it is in view already), and is added to: call in the order of the batches.
    """
    need = 0.0
    for text in texts:
        for span in registry.spans(text):
            known = (span.cls, span.text, span.key)
            if known not in seen:
                seen.add(known)
                need += len(span.text) / _PER_TOKEN.get(span.cls, 2.8) + _LABEL
    return need


def share_out(total: int, needs: Sequence[float], tokens: Sequence[int]) -> list[int]:
    """Budgets that sum to about `total`: each its header, then in proportion to need, and the rest by size.

    `needs` and `tokens` are of the batches, in order. No batch gets more than a fixed part of its own tokens.
    """
    most = [_MOST * size for size in tokens]
    wants = [need + _HEADER + _LINES * size for need, size in zip(needs, tokens, strict=True)]
    budgets = _poured(total, wants, most)
    left = total - sum(budgets)
    if left > len(budgets):
        room = [top - budget for top, budget in zip(most, budgets, strict=True)]
        budgets = [
            b + more
            for b, more in zip(budgets, _poured(left, [float(t) for t in tokens], room, level=None), strict=True)
        ]
    return [int(budget) for budget in budgets]


def _poured(total: float, weights: Sequence[float], most: Sequence[float], level: float | None = 1.0) -> list[float]:
    """Shares by weight, each at most `level` times its weight and at most `most`; what one cannot take goes on."""
    budgets = [0.0] * len(weights)
    tops = [min(top, level * weight) if level is not None else top for weight, top in zip(weights, most, strict=True)]
    open_ones: list[int] = [n for n, top in enumerate(tops) if top > 0 and weights[n] > 0]
    while open_ones and total > 0.5:
        rate = total / sum(weights[n] for n in open_ones)
        full: list[int] = [n for n in open_ones if budgets[n] + rate * weights[n] >= tops[n]]
        for n in full or open_ones:
            more = tops[n] - budgets[n] if full else rate * weights[n]
            budgets[n] += more
            total -= more
        if not full:
            break
        open_ones: list[int] = [n for n in open_ones if n not in set(full)]
    return budgets


__all__ = ["need_of", "share_out"]
