"""Lines of one skeleton as a table: nothing is cut, nothing is invented, and every row can be put back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.ledger_lines import names_of
from palimpsest_mcp.digest.lines import Line, Mark
from palimpsest_mcp.digest.reducers.rows import Family, families, shown_of
from palimpsest_mcp.digest.survey import survey
from palimpsest_mcp.models.records import DigestSource
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

REGISTRY = DefaultRegistry()


def lines_of(*texts: str) -> list[Line]:
    """Each specific is numbered by its text."""
    numbers: dict[tuple[str, str], int] = {}
    return [
        Line(
            text,
            tuple(
                Mark(span.start, span.end, numbers.setdefault((span.cls, span.text), len(numbers)))
                for span in REGISTRY.spans(text)
            ),
        )
        for text in texts
    ]


def families_of(lines: list[Line]) -> list[Family]:
    return families([(lines, False)])[0]


def table(*texts: str) -> Family:
    (family,) = families_of(lines_of(*texts))
    return family


def rows(*texts: str) -> list[str]:
    return [row.text for row in table(*texts).rows]


def test_what_all_lines_share_is_said_once_and_the_first_of_them_is_whole() -> None:
    family = table(
        *(f"Requirement already satisfied: lib{i}>=1.{i} in /usr/lib/site-packages (2.{i}.7)" for i in range(5))
    )
    assert family.heading == "Requirement already satisfied: lib0>=1.0 in /usr/lib/site-packages (2.0.7)"
    assert [row.text for row in family.rows] == [f"lib{i}>=1.{i}\t2.{i}.7" for i in range(1, 5)]


def test_words_that_touch_in_the_line_touch_in_the_row() -> None:
    texts = [
        f"the job {name} {i}48 finished without a single error" for i, name in enumerate(("alpha", "beta", "gamma"))
    ]
    assert rows(*texts) == ["beta 148", "gamma 248"]


def test_a_specific_of_several_words_stays_whole_where_some_of_them_are_the_same_in_all() -> None:
    texts = [f"-rw-r--r-- 1 root root 2026-11-20 08:15:{i}7 +0000 part_{name}.txt" for i, name in enumerate("abc")]
    assert rows(*texts) == [f"2026-11-20 08:15:{i}7 +0000 part_{name}.txt" for i, name in ((1, "b"), (2, "c"))]


def test_brackets_quotes_and_keys_that_all_cells_have_are_said_once() -> None:
    texts = [f'downloading and unpacking name="pkg-{name}", (archive of {i}.4 MB)' for i, name in enumerate("abcd", 1)]
    assert rows(*texts) == [f"pkg-{name}\t{i}.4 MB" for i, name in enumerate("bcd", 2)]


def test_a_bracket_that_was_opened_in_the_cell_stays_with_it() -> None:
    texts = [
        f"Collecting the package paritok[{extra}] from the index that was named" for extra in ("proxy", "test", "docs")
    ]
    assert rows(*texts) == ["paritok[test]", "paritok[docs]"]


def test_a_row_of_values_alone_keeps_a_word_of_its_line() -> None:
    texts = [f"the worker of this queue finished its job after 1{i}7 ms" for i in range(4)]
    assert rows(*texts) == [f"after 1{i}7 ms" for i in range(1, 4)]


def test_a_column_that_only_repeats_what_others_say_is_left_out_of_the_first_line_too() -> None:
    names = [f"library{chr(97 + i)}" for i in range(14)]
    texts = [
        f"Requirement satisfied: {name} (from {names[i // 4]}->{names[0]}->{names[1]}) ({i}.2.3)"
        for i, name in enumerate(names)
    ]
    family = table(*texts)
    assert family.heading == "Requirement satisfied: librarya (from …) (0.2.3)"
    assert family.rows[0].text == "libraryb\t1.2.3"


def test_prose_of_a_long_table_is_left_out_and_that_of_a_short_one_is_not() -> None:
    texts = [
        f"ii  package{chr(97 + i)}      1.{i}.0-1      all      what the package {chr(97 + i)} is good for"
        + " or not" * (i % 2)
        for i in range(20)
    ]
    assert table(*texts).rows[0].text == "packageb\t1.1.0-1"
    assert table(*texts[:5]).rows[0].text.endswith("is good for or not")


def test_few_lines_and_lines_with_little_in_common_stay_as_they_are() -> None:
    assert not families_of(lines_of("took 17 ms in the end", "took 18 ms in the end"))
    assert not families_of(lines_of("one two three", "four five six", "seven eight nine"))
    texts = [
        f"{word} took 1{i}.5{i}.7" for i, word in enumerate(("extraordinary_things", "happened_today", "in_this_house"))
    ]
    assert not families_of(lines_of(*texts))


def test_lines_that_differ_in_nothing_shown_share_a_row() -> None:
    names = [f"library{chr(97 + i)}" for i in range(12)]
    texts = [
        f"fetched {names[i // 2]} for {names[i // 2]}->{names[0]}->{names[i % 2]} from the mirror" for i in range(12)
    ]
    family = table(*texts)
    assert len(family.members) == 12
    assert len({row.text for row in family.rows}) == len(family.rows)


def test_a_row_that_would_read_as_a_line_of_the_ledger_makes_no_table() -> None:
    texts = [
        f"and the worker says that it found {name} {key}=1{i} count=2{i} in the queue"
        for i, (name, key) in enumerate((("a:", "size"), ("bb:", "length"), ("cc;", "width")))
    ]
    assert not families_of(lines_of(*texts))
    assert families_of(lines_of(*(text.replace(":", ";") for text in texts)))


def test_rows_of_values_alone_keep_their_keys() -> None:
    texts = [f"and the worker says that it found size=1{i} count=2{i} in the queue" for i in range(4)]
    assert rows(*texts)[0] == "size=11 count=21"


def test_rows_keep_the_key_of_their_values() -> None:
    address = "https://files.example.org/{}/harbour.zip"
    texts = [f"Found a link {address.format(i)} (from the index of all), version: 1.{i}.0" for i in range(5)]
    assert rows(*texts) == [f"{address.format(i)}\tversion: 1.{i}.0" for i in range(1, 5)]


def test_a_value_that_no_key_says_what_it_is_keeps_a_rarest_word_of_its_line() -> None:
    texts = [f"so it was that 10.0.0.{i} was so that it was unreachable" for i in range(5)]
    assert rows(*texts) == [f"10.0.0.{i}\tunreachable" for i in range(1, 5)]


def test_numbered_lines_of_a_file_are_no_table() -> None:
    assert not families_of(lines_of(*(f"   {i}\tvalue = compute(this, that, {i}4)" for i in range(10, 20))))


def test_a_log_becomes_a_table_whose_rows_follow_its_first_line() -> None:
    text = "\n".join(f"2026-11-20 08:15:{i:02d} info pool the worker {i}41 of the pool finished well" for i in range(9))
    reduced = survey(DigestSource(item_id="a", text=text, tokens=100, kind="tool_result"), REGISTRY).reduced
    assert [one.lines for one in reduced.tables] == [(text.split("\n")[0],)]
    assert reduced.tables[0].rows == 9
    assert [unit.text for unit in reduced.units] == [
        "",
        *(f"2026-11-20 08:15:{i:02d}\tworker {i}41" for i in range(1, 9)),
    ]


def test_rows_stay_in_the_order_of_their_lines_and_keep_a_word_that_tells_tables_apart() -> None:
    names = ["alpha", "beta", "gamma", "delta"]
    text = "\n".join(
        line
        for n, name in enumerate(names)
        for line in (
            f"running the test {name} of the suite tests/test_a.py",
            f"Failed{name.title()}Error: what {n}47 was",
        )
    )
    frames = "\n".join(
        f'Traceback (most recent call last):\n  File "/srv/app/worker/main.py", line {n}1, in run_{name}\n    go()\n'
        f"{name.title()}Error: it is {name}"
        for n, name in enumerate(names)
    )
    assert units_of(text)[2] == "test beta"
    shown = units_of(frames)
    rows = [shown.index(f"line {n}1\trun_{name}") for n, name in enumerate(names) if n]
    errors = [shown.index(f"{name.title()}Error: it is {name}") for name in names]
    assert sorted(rows + errors) == [errors[0], rows[0], errors[1], rows[1], errors[2], rows[2], errors[3]]


def test_hits_of_a_search_whose_lines_say_the_same_are_rows_of_places() -> None:
    text = "\n".join(f"src/pool/part_{name}.py:{n}7:@dataclass(frozen=True)" for n, name in enumerate("abcdef", 1))
    assert units_of(text) == ["", *(f"src/pool/part_{name}.py:{n}7" for n, name in enumerate("bcdef", 2))]


def test_the_frames_in_one_file_are_a_table_and_the_few_in_others_stay_whole() -> None:
    frames = [f'  File "/srv/app/worker/of/the/pool/main.py", line {n}1, in run_{chr(97 + n)}' for n in range(6)]
    other = '  File "/usr/lib/python3/json/decoder.py", line 77, in decode'
    family = table(*frames[:3], other, *frames[3:])
    assert family.heading == frames[0].strip()
    assert family.members == tuple(frames)


def test_hits_that_say_the_same_stand_together_below_the_first_of_them() -> None:
    ends = ("except Exception:", "except Exception as error:")
    text = "\n".join(f"src/pool/part_{name}.py:{n}7:    {ends[n % 2]}" for n, name in enumerate("abcdefgh", 1))
    odd, even = (["", *(f"src/pool/part_{name}.py:{n}7" for name, n in rest)] for rest in (
        (("c", 3), ("e", 5), ("g", 7)), (("d", 4), ("f", 6), ("h", 8))))  # fmt: skip
    assert units_of(text) == odd + even


def test_lines_that_differ_from_nearly_all_stay_whole() -> None:
    lines = [f"the pool says info that worker {chr(97 + n)} has done {n}47 of its jobs" for n in range(10)]
    lines[4] = lines[4].replace("info", "ERROR")
    family = table(*lines)
    assert lines[4] not in family.members
    assert family.rows[0].text == "info\tb\t147"


def test_long_addresses_are_left_out_of_rows_that_have_a_name_without_them() -> None:
    address = "https://files.example.org/packages/98/6c/876ca5c3804f5c2bd2a4a1b4/harbour-1.3.{}-{}.whl"
    names = [f"harbour-cp3{n}-linux" for n in range(14)]
    family = table(
        *(f"Skipping link: {name} is not compatible here: {address.format(n, name)}" for n, name in enumerate(names))
    )
    assert family.heading == "Skipping link: harbour-cp30-linux is not compatible here: …"
    assert family.rows[0].text == "harbour-cp31-linux"


def units_of(text: str) -> list[str]:
    source = DigestSource(item_id="a", text=text, tokens=100, kind="tool_result")
    return [unit.text for unit in survey(source, REGISTRY).reduced.units]


_WORD = st.one_of(
    st.sampled_from(["error", "took", "ms", "(from", "a->b)", "v1.2.3", ">=0.27.0", "2026-11-20", "08:15:07", "+0000"]),
    st.sampled_from(
        ["12", "exit", "code", "status", "404", "/srv/a/b.py:12", "C:\\x\\y.py", "k=4", "k=5,", "'q'", "'w"]
    ),
    st.sampled_from(
        ["x]", "3.4", "MB", "<none>", "é", "-", "https://example.org/a?b=1", "#12", "HTTP", "$", "100%", "…"]
    ),
)
_LINES = st.lists(st.lists(_WORD, min_size=1, max_size=7).map(" ".join), min_size=3, max_size=12)


def _alike(head: list[str], tails: list[list[str]], end: list[str]) -> list[str]:
    return [" ".join([*head, *tail, *end]) for tail in tails]


_ALIKE = st.builds(
    _alike,
    st.lists(_WORD, min_size=1, max_size=4),
    st.lists(st.lists(_WORD, min_size=2, max_size=2), min_size=3, max_size=16),
    st.lists(_WORD, max_size=2),
)


@given(st.one_of(_LINES, _ALIKE))
def test_every_cell_stands_whole_and_in_order_in_its_line(texts: list[str]) -> None:
    lines = lines_of(*dict.fromkeys(texts))
    by_text = {line.text: line for line in lines}
    for family in families_of(lines):
        assert set(family.members) <= by_text.keys()
        pattern = ".*".join(re.escape(part) for part in family.heading.split("…"))
        assert re.fullmatch(rf"\s*{pattern}\s*", family.members[0]) or "…" in family.members[0]
        for row in family.rows:
            at = 0
            for cell in row.text.split("\t"):
                at = row.line.find(cell, at)
                assert at >= 0
                at += len(cell)


@given(st.one_of(_LINES, _ALIKE))
def test_every_specific_of_a_line_is_in_its_row_or_in_the_heading_or_was_left_out_of_both(texts: list[str]) -> None:
    lines = lines_of(*dict.fromkeys(texts))
    by_text = {line.text: line for line in lines}
    for family in families_of(lines):
        if "…" in family.heading:
            continue
        for row in family.rows:
            for mark in by_text[row.line].marks:
                value = row.line[mark.start : mark.end]
                assert mark.spec in (*row.specs, *family.specs) or value in family.heading


@given(st.one_of(_LINES, _ALIKE))
def test_no_row_says_what_the_registry_does_not_find_in_its_line(texts: list[str]) -> None:
    for family in families_of(lines_of(*dict.fromkeys(texts))):
        for row in family.rows:
            assert {text for _, text in REGISTRY.set_of(row.text)} <= {text for _, text in REGISTRY.set_of(row.line)}


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        " ".join("ab" * 60_000),
        "=" * 50_000 + "(" * 50_000,
        "\n".join("." * (n % 900) + f" {n}" for n in range(2_000)),
        "\n".join(f"{'x' * 400} {n} y z" for n in range(500)),
        "\n".join(" ".join("abcdefgh"[: n % 7 + 2]) + f" {n % 977}" for n in range(6_000)),
    ],
)
def test_hostile_lines_take_linear_time(text: str) -> None:
    """A quadratic pattern or comparison would not come back from these."""
    families_of(lines_of(*dict.fromkeys(text.split("\n"))))


def test_a_line_is_compared_with_few_skeletons() -> None:
    """Else ten thousand lines of no skeleton would be compared with each other; one of a single line is forgotten."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    alike = [f"the worker of {letters[n]} has finished its job" for n in range(4)]
    strange = [" ".join(first + letters[n] for n in range(8)) for first in letters]
    assert families_of(lines_of(*alike, *strange))
    assert families_of(lines_of(*alike[:2], *strange, *alike[2:]))
    assert not families_of(lines_of(*alike[:1], *strange, *alike[1:3]))


@given(
    st.lists(st.sampled_from(["a_b c=1", "a_b c=2", "a_b c=3", "read_file of 12 bytes", "", "Traceback: no", "x  y"]))
)
def test_names_counted_for_tables_are_those_of_the_whole_text(texts: list[str]) -> None:
    found = survey(DigestSource(item_id="x", kind="tool_result", text="\n".join(texts), tokens=1), REGISTRY)
    assert found.reduced.names in (None, names_of(found.lines))


@given(
    st.text("ab \t", min_size=12, max_size=12), st.lists(st.tuples(st.integers(0, 11), st.integers(1, 6)), min_size=1)
)
def test_one_more_column_makes_no_row_shorter(text: str, starts_and_widths: list[tuple[int, int]]) -> None:
    """A table that is too long with the columns it must have is given up before others are looked for."""
    columns = [[(start, min(12, start + width))] for start, width in starts_and_widths]
    fewer, more = shown_of([Line(text)], columns[:-1])[0].text, shown_of([Line(text)], columns)[0].text
    assert len(fewer) <= len(more)
