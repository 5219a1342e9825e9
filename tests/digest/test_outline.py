"""What is said of a result of which nothing is shown."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.blocks import encoded
from palimpsest_mcp.digest.object_outline import Ask
from palimpsest_mcp.digest.outline import example, hidden_sections, outline, unshown
from palimpsest_mcp.digest.rank import Need
from palimpsest_mcp.digest.records import Reading, Record, Table
from palimpsest_mcp.digest.source import Source

from .conftest import Bench


def outlined(text: str, width: int = 100) -> str:
    source = Source(text)
    reading = source.reading
    free = range(len(reading.records))
    _, blocks = encoded(reading, free, source.mined(free))
    return outline(reading, blocks, width)


def test_rows_are_named_by_their_keys_and_columns() -> None:
    text = json.dumps([{"code": f"HAT{n}", "seats": n} for n in range(3)])
    assert outlined(text) == "3 rows code|seats: HAT0, HAT1, HAT2"


def test_an_object_is_told_by_its_fields_and_what_it_lists() -> None:
    text = json.dumps({"cabin": "economy", "from": "SEA", "bags": [{"tag": f"B{n}", "kg": n} for n in range(9)]})
    assert outlined(text) == "cabin=economy, from=SEA; 9 bags: tag B0, B1, B2, B3, B4, B5, B6, B7, B8"


def test_an_object_says_its_own_fields_with_their_values_and_its_lists_by_their_rows() -> None:
    legs = [{"flight": f"HAT{n}", "date": f"2024-05-1{n}", "price": 100 + n} for n in range(3)]
    text = json.dumps({"reservation_id": "HXDUBJ", "cabin": "economy", "from": "IAH", "legs": legs})
    said = "reservation_id=HXDUBJ, cabin=economy; 3 legs: flight HAT0 (date 2024-05-10), HAT1 (2024-05-11)"
    assert outlined(text).startswith(said)
    assert "flight HAT0 (date 2024-05-10, price 100), HAT1 (2024-05-11, 101)" in outlined(text, 160)


def test_what_some_rows_do_not_have_is_told_of_those_that_have_it() -> None:
    """The balance of a certificate was left out since the card beside it has none."""
    methods = {
        "certificate_8998287": {"source": "certificate", "amount": 500},
        "credit_card_3563913": {"source": "credit_card", "brand": "visa"},
        "gift_card_8516878": {"source": "gift_card", "amount": 128},
    }
    methods = {name: {**one, "id": name} for name, one in methods.items()}
    said = outlined(json.dumps({"name": "Ivan", "member": "gold", "payment_methods": methods}), 110)
    assert "certificate_8998287 (amount 500), credit_card_3563913, gift_card_8516878 (128)" in said, said


def test_a_row_that_is_shorter_than_its_table_has_nothing_in_the_other_columns() -> None:
    """Amounts may be missing in some rows: a short one must not be looked at beyond its end."""
    rows = [("HAT1", "SEA", "100"), ("HAT2", "JFK"), ("HAT3",)]
    records = [Record("|".join(row), "row", table=0, cells=row, at=n) for n, row in enumerate(rows)]
    reading = Reading(records, [Table(("flight", "to", "price"))])
    _, blocks = encoded(reading, range(len(records)), [])
    assert outline(reading, blocks, 100) == "3 rows: flight HAT1 (to SEA, price 100), HAT2 (to JFK), HAT3"


def test_a_column_that_only_says_what_its_row_is_called_gives_way_to_one_that_says_more() -> None:
    """Two cards were both said to be cards, and which of them ends in 7447 was left out."""
    cards = {
        f"{kind}_{n}": {"source": kind, "last_four": last, "amount": amount}
        for n, (kind, last, amount) in enumerate(
            [("credit_card", "7447", None), ("credit_card", "1907", None), ("certificate", None, 250)], 4421486
        )
    }
    rows = {name: {k: v for k, v in one.items() if v is not None} | {"id": name} for name, one in cards.items()}
    said = outlined(json.dumps({"name": "Mia", "member": "gold", "payment_methods": rows}), 200)
    assert "credit_card_4421486 (last_four 7447), credit_card_4421487 (1907), certificate_4421488 (amount 250)" in said
    assert "source credit_card" not in said, said


def test_what_only_one_of_a_few_rows_has_stands_with_it_by_name() -> None:
    """Whose card ends in 3422: two ids alone looked like all that there is."""
    rows = {
        "certificate_9254323": {"amount": 500},
        "gift_card_7194529": {"amount": 62},
        "credit_card_7231150": {"brand": "visa", "last_four": "3422"},
        "certificate_1849235": {"amount": 250},
    }
    paid = {name: {"source": name.rpartition("_")[0], **one, "id": name} for name, one in rows.items()}
    said = outlined(json.dumps({"name": "Liam", "membership": "gold", "payment_methods": paid}), 260)
    assert "gift_card_7194529 (62), credit_card_7231150 (brand visa, last_four 3422)" in said
    assert "certificate_1849235 (amount 250)" in said, "a number alone would be taken for the four last of a card"


def test_a_field_with_a_short_value_stands_where_its_name_alone_would() -> None:
    fields = {f"part_{n}": "a text of some length, " * 3 for n in range(6)}
    said = outlined(
        json.dumps({"id": "R1", "total": "x" * 40, **fields, "total_baggages": 0, "nonfree_baggages": 3}), 40
    )
    assert "total_baggages=0" in said and "nonfree_baggages=3" in said


def test_what_was_paid_comes_before_whose_a_record_is() -> None:
    paid = [{"by": "gift_card_6941833", "amount": 533}]
    people = [{"first_name": "Ivan", "last_name": "Muller"}, {"first_name": "Isabella", "last_name": "Moore"}]
    text = json.dumps({"id": "HX", "cabin": "economy", "people": people, "user": "yara_garcia_1905", "paid": paid})
    assert "amount=533" in outlined(text, 110) and "yara" not in outlined(text, 110), outlined(text, 110)


def test_a_short_value_is_said_rather_than_the_name_of_its_field() -> None:
    legs = [{"leg": f"H{n}"} for n in range(2)]
    text = json.dumps({"id": "HXDUBJ", "user": "omar_davis_3817", "to": "SEA", "legs": legs, "insurance": "yes"})
    assert outlined(text, 58) == "id=HXDUBJ, to=SEA; 2 legs: H0, H1; user=omar_davis_3817; insurance=yes"
    long = {
        "id": "HXDUBJ",
        "user": "omar_davis_3817",
        "to": "SEA",
        "legs": legs,
        "note": "late " * 20,
        "terms": "w " * 40,
    }
    said = outlined(json.dumps(long), 58)
    assert said == "id=HXDUBJ, to=SEA; 2 legs: H0, H1; user=omar_davis_3817; 2 more fields: note, terms"


def test_people_have_both_their_names_and_a_list_of_one_says_what_is_in_it() -> None:
    people = [{"first_name": "Omar", "last_name": "Davis"}, {"first_name": "Fatima", "last_name": "Patel"}]
    paid = [{"payment_id": "credit_card_2929732", "amount": 7136}]
    text = json.dumps({"id": "JG7FMM", "cabin": "business", "passengers": people, "paid": paid})
    said = outlined(text, 200)
    assert "2 passengers: first_name Omar (last_name Davis), Fatima (Patel)" in said
    assert "; paid: payment_id=credit_card_2929732, amount=7136" in said


def test_how_an_object_went_stands_right_behind_what_it_is() -> None:
    """What was cancelled must not look like what stands."""
    trip = {"id": "VA5SGQ", **{f"field{n}": f"value {n}" for n in range(30)}, "status": "cancelled"}
    assert outlined(json.dumps(trip), 60).startswith("id=VA5SGQ, status=cancelled, field0=value 0")


def test_the_fields_of_an_object_are_counted_and_not_those_of_what_lies_in_it() -> None:
    trip = {"id": "VA5SGQ", "cabin": "economy", "legs": [{"from": "DTW", "to": "PHX"}, {"from": "PHX", "to": "LGA"}]}
    trip |= {"travellers": [{"first": "Raj", "last": "Brown", "born": "1967-03-12"}], "paid": {"card": 686}, "bags": 0}
    assert outlined(json.dumps(trip), 300) == (
        "id=VA5SGQ, cabin=economy; travellers: first=Raj, last=Brown, born=1967-03-12; paid: card=686; "
        "2 legs: from DTW, PHX; bags=0"
    )


@given(st.dictionaries(st.from_regex(r"[a-z]{3,9}", fullmatch=True), st.text("abc 12-é[]|=", max_size=50), min_size=2))
def test_what_an_outline_says_of_a_field_is_what_its_object_says(fields: dict[str, str]) -> None:
    said = outlined(json.dumps(fields, ensure_ascii=False), 200).partition(";")[0].split(", ")
    known = {f"{name}={value.strip()}" for name, value in fields.items()}
    assert all(one in known for one in said if "=" in one)


def test_a_list_of_words_is_told_by_them_and_what_could_be_taken_for_more_is_not_said() -> None:
    user = {"level": "gold", "trips": ["HXDUBJ", "DXG8T6"], "note": "ok; level=none", "title": "x] [all of it: y"}
    assert outlined(json.dumps(user), 200) == "level=gold; 2 trips: HXDUBJ, DXG8T6; 2 more fields: note, title"


def test_equal_names_are_said_once_and_counted_each_and_what_leads_to_a_list_is_no_section() -> None:
    text = "# Log\n\n## Fixed\n\nOne thing.\n\n## Fixed\n\nFocus on:\n- this\n- that\n"
    assert outlined(text) == "3 sections: Log, Fixed"


def test_a_document_is_told_by_its_sections() -> None:
    text = "# Themes\n\nWords.\n\n## Color Tokens\n\nMore words.\n\n## Files\n\nThe last ones."
    assert outlined(text) == "3 sections: Themes, Color Tokens, Files"


def test_code_is_told_by_its_definitions_whatever_they_look_like() -> None:
    text = "\n".join(
        [
            "export class Editor {",
            "  private color(level: Level): (text: string) => string {",
            "    return gray;",
            "  }",
            "  render(width: number): string[] {",
            "    return [];",
            "  }",
            "}",
        ]
    )
    assert outlined(text) == "3 definitions: Editor, color, render"


def test_what_does_not_fit_is_left_out_whole() -> None:
    text = json.dumps([{"code": f"HAT{n:03}", "seats": n} for n in range(60)])
    assert outlined(text, 30) == "60 rows code|seats: HAT000, HAT001 …"


def test_words_without_a_shape_have_none() -> None:
    assert outlined("It was a dark night.\nNobody was there.") == ""


@given(st.text(max_size=300), st.integers(0, 120))
def test_an_outline_is_one_line_without_brackets_of_ours(text: str, width: int) -> None:
    found = outlined(text, width)
    assert "\n" not in found and not {"[", "]"} & set(found)


def test_of_many_results_and_little_room_few_are_shown_well_and_the_others_outlined(bench: Bench) -> None:
    """Scraps of each would be of no use to anybody."""
    pages = ["\n\n".join([f"# Runbook {n}", *(_chapter(n, k) for k in range(12))]) for n in range(8)]
    digest = bench.digest(*pages, share=0.08)
    outlines = [part.text for part in digest.parts if "; 13 sections: Runbook" in part.text]
    shown = [part.text for part in digest.parts if "; 13 sections: Runbook" not in part.text]
    assert len(outlines) >= 4 and all(text.count("\n") <= 1 for text in outlines)
    assert max(text.count("\n") for text in shown) > 3


def _chapter(page: int, number: int) -> str:
    work = f"The import of part {page * 7 + number} waits for the queue of shop {number}"
    rule = f"nobody may restart worker {number * 31 + page} before its lease has ended"
    return f"## Chapter {number} of {page}\n\n{work}, and {rule}.\nThe owner of queue {number} is team {page * 13}."


def test_tests_and_blocks_are_named_by_their_first_argument() -> None:
    text = "\n".join(
        [
            'import { it } from "vitest";',
            'describe("Markdown", () => {',
            '  it("keeps gray italic after code", () => {',
            "    const shown = render();",
            "    expect(shown).toBe(gray);",
            "  });",
            "});",
        ]
    )
    assert outlined(text) == "2 definitions: Markdown, keeps gray italic after code"


def test_a_result_with_a_line_that_is_to_be_kept_is_shown_however_little_fits(bench: Bench) -> None:
    """It is no scrap: somebody asked for it."""
    pages = ["\n\n".join([f"# Runbook {n}", *(_chapter(n, k) for k in range(12))]) for n in range(8)]
    pages = [
        page.replace("\n\n## Chapter 7 ", f"\n\nquarantine {n * 31 + 7} ended\n\n## Chapter 7 ")
        for n, page in enumerate(pages)
    ]
    request = bench.request(*pages, share=0.12)
    wanted = tuple(msgspec.structs.replace(one, wanted=("quarantine",)) for one in request.sources)
    digest = bench.digester.compute(msgspec.structs.replace(request, sources=wanted))
    assert sum("quarantine" in part.text for part in digest.parts) == 8


_RESERVATION = (
    '{"reservation_id": "S61CZX", "user_id": "sophia_silva_7557", "origin": "LAX", "destination": "CLT", "cabin": '
    '"economy", "flights": [{"flight_number": "HAT228", "date": "2024-05-23", "price": 131}, {"flight_number": '
    '"HAT043", "date": "2024-05-24", "price": 163}, {"flight_number": "HAT157", "date": "2024-05-24", "price": 157}], '
    '"payment_history": [{"payment_id": "credit_card_4196779", "amount": 667}], "created_at": "2024-05-02T04:38:01"}'
)


@pytest.mark.parametrize("share", [0.45, 0.6, 0.75])
def test_what_of_an_object_is_not_shown_is_named(bench: Bench, share: float) -> None:
    """Its lists above all: who sees two of three flights must know that there is a third, and which."""
    text = bench.digest(_RESERVATION, share=share).parts[0].text
    assert "S61CZX" in text
    assert all(flight in text for flight in ("HAT228", "HAT043", "HAT157"))


def test_of_a_file_with_tables_those_that_are_not_shown_are_named() -> None:
    rows = "\n".join(f"| `tone{n}` | how the part {n} looks |" for n in range(4))
    tables = [
        f"## {name}\n\n| {name} | Purpose |\n|---|---|\n{rows.replace('tone', name)}" for name in ("ink", "paper")
    ]
    source = Source("\n\n".join(["# Themes", *tables]))
    records = source.reading.records
    _, blocks = encoded(source.reading, range(len(records)), source.mined(range(len(records))))
    shown = ("# Themes", "## ink")
    first = {n for n, record in enumerate(records) if record.table == 0 or record.text in shown}
    said = unshown(source.reading, blocks, first, 100, few=False)
    assert said == "4 rows: paper `paper0`, `paper1`, `paper2`, `paper3`"
    assert not unshown(source.reading, blocks, range(len(records)), 100, few=False)


def test_of_a_read_that_became_a_pointer_no_line_of_code_is_told(bench: Bench) -> None:
    """Nothing failed: without what is around it, a line that would tell of a failure says that something did."""
    code = "\n".join(
        f"{n}\tdef step_{n}(self):\n{n + 1}\t    raise LookupError('no berth {n} is deep enough')"
        for n in range(1, 60, 2)
    )
    request = bench.request(code, pointer_only=True)
    digest = bench.digester.compute(request)
    assert digest.mode == "pointer" and "deep enough" not in digest.parts[0].text


def test_a_test_is_named_by_what_it_says_and_not_by_a_definition_that_it_speaks_of() -> None:
    name = "creates class Harbour{} for a vessel that has announced itself and waits"
    text = "\n".join(f'{n}→test("{name.format(n)}", () => {{\n{n + 1}→  run({n});' for n in range(1, 9, 2))
    assert outlined(text, 400).startswith(f"4 definitions: {name.format(1)}, ")


def test_sections_are_named_without_the_marks_around_them() -> None:
    text = "\n\n".join(f"**{name}**:\n\n- one point\n- and another" for name in ("Soil", "Light", "Water"))
    assert outlined(text) == "3 sections: Soil, Light, Water"


def test_rows_stand_with_the_value_that_tells_most_of_them_where_all_fit() -> None:
    """A flight without its date cannot be booked."""
    legs = [{"flight": f"HAT{n}", "from": "SEA", "date": f"2024-05-{n}", "price": 100 + n} for n in range(11, 14)]
    source = Source(json.dumps({"reservation_id": "HXDUBJ", "cabin": "economy", "legs": legs}))
    records = source.reading.records
    free = range(len(records))
    _, blocks = encoded(source.reading, free, source.mined(free))

    def worth(row: int, column: int) -> float:
        return 0.7 if records[row].cells[column].startswith("2024") else 0.2

    dated = "3 legs: flight HAT11 (date 2024-05-11), HAT12 (2024-05-12), HAT13 (2024-05-13)"
    ask = Ask(worth)
    left_out = "columns left out: from, price"
    assert outline(source.reading, blocks, 140, ask) == f"reservation_id=HXDUBJ, cabin=economy; {dated}; {left_out}"
    assert (
        outline(source.reading, blocks, 80, ask)
        == "reservation_id=HXDUBJ; 3 legs: flight HAT11 (price 111), HAT12 (112), HAT13 (113); columns left out: "
        "from, date; cabin=economy"
    )
    assert "HAT11 (date 2024-05-11, price 111)" in outline(source.reading, blocks, 200), "who chooses needs both"
    more = "HAT11 (date 2024-05-11, price 111), HAT12 (2024-05-12, 112), HAT13 (2024-05-13, 113)"
    assert more in outline(source.reading, blocks, 160, ask)


def test_rows_of_a_search_stand_with_what_was_asked_for() -> None:
    """Which flight leaves within the hour cannot be told from numbers of flights."""
    found = [{"flight": f"HAT{n}", "gate": f"B{n}", "departure": f"{n}:00", "seats": n} for n in range(11, 15)]
    source = Source(json.dumps(found))
    _, blocks = encoded(source.reading, range(4), [])
    ask = Ask(named=Need("json", ["departures"]).asks_for)
    assert "HAT11 (departure 11:00), HAT12 (12:00)" in outline(source.reading, blocks, 90, ask)


def test_a_field_that_is_a_long_text_is_counted_among_the_fields() -> None:
    long = "A harbour at dawn, seen from the mole. " * 20
    text = json.dumps({"prompt": long, "style": "etching, fine lines", "light": "cold and low, from the east"})
    assert "prompt" in outlined(text, 200), outlined(text, 200)


def test_what_leads_to_a_list_is_no_field() -> None:
    text = (
        f"Parameters:\n\n- one\n- two\n\n```json\n{json.dumps({'style': 'etching', 'light': 'cold'}, indent=1)}\n```\n"
    )
    assert "Parameters" not in outlined(text, 200), outlined(text, 200)


def test_of_a_list_of_paths_the_projects_own_files_are_named_first() -> None:
    """Seven entries, of which one is what the agent looked for."""
    paths = [f"/srv/app/deps/oban_web/lib/oban/{name}.ex" for name in ("core", "sort", "icons", "sidebar", "layouts")]
    said = outlined("\n".join([*paths, "/srv/app/lib/app_web/layouts.ex"]), 60)
    assert said.startswith("6 entries: …/app_web/layouts.ex, deps/…/oban/core.ex")


def test_rows_are_told_with_what_all_of_them_have() -> None:
    """Two searches of which nothing else fits are told from one another by it."""
    flights = [{"flight": f"HAT{n}", "from": "JFK", "to": "SEA", "seats": n * 7} for n in (101, 205, 309)]
    assert outlined(json.dumps(flights), 120) == "3 rows flight|seats, all from=JFK, to=SEA: HAT101, HAT205, HAT309"
    assert outlined(json.dumps(flights), 40).startswith("3 rows flight|seats, all from=JFK, to=SEA: HAT101")


def test_both_legs_of_a_trip_are_told() -> None:
    """With the first flight alone nobody arrives."""
    trips = [[{"flight": f"HAT{n}", "to": "LAS"}, {"flight": f"HAT{n + 40}", "to": "SEA"}] for n in range(11, 14)]
    said = outlined(json.dumps(trips), 200)
    assert said.startswith("3 rows") and said.endswith(
        "; 3 that follow: after HAT11: HAT51; after HAT12: HAT52; after HAT13: HAT53"
    )


def test_a_list_of_words_comes_before_the_rows_of_other_lists() -> None:
    cards = [{"id": f"credit_card_{n}000000"} for n in range(5)]
    text = json.dumps({"member": "gold", "cards": cards, "reservations": ["NM1VX1", "KC18K6", "S61CZX"]})
    assert "3 reservations: NM1VX1, KC18K6, S61CZX; 5 cards: " in outlined(text, 120)


def test_fields_of_an_object_within_that_are_not_told_are_counted() -> None:
    """A theme of three colours would be another theme."""
    theme = {"name": "light", "vars": {f"colour{n}": f"#00{n:02}88" for n in range(19)}, "colors": {"accent": "red"}}
    assert "vars: colour0=#000088, colour1=#000188, colour2=#000288 and 16 more;" in outlined(json.dumps(theme), 300)
    face = {
        "age": "mid-20s",
        "hair": "long wavy blonde hair in a loose ponytail",
        "pose": "walking, with a slight smile",
    }
    said = outlined(json.dumps({"style": "etching", "woman": face, "light": "low"}), 200)
    assert "woman: age=mid-20s, also hair, pose" in said, "who draws her again must know that it is there"


def test_what_was_paid_is_told_before_who_flies() -> None:
    names = [{"first": name, "last": name} for name in ("Omar", "Juan")]
    trip = {"id": "X7BYG1", "passengers": names, "paid": [{"by": "gift_card_4643416", "amount": 786}], "bags": 0}
    assert outlined(json.dumps(trip), 90).startswith("id=X7BYG1; paid: by=gift_card_4643416, amount=786; 2 passengers")


def test_what_all_rows_have_is_said_once() -> None:
    found = [{"flight": f"HAT{n}", "origin": "DEN", "leaves": f"{n}:00"} for n in range(11, 14)]
    source = Source(json.dumps(found))
    _, blocks = encoded(source.reading, range(3), [])
    said = outline(source.reading, blocks, 200, Ask(named=Need("json", ["original", "leaves"]).asks_for))
    assert said == "3 rows, all origin=DEN: flight HAT11 (leaves 11:00), HAT12 (12:00), HAT13 (13:00)"


def test_what_the_call_gives_is_not_said_again() -> None:
    """`reservation_id=XEWRD9` below a call that asked for it takes the room of the cabin."""
    trip = {"id": "XEWRD9", "user": "mei_1", "cabin": "economy", "legs": [{"flight": f"HAT{n}"} for n in range(11, 13)]}
    source = Source(json.dumps(trip))
    _, blocks = encoded(source.reading, range(len(source.reading.records)), [])
    said = outline(source.reading, blocks, 60, Ask(called=(("id", "XEWRD9"),), in_view=frozenset({"mei_1"})))
    assert said == "cabin=economy; 2 legs: flight HAT11, HAT12; user=mei_1", "what stands elsewhere comes last"
    found = [{"flight": f"HAT{n}", "from": "JFK", "to": "SEA", "seats": n} for n in (101, 205, 309)]
    source = Source(json.dumps(found))
    _, blocks = encoded(source.reading, range(3), [])
    assert outline(source.reading, blocks, 90, Ask(called=(("from", "JFK"),))).startswith(
        "3 rows flight|seats, all to=SEA: "
    )
    said = outline(source.reading, blocks, 90, Ask(called=(("to", "JFK"), ("page", "101"))))
    assert said.startswith("3 rows flight|seats, all from=JFK, to=SEA: "), "by another name it is another thing"


def test_rows_that_one_chooses_among_stand_with_prices_and_times_and_a_parent_is_named_once() -> None:
    found = [
        {"flight": f"HAT{n}", "gate": f"B{n}", "leaves_time": f"{n}:00", "prices": {"economy": n, "business": 400 + n}}
        for n in range(11, 14)
    ]
    said = outlined(json.dumps(found), 140)
    assert "HAT11 (leaves_time 11:00, prices.economy 11, business 411), HAT12 (12:00, 12, 412), HAT13" in said, said


def test_a_later_leg_is_told_with_its_own_day() -> None:
    """Of three trips only one arrives on the same day."""
    trips = [
        [{"flight": f"HAT{n}", "date": "2024-05-24"}, {"flight": "HAT47", "date": f"2024-05-2{4 + n % 2}"}]
        for n in range(12, 15)
    ]
    said = outlined(json.dumps(trips), 200)
    assert "after HAT12: HAT47 (date 2024-05-24); after HAT13: HAT47 (2024-05-25); after HAT14: HAT47" in said, said


def test_what_follows_several_is_told_once_with_its_values_and_named_again() -> None:
    """Seven pairs of flights filled the room, and no price was left."""
    second = [{"flight": f"HAT{n}", "prices": {"economy": n, "business": 4 * n}} for n in (132, 172)]
    first = [{"flight": f"HAT{n}", "prices": {"economy": 2 * n, "business": 3 * n}} for n in (110, 164)]
    said = outlined(json.dumps([[one, other] for one in first for other in second]), 260)
    assert said == (
        "4 rows: flight HAT110 (prices.economy 220, business 330), HAT164 (328, 492); 4 that follow: "
        "after HAT110: HAT132 (prices.economy 132, business 528), HAT172 (172, 688); after HAT164: HAT132, HAT172"
    )


def test_what_a_store_adds_by_itself_is_told_behind_what_else_there_is_and_before_what_is_nothing() -> None:
    text = json.dumps({"id": "INV-1", "created_at": "2024-05-08T11:24:52", "bags": 0, "due": "2024-06-01"})
    assert outlined(text, 38) == "id=INV-1, due=2024-06-01; created_at=2024-05-08T11:24:52; bags=0"


def test_hits_are_told_by_where_they_are() -> None:
    one = "\n".join(f"./utils/config.ts:{n}:const at_{n} = {n};" for n in (10, 11, 15, 18))
    assert outlined(one, 70) == "4 hits: …/utils/config.ts:10,11,15,18"
    assert outlined(one.replace("./utils/config.ts:", ""), 70) == "4 hits in lines: 10, 11, 15, 18"
    several = "\n".join(f"src/{name}.ts:{n}:const at_{n} = {n};" for name in ("ash", "elm") for n in range(100, 140, 3))
    assert outlined(several, 70) == "28 hits: src/ash.ts (14), src/elm.ts (14)"
    assert outlined("\n".join(f"src/{n}.ts:const at_{n} = {n};" for n in range(4)), 70).startswith(
        "4 hits: src/0.ts (1)"
    )


def test_clauses_of_one_name_are_told_by_what_they_are_for() -> None:
    clauses = "\n\n".join(
        f'  def handle_event("{name}", _params, socket) do\n    {{:noreply, assign(socket, :at, {n})}}\n  end'
        for n, name in enumerate(("jump", "toggle_debug", "close"))
    )
    said = outlined(f"defmodule Harbour.Live do\n{clauses}\nend", 200)
    assert 'handle_event "jump", handle_event "toggle_debug", handle_event "close"' in said, said


def test_what_was_paid_is_told_where_flights_and_passengers_leave_little_room() -> None:
    booking = {
        "reservation_id": "JG7FMM",
        "flights": [{"flight": f"HAT{n}", "date": "2024-05-21", "price": 1859} for n in (28, 277)],
        "passengers": [{"first_name": "Omar", "dob": "1982-10-19"}, {"first_name": "Fatima", "dob": "1950-05-04"}],
        "payment_history": [{"payment_id": "credit_card_2929732", "amount": 7136}],
    }
    said = outlined(json.dumps(booking), 130)
    assert "payment_id=credit_card_2929732, amount=7136" in said, said


def test_errors_that_are_not_shown_are_told_by_their_files() -> None:
    """A failed check of 28 errors showed one of them, and nobody could tell that all lie in the tests of a package."""
    files = ("../tui/test/chat.ts", "../tui/test/chat.ts", "../tui/test/editor.ts")
    errors = "\n".join(f"{path}({n},19): error TS2554: Expected {n} arguments." for n, path in enumerate(files, 3))
    source = Source(errors)
    blocks = encoded(source.reading, range(3), source.mined(range(3)))[1]
    assert [one.kind for one in source.reading.records] == ["error"] * 3
    said = unshown(source.reading, blocks, {0}, 100, few=False)
    assert said == "other errors: …/test/chat.ts:4, …/test/editor.ts:5"
    assert outlined(errors, 60) == "errors: …/test/chat.ts:3,4, …/test/editor.ts:5"
    bare = Source("\n".join(f"error: part {n} failed" for n in range(4)))
    assert not unshown(bare.reading, encoded(bare.reading, range(4), bare.mined(range(4)))[1], {0}, 100, few=False)


def test_of_many_errors_of_a_file_is_said_what_most_of_them_say() -> None:
    """Twelve errors of one file were "(12)", and nobody knew that eight want one argument more."""
    line = "../tui/test/markdown.test.ts({},21): error TS2554: Expected 4-5 arguments, but got 3."
    other = "../tui/test/markdown.test.ts(195,5): error TS2322: Type 'boolean' is not assignable to type 'string'."
    first = "../tui/test/chat.ts(83,49): error TS2345: Argument of type 'undefined' is not assignable to 'Theme'."
    source = Source("\n".join([first, *(line.format(n) for n in range(36, 900, 97)), other]))
    records = source.reading.records
    blocks = encoded(source.reading, range(len(records)), source.mined(range(len(records))))[1]
    said = unshown(source.reading, blocks, {0}, 200, few=False)
    assert said == (
        "other errors: …/test/markdown.test.ts (10, 9 of them “TS2554: Expected 4-5 arguments, but got 3.”)"
    )


def test_every_file_with_errors_is_named_before_what_most_of_one_say() -> None:
    """The one error that was mended next stood in a file behind "…"; nine words of another one's had its place."""
    line = "../tui/test/markdown.test.ts({},21): error TS2554: Expected 4-5 arguments, but got 3."
    chat = "../tui/test/chat.ts({},49): error TS2345: Argument of type 'undefined' is not assignable to 'Theme'."
    alone = "../tui/test/themes.ts(16,14): error TS2739: Type 'Old' is missing the following properties: bold, italic"
    source = Source("\n".join([*map(chat.format, (83, 88, 110)), *map(line.format, range(36, 900, 97)), alone]))
    records = source.reading.records
    blocks = encoded(source.reading, range(len(records)), source.mined(range(len(records))))[1]
    said = unshown(source.reading, blocks, {0}, 100, few=False)
    assert said == "other errors: …/test/markdown.test.ts (9), …/test/chat.ts (2), …/test/themes.ts (1)"


