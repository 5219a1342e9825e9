"""The ledger: values under their keys, beside a word of their line, or by class; never grown together."""

from __future__ import annotations

import json

from palimpsest_mcp.digest.ledger_lines import SPEAKING, entry_groups, entry_lines, label_of
from palimpsest_mcp.digest.lines import Survey
from palimpsest_mcp.digest.survey import survey
from palimpsest_mcp.models.records import DigestSource
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

from .conftest import Bench


def surveyed(text: str) -> Survey:
    return survey(DigestSource(item_id="a", kind="tool_result", text=text, tokens=9), DefaultRegistry())


def ledger(text: str, *, in_rows: bool = True) -> list[str]:
    found = surveyed(text)
    every = set(range(len(found.specs)))
    rows: dict[int, list[int]] = {}
    for n, (spec, home) in enumerate(zip(found.specs, found.home, strict=True)):
        if not found.keys[n] and spec.cls not in SPEAKING:
            rows.setdefault(home, []).append(n)
    labels = {home: label_of(found, home, row) for home, row in rows.items()}
    return entry_lines(found, every, labels if in_rows else {}, found.keys, in_rows=in_rows)


def test_values_of_one_key_stand_behind_it() -> None:
    assert ledger("size=4200\nsize=51007\nother words\nsize=61007") == [
        "integer: size=4200",
        "number: size=51007 61007",
    ] or (ledger("size=4200\nsize=51007\nsize=61007")[-1] == "also: size=4200 | size=51007 61007")


def test_values_of_one_line_stand_beside_its_rarest_word() -> None:
    text = "status unpacked libfoo at 10.0.0.7 with 48213\nstatus unpacked again\nstatus unpacked at with"
    assert ledger(text) == [" libfoo … 10.0.0.7 48213"]


def test_no_word_is_needed_where_the_rarest_one_is_among_the_values() -> None:
    text = "moved to src/rare/place.py by 48213\nmoved to there by hand"
    assert ledger(text) == [" src/rare/place.py 48213"]


def test_without_rows_values_are_grouped_by_class() -> None:
    text = "\n".join(f"word{c} took {48213 + n} for 10.0.0.{n}" for n, c in enumerate("abcd"))
    assert ledger(text, in_rows=False) == [
        "number: 48213 48214 48215 48216",
        "host: 10.0.0.0 10.0.0.1 10.0.0.2 10.0.0.3",
    ]


def test_a_day_and_a_time_from_different_places_do_not_become_one_moment() -> None:
    text = "on 2026-11-20\nat 10:15:00\nat 11:15:00\non 2026-11-21"
    found = {span.text for line in ledger(text, in_rows=False) for span in DefaultRegistry().spans(line)}
    assert found == {"2026-11-20", "10:15:00", "11:15:00", "2026-11-21"}


def test_numbers_are_never_joined_by_a_comma() -> None:
    text = "\n".join(f"line says {n}" for n in (48213, 51000, 999))
    assert "," not in "".join(ledger(text))


def test_values_that_would_look_like_groups_of_one_number_stand_apart() -> None:
    text = "\n".join(f"{word}\n{n}\n" for word, n in zip("abcd", ("12.5", "958.18", "388 450", "51007"), strict=True))
    assert ledger(text, in_rows=False) == ["number: 12.5  958.18  388 450  51007"]
    assert ledger("size=48213\nsize=51007\nsize=123.5", in_rows=False)[-1].endswith("size=48213 51007  123.5")


def test_a_command_has_a_line_of_its_own() -> None:
    assert ledger("$ npm run build\nand some text")[-1] == "$ npm run build"


def test_groups_are_read_back_from_the_text() -> None:
    keyed = entry_groups("number: size=4200 5100 | 17")
    assert [(g.key, g.together) for g in keyed] == [("size", False), ("", False)]
    assert "number: size=4200 5100 | 17"[keyed[0].start : keyed[0].end] == "4200 5100"
    row = entry_groups(" libfoo … 10.0.0.7 48213")
    assert [(g.key, g.together) for g in row] == [("libfoo", True)]


