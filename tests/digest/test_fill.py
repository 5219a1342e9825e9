"""What is chosen first, and how it is printed: outcomes at every budget, one of each kind before more of the same,
each line below its own heading."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.fill import Filling
from palimpsest_mcp.digest.item import Item
from palimpsest_mcp.digest.lines import printed
from palimpsest_mcp.digest.rank import Need
from palimpsest_mcp.digest.records import Record, Table
from palimpsest_mcp.digest.source import Source

from .conftest import Bench, PlainCounter

WORDS = ["ash", "birch", "cedar", "elm", "fir", "holly", "larch", "maple", "oak", "pine", "rowan", "yew"]


def _item(
    *records: Record,
    outcomes: frozenset[int] = frozenset(),
    tables: tuple[Table, ...] = (),
    need: Need | None = None,
) -> Item:
    source = Source("")
    source.reading.records += records
    source.reading.tables += tables
    source.forms += ["prose"] * len(records)
    item = Item(
        records=records,
        free=range(len(records)),
        need=need or Need("prose"),
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
    for line in (one.removesuffix(" …") for one in _filled(_item(*_headed(*rows)), room)):
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


def test_what_holds_several_definitions_is_said_once() -> None:
    item = _item(
        Record("class Queue:", "definition"),
        Record("def put(self):", "definition", under=0),
        Record("raise Full(self)", "error", under=1),
        Record("def take(self):", "definition", under=0),
        Record("raise Empty(self)", "error", under=3),
    )
    assert _filled(item, 1_000).count("class Queue:") == 1


def test_a_sentence_that_goes_over_lines_is_shown_whole() -> None:
    text = (
        "The first of the houses that she saw when she came over the hill was empty\n"
        "and had been so for as long as anybody in the village could remember.\n"
        "Nobody knew why; some said that the owner had gone to sea, and others said\n"
        "that he had never lived in it at all."
    )
    records = [Record(line, at=n) for n, line in enumerate(text.split("\n"))]
    item = _item(*records)
    assert [unit.records for unit in item.units] == [(0, 1), (2, 3)]
    assert _filled(item, len(text) // 4) in (text.split("\n")[:2], text.split("\n")[2:])


def test_lines_that_end_or_begin_something_are_not_taken_together() -> None:
    full = "a line that is as long as a line of a paragraph that was broken to fit"
    apart = [Record(full, at=0), Record("- an item", at=1), Record(f"{full}:", at=3), Record("what follows it", at=4)]
    item = _item(*apart, Record("short", at=5), Record("and another", at=6))
    assert [unit.records for unit in item.units] == [(n,) for n in range(6)]


def test_a_sentence_that_is_not_shown_to_its_end_says_so() -> None:
    text = (
        "She saw that the house at the end of the lane, which had been empty for\n"
        "as long as anybody could remember, had smoke above its chimney and\n"
        "a light in one of the windows; and since nobody in the village had\n"
        "spoken of it, she went up to the gate, which was open, and then on to\n"
        "the garden, where somebody had begun to dig between the old roses and\n"
        "had left a spade, a basket with a lid and a pair of gloves lying by\n"
        "the door."
    )
    item = _item(*(Record(line, at=n) for n, line in enumerate(text.split("\n"))))
    item.taken = {0}
    assert "\n".join(one.text for one in printed(item)) == text.removesuffix("\nthe door.") + " …"
    item.taken = {0, 1}
    assert "\n".join(one.text for one in printed(item)) == text


def test_numbered_lines_need_no_heading_twice() -> None:
    item = _item(
        Record("1→def put(self):", "definition"),
        Record("2→    def inner():", "definition", under=0),
        Record("3→        raise Full(self)", "error", under=1),
        Record("4→    raise Empty(self)", "error", under=0),
    )
    assert _filled(item, 1_000).count("1→def put(self):") == 1


def test_a_command_that_goes_over_lines_stays_whole() -> None:
    text = "python make.py \\\n--size 3 \\\n--to out.png\nThen look at it."
    item = _item(*(Record(line, at=n) for n, line in enumerate(text.split("\n"))))
    assert [unit.records for unit in item.units] == [(0, 1, 2), (3,)]


def test_of_a_page_its_title_and_address_come_first(bench: Bench) -> None:
    """A claim without its source is worth nothing to whoever has to name it."""
    pages = [
        json.dumps(
            {
                "title": f"Manual {n}: storage",
                "url": f"https://store-{n}.example/docs",
                "text": "\n".join(
                    f"The limit of queue {k * n} is {k * 137 + n} and nobody may raise it" for k in range(40)
                ),
            }
        )
        for n in range(1, 4)
    ]
    digest = bench.digest(*pages, share=0.15)
    for n, part in enumerate(digest.parts, 1):
        assert f"https://store-{n}.example/docs" in part.text or "; 3 fields" in part.text
    assert "https://store-1.example/docs" in bench.digest(pages[0], share=0.15).parts[0].text


def test_a_paragraph_after_a_list_does_not_say_their_heading_again() -> None:
    item = _item(
        Record("## Style", "heading"),
        Record("Focus on:", "heading", 0.0, under=0),
        Record("- Typography: choose fonts that are beautiful and unique, never generic ones", "line", under=1),
        Record("Elegance comes from executing the vision well, whatever it is", "line", under=0),
        Record("## Branding", "heading"),
        Record("Every page has a signature that opens the home page in a new tab", "line", under=4),
        Record("Elegance of another kind comes from leaving things out", "line", under=0),
    )
    shown = _filled(item, 1_000)
    at = next(n for n, line in enumerate(shown) if line.startswith("- Typography"))
    assert shown[at + 1].startswith("Elegance comes")
    assert shown.count("## Style") == 2, "after another section it must be said again"


def test_a_line_that_is_cut_does_not_count_as_shown_and_a_row_or_an_outcome_does() -> None:
    """A row stands in the count above it, and how it went is said at the beginning."""
    long = " ".join(f"{word} and whatever grows around it" for word in WORDS * 3)
    rows = [Record(f"{word}|{word} {long}", "row", table=0, cells=(word, f"{word} {long}")) for word in WORDS[:3]]
    item = _item(
        *rows, Record(long, at=4), Record(f"failed: {long}", "outcome", at=5), tables=(Table(("name", "note")),)
    )
    item.taken = {n for n, unit in enumerate(item.units) if not unit.span}
    lines = [one.text for one in printed(item)]
    assert lines[0] == "[3 of 3 rows] name|note" and sum(line.endswith(" …") for line in lines) == 5
    assert item.printed == {0, 1, 2, 4}


def _line(words: int, first: int) -> str:
    return " ".join((WORDS * 2)[first : first + words])


@pytest.mark.parametrize("room", range(40, 130, 6))
def test_when_what_stands_above_a_row_is_paid_for_its_neighbours_come_before_dearer_lines(room: int) -> None:
    """Two of nine line numbers were told: all that a search for the lines had to say."""
    numbers = (9, 34, 54, 73, 94, 117, 138, 160, 236)
    hits = [Record(f"{n}:const markdown = new Markdown(", "hit", at=place) for place, n in enumerate(numbers)]
    found = _item(*hits, need=Need("search", ["Markdown of the harbour", "rowan"]))
    lines = [Record(f"{_line(6, n)} rowan stands here by itself", at=n) for n in range(9)]
    other = _item(*lines, need=Need("prose", ["rowan is asked"]))
    Filling([found, other], frozenset(), PlainCounter().count).fill(room)
    assert printed(found)[-1].text.split() == [str(n) for n in numbers]


LINES = st.tuples(st.sampled_from(WORDS[:3]), st.builds(_line, st.sampled_from([2, 3, 8, 12]), st.integers(0, 9)))
STEPS = st.lists(st.tuples(st.integers(5, 60), st.integers(0, 30), st.booleans()), min_size=2, max_size=8)


@given(st.lists(st.lists(LINES, min_size=3, max_size=9), min_size=1, max_size=2), STEPS)
def test_a_batch_that_was_filled_before_is_filled_as_a_new_one(
    texts: list[list[tuple[str, str]]], steps: list[tuple[int, int, bool]]
) -> None:
    items = [_item(*_headed(*rows)) for rows in texts]
    numbers: dict[str, int] = {}
    for n, item in enumerate(items):
        item.name([(f"{word}_{n % 2}", 1.0 / place) for place, word in enumerate(WORDS[:4], 1)], numbers, {})

    def new() -> Filling:
        return Filling(items, frozenset(), PlainCounter().count)

    def filled(filling: Filling, room: int) -> tuple[int, list[tuple[set[int], list[str], set[int]]]]:
        filling.fill(room)
        return filling.spent, [(set(item.taken), list(item.listed), set(item.heads)) for item in items]

    kept = new()
    for room, banned, silent in steps:
        assert filled(kept, room) == filled(new(), room)
        items[0].silent = silent and banned > 20 and len(items) > 1
        items[-1].banned ^= {banned} & set(range(len(items[-1].units)))
