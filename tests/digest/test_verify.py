"""Code finds what a digest may not say, however it came to say it."""

from __future__ import annotations

import pytest

from palimpsest_mcp.digest.lines import Survey
from palimpsest_mcp.digest.survey import survey
from palimpsest_mcp.digest.verify import PartCheck, check_part, counted, settle, shared, violations
from palimpsest_mcp.models.items import Span, Specific
from palimpsest_mcp.models.records import DigestLine, DigestPart, DigestSource, SpecificCounts
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

SOURCE = (
    "order=48213 was paid with total=51007\nsee https://example.org/runs/77123 for HAT069\ninvoice 99120 at 10.0.0.7"
)


def surveyed(text: str = SOURCE) -> Survey:
    return survey(DigestSource(item_id="a", kind="tool_result", text=text, tokens=90), DefaultRegistry())


def checked(*lines: DigestLine) -> PartCheck:
    return check_part(surveyed(), lines, DefaultRegistry())


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (DigestLine("quote", "order=48214 was paid"), "invented"),
        (DigestLine("quote", "see https://example.org/runs/771"), "invented"),
        (DigestLine("entry", "number: 48,213"), "invented"),
        (DigestLine("entry", "number: 51007 48213 99121"), "invented"),
        (DigestLine("entry", "number: order=51007"), "pairs"),
        (DigestLine("entry", "also: total=48213 | HAT069"), "pairs"),
        (DigestLine("entry", " paid … HAT069 48213"), "pairs"),
        (DigestLine("entry", " invoice … HAT069"), "pairs"),
        (DigestLine("prose", "It was order 12345."), "invented"),
    ],
)
def test_a_line_that_says_what_the_source_does_not_is_found(line: DigestLine, rule: str) -> None:
    assert [found.split(":")[0] for found in checked(line).bad_lines.values()] == [rule]


@pytest.mark.parametrize(
    "line",
    [
        DigestLine("quote", "order=48213 was paid with total=51007"),
        DigestLine("entry", "number: order=48213 | total=51007"),
        DigestLine("entry", "number: 99120 48213 51007"),
        DigestLine("entry", " invoice … 99120 10.0.0.7"),
        DigestLine("entry", "also: HAT069 | https://example.org/runs/77123"),
    ],
)
def test_what_the_source_says_is_shown(line: DigestLine) -> None:
    found = checked(line)
    assert not found.bad_lines and found.shown


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("paid 7 of 9 in all", DigestLine("quote", "paid 8 of 9 in all")),
        ("qty,price\n10,958.18\n12,114.00", DigestLine("quote", "10,958.18")),
        ("le budget de 1 250 000 € et 3 412 dossiers", DigestLine("entry", "250  412")),
    ],
)
def test_a_number_that_a_second_reading_does_not_find_may_not_stand(source: str, line: DigestLine) -> None:
    class Careless(DefaultRegistry):
        """Finds nothing, so that only the second reader can object."""

        def spans(self, text: str) -> list[Span]:
            return []

    registry = Careless()
    one = survey(DigestSource(item_id="a", kind="tool_result", text=source, tokens=9), registry)
    assert [rule.split(":")[0] for rule in check_part(one, [line], registry).bad_lines.values()] == ["invented"]


def test_two_fields_are_shown_as_two_and_counted_as_two() -> None:
    one = surveyed("qty,price\n10,958.18\n12,114.00\n")
    assert [spec.text for spec in one.specs] == ["10", "958.18", "12", "114.00"]
    assert "10\t958.18" in {unit.text for unit in one.reduced.units}
    assert {unit.kind for unit in one.reduced.units} == {"row"}


def test_each_part_of_a_row_is_checked_to_stand_with_its_word() -> None:
    one = survey(
        DigestSource(item_id="a", kind="tool_result", text="frozen 48213\nfrozen 51007\nmelted 61007", tokens=9),
        DefaultRegistry(),
    )
    good, bad = " frozen … 48213 … 51007", " frozen … 48213 … 61007"
    assert not check_part(one, [DigestLine("entry", good)], DefaultRegistry()).bad_lines
    assert check_part(one, [DigestLine("entry", bad)], DefaultRegistry()).bad_lines


