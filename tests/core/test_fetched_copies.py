"""What was handed out and came back into the context: known again, left alone for a while, then a pointer (L13)."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.models.views import ItemView

from ..conftest import first_of

pytestmark = pytest.mark.anyio
Raw = dict[str, Any]


def result(n: int, lines: int = 50) -> Raw:
    text = "\n".join(f"row {n}-{line}: account ACC{n:03d}{line:03d} has {line * 17 + n} EUR" for line in range(lines))
    return {"role": "tool", "tool_name": "query", "tool_use_id": f"call_{n}", "content": text}


def talk(start: int, stop: int) -> list[Raw]:
    items: list[Raw] = []
    for n in range(start, stop):
        items.append({"role": "assistant", "kind": "tool_call", "tool_name": "query", "tool_use_id": f"call_{n}"})
        items.append(result(n))
    return items


def fetched(name: str, content: Any) -> Raw:
    return {"role": "tool", "tool_name": "restore", "tool_use_id": name, "content": content}


def words(count: int) -> list[Raw]:
    return [{"role": "assistant", "content": f"thought {n}"} for n in range(count)]


async def row(p: Palimpsest, name: str) -> ItemView:
    return next(item for item in (await p.show_context("s")).items if item.item_id == name)


async def compacted(p: Palimpsest) -> str:
    """A recorded session of sixteen results after one pass; the id of its first batch."""
    await p.record_items("s", [{"role": "user", "content": "Audit the accounts."}, *talk(0, 16)])
    return (await p.compact_session("s", force=True, target=0.5)).batches[0].batch_id


@pytest.mark.parametrize("as_blocks", first_of([False, True]), ids=["string", "text blocks"])
async def test_a_copy_is_left_alone_for_five_assistant_messages_and_then_becomes_a_pointer(
    p: Palimpsest, as_blocks: bool
) -> None:
    batch = await compacted(p)
    text = (await p.restore("s", batch, "call_0")).text
    await p.record_items("s", [fetched("f", [{"type": "text", "text": text}] if as_blocks else text)])
    newer = [result(n) for n in range(30, 46)]  # pushes the copy out of the newest results
    await p.record_items("s", [*newer, *words(4)])
    assert (await row(p, "f")).protected == "restored"
    await p.record_items("s", words(1))
    assert (await row(p, "f")).protected == ""
    report = await p.compact_session("s", force=True, target=0.3)
    assert "f" not in {name for one in report.batches for name in one.item_ids}, "never archived again"
    after = await row(p, "f")
    assert (after.state, after.batch_id) == ("replaced", batch)
    assert (await p.verify()).findings == ()


async def test_each_copy_of_a_batch_is_known_as_its_own_item(p: Palimpsest) -> None:
    batch = await compacted(p)
    texts = [one.text for one in await p.restore_batch("s", batch)]
    assert len(texts) == 3
    await p.record_items("s", [fetched(f"f{n}", text) for n, text in enumerate(texts)])
    await p.record_items("s", [*words(6), *talk(20, 24)])
    report = await p.compact_session("s", force=True, target=0.1, keep_last=3)
    assert any("3 fetched copies" in note for note in report.notes)
    again = await p.compact_session("s", force=True, target=0.1, keep_last=3)
    assert not again.batches, "nothing is left to take"


async def test_a_reinstated_original_is_no_copy_of_itself(p: Palimpsest) -> None:
    batch = await compacted(p)
    await p.restore("s", batch, "call_0")
    await p.reinstate("s", batch)
    await p.record_items("s", [*words(6), *talk(20, 24)])
    report = await p.compact_session("s", force=True, target=0.2, keep_last=3)
    assert "call_0" in {name for one in report.batches for name in one.item_ids}, "digested, not pointed at"
    assert not any("copies" in note for note in report.notes)
