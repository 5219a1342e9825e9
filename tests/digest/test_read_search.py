"""Search hits stand under their file, web snippets under their title, and what only looks like a hit is left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.cues import mark
from palimpsest_mcp.digest.readers import search, web_results
from palimpsest_mcp.digest.records import Reader
from palimpsest_mcp.digest.source import Source

_SEARCH = Reader("search", search.claims, search.read)
_WEB_RESULTS = Reader("web results", web_results.claims, web_results.read)

_NAMES = st.from_regex(r"[a-z]{1,6}/[a-z_]{1,8}\.(?:py|ts|md)", fullmatch=True)
_CODE = st.from_regex(r"[a-z]{2,8} = [a-z]{1,8}\([a-z]{0,5}\)", fullmatch=True)
_HITS = st.dictionaries(st.integers(1, 9999), _CODE, min_size=1, max_size=5)


def _records(text: str, reader: Reader = _SEARCH) -> list[tuple[str, str, str]]:
    """Kind, text and the text of its heading of each record; the whole text must be claimed."""
    lines = text.split("\n")
    assert reader.claims(lines, 0) == len(lines)
    records = reader.read(lines).records
    assert all(record.text == lines[record.at].strip() for record in records)
    return [(each.kind, each.text, records[each.under].text if each.under >= 0 else "") for each in records]


@given(st.dictionaries(_NAMES, _HITS, min_size=1, max_size=6))
def test_every_grouped_hit_stands_under_its_own_file(found: dict[str, dict[int, str]]) -> None:
    text = "\n\n".join(
        "\n".join([name, *(f"{number}:{line}" for number, line in sorted(hits.items()))])
        for name, hits in found.items()
    )
    hits = [(text, under) for kind, text, under in _records(text) if kind == "hit"]
    assert hits == [(f"{n}:{line}", name) for name, rows in found.items() for n, line in sorted(rows.items())]


@given(st.lists(st.tuples(_NAMES, st.integers(1, 9999), _CODE), min_size=2, max_size=20))
def test_every_hit_that_names_its_file_is_one_record_of_its_own(found: list[tuple[str, int, str]]) -> None:
    lines = [f"{name}:{number}:{line}" for name, number, line in found]
    assert _records("\n".join(lines)) == [("hit", line, "") for line in lines]


def test_totals_are_outcomes_and_name_the_file_of_the_hits_below_them() -> None:
    text = 'Found 2 matches for "x" in /r/a.py:\nLine 3:x = 1\nLine 9:    y = x'
    head = 'Found 2 matches for "x" in /r/a.py:'
    assert _records(text) == [("outcome", head, ""), ("hit", "Line 3:x = 1", head), ("hit", "Line 9:    y = x", head)]
    assert _records("No matches found") == [("outcome", "No matches found", "")]


def test_a_definition_is_worth_more_than_a_use_and_a_use_more_than_a_comment_a_test_or_a_bundle() -> None:
    lines = [
        "src/a.py:3:def load(path):",
        "src/b.py:9:    load(path)",
        "src/b.py:8:    # load it",
        "tests/test_a.py:5:    load(path)",
        "dist/app.min.js:1:load(path)",
        "src/b.py-10-    return",
    ]
    assert [record.worth for record in _SEARCH.read(lines).records] == [8.0, 1.0, 0.3, 0.3, 0.3, 0.25]


def test_a_page_of_web_results_is_titles_with_their_addresses_and_sentences() -> None:
    text = "1. Port calls\nURL: https://example.org/a\nBerth clocks stay on UTC.\n\n"
    text += "2. Harbour API\nURL: https://example.org/b\nSecond."
    assert _records(text, _WEB_RESULTS) == [
        ("heading", "1. Port calls", ""),
        ("line", "URL: https://example.org/a", "1. Port calls"),
        ("line", "Berth clocks stay on UTC.", "1. Port calls"),
        ("heading", "2. Harbour API", ""),
        ("line", "URL: https://example.org/b", "2. Harbour API"),
        ("line", "Second.", "2. Harbour API"),
    ]


def test_compilers_logs_shown_files_and_prose_are_no_hits() -> None:
    for text in (
        "src/a.c:12:5: error: x\nsrc/a.c:13:5: warning: y",
        "12:30:01 started\n12:30:02 done\n12:30:05 over",
        "1: import os\n2: import re\n3: import sys",
        "src/runner.py:286: in from_call\n    result = func()\nsrc/runner.py:316: in <lambda>",
        "setup.py: cannot be read.\nnotes.txt: cannot be read.",
    ):
        assert _SEARCH.claims(text.split("\n"), 0) == 0, text
        assert _WEB_RESULTS.claims(text.split("\n"), 0) == 0, text


def test_the_hit_that_defines_what_was_searched_says_more_than_those_that_use_it() -> None:
    text = "\n".join(
        [
            "99:\tprivate unsubscribe?: () => void;",
            "128:\tsubscribe(listener: Listener): () => void {",
            "173:\t\tthis.unsubscribe = undefined;",
            "184:\t\tthis.unsubscribe = this.agent.subscribe(async (event) => {",
        ]
    )
    worth = {record.at: record.worth for record in search.read(text.split("\n")).records}
    assert max(worth, key=worth.__getitem__) == 1
    reading = Source(text).reading
    assert mark(reading, verb="Bash grep -n subscribe agent.ts") == [], "`undefined` is no failure"


def test_a_line_near_a_hit_stands_in_the_block_that_it_is_indented_in() -> None:
    """`954-  background` stood below `937:.transcript-header {`, whose property it is not."""
    shown = """937:.header {
938-  gap: 8px;
939-}
940-
941-.row {
942-  color: red;
943-}
--
1203:.header-title {
1204-  gap: 2px;"""
    records = search.read(shown.split("\n")).records
    above = {record.text: records[record.under].text if record.under >= 0 else "" for record in records}
    assert above["942-  color: red;"] == "941-.row {" and above["938-  gap: 8px;"] == "937:.header {"
    assert above["1204-  gap: 2px;"] == "1203:.header-title {" and above["941-.row {"] == ""
