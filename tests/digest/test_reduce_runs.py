"""A run of tests says first how it ended, then what failed and why; a history what its ends say."""

from __future__ import annotations

from itertools import pairwise

from palimpsest_mcp.digest.lines import Line
from palimpsest_mcp.digest.reducers.runs import history_gists, trace_gists
from palimpsest_mcp.digest.reducers.runs import test_gist as gist_of

from .conftest import Bench

ORDER = (
    "========================= 3 failed, 59 passed in 8.37s =========================",
    "FAILED tests/test_a.py::TestA::test_b - AssertionError: no",
    "E       IndexError: index 2 is out of bounds for axis 0 with size 2",
    "tests/test_a.py::test_b FAILED                                   [ 52%]",
    "_______________________ test_b _______________________",
    "E         Expected:",
    "tests/test_a.py::test_c PASSED                                   [ 53%]",
    "============================= test session starts ==============================",
)


def test_each_kind_of_line_tells_less_than_the_one_before() -> None:
    for before, after in pairwise(ORDER):
        assert gist_of(before) > gist_of(after), after


def test_totals_of_other_runners_are_totals() -> None:
    totals = ["Ran 69 tests in 0.104s", " tests finished: 112 passed, 1 failed, 1 expected to fail", "OK (skipped=2)"]
    for text in (
        *totals,
        "test result: ok. 3 passed",
        "Tests:       1 failed, 4 passed, 5 total",
        "FAILED (failures=1)",
    ):
        assert gist_of(text) == gist_of(ORDER[0])


def test_a_digest_of_a_failed_run_names_every_failure_and_the_totals(bench: Bench) -> None:
    passed = [f"tests/test_of_pool.py::test_that_number_{n}_holds PASSED      [ {n}%]" for n in range(10, 60)]
    failed = [f"FAILED tests/test_of_pool.py::test_{name} - AssertionError" for name in ("alpha", "beta", "gamma")]
    total = "=== 3 failed, 50 passed in 8.37s ==="
    text = "\n".join(["=== test session starts ===", *passed, "E         Got:", *failed, total])
    shown = bench.digest(text, share=0.2).parts[0].text
    assert all(part in shown for part in (failed[0], "test_beta", "test_gamma", total))
    assert "session starts" not in shown


def test_of_a_history_the_newest_and_the_oldest_subject_say_most_and_its_dates_nothing() -> None:
    subjects = ["Land the harbour", "Mend the pier", "Lay the foundations"]
    texts = [
        text
        for n, subject in enumerate(subjects)
        for text in (
            f"commit 6e62183a{n}",
            "Author: A <a@b.example>",
            f"Date:   Fri Nov {n}",
            "",
            f"    {subject}",
            "    And why.",
        )
    ]
    told = dict(zip(texts, history_gists([Line(text) for text in texts]), strict=True))
    newest, middle, oldest = (told[f"    {subject}"] for subject in subjects)
    assert newest > oldest > middle > told["commit 6e62183a0"] > told["    And why."] > told["Date:   Fri Nov 0"]


def test_a_history_of_one_line_a_commit_tells_by_lines() -> None:
    gists = history_gists([Line(f"6e62183a{n} Say what was done") for n in range(4)])
    assert gists[0] > gists[3] > gists[1] == gists[2] > 1.0


def told(*texts: str) -> dict[str, float]:
    return dict(zip(texts, trace_gists([Line(text) for text in texts]), strict=True))


def test_of_a_traceback_the_error_says_most_then_the_frame_of_ones_own_code_that_is_nearest_to_it() -> None:
    own = ['  File "/srv/app/main.py", line 96, in main', '  File "/srv/app/load.py", line 30, in load']
    others = ['  File "/usr/lib/python3.11/json/decoder.py", line 361, in raw_decode']
    error = "json.decoder.JSONDecodeError: Illegal trailing comma"
    gists = told(
        "Traceback (most recent call last):", own[0], "    load()", own[1], "    json.loads(x)", others[0], error
    )
    assert gists[error] > gists[own[1]] > gists[own[0]]
    assert gists[own[1]] > gists[others[0]]
    assert gists[own[1]] > gists["    json.loads(x)"] > 0.2


def test_where_the_error_stands_first_the_frame_below_it_is_the_nearest() -> None:
    error, *frames = (
        "TypeError: x is undefined",
        "    at load (/srv/app/load.js:3:5)",
        "    at main (/srv/app/main.js:9:1)",
    )
    gists = told(error, *frames, "    at node:internal/main:1:1")
    assert gists[error] > gists[frames[0]] > gists[frames[1]] > gists["    at node:internal/main:1:1"]


def test_an_error_of_any_name_below_its_frames_is_one() -> None:
    error = "app.faults.OutOfPaper: tray 2"
    gists = told("Traceback (most recent call last):", '  File "/srv/app/main.py", line 96, in main', error)
    assert gists[error] == 4.0
