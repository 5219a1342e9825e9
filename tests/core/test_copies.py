"""A restore tries every copy there is: one flipped byte in one file costs nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import RecordDamaged

from ..conftest import first_of

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x01
    path.write_bytes(data)


def segments(home: Path, kind: str) -> list[Path]:
    return sorted(home.glob(f"session/*/{kind}/*.jsonl"))


async def compacted(home: Path, messages: list[dict[str, Any]]) -> dict[tuple[str, str], bytes]:
    """Every original, as it was right after the pass."""
    async with Palimpsest.open(home) as p:
        await p.compact_messages(messages, session_id="s", target=0.4, force=True)
        return {
            (batch.batch_id, one.item_id): one.data
            for batch in await p.list_offloaded("s")
            for one in await p.restore_batch("s", batch.batch_id, noted=False)
        }


@pytest.mark.parametrize("place", first_of(range(6), kept=2))
async def test_one_flipped_byte_in_the_archive_costs_no_original(
    place: int, tmp_path: Path, session: MakeSession
) -> None:
    messages = session(20)
    originals = await compacted(tmp_path, messages)
    (archive,) = segments(tmp_path, "offloaded")
    flip(archive, random.Random(place).randrange(archive.stat().st_size))
    async with Palimpsest.open(tmp_path) as p:
        for (batch_id, item_id), data in originals.items():
            assert (await p.restore("s", batch_id, item_id, noted=False)).data == data
            assert data in [one.data for one in await p.restore_batch("s", batch_id, noted=False)]
        assert await p.restore_all("s") == messages
        assert await p.expand_messages(messages, session_id="s") == messages


@pytest.mark.parametrize("share", first_of([0.0, 0.3, 0.7]))
async def test_what_lost_its_digest_stays_as_the_host_has_it(
    share: float, tmp_path: Path, session: MakeSession
) -> None:
    messages = session(20)
    await compacted(tmp_path, messages)
    (archive,) = segments(tmp_path, "offloaded")
    archive.write_bytes(archive.read_bytes()[: int(archive.stat().st_size * share)])
    async with Palimpsest.open(tmp_path) as p:
        done = await p.compact_messages(messages, session_id="s", target=0.4, force=True)
    before, after = results_in(messages), results_in(done.messages)
    assert before.keys() == after.keys() and all(text.strip() for text in after.values())
    assert any(after[one] == before[one] for one in before)
    assert any("no whole record" in note for note in done.report.notes)


def results_in(messages: list[dict[str, Any]]) -> dict[str, str]:
    blocks: list[dict[str, Any]] = [
        block for message in messages for block in message["content"] if isinstance(block, dict)
    ]
    return {
        block["tool_use_id"]: block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
        for block in blocks
        if block["type"] == "tool_result"
    }


async def test_a_missing_archive_file_costs_no_original(tmp_path: Path, session: MakeSession) -> None:
    messages = session(20)
    originals = await compacted(tmp_path, messages)
    for path in segments(tmp_path, "offloaded"):
        path.unlink()
    async with Palimpsest.open(tmp_path) as p:
        for (batch_id, item_id), data in originals.items():
            assert (await p.restore("s", batch_id, item_id, noted=False)).data == data
        assert await p.restore_all("s") == messages


async def test_a_flipped_byte_in_the_ledger_is_made_up_for_by_the_archive(tmp_path: Path, session: MakeSession) -> None:
    messages = session(20)
    await compacted(tmp_path, messages)
    (ledger,) = segments(tmp_path, "ledger")
    data = ledger.read_bytes()
    flip(ledger, data.index(b'"k":"seen"', data.index(b"toolu_00_0003")) + 2_000)
    async with Palimpsest.open(tmp_path) as p:
        assert await p.restore_all("s") == messages


async def test_with_no_whole_copy_left_the_error_says_so(tmp_path: Path, session: MakeSession) -> None:
    await compacted(tmp_path, session(20))
    for kind in ("ledger", "offloaded"):
        (path,) = segments(tmp_path, kind)
        path.write_bytes(path.read_bytes().replace(b"worker-001-011", b"worker-001-012"))
    async with Palimpsest.open(tmp_path) as p:
        with pytest.raises(RecordDamaged):
            await p.restore("s", "offload_0001", "toolu_00_0001")
