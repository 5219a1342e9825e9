"""A file or folder of the store becomes a link to somewhere else, between any two calls of a writer.

Nothing that stands there is changed or removed, and nothing comes to stand there.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, pinned, record
from palimpsest_mcp.testing.disks import FaultyDisk

from ..conftest import first_of
from .conftest import LONG

pytestmark = [pytest.mark.crash, pytest.mark.skipif(os.name != "posix", reason="links of Windows need rights")]
FOLDERS = ("session/s1/ledger", "session/s1/offloaded", "session/s1", "session", "witness", "witness/session")
FILES = ("session/s1/ledger/*.jsonl", "session/s1/offloaded/*.jsonl", "session/s1/commit.lock", "VERSION")
STRIDE = 1 if LONG else 9
"""Calls from one swap to the next."""


class Swapping(FaultyDisk):
    """A real disk; before its call number `at`, what stands at `target` is swapped for a link."""

    def __init__(self, root: Path, at: int, swap: Callable[[], None]) -> None:
        super().__init__(root)
        self.number = 0
        self._swap_at, self._swap = at, swap

    def _reach(self, site: str) -> None:
        self.number += 1
        if self.number == self._swap_at:
            self._swap()


async def work(home: Path, disk: FaultyDisk) -> None:
    """A session is made, seen, archived and decided; each step may be refused."""
    store = DiskStore(home, disk=disk, lock_timeout_s=0.1)
    steps = (
        lambda: store.ledger.create(S1, info_of(S1)),
        lambda: store.ledger.observe(S1, [applied(1)]),
        lambda: store.archive.append(S1, [record("offload_0001")]),
        lambda: store.ledger.decide(S1, [pinned(1)], after_rev=0),
        lambda: store.archive.append(S1, [record("offload_0002")]),
        lambda: store.ledger.observe(S1, [applied(2)]),
        store.aclose,
    )
    for step in steps:
        try:
            await step()
        except PalimpsestError:
            continue


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize("target", first_of([*FOLDERS, *FILES], kept=4))
def test_what_a_link_leads_to_stays_as_it_is(target: str, tmp_path: Path) -> None:
    at, swapped, reached = 1 - STRIDE, 0, True
    while reached:
        at += STRIDE
        home, outside = tmp_path / "home", tmp_path / "outside"
        outside.mkdir()
        (outside / "theirs.jsonl").write_bytes(b"theirs\n")
        (outside / "session").mkdir()
        before, done = everything(outside), list[Path]()

        def swap(home: Path = home, outside: Path = outside, done: list[Path] = done) -> None:
            for path in sorted(home.glob(target))[:1]:
                path.rename(tmp_path / "aside")
                path.symlink_to(outside if target in FOLDERS else outside / "theirs.jsonl")
                done.append(path)

        disk = Swapping(home, at, swap)
        asyncio.run(work(home, disk))
        reached, swapped = disk.number >= at, swapped + len(done)
        after = everything(outside)
        assert after == before, (target, at, "something was changed or written through a link")
        for folder in (home, outside, tmp_path / "aside"):
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink(missing_ok=True)
    assert swapped
