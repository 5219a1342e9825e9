"""What a person is shown of a session: its timeline, and originals beside their digests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.core.palimpsest_archive import quotes
from palimpsest_mcp.errors import ItemUnknown
from palimpsest_mcp.models.views import ItemView

pytestmark = pytest.mark.anyio


def job(number: int) -> list[dict[str, Any]]:
    rows = "\n".join(f"part-{number}-{row} wrote {number * 977 + row * 31} bytes in {row} ms" for row in range(60))
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_log", "input": {"job": number}}
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{number}",
        "content": f"{rows}\nERROR E{4000 + number}: torn",
    }
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def conversation(jobs: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Why?"}, *(message for number in range(jobs) for message in job(number))]


async def test_some_items_of_a_context_are_shown_as_they_are_among_all(p: Palimpsest) -> None:
    await p.compact_messages(conversation(6), session_id="s", force=True, target=0.3)
    whole = await p.show_context("s")
    assert whole.item_count == len(whole.items) == 13
    for rows in (slice(0, 4), slice(4, 11), slice(11, 99), slice(99, 120)):
        some = await p.show_context("s", rows=rows)
        assert some.items == whole.items[rows]
        assert (some.item_count, some.usage, some.by_kind) == (13, whole.usage, whole.by_kind)


async def test_rows_of_a_context_are_chosen_before_anything_is_said_of_them(p: Palimpsest) -> None:
    await p.compact_messages(conversation(6), session_id="s", force=True, target=0.3)
    whole = await p.show_context("s")
    offered: list[ItemView] = []

    def largest(rows: Iterable[ItemView]) -> list[ItemView]:
        offered.extend(rows)
        return sorted(offered, key=lambda one: -one.tokens)[:3]

    some = await p.show_context("s", rows=largest)
    assert some.items == tuple(sorted(whole.items, key=lambda one: -one.tokens)[:3])
    assert offered == [msgspec.structs.replace(one, preview="", evidence="") for one in whole.items]
    assert (some.item_count, some.usage, some.by_kind) == (13, whole.usage, whole.by_kind)


async def test_a_pass_costs_in_the_timeline_what_its_report_said(p: Palimpsest) -> None:
    told = await p.compact_messages(conversation(8), session_id="s", force=True, target=0.5, keep_last=3)
    again = await p.compact_messages(conversation(14), session_id="s", force=True, target=0.4, keep_last=3)
    story = await p.timeline("s")
    assert [one.number for one in story.passes] == [1, 2]
    for one, report in zip(story.passes, (told.report, again.report), strict=True):
        assert one.cache == report.cache
        assert set(one.batch_ids) == {batch.batch_id for batch in report.batches}
        assert one.after_tokens == report.after.used.value
        assert one.original_tokens == sum(batch.original_tokens for batch in report.batches)
        assert one.digest_tokens == sum(batch.tokens_after for batch in report.batches)


async def test_the_curve_falls_at_a_pass_and_ends_at_what_the_view_holds(p: Palimpsest) -> None:
    await p.compact_messages(conversation(8), session_id="s", force=True, target=0.5, keep_last=3)
    await p.compact_messages(conversation(14), session_id="s", force=True, target=0.4, keep_last=3)
    story = await p.timeline("s")
    falls = [
        row
        for (row, before), (same, after) in zip(story.fill, story.fill[1:], strict=False)
        if row == same and after < before
    ]
    assert falls == [one.row for one in story.passes]
    assert story.fill[-1][1] == story.usage.compacted_view_tokens
    assert [row for row, _ in story.fill] == sorted(row for row, _ in story.fill)


async def test_restores_and_steps_back_are_told_with_their_pass(p: Palimpsest) -> None:
    await p.compact_messages(conversation(10), session_id="s", force=True, target=0.4, keep_last=3)
    batch = (await p.list_offloaded("s"))[0]
    before = await p.pulse("s")
    await p.restore("s", batch.batch_id, batch.item_ids[0])
    assert await p.pulse("s") != before
    await p.undo("s")
    story = await p.timeline("s")
    saved = await p.saved("s")
    assert [one.kind for one in story.moments] == ["restored", "reinstated"]
    assert story.passes[0].state == "taken back" and story.passes[0].restored_results == 1
    assert saved.batches == 0 and story.fill[-1][1] == story.usage.used.value


async def test_an_item_is_shown_beside_its_part_of_the_digest(p: Palimpsest) -> None:
    await p.compact_messages(conversation(10), session_id="s", force=True, target=0.4, keep_last=3)
    view = await p.show_context("s")
    replaced = [one for one in view.items if one.state == "replaced"]
    for row in replaced:
        one = await p.beside_item("s", row.item_id)
        batch = next(batch for batch in view.batches if batch.batch_id == one.batch_id)
        restored = await p.restore("s", one.batch_id, one.item_id, noted=False)
        assert one.original == restored.text and one.digest and one.digest in batch.digest
        assert one.quotes and one.quoted_lines == len({quote.source for quote in one.quotes})
        lines, shown = one.original.split("\n"), one.digest.split("\n")
        assert all(lines[quote.source].strip() == shown[quote.line].strip() for quote in one.quotes if quote.whole)
        assert any("ERROR" in lines[quote.source] for quote in one.quotes)
    whole = next(one for one in view.items if one.kind == "tool_result" and one.state == "live")
    assert (await p.beside_item("s", whole.item_id)).digest == ""
    with pytest.raises(ItemUnknown):
        await p.beside_item("s", "nothing-of-this-name")


TEXTS = st.text(st.sampled_from("ab1 |…\n⏎»-"), max_size=60)


@given(digest=TEXTS, original=TEXTS)
def test_places_are_lines_that_are_there(digest: str, original: str) -> None:
    shown, source = digest.split("\n"), original.split("\n")
    found = quotes(digest, original)
    assert all(0 <= one.line < len(shown) and 0 <= one.source < len(source) for one in found)
    assert len(set(found)) == len(found)


def test_a_row_is_found_by_its_values_and_a_record_of_several_lines_by_each() -> None:
    original = "head\nid 7714 | Petrel | 0.63\nid 7716 | Skua | 0.70\nstart 22:01 a1\nnext 22:03 b2\n"
    assert [(one.source, one.whole) for one in quotes(" 7716|Skua|0.70", original)] == [(2, False)]
    assert [one.source for one in quotes(" 22:01|a1|22:03|b2", original)] == [3, 4]
    assert [(one.source, one.whole) for one in quotes("head", original)] == [(0, True)]
    assert quotes("[names] Petrel Skua", original) != () and quotes("[3 of 9 rows] id", original) == ()


async def test_secrets_of_an_original_are_masked_before_it_is_cut(p: Palimpsest) -> None:
    secret = "AKIAQYLPMN5HFIQR7XYA"
    asked = [{"role": "user", "content": f"The key is {secret}, of the old account."}]
    await p.compact_messages([*asked, *conversation(3)[1:]], session_id="s", force=True, target=0.9)
    first = (await p.show_context("s")).items[0]
    one = await p.beside_item("s", first.item_id)
    assert secret not in one.original and "[redacted:" in one.original and one.original.startswith("The key is ")
