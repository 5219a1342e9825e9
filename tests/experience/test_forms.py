"""One rule, or two: the labelled pairs, and what may be changed in a wording without making another rule of it."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled_pairs import DIFFERENT, SAME

from palimpsest_mcp.experience.forms import form_of, key_hash, quick_form

words = st.lists(st.text(string.ascii_lowercase, min_size=3, max_size=9), min_size=2, max_size=8)


def test_the_labelled_pairs_are_a_hundred() -> None:
    assert len(SAME) == len(DIFFERENT) == 50
    assert len({*SAME, *DIFFERENT}) == 100


def test_nearly_all_labelled_pairs_are_judged_as_the_person_did() -> None:
    split = [pair for pair in SAME if form_of(pair[0]).key != form_of(pair[1]).key]
    merged = [pair for pair in DIFFERENT if form_of(pair[0]).key == form_of(pair[1]).key]
    assert not merged, "two rules run together"
    assert len(split) <= 2, split


def test_opposites_have_different_forms_and_know_each_other() -> None:
    for one, other in (
        ("use quotes", "do not use quotes"),
        ("include the year", "exclude the year"),
        ("results are reliable", "results are unreliable"),
        ("使用情绪词", "不要使用情绪词"),
        ("search with filters", "search without filters"),
    ):
        first, second = form_of(one), form_of(other)
        assert first.key != second.key
        assert first.opposite == second.stance and second.opposite == first.stance


def test_two_negations_are_none() -> None:
    assert form_of("do not avoid redirects").key == form_of("use redirects").key


@pytest.mark.parametrize("text", ["", "   ", "…", "!!!", "\u200b", "the"])
def test_a_text_without_a_word_has_no_form(text: str) -> None:
    assert form_of(text).key == ""


@given(words, st.integers(0, 10**6), st.integers(0, 10**6))
def test_numbers_case_and_white_space_do_not_count(parts: list[str], one: int, other: int) -> None:
    first = " ".join([*parts, str(one), "rows"])
    second = "  \t".join([*(part.upper() for part in parts), str(other), "Rows"]) + " ."
    assert form_of(first).key == form_of(second).key


@given(words)
def test_a_negation_always_makes_another_rule(parts: list[str]) -> None:
    text = " ".join(parts)
    if form_of(text).key:
        assert form_of(text).key != form_of("do not " + text).key


@given(st.text(max_size=60), st.integers(0, 99999))
def test_where_the_quick_form_is_equal_the_form_is_too(text: str, number: int) -> None:
    changed = text.replace(" 7 ", f" {number} ")
    if quick_form(text) == quick_form(changed):
        assert form_of(text) == form_of(changed)


@given(st.text(max_size=200))
def test_any_text_has_a_form_and_always_the_same(text: str) -> None:
    assert form_of(text) == form_of(text)
    assert len(key_hash("rule", form_of(text).key)) == 16


def test_a_long_hostile_text_takes_linear_time() -> None:
    for text in ("not " * 50_000, "'a " * 50_000, "1," * 50_000, "x-" * 50_000, "+ " * 50_000, '"' * 50_000):
        form_of(text)
