"""What becomes a word, how a query is read, what a hit shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.store.search_text import MAX_TERMS, Term, cjk, one_line, parse, snippet, words

any_text = st.text(st.characters(codec=None, categories=None), max_size=200)


def test_a_run_is_pairs_and_its_last_character() -> None:
    assert cjk("see 数据库, 表") == "数据 据库 库 表"
    assert words("see 数据库x, 表") == "see  x,  "
    assert cjk("plain") == "" and words("plain, text") == "plain, text"


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("two words", [(("two",), False), (("words",), False)]),
        ('"two words"', [(("two", "words"), False)]),
        ('"open words', [(("open",), False), (("words",), False)]),
        ("a.b/c", [(("a", "b", "c"), False)]),
        ("数据库", [(("数据", "据库"), True)]),
        ("库", [(("库",), True)]),
        ("x数据y", [(("数据",), True), (("x", "y"), False)]),
        ("same same", [(("same",), False)]),
        (' "" , -- ', []),
    ],
)
def test_a_query_is_read_as_terms(query: str, terms: list[tuple[tuple[str, ...], bool]]) -> None:
    assert parse(query) == tuple(Term(*term) for term in terms)


def test_a_long_query_is_cut() -> None:
    assert len(parse(" ".join(f"w{number}" for number in range(10_000)))) == MAX_TERMS


@given(any_text)
def test_every_query_can_be_read_and_nothing_of_it_is_syntax(query: str) -> None:
    for term in parse(query):
        assert term.words and not set("".join(term.words)) & set('"*^:+-(){}, \0')


@given(any_text, any_text)
def test_a_snippet_is_always_one_printable_line(text: str, query: str) -> None:
    shown = snippet(text * 5, parse(query))
    assert "\n" not in shown and len(shown) <= 162
    assert not any(sign in shown for sign in "\0\x1b\x07\u202e\u200b\u2028\x85\r\t")
    shown.encode()


def test_escape_sequences_disappear_as_a_whole() -> None:
    assert one_line("a\x1b[1;31mb\x1b[0m \x1b]0;title\x07c\x1b") == "ab c"


def test_a_snippet_stands_around_the_first_hit_and_marks_what_is_cut() -> None:
    text = "a " * 300 + "needle" + " b" * 300
    shown = snippet(text, parse("needle"))
    assert shown.startswith("…a a") and shown.endswith("b…") and " needle b" in shown
    assert snippet("short needle", parse("needle")) == "short needle"
    assert snippet("no hit at all", parse("needle")) == "no hit at all"
