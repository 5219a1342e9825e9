"""Item ids (L4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.models.items import ItemIds, call_key, is_sane, json_key


def test_the_id_of_a_result_is_the_hosts_call_id() -> None:
    assert ItemIds().result("toolu_012yuiPP1VAfh196GXaAmT8D") == "toolu_012yuiPP1VAfh196GXaAmT8D"


def test_ids_of_every_provider_are_used_as_they_are() -> None:
    for call_id in ("call_oIHazX6yQrB8", "functions.read:0", "call_1|fc_2", "0", "a" * 128):
        assert call_key(call_id) == call_id


@pytest.mark.parametrize(
    "call_id",
    [
        "a b",
        "x#2",
        'q"q',
        "q'q",
        "`id`",
        "../../etc",
        "tab\tid",
        "line\nid",
        "nul\0id",
        "é",
        "\ud800",
        "a" * 129,
        "x" * 1500,
    ],
)
def test_an_id_that_cannot_be_typed_safely_becomes_a_short_hash(call_id: str) -> None:
    key = call_key(call_id)
    assert key.startswith("h-")
    assert len(key) == 18
    assert is_sane(key)


def test_ids_that_are_no_strings_have_keys_of_their_own() -> None:
    odd: list[Any] = [5, "5", 5.5, True, ["a"], {"a": 1}, {"b": 1}]
    assert len({call_key(call_id) for call_id in odd}) == len(odd)


def test_a_missing_and_an_empty_id_take_the_calls_own_words() -> None:
    assert call_key(None, otherwise="read a") == call_key("", otherwise="read a")
    assert call_key("", otherwise="read a") != call_key("", otherwise="read b")


def test_a_repeated_id_is_numbered_from_the_second_on() -> None:
    ids = ItemIds()
    assert [ids.result("c"), ids.result("c"), ids.call("c"), ids.result("c")] == ["c", "c#2", "call:c", "c#3"]


def test_blocks_of_a_host_with_uuids_are_named_by_uuid_and_index() -> None:
    assert ItemIds().block("daa5a4bb-530c-4055-b20c-bde38255c99e", 1) == "daa5a4bb-530c-4055-b20c-bde38255c99e.1"


def test_other_blocks_are_named_by_role_and_hash() -> None:
    ids = ItemIds()
    sha = "0123456789abcdef" * 4
    assert [ids.text("user", sha), ids.text("assistant", sha), ids.text("system", sha), ids.text("user", sha)] == [
        "u-0123456789ab",
        "a-0123456789ab",
        "s-0123456789ab",
        "u-0123456789ab#2",
    ]


def test_a_sub_agent_prefixes_its_ids() -> None:
    ids = ItemIds("a2898e3")
    assert ids.result("c") == "a2898e3/c"
    assert ids.call("c") == "a2898e3/call:c"


def test_an_agents_name_cannot_reach_into_another_agents_ids() -> None:
    assert "/" not in ItemIds("a/b").result("c").removesuffix("/c")


def test_equal_values_have_equal_keys_whatever_the_order_of_their_fields() -> None:
    assert json_key({"a": 1, "b": 2}) == json_key({"b": 2, "a": 1})
    assert json_key(5) != json_key("5")


call_ids = st.one_of(
    st.none(),
    st.text(max_size=8),
    st.integers(),
    st.sampled_from(["c", "c#2", "call:c", "u-0123456789ab", "h-e3b0c44298fc1c14", "x" * 1500]),
)


@given(st.lists(st.tuples(st.sampled_from(["result", "call", "text"]), call_ids), max_size=30))
def test_ids_are_unique_and_the_same_for_the_same_list(steps: list[tuple[str, Any]]) -> None:
    def name() -> list[str]:
        ids = ItemIds()
        makers: dict[str, Callable[[Any], str]] = {
            "result": ids.result,
            "call": ids.call,
            "text": lambda _: ids.text("user", "0123456789ab" * 5),
        }
        return [makers[step](call_id) for step, call_id in steps]

    assert len(set(name())) == len(steps)
    assert name() == name()
