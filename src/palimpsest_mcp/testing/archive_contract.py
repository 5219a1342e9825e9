"""What every archive must do, as tests."""

from __future__ import annotations

import msgspec
import pytest

from ..errors import InvalidArgument, WriteFailed
from ..models.events import SessionKey
from ..models.items import Content
from .contract_values import HARD_CONTENTS, S1, OneStore, record


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
