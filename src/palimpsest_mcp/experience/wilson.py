"""How much success can be relied on after a few votes."""

from __future__ import annotations

from math import sqrt

_Z = 1.959964
"""95 %, two-sided."""


def lower_bound(success: int, seen: int) -> float:
    """Lower end of Wilson's score interval (1927) for a share; 0.0 without votes. 3 of 3 gives 0.438, 4 of 5 0.376."""
    if seen <= 0:
        return 0.0
    # A footer that was changed by hand may claim more successes than votes.
    share, square = min(success, seen) / seen, _Z * _Z
    middle = share + square / (2 * seen)
    spread = _Z * sqrt(share * (1 - share) / seen + square / (4 * seen * seen))
    return max(0.0, (middle - spread) / (1 + square / seen))
