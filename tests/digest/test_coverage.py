"""The ledger's choice: the most worth a token, and a least share for every item."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.coverage import Candidate
from palimpsest_mcp.digest.coverage import choose as choose_of


def one(item: int, spec: int, worth: float, cost: int, group: str | None = None, group_cost: int = 0) -> Candidate:
    return Candidate(item, (spec,), (item * 1000 + spec,), worth, 1.0, cost, group, group_cost)


def choose(candidates: list[Candidate], room: int, wanted: list[float]) -> list[Candidate]:
    items_of: dict[int, list[tuple[int, float]]] = {}
    for candidate in candidates:
        for shared in candidate.shared:
            items_of.setdefault(shared, []).append((candidate.item, 1.0))
    return choose_of(candidates, room, wanted, items_of)


def test_the_most_worth_a_token_comes_first() -> None:
    chosen = choose([one(0, 0, 1.0, 10), one(0, 1, 1.0, 2), one(0, 2, 9.0, 10)], 12, [0.0])
    assert [c.specs for c in chosen] == [(2,), (1,)]


def test_an_item_gets_its_least_share_by_cheap_ones_where_dear_ones_do_not_fit() -> None:
    rich = [one(0, n, 5.0, 4) for n in range(20)]
    poor = [one(1, n, 0.1, 4) for n in range(6)]
    chosen = choose([*rich, *poor], 60, [0.0, 3.0])
    assert sum(c.item == 1 for c in chosen) == 3
    assert sum(c.item == 0 for c in chosen) == 12


def test_where_not_all_can_have_their_share_one_stays_short_and_the_others_have_theirs() -> None:
    huge = [one(0, n, 1.0, 50) for n in range(20)]
    small = [one(1, n, 0.5, 2) for n in range(10)]
    chosen = choose([*huge, *small], 60, [10.0, 5.0])
    assert sum(c.item == 1 for c in chosen) >= 5


def test_what_two_items_hold_is_paid_once_and_counts_for_both() -> None:
    both = [Candidate(0, (0,), (7,), 1.0, 1.0, 5), Candidate(1, (0,), (7,), 1.0, 1.0, 5)]
    assert len(choose(both, 5, [1.0, 1.0])) == 1


def test_a_key_is_paid_once() -> None:
    keyed = [one(0, n, 1.0, 2, "size", 4) for n in range(3)]
    assert len(choose(keyed, 10, [0.0])) == 3
    assert len(choose(keyed, 9, [0.0])) == 2


def test_a_line_is_taken_whole_and_its_table_is_paid_once() -> None:
    rows = [Candidate(0, (2 * n, 2 * n + 1), (2 * n, 2 * n + 1), 2.0, 2.0, 5, (0,), 10, unit=n) for n in range(3)]
    assert [c.unit for c in choose(rows, 25, [0.0])] == [0, 1, 2]
    assert [c.unit for c in choose(rows, 24, [6.0])] == [0, 1]


_CANDIDATES = st.lists(
    st.builds(
        one,
        st.integers(0, 2),
        st.integers(0, 500),
        st.floats(0.01, 9.0),
        st.integers(1, 30),
        st.sampled_from([None, "a", "b"]),
        st.integers(0, 4),
    ),
    max_size=40,
    unique_by=lambda c: c.shared,
)


@given(_CANDIDATES, st.integers(0, 300), st.lists(st.floats(0, 8), min_size=3, max_size=3))
def test_it_never_costs_more_than_there_is_room(found: list[Candidate], room: int, wanted: list[float]) -> None:
    chosen = choose(found, room, wanted)
    assert sum(c.cost for c in chosen) <= room
    assert len({c.shared for c in chosen}) == len(chosen)
    assert choose(found, room, wanted) == chosen
