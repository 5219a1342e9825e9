"""A digest read back without its source: what a probe, or a later digest, finds in it."""

from __future__ import annotations

from palimpsest_mcp.digest.notation import expanded, with_columns


def test_rows_of_a_template_are_whole_lines_again() -> None:
    part = "[4 of 40 like] OPS-<1> of group <1> waits\n 098–100 105"
    lines = [f"OPS-{n} of group {n} waits" for n in ("098", "099", "100", "105")]
    assert expanded(part).split("\n") == lines


def test_a_value_with_blanks_is_one_and_a_heading_among_rows_stays_one() -> None:
    assert expanded("[1 of 9 like] wrote <1>\n part 4 of 7") == "wrote part 4 of 7"
    part = "[2 of 9 like] <1> took <2> ms ⏎ It ended <1>.\n load|30\n /srv/d100:\n sort|41"
    shown = ["load took 30 ms", "It ended load.", "/srv/d100:", "sort took 41 ms", "It ended sort."]
    assert expanded(part).split("\n") == shown


def test_rows_of_a_table_stand_once_more_beside_the_names_of_their_columns() -> None:
    part = "[2 of 70 rows] name¦cost\n[all 70 rows] state=up\n[columns left out: url]\n a|b¦300\n c¦"
    shown = ["state=up", "name¦cost", "a|b¦300", "name=a|b", "cost=300", "c¦", "name=c"]
    assert expanded(part).split("\n") == shown


def test_what_stands_in_no_block_stays_without_its_mark() -> None:
    part = "[item 2 Bash ls: 3 lines]\nplain\n»   [3 of 4 like] a line of the source\n[names] a.py b.py"
    assert expanded(part) == "[item 2 Bash ls: 3 lines]\nplain\n  [3 of 4 like] a line of the source\na.py b.py"


def test_a_table_that_takes_its_columns_from_an_earlier_item_has_them_beside_it() -> None:
    first = "[2 of 9 flights] number|price\n HAT1|300\n HAT2|400"
    second = "[item 2]\n[1 of 2 flights as item 1]\n HAT3|500\n[1 of 4 gates as item 1]\n A1|B2"
    found = with_columns([first, second])
    assert found[0] == first
    assert "number=HAT3" in expanded(found[1]).split("\n")
    assert "[1 of 4 gates as item 1]" in found[1], "no earlier item says these columns"
