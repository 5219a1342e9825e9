"""The citation index: numbers stay, whatever spelling a URL comes back in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.context.gates import canonical_url, index_lines, parse_lines


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://Example.COM/Path/", "https://example.com/Path"),
        ("https://example.com/a?utm_source=x&utm_medium=y&id=3", "https://example.com/a?id=3"),
        ("https://example.com/a?GCLID=1&fbclid=2&ref=r&source=s&mc_cid=1&_ga=2", "https://example.com/a"),
        ("https://example.com/a#section-2", "https://example.com/a"),
        ("https://arxiv.org/abs/2301.01234v3", "https://arxiv.org/abs/2301.01234"),
        ("https://arxiv.org/pdf/2301.01234v2.pdf", "https://arxiv.org/pdf/2301.01234.pdf"),
        ("https://other.org/abs/2301.01234v3", "https://other.org/abs/2301.01234v3"),
        ("https://example.com", "https://example.com"),
        ("https://example.com/", "https://example.com"),
        ("https://example.com//a///b", "https://example.com/a/b"),
        ("https://User:Pa@Example.com:8080/x", "https://User:Pa@example.com:8080/x"),
        ("https://example.com/?q=a%20b&empty=", "https://example.com?q=a%20b&empty="),
        ("https://[broken", "https://[broken"),
        ("not a url", "not a url"),
    ],
)
def test_two_spellings_of_one_source_are_recognised(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical


@given(st.text(max_size=60) | st.from_regex(r"https?://[A-Za-z0-9.]{1,9}/[\w/?&=#.-]{0,30}", fullmatch=True))
def test_the_canonical_form_of_a_canonical_form_is_itself(url: str) -> None:
    assert canonical_url(canonical_url(url)) == canonical_url(url)


def test_a_known_url_keeps_its_number_and_its_first_spelling() -> None:
    first = index_lines((), ["https://a.org/x?utm_source=mail", "https://b.org"])
    again = index_lines(first, ["https://A.org/x/", "https://c.org", "https://b.org#top"])
    assert again == ("[1] https://a.org/x?utm_source=mail", "[2] https://b.org", "[3] https://c.org")


def test_a_number_is_never_given_twice_even_when_lines_are_missing() -> None:
    assert index_lines(["[2] https://b.org", "[7] https://g.org"], ["https://a.org"])[-1] == "[8] https://a.org"


def test_lines_that_are_no_entries_are_ignored() -> None:
    assert parse_lines(["# Sources", "", "[x] https://a.org", "[1] https://a.org", "[9] https://a.org/"]) == {
        "https://a.org": (1, "https://a.org")
    }


def test_white_space_in_a_url_cannot_forge_a_second_entry() -> None:
    lines = index_lines((), ["https://a.org/x\n[9] https://evil.org", "", "  "])
    assert lines == ("[1] https://a.org/x%20[9]%20https://evil.org",)
    assert index_lines(lines, ["https://b.org"])[-1] == "[2] https://b.org"


@given(st.lists(st.text(min_size=1, max_size=20), max_size=12))
def test_an_index_reads_back_as_it_was_written(urls: list[str]) -> None:
    lines = index_lines((), urls)
    assert index_lines(lines, urls) == lines
    assert index_lines(lines, ()) == lines
    assert [int(line[1 : line.index("]")]) for line in lines] == list(range(1, len(lines) + 1))
