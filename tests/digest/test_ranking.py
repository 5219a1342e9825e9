"""What showing a specific is worth: the only one of its like more than one of a crowd, unless each is to count."""

from __future__ import annotations

from palimpsest_mcp.digest.survey import survey
from palimpsest_mcp.digest.worth import ranks_of, worth

from .conftest import Bench


def _worths(bench: Bench, text: str, *, values_first: bool = False) -> dict[str, float]:
    found = survey(bench.source(text), bench.registry)
    rated = worth(found, ranks_of(), values_first=values_first)
    return {spec.text: one for spec, one in zip(found.specs, rated, strict=True)}


_MANY = "\n".join(f"built 2026-11-{day:02d} by order" for day in range(1, 29))


def test_the_only_one_of_its_like_is_worth_more_than_one_of_a_crowd(bench: Bench) -> None:
    crowd = _worths(bench, _MANY)["2026-11-07"]
    alone = _worths(bench, "built 2026-11-07 by order")["2026-11-07"]
    assert alone > 3 * crowd


def test_where_values_come_first_each_of_a_crowd_counts(bench: Bench) -> None:
    crowd = _worths(bench, _MANY, values_first=True)["2026-11-07"]
    assert crowd == _worths(bench, "built 2026-11-07 by order", values_first=True)["2026-11-07"]


def test_a_place_in_a_file_is_worth_more_than_the_file(bench: Bench) -> None:
    rated = _worths(bench, "src/app/main.py:12 and src/app/other.py")
    assert rated["src/app/main.py:12"] > rated["src/app/other.py"]


def test_one_that_another_word_stands_before_is_none_of_the_crowd(bench: Bench) -> None:
    rated = _worths(bench, f"{_MANY}\nthe contract ends 2031-04-05")
    assert rated["2031-04-05"] > 3 * rated["2026-11-07"]


def test_where_most_are_alone_behind_their_word_that_is_nothing_special(bench: Bench) -> None:
    words = ("".join(pair) for pair in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True))
    rated = _worths(
        bench, "\n".join(f"{word} ends 20{n + 10}-04-05 {word}={n + 48213}" for n, word in enumerate(words))
    )
    alone = _worths(bench, "the contract costs ab=48213")
    assert rated["48213"] < 0.7 * alone["48213"]


def test_a_name_behind_a_key_is_worth_more_than_one_of_many_names(bench: Bench) -> None:
    names = " ".join(f"read_{c}_file" for c in "abcdefghijklmnopqrstuvwxyz")
    rated = _worths(bench, f"{names}\non-call owner: k.sandoval25")
    assert rated["k.sandoval25"] > 10 * rated["read_q_file"]
