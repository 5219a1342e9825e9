"""Whether an output says that its call failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.specifics.vocabulary import (
    DEAD_END,
    DECIDED,
    READ_CHARS,
    SUPERSEDES,
    Outcome,
    conclusion,
    name_after,
    outcome_of,
    sentences,
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("building\nCommand exited with code 2", "building"),
        ("a\n3 failed, 9 passed in 2.1s", "3 failed, 9 passed in 2.1s"),
        ("Traceback (most recent call last):\n  File x\nValueError: bad port 70000\n", "ValueError: bad port 70000"),
        ("KeyError: 'a'\n\nDuring handling:\n\nRuntimeError: no row", "RuntimeError: no row"),
        ("so far\na.ts(9,3): error TS2304: Cannot find name 'x'.", "a.ts(9,3): error TS2304: Cannot find name 'x'."),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("npm ERR! code ELIFECYCLE", "npm ERR! code ELIFECYCLE"),
        ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
        ("Error executing query: Table 'x' doesn't exist", "Error executing query: Table 'x' doesn't exist"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("checked 4 files\nFound 2 errors.", "Found 2 errors."),
    ],
)  # fmt: skip
def test_a_failure_is_known_by_how_programs_print_it(text: str, line: str) -> None:
    assert outcome_of(text) == Outcome(True, line)


@pytest.mark.parametrize(
    "text",
    ["84 tests, 0 failures", "12 passed in 3s", "Found 0 errors.", "Process exited with code 0", "BUILD SUCCESSFUL"],
)
def test_success_is_said_too(text: str) -> None:
    assert outcome_of(text) == Outcome(False, text)


@pytest.mark.parametrize(
    "text",
    ["", "a b c", "- Fixed 400 errors when using the provider", "no errors were found", "def test_error(): ...",
     "The ValueError is caught above.", "error_count = 3"],
)  # fmt: skip
def test_text_that_speaks_of_errors_is_none(text: str) -> None:
    assert outcome_of(text) == Outcome(None, "")


def test_what_the_host_marked_failed_whatever_it_says() -> None:
    assert outcome_of("\n  all well\n", is_error=True) == Outcome(True, "all well")
    assert outcome_of("", is_error=True) == Outcome(True, "")


def test_the_end_of_a_long_output_is_read() -> None:
    long = "line\n" * READ_CHARS
    assert outcome_of(long + "Command exited with code 7").failed
    assert conclusion(long + "9 passed, 1 failed\nbye") == "9 passed, 1 failed"


@given(st.text(max_size=400), st.booleans())
def test_a_line_that_is_named_stands_in_the_text(text: str, is_error: bool) -> None:
    found = outcome_of(text, is_error=is_error)
    assert found.line in text and "\n" not in found.line
    assert conclusion(text) in text


def test_a_cue_gives_its_whole_sentence_and_the_name_behind_it() -> None:
    said = "We looked at it. pool.py is a dead end!\nWe settled on `postgres 16`, instead of the redis cache."
    assert list(sentences(said, DEAD_END)) == ["pool.py is a dead end!"]
    (decided,) = sentences(said, DECIDED)
    assert name_after(decided, DECIDED.search(decided).end()) == "postgres 16"  # type: ignore[union-attr]
    assert name_after(decided, SUPERSEDES.search(decided).end()) == "redis"  # type: ignore[union-attr]
    assert name_after("instead of ", 11) == ""


def test_a_terminals_colours_hide_no_outcome() -> None:
    """`\\x1b[1m1 failed` holds no word `m1`."""
    total = "\x1b[31m== \x1b[1m1 failed\x1b[0m, \x1b[32m46 passed\x1b[0m in 0.6s ==\x1b[0m"
    shown = f"\x1b[1m=== test session starts ===\x1b[0m\n{total}\n"
    failed = outcome_of(shown)
    assert failed.failed and "1 failed , 46 passed" in " ".join(failed.line.split()) and "\x1b" not in failed.line
    assert conclusion(shown) == failed.line
