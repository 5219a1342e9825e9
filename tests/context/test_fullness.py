"""What a usage means, and what fills a context."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.meter import APPLY, HANDOFF, breakdown, explained, in_words, ratio_of, zone_of
from palimpsest_mcp.context.policies import ANCHORED, PHASED, RESEARCH
from palimpsest_mcp.models.plans import Policy, Zone
from palimpsest_mcp.models.reports import NOT_APPLIED, OUTSIDE, Measured, Usage

ENTRIES = st.lists(st.tuples(st.sampled_from(["small", "pinned", "message", "tool_call"]), st.integers(0, 50_000)))


def usage(used: int | None, window: int | None = 1_000, policy: str = "research") -> Usage:
    rules = {"research": RESEARCH, "anchored": ANCHORED, "phased": PHASED}[policy]
    ratio = ratio_of(used, window)
    zone = zone_of(ratio, rules)
    whole = Measured(value=window, source="argument")
    numbers = Measured(value=used, source="argument")
    return Usage(
        used=numbers,
        window=whole,
        effective_window=whole,
        ratio=ratio,
        zone=zone.name,
        action=zone.action,
        policy=policy,
    )


@given(ENTRIES, st.integers(0, 200_000), st.floats(0.1, 1.0), st.integers(0, 30_000))
def test_the_parts_sum_to_the_total_in_tokens_and_in_items(
    entries: list[tuple[str, int]], total: int, scale: float, waits: int
) -> None:
    parts = breakdown(entries, total, scale=scale, beside={NOT_APPLIED: waits} if waits else None)
    assert sum(part.tokens for part in parts) == total
    assert sum(part.items for part in parts) == len(entries)
    assert all(part.tokens >= 0 for part in parts)
    said = in_words(parts, most=2)
    if total:
        head, _, tail = said.partition(" tokens: ") if total > 1 else said.partition(" token: ")
        pieces = re.split(r", (?=[a-z\d]+[ _])", tail.replace(" (system prompt, tools, what was not measured)", ""))
        assert int(head.replace(",", "")) == total
        assert sum(int(piece.rsplit(" ", 1)[1].replace(",", "")) for piece in pieces) == total


@given(ENTRIES)
def test_without_a_total_the_parts_are_the_estimates_and_nothing_is_made_up(entries: list[tuple[str, int]]) -> None:
    parts = breakdown(entries, None)
    assert sum(part.tokens for part in parts) == sum(size for _, size in entries)
    assert OUTSIDE not in {part.reason for part in parts}


def test_estimates_that_exceed_the_total_are_scaled_to_it_without_a_rest() -> None:
    parts = breakdown([("a", 10), ("b", 10), ("c", 10)], 20)
    assert [(part.reason, part.tokens) for part in parts] == [("a", 7), ("b", 7), ("c", 6)]


def test_what_no_item_accounts_for_has_a_line_of_its_own() -> None:
    parts = breakdown([("message", 100), ("small", 10), ("message", 5)], 1_000)
    assert [(part.reason, part.items, part.tokens) for part in parts] == [
        (OUTSIDE, 0, 885),
        ("message", 2, 105),
        ("small", 1, 10),
    ]


@pytest.mark.parametrize("policy", ["research", "anchored", "phased"])
def test_after_a_pass_that_the_host_does_not_show_the_action_is_to_apply_it(policy: str) -> None:
    rules = {"research": RESEARCH, "anchored": ANCHORED, "phased": PHASED}[policy]
    found = explained(usage(744, policy=policy), rules, view_used=250, waiting=23, how_to_apply="Resume the new one.")
    assert found.action == APPLY and found.ratio == 0.744 and found.zone == zone_of(0.744, rules).name
    assert (found.compacted_view_tokens, found.compacted_view_ratio, found.waiting) == (250, 0.25, 23)
    assert found.how_to_apply == "Resume the new one."
    assert found.meaning == (
        "The host's own list fills 74.4%. 23 results have digests that the host does not show yet; with them it would "
        "hold 250 tokens (25.0%). Next: apply the shorter list."
    )


def test_where_even_the_shorter_list_is_at_the_trigger_both_steps_are_named() -> None:
    found = explained(usage(950), RESEARCH, view_used=800, waiting=1, how_to_apply="")
    assert "1 result has a digest" in found.meaning
    assert found.meaning.endswith("Next: apply the shorter list, and compact again then.")


def test_below_every_threshold_nothing_is_asked_for() -> None:
    found = explained(usage(300), RESEARCH, view_used=200, waiting=2, how_to_apply="x")
    assert found.action == "no action" and "Next" not in found.meaning


def test_where_nothing_waits_there_is_one_list_and_one_number() -> None:
    found = explained(usage(744), RESEARCH, view_used=744, waiting=0, how_to_apply="x")
    assert found.action == "compact" and found.compacted_view_tokens is None and found.how_to_apply == ""
    assert found.meaning == "The host's own list fills 74.4%; no digest waits to be applied. Next: compact."
    unknown = explained(usage(744, None), RESEARCH, view_used=744, waiting=0, how_to_apply="x")
    assert unknown.meaning.startswith("It is not known how full the window is. Next: say how large the window is")


def test_a_measurement_is_changed_in_nothing_else() -> None:
    before = usage(744)
    after = explained(before, RESEARCH, view_used=400, waiting=3, how_to_apply="x")
    for name in ("used", "window", "effective_window", "ratio", "zone", "policy", "host", "notes"):
        assert msgspec.structs.asdict(after)[name] == msgspec.structs.asdict(before)[name]


@pytest.mark.parametrize(
    "rules",
    [
        RESEARCH,
        ANCHORED,
        PHASED,
        msgspec.structs.replace(RESEARCH, zones=(Zone("ok", 0, "go on"), Zone("full", 0.7, "shrink"))),
    ],
)
def test_at_the_trigger_with_nothing_recorded_the_action_is_a_handoff_in_whatever_words_a_zone_has_its_own(
    rules: Policy,
) -> None:
    zone = zone_of(0.744, rules)
    full = msgspec.structs.replace(usage(744), zone=zone.name, action=zone.action)
    found = explained(full, rules, view_used=None, waiting=0, how_to_apply="", recorded=False)
    assert found.action == HANDOFF
    assert "nothing of the session is recorded" in found.meaning
