"""What becomes a word, how a query is read, what a hit shows."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.store.score import (
    MAX_TERMS,
    Term,
    cjk,
    fold,
    keys,
    match,
    one_line,
    parse,
    parts,
    ranked,
    read,
    words,
)
from palimpsest_mcp.store.score import Text as Answering
from palimpsest_mcp.testing.contract_values import entry
from palimpsest_mcp.text.stem import stem


def snippet(text: str, query: str) -> str:
    """What a hit of a query in a text shows."""
    return match(entry(text), ranked([Answering("", text)], read(query).needs)[0]).snippet


any_text = st.text(st.characters(codec=None, categories=None), max_size=200)


def test_a_run_is_pairs_and_its_last_character() -> None:
    assert cjk("see 数据库, 表") == "数据 据库 库 表"
    assert words("see 数据库x, 表") == "see  x,  "
    assert cjk("plain") == "" and words("plain, text") == "plain, text"


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("two words", [(("two",), False), (("words",), False)]),
        ('"two words"', [(("two", "words"), False, True)]),
        ('"open words', [(("open",), False), (("words",), False)]),
        ("a.b/c", [(("a", "b", "c"), False)]),
        ("数据库", [(("数据", "据库"), True)]),
        ("库", [(("库",), True)]),
        ("x数据y", [(("数据",), True), (("x", "y"), False)]),
        ("same same", [(("same",), False)]),
        ("Ann’s bob's", [(("Ann",), False), (("bob",), False)]),
        ("\"bob's job\" o'sullivan", [(("bob", "s", "job"), False, True), (("o", "sullivan"), False)]),
        (' "" , -- ', []),
    ],
)
def test_a_query_is_read_as_terms(query: str, terms: list[tuple[Any, ...]]) -> None:
    assert parse(query) == tuple(Term(*term) for term in terms)


def test_a_long_query_is_cut() -> None:
    assert len(parse(" ".join(f"w{number}" for number in range(10_000)))) == MAX_TERMS


@given(any_text)
def test_every_query_can_be_read_and_nothing_of_it_is_syntax(query: str) -> None:
    for term in parse(query):
        assert term.words and not set("".join(term.words)) & set('"*^:+-(){}, \0')


@given(any_text, any_text)
def test_a_snippet_is_always_one_printable_line(text: str, query: str) -> None:
    shown = snippet(text * 5, query)
    assert "\n" not in shown and len(shown) <= 162
    assert not any(sign in shown for sign in "\0\x1b\x07\u202e\u200b\u2028\x85\r\t")
    shown.encode()


def test_escape_sequences_disappear_as_a_whole() -> None:
    assert one_line("a\x1b[1;31mb\x1b[0m \x1b]0;title\x07c\x1b") == "ab c"


def test_a_snippet_stands_around_the_first_hit_and_marks_what_is_cut() -> None:
    text = "a " * 300 + "needle" + " b" * 300
    shown = snippet(text, "needle")
    assert shown.startswith("…a a") and shown.endswith("b…") and " needle b" in shown
    assert snippet("short needle", "needle") == "short needle"
    assert snippet("no hit at all", "needle") == "no hit at all"


def test_a_joined_word_is_found_whole_and_by_its_parts() -> None:
    assert parts("main_loop getUserName HTTPServer2 utf8 plain") == "main loop get User Name HTTP Server 2 utf 8"
    assert parts("1,234,567 of 1,2") == "1234567"
    assert keys("getUserNames") == {"getusernam", "get", "user", "name"}
    assert keys("Läufe") == {"lauf"} and keys("plain") == {"plain"}


def test_a_query_leaves_out_what_says_nothing_unless_it_says_nothing_else() -> None:
    assert [term.words for term in read("what is the timeout of the pool").terms] == [("timeout",), ("pool",)]
    assert [term.words for term in read("to be or not").terms] == [("to",), ("be",), ("or",), ("not",)]
    assert {(need.term.words, need.weight) for need in read("main_loop").needs} == {
        (("main_loop",), 1.0),
        (("main",), 1 / 3),
        (("loop",), 1 / 3),
        (("main_loop",), 1.0),
    }
    assert len(read('"exit status 137"').needs) == 1


def test_a_sentence_asks_for_irregular_forms_and_a_few_words_for_themselves() -> None:
    assert [need.near for need in read("where did they go then").needs] == [("went", "gone")]
    assert [need.near for need in read("left join").needs] == [(), ()]


@given(any_text)
def test_folding_and_splitting_keep_every_character_in_its_place(text: str) -> None:
    assert len(fold(text)) == len(text)
    for part in parts(text).split():
        assert part in text.replace(",", "")


@given(any_text, any_text)
def test_an_answer_stands_in_its_text(text: str, query: str) -> None:
    (answer,) = ranked([Answering(query, text)], read(query).needs)
    assert -1 <= answer.place < max(1, len(text)) and answer.score >= 0
    hit = match(entry(text), answer)
    assert hit.line is not None and 1 <= hit.line <= text.count("\n") + 1
    assert hit.offset is not None and 0 <= hit.offset <= max(0, answer.place)


@given(st.lists(st.text("aeioubdgklmnrstyz", min_size=1, max_size=9), min_size=1, max_size=30, unique=True))
def test_stems_are_those_of_the_index(words: list[str]) -> None:
    """FTS5's own tokenizer gives the same, but for `eed`, `ies` and `sses` alone."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE found USING fts5(word, tokenize='porter unicode61')")
    db.execute("CREATE VIRTUAL TABLE seen USING fts5vocab(found, instance)")
    words = [one for one in words if one not in ("eed", "ies", "sses")]
    for number, word in enumerate(words):
        db.execute("INSERT INTO found (rowid, word) VALUES (?, ?)", (number, word))
    stems = dict(db.execute("SELECT doc, term FROM seen").fetchall())
    db.close()
    assert stems == {number: stem(word) for number, word in enumerate(words)}


