"""How much a pass compressed, and what a policy says to that."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from ..models.policies import Policy
from .strategies import STRATEGIES, limit_of


class Compressed(msgspec.Struct, frozen=True, kw_only=True):
    """Compression of a pass."""

    share: float | None
    """1 - after/before over the replaced items; None when nothing but pointers took their place."""
    refused: bool = False
    missing: int = 0
    """Tokens by which digests would have to be larger not to be refused."""
    note: str = ""


def compression(
    batches: Iterable[tuple[int, int, str]],
    policy: Policy,
    *,
    strategy: str = "anchored",
    kept_specifics: bool = True,
    left_out: int = 0,
) -> Compressed:
    """Judge the batches of a pass by the policy's range.

    Above the policy's own limit a pass is refused whatever it kept; above the strategy's (95 %) where specifics were
    left out. A log that only repeats itself may well become a twentieth of its size and lose nothing. What is so large
    that the longest digest there may be (D20) is above the limit is judged by nobody.

    Args:
        batches: original tokens, digest tokens and mode of each; pointers and copies are not counted.
        strategy: `opaque` is never refused, and its pointers are what it compresses by: they count.
        kept_specifics: specifics are in view and probes passed (or were not run): then a high compression is praise.
        left_out: specifics that are not in view any more.
    """
    counted = ("digest", "pointer") if strategy == "opaque" else ("digest",)
    sizes = [(before, after) for before, after, mode in batches if mode in counted]
    before = sum(size for size, _ in sizes)
    if before <= 0:
        return Compressed(share=None)
    share = 1 - sum(size for _, size in sizes) / before
    limit = limit_of(policy, STRATEGIES[strategy], lossless=not left_out)
    if limit is not None and (missing := _missing(sizes, limit, policy.max_digest_tokens)) > 0:
        note = f"{share:.1%} compression is above the limit of {limit:.0%}"
        return Compressed(share=share, refused=True, missing=missing, note=note)
    usual = policy.expected_compression
    if usual is not None and share < usual[0]:
        return Compressed(share=share, note=f"{share:.1%} compression is below the usual {usual[0]:.0%}")
    if usual is not None and share > usual[1]:
        word = "above the usual" if kept_specifics else "too aggressive, specifics were lost: above the usual"
        return Compressed(share=share, note=f"{share:.1%} compression is {word} {usual[1]:.0%}")
    return Compressed(share=share)


def _missing(sizes: Iterable[tuple[int, int]], limit: float, most_tokens: int) -> int:
    """Tokens by which these digests are too small, of those that may be large enough; 0 or less where they are not."""
    judged = [(before, after) for before, after in sizes if round((1 - limit) * before, 6) <= most_tokens]
    return math.ceil(round((1 - limit) * sum(before for before, _ in judged), 6)) - sum(after for _, after in judged)