def test_definitions_that_are_not_shown_are_named_those_of_a_shown_class_first() -> None:
    """A class was shown without `fg` and `bg`, and who used it wrote both anew."""
    code = (
        "function near(a: number): number {\n\treturn a;\n}\n"
        "export class Theme {\n\tfg(text: string): string {\n\t\treturn text;\n\t}\n"
        "\tbold(text: string): string {\n\t\treturn text;\n\t}\n}\n"
    )
    source = Source(code)
    records = source.reading.records
    blocks = encoded(source.reading, range(len(records)), source.mined(range(len(records))))[1]
    shown = {n for n, one in enumerate(records) if "Theme" in one.text or "bold" in one.text}
    assert unshown(source.reading, blocks, shown, 100, few=False) == "2 definitions: fg, near"
    everything = set(range(len(records)))
    assert not unshown(source.reading, blocks, everything, 100, few=False)


def test_files_of_a_listing_that_are_not_shown_are_named_without_the_folder_that_all_lie_in() -> None:
    """Four of eighteen files stood there with their whole paths, and of the others nothing."""
    row = "-rw-r--r--@ 1 ada  staff   {}178 Nov 21 22:18 /srv/harbour/packages/berths/src/{}.ts"
    names = ("cli", "compaction", "config", "fuzzy", "index", "main", "shell")
    source = Source("\n".join(row.format(n, name) for n, name in enumerate(names)))
    records = source.reading.records
    blocks = encoded(source.reading, range(len(records)), source.mined(range(len(records))))[1]
    said = unshown(source.reading, blocks, {0, 6}, 100, few=False)
    assert said == "5 entries: compaction.ts, config.ts, fuzzy.ts, index.ts, main.ts"
    twice = Source("\n".join(row.format(n, name) for n, name in enumerate((*names, "index", "main"))))
    blocks = encoded(twice.reading, range(9), twice.mined(range(9)))[1]
    said = unshown(twice.reading, blocks, {0, 6}, 100, few=False)
    assert said.startswith("7 entries: ") and said.count("index.ts") == 1, "each is counted, and its name said once"
    assert not unshown(source.reading, blocks, range(7), 100, few=False)


