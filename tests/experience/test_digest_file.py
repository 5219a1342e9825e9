"""`experience.md`: written, read back, kept within its ceiling, and never at the cost of what people wrote."""

from __future__ import annotations

from datetime import UTC, date, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.errors import HandWrittenTooLong
from palimpsest_mcp.experience.document import (
    MAX_LINES,
    empty_document,
    last_compacted_line,
    lay_out,
    read_document,
    rule_line,
    unified_diff,
)
from palimpsest_mcp.experience.forms import safe_line
from palimpsest_mcp.experience.models import Rule, RuleKind, Section
from palimpsest_mcp.experience.state import standing_of

DAY = date(2026, 4, 22)
LAST = last_compacted_line(DAY, 37, 3, "")


def rule(number: int, section: Section = "active", *, kind: RuleKind = "rule", **fields: object) -> Rule:
    made = Rule(
        id=f"r{number:04x}",
        kind=kind,
        section=section,
        text=f"rule number {chr(97 + number % 26)}{number}",
        seen=5,
        success=4,
        failed=4,
        first_seen=DAY,
        last_seen=DAY,
        last_verified=DAY,
    )
    return msgspec.structs.replace(made, **fields)


def written(rules: list[Rule], before: str = "") -> str:
    document = read_document(before, "x", {one.id: one.text for one in rules}) if before else empty_document("x")
    return lay_out(document, rules, LAST).text


def test_the_template_is_the_seeds() -> None:
    text = written(
        [rule(1), rule(2, "failures"), rule(3, "queries", kind="query", text="`{brand} {year}`"), rule(4, "pending")]
    )
    assert text.split("\n") == [
        "# x experience",
        "",
        "## Active Rules",
        "- rule number b1 — seen=5, success=4, last_verified=2026-04-22, id=r0001",
        "",
        "## Failure Modes",
        "- rule number c2 — seen=4, last_verified=2026-04-22, id=r0002",
        "",
        "## Good Query Patterns",
        "- `{brand} {year}` — seen=5, success=4, last_verified=2026-04-22, id=r0003",
        "",
        "## Pending Revalidation",
        "- rule number e4 — seen=5, success=4, last_verified=2026-04-22, id=r0004",
        "",
        "## Last Compacted",
        "- 2026-04-22, from 37 events, promoted 3 rules.",
        "",
    ]


def test_both_known_forms_of_last_compacted_are_read() -> None:
    seed = "## Last Compacted\n- 2026-04-22, from 37 events, promoted 3 rules, archived raw events before 2026-03-22.\n"
    old = "## Last Compacted\nLast Compacted: 2026-04-22T08:15:00+00:00\n- from 37 events, promoted 3 rules.\n"
    for text, moment in ((seed, datetime(2026, 4, 22, tzinfo=UTC)), (old, datetime(2026, 4, 22, 8, 15, tzinfo=UTC))):
        document = read_document(text, "x", {})
        assert document.last_compacted == moment and not document.hand
        assert written([], text).count("Last Compacted") == 1


def test_a_digest_of_the_original_is_taken_over() -> None:
    text = (
        "# x experience\n\n## Active Rules\n- use RSS -- seen=5, success=4, last_verified=2026-04-21\n\n"
        "## Failure Modes\n- None yet.\n\n## Good Query Patterns # ≤ 20 templates\n- `{a} {b}` — seen=7\n\n"
        "## Last Compacted\nLast Compacted: 2026-04-22T08:15:00+00:00\n- from 9 events, promoted 1 rules.\n"
    )
    rules = standing_of(read_document(text, "x", {}), (), DAY).rules
    assert [(one.kind, one.section, one.text, one.seen) for one in rules] == [
        ("rule", "active", "use RSS", 5),
        ("query", "queries", "`{a} {b}`", 7),
    ]
    assert "None yet" not in written(list(rules), text)


def test_what_people_wrote_is_kept_where_it_stands() -> None:
    before = (
        "# My own title\n\nAn introduction.\n\n## Active Rules\nA remark.\n- [pinned] always ask — seen=1, success=1, "
        "last_verified=2020-01-01, id=r0009\n- a rule by hand\n\n## My notes\n- keep me\n\n  - and me\n\n"
        "## Last Compacted\n- 2026-04-01, from 1 events, promoted 0 rules.\nA word of mine.\n"
    )
    after = written([rule(1), rule(2, "failures")], before)
    kept = [line for line in before.split("\n") if line and not line.startswith("- 2026-04-01")]
    assert [line for line in after.split("\n") if line in kept] == kept
    assert "rule number b1" in after and "## Failure Modes" in after
    assert written([rule(1), rule(2, "failures")], after) == after


def test_a_line_that_was_reworded_by_hand_is_the_users() -> None:
    ours = written([rule(1)])
    changed = ours.replace("rule number b1", "my better words")
    document = read_document(changed, "x", {"r0001": "rule number b1"})
    assert document.hand == ("- my better words — seen=5, success=4, last_verified=2026-04-22, id=r0001",)
    assert standing_of(document, [msgspec.structs.replace(rule(1), keys=("k",))], DAY).hand_keys >= {"k"}


def test_a_changed_number_is_not_a_rewording() -> None:
    document = read_document(written([rule(1)]).replace("seen=5", "seen=6"), "x", {"r0001": "rule number b1"})
    assert not document.hand and document.rules[0].seen == 6


