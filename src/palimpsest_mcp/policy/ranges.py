"""The ranges of a policy's values."""

from __future__ import annotations

from ..models.policies import ARCHIVE_PATH, HARD_FLOOR_TOOL_RESULTS, Policy
from .strategies import STRATEGIES

_AT_LEAST = {
    "keep_last_k_tool_results": -1,
    "floor_tool_results": HARD_FLOOR_TOOL_RESULTS,
    "keep_last_messages": 0,
    "min_messages": 0,
    "min_tool_calls": 0,
    "batch_items": 1,
    "max_digest_tokens": 200,
    "min_item_tokens": 0,
    "restored_protection": 0,
    "max_break_even_turns": 0,
    "min_gain_share": 0,
}
_SHARES = (
    "offload_trigger_token_ratio",
    "offload_target_token_ratio",
    "budget_share",
    "min_budget_share",
    "level2_share",
    "critical_ratio",
)


def problem(policy: Policy) -> str | None:
    """The first value outside its range, as the end of a sentence; None when all are inside."""
    for name, low in _AT_LEAST.items():
        if not getattr(policy, name) >= low:
            return f"{name} must be at least {low}, not {getattr(policy, name)}."
    for name in _SHARES:
        if not 0.0 < getattr(policy, name) <= 1.0:
            return f"{name} must be above 0 and at most 1, not {getattr(policy, name)}."
    return _pairs(policy) or _compression(policy) or _zones(policy) or _fixed(policy)


def _pairs(policy: Policy) -> str | None:
    if policy.offload_target_token_ratio >= policy.offload_trigger_token_ratio:
        return (
            f"offload_target_token_ratio ({policy.offload_target_token_ratio}) must be below "
            f"offload_trigger_token_ratio ({policy.offload_trigger_token_ratio})."
        )
    if policy.min_budget_share > policy.budget_share:
        return f"min_budget_share ({policy.min_budget_share}) must not be above budget_share ({policy.budget_share})."
    if not 0.0 <= policy.min_shown <= 1.0:
        return f"min_shown must be from 0 to 1, not {policy.min_shown}."
    return None


def _compression(policy: Policy) -> str | None:
    usual = policy.expected_compression
    if usual is not None and not 0.0 <= usual[0] < usual[1] <= 1.0:
        return f"expected_compression must be two rising values from 0 to 1, not {list(usual)}."
    if policy.refuse_compression_above is not None and not 0.0 < policy.refuse_compression_above <= 1.0:
        return f"refuse_compression_above must be above 0 and at most 1, not {policy.refuse_compression_above}."
    return None


def _zones(policy: Policy) -> str | None:
    starts = [zone.start for zone in policy.zones]
    # A ratio may exceed 1, and so may the start of a zone.
    if not starts or starts[0] != 0.0 or not all(low < high for low, high in zip(starts, starts[1:], strict=False)):
        return f"zones must start at 0 and rise, not {starts}."
    return None


def _fixed(policy: Policy) -> str | None:
    if policy.offload_archive_path != ARCHIVE_PATH:
        return (
            f"offload_archive_path is fixed at {ARCHIVE_PATH!r} under the home folder and cannot be moved; "
            "set PALIMPSEST_HOME to keep the store elsewhere."
        )
    if not policy.name:
        return "name must not be empty."
    if policy.strategy not in STRATEGIES:
        return f"strategy must be one of {', '.join(STRATEGIES)}, not {policy.strategy!r}."
    return None
