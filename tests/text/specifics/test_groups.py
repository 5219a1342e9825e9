"""Numbers in groups are one, lists of numbers are several; sign, bracket and unit stay with a number (D2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.text.specifics.delimited import view
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

REGISTRY = DefaultRegistry()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1 250 000 € et 3 412 dossiers", ["1 250 000 €", "3 412"]),
        ("Total de 388 450 habitants", ["388 450"]),
        ("388 450", ["388 450"]),
        ("soit 1\u00a0250\u202f000,50\u00a0€ par an", ["1\u00a0250\u202f000,50\u00a0€"]),
        ("3\u2009412 m", ["3\u2009412"]),
        ("CHF 1'234.50", ["CHF 1'234.50"]),
        ("1’234’567 Fälle", ["1’234’567"]),
        ("a loss of (1,234.50) and ($99.10)", ["(1,234.50)", "($99.10)"]),
        ("| (12.50) |", ["(12.50)"]),
        ("\u22121\u00a0234 and −1,234", ["\u22121\u00a0234", "−1,234"]),
        ("-3 412,50", ["-3 412,50"]),
        ("€1 250 000", ["€1 250 000"]),
        ("1億2,345万円と3万、12.5亿", ["1億2,345万円", "3万", "12.5亿"]),
        ("売上3,500万円", ["3,500万円"]),
        ("size=1 250 000 and Total: 3 412", ["1 250 000", "3 412"]),
        ("Preis;958,18;1.234,56", ["958,18", "1.234,56"]),
    ],
)
def test_a_number_in_groups_is_one_and_whole(text: str, found: list[str]) -> None:
    assert [span.text for span in REGISTRY.spans(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Widget,10,958.18,EUR", ["10", "958.18"]),
        ("2026-11-20,100,958.18", ["2026-11-20", "100", "958.18"]),
        ("('A',10,958.18),('B',11,200.00)", ["10", "958.18", "11", "200.00"]),
        ("[10,958.18]", ["10", "958.18"]),
        ("f(10,958)", ["10", "958"]),
        ("(10,958.18),(11,120.50)", ["10", "958.18", "11", "120.50"]),
        ('"GET /a HTTP/1.1" 200 612 "-"', ["HTTP/1.1", "200", "612"]),
        ("10 200 300 400 5000", ["10", "200", "300", "400", "5000"]),
        ("10\t958.18", ["10", "958.18"]),
        ("on node-1 250 ms", ["node-1", "250 ms"]),
        ("https://example.org/a?b=1 100% done", ["https://example.org/a?b=1", "100%"]),
    ],
)
def test_fields_of_a_list_are_never_one_number(text: str, found: list[str]) -> None:
    assert [span.text for span in REGISTRY.spans(text)] == found


@given(st.text(alphabet="0123456789 ,.'()[]-€$’\u00a0\u202fab\n;|\t", max_size=60))
def test_the_view_has_the_same_places_and_digits(text: str) -> None:
    seen = view(text)
    assert len(seen) == len(text)
    assert [one if one.isdigit() else "" for one in seen] == [one if one.isdigit() else "" for one in text]
    assert [n for n, one in enumerate(seen) if one == "\n"] == [n for n, one in enumerate(text) if one == "\n"]


@given(st.integers(1_000, 10**12), st.sampled_from(["\u00a0", "\u202f", "\u2009", "'", "’", ",", " "]))
def test_whatever_parts_its_groups_a_number_is_found_as_it_was_written(number: int, mark: str) -> None:
    written = f"{number:,}".replace(",", mark)
    assert [span.text for span in REGISTRY.spans(f"in all {written} were counted")] == [written]
