"""Break-even of a rewritten prompt cache, against published figures."""

from __future__ import annotations

import pytest

from palimpsest_mcp.context.meter import break_even_turns, cache_cost, suffix_tokens
from palimpsest_mcp.models.items import Item
from palimpsest_mcp.models.plans import ContextItem
from palimpsest_mcp.models.reports import Prices


def prices(read: float, write: float = 1.25) -> Prices:
    return Prices(write=write, read=read, source="a test")


@pytest.mark.parametrize(("read", "turns"), [(0.10, 11.5), (0.05, 24.0), (0.025, 49.0)])
def test_seventy_to_forty_percent_of_200k_pays_back_as_published(read: float, turns: float) -> None:
    found = break_even_turns(removed=60_000, digest=15_000, suffix=45_000, prices=prices(read))
    assert found == pytest.approx(turns)


@pytest.mark.parametrize(("read", "turns"), [(0.10, 452), (0.05, 944), (0.025, 1927)])
def test_dripping_a_little_far_from_the_end_hardly_ever_pays(read: float, turns: float) -> None:
    found = break_even_turns(removed=3_000, digest=1_000, suffix=117_000, prices=prices(read))
    assert found == pytest.approx(turns, rel=0.01)


@pytest.mark.parametrize(("ratio", "turns"), [(10, 7.9), (5, 16.6), (2, 63.5)])
def test_a_model_that_writes_the_digest_costs_as_published(ratio: int, turns: float) -> None:
    whole, digest = 100_000, 100_000 // ratio
    # Five times the digest for output tokens, and one cached read of what it summarises.
    found = break_even_turns(
        removed=whole - digest, digest=digest, suffix=0, prices=prices(0.10), model_cost=5 * digest + 0.1 * whole
    )
    assert found == pytest.approx(turns, rel=0.02)


def test_without_a_price_for_writing_it_pays_at_once() -> None:
    assert break_even_turns(removed=10, digest=5, suffix=1_000_000, prices=prices(1.0, 1.0)) == 0


def test_a_pass_that_removes_nothing_never_pays() -> None:
    assert break_even_turns(removed=0, digest=5, suffix=0) is None
    assert break_even_turns(removed=-3, digest=5, suffix=0) is None


def entry(name: str, tokens: int) -> ContextItem:
    item = Item(id=name, kind="tool_result", role="tool", position=(0, 0), content="x", sha256="")
    return ContextItem(item=item, tokens=tokens)


def test_what_lies_before_the_first_edit_stays_cached() -> None:
    items = [entry("a", 1), entry("b", 10), entry("c", 100), entry("d", 1000)]
    assert suffix_tokens(items, {"b"}) == 1100
    assert suffix_tokens(items, {"b", "d"}) == 100
    assert suffix_tokens(items, set()) == 0


def test_the_report_names_what_lost_its_cache_and_whose_prices_were_used() -> None:
    items = [entry("a", 1), entry("b", 1000), entry("c", 500)]
    cost = cache_cost(items, {"b"}, original=1000, digest=200, prices=prices(0.1))
    assert cost.invalidated_tokens == 1500
    assert cost.break_even_turns == pytest.approx(10.1, abs=0.05)
    assert cost.prices == "a test"
