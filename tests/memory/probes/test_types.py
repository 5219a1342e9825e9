"""Each type of probe: it expects what stands in the raw inputs, passes on what is whole, fails on what is not."""

from __future__ import annotations

import pytest

from palimpsest_mcp.memory.probes.answers import CRITICAL, TYPES, Original, Stays
from palimpsest_mcp.memory.probes.grade import ask, grade
from palimpsest_mcp.models.probes import ProbeType

from .small_session import EXPECTED, messages, originals, whole, without


def test_the_session_of_these_tests_has_something_to_ask_of_every_type() -> None:
    assert set(EXPECTED) == set(TYPES) == {one.type for one in ask(originals()).probes}


@pytest.mark.parametrize("kind", TYPES)
def test_expected_values_are_those_of_the_raw_inputs(kind: ProbeType) -> None:
    assert EXPECTED[kind] in {one.expected for one in ask(originals()).probes if one.type == kind}


def test_a_digest_that_lost_nothing_answers_every_probe() -> None:
    given = originals()
    graded = grade(ask(given), Stays(whole(given)))
    assert graded.failed == () and graded.taken == () and graded.state == "passed"


@pytest.mark.parametrize("kind", TYPES)
def test_a_probe_fails_on_a_digest_that_damaged_its_value(kind: ProbeType) -> None:
    given, expected = originals(), EXPECTED[kind]
    graded = grade(ask(given), Stays(without(whole(given), expected[0])))
    assert (kind, expected) in {(one.type, one.expected) for one in graded.failed}
    assert graded.by_type[kind].passed < graded.by_type[kind].total


@pytest.mark.parametrize("kind", TYPES)
def test_a_probe_fails_on_a_digest_that_left_its_value_out(kind: ProbeType) -> None:
    given, expected = originals(), EXPECTED[kind]
    passages = {name: text.replace(expected[0], "") for name, text in whole(given).items()}
    assert (kind, expected) in {(one.type, one.expected) for one in grade(ask(given), Stays(passages)).failed}


@pytest.mark.parametrize("kind", TYPES)
def test_a_value_in_another_case_is_another_value(kind: ProbeType) -> None:
    given, expected = originals(), EXPECTED[kind]
    swapped = next(value for value in expected if value.lower() != value.upper())
    passages = {name: text.replace(swapped, swapped.swapcase()) for name, text in whole(given).items()}
    assert (kind, expected) in {(one.type, one.expected) for one in grade(ask(given), Stays(passages)).failed}


def test_the_critical_types_are_those_of_the_original_and_what_the_user_laid_down() -> None:
    of_the_original = {"file_path", "file_changes", "decision", "error", "progress", "next_steps", "intent"}
    assert {*of_the_original, "standing_order"} == CRITICAL
    probes = ask(originals()).probes
    assert {one.type for one in probes if one.critical} == CRITICAL
    assert not any(one.critical for one in probes if one.type in ("rationale", "resolution", "blocker", "recall"))


def test_an_error_that_a_later_run_of_the_same_command_resolved_is_not_critical_any_more() -> None:
    given = messages()
    run = {"type": "tool_use", "id": "again_1", "name": "Bash", "input": {"command": "pytest -q tests/test_load.py"}}
    said = {"type": "tool_result", "tool_use_id": "again_1", "content": "collected 14 items\n14 passed in 3.9s\n"}
    later = [*given[:-1], {"role": "assistant", "content": [run]}, {"role": "user", "content": [said]}, given[-1]]
    errors = [one for one in ask(originals(later)).probes if one.type == "error"]
    assert errors and not any(one.critical for one in errors)


def test_an_error_with_a_dotted_name_is_asked_for_by_its_whole_name() -> None:
    """`DuplicateKeyError` alone never stands whole beside its module: it would fail on the very original."""
    errors = [one.expected for one in ask(originals()).probes if one.type == "error"]
    assert ("psycopg.errors.DuplicateKeyError",) in errors


def test_an_escaped_or_cut_value_is_no_question() -> None:
    """It would fail whatever a digest keeps: here the call is shown in another form than its action names."""
    call = next(one.item for one in originals() if one.item.kind == "tool_call")
    assert ask([Original(item=call, text=call.action.target if call.action else "")]).probes
    assert ask([Original(item=call, text="etl\\/load.py")]).probes == ()


def test_what_stands_for_a_secret_is_no_value() -> None:
    """The mark of one secret has the same eight characters wherever it stands; nobody came back to those."""
    given = originals()
    marked = [Original(item=one.item, text=f"{one.text}\n[redacted:email:85f6932d]", leaves=True) for one in given]
    assert not any("85f6932d" in value for one in ask(marked).probes for value in one.expected)


def test_nothing_is_asked_of_a_result_that_may_be_forgotten() -> None:
    kept, gone = ask(originals()), ask(originals(forgotten=frozenset({"fail_1"})))
    assert any(one.item_id == "fail_1" for one in kept.probes)
    assert not any(one.item_id == "fail_1" for one in gone.probes)


def test_a_request_that_stands_alone_is_asked_for_once() -> None:
    given = originals([{"role": "user", "content": "Why does the job ETL-204 fail?"}])
    assert [one.type for one in ask(given).probes if one.type == "intent"] == ["intent"]


def test_a_heading_of_next_steps_gives_its_list() -> None:
    plan = (
        "All parts are loaded.\n\n## Next steps\n1. Index the table parts_2026\n2. [ ] Tell the owner of HL-77\n\nBye."
    )
    given = originals([{"role": "user", "content": "Go on."}, {"role": "assistant", "content": plan}])
    steps = [one.expected for one in ask(given).probes if one.type == "next_steps"]
    assert steps == [("Index the table parts_2026",), ("Tell the owner of HL-77",)]


def test_a_patch_gives_every_file_it_names() -> None:
    patch = "*** Begin Patch\n*** Update File: src/One.py\n@@\n-a\n+b\n*** Add File: src/two.py\n+c\n*** End Patch"
    call = {"type": "tool_use", "id": "p1", "name": "apply_patch", "input": {"input": patch}}
    done = {"type": "tool_result", "tool_use_id": "p1", "content": "Done"}
    given = originals(
        [
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [done]},
        ]
    )
    changed = {one.expected for one in ask(given).probes if one.type == "file_changes"}
    assert changed == {("src/One.py",), ("src/two.py",)}


def test_the_same_context_gives_the_same_probes() -> None:
    assert ask(originals()) == ask(originals())
