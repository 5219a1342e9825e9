"""The archive on disk: read-back, damage, copies."""

from __future__ import annotations

import errno
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from palimpsest_mcp.errors import RecordDamaged, WriteFailed
from palimpsest_mcp.models.events import SessionKey
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.archive import ArchiveFiles
from palimpsest_mcp.store.home import Home
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.store.segments import ROLL_BYTES, encode
from palimpsest_mcp.testing.contract_values import S1, record
from palimpsest_mcp.testing.disks import SimulatedDisk

pytestmark = pytest.mark.anyio


def archive_on(
    disk: RealDisk | SimulatedDisk, home: Path = Path("/data/home"), roll_bytes: int = ROLL_BYTES
) -> ArchiveFiles:
    home_ = Home(home, disk, secrets.token_hex)
    return ArchiveFiles(home_, clock=lambda: datetime.now(UTC), random_hex=secrets.token_hex, roll_bytes=roll_bytes)


def segment_with(home: Path, *lines: bytes, name: str = "1.jsonl") -> Path:
    folder = home / "session" / "s1" / "offloaded"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"".join(lines))
    return folder / name


class LyingDisk(SimulatedDisk):
    """Gives back other bytes than were written, once the archive is there."""

    def read(self, fd: int, size: int, offset: int) -> bytes:
        data = super().read(fd, size, offset)
        return data.replace(b"the original", b"the forgery!")


def test_what_the_disk_does_not_give_back_is_not_archived() -> None:
    disk = LyingDisk()
    with pytest.raises(WriteFailed, match="other bytes"):
        archive_on(disk).append(S1, [record("offload_0001", "the original")])
    assert archive_on(disk.killed()).get(S1, "offload_0001") is None
    assert archive_on(disk.killed()).damage(S1) == ()


def test_the_read_back_uses_a_descriptor_of_its_own() -> None:
    disk = SimulatedDisk()
    archive_on(disk).append(S1, [record("offload_0001")])
    flushed = len(disk.calls) - disk.calls[::-1].index("flush")
    assert "open" in disk.calls[flushed:] and "read" in disk.calls[flushed:]


@pytest.mark.parametrize("call", ["write", "flush", "read"])
def test_a_record_whose_writing_failed_is_not_there_and_the_next_one_is(call: str) -> None:
    whole = SimulatedDisk()
    archive_on(whole).append(S1, [record("offload_0001")])
    last = len(whole.calls) - whole.calls[::-1].index(call)
    disk = SimulatedDisk(faults={last: OSError(errno.EIO, "injected")})
    archive = archive_on(disk)
    with pytest.raises(WriteFailed, match="EIO"):
        archive.append(S1, [record("offload_0001")])
    assert archive_on(disk.killed()).batch_ids(S1) == []
    archive.append(S1, [record("offload_0002")])
    assert archive_on(disk.killed()).batch_ids(S1) == ["offload_0002"]
    assert len(disk.scan("/data/home/session/s1/offloaded")) == 2


def test_several_records_are_one_write_and_one_flush() -> None:
    disk = SimulatedDisk()
    archive = archive_on(disk)
    archive.append(S1, [record("offload_0001")])
    before = len(disk.calls)
    archive.append(S1, [record(f"offload_000{number}") for number in range(2, 7)])
    calls = disk.calls[before:]
    assert (calls.count("write"), calls.count("flush"), calls.count("flush_folder")) == (1, 1, 0)


def test_a_batch_is_found_without_reading_everything_again(tmp_path: Path) -> None:
    class CountingDisk(RealDisk):
        read_bytes = 0

        def read(self, fd: int, size: int, offset: int) -> bytes:
            data = super().read(fd, size, offset)
            self.read_bytes += len(data)
            return data

    disk = CountingDisk()
    archive = archive_on(disk, tmp_path)
    archive.append(S1, [record(f"offload_{number:04d}", "x" * 10_000) for number in range(50)])
    archive.get(S1, "offload_0001")
    before = disk.read_bytes
    for number in range(10):
        assert archive.get(S1, f"offload_{number:04d}") == record(f"offload_{number:04d}", "x" * 10_000)
    assert disk.read_bytes - before < 10 * 11_000
    archive.append(S1, [record("offload_0099")])
    assert archive.get(S1, "offload_0099") == record("offload_0099")


def test_a_flipped_bit_anywhere_is_damage_and_never_passed_off_as_whole(tmp_path: Path) -> None:
    good = encode(record("offload_0001", "text"))
    others = encode(record("offload_0002"))
    for position in range(0, len(good) - 1, 3):
        broken = bytearray(good)
        broken[position] ^= 1 << position % 8
        segment_with(tmp_path, bytes(broken), others)
        archive = archive_on(RealDisk(), tmp_path)
        with suppress(RecordDamaged):
            assert archive.get(S1, "offload_0001") is None
        assert archive.get(S1, "offload_0002") == record("offload_0002")
        assert archive.batch_ids(S1) == ["offload_0002"]
        assert archive.damage(S1)


