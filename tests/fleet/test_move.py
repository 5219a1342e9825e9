"""A store moves from a folder into a database and back, whole, and goes on where it was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import RecordDamaged
from palimpsest_mcp.models.events import SessionInfo, SessionKey
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.upkeep import copy_store
from palimpsest_mcp.testing.contract_values import HARD_CONTENTS, HARD_IDS, S1, info_of, pinned, record, seen

from .cluster import Cluster

if TYPE_CHECKING:
    from palimpsest_mcp.store.postgres.store import PgStore

pytestmark = pytest.mark.anyio


async def filled(home: Path) -> DiskStore:
    """A store of two principals with hostile names and contents."""
    store = DiskStore(home, temp=home.parent)
    await store.secret()
    names = [SessionKey(name) for name in HARD_IDS[:8]] + [SessionKey("s1", "ann")]
    for number, key in enumerate(names):
        await store.ledger.create(key, info_of(key))
        await store.ledger.observe(key, [seen(n, content) for n, content in enumerate(HARD_CONTENTS)])
        await store.ledger.decide(key, [pinned(1)], after_rev=0)
        await store.archive.append(key, [record(f"offload_000{number + 1}", *HARD_CONTENTS, key=key)])
        await store.handoffs.add("memory", "2026-11-22-x", f"# {number}\n", key.principal)
    await store.bury(names[0], ["0" * 64], under_way=False)
    return store


async def content(store: DiskStore | PgStore) -> list[str]:
    """Everything in it, in words that tell 1 from 1.0."""
    found: list[str] = [repr(await store.secret())]
    for principal in await store.principals():
        for info in await store.ledger.sessions(principal):
            key = SessionKey(info.session_id, principal)
            found += [repr(info), *sorted(repr(one) for one in (await store.ledger.read(key)).events)]
            found += [repr(one) async for one in store.archive.records(key)]
            found.append(repr(await store.tombstones(key)))
        found += [f"{one.place}/{one.name} {one.text}" for one in await store.handoffs.list(principal)]
    return found


def database(cluster: Cluster, place: Path, tenant: str) -> PgStore:
    from palimpsest_mcp.store.postgres.store import PgStore

    return PgStore(cluster.pooled, home=place / "notes", tenant=tenant)


async def test_there_and_back_everything_is_as_it_was(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    disk, there = await filled(tmp_path / "home"), database(cluster, tmp_path, tenant)
    before = await content(disk)
    moved = await copy_store(disk, there)
    assert (moved.sessions, moved.already_there, moved.left) == (9, 0, ())
    assert await content(there) == before
    report = await there.backup(str(tmp_path / "back"))
    assert report.files == 9
    assert await content(DiskStore(tmp_path / "back", temp=tmp_path)) == before
    await there.aclose()


async def test_a_move_that_was_stopped_goes_on_and_writes_nothing_twice(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    disk, there = await filled(tmp_path / "home"), database(cluster, tmp_path, tenant)
    told: list[SessionInfo] = []

    def stop(info: SessionInfo) -> None:
        told.append(info)
        if len(told) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await copy_store(disk, there, told=stop)
    key = SessionKey(HARD_IDS[5])
    await there.archive.append(key, [one async for one in disk.archive.records(key)])  # stopped before its last step
    moved = await copy_store(disk, there)
    assert (moved.sessions, moved.already_there, moved.left) == (5, 4, ())
    again = await copy_store(disk, there)
    assert (again.sessions, again.already_there, again.handoffs) == (0, 9, 0)
    assert await content(there) == await content(disk)
    await there.aclose()


async def test_another_session_of_the_same_id_is_left_and_said(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    disk, there = await filled(tmp_path / "home"), database(cluster, tmp_path, tenant)
    key = SessionKey(HARD_IDS[3])
    await there.ledger.create(key, info_of(key, "2020-01-01T00:00:00Z"))
    before = await there.ledger.read(key)
    moved = await copy_store(disk, there)
    assert moved.sessions == 8 and any("another session of this id" in line for line in moved.left)
    assert (await there.ledger.read(key)).events == before.events
    await there.aclose()


async def test_a_damaged_session_is_not_moved_as_if_it_were_whole(
    cluster: Cluster, tmp_path: Path, tenant: str
) -> None:
    disk, there = await filled(tmp_path / "home"), database(cluster, tmp_path, tenant)
    for segment in (tmp_path / "home" / "session").glob("*/offloaded/*.jsonl"):
        segment.write_bytes(segment.read_bytes().replace(b"plain", b"p1ain"))
    with pytest.raises(RecordDamaged, match="cannot be read whole"):
        await copy_store(disk, there)
    assert await there.ledger.sessions() == ()
    await there.aclose()


@pytest.mark.long
async def test_a_session_of_the_library_goes_on_in_the_database(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    from palimpsest_mcp.core.upkeep import move
    from palimpsest_mcp.settings.settings import Settings

    source = Path(__file__).parents[2] / "src/palimpsest_mcp/demo/coding_session.json"
    home = tmp_path / "home"
    async with Palimpsest.open(home) as p:
        await p.compact_file(source, session_id="night", window_tokens=64_000, force=True)
        batches = await p.list_offloaded("night")
        batch = batches[0].batch_id
        original = await p.restore_batch("night", batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_TENANT", tenant)
        moved = await move(str(home), cluster.pooled, dry_run=False)
        assert moved.sessions == 1 and moved.records == len(batches)
        settings = Settings.load(home=tmp_path / "other-machine", store=cluster.pooled)
    async with Palimpsest.open(settings=settings) as p:
        assert await p.restore_batch("night", batch) == original
        verified = await p.verify()
        assert not verified.findings and verified.records == len(batches)
        assert await p.list_offloaded("night") == batches


async def test_what_is_buried_here_is_buried_there(cluster: Cluster, tmp_path: Path, tenant: str) -> None:
    disk, there = await filled(tmp_path / "home"), database(cluster, tmp_path, tenant)
    await copy_store(disk, there)
    key = SessionKey(HARD_IDS[0])
    assert (await there.tombstones(key)).keys == ("0" * 64,)
    assert (await there.tombstones(S1)).keys == ()
    await there.aclose()