def test_notes_and_prose_show_nothing() -> None:
    assert not checked(DigestLine("note", "[×48213 rows]"), DigestLine("prose", "It was order 48213.")).shown


def test_shown_elsewhere_and_left_out_make_the_total_in_every_class() -> None:
    one = surveyed()
    check = check_part(one, [DigestLine("quote", "invoice 99120 at 10.0.0.7")], DefaultRegistry())
    settle(shared([one], {Specific("number", "48213", "order"): "offload_0003"}), [check], "offload_0007")
    counts = counted([one], [check], 2)
    assert (counts.total, counts.shown, counts.elsewhere, counts.left_out, counts.redacted) == (6, 2, 1, 3, 2)
    assert counts.holders == {"offload_0003": 1}
    assert all(c.shown + c.elsewhere + c.left_out == c.total for c in counts.by_class.values())


def test_elsewhere_needs_the_same_key() -> None:
    one = surveyed()
    check = check_part(one, [], DefaultRegistry())
    settle(shared([one], {Specific("number", "48213", "invoice"): "offload_0003"}), [check], "offload_0007")
    assert not check.elsewhere


PART = (DigestPart(item_id="a", lines=(DigestLine("note", "[item 1 x: 2 lines]"),)),)


def test_a_digest_over_its_budget_or_not_smaller_than_its_source_is_refused() -> None:
    def rules(tokens: int, ceiling: int, source: int) -> list[str]:
        empty = SpecificCounts()
        found = violations(PART, [PartCheck()], empty, tokens=tokens, ceiling=ceiling, most=2_000, source_tokens=source)
        return [rule.split(":")[0] for rule in found]

    assert rules(105, 100, 1000) == []
    assert rules(106, 100, 1000) == ["budget"]
    assert rules(100, 100, 100) == ["smaller"]
    assert rules(2_000, 9_000, 90_000) == []
    assert rules(2_001, 9_000, 90_000) == ["length"], "whatever its budget (D20)"


def test_a_part_may_not_be_empty_and_counts_must_be_whole() -> None:
    empty = (DigestPart(item_id="a", lines=()),)
    found = violations(empty, [PartCheck(total=3)], SpecificCounts(), tokens=1, ceiling=9, most=2_000, source_tokens=90)
    assert {rule.split(":")[0] for rule in found} == {"part", "counts"}


def test_prose_has_a_share_of_the_budget_and_no_more() -> None:
    def found(prose: int) -> tuple[str, ...]:
        return violations(
            PART,
            [PartCheck()],
            SpecificCounts(),
            tokens=90,
            ceiling=100,
            most=2_000,
            source_tokens=900,
            prose_tokens=prose,
            budget=100,
        )

    assert found(40) == ()
    assert [rule.split(":")[0] for rule in found(41)] == ["prose"]


def test_a_line_is_read_once_however_many_drafts_it_stands_in() -> None:
    read: list[str] = []

    class Reading(DefaultRegistry):
        def spans(self, text: str) -> list[Span]:
            read.extend(text.split("\n"))
            return super().spans(text)

    registry = Reading()
    one = surveyed()
    first = [DigestLine("quote", "invoice 99120 at 10.0.0.7"), DigestLine("entry", "total=51007")]
    drafts = [first, [*first, DigestLine("quote", "nothing here")], first[1:]]
    checks = [check_part(one, lines, registry) for lines in drafts]
    assert sorted(line for line in read if line) == sorted({line.text for lines in drafts for line in lines})
    assert checks == [check_part(surveyed(), lines, DefaultRegistry()) for lines in drafts], "and judged the same"


def test_the_same_text_is_judged_by_what_it_is_shown_as() -> None:
    one = surveyed()
    text = "wrong=51007"
    as_quote = check_part(one, [DigestLine("quote", text)], DefaultRegistry())
    as_entry = check_part(one, [DigestLine("entry", text)], DefaultRegistry())
    assert (as_quote.bad_lines, len(as_quote.shown)) == ({}, 1)
    assert as_entry.bad_lines == {0: "pairs: a value under a key it does not have"}
