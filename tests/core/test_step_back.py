"""Undo: what a pass replaced stands in the context again."""

from __future__ import annotations

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import BatchUnknown, InvalidArgument

from .conftest import make_session

pytestmark = pytest.mark.anyio
ROOMY = 10**6


async def test_one_step_back_gives_a_running_session_its_originals_in_place(p: Palimpsest) -> None:
    messages = make_session(18)
    done = await p.compact_messages(messages, session_id="s", target=0.4, force=True)
    assert done.messages != messages and str(done.report.undo) == f"undo(session_id='{done.handle}')"
    undone = await p.undo("s")
    assert undone.number == 1 and undone.batch_ids == tuple(one.batch_id for one in done.report.batches)
    assert undone.tokens == (done.report.before.used.value or 0) - (done.report.after.used.value or 0)
    back = await p.compact_messages(done.messages, session_id="s", window_tokens=ROOMY)
    assert back.messages == messages
    again = await p.compact_messages(back.messages, session_id="s", window_tokens=ROOMY)
    assert again.messages == messages and again.report.status == "nothing_to_do"


async def test_only_the_last_pass_is_taken_back_and_then_the_one_before(p: Palimpsest) -> None:
    messages = make_session(30)
    first = await p.compact_messages(messages[:37], session_id="s", target=0.4, force=True)
    grown = [*first.messages, *messages[37:]]
    second = await p.compact_messages(grown, session_id="s", target=0.3, force=True)
    assert second.report.batches
    assert (await p.undo("s")).number == 2
    after = await p.compact_messages(second.messages, session_id="s", window_tokens=ROOMY)
    assert after.messages == grown
    assert (await p.undo("s")).number == 1
    whole = await p.compact_messages(after.messages, session_id="s", window_tokens=ROOMY)
    assert whole.messages == messages
    with pytest.raises(InvalidArgument, match="No pass over"):
        await p.undo("s")


async def test_a_pass_is_named_by_its_number_and_one_that_does_not_stand_is_refused(p: Palimpsest) -> None:
    messages = make_session(30)
    first = await p.compact_messages(messages[:37], session_id="s", target=0.4, force=True)
    await p.compact_messages([*first.messages, *messages[37:]], session_id="s", target=0.35, force=True)
    assert set((await p.undo("s", 1)).batch_ids) <= {one.batch_id for one in first.report.batches}
    with pytest.raises(InvalidArgument, match="No digest of pass 1") as error:
        await p.undo("s", 1)
    assert "Passes that stand: 2." in str(error.value.next)


async def test_what_was_taken_back_is_left_alone_for_some_answers(p: Palimpsest) -> None:
    messages = make_session(18)
    await p.compact_messages(messages, session_id="s", target=0.4, force=True)
    await p.undo("s")
    again = await p.compact_messages(messages, session_id="s", target=0.4, force=True)
    taken = {item for one in again.report.batches for item in one.item_ids}
    assert taken <= {f"toolu_00_{n:04d}" for n in range(14, 18)}  # what the first pass had left whole


async def test_a_batch_that_stands_nowhere_cannot_be_put_back(p: Palimpsest) -> None:
    await p.compact_messages(make_session(18), session_id="s", target=0.4, force=True)
    one = await p.reinstate("s", "offload_0001")
    assert one.batch_ids == ("offload_0001",) and one.number == 1
    with pytest.raises(BatchUnknown):
        await p.reinstate("s", "offload_0001")