def test_a_function_is_named_by_what_it_is_assigned_to() -> None:
    """Two definitions were counted and one of them named."""
    code = "class Editor {\n\tsubmit(): void {\n\t}\n}\nthis.editor.onCtrlC = () => {\n\tthis.stop();\n};\n"
    said = outlined(code, 100)
    assert "this.editor.onCtrlC" in said, said


def test_of_a_few_hits_those_that_are_not_shown_are_named() -> None:
    hits = [{"title": f"The Harbour, part {n}", "url": f"https://a.test/{n}", "text": f"Of {n}."} for n in range(4)]
    source = Source(json.dumps(hits))
    records = source.reading.records
    _, blocks = encoded(source.reading, range(len(records)), source.mined(range(len(records))))
    said = unshown(source.reading, blocks, {0, 1}, 100, few=False)
    assert said == "2 of 4 rows: title The Harbour, part 2, The Harbour, part 3"


def test_of_what_lies_in_one_object_all_is_told_or_none() -> None:
    """Seven seats in basic economy hid that there was one in economy."""
    seats = [(7, 1, 9), (20, 3, 14), (17, 14, 10)]
    found = [
        {
            "flight": f"HAT{n}",
            "prices": {"economy": n, "business": 400 + n},
            "seats": dict(zip("abc", one, strict=True)),
        }
        for n, one in enumerate(seats, 111)
    ]
    assert outlined(json.dumps(found), 90).endswith("; columns left out: prices.business, seats")
    assert outlined(json.dumps(found), 90).count("seats") == 1
    assert "seats.a 7, b 1, c 9), HAT112 (112, 512, 20, 3, 14)" in outlined(json.dumps(found), 190)


