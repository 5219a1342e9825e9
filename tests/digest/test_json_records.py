"""JSON as records: every leaf, as it is written."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.lines import plain
from palimpsest_mcp.digest.reducers.json_records import leaf_text, parse_json, records_of

_LEAF = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8))
_JSON = st.recursive(
    _LEAF,
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=6), inner, max_size=5)),
    max_leaves=30,
)


def cells(text: str) -> list[tuple[str, str]]:
    records = records_of(parse_json(text) or [])
    assert records is not None
    return [(cell.key, cell.text) for record in records for cell in record.cells]


def test_a_number_stays_as_it_is_written() -> None:
    assert cells('{"price": 1.10, "big": 12345678901234567890, "exp": 1E5}') == [
        ("price", "1.10"),
        ("big", "12345678901234567890"),
        ("exp", "1E5"),
    ]


def test_a_name_that_comes_twice_keeps_both_values() -> None:
    assert cells('{"a": 1, "a": 2}') == [("a", "1"), ("a", "2")]


def test_names_that_are_data_become_labels_and_their_objects_one_table() -> None:
    text = json.dumps({f"node_modules/pkg-{i}": {"version": f"1.{i}.0", "license": "MIT"} for i in range(4)})
    records = records_of(parse_json(text) or []) or []
    assert {record.path for record in records} == {"{}"}
    assert [record.label for record in records] == [f"node_modules/pkg-{i}" for i in range(4)]


def test_small_objects_are_written_into_the_columns_of_the_one_around_them() -> None:
    records = records_of(parse_json('{"name": {"first": "Mia", "last": "Li"}}') or []) or []
    assert [(c.column, c.key, c.text) for c in records[0].cells] == [
        ("name first", "first", "Mia"),
        ("name last", "last", "Li"),
    ]


def test_one_document_a_line_is_a_list_of_rows() -> None:
    records = records_of(parse_json('{"id": 1}\n{"id": 2}\n') or []) or []
    assert [record.path for record in records] == ["[]", "[]"]


def test_what_is_no_json_or_too_deep_is_read_as_text() -> None:
    assert parse_json("plain words") is None
    assert parse_json('{"a": 1') is None
    assert parse_json("[" * 100_000) is None
    deep: Any = "x"
    for _ in range(60):
        deep = {"a": deep, "b": [1]}
    assert records_of(parse_json(json.dumps(deep)) or []) is None


@given(_JSON)
def test_no_leaf_is_lost(value: Any) -> None:
    text = json.dumps(value)
    documents = parse_json(text)
    if documents is None:
        return
    records = records_of(documents)
    assert records is not None
    seen = "\n".join([cell.text for record in records for cell in record.cells] + [record.label for record in records])
    for leaf in _leaves(value):
        shown = leaf_text(leaf) if isinstance(leaf, str | bool | None) else str(leaf)
        assert plain(shown) in seen


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]  # pyright: ignore[reportUnknownVariableType]
    return [value]


def test_a_document_inside_a_string_is_read_as_one() -> None:
    packed = json.dumps({"error": "", "response": json.dumps([{"id": "EKVF", "phone": "27.25.92"}, {"id": "ACT"}])})
    assert ("id", "EKVF") in cells(packed) and ("phone", "27.25.92") in cells(packed)
    cut = json.dumps({"response": '[{"id": "EKVF", "phone": "27.25'})
    assert cells(cut) == [("response", '[{"id": "EKVF", "phone": "27.25')]
