"""Segments written anew while their writers are alive."""

from __future__ import annotations

import errno
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from palimpsest_mcp.errors import LockTimeout, WriteFailed
from palimpsest_mcp.models.items import content_sha256
from palimpsest_mcp.models.reports import Forgotten
from palimpsest_mcp.store import rewrite as rewriting
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.ledger import LedgerFiles
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.store.segments import Appender
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, seen
from palimpsest_mcp.testing.disks import SimulatedDisk

GONE = "a text that has to go"


def clock() -> datetime:
    return datetime(2026, 11, 20, tzinfo=UTC)


def dropped(raw: bytes, _whole: bool) -> bytes | None:
    return None if b"drop" in raw else raw


def opened(root: Path, name: str) -> tuple[Home, Appender]:
    home = Home(root, RealDisk(), lambda size: name * 2 * size)
    return home, Appender(home, str(root / "folder"), clock, home.random_hex)


def lines(root: Path) -> list[bytes]:
    return [line for path in sorted((root / "folder").glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def test_a_writer_goes_on_in_a_new_segment_when_its_own_was_written_anew(tmp_path: Path) -> None:
    home, appender = opened(tmp_path, "a")
    with appender.turn():
        appender.append(b"keep\ndrop\n", 2)
    assert rewriting.rewrite(home, str(tmp_path / "folder"), dropped, tail=False, aside=False) == 1
    with appender.turn():
        appender.append(b"later\n", 1)
    assert sorted(lines(tmp_path)) == [b"keep", b"later"]
    assert rewriting.rewrite(home, str(tmp_path / "folder"), dropped, tail=False, aside=False) == 0


def test_a_segment_is_not_taken_away_in_the_middle_of_an_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "HOLD_TIMEOUT_S", 0.01)
    home, appender = opened(tmp_path, "a")
    with appender.turn():
        appender.append(b"drop\n", 1)
        with pytest.raises(LockTimeout):
            rewriting.rewrite(home, str(tmp_path / "folder"), dropped, tail=False, aside=False)
        appender.append(b"keep\n", 1)
    assert lines(tmp_path) == [b"drop", b"keep"]


def test_no_append_comes_between_the_copy_and_the_removal(tmp_path: Path) -> None:
    home, appender = opened(tmp_path, "a")
    with appender.turn():
        appender.append(b"drop\n", 1)
    appended = threading.Event()

    def write() -> None:
        with appender.turn():
            appender.append(b"acknowledged\n", 1)
        appended.set()

    writer = threading.Thread(target=write)

    def change(raw: bytes, whole: bool) -> bytes | None:
        if raw == b"drop" and not writer.is_alive() and not appended.is_set():
            writer.start()
            assert not appended.wait(0.2), "an append went into a file that was already copied"
        return dropped(raw, whole)

    rewriting.rewrite(home, str(tmp_path / "folder"), change, tail=False, aside=False)
    writer.join()
    assert lines(tmp_path) == [b"acknowledged"]


def test_what_the_disk_gives_back_otherwise_takes_nothing_away() -> None:
    class Forgetful(SimulatedDisk):
        def read(self, fd: int, size: int, offset: int) -> bytes:
            data = super().read(fd, size, offset)
            return data.replace(b'"purged":true', b'"purged":True')

    disk = SimulatedDisk()
    home = Home(Path("/data/home"), disk, lambda size: "0" * 2 * size)
    ledger = LedgerFiles(home, clock=clock, random_hex=home.random_hex)
    ledger.create(S1, info_of(S1))
    ledger.observe(S1, [seen(1, GONE), applied(2)])
    ledger.close()
    lying = Forgetful(disk.root, process=2)
    other = LedgerFiles(
        Home(Path("/data/home"), lying, lambda size: "1" * 2 * size),
        clock=clock,
        random_hex=lambda size: "1" * 2 * size,
    )
    with pytest.raises(WriteFailed):
        other.forget(S1, Forgotten(keys=frozenset({content_sha256(GONE)})))
    page = LedgerFiles(
        Home(Path("/data/home"), disk.killed(), lambda size: "2" * 2 * size),
        clock=clock,
        random_hex=lambda size: "2" * 2 * size,
    ).read(S1)
    assert len(page.events) == 3 and not page.damage


def test_a_removal_that_the_system_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, appender = opened(tmp_path, "a")
    with appender.turn():
        appender.append(b"drop\n", 1)

    def refuse(_self: RealDisk, _path: str) -> None:
        raise PermissionError(errno.EACCES, "in use")

    monkeypatch.setattr(RealDisk, "remove", refuse)
    with pytest.raises(WriteFailed, match="open"):
        rewriting.rewrite(home, str(tmp_path / "folder"), dropped, tail=False, aside=False)
