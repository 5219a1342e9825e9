"""Answers by code: whole values, in their case, all in one passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.memory.probes.answers import Searched, Stays, probe, stands_whole, whole_places
from palimpsest_mcp.models.items import Item

ITEM = Item(id="i1", kind="tool_result", role="tool", position=(0, 0), content="", sha256="")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("127 rows", "12"),
        ("127 rows", "27"),
        ("src/a.pyc", "src/a.py"),
        ("lib/src/a.py", "src/a.py"),
        ("see main.py.orig", "main.py"),
        ("at 10:45:10", "10:45"),
        ("version 1.10.2", "1.10"),
        ("re-run", "run"),
        ("Load.py", "load.py"),
        ("", "x"),
        ("x", ""),
    ],
)
def test_a_part_of_something_longer_is_another_value(text: str, value: str) -> None:
    assert not stands_whole(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("open src/a.py.", "src/a.py"),
        ("`src/a.py`", "src/a.py"),
        ("src/a.py:14: error", "src/a.py"),
        ("(12)", "12"),
        ("took 12, then", "12"),
        ("12", "12"),
        ("127 and 12", "12"),
        ("key=ETL-204;", "ETL-204"),
        ("./src/a.py", "./src/a.py"),
    ],
)
def test_marks_of_a_sentence_around_it_leave_a_value_whole(text: str, value: str) -> None:
    assert stands_whole(text, value)


def test_all_values_must_stand_in_one_passage() -> None:
    asked = probe("rationale", "Why?", ("lock", "v16.4"), ITEM)
    assert not Stays({"a": "a lock", "b": "v16.4"}).answers(asked)
    assert Stays({"a": "no", "b": "v16.4 takes a lock"}).answers(asked)


def test_a_value_that_two_passages_only_make_together_stands_nowhere() -> None:
    asked = probe("recall", "What?", ("one two",), ITEM)
    assert not Stays({"a": "one", "b": "two"}).answers(asked)
    assert not Stays({}).answers(asked)


def test_critical_is_only_what_may_be() -> None:
    assert probe("decision", "What?", ("x",), ITEM, critical=True).critical
    assert not probe("recall", "What?", ("x",), ITEM, critical=True).critical


WORDS = st.text(alphabet="ab1_./- \n", min_size=1, max_size=12)


@given(WORDS, WORDS, WORDS)
def test_what_is_found_is_verbatim_and_free_at_both_ends(before: str, value: str, behind: str) -> None:
    text = before + value + behind
    for place in whole_places(text, value):
        assert text[place : place + len(value)] == value
        around = text[:place][-1:], text[place + len(value) :][:1]
        assert not (around[0].isalnum() and value[0].isalnum())
        assert not (around[1].isalnum() and value[-1].isalnum())


@given(st.dictionaries(st.text(max_size=3), WORDS, max_size=4), WORDS)
def test_a_value_is_held_just_where_one_passage_has_it_whole(passages: dict[str, str], value: str) -> None:
    assert Stays(passages).holds((value,)) == any(stands_whole(text, value) for text in passages.values())


@given(st.dictionaries(st.text(max_size=2), WORDS, max_size=5), st.sets(st.text(max_size=2)), st.data())
def test_what_was_searched_before_answers_as_a_new_search(
    originals: dict[str, str], replaced: set[str], data: st.DataObject
) -> None:
    searched = Searched(originals)
    for _ in range(2):  # the second round asks for what the first one found
        digests = {name: data.draw(WORDS) for name in replaced}
        passages = {name: text for name, text in originals.items() if name not in replaced} | digests
        value, other = (data.draw(st.sampled_from(["a1", *originals.values()])) for _ in range(2))
        again, anew = Stays(passages, originals=searched), Stays(passages)
        for asked in (
            probe("recall", "What?", (value,), ITEM),
            probe("recall", "What?", (value, other), ITEM),
            probe("owner", "Whose?", (value, other), ITEM),
        ):
            assert again.answers(asked) == anew.answers(asked)
            assert again.scattered(asked.expected) == anew.scattered(asked.expected)


@given(WORDS)
def test_blanks_around_a_value_never_hide_it(value: str) -> None:
    assert stands_whole(f" {value} ", value)
