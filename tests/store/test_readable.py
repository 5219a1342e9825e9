"""Files that people read."""

from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path

import pytest

from palimpsest_mcp.errors import FileMissing, FileNotJson, WriteFailed
from palimpsest_mcp.store.readable import read_stream, read_text_stream, write_readable

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


async def test_text_is_decoded_across_pieces_and_without_its_mark(tmp_path: Path) -> None:
    text = "naïve 数据\u2028 \U0001f600\r\nend"
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbf" + text.encode())
    pieces = [piece async for piece in read_text_stream(tmp_path / "text", chunk_bytes=2)]
    assert "".join(pieces) == text


@pytest.mark.parametrize("data", [b"\xff", b"abc\xc3", b"\xed\xa0\x80"])
async def test_what_is_not_utf8_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "text").write_bytes(data)
    with pytest.raises(FileNotJson):
        [piece async for piece in read_text_stream(tmp_path / "text")]


async def test_a_readable_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    await write_readable(path, "# Old\n")
    await write_readable(path, "# New: naïve \ud83d\n")
    assert path.read_bytes() == "# New: naïve ?\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["summary.md"]
    await write_readable(path, b"\0raw")
    assert path.read_bytes() == b"\0raw"


async def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    from palimpsest_mcp.store.disk import RealDisk

    class Failing(RealDisk):
        def flush(self, fd: int) -> None:
            raise OSError(28, "no space")

    path = tmp_path / "summary.md"
    await write_readable(path, "old")
    with pytest.raises(WriteFailed, match="full"):
        await write_readable(path, "new", disk=Failing())
    with pytest.raises(WriteFailed):
        await write_readable(tmp_path / "none" / "x.md", "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["summary.md"]
