"""Pages of restored text, fences, cursors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest_mcp.errors import InvalidArgument
from palimpsest_mcp.server.lifespan import count_o200k
from palimpsest_mcp.server.paging import (
    PAGE_TOKENS,
    PAGE_UNITS,
    cursor_at,
    fence_mark,
    fenced,
    offset_of,
    page_of,
    utf16_units,
)


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
@settings(max_examples=25, deadline=None)
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
