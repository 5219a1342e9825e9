"""Backups, packing, retention, migration, a limit of size, and losses that a user accepts."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from palimpsest_mcp.context.fold import Fold
from palimpsest_mcp.context.opened_fold import MOST_LOOKS
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import InvalidArgument, OutputRefused, StoreNewer, StoreUnusable, WriteFailed
from palimpsest_mcp.models.events import Applied, Fetched, SessionInfo, SessionKey
from palimpsest_mcp.settings.settings import Settings
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.home import Witnesses
from palimpsest_mcp.store.real_disk import RealDisk
from palimpsest_mcp.testing.contract_values import S1, applied, info_of, pinned, record, seen
from palimpsest_mcp.testing.disks import FaultyDisk

from ..conftest import first_of
from .conftest import make_session

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def segments_of(home: Path) -> list[Path]:
    return sorted(home.glob("session/*/*/*.jsonl"))


async def filled(home: Path, processes: int = 1, session_id: str = "one") -> None:
    """A session that so many processes wrote to, one after the other."""
    for number in range(processes):
        async with Palimpsest.open(home) as p:
            messages = make_session(8 + 2 * number, lines=20)
            await p.compact_messages(messages, session_id=session_id, target=0.4, keep_last=3, force=True)


def days_ago(days: float) -> Callable[[], datetime]:
    return lambda: NOW - timedelta(days=days)


# ---- backup


async def test_a_backup_is_a_store_that_gives_everything_back(tmp_path: Path) -> None:
    await filled(tmp_path / "home", 2)
    async with Palimpsest.open(tmp_path / "home") as p:
        done = await p.backup(tmp_path / "copy")
        batches = await p.list_offloaded("one")
        whole = await p.restore_all("one")
    assert done.files == sum(1 for path in (tmp_path / "copy").rglob("*") if path.is_file()) - len(
        [path for path in (tmp_path / "copy" / "witness").rglob("*") if path.is_file()]
    )
    async with Palimpsest.open(tmp_path / "copy") as p:
        report = await p.verify()
        assert report.ok and not report.findings and report.records
        assert await p.restore_all("one") == whole
        assert await p.list_offloaded("one") == batches
    modes = {path.stat().st_mode & 0o077 for path in [tmp_path / "copy", *(tmp_path / "copy").rglob("*")]}
    assert os.name != "posix" or modes == {0}


async def test_what_was_acknowledged_before_a_backup_is_in_it_while_others_write(tmp_path: Path) -> None:
    await filled(tmp_path / "home")
    store, going = DiskStore(tmp_path / "home"), True
    written, enough = 0, [asyncio.Event() for _ in range(4)]

    async def write() -> None:
        nonlocal written
        await store.ledger.create(S1, info_of(S1))
        while going:
            await store.archive.append(S1, [record(f"offload_{written:04d}", f"original {written}")])
            await store.ledger.observe(S1, [applied(written)])
            written += 1
            for event in enough[: written // 10]:
                event.set()

    writer = asyncio.create_task(write())
    async with Palimpsest.open(tmp_path / "home") as p:
        for number in range(4):
            await enough[number].wait()
            before = written
            await p.backup(tmp_path / f"copy{number}")
            copy = DiskStore(tmp_path / f"copy{number}")
            page = await copy.ledger.read(S1)
            names = {getattr(event, "item_id", "") for event in page.events}
            assert {f"i{n}" for n in range(before)} <= names and not page.damage
            assert all([await copy.archive.get(S1, f"offload_{n:04d}") for n in range(len(names) - 1)])
            assert not [one for one in await copy.flaws() if one.severity == "damage"]
            await copy.aclose()
    going = False
    await writer
    await store.aclose()


async def test_a_backup_hides_no_damage(tmp_path: Path) -> None:
    await filled(tmp_path / "home")
    (gone, *_) = [path for path in segments_of(tmp_path / "home") if path.parent.name == "offloaded"]
    gone.unlink()
    async with Palimpsest.open(tmp_path / "home") as p:
        await p.backup(tmp_path / "copy")
    async with Palimpsest.open(tmp_path / "copy") as p:
        said = await p.verify()
    assert any("is missing" in one.what and gone.name in one.where for one in said.findings)


async def test_a_backup_overwrites_nothing_and_leaves_nothing_half_made(tmp_path: Path) -> None:
    await filled(tmp_path / "home")
    (tmp_path / "there").mkdir()
    async with Palimpsest.open(tmp_path / "home") as p:
        for target in (tmp_path / "there", tmp_path / "home" / "copy", tmp_path / "none" / "copy"):
            with pytest.raises(OutputRefused):
                await p.backup(target)
        (tmp_path / "home" / "session" / "one" / "summary.md").unlink()
        (tmp_path / "home" / "session" / "one" / "summary.md").mkdir()
        os.mkfifo(tmp_path / "home" / "session" / "one" / "pipe")  # what is no plain file is left out, not waited for
        await p.backup(tmp_path / "copy")
    async with Palimpsest.open(tmp_path / "nothing", make=False) as p:
        with pytest.raises(StoreUnusable):
            await p.backup(tmp_path / "other")
    assert sorted(os.listdir(tmp_path)) == ["copy", "home", "there"]


# ---- packing


async def test_packed_files_hold_the_same_lines(tmp_path: Path) -> None:
    await filled(tmp_path / "home", 4)
    before = segments_of(tmp_path / "home")
    lines = sorted(line for path in before for line in path.read_bytes().splitlines())
    async with Palimpsest.open(tmp_path / "home") as p:
        whole = await p.restore_all("one")
        (packed,) = await p.pack()
        assert (packed.before, packed.after) == (len(before), 2)
        assert await p.pack() == ()
        assert await p.restore_all("one") == whole and (await p.verify()).findings == ()
    after = segments_of(tmp_path / "home")
    assert sorted(line for path in after for line in path.read_bytes().splitlines()) == lines


async def test_a_writer_goes_on_when_its_file_was_packed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    writers = [DiskStore(home) for _ in range(3)]
    await writers[0].ledger.create(S1, info_of(S1))
    for number, store in enumerate(writers):
        await store.ledger.observe(S1, [applied(number)])
    before, after = await writers[0].pack(S1)
    assert (before, after) == (3, 1)
    for number, store in enumerate(writers):
        await store.ledger.observe(S1, [applied(10 + number)])
    for store in (*writers, DiskStore(home)):
        events = (await store.ledger.read(S1)).events
        names = sorted(event.item_id for event in events if isinstance(event, Applied))
        assert names == ["i0", "i1", "i10", "i11", "i12", "i2"]
        await store.aclose()


async def test_what_is_not_whole_is_not_packed(tmp_path: Path) -> None:
    await filled(tmp_path / "home", 3)
    harmed = segments_of(tmp_path / "home")[0]
    harmed.write_bytes(harmed.read_bytes()[:-40])
    async with Palimpsest.open(tmp_path / "home") as p:
        said = {one.where for one in (await p.verify()).findings}
        await p.pack()
        assert {one.where for one in (await p.verify()).findings} == said
    assert harmed.exists()


# ---- retention


async def test_sessions_that_nobody_used_for_so_long_go(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name, days in (("old", 40.0), ("young", 2.0)):
        async with Palimpsest.open(home, clock=days_ago(days)) as p:
            await p.compact_messages(make_session(10, seed=int(days)), session_id=name, target=0.4, force=True)
    async with Palimpsest.open(home, clock=days_ago(0)) as p:
        plan = await p.retain(days=30)
        assert [one.session_id for one in plan.sessions] == ["old"] and plan.size_after < plan.size_bytes
        assert len(await p.list_offloaded("old")) > 0
        done = await p.retain(days=30, dry_run=False)
        assert [one.session_id for one in done.sessions] == ["old"] and done.size_after < done.size_bytes
        assert (await p.retain(days=30)).sessions == ()
        assert (await p.list_offloaded("young"))[0].restorable
        assert (await p.verify()).ok


async def test_for_room_the_longest_unused_go_first_and_what_is_needed_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name, days in (("a", 9.0), ("b", 8.0), ("c", 0.1)):
        async with Palimpsest.open(home, clock=days_ago(days)) as p:
            await p.compact_messages(make_session(10, seed=int(days)), session_id=name, target=0.4, force=True)
    async with Palimpsest.open(home, clock=days_ago(0)) as p:
        size = (await p.status()).disk_bytes
        assert [one.session_id for one in (await p.retain(down_to_bytes=size - 1)).sessions] == ["a"]
        plan = await p.retain(down_to_bytes=0)
        assert [one.session_id for one in plan.sessions] == ["a", "b"] and "within a day" in plan.kept[0]
        key = SessionKey("fork")
        fork = SessionInfo(session_id="fork", handle="sfork", parent="a", created=NOW.isoformat())
        await p.store.ledger.create(key, fork)
        assert "came from it" in (await p.retain(days=1)).kept[0]
        with pytest.raises(InvalidArgument):
            await p.retain()
        with pytest.raises(InvalidArgument):
            await p.retain(days=-1)


# ---- migration, limit, spare files


async def test_a_store_that_others_may_read_is_for_its_owner_only_after_a_migration(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    await filled(home)
    assert home.stat().st_mode & 0o777 == 0o700, "a folder that was there is tightened when the store is made in it"
    (home / "session").chmod(0o755)
    segments_of(home)[0].chmod(0o644)
    (home / "VERSION").write_text("0\n")
    for witness in (home / "witness").rglob("*.jsonl"):
        witness.unlink()
    async with Palimpsest.open(home) as p:
        plan = await p.migrate()
        assert len(plan.changes) == 3 and "2 entries" in plan.changes[0] and (home / "VERSION").read_text() == "0\n"
        done = await p.migrate(dry_run=False)
        assert done.changes == plan.changes
        assert (await p.migrate()).changes == () and not (await p.verify()).findings
    assert (home / "VERSION").read_text() == "1\n"
    assert not [path for path in home.rglob("*") if path.lstat().st_mode & 0o077]


async def test_a_migration_mends_a_witness_that_a_killed_one_left_garbled(tmp_path: Path) -> None:
    await filled(tmp_path / "home")
    witness = next((tmp_path / "home" / "witness").rglob("*.jsonl"))
    witness.write_bytes(b"")
    async with Palimpsest.open(tmp_path / "home") as p:
        assert "1 file without a whole witness" in (await p.migrate(dry_run=False)).changes[0]
        assert (await p.migrate()).changes == () and not (await p.verify()).findings


async def test_a_migration_that_could_not_say_what_it_wrote_leaves_nothing_that_looks_damaged(tmp_path: Path) -> None:
    """As a kill between a file and its witness does."""
    home = tmp_path / "home"
    await filled(home)
    fault = OSError(errno.EIO, "injected")
    store = DiskStore(home, disk=FaultyDisk(home, faults={"overwrite of witness": (1, fault)}))
    (home / "VERSION").write_bytes(b"0\n")
    Witnesses(RealDisk(), str(home)).put_whole(str(home / "VERSION"), b"0\n")
    await store.migrate(dry_run=False)
    await store.aclose()
    async with Palimpsest.open(home) as p:
        report = await p.verify()
        assert report.ok, report.findings
        await p.migrate(dry_run=False)
        assert not (await p.verify()).findings


async def test_decisions_of_several_writers_behind_a_checkpoint_are_no_damage(tmp_path: Path) -> None:
    """Segments are read one after the other: the later decision may come first."""
    home = tmp_path / "home"
    await filled(home)
    async with Palimpsest.open(home) as p:
        key = SessionKey((await p.session("one")).session_id)
    first, second = DiskStore(home), DiskStore(home)
    page = await first.ledger.read(key)
    sums = Fold(page.events).sums()
    assert sums is not None
    await first.ledger.keep_checkpoint(key, page.cursor, msgspec.json.encode(sums), sum(sums.read.values()))
    await first.ledger.observe(key, [applied(1)])  # its segment stands before the second's
    for number, store in enumerate((second, first)):
        rev = Fold((await store.ledger.read(key)).events).rev
        await store.ledger.decide(key, [pinned(number)], after_rev=rev)
    checkpoint = await DiskStore(home).ledger.checkpoint(key)
    assert checkpoint is not None, "it is there, and fits"
    await first.aclose()
    await second.aclose()
    async with Palimpsest.open(home) as p:
        report = await p.verify()
        assert report.ok, report.findings


@pytest.mark.long
async def test_items_that_thousands_of_events_name_are_no_damage_of_their_checkpoint(tmp_path: Path) -> None:
    """Looked up one by one they cost more than the ledger does, so that it is read whole instead."""
    home = tmp_path / "home"
    store, key = DiskStore(home), SessionKey("s")
    await store.ledger.create(key, info_of(key))
    items = [seen(number) for number in range(200)]
    await store.ledger.observe(key, items)
    names = tuple(one.item.id for one in items)
    for _ in range(60):
        await store.ledger.observe(key, [Fetched(batch_id="offload_0001", item_ids=names)])
    page = await store.ledger.read(key)
    sums = Fold(page.events).sums()
    assert sums is not None and len(names) * 60 > MOST_LOOKS
    await store.ledger.keep_checkpoint(key, page.cursor, msgspec.json.encode(sums), sum(sums.read.values()))
    assert await DiskStore(home).ledger.checkpoint(key) is not None, "it is there, and fits"
    await store.aclose()
    async with Palimpsest.open(home) as p:
        report = await p.verify()
        assert report.ok, report.findings


async def test_a_newer_store_is_not_migrated(tmp_path: Path) -> None:
    await filled(tmp_path / "home")
    (tmp_path / "home" / "VERSION").write_text("2\n")
    store = DiskStore(tmp_path / "home")
    with pytest.raises(StoreNewer):
        await store.migrate(dry_run=False)


async def test_a_store_at_its_limit_refuses_what_is_large_and_can_still_be_purged(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path / "home", max_store_mb=1)
    async with Palimpsest.open(settings=settings) as p:
        kept = make_session(10, lines=60)
        await p.compact_messages(kept, session_id="kept", target=0.4, force=True)
        with pytest.raises(WriteFailed, match="max_store_mb"):
            for number in range(60):
                await p.record_items("more", [{"id": f"r{number}", "role": "user", "content": "x" * 60_000}])
        said = await p.status()
        assert said.ledger_bytes + said.archive_bytes <= 1 << 20
        await p.purge("more", dry_run=False)
        await p.record_items("more", [{"id": "again", "role": "user", "content": "y" * 60_000}])
        assert (await p.verify()).ok
        assert await p.restore_all("kept") == kept


async def test_spare_files_of_dead_processes_go_and_others_stay(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await filled(home)
    folder, old = home / "session" / "one", time.time() - 7_200
    names = {"dead": "summary.md.999999999-0a0b.tmp", "alive": f"summary.md.{os.getpid()}-0a0b.tmp"}
    names |= {"young": "summary.md.999999998-0a0b.tmp", "mine": "notes.tmp"}
    for name in names.values():
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (old, old))
    os.utime(folder / names["young"])
    await filled(home, 2)
    assert {kind for kind, name in names.items() if (folder / name).exists()} == {"alive", "young", "mine"}


# ---- losses that are accepted


@pytest.mark.parametrize("kind", first_of(["ledger", "offloaded"]))
@pytest.mark.parametrize("harm", first_of(["deleted", "cut", "garbled"]))
async def test_after_a_loss_was_accepted_the_rest_is_whole_and_new_harm_is_noticed(
    tmp_path: Path, kind: str, harm: str
) -> None:
    home = tmp_path / "home"
    await filled(home, 2)
    await filled(home, session_id="other")
    path = next(one for one in segments_of(home) if one.parent.name == kind and one.parent.parent.name == "one")
    data = path.read_bytes()
    if harm == "deleted":
        path.unlink()
    else:
        half = data[: len(data) // 2]
        path.write_bytes(half if harm == "cut" else half + b"###\n####\n")
    async with Palimpsest.open(home) as p:
        assert not (await p.verify()).ok
        plan = await p.repair(accept_losses=True)
        assert plan.given_up and not plan.ok and not (await p.verify()).ok
        done = await p.repair(dry_run=False, accept_losses=True)
        assert done.ok and done.given_up
    async with Palimpsest.open(home) as p:
        report = await p.verify()
        assert report.ok, [one for one in report.findings if one.severity == "damage"]
        assert await p.restore_all("other") == make_session(8, lines=20)
        assert (await p.repair(dry_run=False)).mended == 0
    segments_of(home)[-1].unlink()
    async with Palimpsest.open(home) as p:
        assert not (await p.verify()).ok
