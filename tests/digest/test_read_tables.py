"""Tables are read as they stand: the same cells and columns come back, and nothing around them is taken."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest import readers
from palimpsest_mcp.digest.records import Reader, Reading, Record

from ..conftest import LONG, first_of

READERS = tuple(one for one in readers.READERS if one.name in ("ruled", "delimited", "fixed"))

words = st.text("abcdefghijklmnopqrstuvwxyzäß", min_size=1, max_size=9)
amounts = st.integers(0, 10**7).map(str) | st.integers(1, 9**5).map(lambda n: f"({n:,})")
names = st.lists(
    st.text("ABCDEFGHIKLMNOPQRSTUVWYZ", min_size=2, max_size=9), min_size=3, max_size=3, unique=True
).filter(lambda head: "NULL" not in head)


@st.composite
def written(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Names of three columns and rows: a name, an amount, two words."""
    rows = draw(st.lists(st.tuples(words, amounts, st.tuples(words, words).map(" ".join)), min_size=4, max_size=12))
    return draw(names), [list(row) for row in rows]


def found(text: str) -> list[tuple[str, int, int, Reading]]:
    """What the readers claim in a text, as the router asks them: at each line that nobody has."""
    lines = text.split("\n")
    taken: list[tuple[str, int, int, Reading]] = []
    at = 0
    while at < len(lines):
        ends = [reader.claims(lines, at) for reader in READERS]
        claim = next((n for n, end in enumerate(ends) if end > at), None)
        if claim is None:
            at += 1
        else:
            taken.append((READERS[claim].name, at, ends[claim], READERS[claim].read(lines[at : ends[claim]])))
            at = ends[claim]
    return taken


def only(text: str) -> Reading:
    (claim,) = found(text)
    return claim[3]


def rows(reading: Reading) -> list[list[str]]:
    return [list(record.cells) for record in reading.records if record.kind == "row"]


def kinds(reading: Reading) -> list[tuple[str, str]]:
    return [(record.kind, record.text) for record in reading.records]


def as_csv(delimiter: str) -> Callable[[Sequence[str], Sequence[Sequence[str]]], str]:
    def write(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([head, *body])
        return out.getvalue()

    return write


def as_markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body])


def as_columns(head: Sequence[str], body: Sequence[Sequence[str]], *, between: str = "   ") -> list[str]:
    wide = [max(len(row[n]) for row in [head, *body]) for n in range(len(head))]
    return [between.join(cell.ljust(wide[n]) for n, cell in enumerate(row)) for row in [head, *body]]


