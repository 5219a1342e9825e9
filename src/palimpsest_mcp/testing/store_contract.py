"""The contract of `ports.store` as tests: subclass `StoreContract` for a backend of your own (`docs/backends.md`)."""

from __future__ import annotations

import pytest

from .archive_contract import ArchiveContract
from .contract_values import S1, applied, info_of, record
from .forget_contract import ForgetContract
from .handoffs_contract import HandoffsContract
from .ledger_contract import LedgerContract
from .search_contract import SearchContract
from .summaries_contract import SummariesContract


@pytest.mark.anyio
class StoreContract(
    LedgerContract, ArchiveContract, ForgetContract, SearchContract, SummariesContract, HandoffsContract
):
    """Ledger, archive, search, summaries and handoffs, what a purge takes out, and what only a whole store can say.

    Override `make_store`, and `reopen` where another process can open the same data.
    """

    async def test_the_secret_is_made_once(self) -> None:
        async with self.fresh() as store:
            secret = await store.secret()
            assert len(secret) == 32 and await store.secret() == secret

    async def test_another_process_has_the_same_secret(self) -> None:
        async with self.fresh() as store, self.again(store) as other:
            assert await store.secret() == await other.secret()

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
        store = await self.make_store()
        await store.ledger.observe(S1, [applied(1)])
        await store.aclose()
        await store.aclose()
