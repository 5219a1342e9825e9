"""What stands in `memory/` and in the temporary folder, and what is left alone there."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from palimpsest_mcp.errors import LockTimeout, StoreUnusable, WriteFailed
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.documents import MAX_BYTES
from palimpsest_mcp.testing.disks import SimulatedDisk

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX")]
STEM = "2026-11-22-import"
TEXT = "# Task Summary: import\n"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[DiskStore]:
    (tmp_path / "tmp").mkdir()
    opened = DiskStore(tmp_path / "home", temp=tmp_path / "tmp")
    yield opened
    await opened.aclose()


def modes(folder: Path) -> set[tuple[bool, str]]:
    return {(path.is_dir(), oct(path.stat().st_mode & 0o777)) for path in folder.rglob("*")}


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


async def test_folders_and_files_are_the_owners_alone(store: DiskStore, tmp_path: Path) -> None:
    await store.handoffs.add("memory", STEM, TEXT)
    await store.handoffs.add("archive", STEM, TEXT)
    await store.handoffs.add("temp", STEM, TEXT)
    assert modes(tmp_path / "home") == {(True, "0o700"), (False, "0o600")}
    assert modes(tmp_path / "tmp") == {(True, "0o700"), (False, "0o600")}


async def test_a_temporary_folder_that_others_may_write_to_is_refused(store: DiskStore, tmp_path: Path) -> None:
    fork = await store.handoffs.add("temp", STEM, TEXT)
    folder = Path(fork.path).parent
    folder.chmod(0o777)
    with pytest.raises(StoreUnusable, match="Other users"):
        await store.handoffs.add("temp", STEM, TEXT)
    folder.chmod(0o700)
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(StoreUnusable):
        await store.handoffs.add("temp", STEM, TEXT)


async def test_two_stores_do_not_share_a_temporary_folder(store: DiskStore, tmp_path: Path) -> None:
    await store.handoffs.add("temp", STEM, TEXT)
    other = DiskStore(tmp_path / "second", temp=tmp_path / "tmp")
    assert await other.handoffs.list() == ()
    await other.aclose()


async def test_links_folders_spare_files_and_what_is_no_text_are_no_handoffs(store: DiskStore, tmp_path: Path) -> None:
    await store.handoffs.add("memory", STEM, TEXT)
    memory = tmp_path / "home" / "memory"
    put(tmp_path / "outside.md", TEXT.encode())
    (memory / "link.md").symlink_to(tmp_path / "outside.md")
    (memory / "folder.md").mkdir()
    put(memory / "spare.md.1-2.tmp", TEXT.encode())
    put(memory / "latin.md", b"\xff\xfe")
    put(memory / "huge.md", b"x" * (MAX_BYTES + 1))
    assert {one.name: one.text for one in await store.handoffs.list()} == {STEM: TEXT, "latin": None, "huge": None}


async def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    probe = SimulatedDisk()
    await DiskStore(Path("/home"), disk=probe).handoffs.add("memory", STEM, TEXT)
    flush = max(n for n, name in enumerate(probe.calls, 1) if name == "flush")
    for fault in (OSError(errno.ENOSPC, "full"), OSError(errno.EIO, "broken")):
        disk = SimulatedDisk(faults={flush: fault})
        store = DiskStore(Path("/home"), disk=disk)
        with pytest.raises(WriteFailed):
            await store.handoffs.add("memory", STEM, TEXT)
        assert await store.handoffs.list() == () and disk.open_files == 0
        assert not [name for name, _ in disk.scan("/home/memory") if name.endswith(".tmp")]


async def test_a_removed_line_that_a_power_cut_tore_stays_alone(store: DiskStore, tmp_path: Path) -> None:
    first = await store.handoffs.add("memory", STEM, TEXT)
    await store.handoffs.add("archive", "old", TEXT)
    log = tmp_path / "home" / "memory" / "archive" / "removed.jsonl"
    put(log, b'{"name": "half')
    assert await store.handoffs.remove(first, note='{"name": "whole"}')
    assert await store.handoffs.removed() == ('{"name": "half', '{"name": "whole"}')


async def test_another_process_waits_for_the_lock(tmp_path: Path) -> None:
    disk = SimulatedDisk()
    store = DiskStore(Path("/home"), disk=disk, lock_timeout_s=0)
    await store.handoffs.add("memory", STEM, TEXT)
    assert disk.lock("/home/memory/memory.lock", 0) is not None
    with pytest.raises(LockTimeout):
        await store.handoffs.add("memory", STEM, TEXT)


async def test_a_link_of_the_users_keeps_its_name(store: DiskStore, tmp_path: Path) -> None:
    memory = tmp_path / "home" / "memory"
    memory.mkdir(parents=True)
    (memory / f"{STEM}.md").symlink_to(tmp_path / "notes.txt")
    written = await store.handoffs.add("memory", STEM, TEXT)
    assert written.name != STEM
    assert (memory / f"{STEM}.md").is_symlink()
