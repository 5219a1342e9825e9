"""How an open specific is shown: by a line that costs no more than the ledger, by an entry with its word, or bare."""

from __future__ import annotations

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Bench

_WORDS = ("amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "hazel", "indigo", "jasper")


def _report(lines: int, seed: int = 7) -> str:
    draw = random.Random(seed)
    return "\n".join(
        f"the {draw.choice(_WORDS)}{n:03d}x unit was moved after {draw.choice(_WORDS)} came to "
        f"{draw.randint(10_000, 99_999)} on its own, as had been said by all of them before that day number {n}"
        for n in range(lines)
    )


def _ledger(bench: Bench, text: str, share: float, *, values_first: bool) -> list[str]:
    digest = bench.digest(text, share=share, values_first=values_first)
    return [line.text for line in digest.parts[0].lines if line.kind == "entry"]


def test_where_words_come_first_every_value_has_its_key_or_a_word_of_its_line(bench: Bench) -> None:
    ledger = _ledger(bench, _report(60), 0.12, values_first=False)
    assert ledger
    assert all(line.startswith(" ") for line in ledger)


def test_where_values_come_first_more_of_them_are_shown_with_fewer_words(bench: Bench) -> None:
    text = _report(60)
    first = bench.digest(text, share=0.12, values_first=True).specifics
    words = bench.digest(text, share=0.12, values_first=False).specifics
    assert first.shown > words.shown
    assert any(" … " not in line for line in _ledger(bench, text, 0.12, values_first=True))


def test_rows_of_records_name_the_values_in_them_where_words_come_first(bench: Bench) -> None:
    text = json.dumps([{"word": f"{_WORDS[n % 10]} of them", "ref": f"{n:03d}f{n * 7919:06d}"} for n in range(40)])
    rows = {first: _shown_rows(bench, text, values_first=first) for first in (True, False)}
    assert rows[True] and not any("ref=" in row for row in rows[True])
    assert rows[False] and all("ref=" in row for row in rows[False])


def _shown_rows(bench: Bench, text: str, *, values_first: bool) -> list[str]:
    digest = bench.digest(text, share=0.9, values_first=values_first)
    return [line.text for line in digest.parts[0].lines if line.kind == "row" and " of them" in line.text]


def test_short_lines_of_nothing_but_values_stand_as_they_are(bench: Bench) -> None:
    text = "\n".join(f"unit {n}a{n}: {10_000 + 37 * n}" for n in range(40)) + "\n" + "and so on it went\n" * 200
    digest = bench.digest(text, share=0.5)
    quoted = [line.text for line in digest.parts[0].lines if line.kind == "quote"]
    assert sum(line.startswith("unit ") for line in quoted) == 40


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 60), st.integers(0, 99), st.floats(0.1, 0.6), st.booleans())
def test_both_ways_pass_every_check_and_keep_to_the_budget(lines: int, seed: int, share: float, first: bool) -> None:
    bench = Bench()
    request = bench.request(_report(lines, seed), share=share, values_first=first)
    digest = bench.digester.compute(request)
    assert digest.verification.passed
    assert digest.tokens <= 1.05 * request.budget_tokens or digest.mode == "pointer"
