"""JSON and its kin become records: every value with its own object, whatever the shape of the tree."""

from __future__ import annotations

import itertools
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.readers import json as reader
from palimpsest_mcp.digest.records import Reading, Record
from palimpsest_mcp.digest.source import Source

from .conftest import Bench

Tree = dict[str, Any]

_KEYS = st.sampled_from(["id", "name", "host", "cost", "items", "tags", "status", "a1"])


def told(text: str) -> Reading:
    lines = text.split("\n")
    end = reader.claims(lines, 0)
    assert end == len(lines)
    return reader.read(lines)


def said(reading: Reading, record: Record) -> dict[str, str]:
    """Names and values of a record."""
    if record.kind == "row":
        return dict(zip(reading.tables[record.table].columns, record.cells, strict=True))
    pieces = record.text.split(": ", 1)[-1].split("|")
    return dict(piece.split("=", 1) for piece in pieces if "=" in piece)


def objects(depth: int) -> st.SearchStrategy[Tree]:
    inner = (
        st.none() if not depth else st.one_of(st.none(), objects(depth - 1), st.lists(objects(depth - 1), max_size=4))
    )
    return st.dictionaries(_KEYS, inner, min_size=1, max_size=5)


def numbered(tree: Any, count: Any) -> Any:
    """The tree with a value of its own in the place of each None."""
    if isinstance(tree, dict):
        return {key: numbered(value, count) for key, value in cast(Tree, tree).items()}
    if isinstance(tree, list):
        return [numbered(value, count) for value in cast(list[Any], tree)]
    return f"v{next(count)}"


def owners(tree: Any) -> list[dict[str, str]]:
    """The scalar leaves of each object."""
    if isinstance(tree, list):
        return [found for value in cast(list[Any], tree) for found in owners(value)]
    if not isinstance(tree, dict):
        return []
    leaves = cast(Tree, tree)
    mine = {key: value for key, value in leaves.items() if isinstance(value, str)}
    return [mine] * bool(mine) + [found for value in leaves.values() for found in owners(value)]


@given(st.one_of(objects(3), st.lists(objects(2), min_size=1, max_size=6)), st.sampled_from([None, 1]), st.booleans())
def test_every_value_stands_with_the_other_values_of_its_object_under_its_own_name(
    shape: Any, indent: int | None, python: bool
) -> None:
    tree = [numbered(shape, itertools.count(1000)), {"padding": "p" * 60}]
    reading = told(repr(tree) if python else json.dumps(tree, indent=indent))
    records = [said(reading, record) for record in reading.records]
    for mine in owners(tree[0]):
        holders = [[r for r in records if any(n.endswith(k) and r[n] == v for n in r)] for k, v in mine.items()]
        # An object with many leaves has several records: each begins with what names it.
        assert any(all(any(r.items() & first.items() for r in each) for each in holders) for first in holders[0])
        for name, value in mine.items():
            for found in records:
                for column in found:
                    assert found[column] != value or column.rpartition(".")[2].strip("()") == name


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=2, max_size=6))
def test_nested_rows_begin_with_the_key_of_the_row_that_they_belong_to(shape: list[list[int]]) -> None:
    orders: list[Tree] = [
        {"order_id": f"#W{n:04}", "total": 10, "items": [{"sku": f"s{n}-{m}", "qty": q} for m, q in enumerate(items)]}
        for n, items in enumerate(shape)
    ]
    reading = told(json.dumps({"note": "n" * 60, "orders": orders}))
    for order in orders:
        for item in order["items"]:
            (record,) = [said(reading, r) for r in reading.records if item["sku"] in r.text]
            assert record == {"order_id": order["order_id"], "sku": item["sku"], "qty": str(item["qty"])}


def test_numbers_are_told_as_written() -> None:
    reading = told('[{"id": "first", "price": 1.10, "large": 1E5}, {"id": "second", "price": 20.00, "large": null}]')
    assert [record.text for record in reading.records] == [
        "first|1.10|1E5",
        "second|20.00|null",
    ]


