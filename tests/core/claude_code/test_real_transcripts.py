"""A real transcript followed as it grew, against the same read at once."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from palimpsest_mcp.core.palimpsest import Palimpsest

from ...conftest import first_of

pytestmark = [pytest.mark.anyio, pytest.mark.shared]
SESSION = "4d5611e5-241a-462a-8d15-5122611a9569"


@pytest.mark.parametrize("step", first_of([7, 1, 160]))
async def test_followed_row_by_row_it_ends_where_reading_it_at_once_does(
    p: Palimpsest, tmp_path: Path, shared: Path, step: int
) -> None:
    folder = shared / "data" / "raw" / "spotter" / "test" / "fixtures" / "transcripts"
    lines = gzip.decompress((folder / f"{SESSION}.jsonl.gz").read_bytes()).split(b"\n")
    growing, whole = tmp_path / "growing.jsonl", tmp_path / "whole.jsonl"
    whole.write_bytes(b"\n".join(lines))
    for at in range(0, len(lines), step):
        with growing.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in lines[at : at + step] if line))
        assert await p.host_event("Stop", {"session_id": "followed", "transcript_path": str(growing)}) == ""
    await p.host_event("Stop", {"session_id": "at-once", "transcript_path": str(whole)})
    followed, at_once = await p.show_context("followed"), await p.show_context("at-once")
    assert [(one.item_id, one.kind, one.tokens) for one in followed.items] == [
        (one.item_id, one.kind, one.tokens) for one in at_once.items
    ]
    assert followed.usage.used == at_once.usage.used
    assert followed.usage.used.value == 106_061  # input, cache and output of the last answer, as recorded
