"""Lists of the library: everything at once, by pages, or one by one (I11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


async def test_pages_and_iterators_give_what_the_whole_list_gives(p: Palimpsest, session: MakeSession) -> None:
    for n in range(5):
        await p.compact_messages(session(16, seed=n), session_id=f"s{n}", target=0.4, force=True)
    whole = await p.sessions()
    assert [info.session_id for info in whole] == [f"s{n}" for n in range(5)]
    assert [info async for info in p.iter_sessions()] == list(whole)
    first = await p.sessions_page(size=2)
    second = await p.sessions_page(first.next_cursor, size=2)
    last = await p.sessions_page(second.next_cursor, size=2)
    assert (*first.items, *second.items, *last.items) == whole and first.total == 5 and not last.next_cursor
    batches = await p.list_offloaded("s0")
    assert len(batches) > 1 and [batch async for batch in p.iter_offloaded("s0")] == list(batches)
    one = await p.list_offloaded_page("s0", size=1)
    rest = await p.list_offloaded_page("s0", one.next_cursor, size=100)
    assert (*one.items, *rest.items) == batches


async def test_a_cursor_of_somebody_else_is_refused(p: Palimpsest) -> None:
    with pytest.raises(InvalidArgument, match="cursor"):
        await p.sessions_page("bm9uZQ")


async def test_a_list_of_this_moment_says_what_its_parts_say_and_a_restore_changes_it(
    p: Palimpsest, session: MakeSession
) -> None:
    done = await p.compact_messages(session(), session_id="s", window_tokens=40_000, target=0.4, force=True)
    now = await p.offloaded_now("s", size=1)
    assert now.page == await p.list_offloaded_page("s", size=1)
    assert (now.usage, now.saved) == (await p.usage("s"), await p.saved("s"))
    assert now.saved.restored == 0
    batch = done.report.batches[0]
    one = await p.restore("s", batch.batch_id, batch.item_ids[0])
    again = await p.offloaded_now("s")
    assert again.saved == await p.saved("s") and again.saved.restored > 0
    await p.note_fetched("s", [one], ["other words of it"], status=False)
    assert (await p.saved("s")).restored > again.saved.restored
    await p.reinstate("s", batch.batch_id)
    assert (await p.offloaded_now("s")).saved.batches == again.saved.batches - 1
