"""Level 2 (L16): only when it is allowed, oldest first, whole batches."""

from __future__ import annotations

from palimpsest_mcp.context.budgets import halved, level2_groups
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.models.plans import ContextItem, Policy


def digests(batches: int, *, tokens: int = 100, pinned: str = "", level: int = 1) -> list[ContextItem]:
    """Batches of two items, each standing as its part."""
    return [
        ContextItem(
            item=Item(
                id=f"i{n}.{k}", kind="tool_result", role="tool", position=(2 * n + k, 0), content="x", sha256=str(n)
            ),
            tokens=tokens,
            state="replaced",
            batch_id=f"offload_{n:04d}",
            level=level,
            pinned=f"i{n}.{k}" == pinned,
        )
        for n in range(1, batches + 1)
        for k in range(2)
    ]


def test_nothing_is_rewritten_while_the_target_is_met() -> None:
    assert level2_groups(digests(8), Policy(), window_tokens=1_000, excess=0) == ()


def test_the_oldest_digests_become_one_when_they_crowd_the_window() -> None:
    first, *_ = level2_groups(digests(8), Policy(), window_tokens=1_600, excess=10_000)
    assert first.batch_ids == ("offload_0001", "offload_0002", "offload_0003", "offload_0004")
    assert first.tokens == 800 and first.budget_tokens == 320


def test_a_prefix_is_not_rewritten_in_vain() -> None:
    assert level2_groups(digests(4), Policy(), window_tokens=1_000_000, excess=10_000) == ()
    assert len(level2_groups(digests(8), Policy(), window_tokens=1_000_000, excess=400)) == 2


def test_digests_go_up_where_what_they_free_is_worth_it_though_the_target_stays_out_of_reach() -> None:
    assert level2_groups(digests(4), Policy(), window_tokens=1_000_000, excess=10_000, worth=481) == ()
    assert len(level2_groups(digests(4), Policy(), window_tokens=1_000_000, excess=10_000, worth=480)) == 1


def test_a_group_of_four_becomes_two_of_two_and_those_none_but_where_each_may_go_up_by_itself() -> None:
    (group,) = level2_groups(digests(4), Policy(), window_tokens=100, excess=10)
    first, second = halved(group, digests(4), Policy())
    assert (*first.batch_ids, *second.batch_ids) == group.batch_ids
    assert first.level == second.level == 2 and first.tokens + second.tokens == group.tokens
    assert halved(first, digests(4), Policy()) == []
    one, other = halved(first, digests(4), Policy(), singly=True)
    assert (*one.batch_ids, *other.batch_ids) == first.batch_ids and one.level == 2
    assert halved(one, digests(4), Policy(), singly=True) == []
    assert halved(group, digests(4, pinned="i2.1"), Policy()) == []


def test_batches_with_a_pinned_item_stay() -> None:
    groups = level2_groups(digests(6, pinned="i2.1"), Policy(), window_tokens=100, excess=100)
    assert "offload_0002" not in {name for group in groups for name in group.batch_ids}


def test_no_digest_is_digested_at_its_own_level_and_the_lowest_goes_first() -> None:
    low, high = digests(8)[8:], digests(4, level=2)
    groups = level2_groups([*high, *low], Policy(), window_tokens=100, excess=10_000)
    assert [group.level for group in groups] == [2, 3]
    assert groups[0].batch_ids == ("offload_0005", "offload_0006", "offload_0007", "offload_0008")
    assert groups[1].batch_ids == ("offload_0001", "offload_0002", "offload_0003", "offload_0004")


def test_what_every_result_takes_beside_its_text_is_not_counted_as_gained() -> None:
    (group,) = level2_groups(digests(4), Policy(), window_tokens=100, excess=10, result_overhead=14)
    assert group.tokens == 8 * (100 - 14)


def test_a_single_digest_is_left_as_it_is() -> None:
    assert level2_groups(digests(1), Policy(), window_tokens=100, excess=100) == ()