def test_a_map_from_ids_to_objects_is_a_table_that_begins_with_the_ids() -> None:
    cards = {f"card_{n}": {"brand": "visa", "last_four": f"74{n}"} for n in range(44, 47)}
    reading = told(json.dumps({"email": "mia@example.com", "payment_methods": cards}))
    assert [record.text for record in reading.records] == [
        "email=mia@example.com",
        "card_44|visa|7444",
        "card_45|visa|7445",
        "card_46|visa|7446",
    ]
    assert reading.tables[0].columns == ("payment_methods", "brand", "last_four")
    assert reading.tables[0].noun == "payment_methods"


def test_the_rows_of_a_query_have_cells_without_names() -> None:
    reading = told("[('Joseph Huts', Decimal('34.50'), None), ('Anne Walker', Decimal('7.00'), b'int')]")
    assert [record.cells for record in reading.records] == [
        ("Joseph Huts", "34.50", "None"),
        ("Anne Walker", "7.00", "int"),
    ]
    assert reading.tables[0].columns == ()


def test_the_one_row_with_another_status_is_worth_more() -> None:
    hosts = [{"host": f"edge-{n}", "state": "DRAINING" if n == 13 else "up"} for n in range(60)]
    reading = told("\n".join(map(json.dumps, hosts)))
    assert [record.cells[0] for record in reading.records if record.worth > 1] == ["edge-13"]


def test_a_long_string_is_lines_under_a_record_that_says_whose_it_is() -> None:
    files = [{"path": f"src/{n}.py", "content": "\n".join(f"line {i} of {n}" for i in range(40))} for n in "ab"]
    reading = told(json.dumps(files))
    (line,) = [record for record in reading.records if record.text == "line 7 of b"]
    assert reading.records[line.under].text == "content: path=src/b.py"


def test_a_tree_in_a_string_is_read_as_a_tree() -> None:
    inner = [{"id": f"EK{n}", "phone": f"27.25.{n}"} for n in range(10, 13)]
    reading = told(json.dumps({"error": "", "response": json.dumps(inner)}))
    assert [record.text for record in reading.records[1:]] == ["EK10|27.25.10", "EK11|27.25.11", "EK12|27.25.12"]


def test_a_list_whose_middle_was_cut_out_is_read_before_the_gap_and_behind_it() -> None:
    rows = json.dumps([{"login": f"user-{n}", "id": 1000 + n} for n in range(60)], indent=2).split("\n")
    reading = told("\n".join([*rows[:121], '    "log', "[... truncated ...]", *rows[170:-1]]))
    shown = [record.cells[0] for record in reading.records if record.kind == "row" and record.cells[0]]
    assert shown == [f"user-{n}" for n in (*range(30), *range(43, 60))]
    assert "[... truncated ...]" in [record.text for record in reading.records]


def test_words_before_a_tree_are_the_path_of_its_values() -> None:
    reading = told('Updated todo list: {"first": {"content": "Search the archive", "status": "pending"}}')
    assert reading.records[0].text == "Updated todo list.first: content=Search the archive|status=pending"


