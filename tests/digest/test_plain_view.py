"""What is shown holds nothing that hides, moves the cursor or turns a line around."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.records import plain


def test_colours_become_a_space_so_that_two_values_never_grow_together() -> None:
    assert plain("\x1b[31m12\x1b[0m34") == " 12 34"


def test_line_ends_of_other_systems_are_newlines() -> None:
    assert plain("a\r\nb\rc") == "a\nb\nc"


def test_text_that_is_fit_is_the_same_object() -> None:
    text = "ordinary text, ünïcode and 表 included\twith a tab\n"
    assert plain(text) is text


@given(st.text(alphabet=st.characters(), max_size=200))
def test_nothing_unseen_is_left_and_a_second_time_changes_nothing(text: str) -> None:
    shown = plain(text)
    assert plain(shown) == shown
    assert all(c in "\t\n" or unicodedata.category(c) not in ("Cc", "Cs") for c in shown)
    assert not set(shown) & set("\u200b\u200e\u200f\u202a\u202e\u2066\u2069\ufeff\u2028")
