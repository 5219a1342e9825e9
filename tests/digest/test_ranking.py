"""What showing a specific is worth: the only one of its like more than one of a crowd, unless each is to count."""

from __future__ import annotations

from palimpsest_mcp.digest.ranking import ranks_of, worth
from palimpsest_mcp.digest.survey import survey

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
