"""Every store keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest_mcp.store import DiskStore, MemoryStore
from palimpsest_mcp.store.memory import ScratchStore
from palimpsest_mcp.testing.store_contract import StoreContract, store_contract


def on_disk(place: Path) -> DiskStore:
    return DiskStore(place, temp=place.parent.parent)


TestDiskStore = store_contract(on_disk)
TestMemoryStore = store_contract(lambda _: MemoryStore(), reopens=False)


class TestScratchStore(StoreContract):
    """What is written there is there, and not in the store below."""

    reopens = False

    @staticmethod
    def opens(place: Path) -> ScratchStore:
        return ScratchStore(on_disk(place))

    @pytest.fixture(autouse=True)
    def nothing_is_made(self, tmp_path: Path) -> Iterator[None]:
        yield
        assert not (tmp_path / "deep").exists()
