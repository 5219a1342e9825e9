"""What is chosen first, and how it is printed: outcomes at every budget, one of each kind before more of the same,
each line below its own heading."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.fill import Filling, Item, printed
from palimpsest_mcp.digest.rank import Need
from palimpsest_mcp.digest.records import Record, Table
from palimpsest_mcp.digest.source import Source

from .conftest import Bench, PlainCounter

WORDS = ["ash", "birch", "cedar", "elm", "fir", "holly", "larch", "maple", "oak", "pine", "rowan", "yew"]


def _item(*records: Record, outcomes: frozenset[int] = frozenset(), tables: tuple[Table, ...] = ()) -> Item:
    source = Source("")
    source.reading.records += records
    source.reading.tables += tables
    source.forms += ["prose"] * len(records)
    item = Item(
        records=records,
        free=range(len(records)),
        need=Need("prose"),
        values={},
        specs=[[()] * max(1, len(record.cells)) for record in records],
        outcomes=outcomes,
    )
    item.encode(source)
    return item


def _filled(item: Item, room: int) -> list[str]:
    Filling([item], frozenset(), PlainCounter().count).fill(room)
    return [one.text for one in printed(item)]


def _expanded(template: str, values: list[str]) -> str:
    return re.sub(r"<(\d)>", lambda slot: values[int(slot[1]) - 1], template)


def _headed(*rows: tuple[str, str]) -> list[Record]:
    """Records with a heading above each: (heading, text)."""
    records: list[Record] = []
    heads: dict[str, int] = {}
    for heading, text in rows:
        if heading not in heads:
            heads[heading] = len(records)
            records.append(Record(heading, "heading", at=len(records)))
        records.append(Record(text, under=heads[heading], at=len(records)))
    return records


@given(st.integers(0, 400), st.integers(0, 11))
def test_what_says_how_it_went_stands_whatever_the_room(room: int, place: int) -> None:
    records = [Record(f"{word} words of a line that says little", at=n) for n, word in enumerate(WORDS)]
    records[place] = Record("3 failed, 12 passed in 4.1s", "outcome", 4.0, at=place)
    assert "3 failed, 12 passed in 4.1s" in _filled(_item(*records, outcomes=frozenset({place})), room)


def test_one_of_each_kind_comes_before_more_of_the_same() -> None:
    """Twelve errors of one shape and one of another, and room for a few of them."""
    shape = "ERROR: worker lost the connection to the host {}"
    same = [Record(shape.format(word), "error", 2.0, at=n) for n, word in enumerate(WORDS)]
    other = Record("ERROR: no space left on the device that holds the journal", "error", 2.0, at=12)
    text = _filled(_item(*same, other), 70)
    assert text[-1] == other.text
    assert re.fullmatch(r"\[[1-6] of 12 like\] ERROR: .*", text[0])


def test_what_tells_more_comes_first() -> None:
    """Lines of the same length."""
    texts = ("seen once from afar", "jobs wait here idle", "disk full unit nine", "done with most work")
    kinds = ("noise", "line", "error", "outcome")
    records = [Record(text * 3, kind, at=n) for n, (text, kind) in enumerate(zip(texts, kinds, strict=True))]
    found = {frozenset(_filled(_item(*records), room)) for room in range(0, 160, 5)}
    told = [record.text for record in reversed(records)]
    assert found - {frozenset(told)} == {frozenset(told[:n]) for n in range(4)}


@given(
    st.lists(st.tuples(st.sampled_from(["## A", "## B", "src/lib:"]), st.sampled_from(WORDS)), min_size=1, max_size=14),
    st.integers(5, 300),
)
def test_the_heading_above_a_line_is_its_own(rows: list[tuple[str, str]], room: int) -> None:
    """D15."""
    rows = [(heading, f"{word} stands in it as number {n * n + 7}") for n, (heading, word) in enumerate(rows)]
    rows.sort()
    own = {text: heading for heading, text in rows}
    above = ""
    template: list[str] = []
    for line in _filled(_item(*_headed(*rows)), room):
        if line.strip() in own.values():
            above = line.strip()
        elif head := re.fullmatch(r"\[\d+ of \d+ like\] (.*)", line):
            template = [head[1]]
        else:
            text = _expanded(template[0], line.strip().split("|")) if line[:1] == " " else line
            if text in own:
                assert above == own[text], line


def test_rows_of_a_block_stand_below_their_own_heading_in_it() -> None:
    records = _headed(
        *[(heading, f"{word} took {n * 37} ms") for heading in ("## A", "## B") for n, word in enumerate(WORDS)]
    )
    text = _filled(_item(*records), 10_000)
    (head,) = [line for line in text if " like] " in line]
    assert head.startswith("[24 of 24 like] ")
    assert [n for n, line in enumerate(text) if line.strip() in ("## A", "## B")] == [1, 14]


def test_a_partial_list_says_so_where_it_stands() -> None:
    """D19."""
    records = [Record(f"took {n * 37} ms for /srv/{n * 91}.json in all", at=n) for n in range(60)]
    head, *rows = _filled(_item(*records), 200)
    assert 0 < len(rows) < 60 and head.startswith(f"[{len(rows)} of 60 like] took <1> ms for ")


def test_runs_of_numbers_are_said_as_first_and_last() -> None:
    records = [Record(f"debug: probe host edge-{n} ok rtt={n}ms", at=n) for n in (*range(7, 31), 41, 42, 44)]
    assert _filled(_item(*records), 10_000) == [
        "[27 of 27 like] debug: probe host edge-<1> ok rtt=<1>ms",
        " 7–30 41 42 44",
    ]
    records = [Record(f"debug: probe host edge-{n:03} ok rtt={n:03}ms", at=n) for n in range(8, 13)]
    assert _filled(_item(*records), 10_000)[-1] == " 008–012"


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_a_line_that_is_repeated_is_not_shown_again_and_again(bench: Bench, share: float) -> None:
    others = "\n".join(f"{word} is said once and for all time" for word in WORDS)
    text = "nothing to see in this line at all\n" * 60 + others
    lines = bench.digest(text, share=share).parts[0].text
    assert lines.count("nothing to see") <= 3