def test_what_an_example_in_a_text_for_people_says_is_no_field_of_it() -> None:
    """`also holds: technical: aspect_ratio=9:16`: that of one example was taken for what the program does."""
    example = json.dumps({"technical": {"aspect_ratio": "9:16", "quality": "high"}, "style": "grainy"}, indent=2)
    source = Source(f"# Pictures\n\nMade by a program.\n\n```json\n{example}\n```\n\nIt is called with a file.\n")
    _, blocks = encoded(source.reading, range(len(source.reading.records)), [])
    assert source.form == "prose"
    assert "aspect_ratio" in unshown(source.reading, blocks, {0, 1}, 200, few=True)
    said = unshown(source.reading, blocks, {0, 1}, 200, few=True, data=False)
    assert said == "example fields: style, technical (aspect_ratio, quality)", "how it is built, and no value of it"
    everything = range(len(source.reading.records))
    assert unshown(source.reading, blocks, set(everything), 200, few=True, data=False) == ""


def test_of_a_larger_example_each_part_stands_once_with_what_lies_in_it() -> None:
    panel = {"id": "p1", "size": {"w": 450, "h": 380}, "scene": {"place": "[Place]", "lines": [{"who": "[Name]"}]}}
    example = json.dumps({"canvas": {"width": 1080, "height": 1920}, "panels": [panel], "effects": []}, indent=2)
    source = Source(f"# Comic\n\nTemplate for a prompt:\n\n```json\n{example}\n```\n\nUse it once for each story.\n")
    _, blocks = encoded(source.reading, range(len(source.reading.records)), [])
    said = unshown(source.reading, blocks, {0}, 200, few=False, data=False)
    assert said == "example fields: effects, canvas (width, height), panels (id, size, scene)"
    assert example_of(source, {0}, 50) == "example fields: effects, canvas, panels"
    assert example_of(source, {0}, 20) == "", "half a list of its parts would look like all of them"


