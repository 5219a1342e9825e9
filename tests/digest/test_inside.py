"""Values inside longer ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.candidates import inside_longer

from .conftest import Bench

_VALUE = st.text(alphabet="ab1_.-/", min_size=1, max_size=8)


def test_a_version_inside_a_file_name_stands_inside() -> None:
    values = {1: "2.7.0", 2: "urllib3-2.7.0.tar.gz", 3: "7.0", 4: "https://example.org/urllib3-2.7.0.tar.gz#9f8e7d6"}
    assert inside_longer(values, {}) == {1, 2, 3}


def test_a_number_inside_a_longer_number_or_a_name_is_another_value() -> None:
    assert inside_longer({1: "48", 2: "1482", 3: "v48x", 4: "id_48"}, {}) == set()


def test_equal_values_of_two_classes_do_not_stand_inside_each_other() -> None:
    assert inside_longer({1: "1.10", 2: "1.10"}, {}) == set()


@given(st.lists(_VALUE, max_size=12))
def test_what_is_found_really_is_part_of_a_longer_one_and_the_longest_never_is(values: list[str]) -> None:
    texts = dict(enumerate(values))
    found = inside_longer(texts, {})
    for number in found:
        assert any(texts[number] in other and len(other) > len(texts[number]) for other in values)
    assert not values or max(texts, key=lambda n: len(texts[n])) not in found


def test_of_equally_rare_words_the_same_one_is_looked_up_in_every_process() -> None:
    """Only so many holders of a word are looked at; which word, must not hang on the order of a set."""
    values: list[str] = []
    for n in range(20):
        values += [f"a{n:02d} b{n:02d}", *(f"a{n:02d}-{other}" for other in range(60))]
        values += [f"<a{n:02d} b{n:02d}>", *(f"b{n:02d}-{other}" for other in range(60))]
    # Both words of the short ones stand in 62 values; only by the second the longer one is among the first 40.
    assert inside_longer(dict(enumerate(values)), {}) == set()


@pytest.mark.parametrize("values_first", [True, False])
def test_what_must_be_shown_does_not_yield_to_a_longer_value_that_holds_it(bench: Bench, values_first: bool) -> None:
    rows = [f"Row {n} of the table, which nobody had opened before, was read in {n} minutes." for n in range(10, 70)]
    bound = frozenset({("integer", "41"), ("integer", "14")})
    for share in (0.04, 0.1, 0.15, 0.2, 0.3):
        digest = bench.digest("\n".join(rows), share=share, carried=bound, values_first=values_first)
        lines = [line.text for part in digest.parts for line in part.lines if line.kind != "note"]
        assert bound <= {found for line in lines for found in bench.registry.set_of(line)}, share