def test_a_tree_within_prose_ends_where_the_prose_goes_on() -> None:
    lines = ["The answer was", '{"host": "edge-11", "reason": "certificate has expired since Monday"}', "and so on."]
    assert [reader.claims(lines, at) for at in range(3)] == [0, 2, 2]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 100_000,
        "[\n" * 100_000,
        "[1,\n" * 100_000,
        "{\n" * 100_000,
        '"' * 300_000,
    ],
    ids=["brackets", "objects", "lines", "elements", "braces", "quotes"],
)
def test_what_only_looks_like_a_tree_is_refused(text: str) -> None:
    lines = text.split("\n")
    assert all(reader.claims(lines, at) == at for at in range(0, len(lines), 1 + len(lines) // 500))


@given(st.text(alphabet="{}[](),:\"'\\a1 \n", max_size=200))
def test_broken_text_never_raises_and_no_claimed_line_is_lost(text: str) -> None:
    lines = (text + '\n{"a": [{"b": "' + "c" * 600 + '"}, ' + text).split("\n")
    at = 0
    while at < len(lines):
        end = reader.claims(lines, at)
        if end > at:
            assert reader.read(lines[at:end]).records
        at = max(end, at + 1)


def test_hits_of_a_search_are_named_by_their_titles_and_the_best_are_worth_most() -> None:
    hits = [
        {"url": f"https://example.org/{n}", "title": f"Page {n} of it", "snippet": "It says " * 9} for n in range(5)
    ]
    lines = json.dumps(hits, indent=2).splitlines()
    found = reader.read(lines)
    table = found.tables[0]
    assert table.columns[table.key] == "title"
    worth = [record.worth for record in found.records if record.kind == "row"]
    assert worth[0] == worth[2] > worth[3] == worth[4] > 1


def test_leaves_that_are_masked_take_no_place_of_those_that_say_something(bench: Bench) -> None:
    mail, born = "[redacted:email:abcdefgh]", "[redacted:birth-date:ijklmnop]"
    leaves = {"email": mail, "dob": born, "membership": "gold", "reservations": ["NO6JO3", "AIXC49"], "points": 71}
    text = json.dumps(leaves) + "\n" + "Nothing else was found about this member of the club.\n" * 3
    (part,) = bench.digest(text, share=0.6).parts
    assert "membership=gold" in part.text and "NO6JO3" in part.text
    assert mail not in part.text and born not in part.text
    masked = [one for one in reader.read([json.dumps(leaves)]).records if "redacted" in one.text]
    assert {one.kind for one in masked} == {"noise"}


def test_the_first_sentences_of_what_a_search_found_tell_more_than_the_rest_and_clicks_nothing() -> None:
    text = "528000 subscribers\n#ai #talk\nShe built ImageNet.\nIt began in 2006.\nThe studio was cold.\nIt rained."
    hits = [{"title": f"Talk {n}", "url": f"https://a.test/{n}", "snippet": text * 9} for n in range(2)]
    told = {one.text: one for one in reversed(Source(json.dumps(hits)).reading.records)}
    assert told["528000 subscribers"].kind == told["#ai #talk"].kind == "noise"
    assert told["She built ImageNet."].worth == told["It began in 2006."].worth > told["The studio was cold."].worth


def test_what_a_found_page_refers_to_is_not_what_was_found_and_its_day_is() -> None:
    links = [f"• {name}: https://a.test/{n}" for n, name in enumerate(("Newsletter", "Our channel", "Her page"))]
    text = "\n".join(["Fei-Fei Li on worlds", "25 Nov 2025", "She built ImageNet.", "Its size was a bet.", *links])
    hits = [{"title": f"Talk {n}", "url": f"https://b.test/{n}", "snippet": text * 4} for n in range(2)]
    told_of = {one.text: one for one in Source(json.dumps(hits)).reading.records}
    assert [told_of[one].kind for one in links[:2]] == ["noise", "noise"]
    assert told_of["25 Nov 2025"].worth > told_of["She built ImageNet."].worth
    alone = [{**hit, "snippet": f"{text[:60]}\n{links[0]}\n{'It says more than that. ' * 9}"} for hit in hits]
    told_of = {one.text: one for one in Source(json.dumps(alone)).reading.records}
    assert told_of[links[0]].kind == "line", "one address may be where it leads"


def test_an_id_above_an_object_says_whose_it_is() -> None:
    """`panels.scene.dialogues: id=panel1` gave the panel's id to what is said in it."""
    tree = {
        "panels": [{"id": "panel1", "size": 3, "scene": {"place": "roof", "lines": [{"who": "Ann", "says": "no"}]}}]
    }
    texts = [one.text for one in told(json.dumps(tree, indent=1)).records]
    assert any(one.startswith("panels.scene.lines: panels.id=panel1|who=Ann") for one in texts), texts


def test_the_menu_of_a_page_that_a_search_found_is_noise() -> None:
    menu = "".join(f"*   [{word}](https://a.test/{word.lower()}). " for word in ("Topics", "More", "Economics", "Copy"))
    said = "Token costs have dropped 280-fold in two years, yet some firms pay more than ever. "
    hits = [{"title": "Trends", "url": "https://a.test/trends", "snippet": f"{menu}[](https://a.test). {said * 3}"}]
    hits.append({"title": "Others", "url": "https://b.test", "snippet": "Short."})
    reading = told(json.dumps(hits, indent=1))
    noise = [one.text for one in reading.records if one.kind == "noise"]
    assert [text for text in noise if "280-fold" in text] == []
    assert not [one.text for one in reading.records if one.kind == "line" and "](https" in one.text]
