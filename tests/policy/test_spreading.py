"""An explicit target shared out by need."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.digest.sharing import share_out, wanted
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.models.plans import ContextItem, Plan, Slot
from palimpsest_mcp.policy.planning import plan
from palimpsest_mcp.policy.presets import RESEARCH
from palimpsest_mcp.policy.spreading import Share


def results(sizes: Sequence[int]) -> list[ContextItem]:
    found: list[ContextItem] = []
    for row, tokens in enumerate(sizes):
        item = Item(
            id=f"r{row}", kind="tool_result", role="tool", position=(row, 0), content="x", sha256="", unit=f"u{row}"
        )
        found.append(ContextItem(item=item, tokens=tokens))
    return found


def by(needs: dict[str, float]) -> Share:
    def share(slots: Sequence[Slot], total: int | None) -> Sequence[int]:
        wants = [sum(needs.get(name, 0.0) for name in slot.item_ids) for slot in slots]
        tokens = [slot.tokens for slot in slots]
        if total is None:
            return [int(wanted(need, size)) for need, size in zip(wants, tokens, strict=True)]
        return share_out(total, wants, tokens)

    return share


def left(found: Plan) -> list[str]:
    return [name for slot in found.slots for name in slot.item_ids]


def test_the_oldest_units_get_what_they_need_and_the_newer_stay_whole_where_that_meets_the_target() -> None:
    needs = {f"r{row}": 300.0 for row in range(3)}
    found = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.8, keep_last=3, share_by=by(needs))
    assert found.reaches_target
    assert left(found) == [f"r{row}" for row in range(9)]
    assert found.slots[0].budget_tokens > 1.4 * 900 > found.slots[1].budget_tokens


def test_all_that_may_leave_share_a_tight_target_by_need() -> None:
    needs = {f"r{row}": 900.0 if row < 3 else 20.0 for row in range(30)}
    found = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.2, keep_last=3, share_by=by(needs))
    assert found.reaches_target
    assert len(left(found)) == 27
    assert found.slots[0].budget_tokens > 2 * found.slots[4].budget_tokens


def test_what_every_result_takes_beside_its_text_is_not_given_to_digests() -> None:
    found = plan(
        results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.2, keep_last=3, result_overhead=14,
        share_by=by({}),
    )  # fmt: skip
    budgets = sum(slot.budget_tokens for slot in found.slots)
    assert found.predicted_tokens == 3_000 + 27 * 14 + budgets <= found.target_tokens


def test_k_does_not_shrink_for_the_sake_of_larger_digests() -> None:
    needs = {f"r{row}": 5_000.0 for row in range(30)}
    found = plan(results([1000] * 30), RESEARCH, window_tokens=30_000, target=0.55, share_by=by(needs))
    assert found.reaches_target
    assert found.keep_last == 12


@settings(max_examples=150, deadline=None)
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
    if found.slots and not found.reaches_target:
        least = [slot.budget_tokens <= max(100, 0.07 * slot.tokens + 1) or slot.tokens < 1_000 for slot in found.slots]
        assert len(left(found)) == len(items) - 3
        assert any(least)
