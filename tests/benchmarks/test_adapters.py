"""What the replays of the adapters say of a session that went wrong, and where the docs have their figures from."""

from __future__ import annotations

import re
from typing import Any

import adapters
import pytest

GOOD: dict[str, Any] = {
    **dict.fromkeys(("above_trigger", "invalid", "changed_prefixes", "changed_again", "beyond_a_pass"), 0),
    "restored": True,
}


def test_a_run_in_which_all_went_well_says_so() -> None:
    assert adapters.missed([("a", GOOD), ("b", GOOD)]).startswith("Every goal met in all 2 replays")


@pytest.mark.parametrize("wrong", [{name: 1} for name in GOOD if name != "restored"] + [{"restored": False}])
def test_a_replay_that_missed_one_goal_is_named(wrong: dict[str, Any]) -> None:
    said = adapters.missed([("a", GOOD), ("strands 1.62.0: pi-mono-1", {**GOOD, **wrong})])
    assert said == "Not met in 1 of 2 replays: strands 1.62.0: pi-mono-1."


def test_each_row_of_the_page_of_frameworks_is_one_of_the_results() -> None:
    begin, end = adapters.MARKERS
    page = adapters.PAGE.read_text("utf-8")
    shown = page[page.index(begin) : page.index(end)]
    results = (adapters.CHECKOUT / "benchmarks" / "results.md").read_text("utf-8")
    rows = [cells(line) for line in re.findall(r"^\|.*\|$", shown, re.MULTILINE)]
    figures = [row for row in rows if row[1].isdecimal()]
    assert len(figures) > 10, 'run: make frameworks, then make bench ARGS="--only adapters"'
    known = [cells(line) for line in results.splitlines() if line.startswith("| ")]
    for name, *told in figures:
        assert any(row[0] == name and [row[at + 1] for at in adapters.ON_THE_PAGE] == told for row in known), name


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| ").split("|")]
