"""One loud line among many that are not is told first, whatever the text is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.lines import Unit
from palimpsest_mcp.digest.reducers.lines import LOUD, STEMS, loudest_first, raise_loud
from palimpsest_mcp.digest.survey import survey

from .conftest import Bench

_LISTING = [f"ii  package-{n:03d}  {n}.2.{n % 7}-1  amd64  part {n} of the whole" for n in range(90)]


def _gists(bench: Bench, lines: list[str]) -> dict[str, float]:
    return {unit.text: unit.gist for unit in survey(bench.source("\n".join(lines)), bench.registry).reduced.units}


def test_an_error_in_a_listing_tells_more_than_its_neighbours(bench: Bench) -> None:
    loud = "2026-11-18 07:59:30 ERROR request failed ref=ERR_LOCK_6054"
    gists = _gists(bench, [*_LISTING[:40], loud, *_LISTING[40:]])
    assert gists[loud] > max(gist for text, gist in gists.items() if text.startswith("package-0"))


@pytest.mark.parametrize("values_first", [True, False])
@pytest.mark.parametrize("share", [0.1, 0.2])
def test_the_few_errors_of_a_long_log_are_all_shown_however_many_values_compete(
    bench: Bench, share: float, values_first: bool
) -> None:
    rows = [
        f"2026-11-18T07:{n // 60:02d}:{n % 60:02d}Z INFO auth request id=req-{n * 7919 % 99991:05d} took {n % 911} ms"
        for n in range(300)
    ]
    errors = {
        40 * n + 13: f"2026-11-18T08:00:{n:02d}Z ERROR auth peer=10.7.3.{n} refused after {n} tries" for n in range(4)
    }
    for at, error in errors.items():
        rows[at] = error
    text = bench.digest("\n".join(rows), share=share, values_first=values_first).parts[0].text
    assert [n for n in range(4) if f"10.7.3.{n}" in text and f"T08:00:{n:02d}Z" in text] == [0, 1, 2, 3]


def test_where_nothing_is_loudest_the_next_loud_words_stand_out() -> None:
    units = [Unit(f"web-{n}  Up {n} days", "quote", (), gist=0.3) for n in range(40)]
    units[7].text = "web-7  Exited (137) 2 days ago"
    raise_loud(units)
    assert [n for n, unit in enumerate(units) if unit.loud] == [7]
    units[9].text = "ERROR: web-9 has no image"
    for unit in units:
        unit.loud = False
    raise_loud(units)
    assert [n for n, unit in enumerate(units) if unit.loud] == [9]


def test_of_loud_lines_that_say_as_much_the_first_and_the_last_come_before_those_between() -> None:
    units = [Unit(str(n), "quote", (), gist=2.0, loud=n > 0) for n in range(6)]
    units[3].gist = 3.0
    assert loudest_first(units) == [3, 1, 5, 2, 4]


def test_where_every_line_is_loud_none_stands_out() -> None:
    units = [Unit(f"part {n}: ERROR while it was moved", "quote", (), gist=0.3) for n in range(40)]
    raise_loud(units)
    assert {unit.gist for unit in units} == {0.3}
    raise_loud(units[:2])
    assert [unit.gist > 0.3 for unit in units[:3]] == [True, True, False]


@pytest.mark.parametrize("values_first", [True, False])
def test_of_a_chain_of_exceptions_the_cause_is_told_with_its_words(bench: Bench, values_first: bool) -> None:
    frames = [
        f"\tat org.frame.tx.Proxy{n % 9}.invoke(Proxy{n % 9}.java:{n * 37 + 11}) ~[tx-6.1.{n}.jar]" for n in range(40)
    ]
    cause = "Caused by: org.sql.SqlException: duplicate key value violates the constraint uk_user_email"
    lines = [
        "2027-02-03 09:14:11.004 ERROR 1 --- [exec-4] dispatcherServlet : the servlet threw an exception",
        "org.frame.dao.IntegrityException: could not execute the statement",
        *frames[:30],
        cause,
        *frames[30:],
    ]
    text = bench.digest("\n".join(lines), share=0.2, values_first=values_first).parts[0].text
    assert cause in text.split("\n")


@given(st.sampled_from(list(zip(LOUD, STEMS, strict=True))), st.data())
def test_what_is_loud_holds_one_of_the_stems_that_are_looked_for_first(
    pair: tuple[re.Pattern[str], tuple[str, ...]], data: st.DataObject
) -> None:
    words, stems = pair
    text = data.draw(st.from_regex(words))
    assert any(stem in text for stem in stems)
