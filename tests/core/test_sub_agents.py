"""A sub-agent has a session of its own below its parent's; its result comes back with the way to what it read (L14)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument, SessionUnknown

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]
WINDOW = 10**6


async def test_what_a_sub_agent_read_is_found_and_restored_from_above(p: Palimpsest, session: MakeSession) -> None:
    await p.begin("parent")
    child = await p.begin_sub_agent("parent", "call_1")
    messages = session(4)
    await p.compact_messages(messages, session_id=child.session_id, window_tokens=WINDOW)
    back = await p.hand_back(child.session_id, "The third step fails.", task="Look at the import job")
    assert back.text.startswith("The third step fails.\n\n[sub-agent ")
    assert f"restore_batch {child.handle}" in back.text and f"search_offloaded {child.handle}" in back.text
    for name in ("parent", child.session_id):
        (hit, *_) = await p.search_offloaded("worker-002-031", session_id=name)
        assert hit.handle == child.handle
        one = await p.restore(hit.handle, hit.batch_id, hit.item_id)
        assert one.text == messages[6]["content"][0]["content"]


async def test_the_parents_archive_is_within_a_sub_agents_reach(p: Palimpsest, session: MakeSession) -> None:
    done = await p.compact_messages(session(20), session_id="parent", target=0.4, force=True)
    child = await p.begin_sub_agent("parent", "call_1")
    hits = await p.search_offloaded("worker-001-031", session_id=child.session_id)
    assert hits[0].session_id == "parent"
    batch = done.report.batches[0]
    assert await p.restore(child.session_id, batch.batch_id, batch.item_ids[0])


async def test_one_sub_agent_does_not_see_another(p: Palimpsest, session: MakeSession) -> None:
    await p.begin("parent")
    for name, seed in (("call_1", 1), ("call_2", 2)):
        child = await p.begin_sub_agent("parent", name)
        await p.compact_messages(session(4, seed=seed), session_id=child.session_id, window_tokens=WINDOW)
        await p.hand_back(child.session_id, "done")
    hits = await p.search_offloaded("worker-002-031", session_id="parent/call_1")
    assert {hit.session_id for hit in hits} == {"parent/call_1"}


async def test_a_fork_is_no_sub_agent(p: Palimpsest, session: MakeSession) -> None:
    await p.begin("parent")
    await p.compact_messages(session(20), session_id="fork", parent="parent", target=0.4, force=True)
    assert await p.search_offloaded("worker-001-031", session_id="parent") == ()


async def test_its_handoff_is_written_with_its_result(p: Palimpsest, session: MakeSession) -> None:
    await p.begin("parent")
    child = await p.begin_sub_agent("parent", "call_1")
    await p.compact_messages(session(4), session_id=child.session_id, window_tokens=WINDOW)
    back = await p.hand_back(child.session_id, "The third step fails.", task="Look at the import job")
    assert back.handoff in back.text
    loaded = await p.load_handoff(back.handoff)
    assert loaded.phase == "fork_back" and "The third step fails." in loaded.text and child.handle in loaded.text


async def test_a_sub_agent_that_read_nothing_gives_its_result_alone(p: Palimpsest) -> None:
    await p.begin("parent")
    child = await p.begin_sub_agent("parent", "call_1")
    assert (await p.hand_back(child.session_id, "Yes.")).text == "Yes."


async def test_handing_back_twice_archives_nothing_twice(p: Palimpsest, session: MakeSession) -> None:
    await p.begin("parent")
    child = await p.begin_sub_agent("parent", "call_1")
    await p.compact_messages(session(4), session_id=child.session_id, window_tokens=WINDOW)
    first = await p.hand_back(child.session_id, "done")
    assert (await p.hand_back(child.session_id, "done")).batches == first.batches
    assert (await p.verify(child.session_id)).findings == ()


async def test_an_unknown_parent_and_an_empty_name_are_refused(p: Palimpsest) -> None:
    with pytest.raises(SessionUnknown):
        await p.begin_sub_agent("nobody", "call_1")
    await p.begin("parent")
    with pytest.raises(InvalidArgument):
        await p.begin_sub_agent("parent", "")


async def test_who_may_see_one_session_sees_its_sub_agents_and_no_fork(tmp_path: Path, session: MakeSession) -> None:
    async with Palimpsest.open(tmp_path) as p:
        await p.begin("parent")
        child = await p.begin_sub_agent("parent", "call_1")
        await p.compact_messages(session(4), session_id=child.session_id, window_tokens=WINDOW)
        await p.hand_back(child.session_id, "done")
        await p.begin("fork", parent="parent")
        await p.begin("parents")
        handle = (await p.session("parent")).handle
    for name in ("parent", handle):
        async with Palimpsest.open(tmp_path, only_session=name) as p:
            assert {one.session_id for one in await p.sessions()} == {"parent", child.session_id}
            assert await p.search_offloaded("worker-002-031")
            assert (await p.session(child.handle)).session_id == child.session_id
            with pytest.raises(SessionUnknown):
                await p.session("fork")
