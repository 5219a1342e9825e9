"""Both stores keep the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest_mcp.ports.store import Store
from palimpsest_mcp.store import DiskStore, MemoryStore
from palimpsest_mcp.store.scratch import ScratchStore
from palimpsest_mcp.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    async def make_store(self) -> Store:
        return MemoryStore()


class TestDiskStore(StoreContract):
    @pytest.fixture(autouse=True)
    def empty_home(self, tmp_path: Path) -> None:
        self.home = tmp_path / "deep" / "home"

    async def make_store(self) -> Store:
        return DiskStore(self.home, temp=self.home.parent.parent)

    async def reopen(self, store: Store) -> Store:
        return DiskStore(self.home, temp=self.home.parent.parent)


class TestScratchStore(StoreContract):
    """What is written there is there, and not in the store below."""

    @pytest.fixture(autouse=True)
    def nothing_is_made(self, tmp_path: Path) -> Iterator[None]:
        self.home = tmp_path / "deep" / "home"
        yield
        assert not self.home.parent.exists()

    async def make_store(self) -> Store:
        return ScratchStore(DiskStore(self.home, temp=self.home.parent.parent))
