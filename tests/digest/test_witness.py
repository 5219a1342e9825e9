"""The second reader of numbers: what it holds to be whole in a source, and what not (D5)."""

from __future__ import annotations

import ast
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest import witness
from palimpsest_mcp.digest.witness import Witness

TABLE = "sku,qty,price\nA,10,958.18\nB,11,120.50\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (TABLE, "10  958.18"),
        (TABLE, "A\t10\t958.18"),
        ("Revenue was 10,958.18 in May", "10,958.18"),
        ("Le budget est de 1 250 000 € et", "1 250 000 €"),
        ("3\u00a0412 dossiers", "3\u00a0412"),
        ("CHF 1'234.50", "1'234.50"),
        ("GET /a 200 612 -", "200  612"),
        ("see a.py:12 and 10.0.0.7:80", "a.py:12 | 10.0.0.7:80"),
        ('{"a": [10,958.18], "b": "1\\u00a0250"}', "10 | 958.18 | 1\u00a0250"),
        ('{"n": 1.10}\n{"n": 2e5}', "1.10 | 2e5"),
        ("1&nbsp;250 &euro;", "1\u00a0250"),
        ("\x1b[32m12 passed\x1b[0m", "12 passed"),
    ],
)
def test_what_stands_in_the_source_is_known(source: str, shown: str) -> None:
    assert Witness(source).strangers(shown) == []


@pytest.mark.parametrize(
    ("source", "shown", "strange"),
    [
        (TABLE, "10,958.18", "10,958.18"),
        (TABLE, "958", "958"),
        (TABLE, "11 120.50", "11 120.50"),
        ("Revenue was 10,958.18 in May", "10", "10"),
        ("Le budget est de 1 250 000 € et", "250", "250"),
        ("Le budget est de 3 412 dossiers", "412", "412"),
        ("3\u00a0412 dossiers", "412", "412"),
        ("CHF 1'234.50", "234.50", "234.50"),
        ('{"a": [10,958.18]}', "10,958.18 in all", "10,958.18"),
        ("paid 7 of 9", "paid 8 of 9", "8"),
        ("version 1.22.333", "1.22", "1.22"),
    ],
)
def test_what_was_cut_joined_or_invented_is_a_stranger(source: str, shown: str, strange: str) -> None:
    assert Witness(source).strangers(shown) == [strange]


NUMBER = st.one_of(st.integers(0, 10**7).map(str), st.decimals(0, 10**5, places=2).map(str))


@given(st.lists(st.lists(NUMBER, min_size=3, max_size=3), min_size=1, max_size=8))
def test_fields_of_a_table_are_known_and_nothing_that_spans_two(rows: list[list[str]]) -> None:
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerows([["first", "second", "third"], *rows])
    read = Witness(out.getvalue())
    for row in rows:
        assert read.strangers("\t".join(row)) == []
        joined = ",".join(row[:2])
        assert read.strangers(f"the sum of {joined} was") in ([], [joined])
        if len(row[0]) < 4 and row[0][0] != "0" and len(row[1].partition(".")[0]) == 3:
            assert read.strangers(f"the sum of {joined} was") == [joined]


@given(st.recursive(NUMBER | st.text(max_size=9), lambda inner: st.lists(inner, max_size=4)))
def test_every_leaf_of_a_json_text_is_known(value: object) -> None:
    read = Witness(json.dumps([value]))

    def leaves(one: Any) -> list[str]:
        return [leaf for each in one for leaf in leaves(each)] if isinstance(one, list) else [str(one)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    for leaf in leaves([value]):
        assert read.strangers(leaf) == [] or "[" in leaf or "{" in leaf


@given(st.text(alphabet="0123456789 ,.'()[]-€ab\n;|\t\u00a0", max_size=80))
def test_every_line_of_a_source_is_known_to_it(text: str) -> None:
    read = Witness(f"note\n{text}")
    for line in text.split("\n"):
        for word in line.split():
            if word.isalpha():
                assert read.strangers(word) == []
    assert isinstance(read.strangers(text), list)


def test_it_shares_no_module_with_the_digester() -> None:
    tree = ast.parse(Path(witness.__file__).read_text(encoding="utf-8"))
    imports = [one for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    named = {one.module or "" if isinstance(one, ast.ImportFrom) else one.names[0].name for one in imports}
    assert named <= {"__future__", "csv", "html", "json", "re", "collections.abc", "typing"}
    assert not any(isinstance(one, ast.ImportFrom) and one.level for one in imports)
