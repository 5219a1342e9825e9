"""What is missing says so where it stands, and what is shown stands in its order."""

from __future__ import annotations

import json
import random
import re

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.proof import check_part, facts_of
from palimpsest_mcp.models.records import DigestLine, DigestSource
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

from .conftest import Bench

REGISTRY = DefaultRegistry()
WORDS = re.findall(
    r"\w+", "amber basin cedar delta ember fjord glade heron inlet jetty kelp lagoon marsh north ocean pier quay reef"
)


def sentences(n: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [f"{' '.join(rng.choices(WORDS, k=9))} at {rng.randrange(10_000, 99_999)}" for _ in range(n)]


def hits(n: int, file: str = "src/harbour/berths.ts") -> str:
    return "\n".join(f"{file}:\t{words}" for words in sentences(n, 3))


def test_the_note_of_an_item_counts_the_lines_that_are_shown_of_it(bench: Bench) -> None:
    digest = bench.digest("\n".join(sentences(40, 1)), "\n".join(sentences(40, 2)), share=0.4)
    for part in digest.parts:
        said = re.search(r"\[item \d[^\n]*: (\d+) of 40 lines\]\n((?:.|\n)*)", part.text)
        assert said and 0 < int(said[1]) < 40
        assert int(said[1]) == sum(line.split(" at ")[0] != line for line in said[2].split("\n"))


def test_of_what_is_shown_whole_there_is_only_the_size(bench: Bench) -> None:
    small = "\n".join(sentences(3, 1))
    digest = bench.digest(small, "\n".join(sentences(90, 2)), share=0.9)
    assert "3 lines]" in digest.parts[0].text and "of 3 lines" not in digest.parts[0].text


def test_hits_without_line_numbers_say_their_file_once_and_expand_to_lines_of_the_source(bench: Bench) -> None:
    other = "\n".join(sentences(30, 9))
    digest = bench.digest(hits(12), other, share=0.7)
    assert digest.verification.passed
    assert (
        digest.parts[0].text.count("berths.ts") <= 2
        and " of 12 like] src/harbour/berths.ts: <1>" in digest.parts[0].text
    )


@given(st.lists(st.sampled_from(["zone", "pier", "depth", "owner", "state"]), min_size=3, max_size=5, unique=True))
def test_fields_end_with_a_mark_where_the_object_has_more_and_stay_those_of_one_object(names: list[str]) -> None:
    one, two = ({name: f"{name}-{n}81" for name in names} for n in (1, 2))
    source = DigestSource(item_id="a", kind="tool_result", text=json.dumps({"here": one, "there": two}), tokens=90)
    facts = facts_of(source, REGISTRY)
    shown = f"here: {names[0]}={one[names[0]]}|{names[2]}={one[names[2]]}|…"
    mixed = f"here: {names[0]}={one[names[0]]}|{names[2]}={two[names[2]]}|…"
    assert not check_part(facts, [DigestLine("quote", shown)]).bad_lines
    assert check_part(facts, [DigestLine("quote", mixed)]).bad_lines


def test_few_lines_that_are_alike_stand_in_the_order_of_their_source(bench: Bench) -> None:
    text = "\n".join(
        f"{line}\nkeep-{n} is the mark of a long line about the harbour and its {WORDS[n]}"
        for n, line in enumerate(sentences(9, 5))
    )
    for share in (0.35, 0.5, 0.7):
        lines = bench.digest(text, share=share).parts[0].text.split("\n")
        places = [text.index(line) for line in lines if line in text]
        assert places == sorted(places)