def test_a_value_alone_in_its_row_stands_beside_a_word_from_outside_itself_or_the_name_in_its_line() -> None:
    found = surveyed("src/app/zebra.py:17: raise boom\nsrc/app/zebra.py:18: call zebra_stripes")
    numbers = {spec.text: n for n, spec in enumerate(found.specs)}
    first, second = numbers["src/app/zebra.py:17"], numbers["src/app/zebra.py:18"]
    assert label_of(found, found.home[first], [first]) == "raise"
    assert label_of(found, found.home[second], [second]) in ("zebra_stripes", "call")


def test_a_common_word_gives_way_to_a_rarer_part_of_a_name() -> None:
    text = "\n".join(f"src/play.py:{n}1: def {one}_loop(self):" for n, one in enumerate(("open", "wait", "shut"), 1))
    found = surveyed(text)
    wait = next(n for n, spec in enumerate(found.specs) if spec.text == "src/play.py:21")
    assert label_of(found, found.home[wait], [wait]) == "wait_loop"


def test_a_word_may_come_from_a_value_of_the_line_that_stands_elsewhere() -> None:
    found = surveyed("src/routing/first.py:50: https://kb.example.com/42\nsrc/other.py:7: nothing")
    place, address = (
        next(n for n, spec in enumerate(found.specs) if spec.cls == cls and "kb" in found.lines[found.home[n]].text)
        for cls in ("path", "url")
    )
    assert label_of(found, found.home[address], [address]) in ("routing", "first")
    assert label_of(found, found.home[place], [place]) in ("https", "example", "com")


def test_each_value_of_a_row_counts_and_not_one_of_them_for_all() -> None:
    text = "the rarely used https://kb.example.com/42 on 10.0.0.7\nused on used on used on the the"
    found = surveyed(text)
    both = [n for n, spec in enumerate(found.specs) if spec.cls in ("url", "host")]
    assert label_of(found, found.home[both[0]], both) == "rarely"


def test_lines_with_the_same_word_are_one_row() -> None:
    places = [f"src/part_{c}.py:{n}7" for n, c in enumerate("abc", 1)]
    text = "\n".join(f"{place}: frozen and strict" for place in places) + "\nstrict or not, strict"
    assert ledger(text) == [f" frozen … {' … '.join(places)}"]
    groups = entry_groups(ledger(text)[0])
    assert [(g.key, g.together) for g in groups] == [("frozen", True)] * 3
    assert [ledger(text)[0][g.start : g.end].strip(" …") for g in groups] == places


def test_values_keep_their_keys_where_being_cancelled_is_one_more_thing_that_their_line_says(bench: Bench) -> None:
    log = "\n".join(f"order_ref={n:05d}-{n * 7 % 97:02d} price={n}.25 status=cancelled" for n in range(40))
    records = [{"order_ref": f"{n:05d}-{n * 7 % 97:02d}", "price": f"{n}.25", "status": "cancelled"} for n in range(40)]
    prose = [{"order_ref": "00007-12", "note": "the refund of 17.25 was rejected"}]
    for text in (log, json.dumps(records), json.dumps(prose)):
        found = survey(bench.source(text), bench.registry)
        refs = [key for key, spec in zip(found.keys, found.specs, strict=True) if "-" in spec.text]
        assert refs and set(refs) == {"order_ref"}


def test_a_value_that_its_line_rejects_stands_beside_the_word_that_rejects_it(bench: Bench) -> None:
    told = {
        "an upgrade to version=3.99.120-rc8 was rejected": "rejected",
        "moving to region eu-north-7 was considered and then abandoned": "abandoned",
        "the budget of $913.75 a month was declined by finance": "declined",
    }
    rows = [f"step {n}: worker-{n:03d} copied /srv/part-{n}.bin in {n % 17}.{n} s" for n in range(60)]
    for at, line in zip((11, 29, 47), told, strict=True):
        rows.insert(at, line)
    for share in (0.15, 0.3):
        text = bench.digest("\n".join(rows), share=share, values_first=False).parts[0].text
        for value, word in zip(("3.99.120-rc8", "eu-north-7", "$913.75"), told.values(), strict=True):
            lines = [line for line in text.split("\n") if value in line]
            assert all(word in line for line in lines)
    assert any("rejected" in line for line in text.split("\n"))
