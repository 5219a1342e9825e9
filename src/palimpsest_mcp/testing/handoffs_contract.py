"""What every keeper of handoffs must do, as tests."""

from __future__ import annotations

import asyncio

import pytest

from ..errors import InvalidArgument
from .contract_values import OneStore

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
