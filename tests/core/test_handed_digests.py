"""The calling agent's own summaries: plan, write, hand in (I4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument, PlanStale
from palimpsest_mcp.models.records import OffloadRecord
from palimpsest_mcp.models.reports import Report

pytestmark = pytest.mark.anyio
HOW: dict[str, Any] = {"target": 0.6, "window_tokens": 24_000, "force": True}
LABEL = "[summary by the calling agent, items 1 to 3, wording not verified: 1 line]"


def result(n: int) -> dict[str, Any]:
    """A table of accounts, most of whose rows say nothing special."""
    text = "\n".join(
        f"row {n}-{line}: account ACC{n:03d}{line:03d} was looked at and nothing unusual was found in its entries"
        for line in range(60)
    )
    return {"role": "tool", "tool_name": "query", "tool_use_id": f"call_{n}", "content": text}


async def planned(p: Palimpsest) -> Report:
    calls = [
        {"role": "assistant", "kind": "tool_call", "tool_name": "query", "tool_use_id": f"call_{n}"} for n in range(12)
    ]
    items = [item for n in range(12) for item in (calls[n], result(n))]
    await p.record_items("s1", [{"role": "user", "content": "Audit the accounts."}, *items])
    report = await p.compact_session("s1", dry_run=True, **HOW)
    assert report.status == "planned" and len(report.slots) >= 2
    return report


async def record(p: Palimpsest, report: Report, number: int) -> OffloadRecord:
    return await p.record("s1", report.batches[number].batch_id)


async def test_a_text_stands_labelled_above_what_code_shows(p: Palimpsest) -> None:
    plan = await planned(p)
    text = "All accounts of the first three regions were in order."
    report = await p.compact_session("s1", plan_id=plan.plan_id, digests={"1": text}, **HOW)
    assert report.status == "compacted"
    assert [note for note in report.notes if "summar" in note and "not used" in note] == []
    with_text, without = await record(p, report, 0), await record(p, report, 1)
    lines = with_text.part(with_text.items[0]).split("\n")
    assert lines[2:4] == [LABEL, text] and len(lines) > 5
    assert (with_text.digester, without.digester) == ("host/1", "extractive/2")
    assert with_text.verification.passed and "summary by" not in without.digest_replacing_inline
    original = await p.restore("s1", report.batches[0].batch_id, "call_0")
    assert original.text == result(0)["content"]
    assert (await p.verify()).findings == ()


async def test_what_it_says_is_stored_and_never_made_again(p: Palimpsest) -> None:
    plan = await planned(p)
    report = await p.compact_session("s1", plan_id=plan.plan_id, digests={"1": "All in order."}, **HOW)
    before = (await record(p, report, 0)).digest_replacing_inline
    await p.compact_session("s1", **HOW)
    assert (await record(p, report, 0)).digest_replacing_inline == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is blank"),
        ("Account ACC999999 was overdrawn by $4,711.00.", "invented: 2 specifics"),
        ("I cannot summarize this content.", "it is an error or a refusal"),
        ("Error generating summary", "it is an error or a refusal"),
        ("All in order. " * 300, "longer than 40% of the digest may be"),
        ("All in order. " * 9_000, "it is longer than its source"),
    ],
)
async def test_a_text_that_breaks_a_rule_is_not_used_and_the_report_says_why(
    p: Palimpsest, text: str, reason: str
) -> None:
    plan = await planned(p)
    report = await p.compact_session("s1", plan_id=plan.plan_id, digests={"2": text}, **HOW)
    assert report.status == "compacted"
    batch = report.batches[1].batch_id
    (note,) = [note for note in report.notes if "not used" in note]
    assert note.startswith(f"summary by the calling agent not used: {reason}")
    assert note.endswith(f"; extractive instead ({batch})")
    assert (await record(p, report, 1)).digester == "extractive/2"


async def test_secrets_in_a_text_are_masked_before_it_is_shown(p: Palimpsest) -> None:
    plan = await planned(p)
    text = 'All in order; the agent logged in with password = "OpenSesameForever" throughout.'
    report = await p.compact_session("s1", plan_id=plan.plan_id, digests={"1": text}, **HOW)
    digest = (await record(p, report, 0)).digest_replacing_inline
    assert "All in order; the agent logged in with" in digest and "[redacted:" in digest
    assert "OpenSesame" not in digest


async def test_a_changed_session_makes_the_plan_stale(p: Palimpsest) -> None:
    plan = await planned(p)
    await p.show_context("s1", pin=["call_1"])
    with pytest.raises(PlanStale):
        await p.compact_session("s1", plan_id=plan.plan_id, digests={"1": "All in order."}, **HOW)
    assert await p.list_offloaded("s1") == ()


@pytest.mark.parametrize("name", ["0", "9999", "one", "", "-1", "1.0", "\u0661"])
async def test_a_slot_that_the_plan_does_not_have_is_an_error(p: Palimpsest, name: str) -> None:
    plan = await planned(p)
    with pytest.raises(InvalidArgument) as caught:
        await p.compact_session("s1", plan_id=plan.plan_id, digests={"1": "All in order.", name: "text"}, **HOW)
    assert f"1 to {len(plan.slots)}" in caught.value.next
    assert await p.list_offloaded("s1") == ()


@pytest.mark.parametrize(
    ("digests", "words"),
    [({"1": None}, "is no text"), ({"1": 5}, "is no text"), ({"1": "Fine.", "01": "Good."}, "twice")],
)
async def test_what_is_no_text_and_a_slot_named_twice_are_errors(p: Palimpsest, digests: Any, words: str) -> None:
    plan = await planned(p)
    with pytest.raises(InvalidArgument, match=words):
        await p.compact_session("s1", plan_id=plan.plan_id, digests=digests, **HOW)
    assert await p.list_offloaded("s1") == ()


async def test_a_text_of_another_batch_is_not_used(p: Palimpsest) -> None:
    plan = await planned(p)
    text = "Account ACC009001 was looked at."
    report = await p.compact_session("s1", plan_id=plan.plan_id, digests={"1": text}, **HOW)
    assert (await record(p, report, 0)).digester == "extractive/2"
    assert any("invented: 1 specific " in note for note in report.notes)


async def test_a_plan_outlives_its_process_and_is_used_once(tmp_path: Path) -> None:
    async with Palimpsest.open(tmp_path / "home") as first:
        plan = await planned(first)
    async with Palimpsest.open(tmp_path / "home") as second:
        report = await second.compact_session("s1", plan_id=plan.plan_id, digests={"1": "All in order."}, **HOW)
        assert (await record(second, report, 0)).digester == "host/1"
        with pytest.raises(PlanStale):
            await second.compact_session("s1", plan_id=plan.plan_id, digests={"1": "All in order."}, **HOW)
        assert (await second.verify()).findings == ()


async def test_other_arguments_than_those_of_the_plan_are_told(p: Palimpsest) -> None:
    plan = await planned(p)
    other: dict[str, Any] = {**HOW, "target": 0.3}
    with pytest.raises(PlanStale, match="arguments"):
        await p.compact_session("s1", plan_id=plan.plan_id, digests={"1": "All in order."}, **other)


async def test_texts_without_a_plan_are_an_error(p: Palimpsest) -> None:
    plan = await planned(p)
    both: list[dict[str, Any]] = [{}, {"plan_id": plan.plan_id, "dry_run": True}]
    for more in both:
        with pytest.raises(InvalidArgument) as caught:
            await p.compact_session("s1", digests={"1": "All in order."}, **HOW, **more)
        assert "plan_id" in caught.value.next
    assert await p.list_offloaded("s1") == ()
