"""What stored text looks like when it is shown."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.models.text import plain, plain_line

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=200)


@given(ANY_TEXT)
def test_no_character_that_acts_on_a_terminal_is_left(text: str) -> None:
    shown = plain(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in shown if char not in "\t\n")
    assert not any(
        unicodedata.bidirectional(char) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI") for char in shown
    )
    shown.encode()


@given(ANY_TEXT)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert plain(plain(text)) == plain(text)


def test_escape_sequences_leave_no_tail() -> None:
    assert plain("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ \x1b(Bend\x9b1m") == "red link end1m"


def test_words_in_any_script_and_joined_emoji_stay() -> None:
    text = "naïve 漢字 שלום می‌خواهم 👩‍💻\tx\n"
    assert plain(text) == text


def test_hidden_tag_characters_and_direction_marks_go() -> None:
    assert plain("a\U000e0041\u202eb\u2066c\u200bd") == "abcd"


def test_every_kind_of_line_break_becomes_a_newline() -> None:
    assert plain("a\r\nb\rc\u2028d\u0085e") == "a\nb\nc\nd\ne"


def test_one_line_is_folded_and_cut_with_an_ellipsis() -> None:
    assert plain_line(" a\n\n b \t c ") == "a b c"
    assert plain_line("abcdef", 4) == "abc…"
    assert plain_line("abcd", 4) == "abcd"
