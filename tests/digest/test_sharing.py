"""One budget for many batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.shares import share_out


def test_where_there_is_little_each_batch_gets_what_it_takes_to_say_anything_first() -> None:
    small, large = share_out(1_000, [500, 20_000])
    assert small / 500 > 2 * large / 20_000


def test_what_a_batch_cannot_take_goes_on_to_the_others() -> None:
    assert share_out(4_000, [400, 20_000]) == [260, 3_740]


@given(st.integers(0, 50_000), st.lists(st.integers(1, 20_000), min_size=1, max_size=12))
def test_budgets_never_exceed_the_total_nor_most_of_their_batch(total: int, tokens: list[int]) -> None:
    budgets = share_out(total, tokens)
    assert sum(budgets) <= total
    assert all(0 <= budget <= 0.85 * size for budget, size in zip(budgets, tokens, strict=True))
    assert sum(budgets) >= min(total, sum(int(0.85 * size) for size in tokens)) - 2 * len(tokens) - 1
