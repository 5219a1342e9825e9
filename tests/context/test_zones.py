"""Zones: lower bounds belong to their zone, and an unknown number is in none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.meter import is_critical, ratio_of, triggers, zone_of
from palimpsest_mcp.context.policies import ANCHORED, PHASED, RESEARCH
from palimpsest_mcp.models.plans import Policy


@pytest.mark.parametrize(
    ("policy", "ratio", "zone"),
    [
        (RESEARCH, 0.0, "ok"),
        (RESEARCH, 0.6999, "ok"),
        (RESEARCH, 0.7, "compact"),
        (RESEARCH, 0.8999, "compact"),
        (RESEARCH, 0.9, "critical"),
        (RESEARCH, 1.7, "critical"),
        (ANCHORED, 0.5999, "ok"),
        (ANCHORED, 0.6, "warning"),
        (ANCHORED, 0.7, "compress"),
        (ANCHORED, 0.9, "critical"),
        (PHASED, 0.2999, "no_action"),
        (PHASED, 0.3, "prepare"),
        (PHASED, 0.4, "summarise"),
        (PHASED, 0.4999, "summarise"),
        (PHASED, 0.5, "reduce"),
        (PHASED, 0.65, "restart"),
        (PHASED, 1.0, "restart"),
    ],
)
def test_a_lower_bound_belongs_to_its_zone(policy: Policy, ratio: float, zone: str) -> None:
    assert zone_of(ratio, policy).name == zone


def test_every_band_of_the_phased_policy_has_its_action() -> None:
    """Word by word the table of seed 004, lower bounds inclusive."""
    table = {
        (0.0, 0.1, 0.2999): "no action",
        (0.3, 0.35, 0.3999): "prepare: identify summarization candidates",
        (0.4, 0.45, 0.4999): "write summary to memory/, start fresh context window",
        (0.5, 0.55, 0.6499): "summarize everything except current task",
        (0.65, 0.9, 1.2): "full summary to memory/, start new conversation",
    }
    assert {ratios: {zone_of(ratio, PHASED).action for ratio in ratios} for ratios in table} == {
        ratios: {action} for ratios, action in table.items()
    }


def test_an_unknown_ratio_is_in_no_zone_and_triggers_nothing() -> None:
    assert zone_of(None, RESEARCH).name == "unknown"
    assert not triggers(None, RESEARCH)
    assert not is_critical(None, RESEARCH)


def test_an_unknown_number_gives_no_ratio_rather_than_zero() -> None:
    assert ratio_of(None, 100) is None
    assert ratio_of(50, None) is None
    assert ratio_of(50, 0) is None
    assert ratio_of(0, 100) == 0.0


@given(st.integers(1, 10**9))
def test_exactly_seventy_percent_triggers_in_a_window_of_any_size(tenth: int) -> None:
    assert triggers(ratio_of(7 * tenth, 10 * tenth), RESEARCH)
    assert triggers(ratio_of(4 * tenth, 10 * tenth), PHASED)
    assert not triggers(ratio_of(7 * tenth - 1, 10 * tenth), RESEARCH)
