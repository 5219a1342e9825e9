"""Nothing that was said goes away unless somebody says so."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.memory.summary.merge import absorb, after_pass, merge
from palimpsest_mcp.models.summaries import AnchoredSummary, Blocker, ChangedFile, Decision, ErrorMet, Note, Step, Todo

OLD = AnchoredSummary(
    session="sabcd",
    compression_count=4,
    session_intent="Move the importer to Postgres",
    files_modified=(ChangedFile(path="load.py", steps=(Step(verb="edited", times=3),), changes=("read in pieces",)),),
    decisions_made=(Decision(decision="Use Redis", rationale="it is fast"),),
    technical_context=("Python 3.11",),
    current_state="Half done",
    blockers=(Blocker(text="May old rows be deleted?"), Blocker(text="Who owns the schema?")),
    errors_encountered=(ErrorMet(error="KeyError: 'id'", where="pytest -q"),),
    next_steps=("Test with two files",),
    key_artifacts=("[main 1a2b3c4] Import",),
    notes=(Note(heading="For Ana", text="Look at the log."),),
)


def test_what_a_section_leaves_out_stays_as_it_was() -> None:
    assert merge(OLD, AnchoredSummary()) == OLD


def test_changes_of_a_file_are_united_in_order() -> None:
    new = AnchoredSummary(
        files_modified=(
            ChangedFile(path="load.py", changes=("skip known ids", "read in pieces")),
            ChangedFile(path="b.py", changes=("new",)),
        )
    )
    files = merge(OLD, new).files_modified
    assert files[0].changes == ("read in pieces", "skip known ids") and files[0].steps == OLD.files_modified[0].steps
    assert files[1].path == "b.py"


def test_a_decision_that_is_repeated_is_one_decision() -> None:
    new = AnchoredSummary(decisions_made=(Decision(decision="use  redis."), Decision(decision="Use SQL")))
    assert [one.decision for one in merge(OLD, new).decisions_made] == ["Use Redis", "Use SQL"]
    assert merge(OLD, new).decisions_made[0].rationale == "it is fast"


def test_a_missing_rationale_is_filled_in_and_one_that_stands_is_kept() -> None:
    old = AnchoredSummary(decisions_made=(Decision(decision="A rule"), Decision(decision="B rule", rationale="b")))
    new = AnchoredSummary(
        decisions_made=(Decision(decision="A rule", rationale="a"), Decision(decision="B rule", rationale="other"))
    )
    assert [one.rationale for one in merge(old, new).decisions_made] == ["a", "b"]


def test_a_superseded_decision_is_marked_and_says_by_which() -> None:
    new = AnchoredSummary(decisions_made=(Decision(decision="Use Postgres", rationale="transactions"),))
    redis, postgres = merge(OLD, new, supersede=["use redis"]).decisions_made
    assert redis == Decision(
        decision="Use Redis", rationale="it is fast", superseded=True, superseded_by="Use Postgres"
    )
    assert not postgres.superseded


def test_a_superseded_decision_stands_again_when_it_is_decided_again() -> None:
    gone = merge(OLD, AnchoredSummary(), supersede=["1"])
    assert gone.decisions_made[0].superseded
    again = merge(gone, AnchoredSummary(decisions_made=(Decision(decision="Use Redis"),)))
    assert not again.decisions_made[0].superseded


def test_the_intent_is_replaced_only_when_it_is_said_to_have_changed() -> None:
    new = AnchoredSummary(session_intent="Drop the importer altogether")
    assert merge(OLD, new).session_intent == OLD.session_intent
    assert merge(OLD, new, intent_changed=True).session_intent == new.session_intent
    assert merge(OLD, AnchoredSummary(), intent_changed=True).session_intent == OLD.session_intent
    assert merge(AnchoredSummary(), new).session_intent == new.session_intent


def test_state_and_next_steps_are_replaced_where_there_are_new_ones() -> None:
    new = AnchoredSummary(current_state="Done but for the docs", next_steps=("Write the docs", "Ship"))
    merged = merge(OLD, new)
    assert (merged.current_state, merged.next_steps) == ("Done but for the docs", ("Write the docs", "Ship"))


def test_a_blocker_is_closed_only_by_name_and_stays_on_record() -> None:
    new = AnchoredSummary(blockers=(Blocker(text="Which port?"),))
    assert merge(OLD, new).open_blockers == ("May old rows be deleted?", "Who owns the schema?", "Which port?")
    for name in ("2", "#2", "who owns the schema?", "schema"):
        closed = merge(OLD, new, close_blockers=[name])
        assert closed.open_blockers == ("May old rows be deleted?", "Which port?")
        assert Blocker(text="Who owns the schema?", closed=True) in closed.blockers


@pytest.mark.parametrize("name", ["The moon", "", "9", "s", "o"])
def test_a_name_that_fits_no_blocker_changes_nothing_and_lists_them(name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        merge(OLD, AnchoredSummary(), close_blockers=[name])
    assert "May old rows" in caught.value.next


def test_a_blocker_that_comes_up_again_is_open_again() -> None:
    closed = merge(OLD, AnchoredSummary(), close_blockers=["1"])
    again = merge(closed, AnchoredSummary(blockers=(Blocker(text="may old rows be deleted"),)))
    assert len(again.open_blockers) == 2 and len(again.blockers) == 2


def test_an_error_keeps_its_place_and_gets_its_resolution() -> None:
    new = AnchoredSummary(errors_encountered=(ErrorMet(error="KeyError: 'id'", resolution="default id"),))
    (error,) = merge(OLD, new).errors_encountered
    assert error == ErrorMet(error="KeyError: 'id'", where="pytest -q", resolution="default id")


def test_only_a_pass_raises_the_compression_count() -> None:
    assert merge(OLD, AnchoredSummary(compression_count=9)).compression_count == 4
    assert absorb(OLD, AnchoredSummary(compression_count=9)).compression_count == 4
    done = after_pass(OLD, timestamp="t", messages=(1, 30), tokens_before=100, tokens_after=20)
    assert done.compression_count == 5 and done.ratio == pytest.approx(0.8)  # pyright: ignore[reportUnknownMemberType]
    assert (done.first_message, done.last_message) == (1, 30)


def test_what_code_finds_never_replaces_what_was_stated() -> None:
    found = AnchoredSummary(
        session_intent="alright, move it",
        decisions_made=(Decision(decision="Use Redis", rationale="another"), Decision(decision="We chose SQL")),
        errors_encountered=(ErrorMet(error="KeyError: 'id'", where="pytest -q", resolution="by a later run"),),
        last_asked="go on",
    )
    stated = merge(OLD, AnchoredSummary(errors_encountered=(ErrorMet(error="KeyError: 'id'", resolution="mine"),)))
    merged = absorb(stated, found)
    assert merged.session_intent == OLD.session_intent and merged.current_state == "Half done"
    assert merged.decisions_made == (*OLD.decisions_made, Decision(decision="We chose SQL"))
    assert merged.errors_encountered[0].resolution == "mine" and merged.last_asked == "go on"


def test_a_superseded_decision_is_not_revived_by_the_sentence_that_once_stated_it() -> None:
    gone = merge(OLD, AnchoredSummary(), supersede=["Use Redis"])
    assert absorb(gone, AnchoredSummary(decisions_made=(Decision(decision="Use Redis"),))).decisions_made[0].superseded


def test_the_longer_trail_of_a_file_stands() -> None:
    grown = AnchoredSummary(files_modified=(ChangedFile(path="load.py", steps=(Step(verb="edited", times=5),)),))
    assert absorb(OLD, grown).files_modified[0].steps == (Step(verb="edited", times=5),)
    purged = AnchoredSummary(files_modified=(ChangedFile(path="load.py", steps=(Step(verb="edited"),)),))
    assert absorb(OLD, purged).files_modified[0].steps == (Step(verb="edited", times=3),)


def test_a_file_that_a_shell_named_in_its_folder_becomes_the_known_one() -> None:
    shell = AnchoredSummary(files_modified=(ChangedFile(path="a.py", folder="/srv", steps=(Step(verb="moved"),)),))
    known = AnchoredSummary(files_modified=(ChangedFile(path="/srv/a.py", steps=(Step(verb="edited", times=2),)),))
    assert [one.path for one in absorb(shell, known).files_modified] == ["/srv/a.py"]


def test_todos_are_those_of_the_ledger_also_when_none_is_left() -> None:
    old = AnchoredSummary(todos=(Todo(text="Test"),), todos_done=1, todos_total=2)
    done = absorb(old, AnchoredSummary(session_intent="Do it", todos_done=2, todos_total=2))
    assert (done.todos, done.todos_done) == ((), 2)
    assert absorb(old, AnchoredSummary()).todos == old.todos


words = st.sampled_from(["one", "Two", "three", "four"])
parts = st.builds(
    AnchoredSummary,
    session_intent=st.sampled_from(["", "intent a", "intent b"]),
    files_modified=st.lists(
        st.builds(ChangedFile, path=words, changes=st.lists(words, max_size=2).map(tuple)), max_size=3
    ).map(tuple),
    decisions_made=st.lists(st.builds(Decision, decision=words, rationale=words), max_size=3).map(tuple),
    technical_context=st.lists(words, max_size=3).map(tuple),
    current_state=st.sampled_from(["", "here", "there"]),
    blockers=st.lists(st.builds(Blocker, text=words), max_size=3).map(tuple),
    errors_encountered=st.lists(st.builds(ErrorMet, error=words, resolution=words), max_size=3).map(tuple),
    next_steps=st.lists(words, max_size=2).map(tuple),
    key_artifacts=st.lists(words, max_size=3).map(tuple),
)


@given(st.lists(parts, min_size=1, max_size=6))
def test_whatever_was_stated_once_stands_after_any_further_merges(given_parts: list[AnchoredSummary]) -> None:
    merged = AnchoredSummary()
    for part in given_parts:
        merged = merge(merged, part)
    for part in given_parts:
        for one in part.files_modified:
            kept = merged.file(one.path)
            assert kept is not None and set(one.changes) <= set(kept.changes)
        assert {one.decision for one in part.decisions_made} <= {one.decision for one in merged.decisions_made}
        assert {one.text for one in part.blockers} <= set(merged.open_blockers)
        assert {one.error for one in part.errors_encountered} <= {one.error for one in merged.errors_encountered}
        assert set(part.technical_context) <= set(merged.technical_context)
        assert set(part.key_artifacts) <= set(merged.key_artifacts)
    assert merged.session_intent == next((one.session_intent for one in given_parts if one.session_intent), "")
    assert merge(merged, merged) == msgspec.structs.replace(merged)
