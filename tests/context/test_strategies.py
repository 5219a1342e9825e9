"""Strategies: what each changes on the one engine."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from palimpsest_mcp.context.budgets import level2_groups
from palimpsest_mcp.context.plan import plan
from palimpsest_mcp.context.policies import (
    ANCHORED,
    HYBRID,
    IMPORTANCE,
    RESEARCH,
    STRATEGIES,
    Scorer,
    compression,
    scores,
    under,
)
from palimpsest_mcp.models.items import Action, Item, Verb, content_sha256
from palimpsest_mcp.models.plans import ContextItem, Plan, Policy

FLOOR = msgspec.structs.replace(RESEARCH, keep_last_k_tool_results=3)
BARE = Scorer(recency=0)


def result(row: int, text: str = "", *, verb: Verb = "other", target: str = "", **fields: Any) -> ContextItem:
    text = text or f"row {row} of nothing in particular\n" * 3
    item = Item(
        id=f"r{row}", kind="tool_result", role="tool", position=(row, 0), content=text, sha256=content_sha256(text),
        size_bytes=len(text), unit=f"u{row}", action=Action(verb=verb, target=target), args={"n": row}, **fields,
    )  # fmt: skip
    return ContextItem(item=item, tokens=1000)


def message(row: int, text: str) -> ContextItem:
    item = Item(id=f"m{row}", kind="message", role="assistant", position=(row, 0), content=text, sha256="")
    return ContextItem(item=item, tokens=10)


def planned(name: str, items: list[ContextItem], policy: Policy = FLOOR, **how: Any) -> Plan:
    strategy = STRATEGIES[name]
    how.setdefault("force", True)
    return plan(items, under(policy, strategy), strategy=strategy, **how)


def left(found: Plan) -> list[str]:
    return [item_id for slot in found.slots for item_id in slot.item_ids]


def test_the_ranges_are_those_of_the_seed_and_its_original() -> None:
    assert {name: one.expected for name, one in STRATEGIES.items()} == {
        "anchored": (0.60, 0.80),
        "sliding_window": (0.50, 0.70),
        "regenerative": (0.70, 0.85),
        "opaque": (0.95, 0.99),
        "importance": (0.60, 0.75),
        "hybrid": (0.60, 0.80),
    }


def test_the_default_strategy_changes_nothing_but_the_range_that_is_reported() -> None:
    changed = under(RESEARCH, STRATEGIES["anchored"])
    assert msgspec.structs.replace(changed, expected_compression=None) == RESEARCH
    assert under(ANCHORED, STRATEGIES["anchored"]) == ANCHORED


def test_a_sliding_window_takes_all_that_is_older_whatever_the_target() -> None:
    items = [result(row) for row in range(40)]
    assert left(planned("anchored", items, target=0.9)) == [f"r{n}" for n in range(5)]
    assert left(planned("sliding_window", items, target=0.9)) == [f"r{n}" for n in range(30)]


def test_regenerative_takes_all_in_larger_batches() -> None:
    found = planned("regenerative", [result(row) for row in range(40)], target=0.9)
    assert [len(slot.item_ids) for slot in found.slots] == [6, 6, 6, 6, 6, 6, 1]


def test_regenerative_alone_remakes_digests_while_the_target_is_met() -> None:
    items = [
        msgspec.structs.replace(result(row), state="replaced", batch_id=f"offload_{row // 3:04d}", level=1)
        for row in range(12)
    ]
    assert level2_groups(items, FLOOR, window_tokens=10**6, excess=0) == ()
    groups = level2_groups(items, FLOOR, window_tokens=10**6, excess=0, all_of_them=True)
    assert [one.batch_ids for one in groups] == [("offload_0000", "offload_0001", "offload_0002", "offload_0003")]


def test_opaque_leaves_pointers_and_is_measured_by_them() -> None:
    found = planned("opaque", [result(row) for row in range(40)], target=0.5)
    assert all(slot.budget_tokens == 50 + 30 * len(slot.item_ids) for slot in found.slots)
    sizes = [(1000, 30, "pointer")]
    assert compression(sizes, FLOOR, strategy="opaque").share == pytest.approx(0.97)
    assert compression(sizes, FLOOR, strategy="anchored").share is None


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "opaque"])
def test_above_95_percent_is_refused_where_something_was_left_out(name: str) -> None:
    policy = under(FLOOR, STRATEGIES[name])
    sizes = [(1000, 40, "digest")]
    assert compression(sizes, policy, strategy=name, left_out=1).refused
    # A log that only repeats itself loses nothing; a policy that names a limit means it whatever was kept.
    assert not compression(sizes, policy, strategy=name, left_out=0).refused
    limited = under(ANCHORED, STRATEGIES[name])
    assert compression(sizes, limited, strategy=name, left_out=0).refused


def test_opaque_is_never_refused() -> None:
    policy = under(ANCHORED, STRATEGIES["opaque"])
    assert not compression([(1000, 10, "pointer")], policy, strategy="opaque", left_out=90).refused


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_outside_its_range_every_strategy_has_a_note(name: str) -> None:
    policy = under(FLOOR, STRATEGIES[name])
    low, high = STRATEGIES[name].expected
    mode = "pointer" if name == "opaque" else "digest"

    def note(share: float) -> str:
        return compression([(10_000, round(10_000 * (1 - share)), mode)], policy, strategy=name).note

    assert "below the usual" in note(low - 0.01)
    assert note((low + high) / 2) == ""
    assert "above the usual" in note(min(high + 0.005, 0.999))


def test_hybrid_acts_above_twenty_messages_and_keeps_the_newest_five() -> None:
    few, many = [result(row) for row in range(20)], [result(row) for row in range(21)]
    calm: dict[str, Any] = {"force": False, "requested": True, "window_tokens": 30_000, "messages_since_pass": None}
    assert "Only 20 messages" in planned("hybrid", few, **calm, used_tokens=21_500).reason
    assert planned("hybrid", many, **calm, used_tokens=21_500).status == "planned"
    assert set(left(planned("hybrid", many, target=0.1))) == {f"r{n}" for n in range(16)}


def test_importance_gives_up_what_says_least_first() -> None:
    items = [
        result(0, "boom\nError: no port 4711", verb="run", target="make port"),
        result(1, "The file was updated successfully", verb="edit", target="src/other.py"),
        result(2, "the same text twice over, long enough to be told apart from others"),
        result(3, "the same text twice over, long enough to be told apart from others"),
        result(4, "line of the file\n" * 9, verb="read", target="src/core.py"),
        *(result(row) for row in range(5, 12)),
        message(12, "The reason lies in core.py, I think."),
    ]
    found = scores(items, FLOOR, IMPORTANCE)
    assert sorted(found, key=lambda name: found[name])[:2] == ["r2", "r1"], "repeat, then acknowledgement"
    assert found["r0"] > found["r11"] and found["r4"] > found["r6"]


@pytest.mark.parametrize(
    ("signal", "important"),
    [("error", "r0"), ("path", "r1"), ("decision", "r2"), ("mention", "r3"), ("recency", "r5")],
)
def test_every_signal_of_the_scorer_counts_by_its_weight_alone(signal: str, important: str) -> None:
    items = [
        result(0, "Error: no such port", verb="run", target="make port"),
        result(1, "x = 1\n" * 9, verb="read", target="src/work.py"),
        result(2, "We decided to use sqlite here."),
        result(3, "y = 2\n" * 9, verb="read", target="src/named.py"),
        result(4, verb="edit", target="src/work.py"),
        result(5),
        message(6, "See named.py for that."),
    ]
    found = scores(items, FLOOR, msgspec.structs.replace(BARE, **{signal: 1.0}))
    best = {name for name, score in found.items() if score == max(found.values())}
    assert important in best and best <= {important, "r4"}
    assert scores(items, FLOOR, BARE) == dict.fromkeys(found, 0.0)


def test_importance_and_hybrid_are_settings_of_one_scorer() -> None:
    assert STRATEGIES["importance"].scorer is IMPORTANCE and STRATEGIES["hybrid"].scorer is HYBRID
    assert msgspec.structs.replace(IMPORTANCE, recency=HYBRID.recency) == HYBRID


def test_what_scores_least_leaves_first() -> None:
    items = [result(row) for row in range(30)]
    items[0] = result(0, "boom\nError: no port 4711", verb="run", target="make port")
    assert left(planned("anchored", items, target=0.97))[0] == "r0"
    assert left(planned("importance", items, target=0.97))[0] == "r1"
