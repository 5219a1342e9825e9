"""Test runs, as each runner prints them."""

from __future__ import annotations

import pytest

from palimpsest_mcp.digest.readers import tests
from palimpsest_mcp.digest.records import Record

PYTEST = """\
============================= test session starts ==============================
collected 3 items

tests/test_a.py .F.                                                      [100%]

=================================== FAILURES ===================================
___________________________________ test_sum ___________________________________

    def test_sum():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_a.py:9: AssertionError
=========================== short test summary info ============================
FAILED tests/test_a.py::test_sum - assert 3 == 4
========================= 1 failed, 2 passed in 0.02s ==========================
"""
UNITTEST = """\
..F
======================================================================
FAIL: test_sum (test_a.Totals)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/app/test_a.py", line 9, in test_sum
    self.assertEqual(total([1, 2]), 4)
AssertionError: 3 != 4

----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1)
"""
JEST = """\
 FAIL  src/total.test.js
  ✓ adds zero (2 ms)
  ✕ adds (5 ms)

  ● adds

    Expected: 4
    Received: 3

      at Object.<anonymous> (src/total.test.js:4:23)
      at run (node_modules/jest-circus/build/run.js:121:9)

Tests:       1 failed, 1 passed, 2 total
Time:        1.2 s
"""
GO = """\
=== RUN   TestTotal
--- FAIL: TestTotal (0.00s)
    total_test.go:15: got 3, want 4
FAIL
FAIL\texample.com/total\t0.004s
"""
CARGO = """\
running 2 tests
test tests::adds ... FAILED
test tests::zero ... ok

failures:

---- tests::adds stdout ----

thread 'tests::adds' panicked at src/lib.rs:20:9:
assertion `left == right` failed
  left: 3
 right: 4

test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.00s
"""
EXUNIT = """\
Running ExUnit with seed: 179373, max_cases: 32

....

  1) test adds (TotalTest)
     test/total_test.exs:90
     Assertion with == failed
     code:  assert total([1, 2]) == 4
     left:  3
     right: 4

Finished in 0.7 seconds
43 tests, 1 failure
"""
MAVEN = """\
[INFO]  T E S T S
[INFO] Running com.example.TotalTest
[ERROR] com.example.TotalTest.adds  Time elapsed: 0.006 s  <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <4> but was: <3>
	at com.example.TotalTest.adds(TotalTest.java:15)

[INFO] Results:
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0
"""
TAP = """\
TAP version 13
ok 1 - zero
not ok 2 - adds
  ---
  expected: 4
  actual:   3
  ...
1..2
# fail 1
"""
RSPEC = """\
Failures:

  1) Total adds
     Failure/Error: expect(total([1, 2])).to eq(4)

       expected: 4
            got: 3

     # ./spec/total_spec.rb:8:in `block'

2 examples, 1 failure
"""
RUNS = {
    "pytest": (PYTEST, "1 failed, 2 passed in 0.02s", "test_sum", "E       assert 3 == 4"),
    "unittest": (UNITTEST, "FAILED (failures=1)", "FAIL: test_sum", "AssertionError: 3 != 4"),
    "jest": (JEST, "Tests:       1 failed", "● adds", "Expected: 4"),
    "go": (GO, "FAIL\texample.com/total", "--- FAIL: TestTotal", "total_test.go:15: got 3, want 4"),
    "cargo": (CARGO, "test result: FAILED", "---- tests::adds stdout", "left: 3"),
    "exunit": (EXUNIT, "43 tests, 1 failure", "1) test adds", "right: 4"),
    "maven": (MAVEN, "[ERROR] Tests run: 2", "com.example.TotalTest.adds", "expected: <4> but was: <3>"),
    "tap": (TAP, "# fail 1", "not ok 2 - adds", "expected: 4"),
    "rspec": (RSPEC, "2 examples, 1 failure", "1) Total adds", "got: 3"),
}


def read(text: str) -> list[Record]:
    lines = text.splitlines()
    start = next(i for i in range(len(lines)) if tests.claims(lines, i) > i)
    assert tests.claims(lines, start) == len(lines)
    return tests.read(lines[start:]).records


@pytest.mark.parametrize("runner", RUNS)
def test_a_run_tells_its_totals_and_each_failure_with_what_was_expected(runner: str) -> None:
    text, totals, head, fact = RUNS[runner]
    records = read(text)
    assert any(totals in r.text and r.kind == "outcome" and r.worth == 4 for r in records)
    named = next(n for n, r in enumerate(records) if head in r.text and r.kind == "heading")
    told = next(r for r in records if fact in r.text and r.under >= 0)
    assert told.worth >= 3
    assert told.under == named


@pytest.mark.parametrize("runner", RUNS)
def test_what_passed_is_worth_less_than_any_line_of_a_failure(runner: str) -> None:
    for record in read(RUNS[runner][0]):
        if record.text.endswith("... ok") or record.text.startswith(("ok", "✓", "....")):
            assert record.worth <= 0.3


def test_a_summary_that_repeats_the_failures_is_told_before_the_heads_of_their_code() -> None:
    records = read(PYTEST)
    summary = next(r for r in records if r.text.startswith("FAILED tests/"))
    head = next(r for r in records if r.text.startswith("____"))
    assert summary.worth > head.worth


@pytest.mark.parametrize(
    "line",
    ["OK", "1) First, open the door.", "Failures: none known", "5 tests were planned for May", "# pass on", "...."],
)
def test_a_line_that_only_looks_like_a_mark_opens_no_run(line: str) -> None:
    assert tests.claims([line, "", "The weather was fine."], 0) == 0
