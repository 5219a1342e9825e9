"""Export and import: byte for byte, all or nothing, and no hostile file gets a word in."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest_mcp.core import exchange
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.errors import ExchangeRefused, FileMissing, Purged, RecordDamaged, SessionExists, WriteFailed
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.testing.disks import FaultyDisk

from ..conftest import first_of

pytestmark = pytest.mark.anyio
MakeSession = Callable[..., list[dict[str, Any]]]


async def exported(home: Path, *names: str) -> bytes:
    file = io.BytesIO()
    async with Palimpsest.open(home) as p:
        await p.export_sessions(names, file)
    return file.getvalue()


async def compacted(home: Path, messages: list[dict[str, Any]], name: str = "s", parent: str | None = None) -> None:
    async with Palimpsest.open(home) as p:
        await p.compact_messages(messages, session_id=name, target=0.4, force=True, parent=parent)


async def originals(p: Palimpsest, name: str = "s") -> dict[tuple[str, str], bytes]:
    return {
        (batch.batch_id, one.item_id): one.data
        for batch in await p.list_offloaded(name)
        for one in await p.restore_batch(name, batch.batch_id, noted=False)
    }


def contents(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


async def test_a_session_comes_back_byte_for_byte_in_another_store(tmp_path: Path, session: MakeSession) -> None:
    messages = session(20)
    messages[4]["content"][0]["content"] += "\nkey AKIAIOSFODNN7EXAMPLE half \ud83d \x00 end"
    await compacted(tmp_path / "a", messages)
    async with Palimpsest.open(tmp_path / "a") as p:
        await p.update_summary("s", {"decisions": ["keep the old format"]})
        before, summary = await originals(p), await p.summary_markdown("s")
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "s"))
    async with Palimpsest.open(tmp_path / "b") as p:
        report = await p.import_sessions(file)
        assert [one.status for one in report.sessions] == ["imported"]
        assert await originals(p) == before
        assert await p.restore_all("s") == messages
        assert await p.summary_markdown("s") == summary
        assert (await p.verify()).ok
        again = await p.compact_messages(messages, session_id="s", target=0.4, force=True)
        assert await p.expand_messages(again.messages, session_id="s") == messages


async def test_a_digest_that_shows_a_mask_is_whole_in_another_store(tmp_path: Path, session: MakeSession) -> None:
    """Each store spells its masks with a key of its own."""
    messages = session(20)
    for number in range(2, 20, 2):
        messages[number]["content"][0]["content"] += f"\nERROR: login {number} refused for +49 30 901820{number:02d}"
    async with Palimpsest.open(tmp_path / "a") as p:
        done = await p.compact_messages(messages, session_id="s", target=0.4, force=True)
        assert "[redacted:phone:" in json.dumps(done.messages), "no digest shows one"
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "s"))
    async with Palimpsest.open(tmp_path / "b") as p:
        await p.import_sessions(file)
        report = await p.verify()
        assert report.ok and not report.findings, report.findings


async def test_importing_twice_writes_nothing_new(tmp_path: Path, session: MakeSession) -> None:
    await compacted(tmp_path / "a", session(20))
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "s"))
    async with Palimpsest.open(tmp_path / "b") as p:
        assert (await p.import_sessions(file, dry_run=True)).sessions[0].status == "would_import"
        assert not (await p.sessions())
        await p.import_sessions(file)
    before = contents(tmp_path / "b" / "session")
    async with Palimpsest.open(tmp_path / "b") as p:
        assert (await p.import_sessions(file)).sessions[0].status == "already_here"
    assert contents(tmp_path / "b" / "session") == before


@pytest.mark.parametrize("site", first_of(["rename of summary", "flush of archive", "flush of ledger"]))
async def test_an_import_that_was_interrupted_comes_to_its_end(tmp_path: Path, session: MakeSession, site: str) -> None:
    """A session whose events are there counts as here: what comes after them would be missing for good."""
    await compacted(tmp_path / "a", session(20))
    async with Palimpsest.open(tmp_path / "a") as p:
        await p.update_summary("s", {"decisions": ["keep the old format"]})
        await p.purge("s", matching="worker-000-001", dry_run=False)
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "s"))
    disk = FaultyDisk(tmp_path / "b", faults={site: (1, OSError(errno.EIO, "injected"))})
    store = DiskStore(tmp_path / "b", disk=disk)
    async with Palimpsest.open(tmp_path / "b", store=store) as p:
        with pytest.raises(WriteFailed):
            await p.import_sessions(file)
    await store.aclose()
    assert disk.hit == [site]
    async with Palimpsest.open(tmp_path / "b") as p:
        await p.import_sessions(file)
        assert "keep the old format" in await p.summary_markdown("s") and (await p.verify()).ok


async def test_a_session_that_is_here_with_another_content_is_refused(tmp_path: Path, session: MakeSession) -> None:
    await compacted(tmp_path / "a", session(20))
    await compacted(tmp_path / "b", session(20, seed=1))
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "s"))
    before = contents(tmp_path / "b" / "session")
    async with Palimpsest.open(tmp_path / "b") as p:
        with pytest.raises(SessionExists):
            await p.import_sessions(file)
    assert contents(tmp_path / "b" / "session") == before


async def test_a_session_that_is_here_without_a_batch_is_not_mixed_with_another(tmp_path: Path) -> None:
    for home, text in (("a", "theirs"), ("b", "ours")):
        async with Palimpsest.open(tmp_path / home) as p:
            await p.record_items("s", [{"kind": "message", "role": "user", "content": text}])
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "s"))
    before = contents(tmp_path / "b" / "session")
    async with Palimpsest.open(tmp_path / "b") as p:
        with pytest.raises(SessionExists):
            await p.import_sessions(file)
    assert contents(tmp_path / "b" / "session") == before


@pytest.mark.parametrize("dry_run", first_of([True, False]))
async def test_the_advice_after_a_purge_is_one_that_works(tmp_path: Path, session: MakeSession, dry_run: bool) -> None:
    await compacted(tmp_path / "a", session(20))
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "s"))
    async with Palimpsest.open(tmp_path / "a") as p:
        await p.purge("s", dry_run=False)
        with pytest.raises(SessionExists, match="purged here") as refused:
            await p.import_sessions(file, dry_run=dry_run)
    assert "another store (--home)" in refused.value.next and "purge" not in refused.value.next
    async with Palimpsest.open(tmp_path / "b") as p:
        assert (await p.import_sessions(file)).sessions[0].status == "imported"


async def test_what_was_purged_is_not_brought_back_by_an_older_export(tmp_path: Path, session: MakeSession) -> None:
    messages = session(20)
    await compacted(tmp_path / "a", messages)
    file, later = tmp_path / "s.exchange", tmp_path / "later.exchange"
    file.write_bytes(await exported(tmp_path / "a", "s"))
    async with Palimpsest.open(tmp_path / "a") as p:
        await p.purge("s", "offload_0001", dry_run=False)
        with pytest.raises(SessionExists, match="purged") as refused:
            await p.import_sessions(file)
        assert "purge the session" not in refused.value.next
    later.write_bytes(await exported(tmp_path / "a", "s"))
    async with Palimpsest.open(tmp_path / "b") as p:
        await p.import_sessions(later)
        with pytest.raises(Purged):
            await p.restore_batch("s", "offload_0001")
    await compacted(tmp_path / "b", messages)
    text = messages[2]["content"][0]["content"].split("\n")[5]
    assert not [path for path, data in contents(tmp_path / "b").items() if text.encode() in data]


async def test_parents_go_with_a_session(tmp_path: Path, session: MakeSession) -> None:
    messages = session(20)
    await compacted(tmp_path / "a", messages, "first")
    await compacted(tmp_path / "a", messages[:4], "second", parent="first")
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "second"))
    async with Palimpsest.open(tmp_path / "b") as p:
        assert {one.session_id for one in (await p.import_sessions(file)).sessions} == {"first", "second"}
        assert await p.restore_batch("second", "offload_0001")


async def test_a_damaged_session_is_not_exported(tmp_path: Path, session: MakeSession) -> None:
    await compacted(tmp_path / "a", session(20))
    (path,) = (tmp_path / "a").glob("session/s/offloaded/*.jsonl")
    data = bytearray(path.read_bytes())
    data[500] ^= 1
    path.write_bytes(data)
    with pytest.raises(RecordDamaged):
        await exported(tmp_path / "a", "s")


async def refused(tmp_path: Path, data: bytes) -> str:
    file, home = tmp_path / "bad.exchange", tmp_path / "new"
    file.write_bytes(data)
    async with Palimpsest.open(home) as p:
        with pytest.raises(ExchangeRefused) as error:
            await p.import_sessions(file)
        assert not await p.sessions()
    assert not (home / "session").exists()
    return error.value.message


def line(value: dict[str, Any] | bytes) -> bytes:
    """With a checksum that fits, as a forger would make it."""
    head = (value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode())[:-1]
    return b'%s,"_c":"%08x"}\n' % (head, zlib.crc32(head))


def sealed(lines: list[bytes]) -> bytes:
    body = b"".join(lines)
    return gzip.compress(body + line({"lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()}))


def unsealed(data: bytes) -> list[bytes]:
    return [one + b"\n" for one in gzip.decompress(data).split(b"\n")[:-2]]


async def test_every_changed_byte_is_noticed(tmp_path: Path, session: MakeSession) -> None:
    await compacted(tmp_path / "a", session(14, lines=20))
    whole = gzip.decompress(await exported(tmp_path / "a", "s"))
    for at in range(0, len(whole), len(whole) // 40):
        data = bytearray(whole)
        data[at] ^= 0x02
        await refused(tmp_path, gzip.compress(bytes(data)))
    for cut in (0, 1, len(whole) // 2, len(whole) - 1):
        await refused(tmp_path, gzip.compress(whole[:cut]))
    await refused(tmp_path, whole[: len(whole) // 2])
    await refused(tmp_path, gzip.compress(whole)[:-20])
    await refused(tmp_path, gzip.compress(whole + line({"more": 1})))


async def test_a_forged_file_is_refused(tmp_path: Path, session: MakeSession) -> None:
    await compacted(tmp_path / "a", session(14, lines=20))
    lines = unsealed(await exported(tmp_path / "a", "s"))
    assert sealed(lines) != b"" and await accepted(tmp_path, sealed(lines))
    records = [n for n, one in enumerate(lines) if one.startswith(b'{"schema":1,"ts"')]
    seen = next(n for n, one in enumerate(lines) if b'"k":"seen"' in one and b"worker" in one)

    def changed(n: int, old: bytes, new: bytes) -> list[bytes]:
        assert old in lines[n]
        forged = line(lines[n][: lines[n].rindex(b',"_c"')].replace(old, new) + b"}")
        return [*lines[:n], forged, *lines[n + 1 :]]

    assert "version 2" in await refused(tmp_path, sealed(changed(0, b'"exchange":1', b'"exchange":2')))
    await refused(tmp_path, sealed(changed(seen, b"worker", b"killer")))
    await refused(tmp_path, sealed(changed(records[0], b"worker", b"killer")))
    await refused(tmp_path, sealed(changed(records[0], b'"session_id":"s"', b'"session_id":"t"')))
    await refused(tmp_path, sealed(changed(records[0], b'"offload_0001"', b'"../../../x"')))
    await refused(tmp_path, sealed(changed(1, b'"session_id":"s"', b'"session_id":""')))
    await refused(tmp_path, sealed(changed(seen, b'"clock":', b'"clock":1' + b"0" * 18)))
    await refused(tmp_path, sealed([*lines[: records[0] + 1], *lines[records[0] :]]))
    await refused(tmp_path, sealed([lines[0], *lines[1:], *lines[1:]]))
    unsummed = lines[seen][:-4] + b"x" + lines[seen][-3:]
    await refused(tmp_path, sealed([*lines[:seen], unsummed, *lines[seen + 1 :]]))
    body = b"".join(lines)
    await refused(tmp_path, gzip.compress(body + line({"lines": len(lines), "sha256": "0" * 64})))
    await refused(tmp_path, gzip.compress(body + line({"lines": 1, "sha256": hashlib.sha256(body).hexdigest()})))
    await refused(tmp_path, b"PK\x03\x04 no export")


async def accepted(tmp_path: Path, data: bytes) -> bool:
    file = tmp_path / "good.exchange"
    file.write_bytes(data)
    async with Palimpsest.open(tmp_path / "good") as p:
        return (await p.import_sessions(file)).sessions[0].status == "imported"


async def test_an_id_is_never_a_path(tmp_path: Path, session: MakeSession) -> None:
    async with Palimpsest.open(tmp_path / "a") as p:
        await p.compact_messages(session(14, lines=20), session_id="../../../../etc/x", target=0.4, force=True)
    file = tmp_path / "s.exchange"
    file.write_bytes(await exported(tmp_path / "a", "../../../../etc/x"))
    async with Palimpsest.open(tmp_path / "deep" / "b") as p:
        await p.import_sessions(file)
        assert await p.restore_batch("../../../../etc/x", "offload_0001")
    assert sorted(os.listdir(tmp_path)) == ["a", "deep", "s.exchange"]


async def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_BYTES", 1 << 20)
    assert "unfolds" in await refused(tmp_path, gzip.compress(b"0" * (8 << 20)))
    with pytest.raises(FileMissing):
        async with Palimpsest.open(tmp_path / "new") as p:
            await p.import_sessions(tmp_path / "not there")


@settings(
    max_examples=min(15, settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(texts=st.lists(st.text(min_size=1), min_size=1, max_size=6))
async def test_whatever_the_texts_are_they_come_back(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("exchange")
    items = [{"kind": "tool_result", "role": "tool", "content": text, "tool_name": "t"} for text in texts]
    async with Palimpsest.open(folder / "a") as p:
        ids = (await p.record_items("s", items)).item_ids
        await p.compact_session("s", window_tokens=100, used_tokens=99, force=True)
    file = folder / "s.exchange"
    file.write_bytes(await exported(folder / "a", "s"))
    async with Palimpsest.open(folder / "a") as a, Palimpsest.open(folder / "b") as b:
        await b.import_sessions(file)
        assert await originals(a) == await originals(b)
        one, other = await a.show_context("s"), await b.show_context("s")
        assert [item.item_id for item in one.items] == [item.item_id for item in other.items]
        assert set(ids) <= {item.item_id for item in other.items}
