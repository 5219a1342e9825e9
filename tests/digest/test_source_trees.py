"""Verification's own reading of trees: JSON and Python literals in whatever text they stand."""

from __future__ import annotations

import json
import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.source_trees import Branch, Leaf, stretches, trees

from ..conftest import first_of

WORDS = st.text("abc\"'\\\n[{:, é#", max_size=8)
SCALARS = (
    st.none() | st.booleans() | st.integers(-999, 999) | WORDS.filter(lambda word: word.lstrip()[:1] not in ("{", "["))
)
TREES = st.recursive(
    SCALARS,
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(st.text("kxy", min_size=1, max_size=3), below, max_size=4)
    ),
    max_leaves=20,
)
RECORDS = st.lists(st.dictionaries(st.sampled_from("abc"), TREES, min_size=1), min_size=2, max_size=5)


def leaves(tree: Branch) -> list[tuple[str, str]]:
    """Path and text of each scalar."""
    found: list[tuple[str, str]] = []
    for one in tree.walk():
        if isinstance(one, Branch):
            keys = one.keys if one.keys is not None else map(str, range(len(one.values)))
            found += [
                (f"{one.path}.{key}".strip("."), value.text)
                for key, value in zip(keys, one.values, strict=True)
                if isinstance(value, Leaf)
            ]
    return sorted(found)


def scalars(value: object, path: str, *, python: bool) -> list[tuple[str, str]]:
    """The same of a value."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownMemberType]
        return [one for key, below in pairs for one in scalars(below, f"{path}.{key}", python=python)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    said = value if isinstance(value, str) else repr(value) if python else json.dumps(value)
    return [(path.strip("."), said)]


@given(
    RECORDS,
    st.booleans(),
    st.sampled_from(["", "Result: ", "It gave us\n", "```json\n", "  "]),
    st.sampled_from([None, 2]),
)
def test_every_scalar_has_its_path_its_text_and_its_place(
    value: list[object], python: bool, before: str, indent: int | None
) -> None:
    text = before + (repr(value) if python else json.dumps(value, indent=indent)) + "\n"
    tree = trees(text)[0]
    path = "Result" if before == "Result: " else ""
    assert leaves(tree) == sorted(scalars(value, path, python=python))
    assert text[tree.start : tree.end] == text[len(before) :].strip()
    for one in tree.walk():
        if not isinstance(one, Branch):
            token = text[one[0].start : one[0].end]
            assert token[:1] in "\"'" if one[0].quoted else token == one[0].text


@given(RECORDS, st.data())
def test_of_a_cut_tree_what_was_read_is_what_stood_before_the_cut(value: list[object], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text)))
    whole = dict(scalars(value, "", python=False))
    found = [leaf for tree in trees(text[:cut]) for leaf in leaves(tree)]
    assert [path for path, said in found if whole.get(path, "").startswith(said) is False] == []
    assert sum(whole.get(path) != said for path, said in found) <= 1


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}',
        '{"a": 1, "b": "x"} {"a": 2, "b": "y"}',
        "     7\t{'a': 1,\n     8\t 'b': 'x'}\n     9\t{'a': 2,\n    10\t 'b': 'y'}",
        "we saw {'a': 1, 'b': 'x'}, then {'a': 2, 'b': 'y'}.",
        '{"a": 1, "b": "x"}\n... 40 lines cut ...\n  {"a": 2, "b": "y", ',
    ],
)
def test_several_trees_stand_one_after_another_in_any_text(text: str) -> None:
    assert [[said for _, said in leaves(tree)] for tree in trees(text)] == [["1", "x"], ["2", "y"]]


def test_a_string_that_is_a_tree_has_the_paths_of_that_tree() -> None:
    inner = json.dumps([{"id": "a1"}, {"id": "b2"}])
    (tree,) = trees(json.dumps({"response": inner}))
    assert ("response.0.id", "a1") in leaves(tree)
    assert ("response.1.id", "b2") in leaves(tree)


def test_what_python_writes_its_own_way_is_told_as_written() -> None:
    (tree,) = trees("[(1, None), {'a', 'b'}, Decimal('1.10'), datetime.date(2024, 5, 20), 'it\\'s \\d', -1.50]")
    said = [text for _, text in leaves(tree)]
    assert sorted(said) == sorted(["1", "None", "a", "b", "1.10", "datetime.date(2024, 5, 20)", "it's \\d", "-1.50"])


def test_lines_that_are_trees_are_told_from_lines_that_only_hold_one() -> None:
    text = 'Rows: [{"a": 1}]\nfoo({"a": 1});\n{"b": [1,\n2]}\nin all [1, 2]'
    assert [(one.first, one.end, one.before) for one in stretches(text, trees(text))] == [(0, 1, "Rows:"), (2, 4, "")]


@given(st.text("[]{}()\"'\\,:a1 \nu", max_size=60))
def test_no_text_makes_the_scanner_raise(text: str) -> None:
    found = trees(text)
    assert all(0 <= tree.start < tree.end <= len(text) for tree in found)
    stretches(text, found)


@pytest.mark.parametrize(
    "piece",
    first_of(
        [
            "[",
            '{"a":',
            "['a",
            "{'a',",
            '["',
            "[1],",
            '{"a":"[',
            "a(b[c{",
            '"\\',
            "1\t[\n",
            "[\n",
            "[-",
            "{(",
            "'",
            '[""',
        ],
        kept=5,
    ),
)
def test_no_text_is_read_twice(piece: str) -> None:
    def calls(text: str) -> int:
        """Calls of functions and of C, as many on every machine."""
        made = 0

        def count(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            stretches(text, trees(text))
        finally:
            sys.setprofile(before)
        return made

    small, big = (piece * (size // len(piece)) for size in (2_500, 20_000))
    assert calls(big) < 9 * calls(small) + 1_000


def test_a_quote_that_nothing_follows_makes_no_tree_of_a_string() -> None:
    assert leaves(trees("""{"a": 1, "b": " ['"}""")[0]) == [("a", "1"), ("b", " ['")]
