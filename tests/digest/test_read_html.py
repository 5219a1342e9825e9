"""A page is read as it is seen: its headings, its lines under them, its tables as rows."""

from __future__ import annotations

import html
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.readers import html as reader
from palimpsest_mcp.digest.records import Reading

from ..conftest import LONG, first_of

texts = st.text("abcxyz <>&\"'|(,)0123456789.é", min_size=1, max_size=20).map(lambda text: " ".join(text.split()))
cells = texts.filter(bool)


def page(body: str) -> Reading:
    lines = f"<!DOCTYPE html>\n<html><body>\n{body}\n</body></html>".split("\n")
    assert reader.claims(lines, 0) == len(lines)
    return reader.read(lines)


def told(reading: Reading) -> list[tuple[str, str]]:
    return [(record.kind, record.text) for record in reading.records]


@given(
    st.lists(cells, min_size=3, max_size=3, unique=True),
    st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=8),
    st.booleans(),
)
def test_cells_and_columns_come_back_as_they_were_written(head: list[str], body: list[list[str]], closed: bool) -> None:
    def row(mark: str, row: list[str]) -> str:
        end = f"</{mark}>" if closed else ""
        return "<tr>" + "".join(f"<{mark}> {html.escape(cell)}{end}" for cell in row) + ("</tr>" if closed else "")

    reading = page("<table>" + row("th", head) + "\n".join(row("td", line) for line in body) + "</table>")
    assert [table.columns for table in reading.tables] == [tuple(head)]
    assert [list(record.cells) for record in reading.records] == body


def test_lines_stand_under_their_heading_and_headings_under_theirs() -> None:
    reading = page("<h1>Guide</h1><p>First.</p><h2>Cost</h2><ul><li>one<li>two</ul><h2>Time</h2>late<h1>End</h1>")
    assert told(reading) == [
        ("heading", "Guide"),
        ("line", "First."),
        ("heading", "Cost"),
        ("line", "one"),
        ("line", "two"),
        ("heading", "Time"),
        ("line", "late"),
        ("heading", "End"),
    ]
    assert [record.under for record in reading.records] == [-1, 0, 0, 2, 2, 0, 5, -1]


def test_a_heading_may_be_a_block_with_a_link_inside() -> None:
    assert told(page("<h2><div><a href='/x'>Costs</a></div></h2><p>low")) == [("heading", "Costs"), ("line", "low")]


def test_what_nobody_reads_is_left_out() -> None:
    reading = page(
        "<style>p { x: y }</style><nav><a href='https://x.example/'>Home</a></nav><!-- hidden <p>no</p> -->"
        "<script>if (a<b) { '<p>no</p>' }</script><p>Yes &amp; <b>no</b>w</p><footer>(c)</footer>"
    )
    assert told(reading) == [("line", "Yes & now")]


def test_a_link_stands_with_its_address_where_it_leads_away() -> None:
    reading = page('<li><a href="https://a.example/x?p=1&amp;q=2">Port calls</a><li><a href="/here">Near</a>')
    assert told(reading) == [("line", "Port calls https://a.example/x?p=1&q=2"), ("line", "Near")]


def test_a_long_paragraph_is_read_sentence_by_sentence_and_code_line_by_line() -> None:
    sentences = [f"Sentence number {n} says that it is long enough to be one of its own." for n in range(5)]
    reading = page(f"<p>{' '.join(sentences)}</p><pre>a = 1\nb = 2</pre>")
    assert [record.text for record in reading.records] == [*sentences, "a = 1", "b = 2"]


def test_a_cell_reaches_over_the_rows_and_columns_that_it_spans() -> None:
    reading = page(
        "<table><tr><th>a<th>b<th>c<tr><td rowspan=2>x<td>1<td>2<tr><td>3<td>4<tr><td colspan=2>y<td>5</table>"
    )
    assert [record.cells for record in reading.records] == [("x", "1", "2"), ("x", "3", "4"), ("y", "", "5")]


def test_a_span_reaches_the_last_column_too() -> None:
    reading = page("<table><tr><th>a<th>b<tr><td>1<td rowspan=2>x<tr><td>2<tr><td>3<td>y</table>")
    assert [record.cells for record in reading.records] == [("1", "x"), ("2", "x"), ("3", "y")]


def test_a_table_that_frames_the_page_has_no_rows() -> None:
    reading = page(
        "<table><tr><td>menu<td><h2>News</h2><p>All well.</p>"
        "<table><tr><th>k<th>v<tr><td>a<td>1<tr><td>b<td>2</table>after</table>end"
    )
    assert told(reading) == [
        ("line", "menu"),
        ("heading", "News"),
        ("line", "All well."),
        ("row", "a|1"),
        ("row", "b|2"),
        ("line", "after"),
        ("line", "end"),
    ]


def test_a_menu_that_never_ends_does_not_hide_the_page() -> None:
    assert told(page("<nav><p>Text</p>")) == [("line", "Text")]


def test_a_table_inside_other_text_is_claimed_alone() -> None:
    lines = ["Results:", "", "<table>", "<tr><th>k<th>v", "<tr><td>a<td>1", "<tr><td>b<td>2", "</table>", "", "Done."]
    assert [reader.claims(lines, n) for n in range(len(lines))] == [0, 1, 7, 3, 4, 5, 6, 7, 8]
    assert [record.at for record in reader.read(lines[2:7]).records] == [2, 3]


@pytest.mark.parametrize(
    "text",
    [
        'export const A = () => (\n<div className="a">\n</div>\n)',
        '<div className="a">\n<p>{x}</p></div>',
        "<template>\n<div>{{ x }}</div></template>",
        "<?xml version='1.0'?>\n<a><b/></a>",
        "1 < 2",
        "<p>one line that opens and never ends",
    ],
)
def test_source_and_text_are_left_alone(text: str) -> None:
    lines = text.split("\n")
    assert [reader.claims(lines, n) for n in range(len(lines))] == list(range(len(lines)))


MARKS = re.findall(
    r"\S+",
    "<table> </table> <tr> <td> <th> <h1> </h1> <p> <a/href='http://x'> </a> <pre> </pre> <select> </select> <caption> "
    "<nav> <!-- --> <script> </script> <![CDATA[ ]]> <! &#x1F600 &amp < > a b <td/colspan=9> <td/rowspan=3>",
)


@given(st.lists(st.sampled_from(MARKS), max_size=40))
def test_no_page_makes_the_reader_fail(pieces: list[str]) -> None:
    reading = reader.read(("<html>" + "\n".join(pieces)).split("\n"))
    for n, record in enumerate(reading.records):
        assert record.text == " ".join(record.text.split())
        assert -1 <= record.under < n
        if record.table >= 0:
            assert record.cells
            assert len(reading.tables[record.table].columns) in (0, len(record.cells))


@pytest.mark.parametrize(
    "piece",
    first_of(
        ["<", "<!--", "<!", "<a ", "<a b='", '<a b="', "<table>", "<table><tr><td>x", "<td colspan=9999 rowspan=9999>x"]
        + ["<h1>", "<h1>x", "<nav>", "<script>", "</", "&#", "<a href='http://x'>y", "<![CDATA[", "<p>\n", "<pre>\n"],
        kept=6,
    ),
)
def test_a_long_page_takes_no_more_than_its_length(piece: str) -> None:
    size, most = (300_000, 12.0) if LONG else (75_000, 1.0)  # a quarter of the text takes a sixteenth, if it is squared
    lines = ("<html>" + piece * (size // len(piece))).split("\n")
    begun = time.process_time()
    reader.read(lines[: reader.claims(lines, 0)])
    assert time.process_time() - begun < most
