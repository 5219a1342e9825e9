"""Repair: what other copies can make up for is whole again, and nothing is deleted."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

from ..conftest import first_of

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


async def compacted(home: Path, messages: list[dict[str, Any]]) -> dict[tuple[str, str], bytes]:
    async with Palimpsest.open(home) as p:
        await p.compact_messages(messages, session_id="s", target=0.4, force=True)
        return await originals(p)


async def originals(p: Palimpsest) -> dict[tuple[str, str], bytes]:
    return {
        (batch.batch_id, one.item_id): one.data
        for batch in await p.list_offloaded("s")
        for one in await p.restore_batch("s", batch.batch_id, noted=False)
    }


def contents(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.glob("session/s/*/*.jsonl*")}


def segment(home: Path, kind: str) -> Path:
    (path,) = home.glob(f"session/s/{kind}/*.jsonl")
    return path


def flip(path: Path, at: int) -> bytes:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x04
    path.write_bytes(data)
    return bytes(data)


@pytest.mark.parametrize("seed", first_of(range(8), kept=2))
async def test_a_flipped_byte_of_an_original_is_mended_from_the_ledger(
    seed: int, tmp_path: Path, session: MakeSession
) -> None:
    messages = session(20)
    before = await compacted(tmp_path, messages)
    path = segment(tmp_path, "offloaded")
    whole = path.read_bytes()
    starts = [n for n in range(len(whole)) if whole.startswith(b'"result":"', n)]
    damaged = flip(path, random.Random(seed).choice(starts) + 20 + 97 * seed)
    async with Palimpsest.open(tmp_path) as p:
        assert not (await p.verify()).ok
        preview = await p.repair()
        assert preview.ok and len(preview.repairs) == 1 and "ledger" in preview.repairs[0].source
        assert path.read_bytes() == damaged, "a preview changes nothing"
        done = await p.repair(dry_run=False)
        assert done.ok and done.mended == 1
        assert (await p.verify()).findings == ()
        assert await originals(p) == before
        assert await p.restore_all("s") == messages
        assert (await p.repair()).repairs == ()
    assert path.with_name(path.name + ".damaged").read_bytes() == damaged, "what was damaged is kept"
    (new,) = path.parent.glob("*.jsonl")
    assert new.read_bytes() == whole, "the very same bytes again"


async def test_a_cut_off_archive_is_mended(tmp_path: Path, session: MakeSession) -> None:
    before = await compacted(tmp_path, session(20))
    path = segment(tmp_path, "offloaded")
    path.write_bytes(path.read_bytes()[:-1])
    async with Palimpsest.open(tmp_path) as p:
        assert not (await p.verify()).ok
        assert (await p.repair(dry_run=False)).ok
        assert (await p.verify()).ok and await originals(p) == before


async def test_a_flipped_byte_in_the_ledger_is_mended_from_the_archive(tmp_path: Path, session: MakeSession) -> None:
    messages = session(20)
    before = await compacted(tmp_path, messages)
    path = segment(tmp_path, "ledger")
    whole = path.read_bytes()
    flip(path, whole.index(b"worker-002-020"))
    async with Palimpsest.open(tmp_path) as p:
        assert not (await p.verify()).ok
        assert (await p.repair(dry_run=False)).mended == 1
        assert (await p.verify()).findings == ()
        assert await originals(p) == before and await p.restore_all("s") == messages
    (new,) = path.parent.glob("*.jsonl")
    assert new.read_bytes() == whole


async def test_what_is_beyond_repair_is_named_item_by_item_and_stays_as_it_is(
    tmp_path: Path, session: MakeSession
) -> None:
    await compacted(tmp_path, session(20))
    for kind in ("ledger", "offloaded"):
        path = segment(tmp_path, kind)
        path.write_bytes(path.read_bytes().replace(b"worker-001-011", b"worker-001-012"))
    before = contents(tmp_path)
    async with Palimpsest.open(tmp_path) as p:
        report = await p.repair(dry_run=False)
        assert not report.ok and report.mended == 0
        lost = [name for one in report.repairs for name in one.lost]
        assert "toolu_00_0001" in lost and "toolu_00_0000" not in lost
        assert await p.restore("s", "offload_0001", "toolu_00_0000", noted=False)
    assert contents(tmp_path) == before


async def test_a_lost_digest_is_said_and_its_originals_are_still_given_back(
    tmp_path: Path, session: MakeSession
) -> None:
    before = await compacted(tmp_path, session(20))
    path = segment(tmp_path, "offloaded")
    flip(path, path.read_bytes().index(b'"digest_replacing_inline":"') + 60)
    async with Palimpsest.open(tmp_path) as p:
        report = await p.repair()
        assert [one.lost for one in report.repairs] == [("the digest",)]
        assert await originals(p) == before


async def test_a_whole_store_has_nothing_to_repair(p: Palimpsest, session: MakeSession) -> None:
    await p.compact_messages(session(20), session_id="s", target=0.4, force=True)
    assert (await p.repair(dry_run=False)).repairs == ()