def test_a_hit_names_its_line_and_where_to_read_on() -> None:
    text = "\n".join(f"row {number} says nothing" for number in range(200)) + "\nthe pool timeout is 30 s\nend"
    hit = match(entry(text), ranked([Answering("", text)], read("pool timeout").needs)[0])
    assert hit.line == 201 and hit.offset == text.index("the pool")
    moved = match(
        entry(text, lines_stand=False, places_stand=False), ranked([Answering("", text)], read("pool").needs)[0]
    )
    assert moved.line is None and moved.offset is None


def test_what_stands_close_together_beats_what_is_scattered_in_a_longer_text() -> None:
    filler = "nothing to be seen here " * 30
    scattered = f"pool {filler} timeout {filler} retry {filler}"
    close = f"{filler} {filler} {filler} pool timeout retry"
    first, second = ranked([Answering("", scattered), Answering("", close)], read("pool timeout retry").needs)
    assert second.score > first.score


@pytest.mark.parametrize(("query", "better"), [("Ann likes the zebra", "both"), ("Ann likes the zebra x_7", "rarest")])
def test_of_plain_words_a_passage_with_both_is_better_than_the_rarest_and_beside_a_code_not(
    query: str, better: str
) -> None:
    filler = "nothing to be seen here " * 10
    often = [Answering("", f"Ann {filler} likes {filler}") for _ in range(12)]
    rarest, both, *_ = ranked(
        [Answering("", f"zebra {filler * 12}"), Answering("", f"Ann likes {filler}"), *often], read(query).needs
    )
    assert ("both" if both.score > rarest.score else "rarest") == better


def test_the_words_that_name_a_result_weigh_more_than_its_text() -> None:
    needs = read("deploy").needs
    named, said, other = ranked(
        [Answering("deploy", "nothing"), Answering("", "deploy it"), Answering("", "something")], needs
    )
    assert named.score > 0 < said.score and other.score == 0 and named.place == -1


def test_how_close_words_stand_is_told_in_nats_whatever_the_ranking_makes_of_them() -> None:
    """Recall offers what nine of them are together in."""
    filler = [Answering("", "nothing to be seen here " * 20) for _ in range(40)]
    told, *_ = ranked(
        [Answering("", "quaxwick deployment token"), *filler], read("deploy the quaxwick token again").needs
    )
    assert told.close > 9
