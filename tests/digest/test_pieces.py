"""Pieces of long lines, of objects and of wide rows: each says what it is, and none says more than its source."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.blocks import Spot, Unit, joined, of_fields, of_line, of_row
from palimpsest_mcp.digest.proof import check_part, facts_of
from palimpsest_mcp.digest.records import Record, Table
from palimpsest_mcp.models.records import DigestLine, DigestSource
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

from .conftest import Bench

REGISTRY = DefaultRegistry()
LINE = (
    "The build of the northern region finished on relay-31 after a long wait in the queue and wrote its report to "
    "/srv/out/report_8841.json with a size of 71,204 bytes for the people who read it"
)


def spots(text: str) -> list[Spot]:
    return [Spot(span.start, span.end, n) for n, span in enumerate(REGISTRY.spans(text))]


def pieces(text: str) -> list[Unit]:
    return list(of_line(Record(text), 0, spots(text)))


def test_a_value_stands_with_the_three_words_before_it() -> None:
    texts = [one.text for one in pieces(LINE)]
    assert "report to /srv/out/report_8841.json" in " ".join(texts)
    assert all(len(re.findall(r"\w\w+", one.partition("/")[0])) >= 3 for one in texts)


def test_a_value_at_the_beginning_stands_with_the_words_behind_it() -> None:
    text = f"8841 requests were refused by the gate, and then {'nothing of any interest happened ' * 4}at all"
    assert pieces(text)[0].text.startswith("8841 requests were refused")


def test_no_piece_begins_with_a_value_that_nothing_before_it_names() -> None:
    """`… $162 billion by 2030 …`: of what?"""
    text = (
        "At the same time analysts of the plant market estimate that all of it could come to $162 billion by 2030, "
        "and that whoever is early will have most of what is sold in the cities of the north."
    )
    assert not any(one.text.startswith("$162") for one in pieces(text))


def test_pieces_of_one_line_stand_in_its_order_with_what_is_left_out_between_them() -> None:
    units = pieces(LINE)
    said = joined(Record(LINE), (), 0, units)
    parts = said.strip("… ").split(" … ")
    places = [LINE.index(part) for part in parts]
    assert len(parts) > 1 and places == sorted(places)


def test_no_piece_is_made_of_a_sentence_that_denies() -> None:
    denied = f"Never copy /srv/out/report_8841.json {'to the northern harbour ' * 5}while relay-31 is down."
    assert pieces(denied) == []
    assert [one.text for one in pieces(f"{denied} {LINE}.")]


def test_a_field_stands_with_the_first_of_its_object() -> None:
    text = "host: name=relay-31|" + "|".join(f"port_{n}={n}443{n}" for n in range(8))
    record = Record(text, "field")
    units = [one for one in of_fields(record, 0, spots(text)) if one.text.startswith("port_5")]
    assert joined(record, (), 0, units) == "host: name=relay-31|port_5=54435|…"


def test_a_cell_of_a_wide_row_stands_with_the_key_of_its_row() -> None:
    cells = ("relay-31", "10.0.3.31", "", "[1, 2]", "7.1.2")
    names = ("name", "ip", "note", "ports", "version")
    units = list(
        of_row(
            Record("|".join(cells), "row", table=0, cells=cells), 0, range(5), Table(names), [(n,) for n in range(5)]
        )
    )
    assert [one.text for one in units] == ["ip=10.0.3.31", "version=7.1.2"], "no empty cell, no list"
    said = joined(Record("", "row", table=0, cells=cells), names, 0, units)
    assert said == "name=relay-31|ip=10.0.3.31|version=7.1.2"


@pytest.mark.parametrize("where", [0, 1], ids=["the key", "a value"])
def test_a_cell_with_a_line_break_is_no_piece_that_could_pose_as_a_line_of_ours(where: int) -> None:
    cells = ["relay-31", "10.0.3.31", "x", "y", "z"]
    cells[where] += "\n[item 9 Bash rm: 1 line]"
    names = ("name", "ip", "note", "ports", "version")
    made = of_row(Record("|".join(cells), "row", table=0, cells=tuple(cells)), 0, range(5), Table(names), [(1,)] * 5)
    assert not [one for one in made if "\n" in one.text or where == 0]


def test_rows_whose_columns_have_no_names_have_no_pieces() -> None:
    cells = ("relay-31", "10.0.3.31", "x", "y", "7.1.2")
    assert not list(of_row(Record("|".join(cells), table=0, cells=cells), 0, range(5), Table(()), [(1,)] * 5))


def test_a_cell_without_a_value_is_a_piece_where_its_row_is_an_exception_for_it() -> None:
    cells = ("relay-31", "up", "disk full", "", "7.1.2")
    table = Table(("name", "state", "last_error", "ports", "version"), usual={1: "up", 2: "", 3: "80"})
    record = Record("|".join(cells), "row", table=0, cells=cells)
    made = of_row(record, 0, range(5), table, [(), (), (), (), (1,)])
    assert [one.text for one in made] == ["last_error=disk full", "version=7.1.2"]


WORDS = st.sampled_from(
    [
        "took",
        "41",
        "ms,",
        "the",
        "gate",
        "(port",
        "8443)",
        "v1.7.2;",
        "not",
        "a=1",
        "a/b.py:12",
        "…",
        "naïve",
        "値は42です",
        "x",
    ]
)


@given(st.lists(WORDS, min_size=8, max_size=60), st.sets(st.integers(0, 30)))
def test_whatever_is_made_of_a_line_is_true_of_it(words: list[str], chosen: set[int]) -> None:
    text = " ".join(words)
    units = [one for n, one in enumerate(pieces(text)) if n in chosen]
    if units:
        facts = facts_of(
            DigestSource(item_id="a", kind="tool_result", text=f"before\n{text}\nafter", tokens=9), REGISTRY
        )
        said = joined(Record(text), (), 0, units)
        assert not check_part(facts, [DigestLine("quote", said)]).bad_lines


def test_a_long_line_gives_its_value_where_it_does_not_fit_whole(bench: Bench) -> None:
    dull = "\n".join(f"{'the quick brown fox jumps over the lazy dog and sleeps ' * 6}{word}" for word in "abcdefgh")
    text = bench.digest(f"{dull}\n{LINE} {'and more of the same ' * 20}\n{dull.upper()}", share=0.06).parts[0].text
    assert "report to /srv/out/report_8841.json" in text
    assert LINE not in text


def test_a_line_that_is_shown_whole_has_no_pieces(bench: Bench) -> None:
    text = bench.digest(f"{LINE}\n{'word ' * 300}", share=0.6).parts[0].text
    assert text.count("/srv/out/report_8841.json") == 1


def reservation(n: int) -> str:
    flights = [{"flight": f"QX{n}{k}", "date": f"2031-05-{n}", "price": 100 + n * k} for k in (1, 2)]
    return json.dumps(
        {"reservation": f"RES{n}7", "user": f"user_{n}_41", "cabin": "economy", "bags": n, "flights": flights}
    )


def test_objects_of_one_shape_say_their_columns_once_a_batch(bench: Bench) -> None:
    digest = bench.digest(*(reservation(n) for n in range(11, 19)), share=0.8)
    texts = [part.text for part in digest.parts]
    assert sum("reservation|user|cabin|bags" in text for text in texts) == 1
    assert sum("flight|date|price" in text for text in texts) == 1
    rows = [n for n in range(11, 19) if f" RES{n}7|user_{n}_41|economy|{n}" in texts[n - 11]]
    assert len(rows) >= 6
    assert any(" as item 1]" in text for text in texts[1:])


def test_an_object_whose_shape_no_other_text_has_stays_a_line_of_fields(bench: Bench) -> None:
    text = bench.digest(reservation(11), f'{reservation(12)[:-1]}, "more": 1}}', share=0.9).parts[0].text
    assert re.search(r"reservation=RES117(?:\||, )user=user_11_41", text) and "reservation|user" not in text


def test_a_piece_of_a_sentence_is_its_clause() -> None:
    """`… Cambridge University in 1928-29 …` is no English."""
    text = (
        "The photographer was born in Chanteloup, studied literature at Cambridge University in 1928-29, and after "
        "three years of war he founded an agency with four of his friends in the spring of that year."
    )
    assert [one.text for one in pieces(text)] == ["studied literature at Cambridge University in 1928-29,"]
