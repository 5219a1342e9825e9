"""What every ledger must do, as tests."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from ..context.fold import Fold, FoldSums
from ..context.opened_fold import OpenedFold
from ..errors import InvalidArgument, PassInProgress, RevConflict
from ..models.events import Event, SessionKey
from ..models.items import Content
from .contract_values import HARD_CONTENTS, HARD_IDS, S1, OneStore, applied, info_of, pinned, record, seen, unstamped

pytestmark = pytest.mark.anyio


def ids_of(events: tuple[Event, ...]) -> list[str]:
    """What tells `applied` and `pinned` events apart."""
    return sorted(getattr(event, "item_id", "") or ",".join(getattr(event, "item_ids", ())) for event in events)


def sums_of(events: tuple[Event, ...]) -> tuple[bytes, int]:
    """What a checkpoint keeps of events, and how many they are."""
    sums = Fold(events).sums()
    assert sums is not None
    return msgspec.json.encode(sums), sums.events


@pytest.mark.anyio
class LedgerContract(OneStore):
    """Sessions, observations, decisions, locks."""

    async def test_an_unknown_session_has_no_info_and_no_events(self) -> None:
        async with self.fresh() as store:
            assert await store.ledger.info(S1) is None
            assert (await store.ledger.read(S1)).events == ()
            assert await store.ledger.sessions() == ()

    async def test_a_created_session_is_known(self) -> None:
        async with self.fresh() as store:
            assert await store.ledger.create(S1, info_of(S1)) == info_of(S1)
            assert await store.ledger.info(S1) == info_of(S1)
            assert await store.ledger.sessions() == (info_of(S1),)

    async def test_creating_a_session_again_changes_nothing_and_returns_the_first(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            assert await store.ledger.create(S1, info_of(S1, created="2030-01-01T00:00:00Z")) == info_of(S1)
            assert len((await store.ledger.read(S1)).events) <= 1

    async def test_two_that_create_one_session_at_once_get_one_answer(self) -> None:
        async with self.fresh() as store:
            infos = [info_of(S1, created=f"20{year}-01-01T00:00:00Z") for year in range(20, 26)]
            answers = await asyncio.gather(*(store.ledger.create(S1, info) for info in infos))
            assert len(set(answers)) == 1
            assert await store.ledger.info(S1) == answers[0]

    async def test_an_info_of_another_session_is_refused(self) -> None:
        async with self.fresh() as store:
            with pytest.raises(InvalidArgument):
                await store.ledger.create(S1, info_of(SessionKey("s2")))
            assert await store.ledger.sessions() == ()

    async def test_sessions_come_oldest_first_whatever_their_offsets(self) -> None:
        created = {"a": "2026-11-20T10:00:00+02:00", "b": "2026-11-20T09:00:00+00:00", "c": "2026-11-20T08:30:00Z"}
        async with self.fresh() as store:
            for name in "bca":
                await store.ledger.create(SessionKey(name), info_of(SessionKey(name), created[name]))
            assert [info.session_id for info in await store.ledger.sessions()] == ["a", "c", "b"]

    async def test_sessions_are_listed_in_pages_by_names_and_by_what_their_names_begin_with(self) -> None:
        names = ["b", "a", "a/sub", "a/" + "x" * 200, "a/" + "x" * 199 + "y", "a0", "é/1"]
        keys = [SessionKey(name) for name in names]
        async with self.fresh() as store:
            assert await store.ledger.some_sessions(skip=0, count=5) == ((), 0)
            infos = [info_of(key, f"2026-11-2{n}T10:00:00+00:00") for n, key in enumerate(keys)]
            for key, info in zip(keys, infos, strict=True):
                await store.ledger.create(key, info)
            await store.ledger.create(SessionKey("a/b", "ann"), info_of(SessionKey("a/b", "ann")))
            assert await store.ledger.some_sessions(skip=2, count=3) == (tuple(infos[2:5]), 7)
            newest = await store.ledger.some_sessions(skip=1, count=2, newest_first=True)
            assert newest == (tuple(infos[-2:-4:-1]), 7)
            assert await store.ledger.some_sessions(skip=9, count=2) == ((), 7)
            assert await store.ledger.sessions(beginning="a/") == tuple(infos[2:5])
            assert await store.ledger.sessions(beginning="a/" + "x" * 199) == tuple(infos[3:5])
            assert await store.ledger.sessions(beginning="é/") == (infos[6],)
            assert await store.ledger.sessions("ann", beginning="a/") == (info_of(SessionKey("a/b", "ann")),)
            assert set(await store.ledger.infos(["a", "nobody", "b"])) == set(infos[:2])
            assert await store.ledger.infos([]) == ()

    async def test_two_principals_may_both_have_a_session_of_one_name(self) -> None:
        keys = [S1, SessionKey("s1", "ann"), SessionKey("s1", "bob"), SessionKey("1", "anns")]
        async with self.fresh() as store:
            for number, key in enumerate(keys):
                await store.ledger.create(key, info_of(key))
                await store.ledger.observe(key, [applied(number)])
            for number, key in enumerate(keys):
                assert ids_of((await store.ledger.read(key)).events)[-1] == f"i{number}"
                assert info_of(key) in await store.ledger.sessions(key.principal)
            assert len(await store.ledger.sessions("ann")) == 1

    async def test_a_session_is_found_by_its_handle_by_its_own_principal_only(self) -> None:
        keys = [S1, SessionKey("s2"), SessionKey("s1", "ann")]
        async with self.fresh() as store:
            infos = [msgspec.structs.replace(info_of(key), handle=f"sabc{n}") for n, key in enumerate(keys)]
            for key, info in zip(keys, infos, strict=True):
                await store.ledger.create(key, info)
            for key, info in zip(keys, infos, strict=True):
                assert await store.ledger.by_handle(info.handle, key.principal) == info
            for handle, principal in (("sabc0", "ann"), ("sabc2", ""), ("sabc", ""), ("s1", ""), ("\0", "")):
                assert await store.ledger.by_handle(handle, principal) is None
            await store.ledger.observe(SessionKey("s9"), [applied(1)])
            nameless = await store.ledger.info(SessionKey("s9"))
            assert nameless is not None and await store.ledger.by_handle(nameless.handle) == nameless

    async def test_any_text_is_only_a_name(self) -> None:
        async with self.fresh() as store:
            for number, name in enumerate(HARD_IDS):
                await store.ledger.create(SessionKey(name), info_of(SessionKey(name)))
                await store.ledger.observe(SessionKey(name), [applied(number)])
            assert {info.session_id for info in await store.ledger.sessions()} == set(HARD_IDS)
            for number, name in enumerate(HARD_IDS):
                assert ids_of((await store.ledger.read(SessionKey(name))).events)[-1] == f"i{number}"

    @pytest.mark.parametrize("name", ["", None, 7, ["s1"]])
    async def test_what_is_no_name_is_refused(self, name: str) -> None:
        async with self.fresh() as store:
            with pytest.raises(InvalidArgument):
                await store.ledger.observe(SessionKey(name), [applied(1)])
            with pytest.raises(InvalidArgument):
                await store.ledger.info(SessionKey(name))

    async def test_a_session_that_was_written_to_but_not_created_is_known(self) -> None:
        async with self.fresh() as store:
            await store.ledger.observe(S1, [applied(1)])
            info = await store.ledger.info(S1)
            assert info is not None and info.session_id == "s1" and len(info.handle) >= 5
            assert [known.session_id for known in await store.ledger.sessions()] == ["s1"]
            assert await store.ledger.create(S1, info_of(S1)) == info_of(S1)

    async def test_observations_come_back_as_they_were_but_for_their_stamps(self) -> None:
        events = [seen(1), applied(2), seen(3)]
        async with self.fresh() as store:
            await store.ledger.observe(S1, events[:2])
            await store.ledger.observe(S1, events[2:], durable=False)
            page = await store.ledger.read(S1)
            assert [unstamped(event) for event in sorted(page.events, key=lambda event: event.clock)] == events
            assert page.damage == ()

    @pytest.mark.parametrize("content", HARD_CONTENTS, ids=range(len(HARD_CONTENTS)))
    async def test_content_comes_back_exactly(self, content: Content) -> None:
        async with self.fresh() as store:
            await store.ledger.observe(S1, [seen(1, content), applied(2)])
            events = {event.n: event for event in (await store.ledger.read(S1)).events}
            assert repr(unstamped(events[min(events)])) == repr(seen(1, content))

    async def test_every_event_has_an_id_of_its_own_and_a_rising_clock(self) -> None:
        async with self.fresh() as store:
            for number in range(3):
                await store.ledger.observe(S1, [applied(2 * number), applied(2 * number + 1)])
                await store.ledger.decide(S1, [pinned(number)], after_rev=number)
            events = (await store.ledger.read(S1)).events
            assert len({(event.w, event.n) for event in events}) == len(events) == 9
            assert min(event.n for event in events) == 1 and all(event.w for event in events)
            assert len({event.clock for event in events}) == 9 and min(event.clock for event in events) > 0

    async def test_a_cursor_gives_only_what_came_after_it(self) -> None:
        async with self.fresh() as store:
            start = await store.ledger.read(S1)
            await store.ledger.observe(S1, [applied(1)])
            first = await store.ledger.read(S1, start.cursor)
            nothing = await store.ledger.read(S1, first.cursor)
            await store.ledger.decide(S1, [pinned(2)], after_rev=0)
            second = await store.ledger.read(S1, nothing.cursor)
            assert (ids_of(first.events), nothing.events, ids_of(second.events)) == (["i1"], (), ["i2"])
            assert ids_of((await store.ledger.read(S1, first.cursor)).events) == ["i2"]

    async def test_a_look_gives_info_and_news_and_an_append_that_reads_on_gives_what_others_wrote_too(self) -> None:
        async with self.fresh() as store:
            unknown, start = await store.ledger.look(S1)
            assert (unknown, start.events) == (None, ())
            assert await store.ledger.observe_known(S1, [applied(1)], start.cursor) is None
            assert (await store.ledger.read(S1)).events == (), "nothing is written to what nobody made"
            await store.ledger.create(S1, info_of(S1))
            first = (await store.ledger.look(S1, start.cursor))[1]
            alone = await store.ledger.observe_and_read(S1, [seen(1), applied(2)], first.cursor, durable=False)
            assert (
                set(alone.events) == set((await store.ledger.read(S1, first.cursor)).events) and len(alone.events) == 2
            )
            await store.ledger.decide(S1, [pinned(3)], after_rev=0)
            late = await store.ledger.observe_and_read(S1, [applied(4)], alone.cursor)
            assert set(late.events) == set((await store.ledger.read(S1, alone.cursor)).events) and len(late.events) == 2
            known = await store.ledger.observe_known(S1, [applied(5)], alone.cursor)
            assert known is not None
            assert set(known.events) == set((await store.ledger.read(S1, alone.cursor)).events) > set(late.events)
            late = known
            info, nothing = await store.ledger.look(S1, late.cursor)
            assert (info, nothing.events) == (info_of(S1), ())
            assert set((await store.ledger.look(S1))[1].events) == set((await store.ledger.read(S1)).events)
            nothing = await store.ledger.observe_and_read(S1, [], alone.cursor)
            assert set(nothing.events) == set(late.events)

    async def test_a_session_opens_at_its_checkpoint_and_is_what_all_its_events_make_it(self) -> None:
        async with self.fresh() as store:
            assert (await store.ledger.open(S1))[:2] == (None, None)
            await store.ledger.create(S1, info_of(S1))
            for number in range(1, 9):
                await store.ledger.observe(S1, [seen(number), applied(number)])
                await store.ledger.observe(SessionKey("s2"), [seen(number)])
                await store.archive.append(S1, [record(f"offload_000{number}", "text")])
            await store.ledger.decide(S1, [pinned(1)], after_rev=0)
            info, nothing, page = await store.ledger.open(S1)
            assert (info, nothing) == (info_of(S1), None)
            assert set(page.events) == set((await store.ledger.read(S1)).events)
            kept, events = sums_of(page.events)
            await store.ledger.keep_checkpoint(S1, page.cursor, kept, events + 1)
            assert await store.ledger.checkpoint(S1) is None, "it is not what the ledger has"
            await store.ledger.keep_checkpoint(S1, page.cursor, kept, events)
            await store.ledger.observe(S1, [seen(9), applied(3)])
            info, checkpoint, page = await store.ledger.open(S1)
            if checkpoint is None:
                return  # a store may do without
            assert (info, len(page.events)) == (info_of(S1), 2)
            if few := await store.ledger.open_small(["s1", "s2", "s3"]):  # a store may give none
                same, other, rest = few["s1"]
                assert same == info and other is not None and other.sums == checkpoint.sums and rest == page
                assert set(few["s2"][2].events) == set((await store.ledger.read(SessionKey("s2"))).events)
                assert few.keys() == {"s1", "s2"}
            whole = Fold((await store.ledger.read(S1)).events)
            fold = OpenedFold(msgspec.json.decode(checkpoint.sums, type=FoldSums), checkpoint)
            fold.add(page.events)
            names = [f"i{number}" for number in range(1, 11)]
            assert [fold.state(name) for name in names] == [whole.state(name) for name in names]
            assert not fold.is_whole and fold.sums() == whole.sums()
            assert fold.states == whole.states and fold.is_whole
            kept, events = sums_of((await store.ledger.read(S1)).events)
            await store.ledger.keep_checkpoint(S1, (await store.ledger.read(S1)).cursor, kept, events)
            assert (await store.ledger.open(S1))[2].events == (), "it was taken further"
            await store.ledger.drop_checkpoint(S1)
            info, nothing, page = await store.ledger.open(S1)
            assert nothing is None and set(page.events) == set((await store.ledger.read(S1)).events)

    async def test_a_mark_is_another_one_after_every_event_and_that_of_one_session_alone(self) -> None:
        async with self.fresh() as store:
            other = SessionKey("s2")
            await store.ledger.create(S1, info_of(S1))
            await store.ledger.create(other, info_of(other))
            marks = [await store.ledger.marks(["s1", "s2", "s3"])]
            if not marks[0]:
                return  # a store may do without
            await store.ledger.observe(S1, [seen(1)], durable=False)
            marks.append(await store.ledger.marks(["s1", "s2"]))
            await store.ledger.decide(S1, [pinned(1)], after_rev=0)
            marks.append(await store.ledger.marks(["s1", "s2"]))
            await store.bury(S1, ["0" * 64], under_way=False)
            marks.append(await store.ledger.marks(["s1", "s2"]))
            marks.append(await store.ledger.marks(["s1", "s2"]))
            assert marks[0].keys() == {"s1", "s2"} and await store.ledger.marks([]) == {}
            assert len({one["s1"] for one in marks}) == 4 and marks[-1] == marks[-2]
            assert len({one["s2"] for one in marks}) == 1

    async def test_observing_nothing_writes_nothing(self) -> None:
        async with self.fresh() as store:
            await store.ledger.observe(S1, [])
            assert (await store.ledger.read(S1)).events == ()

    async def test_what_the_caller_does_with_an_object_later_does_not_reach_the_store(self) -> None:
        blocks = [{"type": "text", "text": "before"}]
        async with self.fresh() as store:
            event = seen(1, blocks)
            await store.ledger.observe(S1, [event])
            blocks[0]["text"] = "after"
            (stored,) = (await store.ledger.read(S1)).events
            assert "before" in repr(stored)

    async def test_decisions_get_the_next_revisions_in_the_order_given(self) -> None:
        async with self.fresh() as store:
            assert await store.ledger.decide(S1, [pinned(1), pinned(2)], after_rev=0) == 2
            assert await store.ledger.decide(S1, [pinned(3)], after_rev=2) == 3
            revs = {getattr(event, "rev", 0): ids_of((event,)) for event in (await store.ledger.read(S1)).events}
            assert revs == {1: ["i1"], 2: ["i2"], 3: ["i3"]}

    @pytest.mark.parametrize("stale", [0, 2, 99, -1])
    async def test_a_decision_on_another_revision_than_the_newest_is_refused(self, stale: int) -> None:
        async with self.fresh() as store:
            await store.ledger.decide(S1, [pinned(1)], after_rev=0)
            with pytest.raises(RevConflict) as refused:
                await store.ledger.decide(S1, [pinned(2)], after_rev=stale)
            assert refused.value.rev == 1
            assert ids_of((await store.ledger.read(S1)).events) == ["i1"]

    async def test_of_decisions_that_race_exactly_one_wins(self) -> None:
        async with self.fresh() as store:
            racing = (store.ledger.decide(S1, [pinned(number)], after_rev=0) for number in range(8))
            answers = await asyncio.gather(*racing, return_exceptions=True)
            assert [answer for answer in answers if answer == 1] == [1]
            assert sum(isinstance(answer, RevConflict) for answer in answers) == 7
            assert len((await store.ledger.read(S1)).events) == 1

    async def test_observations_change_no_revision(self) -> None:
        async with self.fresh() as store:
            await store.ledger.decide(S1, [pinned(1)], after_rev=0)
            await store.ledger.observe(S1, [applied(1), seen(2)])
            assert await store.ledger.decide(S1, [pinned(2)], after_rev=1) == 2

    async def test_writes_that_run_at_once_all_arrive(self) -> None:
        async with self.fresh() as store:
            await asyncio.gather(*(store.ledger.observe(S1, [applied(number)]) for number in range(20)))
            assert len(set(ids_of((await store.ledger.read(S1)).events))) == 20

    async def test_a_second_pass_is_refused_and_another_session_is_free(self) -> None:
        async with self.fresh() as store, store.ledger.pass_lock(S1):
            with pytest.raises(PassInProgress):
                async with store.ledger.pass_lock(S1):
                    pass
            async with store.ledger.pass_lock(SessionKey("s2")):
                await store.ledger.decide(S1, [pinned(1)], after_rev=0)

    async def test_the_pass_lock_is_free_after_a_failure(self) -> None:
        async with self.fresh() as store:
            with pytest.raises(ZeroDivisionError):
                async with store.ledger.pass_lock(S1):
                    raise ZeroDivisionError
            async with store.ledger.pass_lock(S1):
                pass
            assert await store.ledger.info(S1) is None

    async def test_another_process_sees_everything(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            await store.ledger.observe(S1, [applied(1)])
            await store.ledger.decide(S1, [pinned(2)], after_rev=0)
            async with self.again() as other:
                assert await other.ledger.info(S1) == info_of(S1)
                assert await other.ledger.sessions() == (info_of(S1),)
                assert set((await other.ledger.read(S1)).events) == set((await store.ledger.read(S1)).events)

    async def test_another_process_decides_after_us_and_we_after_it(self) -> None:
        async with self.fresh() as store, self.again() as other:
            assert await store.ledger.decide(S1, [pinned(1)], after_rev=0) == 1
            assert await other.ledger.decide(S1, [pinned(2)], after_rev=1) == 2
            with pytest.raises(RevConflict):
                await store.ledger.decide(S1, [pinned(3)], after_rev=1)
            assert await store.ledger.decide(S1, [pinned(3)], after_rev=2) == 3

    async def test_another_process_stamps_higher_clocks_than_it_has_read(self) -> None:
        async with self.fresh() as store, self.again() as other:
            await store.ledger.observe(S1, [applied(1), applied(2)])
            await other.ledger.observe(S1, [applied(3)])
            before = max(event.clock for event in (await store.ledger.read(S1)).events)
            await store.ledger.observe(S1, [applied(4)])
            clocks = {ids_of((event,))[0]: event.clock for event in (await other.ledger.read(S1)).events}
            assert clocks["i3"] > clocks["i2"] and clocks["i4"] > before

    async def test_a_pass_of_another_process_keeps_us_out(self) -> None:
        async with self.fresh() as store, self.again() as other:
            async with other.ledger.pass_lock(S1):
                with pytest.raises(PassInProgress):
                    async with store.ledger.pass_lock(S1):
                        pass
            async with store.ledger.pass_lock(S1):
                pass
