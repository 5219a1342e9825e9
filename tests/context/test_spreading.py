"""An explicit target shared out over batches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.budgets import Share, least_budget
from palimpsest_mcp.context.fit import MISSED
from palimpsest_mcp.context.plan import plan
from palimpsest_mcp.context.policies import RESEARCH
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.models.plans import ContextItem, Plan, Slot


def results(sizes: Sequence[int]) -> list[ContextItem]:
    found: list[ContextItem] = []
    for row, tokens in enumerate(sizes):
        item = Item(
            id=f"r{row}", kind="tool_result", role="tool", position=(row, 0), content="x", sha256="", unit=f"u{row}"
        )
        found.append(ContextItem(item=item, tokens=tokens))
    return found


def by(needs: dict[str, float]) -> Share:
    """Shares by a need that the test makes up."""

    def share(slots: Sequence[Slot], total: int | None) -> Sequence[int]:
        needed = [sum(needs.get(name, 0.0) for name in slot.item_ids) for slot in slots]
        wants = [
            min(0.85 * slot.tokens, 1.8 * need + 0.04 * slot.tokens + 110)
            for need, slot in zip(needed, slots, strict=True)
        ]
        part = 1.0 if total is None else total / sum(wants)
        return [int(min(0.85 * slot.tokens, part * want)) for slot, want in zip(slots, wants, strict=True)]

    return share


def left(found: Plan) -> list[str]:
    return [name for slot in found.slots for name in slot.item_ids]


def test_the_oldest_units_get_what_they_need_and_the_newer_stay_whole_where_that_meets_the_target() -> None:
    needs = {f"r{row}": 300.0 for row in range(3)}
    found = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.8, keep_last=3, share_by=by(needs))
    assert found.predicted_tokens <= found.target_tokens
    assert left(found) == [f"r{row}" for row in range(9)]
    assert found.slots[0].budget_tokens > 1.4 * 900 > found.slots[1].budget_tokens


def test_all_that_may_leave_share_a_tight_target_by_need() -> None:
    needs = {f"r{row}": 900.0 if row < 9 else 20.0 for row in range(30)}
    found = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.2, keep_last=3, share_by=by(needs))
    assert found.predicted_tokens <= found.target_tokens
    assert len(left(found)) == 27
    assert found.slots[0].budget_tokens > 2 * found.slots[1].budget_tokens


def test_a_target_that_presses_digests_makes_larger_batches_of_them() -> None:
    needs = {f"r{row}": 900.0 for row in range(30)}
    roomy = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.5, keep_last=3, share_by=by(needs))
    tight = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.2, keep_last=3, share_by=by(needs))
    assert {len(slot.item_ids) for slot in roomy.slots} == {3}
    assert {len(slot.item_ids) for slot in tight.slots} == {9} and tight.predicted_tokens <= tight.target_tokens


def test_below_the_least_digests_the_oldest_give_way_to_pointers_and_the_others_are_digested_well() -> None:
    needs = {f"r{row}": 5_000.0 for row in range(30)}
    found = plan(results([4_000] * 30), RESEARCH, window_tokens=120_000, target=0.13, keep_last=3, share_by=by(needs))
    assert found.predicted_tokens <= found.target_tokens and left(found) == [f"r{row}" for row in range(27)]
    pointers = [name for slot in found.slots if slot.pointer for name in slot.item_ids]
    digested = [slot for slot in found.slots if not slot.pointer]
    assert pointers == left(found)[: len(pointers)] and 0 < len(pointers) < 27, "the oldest, and not all"
    assert all(slot.budget_tokens >= 0.1 * slot.tokens for slot in digested)
    assert found.given_way == len(pointers) and not found.notes


def test_a_target_that_only_pointers_would_meet_is_missed_and_nothing_becomes_one_for_it() -> None:
    needs = {f"r{row}": 5_000.0 for row in range(30)}
    for target in (0.11, 0.05):
        found = plan(
            results([4_000] * 30), RESEARCH, window_tokens=120_000, target=target, keep_last=3, share_by=by(needs)
        )
        assert found.predicted_tokens > found.target_tokens and len(left(found)) == 27
        assert all(not slot.pointer and slot.budget_tokens >= 0.05 * slot.tokens for slot in found.slots)
        assert found.predicted_tokens <= 12_000 + 0.0501 * 108_000, "and no more than the least"
        assert found.notes == ("digests keep at least 5% of what they stand for; the strategy opaque leaves pointers",)


def test_a_lone_result_keeps_a_digest_however_low_the_target() -> None:
    found = plan(results([10_000, 10, 10, 10]), RESEARCH, force=True, target=0.01, keep_last=3, share_by=by({}))
    assert [(slot.pointer, slot.budget_tokens) for slot in found.slots] == [(False, 500)]


def test_small_results_share_one_header_under_a_target_that_presses_them() -> None:
    needs = {f"r{row}": 1_000.0 for row in range(23)}
    small = plan(results([300] * 23), RESEARCH, force=True, target=0.32, keep_last=3, share_by=by(needs))
    large = plan(results([1_000] * 23), RESEARCH, force=True, target=0.3, keep_last=3, share_by=by(needs))
    assert [len(slot.item_ids) for slot in small.slots] == [20]
    assert [len(slot.item_ids) for slot in large.slots] == [9, 9, 2]


def test_what_needs_little_is_no_pointer_however_low_the_target() -> None:
    found = plan(results([30_000] * 30), RESEARCH, window_tokens=900_000, target=0.15, keep_last=3, share_by=by({}))
    assert found.predicted_tokens <= found.target_tokens and not any(slot.pointer for slot in found.slots)


def test_what_every_result_takes_beside_its_text_is_not_given_to_digests() -> None:
    needs = {f"r{row}": 900.0 for row in range(30)}
    found = plan(
        results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.2, keep_last=3, result_overhead=14,
        share_by=by(needs),
    )  # fmt: skip
    budgets = sum(slot.budget_tokens for slot in found.slots)
    assert found.predicted_tokens == 3_000 + 27 * 14 + budgets <= found.target_tokens


def test_of_the_last_batch_only_the_units_leave_that_the_target_needs() -> None:
    needs = {f"r{row}": 300.0 for row in range(30)}
    found = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.95, keep_last=3, share_by=by(needs))
    assert found.predicted_tokens <= found.target_tokens and left(found) == ["r0", "r1", "r2", "r3", "r4"]
    assert [len(slot.item_ids) for slot in found.slots] == [3, 2]


def test_k_does_not_shrink_for_the_sake_of_larger_digests() -> None:
    needs = {f"r{row}": 5_000.0 for row in range(30)}
    found = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.55, share_by=by(needs))
    assert found.predicted_tokens <= found.target_tokens
    assert found.keep_last == 12


@given(
    st.lists(st.tuples(st.integers(200, 30_000), st.floats(0, 4_000)), min_size=4, max_size=40),
    st.floats(0.05, 0.95),
    st.sampled_from([0, 14]),
)
def test_a_target_is_met_by_the_first_units_or_missed_only_where_no_budget_could_shrink_more(
    sizes: list[tuple[int, float]], target: float, overhead: int
) -> None:
    items = results([size for size, _ in sizes])
    needs = {f"r{row}": need for row, (_, need) in enumerate(sizes)}
    found = plan(items, RESEARCH, force=True, target=target, keep_last=3, result_overhead=overhead, share_by=by(needs))
    assert left(found) == [f"r{row}" for row in range(len(left(found)))], "oldest first"
    for slot in found.slots:
        assert 0 < slot.budget_tokens == slot.ceiling_tokens < slot.tokens
    if found.slots and found.predicted_tokens > found.target_tokens:
        assert len(left(found)) == len(items) - 3
        least = sum(max(0.05 * slot.tokens, least_budget(len(slot.item_ids))) for slot in found.slots)
        kept = sum(entry.tokens for entry in items[-3:]) + overhead * len(items[:-3])
        assert kept + least > found.target_tokens - len(items), "not even the least digests would meet it"


@given(
    st.lists(st.tuples(st.integers(200, 30_000), st.floats(0, 4_000)), min_size=4, max_size=40),
    st.lists(st.floats(0.02, 0.95), min_size=2, max_size=6),
)
def test_a_tighter_target_plans_for_more_tokens_only_where_it_is_missed_and_then_for_a_part_of_what_stays(
    sizes: list[tuple[int, float]], targets: list[float]
) -> None:
    items = results([size for size, _ in sizes])
    needs = {f"r{row}": need for row, (_, need) in enumerate(sizes)}
    found = [
        plan(items, RESEARCH, force=True, target=target, keep_last=3, share_by=by(needs))
        for target in sorted(targets, reverse=True)
    ]
    for looser, tighter in itertools.pairwise(found):
        missed = tighter.predicted_tokens > tighter.target_tokens
        most = max(looser.predicted_tokens, tighter.target_tokens)
        stays = tighter.predicted_tokens - sum(slot.budget_tokens for slot in tighter.slots)
        least = sum(max(0.05 * slot.tokens + 1, least_budget(len(slot.item_ids))) for slot in tighter.slots)
        rounded = len(tighter.slots)
        assert tighter.predicted_tokens <= max(most, missed * (stays + MISSED * stays + least + rounded))


def test_where_even_the_least_digests_miss_a_target_they_are_worth_reading() -> None:
    needs = {f"r{row}": 1_000.0 for row in range(8)}
    missed = plan(results([700] * 2 + [4_000] * 3), RESEARCH, force=True, target=0.3, keep_last=3, share_by=by(needs))
    assert [slot.budget_tokens for slot in missed.slots] == [560], "as in a pass with room"
    looser = plan(results([700] * 2 + [4_000] * 3), RESEARCH, force=True, target=0.6, keep_last=3, share_by=by(needs))
    assert [slot.budget_tokens for slot in looser.slots] == [840], "no more is asked of a result than of the list"
    mostly = plan(results([1_500] * 27 + [4_000] * 3), RESEARCH, force=True, target=0.1, keep_last=3, share_by=by({}))
    stays = mostly.predicted_tokens - sum(slot.budget_tokens for slot in mostly.slots)
    assert stays == 12_000 and 0.2 * stays < sum(slot.budget_tokens for slot in mostly.slots) <= 0.25 * stays + 60


def test_a_batch_at_the_most_a_digest_may_have_gives_way_to_the_least_of_others() -> None:
    needs = {f"r{row}": 5_000.0 if row < 9 else 0.0 for row in range(30)}
    found = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.2, keep_last=3, share_by=by(needs))
    assert found.predicted_tokens <= found.target_tokens
    assert min(slot.budget_tokens for slot in found.slots) >= least_budget(9)
