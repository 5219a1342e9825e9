"""The store's secret."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from palimpsest_mcp.errors import StoreUnusable
from palimpsest_mcp.store import DiskStore

pytestmark = pytest.mark.anyio


async def test_everyone_who_makes_it_at_once_gets_the_same(tmp_path: Path) -> None:
    stores = [DiskStore(tmp_path) for _ in range(8)]
    secrets = await asyncio.gather(*(store.secret() for store in stores))
    assert len(set(secrets)) == 1 and (tmp_path / "secret").read_bytes() == secrets[0]


@pytest.mark.parametrize("garbage", [b"", b"short", b"x" * 33])
async def test_a_damaged_secret_is_never_replaced_silently(tmp_path: Path, garbage: bytes) -> None:
    (tmp_path / "secret").write_bytes(garbage)
    with pytest.raises(StoreUnusable, match="damaged"):
        await DiskStore(tmp_path).secret()
    assert (tmp_path / "secret").read_bytes() == garbage


async def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"x" * 32)
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "secret").symlink_to(tmp_path / "outside")
    with pytest.raises(StoreUnusable):
        await DiskStore(tmp_path / "home").secret()
