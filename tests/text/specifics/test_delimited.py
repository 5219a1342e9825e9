"""Comma-delimited text is told from prose and code, and its fields are parted (D2)."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.specifics.delimited import fields_apart
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

REGISTRY = DefaultRegistry()


def numbers(text: str) -> list[str]:
    return [span.text for span in REGISTRY.spans(fields_apart(text))]


def test_a_quantity_and_a_price_are_two_fields() -> None:
    assert numbers("qty,price\n10,958.18\n12,114.00\n") == ["10", "958.18", "12", "114.00"]


def test_a_quoted_field_keeps_its_commas_and_line_breaks() -> None:
    text = 'name,revenue,orders\n"Smith, J","1,234.50",10\n"a\nb","9,120.00",11\n'
    assert fields_apart(text) == text.replace(",", "\t").replace("Smith\t", "Smith,").replace("1\t2", "1,2").replace(
        "9\t1", "9,1"
    )
    assert numbers(text) == ["1,234.50", "10", "9,120.00", "11"]


@pytest.mark.parametrize(
    "text",
    [
        "Revenue was 10,958.18 in May\nCosts were 9,120.00 in June",
        "In May, revenue was 10,958.18\nIn June, revenue was 9,120.00",
        "Der Umsatz stieg auf 3.116,83 € in 23 Filialen\nDer Umsatz fiel auf 116,83 € in 9 Filialen",
        "Menge;Preis;Umsatz\n10;958,18;1.000,50\n11;58,10;99,10",
        "10,958.18\n12,114.00",
        '  "a": 1,\n  "b": 2,\n  "c": [1,2],\n',
        "f(a, 1,234)\ng(b, 2,345)",
        "2026-11-20 10:00:00,123 INFO took 12\n2026-11-20 10:00:01,456 INFO took 9",
    ],
)
def test_text_that_is_not_delimited_by_commas_stays_as_it_is(text: str) -> None:
    assert fields_apart(text) is text


FIELD = st.one_of(
    st.integers(0, 10**6).map(str),
    st.decimals(0, 10**4, places=2).map(str),
    st.text(alphabet="ab c,\"'-\n", min_size=1, max_size=8).filter(lambda one: not one.startswith(" ")),
)


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.lists(FIELD, min_size=n, max_size=n), min_size=1, max_size=6)))
def test_what_a_csv_writer_wrote_is_parted_only_between_fields(rows: list[list[str]]) -> None:
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow([f"col{'abcde'[n]}" for n in range(len(rows[0]))])
    write.writerows(rows)
    text = out.getvalue()
    apart = fields_apart(text)
    assert apart.replace("\t", ",") == text, "nothing else changes"
    if apart != text and '"' not in text:
        assert list(csv.reader(io.StringIO(apart), delimiter="\t")) == list(csv.reader(io.StringIO(text)))


@given(st.text(alphabet="0123456789,;\"'()\n\t ab.", max_size=200))
def test_any_text_keeps_its_length_and_comes_out_the_same_twice(text: str) -> None:
    apart = fields_apart(text)
    assert len(apart) == len(text)
    assert apart.replace("\t", ",") == text.replace("\t", ",")


@pytest.mark.parametrize("unit", ["1,2\n", "a,1,234\n", '"1,2\n', "(1,2),", "1,234", "x,1\n", '",1,2'])
def test_work_grows_with_the_text_and_not_faster(unit: str) -> None:
    fields_apart(unit * (200_000 // len(unit)))
