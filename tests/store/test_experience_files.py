"""Both homes of experience keep the contract; what only a disk has: folders, links, modes, damage."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
from pathlib import Path

import pytest

from palimpsest_mcp.errors import LockTimeout, SkillAmbiguous, SkillUnknown, StoreUnusable, WriteFailed
from palimpsest_mcp.experience.disk import DiskExperience, MemoryExperience
from palimpsest_mcp.experience.models import ARCHIVE_FOLDER, LIVE_LOG, SkillPlace
from palimpsest_mcp.store.disk import Found, Release
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.testing.disks import FaultyDisk
from palimpsest_mcp.testing.experience_contract import ONE, TWO, experience_contract, whole_log

pytestmark = pytest.mark.anyio


def disk_experience(
    tmp: Path, *roots: Path, disk: RealDisk | None = None, lock_timeout_s: float = 10
) -> DiskExperience:
    return DiskExperience(
        tmp / "home", roots or (tmp / "skills",), random_hex=secrets.token_hex, disk=disk, lock_timeout_s=lock_timeout_s
    )


TestMemoryExperience = experience_contract(lambda _, wait_s: MemoryExperience(lock_timeout_s=wait_s))
TestDiskExperience = experience_contract(lambda place, wait_s: disk_experience(place, lock_timeout_s=wait_s))


def skill_folder(root: Path, path: str, *, marker: str = "SKILL.md") -> Path:
    folder = root / path
    folder.mkdir(parents=True)
    if marker:
        (folder / marker).write_text("# a skill\n")
    return folder


async def test_a_skill_is_found_at_any_depth_by_its_name(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path / "skills", "channels/ugc/search-x")
    place = await disk_experience(tmp_path).find("search-x")
    assert place.folder == str(folder) and place.seed == ""


async def test_two_skills_of_one_name_are_ambiguous_and_more_of_the_path_tells_them_apart(tmp_path: Path) -> None:
    first, second = (skill_folder(tmp_path / "skills", f"{group}/search-x") for group in ("a", "b"))
    experience = disk_experience(tmp_path)
    with pytest.raises(SkillAmbiguous, match="2 folders"):
        await experience.find("search-x")
    one, other = await experience.find("a/search-x"), await experience.find("b/search-x")
    assert (one.folder, other.folder) == (str(first), str(second))
    assert one.key != other.key


async def test_one_name_under_two_roots_is_ambiguous(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("one", "two")]
    for root in roots:
        skill_folder(root, "search-x")
    with pytest.raises(SkillAmbiguous):
        await disk_experience(tmp_path, *roots).find("search-x", create=True)


async def test_a_root_named_twice_or_inside_another_is_no_ambiguity(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path / "skills", "channels/search-x")
    roots = (tmp_path / "skills", tmp_path / "skills", tmp_path / "skills" / "channels")
    assert (await disk_experience(tmp_path, *roots).find("search-x")).folder == str(folder)


async def test_a_folder_with_the_marks_of_a_skill_wins_over_one_without(tmp_path: Path) -> None:
    skill_folder(tmp_path / "skills", "a/search-x", marker="")
    folder = skill_folder(tmp_path / "skills", "b/search-x")
    assert (await disk_experience(tmp_path).find("search-x")).folder == str(folder)


async def test_links_below_a_root_are_not_followed(tmp_path: Path) -> None:
    outside = skill_folder(tmp_path / "outside", "search-x")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "search-x").symlink_to(outside)
    with pytest.raises(SkillUnknown):
        await disk_experience(tmp_path).find("search-x")


async def test_a_log_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path / "skills", "search-x")
    (tmp_path / "outside").mkdir()
    (folder / "experience").symlink_to(tmp_path / "outside")
    experience = disk_experience(tmp_path)
    place = await experience.find("search-x")
    with pytest.raises(StoreUnusable):
        await experience.log.append(place, ONE)
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize("kind", ["link", "hard link", "folder", "pipe"])
async def test_a_log_that_is_no_plain_file_of_its_own_is_never_written(tmp_path: Path, kind: str) -> None:
    folder = skill_folder(tmp_path / "skills", "search-x")
    log, outside = folder / LIVE_LOG, tmp_path / "outside.txt"
    log.parent.mkdir()
    outside.write_bytes(b"mine\n")
    if kind == "link":
        log.symlink_to(outside)
    elif kind == "hard link":
        log.hardlink_to(outside)
    elif kind == "folder":
        log.mkdir()
    else:
        os.mkfifo(log)
    experience = disk_experience(tmp_path)
    with pytest.raises((WriteFailed, StoreUnusable)):
        await experience.log.append(await experience.find("search-x"), ONE)
    assert outside.read_bytes() == b"mine\n"


async def test_a_digest_that_is_a_link_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path / "skills", "search-x")
    outside = tmp_path / "outside.md"
    outside.write_bytes(b"mine\n")
    (folder / "experience.md").symlink_to(outside)
    experience = disk_experience(tmp_path)
    place = await experience.find("search-x")
    with pytest.raises(StoreUnusable):
        await experience.files.read(place, "digest")
    with pytest.raises(StoreUnusable):
        await experience.files.replace(place, "digest", b"new")
    assert outside.read_bytes() == b"mine\n"


async def test_a_bundled_digest_is_a_seed_that_is_never_changed(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path / "skills", "search-x")
    (folder / "experience.md").write_bytes(b"# bundled\n")
    folder.chmod(0o555)
    experience = disk_experience(tmp_path)
    place = await experience.find("search-x")
    assert place.seed == str(folder) and place.folder.startswith(str(tmp_path / "home"))
    assert await experience.files.read(place, "digest") == b"# bundled\n"
    await experience.log.append(place, ONE)
    await experience.files.replace(place, "digest", b"# ours\n")
    assert await experience.files.read(place, "digest") == b"# ours\n"
    assert (folder / "experience.md").read_bytes() == b"# bundled\n"
    assert sorted(path.name for path in folder.iterdir()) == ["SKILL.md", "experience.md"]
    assert (await experience.find("search-x")) == place
    folder.chmod(0o755)


async def test_in_the_skills_folder_only_the_digest_the_log_and_its_ignore_file_appear(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path / "skills", "search-x")
    for name in ("judge.py", "PROTOCOL.md", "notes.txt"):
        (folder / name).write_bytes(name.encode())
    experience = disk_experience(tmp_path)
    place = await experience.find("search-x")
    await experience.log.append(place, ONE)
    await experience.files.replace(place, "digest", b"d")
    await experience.files.replace(place, "side", b"s")
    await experience.files.keep_snapshot(place, "000001.json", b"k")
    await experience.log.rotate(place, "2026-04")
    async with experience.lock(place):
        found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert found == [
        "PROTOCOL.md", "SKILL.md", "experience.md", "experience/.gitignore", "experience/archive/2026-04.jsonl",
            "experience/patterns.jsonl",
        "judge.py", "notes.txt",
    ]  # fmt: skip
    assert (folder / "judge.py").read_bytes() == b"judge.py"


@pytest.mark.parametrize("code", [errno.EINTR, errno.ENOLCK, errno.EIO])
async def test_a_lock_that_the_system_refuses_is_a_foreseen_error(tmp_path: Path, code: int) -> None:
    skill_folder(tmp_path / "skills", "search-x")
    refusing = FaultyDisk(tmp_path / "home", faults={"lock of experience": (1, OSError(code, "injected"))})
    experience = disk_experience(tmp_path, disk=refusing)
    place = await experience.find("search-x")
    with pytest.raises(WriteFailed):
        async with experience.lock(place):
            pass
    async with experience.lock(place):
        assert refusing.hit == ["lock of experience"]


async def test_looking_writes_nothing(tmp_path: Path) -> None:
    skill_folder(tmp_path / "skills", "search-x")
    experience = disk_experience(tmp_path)
    place = await experience.find("search-x")
    await experience.skills()
    await experience.log.parts(place)
    await experience.files.read(place, "digest")
    await experience.files.snapshots(place)
    assert not (tmp_path / "home").exists()


class FarDisk(RealDisk):
    """The skill's folder is on another file system than ours."""

    def replace(self, source: str, target: str) -> None:
        if os.path.basename(source) == "spare.md":
            raise OSError(errno.EXDEV, "another file system")
        super().replace(source, target)


