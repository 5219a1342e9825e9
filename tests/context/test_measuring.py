"""A usage names its sources, prefers the best, and never takes unknown for zero."""

from __future__ import annotations

import msgspec
import pytest

from palimpsest_mcp.context.meter import Numbers, measure, used_tokens
from palimpsest_mcp.context.policies import RESEARCH

FULL = Numbers(
    told_used=1,
    provider_used=2,
    added_since=3,
    estimate=4,
    counter="o200k x 1.55",
    told_window=100,
    set_effective_window=200,
    set_window=300,
    host_window=400,
    model_window=500,
    model_source="model table (claude-x*)",
    reserve=50,
    forced=True,
)


def without(numbers: Numbers, *names: str) -> Numbers:
    return msgspec.structs.replace(numbers, **dict.fromkeys(names, None))


def test_the_best_source_of_used_tokens_is_taken_and_named() -> None:
    assert (used_tokens(FULL).value, used_tokens(FULL).source) == (1, "argument")
    second = used_tokens(without(FULL, "told_used"))
    assert (second.value, second.source) == (5, "provider usage + estimate")
    exact = used_tokens(Numbers(provider_used=7))
    assert (exact.value, exact.source) == (7, "provider usage")
    third = used_tokens(without(FULL, "told_used", "provider_used"))
    assert (third.value, third.source) == (4, "estimate (o200k x 1.55)")
    rule = used_tokens(Numbers(estimate=4, counter="characters x 1.55"))
    assert (rule.value, rule.source) == (4, "characters rule")


def test_an_unknown_number_stays_unknown_and_gives_no_ratio() -> None:
    usage = measure(Numbers(model_window=1000), RESEARCH)
    assert usage.used.value is None
    assert usage.used.source == "unknown"
    assert usage.ratio is None
    assert usage.zone == "unknown"


def test_a_provider_that_reported_nothing_is_not_a_provider_that_reported_zero() -> None:
    assert measure(Numbers(estimate=80, told_window=100), RESEARCH).ratio == 0.8
    assert measure(Numbers(provider_used=0, estimate=80, told_window=100), RESEARCH).ratio == 0.0


@pytest.mark.parametrize(
    ("gone", "window", "effective", "source"),
    [
        ((), 100, 100, "argument"),
        (("told_window",), 300, 200, "setting"),
        (("told_window", "set_effective_window"), 300, 250, "setting, less 50 for the answer"),
        (("told_window", "set_effective_window", "set_window"), 400, 350, "host, less 50 for the answer"),
        (
            ("told_window", "set_effective_window", "set_window", "host_window"),
            500,
            450,
            "model table (claude-x*), less 50 for the answer",
        ),
        (("told_window", "set_effective_window", "set_window", "host_window", "model_window"), 1, 1, "forced"),
    ],
)
def test_the_best_source_of_the_window_is_taken_and_named(
    gone: tuple[str, ...], window: int, effective: int, source: str
) -> None:
    usage = measure(without(FULL, *gone), RESEARCH)
    assert (usage.window.value, usage.effective_window.value) == (window, effective)
    assert usage.effective_window.source == source


def test_a_static_policy_divides_by_the_whole_window() -> None:
    static = msgspec.structs.replace(RESEARCH, window_kind="static")
    numbers = Numbers(estimate=120_000, set_effective_window=160_000, model_window=200_000, reserve=40_000)
    assert measure(numbers, RESEARCH).ratio == 0.75
    assert measure(numbers, static).ratio == 0.6


def test_no_window_at_all_is_unknown_unless_forced() -> None:
    assert measure(Numbers(estimate=10), RESEARCH).effective_window.value is None
    assert measure(Numbers(estimate=10, forced=True), RESEARCH).ratio == 1.0
    assert measure(Numbers(forced=True), RESEARCH).ratio is None


def test_a_ratio_may_exceed_one() -> None:
    assert measure(Numbers(told_used=300, told_window=200), RESEARCH).ratio == 1.5


def test_signals_speak_only_where_there_is_no_ratio() -> None:
    signs = ("41 turns (over 40)",)
    assert measure(Numbers(), RESEARCH, signals=signs).signals == signs
    assert measure(Numbers(told_used=1, told_window=2), RESEARCH, signals=signs).signals == ()
