"""Files that people read."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from palimpsest_mcp.errors import FileMissing, FileNotJson
from palimpsest_mcp.store.out_file import read_stream

pytestmark = pytest.mark.anyio


async def all_of(path: Path, chunk_bytes: int = 7) -> bytes:
    return b"".join([chunk async for chunk in read_stream(path, chunk_bytes=chunk_bytes)])


@pytest.mark.parametrize("size", [0, 1, 6, 7, 8, 1000])
async def test_a_file_comes_in_pieces_and_complete(tmp_path: Path, size: int) -> None:
    data = os.urandom(size).replace(b"\x1f", b" ")
    (tmp_path / "plain").write_bytes(data)
    (tmp_path / "packed").write_bytes(gzip.compress(data))
    assert await all_of(tmp_path / "plain") == data
    assert await all_of(tmp_path / "packed", 64) == data


async def test_several_gzip_members_and_padding_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(b"one ") + gzip.compress(b"two") + bytes(100))
    for chunk_bytes in (1, 5, 64, 4096):
        assert await all_of(tmp_path / "packed", chunk_bytes) == b"one two"


async def test_a_bomb_unfolds_in_small_pieces(tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(gzip.compress(bytes(50_000_000)))
    sizes = [len(chunk) async for chunk in read_stream(tmp_path / "bomb", chunk_bytes=65536)]
    assert sum(sizes) == 50_000_000 and max(sizes) <= 65536


@pytest.mark.parametrize("cut", [-1, -8, 15])
async def test_cut_gzip_data_is_an_error(tmp_path: Path, cut: int) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(b"some text " * 100)[:cut])
    with pytest.raises(FileNotJson, match="cut off"):
        await all_of(tmp_path / "packed")


async def test_damaged_gzip_data_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(b"some text " * 100) + b"trailing garbage")
    with pytest.raises(FileNotJson):
        await all_of(tmp_path / "packed")


async def test_a_file_that_is_not_there_or_a_folder_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(FileMissing):
            await all_of(path)