@pytest.mark.parametrize("cut", [90, 120, -2, -1])
def test_a_record_that_was_cut_off_by_hand_is_damage_not_an_unknown_batch(tmp_path: Path, cut: int) -> None:
    segment_with(tmp_path, encode(record("offload_0001")), encode(record("offload_0002"))[:cut])
    archive = archive_on(RealDisk(), tmp_path)
    assert archive.get(S1, "offload_0001") == record("offload_0001")
    with pytest.raises(RecordDamaged):
        archive.get(S1, "offload_0002")
    assert archive.get(S1, "offload_0003") is None
    assert archive.batch_ids(S1) == ["offload_0001"]


async def test_a_record_edited_by_hand_is_damage_even_with_a_right_checksum(tmp_path: Path) -> None:
    good = record("offload_0001", "the truth")
    forged = msgspec.structs.replace(good, items=(msgspec.structs.replace(good.items[0], result="a lie"),))
    segment_with(tmp_path, encode(forged), encode(record("offload_0002")))
    store = DiskStore(tmp_path)
    with pytest.raises(RecordDamaged, match="offload_0001"):
        await store.archive.get(S1, "offload_0001")
    assert [one.batch_id async for one in store.archive.records(S1)] == ["offload_0002"]
    (damage,) = await store.archive.damage(S1)
    assert damage.where == "s1/offloaded/1.jsonl at byte 0" and "item 0" in damage.what
    assert "lie" not in repr(damage)


async def test_large_records_are_read_a_few_at_a_time_and_none_is_left_out_but_the_damaged_one(tmp_path: Path) -> None:
    lines = [encode(record(f"offload_{number:04d}", f"{number} " * 200_000)) for number in range(1, 7)]
    lines[3] = lines[3][:-9] + b"x" + lines[3][-8:]
    segment_with(tmp_path, *lines)
    archive = archive_on(RealDisk(), tmp_path)
    found, looked = archive.some(S1, archive.batch_ids(S1))
    assert len(found) == looked == 3, "a piece ends behind a million bytes"
    read = [one.batch_id async for one in DiskStore(tmp_path).archive.records(S1)]
    assert read == [f"offload_{number:04d}" for number in (1, 2, 3, 5, 6)]


def test_an_older_whole_copy_stands_in_for_a_damaged_newer_one(tmp_path: Path) -> None:
    newer = bytearray(encode(record("offload_0001", "second")))
    newer[-12] ^= 1
    segment_with(tmp_path, encode(record("offload_0001", "first")), bytes(newer))
    archive = archive_on(RealDisk(), tmp_path)
    assert archive.get(S1, "offload_0001") == record("offload_0001", "first")


def test_the_newest_copy_is_the_last_of_the_last_segment(tmp_path: Path) -> None:
    for name, texts in (("2.jsonl", "cd"), ("1.jsonl", "ab")):
        segment_with(tmp_path, *(encode(record("offload_0001", text)) for text in texts), name=name)
    assert archive_on(RealDisk(), tmp_path).get(S1, "offload_0001") == record("offload_0001", "d")


def test_a_record_of_another_session_is_damage(tmp_path: Path) -> None:
    segment_with(tmp_path, encode(record("offload_0001", key=SessionKey("s2"))))
    archive = archive_on(RealDisk(), tmp_path)
    with pytest.raises(RecordDamaged):
        archive.get(S1, "offload_0001")
    assert "another session" in archive.damage(S1)[0].what


def test_a_record_of_a_newer_format_is_not_guessed_at(tmp_path: Path) -> None:
    segment_with(tmp_path, encode(msgspec.structs.replace(record("offload_0001"), schema=2)))
    archive = archive_on(RealDisk(), tmp_path)
    with pytest.raises(RecordDamaged):
        archive.get(S1, "offload_0001")
    assert "newer" in archive.damage(S1)[0].what


def test_bad_base64_is_damage(tmp_path: Path) -> None:
    good = record("offload_0001", {"base64": "AAAA"})
    bad = msgspec.structs.replace(good, items=(msgspec.structs.replace(good.items[0], result={"base64": "A"}),))
    segment_with(tmp_path, encode(bad))
    assert "item 0" in archive_on(RealDisk(), tmp_path).damage(S1)[0].what


async def test_links_in_the_place_of_segments_are_damage(tmp_path: Path) -> None:
    segment_with(tmp_path / "home", encode(record("offload_0001")))
    (tmp_path / "outside.jsonl").write_bytes(encode(record("offload_0002")))
    (tmp_path / "home" / "session" / "s1" / "offloaded" / "2.jsonl").symlink_to(tmp_path / "outside.jsonl")
    store = DiskStore(tmp_path / "home")
    assert await store.archive.get(S1, "offload_0002") is None
    assert len(await store.archive.damage(S1)) == 1


async def test_a_segment_that_was_merged_into_another_is_found_there(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    segment_with(tmp_path, encode(record("offload_0001")), name="1.jsonl")
    assert await store.archive.get(S1, "offload_0001") is not None
    segment_with(tmp_path, encode(record("offload_0000")), encode(record("offload_0001")), name="merged.jsonl")
    (tmp_path / "session" / "s1" / "offloaded" / "1.jsonl").unlink()
    assert await store.archive.get(S1, "offload_0001") == record("offload_0001")


async def test_a_big_record_and_many_items_come_back(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    big = record("offload_0001", "x" * 20_000_000, *(f"item {number}" for number in range(10_000)))
    await store.archive.append(S1, [big])
    assert await DiskStore(tmp_path).archive.get(S1, "offload_0001") == big