def as_psql(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    first, *rest = as_columns(head, body, between=" | ")
    rule = "".join("+" if mark == "|" else "-" for mark in f" {first} ")
    return "\n".join([f" {first} ", rule, *(f" {row} " for row in rest), f"({len(body)} rows)"])


def as_mysql(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    first, *rest = (f"| {line} |" for line in as_columns(head, body, between=" | "))
    rule = "".join("+" if mark == "|" else "-" for mark in first)
    return "\n".join([rule, first, rule, *rest, rule, f"{len(body)} rows in set (0.00 sec)"])


def as_box(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    return as_mysql(head, body).rpartition("\n")[0].replace("|", "│").replace("-", "─").replace("+", "┼")


def as_fixed(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    return "\n".join(as_columns(head, body))


def as_underlined(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    first, *rest = as_columns(head, body, between=" ")
    wide = [max(len(row[n]) for row in [head, *body]) for n in range(len(head))]
    return "\n".join([first, " ".join("-" * n for n in wide), *rest])


FORMS = {
    "csv": as_csv(","),
    "semicolons": as_csv(";"),
    "tsv": as_csv("\t"),
    "markdown": as_markdown,
    "psql": as_psql,
    "mysql": as_mysql,
    "box": as_box,
    "fixed": as_fixed,
    "underlined": as_underlined,
}


@pytest.mark.parametrize("form", first_of(FORMS, kept=3))
@given(table=written())
def test_cells_and_columns_come_back_as_they_were_written(form: str, table: tuple[list[str], list[list[str]]]) -> None:
    head, body = table
    reading = only(FORMS[form](head, body))
    assert [table.columns for table in reading.tables] == [tuple(head)]
    assert rows(reading) == body
    assert all(record.text == "|".join(record.cells) for record in reading.records if record.kind == "row")


@pytest.mark.parametrize("form", first_of(FORMS, kept=3))
@given(table=written())
def test_the_text_around_a_table_stays_outside(form: str, table: tuple[list[str], list[list[str]]]) -> None:
    before = ["$ show everything", "# Results", "It went well, and quickly, as far as we know.", ""]
    inside = FORMS[form](*table).rstrip("\n").split("\n")
    after = ["", "That was all, really, of the first part.", "- and a list, too", "## Next"]
    ((_, start, end, _),) = found("\n".join([*before, *inside, *after]))
    assert (start, end) == (len(before), len(before) + len(inside))


def test_three_tables_in_one_page_keep_their_own_rows() -> None:
    part = "## GPU {0}\n\n| model | ms |\n|---|---|\n| net1 | {0}1 |\n| net2 | {0}2 |\n"
    got = found("\n".join(part.format(n) for n in (1, 2, 3)))
    assert [rows(reading) for *_, reading in got] == [[["net1", f"{n}1"], ["net2", f"{n}2"]] for n in (1, 2, 3)]


def test_what_a_database_counts_is_the_outcome() -> None:
    assert kinds(only(" count \n-------\n    42\n(1 row)")) == [("row", "42"), ("outcome", "(1 row)")]
    assert kinds(only(" a | b \n---+---\n(0 rows)")) == [("outcome", "(0 rows)")]
    framed = "+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n+---+---+\n1 row in set (0.01 sec)"
    assert kinds(only(framed)) == [("row", "1|2"), ("outcome", "1 row in set (0.01 sec)")]


def test_fields_with_quotes_may_hold_delimiters_and_newlines() -> None:
    reading = only('name,note,n\na,"x, y",1\nb,"two\nlines ""here""",2\nc,,3')
    assert rows(reading) == [["a", "x, y", "1"], ["b", 'two\nlines "here"', "2"], ["c", "", "3"]]
    assert [record.at for record in reading.records] == [1, 2, 4]


def test_two_fields_are_never_one_number() -> None:
    assert rows(only("item,qty,price\nbolt,10,958.18\nnut,1,200.5"))[0] == ["bolt", "10", "958.18"]


def test_without_a_head_columns_have_no_names() -> None:
    reading = only("1,a,2.5\n2,b,3.5\n3,c,4.5")
    assert reading.tables[0].columns == ()
    assert len(rows(reading)) == 3


def test_a_line_with_another_number_of_fields_does_not_end_the_table() -> None:
    reading = only("id,n,m\na,1,2\nb,2,3\nc,3,4\nbroken, line\nd,4,5\ne,5,6")
    assert [record.kind for record in reading.records] == ["row", "row", "row", "line", "row", "row"]


def test_brackets_are_a_sign_and_labels_keep_their_blanks() -> None:
    reading = only(
        "Income statement\n                 2025      2024\nRevenue       184,221   171,908\n"
        "Cost of sales (98,417)  (95,330)\nIncome tax     (9,842)   (9,180)\nThe group operates in region A."
    )
    assert reading.tables[0].columns == ("", "2025", "2024")
    assert rows(reading)[1] == ["Cost of sales", "(98,417)", "(95,330)"]


def test_a_statement_without_straight_columns_is_read_from_the_right() -> None:
    reading = only("Income statement\n   2025  2024\nRevenue  184,221  171,908\nCost of sales (98,417) (95,330)")
    assert rows(reading) == [["Revenue", "184,221", "171,908"], ["Cost of sales", "(98,417)", "(95,330)"]]


def test_a_label_without_values_is_the_heading_of_what_follows() -> None:
    reading = only(
        "                  2025       2024\nCurrent assets\n  Cash       1 250 000    998 000\n"
        "  Due          (9,842)    (9,180)\n\nTotal      1 240 158    988 820"
    )
    assert kinds(reading)[0] == ("heading", "Current assets")
    assert [record.under for record in reading.records] == [-1, 0, 0, -1]
    assert rows(reading)[0] == ["Cash", "1 250 000", "998 000"]


def test_names_with_one_blank_between_them_are_columns_only_where_the_rows_say_so() -> None:
    reading = only(
        "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1        49G   12G   35G  26% /\n"
        "tmpfs           7.8G     0  7.8G   0% /dev/shm\nudev            7.8G     0  7.8G   0% /dev"
    )
    assert reading.tables[0].columns == ("Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on")
    assert rows(reading)[1] == ["tmpfs", "7.8G", "0", "7.8G", "0%", "/dev/shm"]


def test_the_row_that_differs_is_worth_more() -> None:
    hosts = "\n".join(f"edge-{n:03},{'DRAINING' if n == 13 else 'up'},{n}" for n in range(30))
    reading = only("host,state,n\n" + hosts)
    assert [record.text for record in reading.records if record.worth > 1] == ["edge-013|DRAINING|13"]


def test_the_key_is_the_first_column_with_a_value_of_its_own_in_each_row() -> None:
    assert only("zone,name,n\neu,a,1\neu,b,1\nus,c,1\nus,d,2").tables[0].key == 1


@pytest.mark.parametrize(
    "text",
    [
        "Well, I think so.\nYes, that is it.\nNo, it is not.",
        "import os, sys\nimport re, io\nimport a, b",
        "2026-11-20 10:00:01,123 INFO started\n2026-11-20 10:00:02,456 INFO done\n2026-11-20 10:00:03,789 WARN slow",
        "1\tdef f():\n2\t    return 1\n3\t\n4\tf()",
        "a.py:12:\tif x:\na.py:13:\t\treturn y\na.py:14:\tpass",
        "-\t\tone,\n+\t\ttwo,\n+\t\tthree,",
        "1|  <div class='a'>\n2|  <div class='b'>\n3|  <div class='c'>",
        "int a;      // first\nint bb;     // second\nint ccc;    // third",
        " a.py | 12 ++--\n b.py |  3 +\n c.py |  1 -",
        "-rw-r--r--  1 app  app   11 a.py\n-rw-r--r--  1 app  app  211 b.py\n-rw-r--r--  1 app  app    3 c.py",
        "INFO   worker  started\nINFO   worker  stopped\nWARN   worker  missing",
        "bench a: 13,178,002.11\nbench b: 11,585,435.71\nbench c: 13,342,884.70",
        "     64      utf8   1731.5\n    256     ascii   5033.1\n    256    base64   1447.2",
        "Title\n-----\nA paragraph, and more.\n\nNext\n----\nAnother one.",
    ],
)
def test_what_only_looks_like_a_table_is_left_alone(text: str) -> None:
    assert found(text) == []


def whole(readers: Sequence[Reader], text: str) -> None:
    lines = text.split("\n")
    for reader in readers:
        at = 0
        while at < len(lines):
            end = reader.claims(lines, at)
            assert at <= end <= len(lines)
            if end > at:
                check(reader.read(lines[at:end]), end - at)
            at = max(end, at + 1)


def check(reading: Reading, lines: int) -> None:
    for n, record in enumerate(reading.records):
        assert isinstance(record, Record)
        assert -1 <= record.under < n
        assert 0 <= record.at < lines
        if record.table >= 0:
            columns = reading.tables[record.table].columns
            assert not columns or len(columns) == len(record.cells)


@given(st.text(alphabet='ab1 ,;|"\t\n-=+:│─┼().', max_size=300))
def test_no_text_makes_a_reader_fail(text: str) -> None:
    whole(READERS, text)


@pytest.mark.parametrize(
    "piece",
    first_of(
        [
            'a,"b,c\n',
            "| a | b |\n|---|---|\n",
            "+--+\n|a|\n",
            "NAME   AGE\n",
            "NAME   AGE\nx      1\n",
            "a\n---\n",
            " a\n---\n",
        ]
        + ["a   1\n", "-" * 50, '"', "a,", "   A  B\nx\n\n", "x\t" * 5 + "\n", "a;b\n1;2\n1;2;3\n"],
        kept=4,
    ),
)
def test_a_long_text_takes_no_more_than_its_length(piece: str) -> None:
    size = 400_000 if LONG else 80_000
    text = piece * (size // len(piece))
    begun = time.process_time()
    whole(READERS, text)
    assert time.process_time() - begun < (12 if LONG else 3)


def test_a_last_column_that_is_blank_in_most_rows_is_one() -> None:
    text = "id,city,rate,notes\n" + "\n".join(f"h{n},Oslo,{n}.5,{'late' if n % 5 == 4 else ''}" for n in range(12))
    told = only(text)
    assert told.tables[0].columns == ("id", "city", "rate", "notes") and len(rows(told)) == 12


def test_a_list_in_source_whose_lines_end_with_a_comma_is_no_table() -> None:
    for text in ("a, b, c,\nd, e, f,\ng, h, i,", '"id","city","rate",\n"h1","Oslo","1",\n"h2","Bergen","2",'):
        assert readers.delimited.claims(text.split("\n"), 0) == 0


def test_rows_named_by_two_columns_stand_below_the_row_that_says_the_first() -> None:
    text = """\
                      mean  median  count
Pclass Survived
1      0         43.695312   45.25     64
       1         35.368197   35.00    122
2      0         33.544444   30.50     90
       1         25.901566   28.00     83
"""
    records = only(text).records
    above = {one.text: records[one.under].text for one in records if one.under >= 0}
    assert above["1         35.368197   35.00    122"].startswith("1      0 ")
    assert above["1         25.901566   28.00     83"].startswith("2      0 ")
    assert above["2      0         33.544444   30.50     90"] == "Pclass Survived"
    assert above["Pclass Survived"] == "mean  median  count"
