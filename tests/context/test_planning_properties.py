"""What holds for every plan, whatever the context."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from palimpsest_mcp.context.judge import judge
from palimpsest_mcp.context.plan import Outcome, plan, replan
from palimpsest_mcp.context.policies import ANCHORED, PHASED, RESEARCH
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.models.plans import ContextItem, Policy

KINDS = st.sampled_from(["tool_result"] * 6 + ["evidence", "message", "tool_call", "rubrics", "restored_copy", "plan"])
STATES: st.SearchStrategy[Literal["live", "replaced", "gone"]] = st.sampled_from(
    ("live", "live", "live", "live", "live", "live", "live", "live", "replaced", "gone")
)


@st.composite
def contexts(draw: st.DrawFn, kinds: st.SearchStrategy[str] = KINDS, alone: bool = False) -> list[ContextItem]:
    """Items in order; units of one to three neighbours or strangers, in any state."""
    found: list[ContextItem] = []
    for row in range(draw(st.integers(0, 30))):
        kind = draw(kinds)
        unit = "" if alone or kind == "message" else draw(st.sampled_from(["", "", f"u{row}", f"u{row // 3}", "u0"]))
        role = {"message": draw(st.sampled_from(["user", "assistant"])), "tool_call": "assistant"}.get(kind, "tool")
        item = Item(
            id=f"i{row}",
            kind=kind,
            role=role,
            position=(row, 0),
            content=None if draw(st.integers(0, 19)) == 0 else "x",
            sha256="",
            unit=unit,
        )
        rare = st.integers(0, 14).map(lambda number: number == 0)
        found.append(
            ContextItem(
                item=item,
                tokens=draw(st.sampled_from([5, 150, 200, 700, 3_000, 40_000])),
                state="live" if alone else draw(STATES),
                pinned=draw(rare),
                restored_ago=draw(st.sampled_from([None] * 12 + [0, 9])),
                call_open=draw(rare),
                unshrinkable=draw(rare),
                copy_of="offload_0001 x" if kind == "restored_copy" else "",
            )
        )
    return found


policies = st.sampled_from(
    [RESEARCH, ANCHORED, PHASED, msgspec.structs.replace(RESEARCH, prefer_compact_over_drop=False)]
)
calls = st.fixed_dictionaries(
    {
        "target": st.none() | st.sampled_from([0.1, 0.3, 0.6, 0.9]),
        "keep_last": st.none() | st.sampled_from([-1, 0, 1, 3, 5, 12]),
        "force": st.just(True),
    }
)


@given(contexts(), policies, calls)
def test_only_free_items_leave_and_whole_units_in_order_of_age(
    items: list[ContextItem], policy: Policy, how: dict[str, Any]
) -> None:
    found = plan(items, policy, **how)
    left = [item_id for slot in found.slots for item_id in slot.item_ids]
    verdicts = {verdict.item_id: verdict for verdict in found.verdicts}
    assert [verdict.item_id for verdict in found.verdicts] == [entry.item.id for entry in items]
    assert len(left) == len(set(left)), "slots are disjoint"
    assert all(verdicts[item_id].verdict == "free" for item_id in left)
    units = {verdicts[item_id].unit for item_id in left}
    assert {one.item_id for one in found.verdicts if one.unit in units and one.verdict == "free"} == set(left)
    first_of = {unit: next(i for i, one in enumerate(found.verdicts) if one.unit == unit and one.verdict == "free")
                for unit in {one.unit for one in found.verdicts if one.verdict == "free"}}  # fmt: skip
    ages = [first_of[verdicts[item_id].unit] for item_id in left]
    assert ages == sorted(ages), "oldest first"
    assert all(age < other for age in ages for unit, other in first_of.items() if unit not in units)


@given(contexts(), policies, calls)
def test_what_never_leaves_is_in_no_slot(items: list[ContextItem], policy: Policy, how: dict[str, Any]) -> None:
    left = {item_id for slot in plan(items, policy, **how).slots for item_id in slot.item_ids}
    present = [entry for entry in items if entry.state != "gone"]
    newest = [entry.item.id for entry in present if entry.item.kind == "tool_result"][-3:]
    assert not left & set(newest)
    for entry in items:
        if entry.item.id in left:
            assert entry.state == "live"
            assert entry.item.content is not None
            assert entry.item.kind not in ("message", "tool_call", "rubrics")
            assert not (entry.pinned or entry.call_open or entry.unshrinkable or entry.restored_ago == 0)
            assert entry.tokens >= policy.min_item_tokens
            mates = [one for one in present if entry.item.unit and one.item.unit == entry.item.unit]
            assert not any(one.pinned or one.call_open or one.item.id in newest for one in mates)


@given(contexts(), policies, calls)
def test_numbers_agree_and_budgets_are_inside_their_batches(
    items: list[ContextItem], policy: Policy, how: dict[str, Any]
) -> None:
    found = plan(items, policy, **how)
    tokens = {entry.item.id: entry.tokens for entry in items}
    assert found.before_tokens == sum(entry.tokens for entry in items if entry.state != "gone")
    assert found.predicted_tokens == found.before_tokens - sum(slot.tokens - slot.budget_tokens for slot in found.slots)
    for slot in found.slots:
        assert slot.tokens == sum(tokens[item_id] for item_id in slot.item_ids)
        assert 0 < slot.budget_tokens <= slot.ceiling_tokens < slot.tokens
        assert how["target"] is None or slot.ceiling_tokens == slot.budget_tokens


@given(contexts(), policies, calls)
def test_the_last_unit_was_needed_and_a_plan_is_the_same_every_time(
    items: list[ContextItem], policy: Policy, how: dict[str, Any]
) -> None:
    found = plan(items, policy, **how)
    assert plan(list(items), policy, **how) == found
    if found.slots:
        earlier = found.slots[:-1]
        assert found.before_tokens - sum(slot.tokens - slot.budget_tokens for slot in earlier) > found.target_tokens


@given(contexts(st.just("tool_result"), alone=True))
def test_k_is_the_largest_that_meets_the_target(items: list[ContextItem]) -> None:
    found = plan(items, RESEARCH, force=True)
    assume(found.status == "planned" and found.keep_last < 12)
    one_more = plan(items, RESEARCH, force=True, keep_last=found.keep_last + 1)
    assert one_more.predicted_tokens > one_more.target_tokens
    if found.predicted_tokens > found.target_tokens and found.keep_last > 3:
        least = plan(items, RESEARCH, force=True, keep_last=3)
        missing, gained = least.predicted_tokens - found.target_tokens, found.before_tokens - least.predicted_tokens
        assert missing > 0
        assert found.predicted_tokens - least.predicted_tokens <= min(missing, gained) / 4


@given(contexts(), policies, st.data())
def test_a_pass_that_goes_on_with_real_counts_ends_and_never_repeats_itself(
    items: list[ContextItem], policy: Policy, data: st.DataObject
) -> None:
    outcomes: list[Outcome] = []
    while (rest := replan(items, policy, outcomes)).slots:
        slot = rest.slots[0]
        real = data.draw(st.none() | st.integers(0, slot.tokens + 50))
        outcomes.append(Outcome(item_ids=slot.item_ids, digest_tokens=real))
        assert len(outcomes) <= len(items)
    ids = [item_id for outcome in outcomes for item_id in outcome.item_ids]
    assert len(ids) == len(set(ids))
    free = {one.item_id for one in rest.verdicts if one.verdict == "free"}
    assert rest.predicted_tokens <= rest.target_tokens or free <= set(ids)


@given(contexts(), policies, st.integers(3, 12))
def test_a_smaller_k_never_protects_more(items: list[ContextItem], policy: Policy, newest: int) -> None:
    wide = {one.item_id for one in judge(items, policy, keep_last=newest) if one.verdict == "free"}
    narrow = {one.item_id for one in judge(items, policy, keep_last=newest + 1) if one.verdict == "free"}
    assert narrow <= wide
