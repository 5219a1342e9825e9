"""One budget for many batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.shares import need_of_spans, share_out
from palimpsest_mcp.text.specifics.registry import DefaultRegistry


def test_a_batch_full_of_specifics_gets_more_than_an_empty_one() -> None:
    empty, full = share_out(2_000, [100.0, 3_000.0], [5_000, 5_000])
    assert full > 3 * empty > 0


def test_what_needs_nothing_more_leaves_its_part_to_the_others() -> None:
    assert share_out(4_000, [0.0, 9_000.0], [400, 20_000])[1] > 3_000


def test_what_is_seen_already_needs_nothing() -> None:
    seen: set[tuple[str, str, str]] = set()
    spans = DefaultRegistry().spans("see https://example.org/a/48213 and HAT069")
    assert need_of_spans(spans, seen) > 10
    assert need_of_spans(spans, seen) == 0


@given(
    st.integers(0, 50_000),
    st.lists(st.tuples(st.floats(0, 5_000), st.integers(1, 20_000)), min_size=1, max_size=12),
)
def test_budgets_never_exceed_the_total_nor_most_of_their_batch(total: int, batches: list[tuple[float, int]]) -> None:
    needs = [need for need, _ in batches]
    tokens = [size for _, size in batches]
    budgets = share_out(total, needs, tokens)
    assert sum(budgets) <= total
    assert all(0 <= budget <= 0.85 * size for budget, size in zip(budgets, tokens, strict=True))
    assert sum(budgets) >= min(total, sum(int(0.85 * size) for size in tokens)) - 2 * len(tokens) - 1
