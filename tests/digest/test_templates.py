"""Lines that are alike, said once: every template expands to exactly its lines."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.records import Record
from palimpsest_mcp.digest.templates import BREAK, LEAST, LINES, Template, mined

from ..conftest import first_of


def _mined(lines: Sequence[str]) -> list[Template]:
    return mined([Record(line) for line in lines], range(len(lines)))


def _expanded(template: Template, values: Sequence[str]) -> list[str]:
    """As a reader does it: each slot by its value, at each line break a new line."""
    return [re.sub(r"<(\d+)>", lambda slot: values[int(slot[1]) - 1], line) for line in template.text.split(BREAK)]


def _squeezed(text: str) -> str:
    return " ".join(text.split())


_WORD = st.sampled_from(
    [
        "probe",
        "edge-11",
        "rtt=30ms",
        "0.25",
        "1,204",
        "src/a/b1.py:",
        "never",
        "<1>",
        "x7",
        "#12",
        "v1.0",
        "⏎",
        "=",
        "100%",
    ]
)
_VALUE = st.integers(0, 99).map(str) | _WORD | st.text(max_size=5)
_SHAPES = [
    "{0}",
    "probe {0} ok",
    "src/lib/{0}",
    "a{0}b at {1}",
    "## Part {0}",
    "src/x.py:{0}: if {1}:",
    "{0} took {1} ms, {0}",
]
_LIKE = st.tuples(st.sampled_from(_SHAPES), st.lists(st.tuples(_VALUE, _VALUE), min_size=3, max_size=12)).map(
    lambda one: [one[0].format(*values) for values in one[1]]
)
_LINES = st.lists(_LIKE | st.lists(_WORD, max_size=6).map(" ".join).map(lambda line: [line]), max_size=8).map(
    lambda groups: [_line.strip() for group in groups for _line in group if _line.strip()]
)


@given(_LINES, st.booleans(), st.integers(0, 2))
def test_every_template_expands_to_exactly_its_lines(lines: list[str], mixed: bool, times: int) -> None:
    lines = lines[::2] + lines[1::2] if mixed else lines
    lines = [line for line in lines for _ in range(1 + (times if len(lines) < 20 else 0))]
    taken: list[int] = []
    for template in _mined(lines):
        assert len(template.rows) >= LEAST
        for covered, values in template.rows:
            assert [_squeezed(line) for line in _expanded(template, values)] == [_squeezed(lines[n]) for n in covered]
            taken += covered
    assert len(taken) == len(set(taken)), "no line is in two rows"


@given(st.integers(2, LINES), st.integers(3, 9))
def test_a_template_runs_over_consecutive_lines(height: int, times: int) -> None:
    words = ["ash", "birch", "cedar", "elm", "fir", "holly", "larch", "maple", "oak", "pine", "rowan", "yew"]
    lines = [f"{words[k]} number {100 + n} stands here" for n in range(times) for k in range(height)]
    (template,) = _mined(["what stands before", *lines, "what stands after"])
    assert template.text.count(BREAK) == height - 1
    assert [row for _, row in template.rows] == [(str(100 + n),) for n in range(times)] and template.run


def test_what_never_varies_goes_into_the_template_and_slots_that_vary_alike_are_one() -> None:
    (template,) = _mined([f"{n * 7}: host h{n} took {n * 7} ms, 200 OK, build 6f1e2c4" for n in range(5)])
    assert template.text == "<1>: host <2> took <1> ms, 200 OK, build 6f1e2c4"


def test_one_number_may_tell_all_that_differs() -> None:
    (template,) = _mined([f"Restart s{n} with grace {n}0 on r{n}" for n in range(98, 103)])
    assert template.text == "Restart s<1> with grace <1>0 on r<1>"
    assert [row for _, row in template.rows] == [(str(n),) for n in range(98, 103)]


def test_values_are_whole_words_where_no_one_number_tells_all() -> None:
    """So that an id can be copied from a row."""
    (template,) = _mined([f"flight HAT{n * 37 % 100:02} to {n * 53 % 90:02}B4 left" for n in range(6)])
    assert template.text == "flight <1> to <2> left"
    assert template.rows[1][1] == ("HAT37", "53B4")


def test_two_lines_alike_are_no_template_and_neither_is_what_saves_nothing() -> None:
    assert _mined(["probe host edge-11 ok", "probe host edge-12 ok"]) == []
    assert _mined(["a1b", "c2d", "e3f"]) == []


def test_lines_without_a_word_in_common_are_not_alike() -> None:
    """As many words in each are no reason to tear them apart."""
    lines = ["seen once from afar", "jobs wait here idle", "disk full unit nine", "done with most work"]
    assert _mined([f"{line} {line} {line}" for line in lines]) == []


@pytest.mark.parametrize("mark", ["<1>", "⏎", "\0"])
def test_a_line_that_holds_one_of_our_marks_is_in_no_template(mark: str) -> None:
    assert _mined([f"replace {mark} by the value of item {n} here" for n in range(6)]) == []


@pytest.mark.parametrize(
    "piece", first_of(["x.1:", "a1 ", "./", "x", "1,", "a-", "a:", "/", "ab "]), ids=lambda piece: repr(piece)
)
def test_a_long_line_takes_no_more_than_its_length(piece: str) -> None:
    lines = [piece * (300_000 // len(piece)) + end for end in ("", "2", " 3", "44")]
    begun = time.process_time()
    _mined(lines)
    assert time.process_time() - begun < 10


def test_a_time_of_day_is_one_value() -> None:
    """Lines whose words differ, too, are no reason to say a date up to its minutes, and the seconds elsewhere."""
    said = [("started", "14:36:25"), ("ended", "14:36:25"), ("started", "14:36:29"), ("paused", "14:37:02")]
    (template,) = _mined([f"The long log of this run was {word}: 2025-06-24 {time}" for word, time in said])
    assert template.text == "The long log of this run was <1>: 2025-06-24 <2>"
    assert [values for _, values in template.rows] == said
    assert not any("14:36" in one.text for one in _mined([f"{n} probes at 14:36:{n} were lost" for n in (25, 26, 28)]))


def test_blanks_between_two_numbers_stay_more_than_one() -> None:
    """One blank would make a date and a time of a date and what stands in the next column."""
    (template,) = _mined([f"The long log of run {n:<4} 2025-06-24  14:36 was kept" for n in (7, 19, 112, 1305)])
    assert "2025-06-24  14:36" in template.text and "run <1> 2025" in template.text


def test_two_numbers_with_a_dash_between_them_are_no_date() -> None:
    (template,) = _mined([f"part 3-{n} waits in the queue of the night" for n in range(12)])
    assert template.run and template.text == "part 3-<1> waits in the queue of the night"