def test_lists_of_an_example_are_told_with_its_fields_whatever_else_the_manual_holds() -> None:
    """A manual's prompt in JSON was neither shown nor named, since two lists in it stood as tables beside it."""
    prompt = {"title": "Farewell", "camera": {"type": "close", "angle": "profile"}}
    prompt |= {"dialogue": [{"who": name, "text": "I will."} for name in ("Lucy", "Edmund")]}
    sections = "\n\n".join(f"## Step {n}\n\nDo what step {n} asks for." for n in range(5))
    source = Source(f"# Video\n\n{sections}\n\n## Example\n\n```json\n{json.dumps(prompt, indent=2)}\n```\n")
    _, blocks = encoded(source.reading, range(len(source.reading.records)), [])
    said = unshown(source.reading, blocks, {0, 1, 2}, 200, few=True, data=False)
    assert said.endswith("example fields: title, camera (type, angle), dialogue (who, text)"), said


def test_tables_of_a_manual_are_named_before_how_its_example_is_built() -> None:
    """Five tables of colours gave way to the fields of an example, without a word."""
    rows = "\n".join(f"| `color{n}` | Of part {n} |" for n in range(12))
    theme = json.dumps({"name": "dark", "vars": {"gray": 242, "blue": 39}, "colors": {"accent": "blue"}}, indent=2)
    source = Source(f"# Themes\n\nAll are required.\n\n| Token | Use |\n|---|---|\n{rows}\n\n```json\n{theme}\n```\n")
    _, blocks = encoded(source.reading, range(len(source.reading.records)), [])
    said = unshown(source.reading, blocks, {0, 1}, 200, few=False, data=False)
    assert said.startswith("12 rows: Token `color0`, `color1`"), said


