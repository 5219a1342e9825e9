"""A fork, resume or rewrite brings a new session id; what its parent dropped stays within reach (L7, L14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import BatchUnknown

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


async def test_a_forks_digests_resolve_through_its_parent(p: Palimpsest, session: MakeSession) -> None:
    messages = session(20)
    first = await p.compact_messages(messages[:29], session_id="parent", target=0.4, force=True)
    forked = [*first.messages, *messages[29:]]
    done = await p.compact_messages(forked, session_id="fork", parent="parent", target=0.4, force=True)
    assert done.report.batches
    inherited = first.report.batches[0]
    one = await p.restore("fork", inherited.batch_id, inherited.item_ids[0])
    assert one.text == messages[2]["content"][0]["content"]
    assert await p.expand_messages(done.messages, session_id="fork") == messages


async def test_batch_numbers_go_on_after_the_parents(p: Palimpsest, session: MakeSession) -> None:
    messages = session(20)
    first = await p.compact_messages(messages[:29], session_id="parent", target=0.4, force=True)
    done = await p.compact_messages(
        [*first.messages, *messages[29:]], session_id="fork", parent="parent", target=0.3, force=True
    )
    old = {batch.batch_id for batch in first.report.batches}
    new = {batch.batch_id for batch in done.report.batches}
    assert new and not old & new
    assert {batch.batch_id for batch in await p.list_offloaded("fork")} == old | new


async def test_a_parents_digest_is_never_digested_again(p: Palimpsest, session: MakeSession) -> None:
    messages = session(20)
    first = await p.compact_messages(messages[:29], session_id="parent", target=0.3, force=True)
    done = await p.compact_messages(
        [*first.messages, *messages[29:]], session_id="fork", parent="parent", target=0.2, force=True
    )
    inherited = {item for batch in first.report.batches for item in batch.item_ids}
    assert not inherited & {item for batch in done.report.batches for item in batch.item_ids}


async def test_another_sessions_batches_are_out_of_reach(p: Palimpsest, session: MakeSession) -> None:
    done = await p.compact_messages(session(), session_id="one", target=0.4, force=True)
    await p.compact_messages(session(seed=7), session_id="two", window_tokens=10**6)
    with pytest.raises(BatchUnknown):
        await p.restore("two", done.report.batches[0].batch_id)
