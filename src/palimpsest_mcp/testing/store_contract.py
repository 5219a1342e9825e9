"""The contract of `ports.store` as tests, for a backend of your own in one call (`docs/backends.md`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ..models.reports import StatusNote
from ..ports.store import Store
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
