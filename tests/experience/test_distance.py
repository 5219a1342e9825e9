"""Near-equal wordings are one pattern, and a word's difference makes two: measured on labelled pairs."""

from __future__ import annotations

import string
import tomllib
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled_pairs import DIFFERENT, SAME

from palimpsest_mcp.experience import forms
from palimpsest_mcp.experience.forms import Wording, is_near, near_groups, wording_of

HERE = Path(__file__).resolve().parent
PAIRS = tomllib.loads((HERE / "wordings.toml").read_text("utf-8"))
PAGE = HERE.parents[1] / "docs" / "experience.md"
words = st.lists(st.text(string.ascii_lowercase, min_size=3, max_size=9), min_size=2, max_size=8).map(" ".join)


def near(one: str, other: str) -> bool:
    return is_near(wording_of(one), wording_of(other))


@pytest.mark.parametrize("least", [0.6, 0.7, 0.8])
def test_the_table_of_thresholds_is_the_pages(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "NEAR", least)
    cells: list[str] = []
    for first, last in ((0, 1), (1, 2)):
        for name in ("same", "different"):
            half = len(PAIRS[name]) // 2
            some = PAIRS[name][first * half : last * half]
            cells.append(f"{sum(near(*pair) for pair in some)} of {half}")
    assert f"| {least} | {' | '.join(cells)} |" in PAGE.read_text("utf-8"), cells


def test_the_threshold_is_the_tables() -> None:
    assert forms.NEAR == 0.7


def test_pairs_that_a_person_called_different_stay_apart() -> None:
    """Of those that were labelled for the normal form, before there was a distance."""
    assert not [pair for pair in DIFFERENT if near(*pair)]
    assert sum(near(*pair) for pair in SAME) >= 48


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use tabs instead of spaces", "use spaces instead of tabs"),
        ("lint before the tests run", "run the tests before the lint"),
        ("copy from staging to production", "copy from production to staging"),
        ("commit with the hook", "commit without the hook"),
        ("delete merged branches: never", "delete merged branches"),
        ("run pytest with -x", "run pytest with -n"),
    ],
)
def test_direction_is_kept(one: str, other: str) -> None:
    assert not near(one, other)


@given(words, words)
def test_nearness_is_mutual(one: str, other: str) -> None:
    assert near(one, other) == near(other, one)


@given(words, st.randoms(use_true_random=False))
def test_a_wording_is_near_to_itself_in_any_order(text: str, random: Random) -> None:
    parts = text.split()
    random.shuffle(parts)
    stems = wording_of(text).stems
    marked = any(stem[0] in "¬<>?" or " " in stem for stem in (*stems, *wording_of(" ".join(parts)).stems))
    if len(stems) >= forms.LEAST_SHARED and not marked:  # a negation belongs to the word behind it
        assert near(text, " ".join(parts))


@given(words, st.text(string.ascii_lowercase, min_size=5, max_size=9), st.text(string.ascii_lowercase, min_size=5))
def test_another_word_in_the_place_of_one_makes_another_rule(text: str, old: str, new: str) -> None:
    one, other = wording_of(f"{text} {old}"), wording_of(f"{text} {new}")
    if one.stems - other.stems and other.stems - one.stems and old[0] != new[0]:
        assert not is_near(one, other)


def test_a_pattern_joins_the_first_that_is_near_and_never_by_way_of_a_third() -> None:
    chain = ("check the blue lamp", "check the blue lamp daily", "check the blue lamp daily by hand")
    texts = {name: (name,) for name in chain}
    assert near(chain[0], chain[1]) and near(chain[1], chain[2]) and not near(chain[0], chain[2])
    assert near_groups(texts.items()) == {chain[0]: [chain[0], chain[1]], chain[2]: [chain[2]]}


def test_scripts_without_spaces_are_compared_by_their_signs() -> None:
    assert wording_of("先看最近三十天的评论") == Wording("+", frozenset(), "先看最近三十天的评论")
    assert near("先看最近三十天的评论", "先看最近三十天的用户评论")
    assert not near("按价格升序排列结果", "按价格降序排列结果")
    assert not near("先看评论再下单", "不要先看评论再下单")