async def test_a_digest_on_another_file_system_is_replaced_too(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path / "skills", "search-x")
    experience = disk_experience(tmp_path, disk=FarDisk())
    place = await experience.find("search-x")
    await experience.files.replace(place, "digest", b"new")
    assert (folder / "experience.md").read_bytes() == b"new"
    assert sorted(path.name for path in folder.iterdir()) == ["SKILL.md", "experience.md"]


class FullDisk(RealDisk):
    """Takes half of a line, then has no room."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False

    def write(self, fd: int, data: memoryview) -> int:
        if self.full and len(data) > 4:
            return super().write(fd, data[:4])
        if self.full:
            raise OSError(errno.ENOSPC, "no room")
        return super().write(fd, data)


async def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    disk = FullDisk()
    experience = disk_experience(tmp_path, disk=disk)
    place = await experience.find("x", create=True)
    await experience.log.append(place, ONE)
    disk.full = True
    with pytest.raises(WriteFailed, match="full"):
        await experience.log.append(place, TWO)
    disk.full = False
    await experience.log.append(place, TWO)
    lines = (await whole_log(experience, place)).split(b"\n")
    assert lines[0] == ONE.strip() and lines[-2] == TWO.strip() and len(lines) == 4


async def test_a_long_log_comes_in_blocks_of_whole_lines(tmp_path: Path) -> None:
    experience = disk_experience(tmp_path)
    place = await experience.find("x", create=True)
    line = b'{"x": "' + b"y" * 700_000 + b'"}\n'
    for _ in range(4):
        await experience.log.append(place, line)
    (part,) = await experience.log.parts(place)
    blocks = [block async for block in experience.log.blocks(place, part)]
    assert len(blocks) > 1 and all(block.endswith(b"\n") for block in blocks) and b"".join(blocks) == line * 4


async def test_many_appends_at_once_are_all_there(tmp_path: Path) -> None:
    experience = disk_experience(tmp_path)
    place = await experience.find("x", create=True)
    await asyncio.gather(*(experience.log.append(place, b'{"n": %d}\n' % n) for n in range(50)))
    assert len(set((await whole_log(experience, place)).split())) >= 50


class DiskRotatedMeanwhile(RealDisk):
    """Another process moves the live log into the archive right after our first look at it."""

    def __init__(self, archived: Path) -> None:
        super().__init__()
        self.archived = archived

    def look(self, path: str) -> Found | None:
        found = super().look(path)
        if path.endswith(LIVE_LOG.rsplit("/", 1)[-1]) and not self.archived.exists():
            self.archived.parent.mkdir(parents=True)
            Path(path).rename(self.archived)
        return found


async def test_a_log_that_is_rotated_while_it_is_listed_is_listed_once_and_whole(tmp_path: Path) -> None:
    skill_folder(tmp_path / "skills", "search-x")
    place = await disk_experience(tmp_path).find("search-x")
    await disk_experience(tmp_path).log.append(place, ONE)
    archived = Path(place.folder) / ARCHIVE_FOLDER / "2026-04.jsonl"
    beside = disk_experience(tmp_path, disk=DiskRotatedMeanwhile(archived))
    assert [part.name for part in await beside.log.parts(place)] == [f"{ARCHIVE_FOLDER}/2026-04.jsonl"]
    assert await whole_log(beside, place) == ONE


class DiskRotatedAtEveryLook(RealDisk):
    """Another process rotates the log whenever it is looked at and its lock is free: to the archive, and a new one."""

    def __init__(self, experience: DiskExperience, place: SkillPlace, lock: Path) -> None:
        super().__init__()
        self.experience, self.place, self.log_lock = experience, place, lock
        self.rotations = 0

    def scan(self, folder: str) -> list[tuple[str, Found]]:
        found = super().scan(folder)
        if folder.endswith("archive") and (release := super().lock(str(self.log_lock), 0)) is not None:
            self.rotations += 1
            live = Path(self.place.folder) / LIVE_LOG
            live.rename(Path(self.place.folder) / ARCHIVE_FOLDER / f"2026-04-{self.rotations:03d}.jsonl")
            live.write_bytes(TWO)
            release()
        return found


async def test_a_log_that_is_rotated_at_every_look_is_listed_under_its_lock(tmp_path: Path) -> None:
    skill_folder(tmp_path / "skills", "search-x")
    first = disk_experience(tmp_path)
    place = await first.find("search-x")
    await first.log.append(place, ONE)
    await first.log.rotate(place, "2026-03")
    await first.log.append(place, TWO)
    disk = DiskRotatedAtEveryLook(first, place, tmp_path / "home" / "experience" / place.key / "log.lock")
    beside = disk_experience(tmp_path, disk=disk)
    parts = await beside.log.parts(place)
    archive = Path(place.folder) / ARCHIVE_FOLDER
    assert disk.rotations > 1
    assert sorted(part.name for part in parts) == sorted(
        [LIVE_LOG, *(f"{ARCHIVE_FOLDER}/{p.name}" for p in archive.iterdir())]
    )


async def test_a_log_that_is_renamed_past_its_lock_is_refused_and_says_so(tmp_path: Path) -> None:
    class Unlocked(DiskRotatedAtEveryLook):
        def lock(self, path: str, timeout_s: float) -> Release | None:
            return lambda: None

    skill_folder(tmp_path / "skills", "search-x")
    first = disk_experience(tmp_path)
    place = await first.find("search-x")
    await first.log.append(place, ONE)
    await first.log.rotate(place, "2026-03")
    disk = Unlocked(first, place, tmp_path / "unused.lock")
    with pytest.raises(LockTimeout, match="takes no lock"):
        await disk_experience(tmp_path, disk=disk).log.parts(place)
