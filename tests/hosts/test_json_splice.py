"""Splicing: what is replaced is replaced, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.hosts.json_bytes import NotSpliceable, edits, elements, members, spliced, value_at

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


def loose(value: Any, space: str) -> str:
    """JSON with white space wherever it may stand."""
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        inner = f"{space},{space}".join(f"{json.dumps(key)}{space}:{space}{loose(one, space)}" for key, one in pairs)
        return f"{{{space}{inner}{space}}}"
    if isinstance(value, list):
        rows = cast("list[Any]", value)
        return f"[{space}" + f"{space},{space}".join(loose(one, space) for one in rows) + f"{space}]"
    return json.dumps(value)


@given(VALUES, VALUES, st.sampled_from(["", " ", "\n\t ", "\r\n"]))
def test_the_text_says_the_new_value_whatever_the_two_values_are(before: Any, after: Any, space: str) -> None:
    text = loose(before, space)
    assert json.loads(spliced(text, edits(text, 0, before, after))) == after


@given(st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=4), st.data())
def test_all_but_the_changed_member_stays_byte_for_byte(before: dict[str, Any], data: st.DataObject) -> None:
    text = loose(before, " ")
    name = data.draw(st.sampled_from(sorted(before)))
    place = members(text)[name]
    after = {**before, name: "another"}
    done = spliced(text, edits(text, 0, before, after))
    assert (
        done
        == text[: place.start]
        + ('"another"' if before[name] != "another" else text[place.start : place.end])
        + text[place.end :]
    )


@given(st.lists(VALUES, max_size=4))
def test_elements_stand_where_they_are_said_to_stand(rows: list[Any]) -> None:
    text = "  " + loose(rows, "\n")
    assert [json.loads(text[one.start : one.end]) for one in elements(text)] == rows


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":1', "[1,]", "{,}", '{"a" 1}', "nothing", ""])
def test_what_is_not_told_apart_is_refused(text: str) -> None:
    with pytest.raises(NotSpliceable):
        (elements if text.startswith("[") else members)(text)
    if not text.startswith(("{", "[")):
        with pytest.raises(NotSpliceable):
            value_at(text)


def test_halves_of_surrogate_pairs_can_be_written() -> None:
    assert spliced('["x"]', edits('["x"]', 0, ["x"], ["\ud83d"])).encode() == b'["\\ud83d"]'
