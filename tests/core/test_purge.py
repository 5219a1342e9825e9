"""A purge leaves nothing: every byte of the store is looked at, as it stands and decoded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import BatchUnknown, InvalidArgument, Purged
from palimpsest_mcp.store.rewrite import texts_of

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]
KEY = 'vault "q7Rt/2Vx9Lk4M" ümlaut'


def traces(home: Path, text: str) -> list[str]:
    """Files under a folder that hold a text in any form that the store uses."""
    forms = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and any(form in one for one in texts_of(path.read_bytes()) for form in forms)
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def with_key(messages: list[dict[str, Any]], at: int, key: str = KEY) -> list[dict[str, Any]]:
    """The same session with a text planted in the nth result."""
    block = messages[2 + 2 * at]["content"][0]
    block["content"] = f"login uses {key} for cluster north-{at}\n{block['content']}"
    return messages


def lines_of(messages: list[dict[str, Any]]) -> set[str]:
    """Of every tool result."""
    blocks: list[dict[str, Any]] = [one["content"][0] for one in messages[2::2] if isinstance(one["content"], list)]
    texts: list[str] = [block["content"] for block in blocks if "content" in block]
    return {line for text in texts for line in text.split("\n")}


async def compacted(p: Palimpsest, messages: list[dict[str, Any]], session_id: str = "s") -> None:
    await p.compact_messages(messages, session_id=session_id, target=0.4, force=True)


async def holder(p: Palimpsest, item_id: str, session_id: str = "s") -> str:
    return next(b.batch_id for b in await p.list_offloaded(session_id) if item_id in b.item_ids)


async def everything_written(p: Palimpsest, messages: list[dict[str, Any]]) -> None:
    """A session with every kind of file that a store has."""
    await compacted(p, messages)
    await p.search_offloaded("imported rows", session_id="s")
    await p.update_summary("s", {"decisions": [f"keep {KEY} out of the logs"]})
    await p.write_handoff("s", "import job", fields={"in_progress": [f"found {KEY}"]})
    await p.record_experience(
        "search-web", {"outcome": "success", "winning_pattern": f"use {KEY} first", "ts": "2026-11-20T10:00:00+00:00"}
    )
    await p.compact_experience("search-web")


async def test_a_preview_names_what_goes_and_changes_nothing(tmp_path: Path, session: MakeSession) -> None:
    async with Palimpsest.open(tmp_path / "h") as p:
        await compacted(p, with_key(session(20), 2))
        before = contents(tmp_path)
        batch_id = await holder(p, "toolu_00_0002")
        report = await p.purge("s", batch_id)
        assert report.dry_run and report.sessions[0].batches == (batch_id,)
        assert "toolu_00_0002" in report.sessions[0].items and report.sessions[0].size_bytes > 1_000
        await p.purge("s")
        await p.purge(matching=KEY)
        assert contents(tmp_path) == before


async def test_a_purged_batch_leaves_no_line_of_its_originals(tmp_path: Path, session: MakeSession) -> None:
    async with Palimpsest.open(tmp_path / "h") as p:
        messages = session(20)
        await compacted(p, messages)
        await p.search_offloaded("imported rows", session_id="s")
        batch_id = await holder(p, "toolu_00_0002")
        items = (await p.record("s", batch_id)).items
        lines = [line for item in items for line in str(item.result).split("\n")]
        await p.purge("s", batch_id, dry_run=False)
        assert [line for line in lines if traces(tmp_path / "h", line)] == []
        with pytest.raises(Purged):
            await p.restore("s", batch_id, items[0].id)
        with pytest.raises(Purged):
            await p.restore_all("s")
        row = next(b for b in await p.list_offloaded("s") if b.batch_id == batch_id)
        assert (row.state, row.restorable) == ("purged", False)
        assert (await p.verify()).findings == ()
        other = next(b for b in await p.list_offloaded("s") if b.batch_id != batch_id)
        assert await p.restore_batch("s", other.batch_id)


async def test_what_was_purged_is_not_recorded_again(tmp_path: Path, session: MakeSession) -> None:
    messages = with_key(session(20), 2)
    async with Palimpsest.open(tmp_path / "h") as p:
        await compacted(p, messages)
        await p.purge("s", await holder(p, "toolu_00_0002"), dry_run=False)
    async with Palimpsest.open(tmp_path / "h") as p:
        await compacted(p, messages)
        await compacted(p, [*messages, {"role": "user", "content": "Go on."}])
        assert traces(tmp_path / "h", KEY) == []
        assert (await p.verify()).ok


async def test_a_text_that_matches_goes_wherever_it_is_kept(tmp_path: Path, session: MakeSession) -> None:
    messages = with_key(with_key(session(20), 2), 18)
    messages.append({"role": "assistant", "content": f"The login is {KEY}."})
    messages.append({"role": "user", "content": "Thanks."})
    home = tmp_path / "h"
    async with Palimpsest.open(home) as p:
        await everything_written(p, messages)
        assert len(traces(home, KEY)) > 4
        report = await p.purge(matching=KEY, dry_run=False)
        assert traces(home, KEY) == [] and report.left == ()
        assert {"toolu_00_0002", "toolu_00_0018"} <= {*report.sessions[0].items}
        assert report.sessions[0].live >= 2 and "host" in report.notes[0]
        assert (await p.verify()).ok
        assert (await p.experience_status())[0].damaged == 0
        await compacted(p, messages)
        await compacted(p, [*messages, {"role": "user", "content": "Go on."}])
        assert traces(home, KEY) == []
        again = await p.purge(matching=KEY, dry_run=False)
        assert again.sessions == () and again.left == ()


async def test_a_purged_session_leaves_a_tombstone_that_says_so(tmp_path: Path, session: MakeSession) -> None:
    messages = with_key(session(12), 2)
    home = tmp_path / "h"
    async with Palimpsest.open(home) as p:
        await everything_written(p, messages)
        batches = await p.list_offloaded("s")
        lines = lines_of(messages)
        await p.purge("s", dry_run=False)
        left = [line for line in lines if traces(home / "session", line)]
        assert left == []
        for batch in batches:
            with pytest.raises(Purged):
                await p.restore("s", batch.batch_id, batch.item_ids[0])
        with pytest.raises(Purged):
            await p.restore_all("s")
        assert {b.state for b in await p.list_offloaded("s")} == {"purged"}
        assert (await p.verify()).ok
        assert (await p.session("s")).source == ""
    async with Palimpsest.open(home) as p:
        await compacted(p, messages)
        assert [line for line in lines if traces(home / "session", line)] == []


async def test_a_fork_is_named_and_goes_with_the_batch(tmp_path: Path, session: MakeSession) -> None:
    messages = with_key(session(20), 2)
    async with Palimpsest.open(tmp_path / "h") as p:
        await compacted(p, messages)
        await p.compact_messages(messages, session_id="fork", parent="s", target=0.4, force=True)
        await compacted(p, messages, "stranger")
        batch_id = await holder(p, "toolu_00_0002")
        report = await p.purge("s", batch_id)
        assert {one.session_id for one in report.sessions} == {"s", "fork"}
        assert [one.session_id for one in report.elsewhere] == ["stranger"]
        await p.purge("s", batch_id, dry_run=False)
        assert {place.split("/")[1] for place in traces(tmp_path / "h", KEY) if place.startswith("session/")} == {
            "stranger"
        }
        await p.purge("stranger", await holder(p, "toolu_00_0002", "stranger"), everywhere=True, dry_run=False)
        assert traces(tmp_path / "h", KEY) == []


async def test_a_batch_without_texts_is_not_purged_with_others(p: Palimpsest) -> None:
    bare = [{"kind": "tool_result", "role": "tool", "title": f"page {n}", "tokens": 900} for n in range(8)]
    told = {"kind": "tool_result", "role": "tool", "content": f"the key is {KEY}", "tool_name": "t"}
    await p.record_items("s", [*bare, told])
    await p.compact_session("s", window_tokens=5_000, used_tokens=4_900, force=True)
    report = await p.purge(matching=KEY, dry_run=False)
    assert report.sessions[0].batches == () and report.left == ()
    assert {one.state for one in await p.list_offloaded("s")} <= {"replaced"}


async def test_a_second_purge_counts_only_what_it_removes(p: Palimpsest, session: MakeSession) -> None:
    messages = with_key(session(20), 7)
    await compacted(p, messages)
    await p.purge("s", "offload_0001", dry_run=False)
    report = await p.purge(matching=KEY)
    assert report.sessions[0].items == ("toolu_00_0007",) and report.sessions[0].batches == ()


async def test_a_purge_needs_something_that_can_be_meant(p: Palimpsest, session: MakeSession) -> None:
    await compacted(p, session(20))
    with pytest.raises(BatchUnknown):
        await p.purge("s", "offload_0999")
    for matching, regex in (("", ""), ("", "("), ("", "x*"), ("a", "b")):
        with pytest.raises(InvalidArgument):
            await p.purge(matching=matching, regex=regex)


async def test_a_result_that_was_purged_alone_gets_its_mark_and_its_neighbours_their_digests(
    p: Palimpsest, session: MakeSession
) -> None:
    messages = session(20)
    await p.compact_messages(messages, session_id="s", target=0.4, force=True)
    batches = [await p.restore_batch("s", one.batch_id, noted=False) for one in await p.list_offloaded("s")]
    several = next(originals for originals in batches if len(originals) > 1)
    await p.purge(matching=max(several[0].data.decode().splitlines(), key=len), dry_run=False)
    again = await p.compact_messages(messages, session_id="s", target=0.4, force=True)
    text = json.dumps(again.messages)
    assert "[purged]" in text and not any("no whole record" in note for note in again.report.notes)
    assert not any(json.dumps(one.data.decode())[1:-1] in text for one in several)
