"""Pages of restored text, fences, cursors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.server.archive_answers import (
    PAGE_TOKENS,
    PAGE_UNITS,
    cursor_at,
    fence_mark,
    fenced,
    lines_of,
    matches_of,
    offset_of,
    page_of,
    utf16_units,
)
from palimpsest_mcp.server.lifespan import count_o200k


def read_all(texts: list[str]) -> tuple[list[str], int]:
    """What a reader has after following next_offset to the end, and in how many pages."""
    parts = [""] * len(texts)
    offset: int | None = 0
    pages = 0
    while offset is not None:
        page = page_of(texts, offset, count_o200k)
        for piece in page.pieces:
            assert len(parts[piece.index]) == piece.start
            parts[piece.index] += texts[piece.index][piece.start : piece.end]
        assert page.next_offset is None or page.next_offset > offset
        offset, pages = page.next_offset, pages + 1
    return parts, pages


PARTS = st.sampled_from(["", "a", "word 12345 ", "漢字かな", "😀", "\ud83d\ude00", "\udc00", "\n", "x" * 9_000])


@st.composite
def long_texts(draw: st.DrawFn) -> list[str]:
    """Up to 400,000 characters in a few texts, each a short pattern many times over."""
    shapes = draw(st.lists(st.tuples(st.lists(PARTS, max_size=4), st.integers(0, 900)), min_size=1, max_size=5))
    return [("".join(parts) * times)[:80_000] for parts, times in shapes]


@given(long_texts())
@settings(max_examples=min(25, settings().max_examples), deadline=None)
def test_the_pages_together_are_the_texts(texts: list[str]) -> None:
    assert read_all(texts)[0] == texts


@pytest.mark.parametrize("text", ["plain words, 3.14 and more\n" * 8_000, "漢字かなまじり文" * 9_000, "😀" * 60_000])
def test_no_page_is_longer_than_a_host_takes(text: str) -> None:
    offset: int | None = 0
    while offset is not None:
        page = page_of([text], offset, count_o200k)
        shown = text[page.pieces[0].start : page.pieces[0].end]
        assert utf16_units(shown) <= PAGE_UNITS
        assert count_o200k(shown) <= PAGE_TOKENS
        offset = page.next_offset


def test_a_page_never_ends_between_the_halves_of_a_pair() -> None:
    text = "x" * (PAGE_UNITS - 1) + "\ud83d\ude00" + "y"
    assert page_of([text], 0, count_o200k).pieces[0].end in (PAGE_UNITS - 1, PAGE_UNITS + 1)


def test_several_short_texts_share_a_page_and_an_empty_one_is_there_too() -> None:
    page = page_of(["ab", "", "cd"], 0, len)
    assert [(piece.index, piece.start, piece.end) for piece in page.pieces] == [(0, 0, 2), (1, 0, 0), (2, 0, 2)]
    assert (page.total, page.next_offset) == (4, None)


def test_an_offset_beyond_the_end_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="4 characters"):
        page_of(["abcd"], 4, len)


def test_a_fence_is_none_that_the_text_contains() -> None:
    marks = iter(["aa", "bb", "cc"])
    assert fence_mark(["x aa y", "bb"], lambda _: next(marks)) == "cc"


def test_half_a_pair_stands_as_its_escape() -> None:
    assert fenced("a\udc80b", "m") == "<<m\na\\udc80b\nm>>"


@given(st.integers(0, 10**15 - 1))
def test_a_cursor_reads_back(offset: int) -> None:
    assert offset_of(cursor_at(offset)) == offset


@pytest.mark.parametrize("cursor", ["x", "!!!!", "YXQ6", "YXQ6LTE", "漢字", "YXQ6" + "MTIz" * 20])
def test_a_cursor_that_is_none_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidArgument):
        offset_of(cursor)


TEXTS = st.text(st.sampled_from("ab\n\u00e9漢😀"), max_size=60)


@given(TEXTS, st.integers(1, 12), st.integers(0, 12))
def test_picked_lines_are_the_lines(text: str, first: int, more: int) -> None:
    lines = text.splitlines(keepends=True) or [""]
    if first > len(lines):
        with pytest.raises(InvalidArgument):
            lines_of(text, f"{first}-{first + more}")
        return
    picked = lines_of(text, f"{first}-{first + more}")
    assert "".join(text[one.start : one.end] for one in picked) == "".join(lines[first - 1 : first + more])


@pytest.mark.parametrize("wanted", ["", "0", "x", "3-1", "-2", "1-2-3", "9" * 12])
def test_what_names_no_lines_is_refused_with_an_example(wanted: str) -> None:
    with pytest.raises(InvalidArgument, match="lines"):
        lines_of("a\nb\nc\n", wanted)


@given(TEXTS)
def test_every_line_with_a_word_is_found_once_at_its_place(text: str) -> None:
    found = matches_of(text, "a")
    places = [(one.start, one.end) for one in found]
    assert [text[start:end] for start, end in places] == [line for line in text.split("\n") if "a" in line]
    assert all(text[start - 1 : start] in ("", "\n") for start, _ in places)


@given(TEXTS, st.sampled_from(["b*", "[^a]", "(", "é", "漢+", "^", "(?s).*", r"\d", "A"]))
def test_any_pattern_gives_places_of_the_text(text: str, pattern: str) -> None:
    found = matches_of(text, pattern)
    assert all(0 <= one.start <= one.end <= len(text) for one in found)
    assert all(one.end < after.start for one, after in zip(found, found[1:], strict=False))


def test_of_a_line_that_is_the_whole_text_only_what_stands_around_is_given() -> None:
    text = "x" * 500_000 + "needle 4711" + "y" * 500_000
    (one,) = matches_of(text, "needle")
    assert "needle 4711" in text[one.start : one.end] and one.end - one.start < 500


def test_case_counts_only_where_the_pattern_has_it() -> None:
    assert len(matches_of("Error\nerror\n", "error")) == 2
    assert len(matches_of("Error\nerror\n", "Error")) == 1


def test_the_halves_of_pairs_do_not_move_places() -> None:
    text = "\ud83d\n\udc00 needle\n"
    (one,) = matches_of(text, "needle")
    assert text[one.start : one.end] == "\udc00 needle"