def example_of(source: Source, shown: set[int], width: int) -> str:
    return example(source.reading.records, source.reading.tables, shown, width)


def test_of_an_object_of_which_all_else_is_told_what_all_rows_have_is_told_too() -> None:
    """The one price that two flights had in common was the only one left out."""
    found = [
        {"flight": f"HAT{n}", "prices": {"basic": basic, "economy": 130, "business": 400 - n}}
        for n, basic in ((111, 68), (112, 65))
    ]
    said = outlined(json.dumps(found), 160)
    assert said.startswith("2 rows, all prices.economy=130: flight HAT111 (prices.basic 68, business 289)"), said
    assert "prices.economy" not in outlined(json.dumps(found), 60).partition("columns left out")[0]


def test_rows_of_several_tables_are_counted_together() -> None:
    """`38 sections, 10 rows` of a page with five tables and 36 rows."""
    table = "\n".join(["| Token | Use |", "|---|---|", *(f"| t{n} | for part {n} |" for n in range(6))])
    text = "\n\n".join(f"## Part {n}\n\n{table}" for n in range(4))
    source = Source(text)
    _, blocks = encoded(source.reading, range(len(source.reading.records)), [])
    assert outline(source.reading, blocks, 200).startswith("4 sections, 24 rows in 4 tables: Part 0")


