"""Both stores keep the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_mcp.ports.store import Store
from palimpsest_mcp.store import DiskStore, MemoryStore
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
