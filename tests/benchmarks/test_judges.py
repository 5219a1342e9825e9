"""What the judges of digests count as owned, as told, as needed and as in context."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from quality.ablation import MODULES, ROWS, users
from quality.cases import CASES, faults
from quality.later import needed
from quality.outcomes import is_told, outcome_lines
from quality.owners import KINDS, UNDER_HEADINGS, Owner, judged, made
from quality.strict import Homes, Line, expanded

from palimpsest_mcp.digest import blocks, item

OWNERS = (Owner("bafelo-11", ("10.1.2.3",)), Owner("dimoru-22", ("10.4.5.6",)))


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_value_of_a_whole_source_has_its_owner(kind: str) -> None:
    one = made(kind)
    found, lies = judged(one.owners, one.text, under_headings=kind in UNDER_HEADINGS)
    assert lies == []
    assert found == {"owned": 4 * len(one.owners)}


@pytest.mark.parametrize(
    ("view", "verdicts"),
    [
        ("bafelo-11|10.1.2.3\ndimoru-22|10.4.5.6", {"owned": 2}),
        ("bafelo-11|10.4.5.6", {"wrong": 1, "left out": 1}),
        ("bafelo-11 dimoru-22 10.1.2.3", {"wrong": 1, "left out": 1}),
        ("10.1.2.3 bafelo-11", {"owned": 1, "left out": 1}),
        ("10.1.2.3\nbafelo-11 10.1.2.34", {"bare": 1, "left out": 1}),
    ],
)
def test_a_value_is_of_the_nearest_name_before_it(view: str, verdicts: dict[str, int]) -> None:
    assert judged(OWNERS, view, under_headings=False)[0] == verdicts


def test_a_value_without_a_name_on_its_line_is_of_the_heading_above() -> None:
    view = "## bafelo-11\nat 10.1.2.3\n## dimoru-22\nat 10.4.5.6"
    assert judged(OWNERS, view, under_headings=True)[0] == {"owned": 2}
    assert judged(OWNERS, view, under_headings=False)[0] == {"bare": 2}


def test_a_result_is_told_by_the_beginning_of_one_of_its_outcome_lines() -> None:
    text = "collected 9 items\n" + "x" * 20 + "\n==  7 passed, 2 failed in 0.31s ==\nERROR: no such file: a.txt"
    lines = outcome_lines(text)
    assert lines == ["==  7 passed, 2 failed in 0.31s ==", "ERROR: no such file: a.txt"]
    assert is_told(lines, "[item 1]\n== 7 passed, 2 failed in 0.31s ==")
    assert not is_told(lines, "7 passed")


def session(*texts: str, later: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for n, text in enumerate(texts):
        use = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "x"}}
        messages.append({"role": "assistant", "content": [use]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text}]})
    return [*messages, {"role": "assistant", "content": later}]


def test_needed_is_what_only_an_old_result_held_and_the_agent_types() -> None:
    messages = session(
        "src/core/pump.py and lost_name",
        "ok",
        "ok",
        "in view: kept_name",
        later="edit src/core/pump.py, kept_name and new_name",
    )
    assert needed(messages, len(messages) - 1) == {"src/core/pump.py"}


SOURCE = """\
name,address,release
pump-7,10.20.30.40,4.11.2
port: 48151
worker alpha of pool north took 90210 ms on core seven
{"build": "a7c08a56947a", "took": 66601}"""
VALUES = {"10.20.30.40", "4.11.2", "48151", "90210", "a7c08a56947a", "66601"}


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        (SOURCE, VALUES),
        ("port=48151", {"48151"}),
        ("number: 48151 90210", set[str]()),
        ("pool north took 90210", {"90210"}),
        ("worker 90210", set[str]()),
        ("[1 of 1 rows] name|release\n pump-7|4.11.2", {"4.11.2"}),
        ("[1 of 1 rows] name|address\n pump-7|4.11.2", set[str]()),
        ("[1 of 9 rows] build\n a7c08a56947a", {"a7c08a56947a"}),
        ("[2 of 9 like] worker alpha of pool north took <1> ms\n 90210 11", {"90210"}),
        ("[names] a7c08a56947a", set[str]()),
        ("worker alpha of pool north took … [90210 ms]", set[str]()),
    ],
)
def test_a_value_counts_in_its_context_only(view: str, shown: set[str]) -> None:
    assert Homes([SOURCE], VALUES).shown(expanded(view), VALUES) == shown


def test_a_template_is_judged_as_the_lines_that_it_stands_for() -> None:
    view = "[2 of 9 like] ## <1> ⏎ It runs at <2>.\n a-1|10.0.0.1\n b-2|10.0.0.2\n[4 of 4 like] r<1> is up\n 07–09 12"
    texts = [line.text for line in expanded(view) if not line.text.startswith("[")]
    assert texts[:4] == ["## a-1", "It runs at 10.0.0.1.", "## b-2", "It runs at 10.0.0.2."]
    assert texts[4:] == ["r07 is up", "r08 is up", "r09 is up", "r12 is up"]
    row = "[1 of 3 rows] host|up\n x|yes"
    assert Line("x|yes", (("host", "x"), ("up", "yes"))) in expanded(row)


def test_every_case_can_be_told_rightly_and_wrongly() -> None:
    for case in CASES:
        assert faults(case, ""), case.name
        assert not [one for one in faults(case, case.text) if one.startswith("says")], case.name


def test_every_constant_of_the_engine_has_a_row_of_the_ablation() -> None:
    """A number at the top of a module is a constant; there it is defined, not where it is imported."""
    changed = {(module.__name__, name) for row in ROWS.values() for module, name, _ in row}
    defined = re.compile(r"^([A-Z_]{2,}(?:, [A-Z_]{2,})*)(?:: Final)? = -?\d", re.MULTILINE)
    missing = {
        f"{module.__name__}.{name}"
        for module in MODULES
        for names in defined.findall(inspect.getsource(module))
        for name in names.split(", ")
        if (module.__name__, name) not in changed
    }
    assert missing == set()


def test_a_constant_is_taken_away_wherever_it_is_imported() -> None:
    assert {one.__name__.rpartition(".")[2] for one in users(item, "OUTCOMES")} >= {"item", "choice"}
    assert users(blocks, "_LONG") == [blocks]


def test_a_row_of_the_ablation_changes_something_that_is_there() -> None:
    for name, changes in ROWS.items():
        for module, attribute, value in changes:
            assert getattr(module, attribute) != value, name