def test_the_caps_are_twenty_fifteen_and_twenty_and_the_rest_is_counted() -> None:
    rules = [rule(n) for n in range(25)] + [rule(100 + n, "failures") for n in range(25)]
    rules += [rule(200 + n, "queries") for n in range(25)]
    text = written(rules)
    assert text.count("- rule number") == 55
    assert [line for line in text.split("\n") if "not shown" in line] == [
        "- (5 not shown)",
        "- (10 not shown)",
        "- (5 not shown)",
    ]
    assert written(rules, text) == text


def pending_lines(text: str) -> int:
    return text.split("## Pending Revalidation")[1].count("- rule number") if "## Pending" in text else 0


def test_the_ceiling_drops_what_is_pending_first() -> None:
    full = [rule(n) for n in range(20)] + [rule(100 + n, "failures") for n in range(15)]
    full += [rule(200 + n, "queries") for n in range(20)] + [rule(300 + n, "pending") for n in range(90)]
    text = written(full)
    assert text.count("\n") == MAX_LINES
    assert text.count("- rule number") - pending_lines(text) == 55
    assert f"- ({90 - pending_lines(text)} not shown)" in text


def shown_with(room: int, rules: list[Rule]) -> set[str]:
    """Ids that stand where people left room for so many lines."""
    notes = "\n".join(f"note {n}" for n in range(MAX_LINES - room))
    text = written(rules, f"# x\n\n## Notes\n{notes}\n")
    assert text.count("\n") <= MAX_LINES
    return {one.id for one in rules if f"id={one.id}" in text}


def test_then_leave_the_oldest_failures_the_least_seen_rules_and_queries_and_corrections_last() -> None:
    old = date(2026, 3, 1)
    rules = [
        rule(1, "pending"),
        rule(2, "failures", last_verified=old),
        rule(3, "failures"),
        rule(4, seen=3),
        rule(5, seen=9),
        rule(6, "queries", seen=3),
        rule(7, "queries", seen=9),
        rule(8, "failures", kind="correction", last_verified=old),
    ]
    expected = ["r0001", "r0002", "r0003", "r0004", "r0005", "r0006", "r0007", "r0008"]
    before = {one.id for one in rules}
    gone: list[str] = []
    for room in range(40, 14, -1):
        try:
            after = shown_with(room, rules)
        except HandWrittenTooLong:
            break
        gone += sorted(before - after)
        before &= after
    assert gone == expected[: len(gone)] and len(gone) >= 6


def test_hand_written_lines_alone_over_the_ceiling_are_refused() -> None:
    before = "# x\n\n## Active Rules\n" + "\n".join(f"- by hand {n}" for n in range(130)) + "\n"
    with pytest.raises(HandWrittenTooLong, match="120"):
        written([rule(1)], before)


def test_a_file_with_windows_line_ends_keeps_them() -> None:
    before = "# x\r\n\r\n## Active Rules\r\n- by hand\r\n"
    after = written([rule(1)], before)
    assert after.count("\n") == after.count("\r\n") and "- by hand\r\n" in after


def test_a_heading_in_a_code_fence_is_no_section() -> None:
    before = "# x\n\n## Notes\n```\n## Active Rules\n- no rule — seen=3, success=3, last_verified=2026-04-22\n```\n"
    document = read_document(before, "x", {})
    assert not document.rules
    assert before.strip() in written([], before)


def test_the_diff_is_unified() -> None:
    before = written([])
    assert unified_diff(before, before) == ""
    assert "+- rule number b1 — seen=5" in unified_diff(before, written([rule(1)]))


hostile = st.text(max_size=80) | st.sampled_from(
    [
        "## Active Rules", "x\n## Failure Modes\n- y", "[pinned] mine",
        "x — seen=99, success=99, last_verified=2099-01-01",
        "- None yet.", "(3 not shown)", "```", "![x](http://e.example/?q=1)", "<script>", "\u202eevil", "a\u2028b",
        "2026-04-22, from 37 events, promoted 3 rules.", "Last Compacted: 2026-04-22", "x, id=rffff", "\ud800 half",
    ]
)  # fmt: skip


@given(st.lists(hostile, max_size=8), st.sampled_from(["active", "failures", "pending"]))
def test_no_text_can_forge_anything_and_what_is_written_reads_back(said: list[str], section: Section) -> None:
    texts = [text for text in dict.fromkeys(safe_line(one) for one in said) if text]
    rules = [rule(n, section, text=text) for n, text in enumerate(texts)]
    text = written(rules)
    document = read_document(text, "x", {one.id: one.text for one in rules})
    assert not document.hand
    assert len([line for line in text.split("\n") if line.startswith("#")]) == (
        6 if section == "pending" and rules else 5
    )
    assert {(one.id, one.text, one.section) for one in document.rules} == {(r.id, r.text, r.section) for r in rules}
    assert written(rules, text) == text
    assert text.encode()


@given(st.lists(st.text(max_size=40), max_size=30))
def test_any_file_can_be_read_and_its_lines_survive(lines: list[str]) -> None:
    before = "\n".join(lines).replace("\r", "")
    if not before.strip() or len(lines) > 25:
        return
    after = written([rule(1)], before)
    assert written([rule(1)], after) == after
    document = read_document(before, "x", {})
    for line in (*document.intro, *document.hand):
        assert line in after.split("\n")


def test_a_rules_line_ends_in_its_id() -> None:
    assert rule_line(rule(1, "pending", conflict="r00ff")).endswith("2026-04-22, conflict=r00ff, id=r0001")
