"""A text as records: whatever it holds, every line is read once, by the reader that knows its form."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.source import Source

from ..conftest import LONG, first_of

_PIECES = st.sampled_from(
    [
        "# Results",
        "## GPU A",
        "Some words that say what this is about. It never fails.",
        "- a point of a list",
        "| model | ms |",
        "|---|---|",
        "| net10 | 71 |",
        "NAME   AGE   STATE",
        "web-1  4d    Running",
        "web-2  5d    Running",
        "a,b,c",
        "1,2,3",
        "4,5,6",
        "2026-11-20 08:15:47 INFO worker started",
        "2026-11-20 08:15:48 ERROR worker failed: ETIMEDOUT",
        "Traceback (most recent call last):",
        '  File "/srv/app/main.py", line 12, in <module>',
        "    run()",
        "ValueError: bad ticket HAT069",
        "src/a.py:12: def run():",
        "src/b.py:14: run()",
        "src/lib:",
        "total 8",
        "-rw-r--r-- 1 app app 411 Nov 10 00:10 a.dat",
        "drwxr-xr-x 2 app app 4096 Nov 10 00:10 lib",
        '{"id": 1, "state": "up"}',
        "[1, 2, 3]",
        "[tool.lint]",
        'select = ["E"]',
        "key: value",
        "  nested: 4",
        "def run(x: int) -> None:",
        "    return x + 1",
        "diff --git a/a.py b/a.py",
        "@@ -1,3 +1,3 @@",
        "-old",
        "+new",
        "tests/test_a.py::test_one FAILED",
        "3 failed, 12 passed in 0.4s",
        "<p>a page</p>",
        "```",
        "",
    ]
)
_TEXTS = st.lists(_PIECES | st.text(max_size=20), max_size=40).map("\n".join)


@given(_TEXTS)
def test_every_line_that_says_something_is_in_some_record(text: str) -> None:
    source = Source(text)
    reading, lines = source.reading, source.lines
    held = " ".join(" ".join((record.text, *record.cells)) for record in reading.records)
    held += " ".join(name for table in reading.tables for name in table.columns)
    known = {"".join(word.split()) for word in held.split()}
    squeezed = "".join(held.split())
    for line in lines:
        words = [word for word in line.split() if len(word) > 3 and word.isalpha()]
        for word in words:
            assert word in known or word in squeezed, (word, line)


@given(_TEXTS)
def test_records_stand_in_order_under_earlier_headings_and_in_their_tables(text: str) -> None:
    source = Source(text)
    reading = source.reading
    assert len(source.forms) == len(reading.records)
    for n, record in enumerate(reading.records):
        assert -1 <= record.under < n and 0 <= record.at < len(source.lines)
        assert "\n" not in record.text and record.text == record.text.strip()
        if record.table >= 0:
            assert record.kind == "row" and record.cells
            columns = reading.tables[record.table].columns
            assert not columns or len(columns) == len(record.cells)


def test_a_stretch_of_another_form_stands_under_the_heading_of_the_prose_around_it() -> None:
    text = (
        "# Results\n\nThey were measured.\n\n## GPU A\n\n| model | ms |\n|---|---|\n| net10 | 71 |\n| net11 | 72 |\n"
        "\n## GPU B\n\n| model | ms |\n|---|---|\n| net10 | 81 |\n| net11 | 82 |\n"
    )
    records = Source(text).reading.records
    rows = [record for record in records if record.kind == "row"]
    assert [records[row.under].text for row in rows] == ["## GPU A"] * 2 + ["## GPU B"] * 2
    assert [row.table for row in rows] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (json.dumps([{"id": n, "name": f"edge-{n}"} for n in range(5)]), "json"),
        ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n", "diff"),
        ("\n".join(f"2026-11-20 08:15:{n} INFO worker {n} started" for n in range(10, 20)), "log"),
        ("a,b,c\n" + "\n".join(f"{n},x{n},{n}.5" for n in range(10)), "delimited"),
        ("Some words that say what this is about.\nAnd some more of them.", "prose"),
        ("", "prose"),
    ],
)
def test_a_text_has_the_form_of_most_of_its_records(text: str, form: str) -> None:
    assert Source(text).form == form


_MIXED = [
    "# Title",
    "words of prose stand here",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "{",
    "[",
    "a:",
    "src/a.py:1: x",
    "",
]


@pytest.mark.parametrize(
    "pieces", first_of([_MIXED, ['{"a": [', "x"], ["a,b", "1,2", ""], *([one] for one in _MIXED)]), ids=repr
)
def test_a_long_text_takes_no_more_than_its_length(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    size = 120_000 if LONG else 40_000
    text = "\n".join([text] * (size // (1 + len(text))))
    begun = time.process_time()
    Source(text)
    assert time.process_time() - begun < (12 if LONG else 4)
