"""In which zone of a policy a ratio lies, and what to do there."""

from __future__ import annotations

from ..models.policies import Policy, Zone

UNKNOWN = Zone("unknown", 0.0, "give used_tokens and window_tokens: nothing is decided on an unknown number")


def ratio_of(used: int | None, window: int | None) -> float | None:
    """used / window, not capped; None where either is unknown.

    Compare this quotient with a bound, never `used` with `bound * window`: the quotient of 7 and 10 is exactly the
    float 0.7, while 0.7 times a window may come out above it.
    """
    if used is None or window is None or window <= 0:
        return None
    return used / window


def zone_of(ratio: float | None, policy: Policy) -> Zone:
    """The zone with the highest start not above the ratio: lower bounds belong to their zone."""
    if ratio is None:
        return UNKNOWN
    return max((zone for zone in policy.zones if zone.start <= ratio), key=lambda zone: zone.start, default=UNKNOWN)


def triggers(ratio: float | None, policy: Policy) -> bool:
    """Whether a pass runs on its own: the trigger itself counts, an unknown ratio never does."""
    return ratio is not None and ratio >= policy.offload_trigger_token_ratio


def is_critical(ratio: float | None, policy: Policy) -> bool:
    """Whether the ratio is in the policy's critical zone, where even a short session is compacted."""
    return ratio is not None and ratio >= policy.critical_ratio
