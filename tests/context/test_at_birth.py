"""What is replaced before it enters the context, and what never is."""

from __future__ import annotations

import pytest

from palimpsest_mcp.context.plan import CUT_ABOVE_CHARACTERS, CUT_ABOVE_TOKENS, Newborn, decide


@pytest.mark.parametrize(
    ("newborn", "replaced"),
    [
        (Newborn(characters=50_000, tokens=25_000), False),
        (Newborn(characters=50_001, tokens=9_000), True),
        (Newborn(characters=40_000, tokens=25_001), True),
        (Newborn(characters=31_000, tokens=9_000, spilled=True), True),
        (Newborn(characters=10, tokens=4), False),
    ],
)
def test_only_what_the_host_would_cut_or_spill_is_replaced(newborn: Newborn, replaced: bool) -> None:
    assert decide(newborn).replace is replaced
    assert (CUT_ABOVE_CHARACTERS, CUT_ABOVE_TOKENS) == (50_000, 25_000)


def test_the_users_own_threshold_is_exclusive() -> None:
    assert not decide(Newborn(characters=4_000, tokens=1_000), above_tokens=1_000).replace
    assert decide(Newborn(characters=4_000, tokens=1_001), above_tokens=1_000).replace


@pytest.mark.parametrize("touched", ["/p/run.log", "run.log", "./run.log", "p/run.log"])
def test_a_file_that_the_session_worked_on_stays_whole(touched: str) -> None:
    big = Newborn(characters=90_000, tokens=30_000, target="/p/run.log")
    assert decide(big).replace
    assert decide(big, touched=[touched]).reason == "a file being edited"


@pytest.mark.parametrize(
    "path", ["/p/src/app.py", "/p/README.md", "/p/Makefile", "/p/package.json", "/p/index.html", "C:\\p\\main.rs"]
)
def test_a_file_that_may_be_edited_next_stays_whole(path: str) -> None:
    assert decide(Newborn(characters=90_000, tokens=30_000, target=path)).reason == "a file that may be edited next"


@pytest.mark.parametrize("path", ["/p/a.log", "/p/data/rows.csv", "/p/node_modules/x/index.js", "C:\\p\\out.TXT"])
def test_files_that_are_read_for_what_they_say_may_be_replaced(path: str) -> None:
    assert decide(Newborn(characters=90_000, tokens=30_000, target=path)).replace


def test_another_file_with_the_same_end_of_its_name_is_another_file() -> None:
    big = Newborn(characters=90_000, tokens=30_000, target="/p/run.log")
    assert decide(big, touched=["/q/run.log", "n.log"]).replace
