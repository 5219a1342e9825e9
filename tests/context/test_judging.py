"""Verdicts: which rule protects what, and that units are whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from palimpsest_mcp.context.judge import judge
from palimpsest_mcp.context.policies import ANCHORED, RESEARCH
from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.models.items import Content, Item
from palimpsest_mcp.models.plans import ContextItem, Policy

STRICT = msgspec.structs.replace(RESEARCH, keep_last_k_tool_results=3)


def entry(
    row: int,
    kind: str = "tool_result",
    *,
    role: str = "tool",
    tokens: int = 1000,
    content: Content | None = "x",
    tool: str = "",
    unit: str = "",
    **state: Any,
) -> ContextItem:
    item = Item(
        id=f"i{row}", kind=kind, role=role, position=(row, 0), content=content, sha256="", tool_name=tool, unit=unit
    )
    return ContextItem(item=item, tokens=tokens, **state)


def three_new() -> list[ContextItem]:
    """The newest three results, so that what stands before them is judged by the other rules."""
    return [entry(row) for row in (97, 98, 99)]


def reasons(items: Sequence[ContextItem], policy: Policy = STRICT, **how: Any) -> dict[str, str]:
    return {found.item_id: found.reason for found in judge(items, policy, **how)}


def grades(items: Sequence[ContextItem], policy: Policy = STRICT, **how: Any) -> dict[str, str]:
    return {found.item_id: found.verdict for found in judge(items, policy, **how)}


def test_an_old_large_tool_result_is_free() -> None:
    assert grades([entry(0), *three_new()])["i0"] == "free"


@pytest.mark.parametrize("kind", RESEARCH.never_compact)
def test_the_seeds_protected_kinds_never_leave(kind: str) -> None:
    assert reasons([entry(0, kind), *three_new()])["i0"] == "never_kind"


def test_a_tools_results_may_be_of_a_protected_kind() -> None:
    assert reasons([entry(0, tool="run_clarify"), *three_new()])["i0"] == "never_kind"
    planned = msgspec.structs.replace(STRICT, kind_by_tool={"draw": "graph_plan"})
    assert reasons([entry(0, tool="draw"), *three_new()], planned)["i0"] == "never_kind"


def test_the_keep_all_flags_count_without_the_list() -> None:
    bare = msgspec.structs.replace(STRICT, never_compact=())
    kinds = ("citation_index", "rubrics", "clarify_result", "graph_plan")
    items = [*(entry(row, kind) for row, kind in enumerate(kinds)), *three_new()]
    assert [reasons(items, bare)[f"i{row}"] for row in range(4)] == ["never_kind"] * 3 + ["older"]
    loose = msgspec.structs.replace(bare, keep_all_citations_index=False, keep_all_rubrics=False)
    assert [reasons(items, loose)[f"i{row}"] for row in range(4)] == ["older"] * 4


def test_original_query_newest_request_and_system_prompt_are_named_as_such() -> None:
    items = [
        entry(0, "system_prompt", role="system"),
        entry(1, "message", role="user"),
        entry(2, "message", role="assistant"),
        entry(3, "message", role="user"),
        entry(4, "message", role="user"),
        entry(5, "message", role="system"),
    ]
    assert list(reasons(items).values()) == [
        "system_prompt",
        "original_query",
        "message",
        "message",
        "newest_user_request",
        "system_prompt",
    ]


def test_an_item_that_says_it_is_the_query_is_believed() -> None:
    items = [
        entry(0, "message", role="user"),
        entry(1, "original_query", role="user"),
        entry(2, "message", role="user"),
    ]
    assert list(reasons(items).values()) == ["message", "original_query", "newest_user_request"]


def test_the_only_request_is_the_original_query() -> None:
    assert reasons([entry(0, "message", role="user")]) == {"i0": "original_query"}


def test_the_first_answer_after_clarifying_is_the_verification() -> None:
    items = [
        entry(0, "message", role="assistant"),
        entry(1, tool="run_clarify"),
        entry(2, "message", role="assistant"),
        entry(3, "message", role="assistant"),
        entry(4, "clarify_verification", role="assistant"),
    ]
    assert list(reasons(items).values()) == [
        "message",
        "never_kind",
        "clarify_verification",
        "message",
        "clarify_verification",
    ]


def test_pinned_and_freshly_restored_items_stay() -> None:
    items = [entry(0, pinned=True), entry(1, restored_ago=4), entry(2, restored_ago=5), *three_new()]
    assert list(reasons(items).values())[:3] == ["pinned", "restored", "older"]


def test_the_newest_three_results_stay_whatever_k() -> None:
    items = [entry(row) for row in range(5)]
    for keep_last in (0, 1, 2, 3):
        found = judge(items, RESEARCH, keep_last=keep_last, force=True)
        assert [one.reason for one in found] == ["older"] * 2 + ["newest_3_tool_results"] * 3
        assert [one.verdict for one in found] == ["free"] * 2 + ["protected"] * 3


@pytest.mark.parametrize("floor", [1, 2, 5, 7])
def test_a_floor_of_any_size_holds_whole_units(floor: int) -> None:
    """A reason that is spelled with the number 3 held no unit under another floor."""
    policy = msgspec.structs.replace(STRICT, floor_tool_results=floor)
    for kind, sort in (("tool_result", "tool_results"), ("evidence", "evidence")):
        units = [f"u{row}" for row in range(12)]
        units[11 - floor] = units[
            12 - floor
        ]  # the first that the floor does not reach stands in one unit with the last
        items = [entry(row, kind, unit=unit) for row, unit in enumerate(units)]
        held = [one for one in judge(items, policy) if one.reason == f"newest_{floor}_{sort}"]
        assert [one.item_id for one in held] == [f"i{row}" for row in range(11 - floor, 12)]
        assert {one.verdict for one in held} == {"protected"}


@pytest.mark.parametrize("floor", [1, 2, 5, 7])
def test_k_is_never_below_the_floor(floor: int) -> None:
    policy = msgspec.structs.replace(STRICT, floor_tool_results=floor)
    items = [entry(row) for row in range(12)]
    for keep_last in (0, floor):
        found = list(grades(items, policy, keep_last=keep_last).values())
        assert found == ["free"] * (12 - floor) + ["protected"] * floor


def test_k_keeps_softly_and_minus_one_keeps_all() -> None:
    items = [entry(row) for row in range(20)]
    assert list(grades(items, RESEARCH).values()) == ["free"] * 8 + ["keep"] * 9 + ["protected"] * 3
    assert list(grades(items, RESEARCH, keep_last=5).values()) == ["free"] * 15 + ["keep"] * 2 + ["protected"] * 3
    assert "free" not in grades(items, RESEARCH, keep_last=-1).values()


def test_a_keep_last_below_minus_one_is_an_error() -> None:
    with pytest.raises(InvalidArgument, match="keep_last"):
        judge([], RESEARCH, keep_last=-2)


def test_evidence_does_not_push_tool_results_off_the_floor() -> None:
    items = [entry(row) for row in range(4)] + [entry(row, "evidence") for row in range(4, 8)]
    assert list(reasons(items).values()) == [
        "older",
        *["newest_3_tool_results"] * 3,
        "older",
        *["newest_3_evidence"] * 3,
    ]


def test_a_digest_in_its_place_makes_a_result_no_older() -> None:
    items = [entry(0), entry(1), entry(2), entry(3, state="replaced")]
    assert list(reasons(items).values()) == ["older"] + ["newest_3_tool_results"] * 3


def test_nothing_else_pushes_tool_results_off_the_floor() -> None:
    others = [entry(3, "rubrics"), entry(4, "restored_copy"), entry(5, "plan")]
    items = [*(entry(row) for row in range(3)), *others]
    assert list(reasons(items).values())[:3] == ["newest_3_tool_results"] * 3


def test_an_old_copy_behind_newer_results_is_not_among_the_newest() -> None:
    assert reasons([entry(0, "restored_copy"), *three_new()])["i0"] == "older"


def test_the_last_messages_stay_whole_unless_a_forced_keep_last_says_otherwise() -> None:
    items = [*three_new(), *(entry(row, "message", role="user") for row in range(100, 104))]
    items = [entry(0), *items[:3], *items[3:]]
    policy = msgspec.structs.replace(ANCHORED, keep_last_messages=8)
    assert reasons(items, policy)["i0"] == "last_messages"
    assert reasons(items, policy, keep_last=3)["i0"] == "last_messages"
    assert reasons(items, policy, force=True)["i0"] == "last_messages"
    assert reasons(items, policy, keep_last=3, force=True)["i0"] == "older"


def test_open_calls_digests_and_what_has_no_text_stay() -> None:
    items = [
        entry(0, call_open=True),
        entry(1, state="replaced"),
        entry(2, content=None),
        entry(3, unshrinkable=True),
        entry(4, tokens=199),
        entry(5, tokens=200),
        *three_new(),
    ]
    assert list(reasons(items).values())[:6] == [
        "call_open",
        "already_replaced",
        "not_restorable",
        "unshrinkable",
        "small",
        "older",
    ]


def test_what_carries_the_conversation_stays() -> None:
    kinds = ["message", "tool_call", "thinking", "image", "document", "host_block"]
    items = [*(entry(row, kind, role="assistant") for row, kind in enumerate(kinds)), *three_new()]
    assert list(reasons(items).values())[:6] == kinds


def test_an_unknown_kind_leaves_only_as_the_result_of_a_call() -> None:
    items = [
        entry(0, "plan", role="assistant"),
        entry(1, "plan"),
        entry(2, "plan", role="user", unit="u"),
        *three_new(),
    ]
    assert list(reasons(items).values())[:3] == ["kind_stays", "older", "older"]


def test_an_old_copy_that_was_restored_may_leave() -> None:
    copy = entry(0, "restored_copy", copy_of="offload_0001 i0", restored_ago=6)
    assert grades([copy, *three_new()])["i0"] == "free"


@pytest.mark.parametrize(
    ("state", "reason"),
    [({"pinned": True}, "pinned"), ({"restored_ago": 0}, "restored"), ({"call_open": True}, "call_open")],
)
def test_what_holds_one_item_of_a_unit_holds_all_of_it(state: dict[str, Any], reason: str) -> None:
    items = [
        entry(0, "tool_call", role="assistant", unit="u"),
        entry(1, unit="u"),
        entry(2, unit="u", **state),
        entry(3),
        *three_new(),
    ]
    found = reasons(items)
    assert (found["i1"], found["i2"], found["i3"]) == (reason, reason, "older")


def test_a_unit_with_one_of_the_newest_three_is_whole() -> None:
    items = [entry(0, unit="u"), entry(1), entry(2), entry(3, unit="u")]
    assert reasons([*items, entry(4), entry(5)]) == {
        "i0": "newest_3_tool_results",
        "i1": "older",
        "i2": "older",
        "i3": "newest_3_tool_results",
        "i4": "newest_3_tool_results",
        "i5": "newest_3_tool_results",
    }


def test_the_strictest_verdict_binds_a_unit() -> None:
    items = [entry(0, unit="u"), *(entry(row) for row in range(1, 12)), entry(12, unit="u"), entry(13, unit="u")]
    found = judge(items, RESEARCH)
    assert {one.verdict for one in found if one.unit == "u"} == {"protected"}


def test_a_small_answer_does_not_hold_a_long_one_of_the_same_unit() -> None:
    items = [entry(0, unit="u", tokens=20), entry(1, unit="u"), *three_new()]
    assert list(reasons(items).values())[:2] == ["small", "older"]


def test_gone_items_are_named_and_count_for_nothing() -> None:
    items = [entry(0), entry(1), entry(2), entry(3, state="gone"), entry(4, state="gone")]
    assert list(reasons(items).values()) == ["newest_3_tool_results"] * 3 + ["gone"] * 2
