"""How much a pass compressed, and what a policy says to that."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..models.policies import Policy


class Compressed(msgspec.Struct, frozen=True, kw_only=True):
    """Compression of a pass."""

    share: float | None
    """1 - after/before over the replaced items; None when nothing but pointers took their place."""
    refused: bool = False
    note: str = ""


def compression(
    batches: Iterable[tuple[int, int, str]], policy: Policy, *, strategy: str = "anchored", kept_specifics: bool = True
) -> Compressed:
    """Judge the batches of a pass by the policy's range.

    Args:
        batches: original tokens, digest tokens and mode of each; pointers and copies are not counted.
        strategy: `opaque` is never refused.
        kept_specifics: specifics are in view and probes passed (or were not run): then a high compression is praise.
    """
    sizes = [(before, after) for before, after, mode in batches if mode == "digest"]
    before = sum(size for size, _ in sizes)
    if before <= 0:
        return Compressed(share=None)
    share = 1 - sum(size for _, size in sizes) / before
    limit = policy.refuse_compression_above
    if limit is not None and share > limit and strategy != "opaque":
        return Compressed(share=share, refused=True, note=f"{share:.1%} compression is above the limit of {limit:.0%}")
    usual = policy.expected_compression
    if usual is not None and share < usual[0]:
        return Compressed(share=share, note=f"{share:.1%} compression is below the usual {usual[0]:.0%}")
    if usual is not None and share > usual[1]:
        word = "above the usual" if kept_specifics else "too aggressive, specifics were lost: above the usual"
        return Compressed(share=share, note=f"{share:.1%} compression is {word} {usual[1]:.0%}")
    return Compressed(share=share)
