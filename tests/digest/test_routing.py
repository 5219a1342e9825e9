"""What a text is, judged by what it says, whatever tool printed it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.reducers.routing import stretches

LOG = [f"2026-11-20 08:{i:02d}:00 info step {i} finished" for i in range(20)]
TRACE = [
    "Traceback (most recent call last):",
    '  File "/srv/app/main.py", line 12, in <module>',
    "    run()",
    "ValueError: bad ticket",
]
DIFF = ["diff --git a/x.py b/x.py", "--- a/x.py", "+++ b/x.py", "@@ -1,2 +1,2 @@", "-old = 1", "+new = 2"]


@pytest.mark.parametrize(
    ("route", "lines"),
    [
        ("log", LOG),
        ("traceback", TRACE),
        ("diff", DIFF),
        ("search", [f"src/a/b{i}.py:{i + 3}:    raise ValueError" for i in range(10)]),
        ("listing", ["total 12", *(f"-rw-r--r-- 1 root root {i}48 Nov 20 08:15 f{i}.txt" for i in range(9))]),
        (
            "history",
            ["commit 6e62183aa", "Author: A <a@b.example>", "Date:   Fri Nov 20", "", "    Lay the foundations"],
        ),
        ("history", [f"6e6218{i} Say what was done" for i in range(8)]),
        ("test", [*(f"test_{i} (tests.test_x.Case.test_{i}) ... ok" for i in range(9)), "Ran 9 tests in 0.1s", "OK"]),
        ("code", [f"{i:6d}\tvalue = compute({i})" for i in range(9)]),
        ("code", ["import os", "", "def main() -> None:", "    return os.getcwd()", "", "class A:", "    x = 1"]),
        ("html", ["<html><body>", "<p>One</p>", "<div><a href='x'>two</a></div>", "</body></html>"]),
        ("table", ["| name | price |", "|---|---|", "| a | 1 |", "| b | 2 |"]),
        ("prose", ["The pass keeps what was said.", "Nothing is lost on the way, and all of it comes back."]),
    ],
)
def test_a_text_is_known_by_its_lines(route: str, lines: list[str]) -> None:
    assert [stretch.route for stretch in stretches(lines)] == [route]


def test_a_run_of_tests_is_known_by_its_first_or_last_lines_whatever_its_stories_look_like() -> None:
    story = [
        "_____ test_a _____",
        "    def test_a() -> None:",
        "        x = compute(1)",
        ">       assert x == 2",
        "E   assert 1 == 2",
    ] * 30
    assert [part.route for part in stretches(["===== test session starts =====", *story])] == ["test"]
    assert [part.route for part in stretches([*story, " ===== 1 failed , 2 passed  in 0.12s ===== "])] == ["test"]
    assert [part.route for part in stretches([*story, "tests finished: 112 passed, 1 failed, in 13.91 seconds"])] == [
        "test"
    ]
    assert [part.route for part in stretches(story)] != ["test"]


def test_a_traceback_and_a_diff_inside_a_log_stand_for_themselves() -> None:
    found = stretches([*LOG, *TRACE, *LOG, *DIFF])
    assert [stretch.route for stretch in found] == ["log", "traceback", "log", "diff"]


def test_a_chained_traceback_is_one_stretch() -> None:
    chained = [*TRACE, "", "During handling of the above exception, another exception occurred:", "", *TRACE]
    assert [stretch.route for stretch in stretches(chained)] == ["traceback"]


@given(st.lists(st.one_of(st.sampled_from([*LOG[:2], *TRACE, *DIFF, "", "text"]), st.text(max_size=20)), max_size=40))
def test_stretches_cover_all_lines_in_order_without_gaps(lines: list[str]) -> None:
    found = stretches(lines)
    assert [stretch.start for stretch in found] == [0, *(stretch.end for stretch in found)][: len(found)]
    assert (found[-1].end if found else 0) == len(lines)
