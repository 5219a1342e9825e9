"""The page of quality and the program that writes its tables name the same tables and goals, and no figure by hand."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "benchmarks"))

from quality import page, run  # noqa: E402

TEXT = page.PAGE.read_text("utf-8")


def test_every_table_of_the_program_has_its_place_in_the_page_and_the_other_way_round() -> None:
    assert set(re.findall(r"<!-- (\w+): written by", TEXT)) == {*page.TABLES, "judged"}
    assert {part for part, _ in page.TABLES.values()} | {"cases"} == set(run.PARTS)


def test_a_table_is_written_between_its_markers_and_nowhere_else() -> None:
    made = {name: f"table of {name}" for name, _ in page.between(TEXT)}
    text = page.written(TEXT, made)
    assert dict(page.between(text)) == made
    assert page.written(text, made) == text
    assert page.written(text, dict(page.between(TEXT))) == page.written(TEXT, dict(page.between(TEXT)))


def test_a_page_without_a_marker_is_not_written() -> None:
    with pytest.raises(ValueError):
        page.written(TEXT.replace("<!-- owners: ", "<!-- "), {"owners": "x"})


def test_the_judged_digests_of_the_page_are_those_of_the_data() -> None:
    assert dict(page.between(TEXT))["judged"] == page.judged_text(), "run: python benchmarks/quality/run.py"


def test_every_judged_digest_says_what_it_is_and_why() -> None:
    for one in page.judged():
        assert one["judgement"] in page.JUDGEMENTS, one["kind"]
        for key in ("kind", "target", "source", "digest", "why"):
            assert one[key].strip(), (one["kind"], key)


def test_every_goal_of_the_program_stands_in_its_table() -> None:
    found = dict(page.between(TEXT))
    for name, goals in (
        ("owners", page.OWNED),
        ("outcomes", page.TOLD),
        ("later", page.LATER),
        ("needles", page.STRICT),
        ("guard", page.PLANTED),
    ):
        for goal in goals.values():
            assert f"| ≥ {goal} |" in found[name], (name, goal)
