"""The page of specifics says what the registry has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from palimpsest_mcp.text.specifics.registry import CLASSES, DefaultRegistry, UserClass

PAGE = (Path(__file__).parents[2] / "docs" / "specifics.md").read_text("utf-8")


def test_every_class_stands_on_the_page_with_its_example_and_weight() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \| (.+) \| `(.+)` \| ([\d.]+)( ·)? \|$", PAGE, re.MULTILINE)
    assert rows == [
        (one.name, one.description, one.example, f"{one.weight:g}", " ·" if one.first_rank else "") for one in CLASSES
    ]


def test_what_the_page_calls_one_phrase_is_found_as_one() -> None:
    (listed,) = re.findall(r"^- Phrases count as one: (.+)\.$", PAGE, re.MULTILINE)
    for phrase in re.findall(r"`([^`]+)`", listed):
        assert len(DefaultRegistry().set_of(phrase)) == 1, phrase
    assert {text for _, text in DefaultRegistry().set_of("0,87")} == {"0,87"}
    assert {text for _, text in DefaultRegistry().set_of("f(10,87)")} == {"10", "87"}


def test_the_class_on_the_page_works() -> None:
    written = tomllib.loads(
        "\n".join(line[4:] for line in PAGE.split("## Your own")[1].split("\n") if line[:4] == "    ")
    )
    registry = DefaultRegistry([UserClass(**one) for one in written["specifics"]])
    assert registry.set_of("order SO-2027-AB/17") == {("order", "SO-2027-AB/17")}
