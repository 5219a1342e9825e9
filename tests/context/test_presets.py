"""Policies: every value of the seeds, and errors that name field and range."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from palimpsest_mcp.context.policies import (
    ANCHORED,
    PHASED,
    PRESETS,
    RESEARCH,
    build_policy,
    check,
    unknown_policy,
)
from palimpsest_mcp.errors import InvalidPolicy
from palimpsest_mcp.models.plans import Policy

SEED_BLOCK = """
keep_last_k_tool_results = 12
keep_all_citations_index = true
keep_all_rubrics = true
offload_trigger_token_ratio = 0.7
offload_target_token_ratio = 0.4
offload_archive_path = "session/<id>/offloaded/<ts>.jsonl"
prefer_compact_over_drop = true
never_compact = ["clarify_result", "reflective_loop_state", "graph_plan", "citation_index", "rubrics"]
"""


def test_the_seeds_own_block_is_the_research_policy() -> None:
    assert build_policy(PHASED, tomllib.loads(SEED_BLOCK)).policy.never_compact == RESEARCH.never_compact
    assert build_policy(RESEARCH, tomllib.loads(SEED_BLOCK)).policy == RESEARCH


def test_the_other_two_presets_have_their_seeds_numbers() -> None:
    assert (ANCHORED.offload_trigger_token_ratio, ANCHORED.offload_target_token_ratio) == (0.7, 0.5)
    assert (ANCHORED.min_messages, ANCHORED.keep_last_messages, ANCHORED.keep_last_k_tool_results) == (10, 5, 3)
    assert [zone.start for zone in ANCHORED.zones] == [0.0, 0.6, 0.7, 0.9]
    assert (ANCHORED.expected_compression, ANCHORED.refuse_compression_above) == ((0.6, 0.8), 0.95)
    assert (PHASED.offload_trigger_token_ratio, PHASED.offload_target_token_ratio) == (0.4, 0.3)
    assert [zone.start for zone in PHASED.zones] == [0.0, 0.3, 0.4, 0.5, 0.65]
    assert PHASED.keep_last_k_tool_results == 3


@pytest.mark.parametrize("name", ["research", "anchored", "phased"])
def test_a_preset_has_its_name_and_is_valid_as_it_stands(name: str) -> None:
    policy = PRESETS[name]
    assert policy.name == name
    assert check(policy).policy is policy
    assert check(policy).notes == ()


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    assert "anchored, phased, research" in unknown_policy("resarch", PRESETS).next


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"keep_last_k_tool_results": -2}, "keep_last_k_tool_results must be at least -1"),
        ({"offload_trigger_token_ratio": 1.2}, "offload_trigger_token_ratio must be above 0 and at most 1"),
        ({"offload_trigger_token_ratio": float("nan")}, "offload_trigger_token_ratio must be above 0"),
        ({"offload_target_token_ratio": 0.7}, "must be below offload_trigger_token_ratio"),
        ({"offload_archive_path": "/tmp/x"}, "offload_archive_path is fixed"),
        ({"budget_share": 0.04}, "min_budget_share .* must not be above budget_share"),
        ({"min_shown": 1.5}, "min_shown must be from 0 to 1"),
        ({"batch_items": 0}, "batch_items must be at least 1"),
        ({"zones": []}, "zones must start at 0"),
        ({"zones": [{"name": "a", "start": 0.2, "action": ""}]}, "zones must start at 0"),
        ({"expected_compression": [0.8, 0.6]}, "expected_compression must be two rising values"),
        ({"refuse_compression_above": 0}, "refuse_compression_above must be above 0"),
        ({"name": ""}, "name must not be empty"),
        ({"keep_last_k_tool_results": "twelve"}, "keep_last_k_tool_results: Expected `int`"),
        ({"window_kind": "wide"}, "window_kind: Invalid enum value"),
        ({"keep_last_k_tool_result": 3}, "Did you mean keep_last_k_tool_results"),
        ({"zzz": 3}, "has no field 'zzz'"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_its_field(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidPolicy, match=words):
        build_policy(RESEARCH, changes)


@pytest.mark.parametrize(("given", "used", "noted"), [(-1, -1, 0), (0, 3, 1), (2, 3, 1), (3, 3, 0), (40, 40, 0)])
def test_k_below_the_floor_is_raised_and_says_so_and_minus_one_keeps_all(given: int, used: int, noted: int) -> None:
    checked = build_policy(RESEARCH, {"keep_last_k_tool_results": given})
    assert checked.policy.keep_last_k_tool_results == used
    assert len(checked.notes) == noted


def test_tools_are_added_to_the_bases_own_and_everything_else_replaces() -> None:
    built = build_policy(RESEARCH, {"kind_by_tool": {"plan": "graph_plan"}, "never_compact": ["rubrics"]}).policy
    assert built.kind_by_tool == {"run_clarify": "clarify_result", "plan": "graph_plan"}
    assert built.never_compact == ("rubrics",)


def test_giving_up_a_protected_kind_is_noted() -> None:
    assert "graph_plan" in build_policy(RESEARCH, {"never_compact": ["rubrics"]}).notes[0]


def test_values_of_variables_are_text() -> None:
    built = build_policy(
        RESEARCH, {"keep_last_k_tool_results": "5", "prefer_compact_over_drop": "false"}, from_text=True
    )
    assert built.policy.keep_last_k_tool_results == 5
    assert built.policy.prefer_compact_over_drop is False


def test_no_preset_can_be_changed_by_building_on_it() -> None:
    build_policy(PRESETS["research"], {"kind_by_tool": {"x": "y"}, "keep_last_k_tool_results": 4}, name="mine")
    assert PRESETS["research"] == Policy()
