"""What is refused leaves nothing behind, and what is damaged is said to be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import (
    InvalidArgument,
    InvalidItem,
    InvalidPolicy,
    PalimpsestError,
    PassInProgress,
    PlanStale,
    WindowUnknown,
)

from .conftest import results

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"target": 1.5}, InvalidArgument),
        ({"target": float("nan")}, InvalidArgument),
        ({"keep_last": -5}, InvalidArgument),
        ({"policy": "nope"}, InvalidPolicy),
        ({"strategy": "nope"}, InvalidArgument),
        ({"window_tokens": 0}, InvalidArgument),
        ({"used_tokens": -1}, InvalidArgument),
        ({"form": "nope"}, InvalidArgument),
        ({"force": False}, WindowUnknown),
    ],
)
async def test_a_pass_that_is_refused_makes_no_session(
    p: Palimpsest, session: MakeSession, wrong: dict[str, Any], error: type[PalimpsestError]
) -> None:
    how: dict[str, Any] = {"force": True, **wrong}
    with pytest.raises(error):
        await p.compact_messages(session(), session_id="new one", **how)
    assert await p.sessions() == ()


async def test_no_other_refusal_makes_a_session(p: Palimpsest) -> None:
    with pytest.raises(InvalidItem):
        await p.record_items("new one", [{"role": "user", "content": "x"}, {"role": "nope"}])
    with pytest.raises(InvalidArgument):
        await p.check_context_ratio("new one", used_tokens=-1)
    with pytest.raises(InvalidPolicy):
        await p.check_context_ratio("new one", policy="nope")
    with pytest.raises(PalimpsestError):
        await p.check_context_ratio("new one", transcript_path="/nowhere/at/all.jsonl")
    with pytest.raises(InvalidArgument):
        await p.update_summary("new one", {"nope": "x"})
    with pytest.raises(InvalidArgument):
        await p.update_summary("new one", {}, close_blockers=["the first"])
    assert await p.sessions() == ()


async def test_a_known_session_without_a_window_is_refused_too(p: Palimpsest, session: MakeSession) -> None:
    await p.compact_messages(session(), session_id="s", force=True)
    with pytest.raises(WindowUnknown):
        await p.compact_messages(session(), session_id="s")


async def test_of_passes_at_once_one_runs(p: Palimpsest, session: MakeSession) -> None:
    messages = session(24)
    asked = (p.compact_messages(messages, session_id="s", target=0.4, force=True) for _ in range(3))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sorted(type(one).__name__ for one in answers) == ["CompactedMessages", "PassInProgress", "PassInProgress"]
    assert len({row.item_ids for row in await p.list_offloaded("s")}) == len(await p.list_offloaded("s"))
    assert any(isinstance(one, PassInProgress) for one in answers)


async def test_what_changes_while_a_pass_works_is_not_replaced(p: Palimpsest, session: MakeSession) -> None:
    messages = session(24)
    await p.compact_messages(messages, session_id="s", window_tokens=10**7)

    async def meanwhile(done: int, total: int, what: str) -> None:
        if what == "archive":
            await p.show_context("s", pin=["toolu_00_0001"])

    done = await p.compact_messages(messages, session_id="s", target=0.4, force=True, progress=meanwhile)
    assert done.report.status == "partial" and "changed meanwhile" in done.report.reason
    assert done.report.batches and not any("toolu_00_0001" in batch.item_ids for batch in done.report.batches)
    assert results(done.messages)["toolu_00_0001"] == results(messages)["toolu_00_0001"]
    assert await p.expand_messages(done.messages, session_id="s") == messages


async def test_a_plan_of_another_revision_is_stale(p: Palimpsest) -> None:
    items = [
        {"role": "tool", "tool_name": "Bash", "tool_use_id": f"call_{n}", "content": f"row {n} 48213\n" * 300}
        for n in range(20)
    ]
    await p.record_items("s", items)
    plan = await p.compact_session("s", dry_run=True, force=True, target=0.4)
    assert (await p.compact_session("s", dry_run=True, force=True, target=0.4)).plan_id == plan.plan_id
    shown = await p.show_context("s", pin=["call_3"])
    assert [one.item_id for one in shown.items if one.pinned] == ["call_3"]
    with pytest.raises(PlanStale):
        await p.compact_session("s", force=True, target=0.4, plan_id=plan.plan_id)
    fresh = await p.compact_session("s", dry_run=True, force=True, target=0.4)
    done = await p.compact_session("s", force=True, target=0.4, plan_id=fresh.plan_id)
    assert done.batches and not any("call_3" in batch.item_ids for batch in done.batches)


async def test_a_damaged_batch_is_listed_as_such_and_costs_only_itself(tmp_path: Path, session: MakeSession) -> None:
    messages = session(24)
    async with Palimpsest.open(tmp_path / "home") as p:
        done = await p.compact_messages(messages, session_id="s", target=0.4, force=True)
    (archive,) = (tmp_path / "home").glob("session/*/offloaded/*.jsonl")
    lines = archive.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"imported", b"exported", 1)
    archive.write_bytes(b"\n".join(lines))
    damaged = done.report.batches[1]
    async with Palimpsest.open(tmp_path / "home") as p:
        rows = {row.batch_id: row for row in await p.list_offloaded("s")}
        assert rows.keys() == {batch.batch_id for batch in done.report.batches}
        row = rows.pop(damaged.batch_id)
        assert (row.state, row.restorable, row.item_ids) == ("damaged", True, damaged.item_ids)
        assert row.original_tokens == damaged.original_tokens and row.kinds == {"Bash": len(damaged.item_ids)}
        assert all(one.state == "replaced" and one.restorable for one in rows.values())
        assert (await p.show_context("s")).batches
        assert not (await p.verify("s")).ok
        assert len(await p.restore_batch("s", damaged.batch_id)) == len(damaged.item_ids), "the ledger has copies"
        again = await p.compact_messages(messages, session_id="s", target=0.4, force=True)
        assert again.messages == done.messages


async def test_half_surrogates_come_back_as_they_went(p: Palimpsest, session: MakeSession) -> None:
    messages = session(20)
    messages[0] = {"role": "user", "content": "why \ud800 does it fail?"}
    for message in messages[2:30:2]:
        block = message["content"][0]
        block["content"] = f"odd \udfff line\n{block['content']}"
    name = "half \ud800"
    done = await p.compact_messages(messages, session_id=name, target=0.4, force=True)
    assert done.report.batches
    assert await p.expand_messages(done.messages, session_id=name) == messages
    assert await p.restore_all(name) == messages
    batch = done.report.batches[0]
    for one in await p.restore_batch(name, batch.batch_id):
        assert one.text == results(messages)[one.item_id]
    assert await p.search_offloaded("imported \ud800", session_id=name)
    assert (await p.verify()).ok
