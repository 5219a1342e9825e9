"""Rows below the line that says what they share: nothing of a table is lost, moved or cut in the wrong place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.blocks import Block, Unit, encoded
from palimpsest_mcp.digest.notation import CUT, SEPARATORS
from palimpsest_mcp.digest.records import Reading, Record, Table
from palimpsest_mcp.digest.templates import mined


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]], key: int = 0) -> Reading:
    records = [Record("|".join(row), "row", table=0, cells=row, at=n) for n, row in enumerate(rows)]
    return Reading(records, [Table(columns, key=key)])


def _encoded(reading: Reading, narrow: dict[int, tuple[int, ...]] | None = None) -> tuple[list[Unit], list[Block]]:
    every = range(len(reading.records))
    lines = [n for n in every if reading.records[n].table < 0]
    return encoded(reading, every, mined(reading.records, lines), narrow)


def _named(part: str) -> bool:
    return "=" in part


def _decoded(block: Block, units: list[Unit]) -> list[dict[str, str]]:
    """As a reader does it: column -> value, by the printed text alone."""
    separator = next((one for one in SEPARATORS if one in block.head), "")
    said: dict[str, str] = {}
    for line in block.lines:
        if line.startswith("[all "):
            values = line.partition("] ")[2]
            splits = ([values], *(values.split(one) for one in separator or SEPARATORS))
            said |= dict(part.split("=", 1) for part in max((one for one in splits if all(map(_named, one))), key=len))
    columns = block.head.split(separator) if separator else [block.head]
    rows = [one.text.split(separator) if separator else [one.text] for one in units]
    return [said | dict(zip(columns, row, strict=True)) for row in rows]


_CELL = st.sampled_from(["", "up", "1.10", "a b", "never", "10.0.0.1", "(1,204)", "x|y", "é", "2026-11-20"])


@given(
    st.integers(2, 5).flatmap(lambda width: st.lists(st.tuples(*[_CELL] * width), min_size=1, max_size=12)),
    st.data(),
)
def test_every_row_reads_back_under_its_columns(rows: list[tuple[str, ...]], data: st.DataObject) -> None:
    width = len(rows[0])
    columns = tuple("abcde"[:width])
    key = data.draw(st.integers(0, width - 1))
    kept = data.draw(st.none() | st.sets(st.sampled_from(range(width)), min_size=1))
    reading = _table(columns, rows, key)
    units, (block,) = _encoded(reading, None if kept is None else {0: tuple(sorted(kept))})
    shown = range(width) if kept is None else sorted(kept)
    assert [unit.records for unit in units] == [(n,) for n in range(len(rows))] and block.total == len(rows)
    for row, found in zip(rows, _decoded(block, units), strict=True):
        assert {name: value for name, value in found.items() if value} == {columns[n]: row[n] for n in shown if row[n]}
    left_out = [columns[n] for n in range(width) if n not in shown]
    assert [line for line in block.lines if "left out" in line] == (
        [f"[columns left out: {', '.join(left_out)}]"] if left_out else []
    )


def test_a_value_that_never_varies_is_said_once_and_the_key_stands_first() -> None:
    rows = [(f"edge-{n}", "up", f"10.0.0.{n}", "") for n in range(3)]
    units, (block,) = _encoded(_table(("name", "state", "host.ip", "note"), rows, key=2))
    assert (block.head, block.lines) == ("host.ip|name", ("[all 3 rows] state=up",))
    assert [unit.text for unit in units] == ["10.0.0.0|edge-0", "10.0.0.1|edge-1", "10.0.0.2|edge-2"]
    units, (block,) = _encoded(_table(("name", "state", "host.ip", "note"), rows[:2]))
    assert block.head == "name|state|host.ip|note", "two rows may be equal by chance"


def test_the_separator_is_one_that_no_cell_holds() -> None:
    for cell, separator in (("a", "|"), ("a|b", "¦"), ("a|b¦c", "‖")):
        units, (block,) = _encoded(_table(("x", "y"), [(cell, "1"), ("b", "2")]))
        assert block.head == f"x{separator}y" and units[0].text == f"{cell}{separator}1"
    _, (block,) = _encoded(_table(("x|z", "y"), [("a", "1"), ("b", "2")]))
    assert block.head == "x|z¦y"


def test_a_newline_in_a_cell_is_a_mark() -> None:
    units, _ = _encoded(_table(("x", "y"), [("one\ntwo", "1"), ("b", "2")]))
    assert units[0].text == "one ⏎ two|1"


@given(st.lists(st.text("abc1 ,", min_size=1, max_size=30), min_size=1, max_size=60))
def test_a_long_line_is_cut_between_words_and_marked(words: list[str]) -> None:
    text = " ".join(["beginning", *" ".join(words).split()] * 4)
    (unit,), _ = encoded(Reading([Record(text)]), [0], [])
    if unit.cut:
        piece = unit.text.removesuffix(CUT).rstrip()
        assert len(text) > 400 and len(unit.text) <= 250 and text.startswith(piece)
        assert not piece or not (piece[-1].isalnum() and text[len(piece)].isalnum())
    else:
        assert unit.text == text


def test_a_sentence_that_decides_something_is_never_cut() -> None:
    text = f"Never restart it {'while it copies ' * 60}"
    (unit,), _ = encoded(Reading([Record(text, "claim")]), [0], [])
    assert unit.text == text and not unit.cut


def test_one_slot_without_blanks_stands_on_one_line_and_others_row_by_row() -> None:
    words = ("ash", "birch", "cedar", "elm", "fir", "holly")
    reading = Reading([Record(f"src/lib/{name}.py") for name in words])
    units, (block,) = _encoded(reading)
    assert not block.spread and block.noun == "like" and block.head == "src/lib/<1>"
    assert [unit.text for unit in units] == [f"{word}.py" for word in words]
    reading = Reading([Record(f"took {n * 37} ms for /srv/{n * 91}.json in all") for n in range(4)])
    _, (block,) = _encoded(reading)
    assert block.spread


def test_rows_and_lines_come_in_source_order() -> None:
    records = [Record("first of all"), *(Record(f"{n}", "row", table=0, cells=(f"{n}", "x")) for n in range(4))]
    records[3:3] = [Record("between them")]
    units, _ = _encoded(Reading(records, [Table(("a", "b"))]))
    assert [unit.records[0] for unit in units] == list(range(6))
