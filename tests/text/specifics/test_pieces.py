"""Source pieces: JSON as written, lines, sentences."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.specifics.pieces import LONGEST_PATH, Leaf, embedded, json_leaves, lines, sentences

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
documents = st.recursive(
    st.lists(scalars, max_size=3) | st.dictionaries(st.text(), scalars, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def flat(value: object, path: tuple[str | int, ...] = ()) -> list[Leaf]:
    if isinstance(value, dict) and value:
        return [leaf for key, one in value.items() for leaf in flat(one, (*path, key))]  # type: ignore[misc]
    if isinstance(value, list) and value:
        return [leaf for index, one in enumerate(value) for leaf in flat(one, (*path, index))]  # type: ignore[misc]
    return [Leaf(path, value, True) if isinstance(value, str) else Leaf(path, json.dumps(value), False)]


@given(documents, st.sampled_from([None, 2]), st.booleans())
def test_leaves_are_what_json_reads_with_every_literal_as_written(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert json_leaves(text) == flat(value)


def test_numbers_keep_their_zeros_their_exponents_and_all_their_digits() -> None:
    leaves = json_leaves('{"a": 1.10, "b": [12345678901234567890123, -0.0, 1E5]}')
    assert leaves == [
        Leaf(("a",), "1.10", False),
        Leaf(("b", 0), "12345678901234567890123", False),
        Leaf(("b", 1), "-0.0", False),
        Leaf(("b", 2), "1E5", False),
    ]


def test_both_of_two_equal_keys_are_kept() -> None:
    assert json_leaves('{"a": 1, "a": 2}') == [Leaf(("a",), "1", False), Leaf(("a",), "2", False)]


def test_a_half_surrogate_is_kept_as_it_came() -> None:
    assert json_leaves(r'["\ud83d", "\ud83d\ude00"]') == [Leaf((0,), "\ud83d", True), Leaf((1,), "\U0001f600", True)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12",
        '"word"',
        "plain text",
        "{",
        "[1,]",
        '{"a" 1}',
        "[01]",
        "[1] tail",
        "{'a': 1}",
        '["a\nb"]',
        "[nul]",
        "[1 2]",
    ],
)
def test_what_is_not_an_object_or_array_gives_none(text: str) -> None:
    assert json_leaves(text) is None


def test_any_depth_is_read_without_a_crash_and_a_leaf_carries_its_innermost_steps() -> None:
    deep = json_leaves("[" * 20_000 + "7, 8" + "]" * 20_000)
    assert deep is not None
    assert [leaf.literal for leaf in deep] == ["7", "8"]
    assert [leaf.path[-1] for leaf in deep] == [0, 1] and {len(leaf.path) for leaf in deep} == {LONGEST_PATH}
    assert json_leaves("[" * 1_000_000) is None


def test_json_inside_a_string_gives_further_leaves_under_the_same_path() -> None:
    leaves = json_leaves(json.dumps({"content": json.dumps({"total": 1593}), "note": "12"}))
    assert leaves is not None
    assert embedded(leaves[0]) == [Leaf(("content", "total"), "1593", False)]
    assert embedded(leaves[1]) is None


def test_the_key_of_a_leaf_is_the_nearest_named_step() -> None:
    assert [leaf.key for leaf in json_leaves('{"rows": [[1], 2], "n": 3}') or []] == ["rows", "rows", "n"]
    assert [leaf.key for leaf in json_leaves("[1]") or []] == [""]


@given(st.text())
def test_lines_end_at_newlines_only(text: str) -> None:
    assert "\n".join(lines(text)) == text.removesuffix("\n")


def test_sentences_end_at_a_stop_before_a_capital_and_not_inside_a_version() -> None:
    text = "It failed at 1.2.3 again. See e.g. the log. Why? 12 tests broke!\nNext line"
    assert sentences(text) == ["It failed at 1.2.3 again.", "See e.g. the log.", "Why?", "12 tests broke!", "Next line"]
