"""Logs and the output of builds."""

from __future__ import annotations

import pytest

from palimpsest_mcp.digest.cues import mark
from palimpsest_mcp.digest.readers import log
from palimpsest_mcp.digest.records import Record
from palimpsest_mcp.digest.source import Source


def read(text: str) -> dict[str, Record]:
    lines = text.splitlines()
    assert log.claims(lines, 0) == len(lines)
    records = log.read(lines).records
    assert [r.text for r in records] == [line.strip() for line in lines if line.strip()]
    return {r.text: r for r in records}


def test_worth_follows_the_level() -> None:
    found = read(
        "2026-01-05 02:19:03 ERROR pool checkout timed out\n2026-01-05 02:19:04 WARN slow\n"
        "2026-01-05 02:19:05 INFO ready for no error\n2026-01-05 02:19:06 DEBUG probe ERROR_CODE=0"
    )
    worth = [r.worth for r in found.values()]
    assert worth == sorted(worth, reverse=True)
    assert len(set(worth)) == 4
    assert [r.kind for r in found.values()] == ["error", "line", "line", "line"]


@pytest.mark.parametrize(
    "line",
    [
        "src/a.ts(16,5): error TS2345: no such name",
        "main.c:12:3: error: unknown type",
        "error[E0382]: borrow of moved value",
        "npm ERR! missing script: build",
        "make: *** [all] Error 2",
        "[ERROR] Failed to execute goal",
        'time="2026-01-05" level=error msg="no"',
    ],
)
def test_what_compilers_and_builds_complain_of_is_told(line: str) -> None:
    assert log.claims([line], 0) == 1
    assert log.read([line]).records[0].worth >= 3


def test_a_message_of_many_lines_stands_under_its_head() -> None:
    found = read("error[E0382]: borrow of moved value\n --> src/main.rs:5:9\n  |\n5 | let a = b;\n  = note: move")
    assert found["5 | let a = b;"].under == 0
    assert found["= note: move"].worth < found["error[E0382]: borrow of moved value"].worth


def test_progress_is_noise_and_the_verdict_is_an_outcome() -> None:
    found = read(
        "Collecting numpy\nDownloading numpy.whl (18 MB)\n100%|######| 18/18\nSuccessfully installed numpy-2.0"
    )
    assert found["Downloading numpy.whl (18 MB)"].kind == "noise"
    assert found["Successfully installed numpy-2.0"].kind == "outcome"


def test_a_log_ends_where_a_traceback_begins() -> None:
    lines = ["02:19:03 ERROR request failed", "java.io.IOException: gone", "\tat app.Main.run(Main.java:3)"]
    assert log.claims(lines, 0) == 1


@pytest.mark.parametrize(
    "line", ["Building a house takes time.", "Warning signs were everywhere.", "| a | 5 % |", "12 34"]
)
def test_a_sentence_or_a_table_is_no_log(line: str) -> None:
    assert log.claims([line, "It was late.", line], 0) == 0


@pytest.mark.parametrize(
    "line",
    [
        '(use "git add <file>..." to include in what will be committed)',
        'no changes added to commit (use "git add" and/or "git commit -a")',
        "70 packages are looking for funding",
        "run `npm fund` for details",
        "Debugger attached.",
        "Waiting for the debugger to disconnect...",
    ],
)
def test_what_programs_say_each_time_is_noise_and_no_outcome(line: str) -> None:
    assert log.judge(line).kind == "noise"
    reading = Source(f"On branch main\n\n{line}\n").reading
    assert [reading.records[n].text for n in mark(reading, verb="Bash git status")] != [line]
