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
