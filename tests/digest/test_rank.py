"""What is worth showing: specifics by class and form, names that name themselves, records by kind and rarity."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.rank import VALUE, Need, names_typed
from palimpsest_mcp.digest.records import Record
from palimpsest_mcp.models.items import Specific
from palimpsest_mcp.text.specifics.registry import CLASSES

from .conftest import Bench

ISSUES = [
    ("a0y", "Single-session transcript bootstrap sync + live tail updates"),
    ("a0y.3", "Implement transcript tail adapter behavior and tail -F workers"),
    ("dov", "Unified transcript visualization and debug parity for session + subagent"),
    ("dov.1", "Extract shared transcript presentation with computer attachment"),
    ("6lq", "Deterministic end-to-end tests via Docker + seeded transcripts"),
    ("6lq.1", "Add transcript-dir override and deterministic seed task"),
    ("6lq.3", "Instrument views with stable selectors"),
    ("pr1", "Code Snippet Annotations"),
]
TEXT = st.lists(st.text(alphabet="abXY019_./@-:$( \té", max_size=40), max_size=12)


def listed(need: Need, *lines: str) -> list[str]:
    return [name for name, _ in need.names(lines)]


def test_every_class_has_a_worth_in_every_form() -> None:
    for form in ("code", "json", "delimited", "tests", "prose", "a reader of tomorrow"):
        assert all(VALUE < Need(form).value(one.name, "x-1-y") <= 1 + VALUE for one in CLASSES)


def test_a_name_in_a_listing_is_worth_more_than_one_among_the_keys_of_json() -> None:
    in_listing, in_json = (Need(form).value("name", "read_all") - VALUE for form in ("listing", "json"))
    assert in_listing > 3 * in_json


def test_an_id_is_worth_more_than_a_hash_and_a_uuid_next_to_nothing() -> None:
    id_, hash_, uuid = (Need("json").value(cls, "x") - VALUE for cls in ("id", "hash", "uuid"))
    assert id_ > 5 * hash_ > 5 * uuid


def test_a_class_of_the_user_is_worth_its_weight() -> None:
    need = Need("prose", classes={"part": 6, "bin": 3})
    part, bin_, number = need.value("part", "K-9"), need.value("bin", "K-9"), need.value("number", "19.5")
    assert part - VALUE == pytest.approx(2 * (bin_ - VALUE))
    assert part > bin_ > number


def test_a_small_number_is_worth_less_than_a_long_one() -> None:
    """Counters and positions stand everywhere; a port or a price is somebody's."""
    need = Need("prose")
    assert need.value("integer", "17") < VALUE < need.value("integer", "48213")


def test_fields_of_an_example_are_worth_less_than_those_of_an_object() -> None:
    """Sizes and colours of a template took the room of what its manual says."""
    field = Record("title.style: fontSize=56|color=#0095D9", "field")
    assert Need("prose").told(field)[0] < Need("json").told(field)[0] / 2


def test_a_specific_that_is_asked_for_by_name_is_worth_more() -> None:
    assert Need("json", ["cancel HAT069 please"]).value("id", "HAT069") > Need("json").value("id", "HAT069")


def test_names_come_by_how_often_they_stand_there_then_in_source_order() -> None:
    assert listed(Need("code"), "zeta_one = alpha_two()", "beta_six.run", "alpha_two(1)") == [
        "alpha_two",
        "zeta_one",
        "beta_six.run",
    ]


def test_what_does_not_name_itself_is_no_name() -> None:
    line = "word 6e62183a badcafe1 v1.2.3 2026-11-20 19:20 48213 12ms 6f1e2c4a-0b7d-4c1e-9a55-2f6f0c3d9b10 self x.y"
    assert listed(Need("prose"), line) == []


def test_paths_files_handles_and_ids_with_letters_are_names() -> None:
    line = "see src/app/main.py, README.md and @octocat: HAT069 calls os.path.join in MainWindow"
    assert listed(Need("prose"), line) == [
        "src/app/main.py",
        "README.md",
        "@octocat",
        "HAT069",
        "MainWindow",
        "os.path.join",
    ]


def test_a_name_that_is_in_view_or_that_a_specific_calls_a_number_is_left_out() -> None:
    need = Need("code", in_view={"read_all"})
    found = need.names(["read_all x_12345 write_all"], [Specific("number", "x_12345")])
    assert [name for name, _ in found] == ["write_all"]


