"""What a store on disk holds in memory between two questions: never longer than the files say the same."""

from __future__ import annotations

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

import pytest

from palimpsest_mcp.models.events import SessionKey, UsageSeen
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.archive import ArchiveFiles
from palimpsest_mcp.store.disk import Found
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.ledger import FEW_SESSIONS
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.store.segments import encode
from palimpsest_mcp.testing.contract_values import S1, info_of, record

pytestmark = pytest.mark.anyio


def archive(home: Path, *, ahead_s: float = 3_600.0) -> ArchiveFiles:
    """On the real disk, by a clock that is so much ahead of it."""
    disk = Home(home, RealDisk(), secrets.token_hex)
    return ArchiveFiles(
        disk,
        clock=lambda: datetime.now(UTC),
        random_hex=secrets.token_hex,
        now_s=lambda: datetime.now(UTC).timestamp() + ahead_s,
    )


def segment(home: Path, *records: bytes) -> Path:
    folder = home / "session" / "s1" / "offloaded"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "1.jsonl").write_bytes(b"".join(records))
    return folder / "1.jsonl"


def test_records_are_kept_until_another_process_appends_one(tmp_path: Path) -> None:
    segment(tmp_path, encode(record("offload_0001")), encode(record("offload_0002")))
    ours = archive(tmp_path)
    assert ours.kept(S1) is None
    found, rest = ours.first(S1)
    assert ours.kept(S1) == found and rest == []
    archive(tmp_path).append(S1, [record("offload_0003")])
    assert ours.kept(S1) is None
    assert [one.batch_id for one in ours.first(S1)[0]] == ["offload_0001", "offload_0002", "offload_0003"]


def test_a_record_that_was_damaged_in_place_is_not_given_from_memory(tmp_path: Path) -> None:
    path = segment(tmp_path, encode(record("offload_0001")))
    ours = archive(tmp_path)
    ours.first(S1)
    assert ours.get_kept(S1, "offload_0001") == record("offload_0001")
    path.write_bytes(path.read_bytes().replace(b"offload", b"offl0ad", 1))
    os.utime(path, (1, 1))  # whatever the clock of the file system says
    assert ours.kept(S1) is None and ours.get_kept(S1, "offload_0001") is None


def test_a_file_that_was_written_this_very_moment_is_read_again(tmp_path: Path) -> None:
    """It may change once more within the same tick of the file system's clock."""
    segment(tmp_path, encode(record("offload_0001")))
    ours = archive(tmp_path, ahead_s=0.0)
    assert len(ours.first(S1)[0]) == 1 and ours.kept(S1) is None


def test_what_a_caller_could_change_is_read_again(tmp_path: Path) -> None:
    segment(tmp_path, encode(record("offload_0001", [{"type": "text", "text": "in blocks"}])))
    ours = archive(tmp_path)
    ours.first(S1)
    assert ours.kept(S1) is not None and ours.get_kept(S1, "offload_0001") is None


def test_only_a_few_sessions_are_held(tmp_path: Path) -> None:
    ours = archive(tmp_path)
    keys = [SessionKey(f"s{number}") for number in range(12)]
    for key in keys:
        archive(tmp_path).append(key, [record("offload_0001", key=key)])
        ours.first(key)
    assert [ours.kept(key) is not None for key in keys] == [False] * 4 + [True] * 8


