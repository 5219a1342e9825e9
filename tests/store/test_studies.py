"""What was read of results is kept within bounds, and is nobody's loss."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.store import studies
from palimpsest_mcp.store.disk_store import DiskStore
from palimpsest_mcp.testing.contract_values import S1, info_of

pytestmark = pytest.mark.anyio
S2 = SessionKey("s2")


async def opened(home: Path, *keys: SessionKey) -> DiskStore:
    store = DiskStore(home)
    for key in keys:
        await store.ledger.create(key, info_of(key))
    return store


async def test_the_oldest_go_first_whatever_session_they_are_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "MOST_BYTES", 25)
    store = await opened(tmp_path / "h", S1, S2)
    for age, (key, name) in enumerate(((S1, "a"), (S2, "b"), (S1, "c"))):
        assert await store.keep_study(key, name, f"{name:10}".encode(), ())
        for path in (tmp_path / "h" / "studies").glob(f"*~{name}.study"):
            os.utime(path, (100 + age, 100 + age))
    assert (await store.studies(S1), await store.studies(S2)) == ([b"c         "], [b"b         "])
    assert not await store.keep_study(S1, "d", b"x" * 26, ()), "more than there is room for at all"
    assert await store.studies(S1) == [b"c         "]


async def test_a_session_has_its_own_only_and_one_that_is_not_there_has_none(tmp_path: Path) -> None:
    store = await opened(tmp_path / "h", S1)
    assert await store.keep_study(S1, "a", b"one", ()) and await store.keep_study(S1, "a", b"two", ())
    assert not await store.keep_study(S2, "a", b"three", ())
    assert (await store.studies(S1), await store.studies(S2)) == ([b"two"], [])
    assert await store.flaws() == () and await store.studies(SessionKey("s", "")) == []


async def test_they_are_no_part_of_a_backup(tmp_path: Path) -> None:
    store = await opened(tmp_path / "h", S1)
    await store.keep_study(S1, "a", b"one", ())
    await store.backup(str(tmp_path / "b"))
    assert not list((tmp_path / "b").rglob("*.study")) and list((tmp_path / "h").rglob("*.study"))


async def test_where_they_cannot_be_written_nothing_else_is_the_worse(tmp_path: Path) -> None:
    store = await opened(tmp_path / "h", S1)
    (tmp_path / "h" / "studies").write_bytes(b"no folder")
    assert not await store.keep_study(S1, "a", b"one", ())
    assert await store.studies(S1) == []
