"""Plans: when nothing is to do, what leaves first, and what a target may press."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.context.plan import Outcome, enough_tokens, goal_tokens, plan, replan, worth_raising
from palimpsest_mcp.context.policies import ANCHORED, PHASED, RESEARCH, STRATEGIES
from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.models.plans import ContextItem, Plan, Slot
from palimpsest_mcp.models.reports import Prices


def result(row: int, tokens: int = 1000, **state: Any) -> ContextItem:
    item = Item(
        id=f"r{row}", kind="tool_result", role="tool", position=(row, 0), content="x", sha256="", unit=f"u{row}"
    )
    return ContextItem(item=item, tokens=tokens, **state)


def results(count: int, tokens: int = 1000) -> list[ContextItem]:
    return [result(row, tokens) for row in range(count)]


def left(found: Plan) -> list[str]:
    return [item_id for slot in found.slots for item_id in slot.item_ids]


def test_the_oldest_units_leave_first_and_no_more_than_needed() -> None:
    found = plan(results(20), RESEARCH, window_tokens=28_000, target=0.6)
    # 20,000 of 28,000 tokens, 16,800 wanted: four results become digests of 200 tokens each.
    assert left(found) == ["r0", "r1", "r2", "r3"]
    assert (found.before_tokens, found.target_tokens, found.predicted_tokens) == (20_000, 16_800, 16_800)
    assert found.predicted_tokens <= found.target_tokens
    assert found.keep_last == 12


def test_batches_hold_three_items() -> None:
    found = plan(results(40), RESEARCH, window_tokens=50_000)
    assert [len(slot.item_ids) for slot in found.slots][:-1] == [3] * (len(found.slots) - 1)
    assert all(slot.budget_tokens == slot.ceiling_tokens == 600 for slot in found.slots[:-1])


def test_a_unit_leaves_whole_even_where_its_first_item_would_do() -> None:
    items = results(20)
    items[4] = msgspec.structs.replace(items[4], item=msgspec.structs.replace(items[4].item, unit="u0"))
    found = plan(items, RESEARCH, window_tokens=20_000, force=True, target=0.97)
    assert [slot.item_ids for slot in found.slots] == [("r0", "r4")]


def test_below_the_trigger_nothing_runs_on_its_own() -> None:
    items = results(20)
    assert plan(items, RESEARCH, used_tokens=69_999, window_tokens=100_000).status == "nothing_to_do"
    assert plan(items, RESEARCH, used_tokens=70_000, window_tokens=100_000).status == "planned"


def test_a_measured_ratio_decides_where_numbers_were_rounded() -> None:
    items = results(20)
    assert plan(items, RESEARCH, used_tokens=69_999, window_tokens=100_000, ratio=0.7).status == "planned"
    assert plan(items, RESEARCH, used_tokens=70_000, window_tokens=100_000, ratio=0.6999).status == "nothing_to_do"


def test_an_unknown_window_plans_nothing_unless_forced() -> None:
    items = results(20)
    assert "window is unknown" in plan(items, RESEARCH, requested=True).reason
    forced = plan(items, RESEARCH, force=True)
    assert (forced.status, forced.target_tokens) == ("planned", 8_000)


def test_a_short_session_is_left_alone_below_the_critical_zone() -> None:
    items = results(9)
    assert "short session" in plan(items, RESEARCH, window_tokens=10_001).reason
    assert plan(items, RESEARCH, window_tokens=10_000).status == "planned"
    assert plan(items, RESEARCH, window_tokens=10_001, force=True).status == "planned"
    assert plan(results(10), RESEARCH, window_tokens=12_000).status == "planned"


def test_a_host_that_compacts_by_itself_is_left_alone_unless_forced() -> None:
    items, point = results(20), "Codex compacts at 9 of 10 tokens"
    stands_aside = plan(items, RESEARCH, window_tokens=20_000, host_compacts=point, requested=True)
    assert stands_aside.status == "nothing_to_do"
    assert f"host compacts by itself ({point})" in stands_aside.reason
    assert plan(items, RESEARCH, window_tokens=20_000, host_compacts=point, force=True).status == "planned"


def test_too_few_messages_since_the_last_pass_wait() -> None:
    items = [result(row, state="replaced" if row < 15 else "live", level=1) for row in range(24)]
    assert "9 messages since the last pass" in plan(items, ANCHORED, window_tokens=30_000).reason
    items.append(result(24))
    assert "messages since" not in plan(items, ANCHORED, window_tokens=30_000).reason
    given = plan(items, ANCHORED, window_tokens=30_000, messages_since_pass=3)
    assert "3 messages since the last pass" in given.reason


def test_a_met_target_leaves_nothing_to_do_even_when_forced() -> None:
    found = plan(results(20), RESEARCH, window_tokens=50_000, force=True)
    assert found.status == "nothing_to_do"
    assert "already within the target" in found.reason


def digests(batches: int, tokens: int = 2_000) -> list[ContextItem]:
    return [result(row, tokens, state="replaced", level=1, batch_id=f"offload_{row:04d}") for row in range(batches)]


def test_where_digests_alone_crowd_the_window_they_become_one_of_a_higher_level() -> None:
    items = [*digests(4), *(result(row, 100) for row in range(4, 7))]
    found = plan(items, RESEARCH, window_tokens=25_000, target=0.2, force=True)
    assert (found.status, found.slots, found.predicted_tokens <= found.target_tokens) == ("planned", (), True)
    assert "4 digests, told again in 1 of a higher level" in found.reason
    assert found.predicted_tokens == 300 + 2_000, "no digest is longer"
    batches = [one.batch_id for one in items[:4]]
    again = plan(items, RESEARCH, window_tokens=25_000, target=0.2, force=True, stuck=batches)
    assert again.status == "nothing_to_do" and "regenerative" not in again.reason


def test_digests_that_do_not_crowd_the_window_are_told_again_only_by_a_strategy_that_remakes() -> None:
    items = [*digests(4), *(result(row, 100) for row in range(4, 7))]
    same = plan(items, RESEARCH, window_tokens=100_000, target=0.04, force=True)
    assert same.status == "nothing_to_do" and "regenerative" in same.reason
    remade = plan(items, RESEARCH, window_tokens=100_000, target=0.04, force=True, strategy=STRATEGIES["regenerative"])
    assert remade.status == "planned"


def test_where_a_pass_would_leave_the_trigger_reached_older_digests_are_told_again() -> None:
    items = [result(row, 2_500) for row in range(20, 26)]
    items[3:3] = digests(8)
    said: dict[str, Any] = {"used_tokens": 80_000, "window_tokens": 100_000, "messages_since_pass": 50}
    assert plan(items, RESEARCH, **said).status == "nothing_to_do", "6,000 tokens are too few for a new prefix"
    enough = enough_tokens(items, RESEARCH, used=80_000, window=100_000, ratio=None)
    found = plan(items, RESEARCH, **said, enough=enough)
    assert found.status == "planned" and found.predicted_tokens == 80_000 - 3 * 2_500 + found.slots[0].budget_tokens
    alone = plan(items[3:], RESEARCH, **said, enough=enough)
    assert (alone.status, alone.slots) == ("planned", ()) and "told again in 2 of a higher level" in alone.reason


def test_enough_is_below_the_trigger_and_after_a_pass_what_is_worth_a_new_prefix() -> None:
    def enough(used: int, items: Sequence[ContextItem]) -> int | None:
        return enough_tokens(items, RESEARCH, used=used, window=100_000, ratio=None)

    assert [enough(used, results(3)) for used in (69_999, 70_000, 95_000)] == [None, 69_999, 69_999]
    assert [enough(used, digests(3)) for used in (69_999, 70_000, 79_999, 95_000)] == [None, 60_000, 69_999, 69_999]


def test_digests_that_miss_the_target_grow_only_where_the_trigger_is_not_reached_again() -> None:
    items = [*results(20, 2_000), *(result(row, 100) for row in range(20, 23))]
    kwargs: dict[str, Any] = {"used_tokens": 90_000, "window_tokens": 100_000, "share_by": _by_tokens}
    roomy, pressed = plan(items, RESEARCH, **kwargs), plan(items, RESEARCH, **kwargs, enough=55_000)
    assert roomy.predicted_tokens > 55_000 >= pressed.predicted_tokens
    assert left(roomy) == left(pressed)


def _by_tokens(slots: Sequence[Slot], total: int | None) -> list[int]:
    part = 0.4 if total is None else total / sum(slot.tokens for slot in slots)
    return [int(part * slot.tokens) for slot in slots]


def test_when_everything_is_protected_the_answer_says_by_what() -> None:
    found = plan(results(3), RESEARCH, force=True)
    assert found.status == "nothing_to_do"
    assert "newest_3_tool_results 3,000" in found.reason


def test_a_requested_pass_that_would_not_pay_is_refused_with_the_figure() -> None:
    items = [result(0), result(1), result(2), *(result(row, 3_000) for row in range(3, 40))]
    late = plan(items, RESEARCH, used_tokens=114_000, window_tokens=200_000, target=0.569, requested=True)
    assert late.status == "nothing_to_do"
    assert "model requests" in late.reason
    assert "over the policy's 20" in late.reason
    free = Prices(write=1.0, read=1.0, source="no cache")
    kwargs: dict[str, Any] = {"used_tokens": 114_000, "window_tokens": 200_000, "target": 0.569}
    assert plan(items, RESEARCH, requested=True, prices=free, **kwargs).status == "planned"
    assert plan(items, RESEARCH, force=True, **kwargs).status == "planned"


def test_after_a_pass_one_that_frees_little_and_misses_its_target_waits() -> None:
    before = [result(row, 20, state="replaced", batch_id="offload_0001") for row in range(3)]
    items = [*before, *(result(row) for row in range(3, 9))]
    said: dict[str, Any] = {"window_tokens": 100_000, "messages_since_pass": 50}
    policy = msgspec.structs.replace(RESEARCH, min_tool_calls=0)
    waits = plan(items, policy, used_tokens=80_000, **said)
    assert waits.status == "nothing_to_do" and "2,400 of 80,000" in waits.reason and "9,901" in waits.reason
    assert plan(items, policy, used_tokens=92_000, **said).status == "nothing_to_do"
    assert plan(items, policy, used_tokens=101_000, **said).status == "nothing_to_do"
    assert plan(items, policy, used_tokens=101_000, force=True, **said).status == "planned"
    assert plan(items, policy, used_tokens=80_000, target=0.4, **said).status == "planned"
    assert plan(items[3:], policy, used_tokens=80_000, **said).status == "planned", "the first pass does what it can"
    never = msgspec.structs.replace(policy, min_gain_share=0.0)
    assert plan(items, never, used_tokens=80_000, **said).status == "planned"


def test_a_pass_that_leaves_most_of_the_prompt_as_it_is_may_free_less() -> None:
    newest = [result(row, 2_500) for row in range(20, 26)]
    said: dict[str, Any] = {"used_tokens": 80_000, "window_tokens": 100_000, "messages_since_pass": 50}
    late = plan([*digests(12), *newest], RESEARCH, **said)
    assert late.status == "planned" and left(late) == ["r20", "r21", "r22"]
    early = plan([*newest[:3], *digests(12), *newest[3:]], RESEARCH, **said)
    assert early.status == "nothing_to_do" and "waits until 10,000" in early.reason
    few = [*digests(12), *(result(row, 1_000) for row in range(20, 25))]
    assert "waits until 2,500" in plan(few, RESEARCH, **said).reason, "a quarter of it, whatever it costs"


def test_a_pass_that_comes_below_the_trigger_runs_for_the_little_that_it_takes() -> None:
    few = [*digests(12), *(result(row, 400) for row in range(20, 26))]
    stuck = [one.batch_id for one in few[:12]]
    said: dict[str, Any] = {"window_tokens": 100_000, "messages_since_pass": 50, "stuck": stuck, "stuck_pressed": stuck}
    little: dict[str, Any] = {"used_tokens": 70_300, "enough": 60_300, **said}
    under = plan(few, RESEARCH, **little)
    assert under.status == "planned" and 69_000 < under.predicted_tokens < 70_000
    above = plan(few, RESEARCH, used_tokens=72_000, enough=62_000, **said)
    assert above.status == "nothing_to_do" and "waits until 2,500" in above.reason
    early = [*few[-6:-3], *digests(12), *few[-3:]]
    whole = plan(early, RESEARCH, **little)
    assert whole.status == "planned" and whole.predicted_tokens < 70_000, "whatever it rewrites"


def test_above_the_trigger_digests_go_up_a_level_for_what_is_missing() -> None:
    def worth(left: int) -> int | None:
        return worth_raising(left, 55_000, 70_000, 0.75, 100_000, RESEARCH)

    assert worth(69_000) == 10_000, "as much as a pass has to free by itself"
    assert worth(70_500) == 501
    assert worth(54_000) is None


def test_small_results_leave_as_pointers_where_the_next_pass_would_follow_soon() -> None:
    small = [result(row, 150) for row in range(40)]
    items = [*small, result(50, 9_000), *(result(row, 1_000) for row in range(51, 54))]
    said: dict[str, Any] = {"window_tokens": 25_000, "messages_since_pass": 50}
    pressed = plan(items, RESEARCH, used_tokens=23_000, **said, enough=17_499)
    assert left(pressed)[0] == "r50" and {*left(pressed)} == {"r50", *(one.item.id for one in small)}
    assert [slot.pointer for slot in pressed.slots] == [False, True] and pressed.predicted_tokens < 13_750
    assert any("from 100 tokens on" in note for note in pressed.notes)
    reasons = {one.item_id: one.reason for one in pressed.verdicts}
    assert (reasons["r0"], reasons["r53"]) == ("brief", "newest_3_tool_results")
    roomy = plan(items, RESEARCH, used_tokens=18_000, **said, enough=17_499)
    assert left(roomy) == ["r50"] and 10_000 < roomy.predicted_tokens < 13_750
    assert left(plan(items, RESEARCH, used_tokens=23_000, **said)) == ["r50"], "not where nobody asks for enough"
    some = [*small[:3], *items[40:]]
    assert left(plan(some, RESEARCH, used_tokens=23_000, **said, enough=17_499)) == ["r50"], "they gain hardly anything"
    due = plan(some, RESEARCH, used_tokens=25_500, **said, enough=17_499)
    assert {*left(due)} == {"r50", *(one.item.id for one in small[:3])}, "the context would stay above the trigger"
    shorter = [msgspec.structs.replace(one, tokens=99) for one in small]
    tiny = plan([*shorter, *items[40:]], RESEARCH, used_tokens=23_000, **said, enough=17_499)
    assert left(tiny) == ["r50"], "a pointer is hardly smaller"


def test_the_fuller_the_window_the_less_a_pass_that_misses_its_target_must_free() -> None:
    before = [result(row, 20, state="replaced", batch_id="offload_0001") for row in range(3)]
    policy = msgspec.structs.replace(RESEARCH, min_tool_calls=0)

    def status(used: int, free: int) -> str:
        items = [*before, *(result(row, 2_500) for row in range(3, 6 + free))]
        return plan(items, policy, used_tokens=used, window_tokens=100_000, messages_since_pass=50).status

    assert [status(used, 6) for used in (80_000, 95_000, 110_000)] == ["planned"] * 3
    assert [status(used, 3) for used in (80_000, 95_000, 110_000)] == ["nothing_to_do", "planned", "planned"]
    assert [status(used, 2) for used in (80_000, 95_000, 110_000)] == ["nothing_to_do", "nothing_to_do", "planned"]


def test_at_the_trigger_a_late_pay_back_is_no_reason_to_refuse() -> None:
    items = [result(0), result(1), result(2), *(result(row, 3_000) for row in range(3, 40))]
    found = plan(items, RESEARCH, used_tokens=140_000, window_tokens=200_000, target=0.69, requested=True)
    assert found.status == "planned"


def test_k_shrinks_only_as_far_as_the_target_needs() -> None:
    found = plan(results(20), RESEARCH, window_tokens=20_000, force=True, target=None)
    # 12,000 must go: 800 each for fifteen results, so five stay.
    assert found.keep_last == 5
    assert left(found) == [f"r{row}" for row in range(15)]
    assert "from 12 to 5" in found.notes[0]


def test_the_newest_results_stay_where_the_target_is_missed_anyway_and_they_gain_next_to_nothing() -> None:
    old = [result(row, 2_000) for row in range(10)]
    said = Item(id="said", kind="message", role="user", position=(10, 0), content="", sha256="")
    held = [ContextItem(item=said, tokens=60_000)]
    small = plan([*old, *held, *(result(row, 220) for row in range(11, 23))], RESEARCH, force=True)
    assert small.keep_last == 12 and small.predicted_tokens > small.target_tokens
    assert "K is 12" in small.notes[0] and not any("shrank" in note for note in small.notes)
    large = plan([*old, *held, *(result(row, 2_000) for row in range(11, 23))], RESEARCH, force=True)
    assert large.keep_last == 3 and large.predicted_tokens > large.target_tokens


def test_a_keep_last_that_was_given_does_not_shrink() -> None:
    found = plan(results(20), RESEARCH, window_tokens=20_000, force=True, keep_last=10)
    assert (found.keep_last, found.predicted_tokens <= found.target_tokens) == (10, False)
    assert left(found) == [f"r{row}" for row in range(10)]
    assert (
        "4,000 tokens above the target; what would gain more: keep_last 3 (newest_k_tool_results 7,000)" in found.reason
    )


def test_minus_one_keeps_all() -> None:
    assert plan(results(30), RESEARCH, force=True, keep_last=-1).status == "nothing_to_do"


def by_items(slots: Sequence[Slot], total: int | None) -> list[int]:
    return [len(slot.item_ids) * 150 for slot in slots]


def test_a_target_that_is_asked_for_is_met_like_the_policys_own() -> None:
    items = results(40)
    for share_by in (None, by_items):
        own = plan(items, RESEARCH, window_tokens=50_000, share_by=share_by)
        asked = plan(items, RESEARCH, window_tokens=50_000, target=0.4, share_by=share_by)
        assert own.slots == asked.slots and own.reason == asked.reason


def test_a_target_out_of_reach_says_what_stays() -> None:
    items = [*results(10), *(result(row, 5_000, pinned=True) for row in range(10, 14))]
    found = plan(items, RESEARCH, force=True, target=0.2)
    assert found.status == "planned"
    assert found.predicted_tokens > found.target_tokens
    assert "above the target; what would gain more: unpin (pinned 20,000)" in found.reason


def test_pointers_are_planned_where_the_policy_drops() -> None:
    dropping = msgspec.structs.replace(RESEARCH, prefer_compact_over_drop=False)
    found = plan(results(20), dropping, window_tokens=20_000, force=True)
    assert {slot.budget_tokens for slot in found.slots if len(slot.item_ids) == 3} == {140}
    assert all(slot.ceiling_tokens == slot.budget_tokens for slot in found.slots)


def test_fetched_copies_become_pointers_and_never_share_a_batch_with_originals() -> None:
    items = results(20)
    items[1] = result(1, copy_of="offload_0001 r1")
    found = plan(items, RESEARCH, force=True)
    assert [slot.item_ids for slot in found.slots][:3] == [("r0",), ("r1",), ("r2", "r3", "r4")]
    assert found.slots[1].budget_tokens == 80


def test_a_budget_is_always_smaller_than_its_batch() -> None:
    tiny = msgspec.structs.replace(RESEARCH, min_item_tokens=0)
    found = plan(results(20, 30), tiny, force=True)
    assert all(slot.budget_tokens < slot.tokens for slot in found.slots)
    assert all(slot.ceiling_tokens < slot.tokens for slot in found.slots)


def test_what_the_provider_counts_beyond_the_items_stays() -> None:
    found = plan(results(20), RESEARCH, used_tokens=30_000, window_tokens=40_000)
    assert (found.before_tokens, found.target_tokens) == (30_000, 16_000)
    assert found.predicted_tokens > found.target_tokens
    assert found.predicted_tokens == 30_000 - 17 * 800


@pytest.mark.parametrize("target", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_target_that_is_no_share_is_an_error(target: float) -> None:
    with pytest.raises(InvalidArgument, match="target"):
        plan(results(5), RESEARCH, force=True, target=target)


def test_an_empty_session_has_nothing_to_do() -> None:
    assert plan([], RESEARCH, force=True).status == "nothing_to_do"
    assert plan([], PHASED, window_tokens=100).status == "nothing_to_do"


def test_going_on_takes_the_real_counts() -> None:
    items = results(40)
    first = plan(items, RESEARCH, window_tokens=40_000)
    done = first.slots[:2]
    larger = [Outcome(item_ids=slot.item_ids, digest_tokens=1_500) for slot in done]
    then = replan(items, RESEARCH, larger, window_tokens=40_000)
    assert then.before_tokens == 40_000 - 2 * 1_500
    assert then.slots[0].item_ids == first.slots[2].item_ids
    assert len(left(then)) > len(left(first)) - 6
    assert then.predicted_tokens <= then.target_tokens


def test_going_on_stops_as_soon_as_the_real_counts_meet_the_target() -> None:
    items = results(20)
    first = plan(items, RESEARCH, window_tokens=25_000, target=0.7)
    assert len(first.slots) == 2
    smaller = [Outcome(item_ids=first.slots[0].item_ids, digest_tokens=40)]
    assert replan(items, RESEARCH, smaller, window_tokens=25_000, target=0.7).slots == ()


def test_what_no_digest_could_shrink_is_not_offered_again() -> None:
    items = results(20)
    outcomes: list[Outcome] = []
    while (rest := replan(items, RESEARCH, outcomes, window_tokens=20_000)).slots:
        outcomes.append(Outcome(item_ids=rest.slots[0].item_ids, digest_tokens=None))
    assert not rest.slots
    assert rest.predicted_tokens > rest.target_tokens
    assert rest.before_tokens == 20_000
    offered = [item_id for outcome in outcomes for item_id in outcome.item_ids]
    assert sorted(offered) == sorted({f"r{row}" for row in range(17)})


def test_the_goal_is_the_most_tokens_whose_ratio_meets_the_share() -> None:
    assert goal_tokens(0.29, 100) == 29
    assert goal_tokens(0.4, 200_000) == 80_000
    assert goal_tokens(0.3, 7) == 2
    assert goal_tokens(0.4, 0) == 0
