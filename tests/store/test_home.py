"""The store's root folder."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from palimpsest_mcp.errors import StoreNewer, StoreUnusable, WriteFailed
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.disk import Found
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, record

pytestmark = pytest.mark.anyio


class ReadOnlyDisk(RealDisk):
    """A disk that is mounted for reading."""

    def mkdir(self, path: str) -> None:
        raise OSError(errno.EROFS, "read-only")

    def create(self, path: str) -> int:
        raise OSError(errno.EROFS, "read-only")

    def lock(self, path: str, timeout_s: float) -> None:
        raise OSError(errno.EROFS, "read-only")


async def test_making_or_reading_a_store_touches_nothing(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "home")
    await store.check()
    assert await store.ledger.sessions() == () and await store.ledger.info(S1) is None
    assert await store.archive.damage(S1) == ()
    assert (await store.disk_use()).total == 0
    assert not (tmp_path / "home").exists()


async def test_folders_and_files_are_for_the_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = DiskStore(tmp_path / "deep" / "home")
        await store.ledger.create(S1, info_of(S1))
        await store.archive.append(S1, [record("offload_0001")])
        await store.secret()
        await store.search.indexed("", "s1")
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep").rglob("*")}
    assert len(modes) > 10
    assert {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()
    await store.aclose()


async def test_the_layout_is_the_one_of_the_format(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.create(S1, info_of(S1))
    await store.archive.append(S1, [record("offload_0001")])
    assert (tmp_path / "VERSION").read_text() == "1\n"
    assert len(list((tmp_path / "session" / "s1" / "ledger").glob("2*Z-*.jsonl"))) == 1
    assert len(list((tmp_path / "session" / "s1" / "offloaded").glob("2*Z-*.jsonl"))) == 1
    assert (tmp_path / "session" / "s1" / "session.json").is_file()


@pytest.mark.parametrize("version", ["2\n", "1000000"])
async def test_a_store_of_a_newer_program_is_refused_and_left_alone(tmp_path: Path, version: str) -> None:
    (tmp_path / "VERSION").write_text(version)
    store = DiskStore(tmp_path)
    for attempt in (store.check, lambda: store.ledger.create(S1, info_of(S1)), store.ledger.sessions, store.secret):
        with pytest.raises(StoreNewer):
            await attempt()
    assert os.listdir(tmp_path) == ["VERSION"]


@pytest.mark.parametrize("version", ["", "x", "-1", "1.5", "9" * 4000, "\0"])
async def test_a_version_that_is_no_number_is_refused(tmp_path: Path, version: str) -> None:
    (tmp_path / "VERSION").write_text(version)
    with pytest.raises(StoreUnusable):
        await DiskStore(tmp_path).check()


async def test_a_lost_version_is_written_again(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.create(S1, info_of(S1))
    (tmp_path / "VERSION").unlink()
    other = DiskStore(tmp_path)
    await other.ledger.observe(S1, [applied(1)])
    assert (tmp_path / "VERSION").read_text() == "1\n"
    assert await other.ledger.info(S1) == info_of(S1)


async def test_a_file_in_the_place_of_the_home_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("mine")
    store = DiskStore(tmp_path / "home")
    for attempt in (store.check, lambda: store.ledger.observe(S1, [applied(1)]), lambda: store.archive.get(S1, "x")):
        with pytest.raises(StoreUnusable):
            await attempt()
    with pytest.raises((StoreUnusable, WriteFailed)):
        await DiskStore(tmp_path / "home" / "below").ledger.observe(S1, [applied(1)])
    assert (tmp_path / "home").read_text() == "mine"


async def test_a_home_that_every_user_may_write_to_is_refused(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    with pytest.raises(StoreUnusable, match="Every user"):
        await DiskStore(tmp_path).ledger.observe(S1, [applied(1)])
    os.chmod(tmp_path, 0o700)
    await DiskStore(tmp_path).ledger.observe(S1, [applied(1)])


@pytest.mark.parametrize("names", [["notes.txt"], ["notes.txt", "secret"], ["secret"], ["src/main.py", "config.toml"]])
async def test_a_folder_that_holds_something_else_is_no_home(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    before = list(os.walk(tmp_path))
    store = DiskStore(tmp_path)
    for attempt in (
        store.check,
        store.is_made,
        store.secret,
        store.disk_use,
        store.ledger.sessions,
        lambda: store.ledger.create(S1, info_of(S1)),
    ):
        with pytest.raises(StoreUnusable, match="holds no store") as refused:
            await attempt()
        assert "--home" in refused.value.next and "remove" not in refused.value.next
    store.host_notes.note_trouble("Stop", "store_unusable", "it is no store")
    assert list(os.walk(tmp_path)) == before


@pytest.mark.parametrize("names", [[], ["config.toml"], [".DS_Store", "lost+found/"], ["VERSION.12-00ff.tmp"]])
async def test_a_folder_that_holds_nothing_of_anybody_becomes_a_home(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_text("")
    await DiskStore(tmp_path).ledger.create(S1, info_of(S1))
    assert (tmp_path / "VERSION").read_text() == "1\n"


async def test_a_store_stays_one_when_something_else_is_put_beside_it(tmp_path: Path) -> None:
    await DiskStore(tmp_path).ledger.create(S1, info_of(S1))
    (tmp_path / "notes.txt").write_text("mine")
    assert await DiskStore(tmp_path).ledger.info(S1) == info_of(S1)


async def test_a_home_that_is_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    await DiskStore(tmp_path / "link").ledger.create(S1, info_of(S1))
    assert await DiskStore(tmp_path / "real").ledger.info(S1) == info_of(S1)


async def test_on_a_read_only_disk_everything_can_be_read_and_nothing_written(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.create(S1, info_of(S1))
    await store.archive.append(S1, [record("offload_0001")])
    reader = DiskStore(tmp_path, disk=ReadOnlyDisk())
    assert await reader.ledger.info(S1) == info_of(S1)
    assert len((await reader.ledger.read(S1)).events) == 1
    assert await reader.archive.get(S1, "offload_0001") == record("offload_0001")
    for attempt in (
        lambda: reader.ledger.observe(S1, [applied(1)]),
        lambda: reader.ledger.decide(S1, [], after_rev=0),
        lambda: reader.archive.append(S1, [record("offload_0002")]),
        reader.secret,
    ):
        with pytest.raises(WriteFailed, match="EROFS"):
            await attempt()
    with pytest.raises(WriteFailed):
        async with reader.ledger.pass_lock(S1):
            pass


async def test_a_new_store_on_a_read_only_disk_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(WriteFailed, match="EROFS"):
        await DiskStore(tmp_path / "home", disk=ReadOnlyDisk()).ledger.create(S1, info_of(S1))


async def test_a_store_that_is_removed_while_open_is_made_anew_and_keeps_what_comes_then(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = DiskStore(home)
    await store.ledger.create(S1, info_of(S1))
    await store.archive.append(S1, [record("offload_0001")])
    home.rename(tmp_path / "moved")
    await store.ledger.observe(S1, [applied(1)])
    await store.ledger.decide(S1, [], after_rev=0)
    await store.archive.append(S1, [record("offload_0002")])
    other = DiskStore(home)
    assert len((await other.ledger.read(S1)).events) == 1
    assert await other.archive.get(S1, "offload_0002") == record("offload_0002")
    assert await DiskStore(tmp_path / "moved").archive.get(S1, "offload_0001") == record("offload_0001")


async def test_a_home_that_a_newer_program_makes_after_we_looked_is_refused(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "home")
    await store.check()
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "VERSION").write_text("2\n")
    with pytest.raises(StoreNewer):
        await store.ledger.observe(S1, [applied(1)])


async def test_a_store_that_another_process_makes_while_we_look_is_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    class MadeMeanwhile(RealDisk):
        def scan(self, folder: str) -> list[tuple[str, Found]]:
            if folder == str(home) and not (home / "VERSION").exists():
                (home / "VERSION").write_text("1\n")
                (home / "new-in-the-next-version").mkdir()
                return [one for one in super().scan(folder) if one[0] != "VERSION"]
            return super().scan(folder)

    store = DiskStore(home, disk=MadeMeanwhile())
    await store.ledger.create(S1, info_of(S1))
    await store.aclose()
