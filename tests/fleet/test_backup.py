"""Backups are the engine's own: base backup and archived log bring back any moment, whole."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import SessionUnknown

from .cluster import OWNER, Cluster
from .conftest import made

pytestmark = pytest.mark.anyio


def items(word: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_use_id": f"c{n}", "content": f"{word} row {n} 中 é\n" * 300} for n in range(6)]


async def filled(p: Palimpsest, name: str) -> None:
    """A session with a batch in it."""
    await p.record_items(name, items(name))
    await p.compact_session(name, window_tokens=9_000, target=0.3, force=True)


@pytest.mark.long
async def test_a_server_restored_to_a_moment_has_everything_until_then_whole_and_nothing_later(tmp_path: Path) -> None:
    import asyncpg

    from palimpsest_mcp.store.postgres.store import PgStore

    one = await asyncio.to_thread(
        made, archive_mode="on", archive_command="mkdir -p ../wal && test ! -f ../wal/%f && cp %p ../wal/%f"
    )
    again: Cluster | None = None
    try:
        store = PgStore(one.pooled, home=tmp_path / "a", tenant="t")
        owner: Any = await asyncpg.connect(one.url(OWNER))
        async with Palimpsest.open(tmp_path / "a", store=store) as p:
            await filled(p, "early")
            one.base_backup(one.folder / "base")
            await filled(p, "middle")
            await p.update_summary("middle", {"next_steps": ["look at the middle"]})
            await owner.execute("select pg_create_restore_point('before the mistake')")
            await filled(p, "late")
            await p.purge("early", dry_run=False)
            await owner.execute("select pg_switch_wal()")
            while not await owner.fetchval("select archived_count > 1 from pg_stat_archiver"):
                await owner.execute("select pg_stat_clear_snapshot()")
        await owner.close()
        one.kill()
        again = Cluster(
            *one.programs,
            data=one.folder / "base",
            restore_command=f"cp {one.folder}/wal/%f %p",
            recovery_target_name="before the mistake",
            recovery_target_action="promote",
            archive_mode="off",
        )
        (again.data / "recovery.signal").touch()
        again.give(again.data / "recovery.signal")
        again.start()
        store = PgStore(again.url(), home=tmp_path / "b", tenant="t")
        async with Palimpsest.open(tmp_path / "b", store=store) as p:
            report = await p.verify()
            assert report.records >= 2 and report.findings == ()
            for name in ("early", "middle"):
                (batch, *_) = await p.list_offloaded(name)
                originals = [one.content for one in await p.restore_batch(name, batch.batch_id)]
                assert originals and all(one in [item["content"] for item in items(name)] for one in originals)
            with pytest.raises(SessionUnknown):
                await p.list_offloaded("late")
            await filled(p, "after")
    finally:
        one.stop()
        if again is not None:
            again.stop()