@given(TEXT)
def test_each_name_is_a_whole_token_of_a_line(lines: list[str]) -> None:
    for name, gain in Need("code").names(lines):
        assert gain > 0
        assert any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line) for line in lines)


def test_a_record_is_worth_more_by_its_kind_and_when_asked_for() -> None:
    need, asked = Need("log"), Need("log", ["why does the worker restart?"])
    line, error = Record("worker 3 restart"), Record("worker 3 restart", "error")
    assert sum(need.told(error)) > sum(need.told(line))
    assert sum(asked.told(line)) > sum(need.told(line))


def test_an_outcome_outranks_a_line_that_repeats_the_request() -> None:
    need = Need("tests", ["the worker of the queue should restart after a crash"])
    line = "the worker of the queue should restart after a crash"
    assert sum(need.told(Record("2 failed", "outcome"))) > sum(need.told(Record(line)))


def test_names_are_asked_for_as_they_were_typed_and_common_words_not_at_all() -> None:
    need = Need("code", ["src/retry.py", "backoff", "please"])

    def asked(line: str) -> float:
        return need.told(Record(line))[1]

    assert asked("in src/retry.py at 4") > 0 and asked("the Backoff is lost") > 0
    assert asked("please retry py src") == 0


@given(st.text(alphabet="ab1_/.@-$ :\n", max_size=80))
def test_a_name_that_was_typed_stands_whole_in_its_text(text: str) -> None:
    assert all(name in text for name in names_typed(text))


def test_words_with_a_slash_or_a_number_are_names_in_code_and_none_in_prose() -> None:
    line = "and/or note12 mid-20s src/app.py HAT069 user_id"
    assert [name for name, _ in Need("prose").names([line])] == ["src/app.py", "HAT069", "user_id"]
    assert {"and/or", "note12"} <= {name for name, _ in Need("code").names([line])}


def test_a_file_that_somebody_named_is_said_to_be_there_first() -> None:
    """Else one would write `hello.py` anew."""
    need = Need("listing", ["hello.py"], in_view={"hello.py", "README.md"})
    found = need.names(["README.md setup.py hello.py"], called={"README.md": 1.0, "setup.py": 1.0, "hello.py": 1.0})
    assert [name for name, _ in found] == ["hello.py", "setup.py"]


def test_what_belongs_to_something_else_is_a_lesser_name() -> None:
    """`messages.length mt-2 Math.min` say nothing that somebody could go on with."""
    gains = dict(Need("code").names(["list.length mt-2 Math.min load_rates app.module.ts Spotter.Repo"]))
    assert max(gains["list.length"], gains["mt-2"], gains["Math.min"]) < 0.5 * gains["load_rates"]
    assert min(gains["app.module.ts"], gains["Spotter.Repo"]) > 0.9 * gains["load_rates"]


def test_a_sentence_answers_what_was_asked_in_any_form_of_its_words() -> None:
    need = Need("prose", ["proposal", "rejected"])
    asked = need.told(Record("He proposed to her, and she rejects him."))[1]
    assert asked > need.told(Record("He walked to the village."))[1] == 0


def test_a_word_that_one_line_has_asks_for_more_than_one_that_all_have() -> None:
    """Every hit of a search has its words: the one that holds a rare one is the answer."""
    hits = ["7:themes = load()", *(f"{n}:open(f'{n}.json')" for n in range(20, 28))]
    need = Need("search", ["themes", "json"])
    need.look_at(hits)
    rare, usual = (need.told(Record(hit, "hit"))[1] for hit in hits[:2])
    assert rare > 2 * usual > 0


def test_a_name_that_was_typed_asks_for_its_line_unless_thirty_were() -> None:
    def asked(names: list[str]) -> float:
        lines = [f"{name} is ready" for name in names]
        need = Need("log", names)
        need.look_at(lines)
        return need.told(Record(lines[0]))[1]

    assert asked(["job_1"]) > 3 * asked([f"job_{n}" for n in range(1, 60)])


def test_who_goes_on_with_one_of_several_issues_finds_it_in_the_digest(bench: Bench) -> None:
    rows = [f"{n}. [P1] [task] app-{name}: {title}" for n, (name, title) in enumerate(ISSUES, 1)]
    text = "\n".join(["Ready work (8 issues with no blockers):", "", *rows])
    part = bench.digest(text, share=0.5, focus=("app-dov.1", "subtasks"), said=frozenset({"app-dov.1"})).parts[0].text
    assert "app-dov.1: Extract" in part
