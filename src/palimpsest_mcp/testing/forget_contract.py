"""What every store must do when a user has texts removed, and with sessions of another store, as tests."""

from __future__ import annotations

import pytest

from ..context.tombstones import key_of
from ..errors import Purged, RevConflict
from ..models.events import Envelope, Event, HostCompacted, Opened, Seen
from ..models.items import content_sha256
from ..models.reports import Forgotten
from ..models.summaries import AnchoredSummary
from .contract_values import S1, OneStore, applied, entry, info_of, pinned, record, seen
from .ledger_contract import sums_of

GONE = "a text that has to go"
STAYS = "a text that stays here"


def gone(*texts: str, **more: object) -> Forgotten:
    """By the texts' keys."""
    keys = frozenset(key_of("i1", content_sha256(text), len(text)) for text in texts)
    return Forgotten(keys=keys, **more)  # pyright: ignore[reportArgumentType]  # mask, whole, about


def without_gone(text: str) -> str:
    return text.replace(GONE, "[purged]")


@pytest.mark.anyio
class ForgetContract(OneStore):
    """What was forgotten is in no place, what was not is as it was, and asking again changes nothing."""

    async def test_forgotten_contents_leave_items_without_text(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            await store.ledger.observe(S1, [seen(1, GONE), seen(2, STAYS), seen(3, GONE)])
            before = (await store.ledger.read(S1)).events
            assert await store.ledger.forget(S1, gone(GONE)) == 2
            assert await store.ledger.forget(S1, gone(GONE)) == 0
            events = (await store.ledger.read(S1)).events
            assert {(event.w, event.n, event.clock) for event in events} == {(e.w, e.n, e.clock) for e in before}
            items = {event.item.id: event.item for event in events if isinstance(event, Seen)}
            assert (items["i2"].content, items["i2"].purged) == (STAYS, False)
            assert [(items[name].content, items[name].purged) for name in ("i1", "i3")] == [(None, True)] * 2
            assert items["i1"].sha256 == content_sha256(GONE)
            assert await store.traces(lambda text: GONE in text) == ()

    async def test_a_checkpoint_goes_with_what_is_forgotten(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            await store.ledger.observe(S1, [seen(1, GONE), seen(2, STAYS)])
            page = await store.ledger.read(S1)
            await store.ledger.keep_checkpoint(S1, page.cursor, *sums_of(page.events))
            await store.bury(S1, gone(GONE).keys, under_way=True)
            assert await store.ledger.forget(S1, gone(GONE)) == 1
            assert await store.ledger.checkpoint(S1) is None
            assert await store.traces(lambda text: "sums" in text or GONE in text) == ()

    async def test_what_was_read_of_a_content_goes_with_it_and_nobody_keeps_it_again(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            kept = await store.keep_study(S1, "a", GONE.encode(), gone(GONE, STAYS).keys)
            assert list(await store.studies(S1)) == [GONE.encode()] * kept, "a store may keep none"
            await store.bury(S1, gone(GONE).keys, under_way=True)
            assert not await store.keep_study(S1, "a", b"more of it", gone(GONE).keys), "not even meanwhile"
            await store.forget_beside(S1, gone(GONE))
            await store.bury(S1, (), under_way=False)
            assert not await store.keep_study(S1, "b", GONE.encode(), gone(GONE, STAYS).keys)
            assert list(await store.studies(S1)) == []
            assert await store.keep_study(S1, "c", STAYS.encode(), gone(STAYS).keys) is kept

    async def test_forgotten_records_keep_ids_and_hashes(self) -> None:
        async with self.fresh() as store:
            await store.archive.append(S1, [record("offload_0001", GONE, STAYS), record("offload_0002", STAYS)])
            assert await store.archive.forget(S1, gone(GONE)) == 1
            assert await store.archive.forget(S1, gone(GONE)) == 0
            one = await store.archive.get(S1, "offload_0001")
            assert one is not None and [item.result for item in one.items] == [None, STAYS]
            assert [item.sha256 for item in one.items] == [content_sha256(GONE), content_sha256(STAYS)]
            assert await store.archive.get(S1, "offload_0002") == record("offload_0002", STAYS)
            assert await store.archive.damage(S1) == ()
            assert await store.traces(lambda text: GONE in text) == ()

    async def test_a_short_content_goes_with_its_own_item_only(self) -> None:
        async with self.fresh() as store:
            await store.ledger.observe(S1, [seen(1, "ok"), seen(2, "ok")])
            assert await store.ledger.forget(S1, gone("ok")) == 1
            items = [event.item for event in (await store.ledger.read(S1)).events if isinstance(event, Seen)]
            assert {item.id: item.content for item in items} == {"i1": None, "i2": "ok"}

    async def test_messages_around_the_items_go_where_they_hold_it(self) -> None:
        rows = (f'{{"role":"user","content":"{GONE}"}}', f'{{"role":"user","content":"{STAYS}"}}')
        events = [Envelope(form="anthropic", total_rows=2, rows=rows), HostCompacted(summary=f"it said {GONE}")]
        async with self.fresh() as store:
            await store.ledger.observe(S1, events)
            await store.ledger.forget(S1, gone(GONE, mask=without_gone))
            found = (await store.ledger.read(S1)).events
            around = [event.rows for event in found if isinstance(event, Envelope)]
            assert len(around) == 1 and around[0][1] == rows[1] and GONE not in around[0][0]
            assert [event.summary for event in found if isinstance(event, HostCompacted)] == ["it said [purged]"]

    async def test_a_whole_session_leaves_its_id_and_its_decisions(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            await store.ledger.observe(S1, [seen(1, GONE), applied(2)])
            await store.ledger.decide(S1, [pinned(1)], after_rev=0)
            await store.archive.append(S1, [record("offload_0001", GONE)])
            await store.archive.forget(S1, Forgotten(whole=True))
            await store.ledger.forget(S1, Forgotten(whole=True))
            found = (await store.ledger.read(S1)).events
            assert sorted(type(event).__name__ for event in found) == ["Opened", "Pinned"]
            assert [one async for one in store.archive.records(S1)] == []
            assert await store.ledger.info(S1) == info_of(S1)
            assert await store.ledger.decide(S1, [pinned(2)], after_rev=1) == 2

    async def test_what_is_buried_is_not_written_again(self) -> None:
        async with self.fresh() as store:
            assert (await store.tombstones(S1)).keys == ()
            await store.bury(S1, gone(GONE).keys, under_way=True)
            await store.bury(S1, under_way=False)
            said = await store.tombstones(S1)
            assert set(said.keys) == gone(GONE).keys and not said.under_way
            await store.ledger.observe(S1, [seen(1, GONE), seen(2, STAYS)])
            with pytest.raises(Purged):
                await store.archive.append(S1, [record("offload_0001", STAYS), record("offload_0002", GONE)])
            assert await store.archive.get(S1, "offload_0001") is None
            assert await store.traces(lambda text: GONE in text) == ()

    async def test_another_process_knows_what_is_buried(self) -> None:
        async with self.fresh() as store, self.again() as other:
            await other.ledger.observe(S1, [seen(1, GONE)])
            await store.bury(S1, gone(GONE).keys, under_way=True)
            await store.ledger.forget(S1, gone(GONE))
            await other.ledger.observe(S1, [seen(2, GONE), seen(3, STAYS)])
            items = [event.item for event in (await store.ledger.read(S1)).events if isinstance(event, Seen)]
            assert {item.id: item.content for item in items} == {"i1": None, "i2": None, "i3": STAYS}
            assert await store.traces(lambda text: GONE in text) == ()

    async def test_a_cursor_from_before_still_reads_what_came_since(self) -> None:
        async with self.fresh() as store:
            await store.ledger.observe(S1, [seen(1, GONE), seen(2, STAYS)])
            cursor = (await store.ledger.read(S1)).cursor
            await store.ledger.forget(S1, gone(GONE))
            await store.ledger.observe(S1, [applied(7)])
            page = await store.ledger.read(S1, cursor)
            assert page.damage == () and any(getattr(event, "item_id", "") == "i7" for event in page.events)

    async def test_summaries_handoffs_and_index_forget_too(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            await store.summaries.put(S1, AnchoredSummary(session_intent=f"find {GONE}"), after="")
            await store.handoffs.add("memory", "2026-11-22-x", f"# Handoff\n\nabout {GONE}, and {STAYS}\n")
            await store.handoffs.add("temp", "2026-11-22-y", f"# Handoff\n\nabout {GONE}\n")
            await store.search.add([entry(GONE), entry(STAYS, "i2", batch="offload_0002")])
            assert await store.traces(lambda text: GONE in text)
            assert await store.forget_beside(S1, Forgotten(mask=without_gone))
            assert len(await store.forget_notes(Forgotten(mask=without_gone))) == 2
            await store.search.forget("", "s1", ["offload_0001"])
            assert await store.traces(lambda text: GONE in text) == ()
            assert len(await store.search.find("stays")) == 1 and await store.search.find("go") == ()
            assert [STAYS in str(one.text) for one in await store.handoffs.list()] == [True, False]

    async def test_notes_about_others_stay(self) -> None:
        async with self.fresh() as store:
            await store.handoffs.add("memory", "2026-11-22-x", f"# Handoff of others\n\nabout {GONE}\n")
            assert await store.forget_notes(Forgotten(mask=without_gone, about=lambda text: "ours" in text)) == ()
            assert GONE in str((await store.handoffs.list())[0].text)

    async def test_events_of_another_store_are_adopted_as_they_are(self) -> None:
        events: list[Event] = [Opened(info=info_of(S1), w="1-a", n=1, clock=1)]
        events += [_stamped(seen(1, STAYS), 2), _stamped(pinned(1), 3, rev=4)]
        async with self.fresh() as store:
            await store.ledger.adopt(S1, events)
            found = (await store.ledger.read(S1)).events
            assert sorted(map(repr, found)) == sorted(map(repr, events))
            assert await store.ledger.info(S1) == info_of(S1)
            with pytest.raises(RevConflict):
                await store.ledger.adopt(S1, events)
            assert await store.ledger.decide(S1, [pinned(2)], after_rev=4) == 5


def _stamped(event: Event, number: int, **more: int) -> Event:
    from msgspec.structs import replace

    return replace(event, w="1-a", n=number, clock=number, **more)