async def test_a_session_that_was_made_anew_by_another_process_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    ours, theirs = DiskStore(tmp_path), DiskStore(tmp_path)
    await theirs.ledger.create(S1, info_of(S1))
    assert await ours.ledger.info(S1) == await ours.ledger.info(S1) == info_of(S1)
    for path in sorted((tmp_path / "session" / "s1").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (tmp_path / "session" / "s1").rmdir()
    assert await ours.ledger.info(S1) is None


async def test_little_news_is_read_at_once_and_much_in_a_thread(tmp_path: Path) -> None:
    ours = DiskStore(tmp_path)
    await ours.ledger.create(S1, info_of(S1))
    page = await ours.ledger.read(S1)
    files = ours._ledger  # pyright: ignore[reportPrivateUsage]  # which of its two ways is taken
    nothing = files.read_little(S1, page.cursor)
    assert nothing is not None and nothing.events == ()
    segment_of = next((tmp_path / "session" / "s1" / "ledger").glob("*.jsonl"))
    segment_of.write_bytes(segment_of.read_bytes() + b"x" * 20_000)
    assert files.read_little(S1, page.cursor) is None


async def test_few_sessions_are_listed_at_once_and_many_in_a_thread(tmp_path: Path) -> None:
    ours = DiskStore(tmp_path)
    files = ours._ledger  # pyright: ignore[reportPrivateUsage]  # which of its two ways is taken
    assert files.few_sessions("") is None, "how many there are is not known yet"
    keys = [SessionKey(f"s{n}") for n in range(FEW_SESSIONS + 1)]
    for n, key in enumerate(keys):
        await ours.ledger.create(key, info_of(key))
        listed = await ours.ledger.sessions()
        assert {one.session_id for one in listed} == {one.session_id for one in keys[: n + 1]}
        assert (files.few_sessions("") is None) == (n >= FEW_SESSIONS)


async def test_sub_agents_are_listed_without_a_look_at_sessions_that_were_met_before(tmp_path: Path) -> None:
    class Looks(RealDisk):
        at: list[str] = []

        def look(self, path: str) -> Found | None:
            self.at.append(path)
            return super().look(path)

    ours = DiskStore(tmp_path, disk=Looks())
    keys = [SessionKey(one) for one in ("main", "main/a", "other")]
    for key in keys[:2]:
        await ours.ledger.create(key, info_of(key))
    await ours.ledger.sessions()
    await DiskStore(tmp_path).ledger.create(keys[2], info_of(keys[2]))
    Looks.at.clear()
    assert await ours.ledger.sessions(beginning="main/") == (info_of(keys[1]),)
    assert any("session/other" in path for path in Looks.at), "it may be anybody"
    late = SessionKey("main/b")
    await DiskStore(tmp_path).ledger.create(late, info_of(late))
    Looks.at.clear()
    assert set(await ours.ledger.sessions(beginning="main/")) == {info_of(keys[1]), info_of(late)}
    assert not any(f"session/{one}" in path for path in Looks.at for one in ("main", "other"))


async def test_a_note_is_written_at_once_unless_it_would_wait_for_somebody(tmp_path: Path) -> None:
    ours = DiskStore(tmp_path)
    await ours.ledger.create(S1, info_of(S1))
    files = ours._ledger  # pyright: ignore[reportPrivateUsage]  # which of its two ways is taken
    notes = [UsageSeen(used_tokens=n, window_tokens=64_000) for n in range(6)]
    assert files.observe_at_once(S1, notes[:1])
    assert not files.observe_at_once(S1, notes[1:]), "so many are worth a thread"
    log = files._log(S1)  # pyright: ignore[reportPrivateUsage]
    with log.writing:
        assert not files.observe_at_once(S1, notes[1:2]), "somebody writes"
    purge, disk = str(next((tmp_path / "session" / "s1" / "ledger").glob("*.jsonl"))), RealDisk()
    held = disk.open(purge)
    try:
        assert disk.hold(held, 0.0)
        assert not files.observe_at_once(S1, notes[1:2]), "a purge holds the segment"
    finally:
        disk.close(held)
    assert files.observe_at_once(S1, []), "nothing is noted, and nothing stays held for it"
    held = disk.open(purge)
    try:
        assert disk.hold(held, 0.0)
    finally:
        disk.close(held)
    await ours.ledger.observe(S1, notes[1:2], durable=False)
    page = await DiskStore(tmp_path).ledger.read(S1)
    told = [one.used_tokens for one in page.events if isinstance(one, UsageSeen)]
    assert told == [0, 1]