def test_sections_of_a_manual_of_which_nothing_is_shown_are_named() -> None:
    """Three of five sections were gone without a word, so that what was shown looked like all of it."""
    names = ("Workflow", "Panel Layout", "Characters", "Story Pattern")
    records = Source("\n\n".join(f"## {name}\n\n1. Do what is said of {name}." for name in names)).reading.records
    shown = {n for n, one in enumerate(records) if "Workflow" in one.text}
    assert hidden_sections(records, (), shown, 80) == "3 sections: Panel Layout, Characters, Story Pattern"
    assert hidden_sections(records, (), set(range(len(records))), 80) == ""
    titled = "\n".join(f"- **{name}**: Think of {name} first." for name in ("Typography", "Motion", "Color & Theme"))
    points = Source(f"# Skill\n\nFocus on:\n{titled}\n\nDo it well, and do it to the end.\n").reading.records
    some = {n for n, one in enumerate(points) if "Typo" in one.text or one.text[:1] != "-"}
    assert hidden_sections(points, (), some, 80) == "2 points: Motion, Color & Theme"
    many = Source("\n\n".join(f"## Part {n}\n\n1. Do what is said of it." for n in range(20))).reading.records
    assert hidden_sections(many, (), set(), 80) == ""
    assert hidden_sections(many, (), set(), 30, few=True).startswith("20 sections: Part 0, Part 1")
