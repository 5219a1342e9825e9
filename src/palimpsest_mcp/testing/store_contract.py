"""The contract of `ports.store` as tests, for a backend of your own in one call (`docs/backends.md`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from ..errors import InvalidArgument, SummaryChanged, WriteFailed
from ..models.events import SessionKey
from ..models.items import Content
from ..models.summaries import AnchoredSummary, Blocker, ChangedFile, Decision, ErrorMet, Note, Step, Todo
from ..models.views import StatusNote
from ..ports.store import Store
from .contract_values import HARD_CONTENTS, S1, OneStore, applied, info_of, record
from .forget_contract import ForgetContract
from .ledger_contract import LedgerContract
from .search_contract import SearchContract

# What every keeper of handoffs must do, as tests.

STEM = "2026-11-22-move-the-importer"
TEXT = "# Task Summary: Move the importer\n\n## Task\nZoë's importer \U0001f9f5\r\n\x85\u2028 end\n"


@pytest.mark.anyio
class HandoffsContract(OneStore):
    """Handoffs are added whole, never overwritten, and go only where and when somebody says so."""

    async def test_a_handoff_comes_back_as_it_was_added(self) -> None:
        async with self.fresh() as store:
            assert await store.handoffs.list() == ()
            added = await store.handoffs.add("memory", STEM, TEXT)
            assert (added.name, added.place, added.text) == (STEM, "memory", TEXT)
            assert await store.handoffs.list() == (added,)

    async def test_it_comes_back_in_another_process(self) -> None:
        async with self.fresh() as store, self.again() as other:
            added = (await store.handoffs.add("memory", STEM, TEXT), await store.handoffs.add("temp", STEM, TEXT))
            assert await other.handoffs.list() == added

    async def test_a_second_one_of_the_same_name_gets_a_number(self) -> None:
        async with self.fresh() as store:
            names = [(await store.handoffs.add("memory", STEM, f"{TEXT}{n}")).name for n in range(3)]
            assert names == [STEM, f"{STEM}-2", f"{STEM}-3"]
            assert [one.text for one in await store.handoffs.list()] == [f"{TEXT}{n}" for n in range(3)]

    async def test_of_many_at_once_none_is_lost(self) -> None:
        async with self.fresh() as store:
            added = await asyncio.gather(*(store.handoffs.add("memory", STEM, f"{TEXT}{n}") for n in range(8)))
            assert len({one.name for one in added}) == 8
            assert {one.text for one in await store.handoffs.list()} == {f"{TEXT}{n}" for n in range(8)}

    async def test_places_have_names_of_their_own_but_an_archived_name_is_not_taken_again(self) -> None:
        async with self.fresh() as store:
            first = await store.handoffs.add("memory", STEM, TEXT)
            assert (await store.handoffs.add("temp", STEM, TEXT)).name == STEM
            archived = await store.handoffs.archive(first)
            assert archived is not None and (archived.name, archived.place, archived.text) == (STEM, "archive", TEXT)
            assert (await store.handoffs.add("memory", STEM, TEXT)).name == f"{STEM}-2"
            assert [one.place for one in await store.handoffs.list()] == ["memory", "archive", "temp"]

    async def test_archiving_never_overwrites(self) -> None:
        async with self.fresh() as store:
            await store.handoffs.add("archive", STEM, "an older one")
            first = (await store.handoffs.add("memory", f"{STEM}-2", TEXT), await store.handoffs.list())[0]
            assert await store.handoffs.archive(first) is not None
            assert {one.text for one in await store.handoffs.list()} == {"an older one", TEXT}

    async def test_what_is_gone_or_changed_is_neither_archived_nor_removed(self) -> None:
        async with self.fresh() as store:
            first = await store.handoffs.add("memory", STEM, TEXT)
            assert await store.handoffs.archive(first) is not None
            assert await store.handoffs.archive(first) is None
            assert not await store.handoffs.remove(first, note="gone already")
            assert await store.handoffs.removed() == ()
            assert [one.place for one in await store.handoffs.list()] == ["archive"]

    async def test_what_is_removed_is_noted_and_what_is_consumed_is_not(self) -> None:
        async with self.fresh() as store:
            first = await store.handoffs.add("memory", STEM, TEXT)
            fork = await store.handoffs.add("temp", STEM, TEXT)
            assert await store.handoffs.remove(first, note='{"name": "a"}') and await store.handoffs.remove(fork)
            assert await store.handoffs.removed() == ('{"name": "a"}',)
            assert await store.handoffs.list() == ()

    @pytest.mark.parametrize("stem", ["", "../x", "a/b", "A", "a b", "-a", "x" * 200, "a.md", "日本"])
    async def test_a_name_that_some_file_system_does_not_take_is_refused(self, stem: str) -> None:
        async with self.fresh() as store:
            with pytest.raises(InvalidArgument):
                await store.handoffs.add("memory", stem, TEXT)
            assert await store.handoffs.list() == ()

    async def test_half_a_surrogate_pair_in_a_handoff_is_refused(self) -> None:
        async with self.fresh() as store:
            with pytest.raises(InvalidArgument):
                await store.handoffs.add("memory", STEM, "half \ud83d")
            assert await store.handoffs.list() == ()

    async def test_principals_do_not_see_each_others_handoffs(self) -> None:
        async with self.fresh() as store:
            await store.handoffs.add("memory", STEM, "mine")
            hers = await store.handoffs.add("memory", STEM, "hers", "ana")
            assert hers.name == STEM
            assert [one.text for one in await store.handoffs.list("ana")] == ["hers"]
            assert [one.text for one in await store.handoffs.list()] == ["mine"]


# What every keeper of summaries must do, as tests.

HOSTILE = "## Blockers\n- [x] `a`, **b**: c\n```\n# not a heading\n\\\\⏎ \u2028\x85\r end\t\n\n… and 4 more"
"""A text that looks like everything a summary is made of."""


def small(intent: str = "Move the importer to Postgres") -> AnchoredSummary:
    """A summary that can be told from others by its intent."""
    return AnchoredSummary(session="sabcd", session_intent=intent)


def full() -> AnchoredSummary:
    """One with something in every place, hostile texts among it."""
    return AnchoredSummary(
        session="sabcd",
        compression_count=3,
        timestamp="2026-11-20T10:00:00+00:00",
        first_message=1,
        last_message=340,
        session_intent=HOSTILE,
        files_modified=(
            ChangedFile(
                path="C:\\new\\a.py",
                steps=(Step(verb="edited", times=4, names=("load",), more_names=2), Step(verb="moved", other="b.py")),
                changes=(HOSTILE, "Added X, modified Y"),
            ),
            ChangedFile(path="`odd`, name", folder="/srv/app", steps=(Step(verb="deleted"),)),
        ),
        decisions_made=(
            Decision(decision="Redis", rationale="fast", superseded=True, superseded_by="Postgres"),
            Decision(decision=HOSTILE, rationale=HOSTILE),
        ),
        technical_context=("Python 3.11", HOSTILE),
        current_state=HOSTILE,
        todos_done=2,
        todos_total=3,
        last_asked=HOSTILE,
        last_said="Done.",
        blockers=(Blocker(text=HOSTILE), Blocker(text="May old rows go?", closed=True)),
        errors_encountered=(ErrorMet(error=HOSTILE, where="make test", times=2), ErrorMet(error="E1", resolution="R")),
        next_steps=(HOSTILE, "Test it"),
        todos=(Todo(text=HOSTILE, in_progress=True), Todo(text="Ship")),
        key_artifacts=("[main 1a2b3c4] Import", HOSTILE),
        notes=(Note(heading="For Ana", text=HOSTILE),),
        left_out={"files_modified": 12},
        files_read=7,
        commands_run=41,
        probes_passed=9,
        probes_total=10,
        tokens_before=400_000,
        tokens_after=90_000,
    )


@pytest.mark.anyio
class SummariesContract(OneStore):
    """Summaries go in whole, come back equal, and are never overwritten unseen."""

    async def test_a_session_without_a_summary_has_none(self) -> None:
        async with self.fresh() as store:
            found = await store.summaries.get(S1)
            assert (found.summary, found.version, found.note) == (None, "", "")
            assert await store.summaries.list() == ()

    @pytest.mark.parametrize("summary", [small(), full(), AnchoredSummary()], ids=["small", "full", "empty"])
    async def test_a_summary_comes_back_equal(self, summary: AnchoredSummary) -> None:
        async with self.fresh() as store:
            version = await store.summaries.put(S1, summary, after="")
            found = await store.summaries.get(S1)
            assert found.summary == summary and found.version == version != "" and not found.note

    async def test_it_comes_back_equal_in_another_process(self) -> None:
        async with self.fresh() as store, self.again() as other:
            await store.summaries.put(S1, full(), after="")
            assert (await other.summaries.get(S1)).summary == full()

    async def test_the_newest_one_stands(self) -> None:
        async with self.fresh() as store:
            first = await store.summaries.put(S1, small("One thing to do"), after="")
            second = await store.summaries.put(S1, small("Another thing"), after=first)
            assert first != second
            assert (await store.summaries.get(S1)).summary == small("Another thing")

    async def test_one_that_was_not_read_is_not_overwritten(self) -> None:
        async with self.fresh() as store:
            version = await store.summaries.put(S1, small(), after="")
            for stale in ("", "0" * 64):
                with pytest.raises(SummaryChanged):
                    await store.summaries.put(S1, small("Another thing"), after=stale)
            assert (await store.summaries.get(S1)).summary == small()
            await store.summaries.put(S1, small("Another thing"), after=version)

    async def test_of_many_at_once_one_wins_and_the_others_hear_of_it(self) -> None:
        async with self.fresh() as store:
            tries = [store.summaries.put(S1, small(f"Task number {n}"), after="") for n in range(8)]
            done = await asyncio.gather(*tries, return_exceptions=True)
            assert [type(one) for one in done].count(SummaryChanged) == 7
            winner = next(n for n, one in enumerate(done) if isinstance(one, str))
            assert (await store.summaries.get(S1)).summary == small(f"Task number {winner}")

    async def test_half_a_surrogate_pair_is_refused(self) -> None:
        async with self.fresh() as store:
            with pytest.raises(InvalidArgument):
                await store.summaries.put(S1, small("half \ud83d"), after="")
            assert (await store.summaries.get(S1)).version == ""

    async def test_sessions_and_principals_do_not_see_each_other(self) -> None:
        other, stranger = SessionKey("s2"), SessionKey("s1", "ana")
        async with self.fresh() as store:
            for key in (S1, other, stranger):
                await store.ledger.create(key, info_of(key))
            await store.summaries.put(S1, small("One thing"), after="")
            await store.summaries.put(stranger, small("Another thing"), after="")
            assert (await store.summaries.get(other)).summary is None
            assert (await store.summaries.get(stranger)).summary == small("Another thing")
            assert await store.summaries.list() == ("s1",)
            assert await store.summaries.list("ana") == ("s1",)


# What every archive must do, as tests.


@pytest.mark.anyio
class ArchiveContract(OneStore):
    """Records go in once and come back exactly."""

    async def test_an_unknown_batch_is_none(self) -> None:
        async with self.fresh() as store:
            assert await store.archive.get(S1, "offload_0001") is None
            assert [found async for found in store.archive.records(S1)] == []
            assert await store.archive.damage(S1) == ()

    @pytest.mark.parametrize("content", HARD_CONTENTS, ids=range(len(HARD_CONTENTS)))
    async def test_a_record_comes_back_exactly(self, content: Content) -> None:
        given = record("offload_0001", content, "beside it", policy={"name": "x", "share": 0.1})
        async with self.fresh() as store:
            await store.archive.append(S1, [given])
            assert repr(await store.archive.get(S1, "offload_0001")) == repr(given)

    async def test_records_come_in_the_order_of_batch_numbers(self) -> None:
        async with self.fresh() as store:
            for batch_id in ("offload_10000", "offload_0002", "offload_9999"):
                await store.archive.append(S1, [record(batch_id)])
            found = [one.batch_id async for one in store.archive.records(S1)]
            assert found == ["offload_0002", "offload_9999", "offload_10000"]

    async def test_some_records_are_read_by_the_names_of_their_batches(self) -> None:
        async with self.fresh() as store:
            assert await store.archive.batch_ids(S1) == () and await store.archive.some(S1, ["offload_0001"]) == ()
            given = [record(f"offload_000{number}", f"text {number}") for number in range(1, 6)]
            await store.archive.append(S1, given)
            await store.archive.append(S1, [newer := record("offload_0002", "second try")])
            for _ in range(2):  # what the first look kept is not looked for again
                assert sorted(await store.archive.batch_ids(S1)) == [one.batch_id for one in given]
                found = await store.archive.some(S1, ["offload_0004", "offload_0002", "offload_0009"])
                assert sorted(found, key=lambda one: one.batch_id) == [newer, given[3]]
            assert await store.archive.some(S1, []) == ()

    async def test_several_records_can_be_appended_at_once(self) -> None:
        async with self.fresh() as store:
            await store.archive.append(S1, [record(f"offload_000{number}") for number in range(1, 6)])
            await store.archive.append(S1, [])
            assert len([one async for one in store.archive.records(S1)]) == 5

    async def test_of_two_records_of_one_batch_the_newest_counts(self) -> None:
        async with self.fresh() as store:
            await store.archive.append(S1, [record("offload_0001", "first try")])
            await store.archive.append(S1, [record("offload_0001", "second try")])
            assert await store.archive.get(S1, "offload_0001") == record("offload_0001", "second try")
            assert len([one async for one in store.archive.records(S1)]) == 1

    async def test_a_record_that_does_not_fit_its_hash_is_refused(self) -> None:
        good = record("offload_0001")
        bad = msgspec.structs.replace(good, items=(msgspec.structs.replace(good.items[0], sha256="0" * 64),))
        async with self.fresh() as store:
            with pytest.raises(WriteFailed):
                await store.archive.append(S1, [bad])
            assert await store.archive.get(S1, "offload_0001") is None
            await store.archive.append(S1, [good])
            assert await store.archive.get(S1, "offload_0001") == good

    async def test_a_record_of_another_session_is_refused(self) -> None:
        async with self.fresh() as store:
            with pytest.raises(InvalidArgument):
                await store.archive.append(S1, [record("offload_0001", key=SessionKey("s2"))])
            assert await store.archive.get(S1, "offload_0001") is None

    async def test_sessions_and_principals_have_archives_of_their_own(self) -> None:
        async with self.fresh() as store:
            await store.archive.append(S1, [record("offload_0001", "ours")])
            for other in (SessionKey("s2"), SessionKey("s1", "ann")):
                assert await store.archive.get(other, "offload_0001") is None
                await store.archive.append(other, [record("offload_0001", "theirs", key=other)])
            assert await store.archive.get(S1, "offload_0001") == record("offload_0001", "ours")

    async def test_an_item_without_text_has_nothing_to_check(self) -> None:
        given = record("offload_0001")
        bare = msgspec.structs.replace(given.items[0], result=None, sha256="")
        given = msgspec.structs.replace(given, items=(bare,))
        async with self.fresh() as store:
            await store.archive.append(S1, [given])
            assert await store.archive.get(S1, "offload_0001") == given

    async def test_a_session_that_only_has_records_is_known(self) -> None:
        async with self.fresh() as store:
            await store.archive.append(S1, [record("offload_0001")])
            info = await store.ledger.info(S1)
            assert info is not None and info.session_id == "s1"

    async def test_another_process_reads_the_records(self) -> None:
        async with self.fresh() as store, self.again() as other:
            assert await other.archive.get(S1, "offload_0001") is None
            await store.archive.append(S1, [record("offload_0001", *HARD_CONTENTS)])
            await other.archive.append(S1, [record("offload_0002")])
            assert repr(await other.archive.get(S1, "offload_0001")) == repr(record("offload_0001", *HARD_CONTENTS))
            assert [one.batch_id async for one in store.archive.records(S1)] == ["offload_0001", "offload_0002"]


@pytest.mark.anyio
class StoreContract(
    LedgerContract, ArchiveContract, ForgetContract, SearchContract, SummariesContract, HandoffsContract
):
    """Ledger, archive, search, summaries and handoffs, what a purge takes out, and what only a whole store can say."""

    async def test_the_secret_is_made_once(self) -> None:
        async with self.fresh() as store:
            secret = await store.secret()
            assert len(secret) == 32 and await store.secret() == secret

    async def test_another_process_has_the_same_secret(self) -> None:
        async with self.fresh() as store, self.again() as other:
            assert await store.secret() == await other.secret()

    async def test_a_store_is_made_when_it_has_a_secret(self) -> None:
        async with self.fresh() as store:
            assert not await store.is_made()
            await store.secret()
            assert await store.is_made()

    async def test_a_secret_of_another_store_is_taken_only_where_there_is_none(self) -> None:
        async with self.fresh() as store:
            assert await store.take_secret(b"a" * 32)
            assert await store.secret() == b"a" * 32
            assert not await store.take_secret(b"b" * 32)
            assert await store.secret() == b"a" * 32

    async def test_it_says_whose_sessions_there_are(self) -> None:
        async with self.fresh() as store:
            assert await store.principals() == ("",)
            for name in ("bob", "ann"):
                await store.ledger.create(SessionKey("s1", name), info_of(SessionKey("s1", name)))
            assert await store.principals() == ("", "ann", "bob")

    async def test_what_the_hooks_of_a_host_note_comes_back(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            notes = store.host_notes
            assert notes.is_known("s1") and not notes.is_known("s2")
            notes.keep_start("s1", {"batches": 2})
            notes.keep_start("s2", {"batches": 2})
            assert (notes.start_of("s1"), notes.start_of("s2")) == ({"batches": 2}, {})
            notes.note_ended("client", "s1")
            assert (notes.take_ended("client"), notes.take_ended("client")) == ("s1", "")
            notes.link("s2", "s1")
            notes.sweep()
            assert (notes.parent_of("s2"), notes.parent_of("s1")) == ("s1", "")
            notes.note_trouble("Stop", "write_failed", "The disk is full.")
            (trouble,) = notes.troubles()
            assert (trouble["event"], trouble["code"], trouble["text"]) == ("Stop", "write_failed", "The disk is full.")

    async def test_the_numbers_of_a_session_that_nobody_knows_are_no_error(self) -> None:
        async with self.fresh() as store:
            await store.note_status(S1, StatusNote(handle="sabcd", batches=1, items=2, saved_tokens=3))
            assert await store.ledger.info(S1) is None

    async def test_disk_use_adds_up(self) -> None:
        async with self.fresh() as store:
            await store.ledger.create(S1, info_of(S1))
            await store.ledger.observe(S1, [applied(1)])
            await store.archive.append(S1, [record("offload_0001")])
            use = await store.disk_use()
            assert min(use.ledger, use.archive, use.index) >= 0
            assert use.total >= use.ledger + use.archive + use.index

    async def test_it_says_where_it_is(self) -> None:
        async with self.fresh() as store:
            assert store.location

    async def test_closing_twice_is_closing_once(self) -> None:
        async with self.fresh() as store:
            await store.ledger.observe(S1, [applied(1)])
            await store.aclose()


def store_contract(opens: Callable[[Path], Store | Awaitable[Store]], *, reopens: bool = True) -> type[StoreContract]:
    """The whole contract for one kind of store. pytest collects the class under the name that you give it.

    Args:
        opens: opens the store at a place: a folder that is not there yet, and a new one for every test. Opened once
            more at the same place, it has the same data, as another process finds them.
        reopens: False for a store that lives in one process only; what needs two is then skipped.
    """
    return type("StoreContract", (StoreContract,), {"opens": staticmethod(opens), "reopens": reopens})
